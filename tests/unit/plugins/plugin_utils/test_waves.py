# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import waves as planner
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.pool import Member
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import factor, lower_bound, natural, room

POLICY = {"canaries_per_product": 1, "growth": 2, "max_wave": 32}


def member(name, product="MI300X", *domains, place=0, **groups):
    return Member(name, product, domains, (("product", product), *groups.items()), place)


def members(*names, product="MI300X", domain="r1"):
    return [member(name, product, domain) for name in names]


def schedule(fleet, rooms, policy):
    """The waves with rooms per product."""
    return planner.schedule(fleet, {("product", name): number for name, number in rooms.items()}, policy)


def names(waves):
    return [wave["nodes"] for wave in waves]


def test_waves_grow_from_the_canary():
    fleet = members(*(f"g{number}" for number in range(1, 16)))
    assert [len(wave["nodes"]) for wave in schedule(fleet, {"MI300X": 99}, POLICY)] == [1, 2, 4, 8]


@pytest.mark.parametrize(("at_once", "percent", "bound"), [(1, 0, 2), (2, 0, 1), (None, 50, 2), (1, 75, 4), (2, 75, 4)])
def test_the_lower_bound_can_be_told_from_the_plan_alone(at_once, percent, bound):
    floors = [{"per": "part", "percent": percent}, {"per": "product", "percent": 0}]
    racks = {"variable": "fleet_rack", "at_once": at_once}
    policy = load_policy({"failure_domains": [racks], "capacity_floors": floors})
    rows = {f"g{n}": {"product": "MI300X", "rack": f"r{n // 2}", "variables": {"part": "p"}} for n in range(4)}
    plan = {"policy": policy, "nodes": rows, "fleet": {"MI300X": 4}, "out": {"MI300X": 0}}
    plan["groups"] = {"part": {"p": {"fleet": 4, "out": 0}}}
    assert planner.fewest(plan) == bound


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


def sizes(waves):
    return [len(wave["nodes"]) for wave in waves if wave["kind"] == "wave"]


def test_growth_counts_the_waves_where_the_policy_says_how():
    fleet = members(*(f"g{number}" for number in range(30)))
    growths = {
        "fixed": ({"size": 8}, [8, 8, 8, 5]),
        "linear": ({"step": 4}, [1, 5, 9, 12, 2]),
        "exponential": ({"factor": 3, "first": 2}, [2, 6, 12, 9]),
    }
    for kind, (numbers, wanted) in growths.items():
        policy = load_policy({"growth": {"kind": kind, **numbers}, "max_wave": 12})
        assert sizes(schedule(fleet, {"MI300X": 99}, policy)) == wanted


def test_a_small_rack_does_not_make_the_waves_after_it_small_where_growth_counts_the_waves():
    fleet = [member(f"g{number}", "MI300X", f"r{number // 4}") for number in range(16)]
    short, counting = load_policy(None), load_policy({"growth": {"kind": "exponential", "factor": 2}})
    assert sizes(schedule(fleet, {"MI300X": 99}, short)) == [2, 1, 2, 2, 4, 4]
    assert sizes(schedule(fleet, {"MI300X": 99}, counting)) == [1, 2, 4, 4, 4]


def domains(**at_once):
    return [{"variable": f"fleet_{name}", "at_once": number} for name, number in at_once.items()]


FIXED = {"kind": "fixed", "size": 32}
GRID = [member(f"g{n}", "MI300X", f"r{n // 4}", "AB"[n % 2]) for n in range(16)]


@pytest.mark.parametrize(
    ("at_once", "wanted"),
    [
        ({"rack": 1, "feed": 1}, [2] * 8),
        ({"rack": None, "feed": 1}, [8, 8]),
        ({"rack": 2, "feed": None}, [8, 8]),
        ({"rack": 2, "feed": 1}, [4, 4, 4, 4]),
        ({"rack": None, "feed": None}, [16]),
    ],
)
def test_several_kinds_of_domains_hold_together(at_once, wanted):
    policy = load_policy({"failure_domains": domains(**at_once), "growth": FIXED, "canaries_per_product": 0})
    assert sizes(schedule(GRID, {"MI300X": 99}, policy)) == wanted


def test_a_wave_names_its_domains_of_each_kind():
    policy = load_policy({"failure_domains": domains(rack=2, feed=1), "growth": FIXED, "canaries_per_product": 0})
    first = schedule(GRID, {"MI300X": 99}, policy)[0]
    assert (first["domain"], first["domains"]) == ("r0, r1", {"fleet_rack": ["r0", "r1"], "fleet_feed": ["A"]})


@pytest.mark.parametrize(
    ("order", "first"),
    [("domain", ["b1", "b3"]), ("name", ["a2", "a4"]), ("inventory", ["a4", "a2"]), (["b3", "a*"], ["b3", "a2"])],
)
def test_the_order_is_that_of_the_policy(order, first):
    fleet = [member(name, "MI300X", name[0] == "a" and "r2" or "r1", place=-int(name[1])) for name in ("a2", "a4")]
    fleet += [member(name, "MI300X", "r1", place=1) for name in ("b1", "b3")]
    waves = schedule(fleet, {"MI300X": 1}, load_policy({"order": order}))
    assert [wave["nodes"][0] for wave in waves][:2] == first


