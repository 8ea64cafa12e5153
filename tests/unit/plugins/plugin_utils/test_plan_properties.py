# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole plans over random fleets: several kinds of domains and floors at once, canaries, nodes to be skipped."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import PlanError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import least_in_service
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record

CATALOG = load_catalog()
DOMAINS = ("fleet_rack", "fleet_feed", "fleet_pod")
CLASSES = st.sampled_from(["may_move"] * 6 + ["at_target", "unhealthy", "unknown"])
NODE = st.tuples(
    CLASSES,
    st.sampled_from(["MI300X", "MI210"]),
    st.sampled_from("PQ"),
    st.tuples(*[st.sampled_from("ABCD")] * len(DOMAINS)),
    st.sampled_from([""] * 6 + ["new board"]),
)
GROWTH = st.sampled_from([2, {"kind": "fixed", "size": 8}, {"kind": "linear", "step": 2}, {"kind": "exponential"}])


@st.composite
def policies(draw):
    kinds = draw(st.lists(st.sampled_from(DOMAINS), unique=True, max_size=3))
    percent = st.integers(0, 60)
    return {
        "failure_domains": [{"variable": kind, "at_once": draw(st.sampled_from([1, 2, 3, None]))} for kind in kinds],
        "capacity_floors": [{"per": "product", "percent": draw(percent)}, {"per": "part", "percent": draw(percent)}],
        "canaries_per_product": draw(st.integers(0, 3)),
        "growth": draw(GROWTH),
        "max_wave": draw(st.integers(1, 12)),
        "order": draw(st.sampled_from(["domain", "name"])),
        "unfit_nodes": "exclude",
        "skip": "label",
    }


class Fleet:
    """A fleet as the planner is given it, in the order of its rows."""

    def __init__(self, rows, policy):
        self.rows, self.policy = rows, policy
        self.records = {node: record(node, product, kind=kind, why="x") for node, (kind, product, *_more) in rows}
        self.of = {node: {"part": part, "label": label, **dict(zip(DOMAINS, at, strict=True))}
                   for node, (_kind, _product, part, at, label) in rows}  # fmt: skip

    def plan(self):
        """The plan; None where a floor leaves no room."""
        racks = {node: values["fleet_rack"] for node, values in self.of.items()}
        others = {node: {key: text for key, text in values.items() if text and key != "fleet_rack"}
                  for node, values in self.of.items()}  # fmt: skip
        given = {"inventory_order": list(self.records), "variables": others}
        target, at = {"name": "t", "products": {}}, "2026-12-01T08:00:00Z"
        try:
            return make_plan(self.records, racks, target, load_policy(self.policy), CATALOG, at, **given)
        except PlanError:
            return None

    def serving(self, down=()):
        """The nodes in service while some are down."""
        usable = (node for node, row in self.records.items() if row["class"] in ("may_move", "at_target"))
        return {node for node in usable if not self.of[node]["label"]} - set(down)


@st.composite
def fleets(draw):
    rows = [(f"n{number}", row) for number, row in enumerate(draw(st.lists(NODE, min_size=1, max_size=24)))]
    fleet = Fleet(rows, draw(policies()))
    return fleet, Fleet(draw(st.permutations(rows)), fleet.policy)


def planned(sample):
    """A fleet and its plan; a sample that no plan can be made for is left out."""
    plan = sample[0].plan()
    assume(plan is not None)
    return sample[0], plan


def groups(fleet, nodes):
    """How many of these nodes each floor counts: by product and by part."""
    products = Counter(("product", fleet.records[node]["product"]) for node in nodes)
    return products + Counter(("part", fleet.of[node]["part"]) for node in nodes)


@given(fleets())
def test_each_node_that_may_move_goes_in_exactly_one_wave_and_no_other_goes(sample):
    fleet, plan = planned(sample)
    movable = [node for node in fleet.serving() if fleet.records[node]["class"] == "may_move"]
    assert sorted(node for wave in plan["waves"] for node in wave["nodes"]) == sorted(movable) == sorted(plan["nodes"])
    for number, wave in enumerate(plan["waves"], start=1):
        assert {plan["nodes"][node]["wave"] for node in wave["nodes"]} == {wave["number"]} == {number}


@given(fleets())
def test_after_any_number_of_waves_every_floor_holds_while_the_next_is_down(sample):
    fleet, plan = planned(sample)
    least = {floor["per"]: floor["percent"] for floor in fleet.policy["capacity_floors"]}
    total = groups(fleet, fleet.records)
    for wave in plan["waves"]:
        up = groups(fleet, fleet.serving(wave["nodes"]))
        for per, name in groups(fleet, wave["nodes"]):
            assert up[per, name] >= least_in_service(total[per, name], least[per])


@given(fleets())
def test_after_any_number_of_waves_only_so_many_domains_of_each_kind_are_down(sample):
    fleet, plan = planned(sample)
    for wave in plan["waves"]:
        for kind in fleet.policy["failure_domains"]:
            down = {fleet.of[node][kind["variable"]] for node in wave["nodes"]}
            assert len(down) <= (kind["at_once"] or len(down))
            assert wave["domains"][kind["variable"]] == sorted(down)


@given(fleets())
def test_no_node_goes_before_the_canaries_of_every_product(sample):
    fleet, plan = planned(sample)
    kinds = [wave["kind"] for wave in plan["waves"]]
    assert kinds == sorted(kinds)
    canaries = [node for wave in plan["waves"] if wave["kind"] == "canary" for node in wave["nodes"]]
    seen = Counter(fleet.records[node]["product"] for node in canaries)
    for product, number in Counter(row["product"] for row in plan["nodes"].values()).items():
        assert seen[product] == min(number, fleet.policy["canaries_per_product"])


@given(fleets())
def test_no_wave_is_larger_than_the_policy_lets_it_be(sample):
    fleet, plan = planned(sample)
    assert max((len(wave["nodes"]) for wave in plan["waves"]), default=0) <= fleet.policy["max_wave"]


@given(fleets())
def test_a_shuffled_fleet_has_the_same_plan_to_the_last_byte(sample):
    first, shuffled = (fleet.plan() for fleet in sample)
    assert json.dumps(shuffled) == json.dumps(first)


@given(fleets())
def test_a_plan_is_refused_only_where_a_floor_leaves_no_room_for_one_node(sample):
    fleet = sample[0]
    assume(fleet.plan() is None)
    least = {floor["per"]: floor["percent"] for floor in fleet.policy["capacity_floors"]}
    movable = {node for node in fleet.serving() if fleet.records[node]["class"] == "may_move"}
    total, up = groups(fleet, fleet.records), groups(fleet, fleet.serving())
    short = [
        group for group in groups(fleet, movable) if up[group] - 1 < least_in_service(total[group], least[group[0]])
    ]
    assert short
