# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import Member, natural, room, schedule

POLICY = {"canaries_per_product": 1, "growth": 2, "max_wave": 32}


def members(*names, product="MI300X", domain="r1"):
    return [Member(name, product, domain) for name in names]


def names(waves):
    return [wave["nodes"] for wave in waves]


def test_waves_grow_from_the_canary():
    fleet = members(*(f"g{number}" for number in range(1, 16)))
    assert [len(wave["nodes"]) for wave in schedule(fleet, {"MI300X": 99}, POLICY)] == [1, 2, 4, 8]


def test_g9_goes_before_g10():
    assert names(schedule(members("g10", "g9", "g1"), {"MI300X": 9}, POLICY)) == [["g1"], ["g9", "g10"]]
    assert natural("g9") < natural("g10") < natural("h1")


def test_a_wave_ends_at_its_rack():
    fleet = members("g1", "g2") + members("g3", "g4", "g5", domain="r2")
    waves = schedule(fleet, {"MI300X": 9}, POLICY)
    assert [(wave["domain"], wave["nodes"]) for wave in waves] == [
        ("r1", ["g1"]),
        ("r1", ["g2"]),
        ("r2", ["g3", "g4"]),
        ("r2", ["g5"]),
    ]


def test_each_product_has_its_canary_before_any_other_node():
    fleet = members("g1", "g2", "g3") + members("m1", "m2", product="MI210")
    waves = schedule(fleet, {"MI300X": 9, "MI210": 9}, POLICY)
    assert [(wave["kind"], wave["nodes"]) for wave in waves[:2]] == [("canary", ["m1"]), ("canary", ["g1"])]
    assert {wave["kind"] for wave in waves[2:]} == {"wave"}


def test_canaries_in_two_racks_are_two_waves():
    waves = schedule(members("g1") + members("g2", domain="r2"), {"MI300X": 9}, {**POLICY, "canaries_per_product": 2})
    assert names(waves) == [["g1"], ["g2"]]


def test_no_canaries_start_with_one_node():
    waves = schedule(members("g1", "g2", "g3"), {"MI300X": 9}, {**POLICY, "canaries_per_product": 0})
    assert names(waves) == [["g1"], ["g2", "g3"]]


def test_a_full_product_does_not_hold_up_another():
    fleet = members("g1", "g2", "g3") + members("m4", "m5", "m6", "m7", product="MI210")
    waves = schedule(fleet, {"MI300X": 1, "MI210": 3}, {**POLICY, "growth": 9})
    assert names(waves)[2] == ["g2", "m5", "m6", "m7"]


@pytest.mark.parametrize(
    ("total", "out", "percent", "free"),
    [
        (8, 0, 75, 2),
        (8, 2, 75, 0),
        (8, 3, 75, -1),
        (1, 0, 75, 0),
        (1, 0, 0, 1),
        (100, 0, 93, 7),
        (100, 0, 7, 93),
        (10, 0, 33.3, 6),
    ],
)
def test_the_floor_rounds_to_the_safe_side(total, out, percent, free):
    assert room(total, out, percent) == free


@st.composite
def fleets(draw):
    racks = draw(st.lists(st.sampled_from([None, "r1", "r2", "r10", "a"]), min_size=1, max_size=5, unique=True))
    kinds = draw(
        st.lists(st.tuples(st.sampled_from(["MI300X", "MI210", "MI355X"]), st.sampled_from(racks)), max_size=60)
    )
    fleet = [Member(f"n{number}", product, rack) for number, (product, rack) in enumerate(kinds)]
    rooms = {product: draw(st.integers(1, 20)) for product, _rack in kinds}
    policy = {
        "canaries_per_product": draw(st.integers(0, 4)),
        "growth": draw(st.floats(1, 5)),
        "max_wave": draw(st.integers(1, 20)),
    }
    return fleet, rooms, policy, draw(st.permutations(fleet))


@given(fleets())
def test_every_schedule_keeps_every_promise(sample):
    fleet, rooms, policy, shuffled = sample
    waves, rack = schedule(fleet, rooms, policy), {member.node: member.domain for member in fleet}
    product = {member.node: member.product for member in fleet}
    assert sorted(node for wave in waves for node in wave["nodes"]) == sorted(rack)
    assert schedule(shuffled, rooms, policy) == waves
    for wave in waves:
        assert {rack[node] for node in wave["nodes"]} == {wave["domain"]}
        assert all(number <= rooms[name] for name, number in Counter(product[node] for node in wave["nodes"]).items())


@given(fleets())
def test_canaries_come_first_and_later_waves_grow_no_faster_than_allowed(sample):
    fleet, rooms, policy, _shuffled = sample
    waves = schedule(fleet, rooms, policy)
    kinds = [wave["kind"] for wave in waves]
    assert kinds == sorted(kinds)
    for before, wave in itertools.pairwise(waves):
        assert len(wave["nodes"]) <= policy["max_wave"]
        assert wave["kind"] == "canary" or len(wave["nodes"]) <= max(1, len(before["nodes"]) * policy["growth"])


@given(fleets())
def test_each_product_has_its_full_number_of_canaries(sample):
    fleet, rooms, policy, _shuffled = sample
    product = {member.node: member.product for member in fleet}
    canaries = [node for wave in schedule(fleet, rooms, policy) if wave["kind"] == "canary" for node in wave["nodes"]]
    found = Counter(product[node] for node in canaries)
    for name, number in Counter(product.values()).items():
        assert found[name] == min(number, policy["canaries_per_product"])