def test_a_floor_per_partition_holds_beside_that_per_product():
    fleet = [member(f"g{n}", fleet_partition="p1" if n < 6 else "p2") for n in range(8)]
    rooms = {("product", "MI300X"): 3, ("fleet_partition", "p1"): 1, ("fleet_partition", "p2"): 2}
    policy = load_policy({"failure_domain": "none", "growth": FIXED, "canaries_per_product": 0})
    assert names(planner.schedule(fleet, rooms, policy)) == [["g0", "g6", "g7"], ["g1"], ["g2"], ["g3"], ["g4"], ["g5"]]


@pytest.mark.parametrize(
    ("at_once", "room_of_all", "bound"),
    [({"rack": 1, "feed": 1}, 99, 8), ({"rack": 2, "feed": 2}, 99, 2), ({"rack": 1, "feed": None}, 1, 16), ({}, 5, 4)],
)
def test_the_lower_bound_is_the_worst_of_size_floors_and_domains(at_once, room_of_all, bound):
    policy = load_policy({"failure_domains": domains(**at_once)})
    assert lower_bound(GRID, {("product", "MI300X"): room_of_all}, policy) == bound


@st.composite
def fleets(draw):
    racks = draw(st.lists(st.sampled_from(["r1", "r2", "r10", "a"]), min_size=1, max_size=4, unique=True))
    kinds = draw(
        st.lists(st.tuples(st.sampled_from(["MI300X", "MI210", "MI355X"]), st.sampled_from(racks)), max_size=60)
    )
    fleet = [member(f"n{number}", product, rack) for number, (product, rack) in enumerate(kinds)]
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
    waves, rack = schedule(fleet, rooms, policy), {member.node: member.domains[0] for member in fleet}
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


@st.composite
def topologies(draw):
    """Nodes over several kinds of domains and partitions, with a policy of the forms that count the waves."""
    at_once = draw(st.lists(st.sampled_from([1, 1, 2, 3, None]), max_size=3))
    kinds = [f"kind{number}" for number in range(len(at_once))]
    node = st.tuples(
        st.sampled_from(["MI300X", "MI210"]), st.sampled_from("PQ"), *[st.sampled_from("ABCDE")] * len(kinds)
    )
    rows = draw(st.lists(node, max_size=60))
    fleet = [member(f"n{n}", product, *at, partition=part) for n, (product, part, *at) in enumerate(rows)]
    rooms = {group: draw(st.integers(1, 9)) for group in sorted({group for row in fleet for group in row.groups})}
    policy = {
        "failure_domains": [{"variable": kind, "at_once": most} for kind, most in zip(kinds, at_once, strict=True)],
        "capacity_floors": [{"per": "partition", "percent": 50}],
        "growth": draw(st.sampled_from([FIXED, {"kind": "linear", "step": 3}, {"kind": "exponential"}])),
        "order": draw(st.sampled_from(["domain", "name", ["n1*", "n?"]])),
        "max_wave": draw(st.integers(1, 20)),
        "canaries_per_product": draw(st.integers(0, 2)),
    }
    return fleet, rooms, load_policy(policy), draw(st.permutations(fleet))


@given(topologies())
def test_each_node_goes_once_and_a_shuffled_fleet_goes_the_same_way(sample):
    fleet, rooms, policy, shuffled = sample
    waves = planner.schedule(fleet, rooms, policy)
    assert planner.schedule(shuffled, rooms, policy) == waves
    assert sorted(node for wave in waves for node in wave["nodes"]) == sorted(row.node for row in fleet)


@given(topologies())
def test_while_any_wave_is_down_every_floor_and_every_domain_holds(sample):
    fleet, rooms, policy, _shuffled = sample
    known = {row.node: row for row in fleet}
    for wave in planner.schedule(fleet, rooms, policy):
        down = [known[node] for node in wave["nodes"]]
        taken = Counter(group for row in down for group in row.groups)
        assert all(number <= rooms[group] for group, number in taken.items())
        for index, kind in enumerate(policy["failure_domains"]):
            values = {row.domains[index] for row in down}
            assert kind["at_once"] is None or len(values) <= kind["at_once"]
            assert wave["domains"][kind["variable"]] == sorted(values)


@given(topologies())
def test_there_are_few_more_waves_than_any_schedule_needs(sample):
    fleet, rooms, policy, _shuffled = sample
    kinds = Counter(wave["kind"] for wave in planner.schedule(fleet, rooms, policy))
    least = lower_bound(fleet, rooms, policy)
    growing = 0 if policy["growth"]["kind"] == "fixed" else 8  # 1 to 20 by steps of 3 takes 7 waves, by doubling 5
    assert least <= sum(kinds.values())
    assert kinds["wave"] <= growing + factor(policy) * least
