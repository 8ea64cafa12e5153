# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a rollout from being opened though its plan still holds."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import refusals

NODES = ["g01", "g02", "g03", "g04"]


def test_an_unreachable_node_is_named_before_anything_is_touched():
    records = {"g01": {"reachable": True}, "g02": {"reachable": False}}
    with pytest.raises(FleetError, match=r"do not answer: g02.*--limit 'all:!g02'"):
        refusals.refuse_unreachable({"plan_id": "abc"}, records)


def test_the_machine_that_the_rollout_runs_on_is_refused_before_anything_is_touched_f24():
    records = {"g01": {"reachable": True}, "head01": {"reachable": True, "is_controller": True}}
    with pytest.raises(FleetError, match=r"head01 is the machine that this runs on.*--limit 'all:!head01'"):
        refusals.refuse_controller({"plan_id": "abc"}, records)
    refusals.refuse_controller({"plan_id": "abc"}, {"g01": records["g01"]})


def test_rollback_of_nodes_that_were_never_in_it_is_refused():
    with pytest.raises(FleetError, match="none of these nodes is part of it: x1"):
        refusals.refuse_strangers({"plan_id": "abc", "nodes": {"g01": {}}}, ["x1"])


def test_a_node_that_fell_ill_after_it_was_put_into_service_stops_the_rollout():
    records = {"g01": {"class": "at_target"}, "g02": {"class": "unhealthy", "findings": []}}
    with pytest.raises(FleetError, match=r"g02 unhealthy.*rollback --limit g02.*'all:!g02'"):
        refusals.refuse_sick({"plan_id": "abc"}, records)
    refusals.refuse_sick({"plan_id": "abc"}, {"g01": records["g01"]})


FLOOR = {
    "plan_id": "abc",
    "policy": {"capacity_floor_percent": 75},
    "fleet": {"MI300X": 8},
    "out": {"MI300X": 0},
    "nodes": {node: {"product": "MI300X"} for node in NODES},
}


@pytest.mark.parametrize("product", ["MI300X", None])
def test_nodes_that_fell_out_since_the_plan_was_made_count_against_the_floor(product):
    records = {"x1": {"class": "unknown", "product": product}, "x2": {"class": "may_move", "product": "MI300X"}}
    with pytest.raises(FleetError, match=r"out of service since it was made: x1; .*at least 6 in service"):
        refusals.refuse_below_floor(FLOOR, [["g01"], ["g02", "g03"]], records)


@pytest.mark.parametrize(
    ("per", "own"), [("part", {"rack": "r", "variables": {"part": "p"}}), ("fleet_rack", {"rack": "p"})]
)
def test_nodes_that_fell_out_count_against_the_floor_of_their_partition(per, own):
    groups = {per: {"p": {"fleet": 4, "out": 0, "at_target": ["x1"]}}}
    nodes = {"g01": {"product": "MI300X", **own}}
    policy = {"capacity_floor_percent": 0, "capacity_floors": [{"per": per, "percent": 75}]}
    plan = {**FLOOR, "nodes": nodes, "policy": policy, "groups": groups}
    refusals.refuse_below_floor(plan, [["g01"]], {"y1": {"class": "unknown", "product": "MI300X"}})
    with pytest.raises(FleetError, match=rf"x1; with a wave of 1 that is more of 4 {per} p .*_floors 75 per {per}"):
        refusals.refuse_below_floor(plan, [["g01"]], {"x1": {"class": "unknown", "product": "MI300X"}})


def test_waves_that_the_floor_has_room_for_go_on():
    out = {"x1": {"class": "unhealthy", "product": "MI300X"}, "y1": {"class": "unknown", "product": "MI210"}}
    refusals.refuse_below_floor(FLOOR, [["g01"]], out)
    refusals.refuse_below_floor(FLOOR, [["g01", "g02", "g03"]], {"x1": {"class": "at_target", "product": "MI300X"}})


RACKS = {"plan_id": "abc", "policy": {}, "nodes": {"g1": {"rack": "r1"}, "g2": {"rack": None}}}


def test_a_node_that_stands_in_another_rack_by_now_refuses_the_plan():
    seen = {"g1": {"rack": "r2"}, "g2": {"rack": "r1"}}
    with pytest.raises(FleetError, match="g1 was in r1 and is in r2, g2 was in no rack and is in r1; wanted"):
        refusals.refuse_other_racks(RACKS, seen)


@pytest.mark.parametrize(("policy", "rack"), [({}, "r1"), ({"failure_domain": "none"}, "r2")])
def test_nodes_that_stand_where_they_stood_and_plans_that_go_by_no_racks_are_followed(policy, rack):
    refusals.refuse_other_racks({**RACKS, "policy": policy}, {"g1": {"rack": rack}, "g2": {}})
