# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.eta import Measured
from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import canonical
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import (
    PlanInputChanged,
    check_plan_inputs,
    current_inputs,
    load_plan,
    make_plan,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import write_json
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import Kept, PlanError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    record,
    target_document,
    write_target,
)

CATALOG = load_catalog()
MORNING = "2026-12-01T08:00:00Z"


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    return load_target(write_target(tmp_path_factory.mktemp("plan")), CATALOG)


def fleet(count=8, **kinds):
    """Records of g1 ... gN over racks of four; ``g3="unhealthy"`` makes one of another class."""
    rows = {f"g{number}": record(f"g{number}", rack=f"r{(number + 3) // 4}") for number in range(1, count + 1)}
    for node, kind in kinds.items():
        why = "" if kind == "at_target" else "2 uncorrectable errors"
        rows[node] = record(node, rack=rows[node]["rack"], kind=kind, why=why)
    return rows


def plan_of(rows, target, policy=None, order=None, created_at=MORNING, racks=None, attempt=1, **more):
    racks = {node: row["rack"] for node, row in rows.items()} if racks is None else racks
    given = {"inventory_order": order or list(rows), "attempt": attempt, **more}
    return make_plan(rows, racks, target, load_policy(policy), CATALOG, created_at, **given)


ROW = {
    "product": "MI300X",
    "rack": "r1",
    "wave": 1,
    "steps": ["rocm", "reboot"],
    "reboot": True,
    "from": {"rocm": "6.4.4", "driver": "6.4.4"},
    "to": {"rocm": "7.0.2", "driver": "30.10.2"},
    "rollback": {"ready": True, "why": []},
    "point_of_no_return": None,
}


FLASH = {"component": "bmc", "from": "2.14", "to": "2.16", "activation": "bmc_reset", "lowest": None, "back": None}


def test_a_plan_says_what_is_flashed_and_that_there_is_no_way_back_from_it(target):
    rows = fleet(8)
    rows["g1"] |= {"steps": ["firmware", "rocm", "bios", "reboot"], "firmware": [FLASH], "bios": [{"attribute": "SMT"}]}
    row = plan_of(rows, target)["nodes"]["g1"]
    assert (row["firmware"], row["bios"], row["point_of_no_return"]) == ([FLASH], [{"attribute": "SMT"}], "firmware")


def test_a_plan_says_everything_an_upgrade_needs(target):
    plan = plan_of(fleet(8, g8="at_target"), target)
    assert plan["nodes"]["g1"] == ROW
    assert [wave["nodes"] for wave in plan["waves"]] == [["g1"], ["g2", "g3"], ["g4"], ["g5", "g6"], ["g7"]]
    assert (plan["at_target"], plan["excluded"]) == (["g8"], [])
    assert (plan["fleet"], plan["out"]) == ({"MI300X": 8}, {"MI300X": 0})
    assert plan["target"] == target.as_dict()
    assert plan["inputs"]["facts"]["g2"] == "sha256:g2"


def test_a_shuffled_inventory_gives_the_same_bytes(target):
    rows = fleet(40)
    first = json.dumps(plan_of(rows, target))
    for seed in range(5):
        names = random.Random(seed).sample(list(rows), len(rows))
        assert json.dumps(plan_of({name: rows[name] for name in names}, target, order=names[::-1])) == first


def test_the_plan_id_is_of_what_is_planned_not_of_when_or_where(target, tmp_path):
    same = load_target(write_target(tmp_path), CATALOG)
    first = plan_of(fleet(), target)
    assert len(first["plan_id"]) == 12
    assert plan_of(fleet(), same, created_at="2027-01-01T00:00:00Z")["plan_id"] == first["plan_id"]


def test_another_input_is_another_plan(target, tmp_path):
    other = load_target(write_target(tmp_path, target_document(MI300X={"rocm": "7.0.1", "driver": "30.10.1"})), CATALOG)
    changed = {**fleet(), "g2": {**record("g2"), "facts_digest": "sha256:other"}}
    plans = [
        plan_of(fleet(), target),
        plan_of(fleet(), other),
        plan_of(fleet(), target, {"soak_seconds": 5}),
        plan_of(changed, target),
        plan_of(fleet(), target, attempt=2),
        plan_of(fleet(9), target),
    ]
    assert len({plan["plan_id"] for plan in plans}) == len(plans)


def test_where_the_overlay_of_the_catalog_lies_is_kept_and_makes_no_other_plan(target):
    rows = fleet()
    given = {"created_at": MORNING, "inventory_order": list(rows)}
    racks = {node: row["rack"] for node, row in rows.items()}
    plans = [
        make_plan(rows, racks, target, load_policy(None), CATALOG, overlay=path, **given)
        for path in (None, "/etc/fleet/site.yml")
    ]
    assert [plan["inputs"]["catalog"]["path"] for plan in plans] == ["", "/etc/fleet/site.yml"]
    assert plans[0]["plan_id"] == plans[1]["plan_id"]


def test_an_overlay_that_changed_is_named_with_its_path(target):
    plan = plan_of(fleet(), target)
    plan["inputs"]["catalog"]["path"] = "/etc/fleet/site.yml"
    current = {**current_inputs(plan, CATALOG, fleet()), "catalog": "sha256:other"}
    with pytest.raises(PlanInputChanged, match=r"changed since it was made: the catalog /etc/fleet/site.yml;"):
        check_plan_inputs(plan, current)


def test_an_unfit_node_refuses_the_plan_by_name_and_reason(target):
    with pytest.raises(PlanError) as caught:
        plan_of(fleet(8, g3="unhealthy"), target)
    assert "g3 is unhealthy: health.ras g3" in str(caught.value)
    assert "unfit_nodes: exclude" in str(caught.value)


def test_an_unfit_node_may_be_left_out_and_counts_as_out(target):
    plan = plan_of(fleet(8, g3="unhealthy"), target, {"unfit_nodes": "exclude"})
    assert [row["node"] for row in plan["excluded"]] == ["g3"]
    assert plan["out"] == {"MI300X": 1}
    assert {len(wave["nodes"]) for wave in plan["waves"]} == {1}


def test_the_floor_that_leaves_no_room_refuses_with_the_numbers(target):
    with pytest.raises(PlanError) as caught:
        plan_of(fleet(8, g3="unhealthy", g4="unhealthy"), target, {"unfit_nodes": "exclude"})
    assert "MI300X: 8 in the fleet, 2 out of service (g3, g4); wanted: 6 in service at all times" in str(caught.value)


def test_a_node_nobody_could_ask_counts_against_every_product(target):
    rows = fleet(8)
    rows["g8"] = {**record("g8", kind="unknown"), "product": None, "gpu_count": None, "reachable": False}
    assert plan_of(rows, target, {"unfit_nodes": "exclude"})["out"] == {"MI300X": 1}
    rows["g8"] = {**rows["g8"], "gpu_count": 0, "reachable": True}
    assert plan_of(rows, target, {"unfit_nodes": "exclude"})["out"] == {"MI300X": 0}


def test_the_floor_names_the_nodes_of_unknown_product(target):
    rows = fleet(3)
    rows["g3"] = {**record("g3", kind="unknown"), "product": None, "gpu_count": None}
    with pytest.raises(PlanError, match=r"3 in the fleet, 1 out of service \(g3 of unknown product\)"):
        plan_of(rows, target, {"unfit_nodes": "exclude"})


def test_a_node_an_operator_takes_out_is_named_and_counts_as_out(target):
    plan = plan_of(fleet(), target, {"exclude": ["g5"]})
    assert plan["excluded"] == [{"node": "g5", "why": "taken out by the policy"}]
    assert (plan["out"], "g5" in plan["nodes"]) == ({"MI300X": 1}, False)


@pytest.mark.parametrize(
    ("change", "policy", "message"),
    [
        ({}, {"exclude": ["g55"]}, "policy: exclude g55: is not a node of this fleet; wanted: 'g5' (nearest)"),
        ({"rack": None}, {}, "g2: no rack is known; wanted: the host variable fleet_rack"),
        ({"rollback": {"ready": False, "why": ["rocm-core is gone"]}}, {}, "no way back: g2: rocm-core is gone"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_its_fix(target, change, policy, message):
    rows = fleet()
    rows["g2"].update(change)
    with pytest.raises(PlanError) as caught:
        plan_of(rows, target, policy)
    assert message in str(caught.value)
    assert "fix: " in str(caught.value)


def test_a_node_without_a_record_refuses_the_plan(target):
    with pytest.raises(PlanError, match="g9: no record of this run"):
        plan_of(fleet(), target, order=[*fleet(), "g9"])


def test_racks_do_not_matter_where_the_policy_says_so(target):
    plan = plan_of(fleet(), target, {"failure_domain": "none"}, racks={})
    assert [(wave["domain"], len(wave["nodes"])) for wave in plan["waves"]] == [
        (None, 1),
        (None, 2),
        (None, 2),
        (None, 2),
        (None, 1),
    ]


def test_no_way_back_can_be_accepted_and_is_shown(target):
    rows = fleet()
    rows["g2"] = record("g2", ready=False)
    plan = plan_of(rows, target, {"require_rollback": False})
    assert (plan["nodes"]["g2"]["point_of_no_return"], plan["nodes"]["g1"]["point_of_no_return"]) == ("rocm", None)


def test_a_fleet_at_target_has_nothing_to_do(target):
    plan = plan_of(fleet(2, g1="at_target", g2="at_target"), target)
    assert (plan["nodes"], plan["waves"], plan["at_target"], plan["eta_seconds"]) == ({}, [], ["g1", "g2"], 0)


def test_the_estimate_grows_with_the_waves(target):
    assert (
        plan_of(fleet(8), target)["eta_seconds"]
        > plan_of(fleet(4), target, {"capacity_floor_percent": 0})["eta_seconds"]
        > 600
    )


def test_what_was_learned_changes_the_estimate_and_not_the_plan(target):
    learned = Measured({(None, "rocm"): (50.0, 90.0)}, nodes=3)
    first, later = plan_of(fleet(8), target), plan_of(fleet(8), target, measured=learned)
    assert (first["plan_id"], first["eta"]["source"]) == (later["plan_id"], "typical")
    assert (later["eta"]["source"], later["eta_seconds"]) == ("both", later["eta"]["seconds"])
    assert later["eta_seconds"] < first["eta_seconds"] == first["eta"]["seconds"]


FEEDS = {f"g{number}": {"fleet_feed": "AB"[number % 2]} for number in range(1, 9)}
BY_FEED = {"failure_domains": [{"variable": "fleet_feed"}], "growth": {"kind": "fixed", "size": 2}}


def test_a_domain_may_be_any_variable_of_the_inventory(target):
    plan = plan_of(fleet(), target, BY_FEED, racks={}, variables=FEEDS)
    assert [wave["nodes"] for wave in plan["waves"]] == [["g2"], ["g4", "g6"], ["g8"], ["g1", "g3"], ["g5", "g7"]]
    assert plan["waves"][0]["domains"] == {"fleet_feed": ["A"]}
    assert plan["nodes"]["g1"]["variables"] == {"fleet_feed": "B"}


def test_a_node_without_a_domain_refuses_the_plan_by_name(target):
    with pytest.raises(PlanError, match="g3: no fleet_feed is known; wanted: the host variable fleet_feed on every"):
        plan_of(fleet(), target, BY_FEED, variables={**FEEDS, "g3": {}})


def test_a_node_without_a_domain_may_be_one_of_its_own(target):
    policy = {**BY_FEED, "domainless_nodes": "own_domain"}
    plan = plan_of(fleet(), target, policy, variables={**FEEDS, "g1": {}, "g3": {}})
    assert [wave["nodes"] for wave in plan["waves"] if set(wave["nodes"]) & {"g1", "g3"}] == [["g1"], ["g3"]]


PARTS = {f"g{number}": {"fleet_partition": "p1" if number < 5 else "p2"} for number in range(1, 9)}
PER_PART = {"failure_domain": "none", "capacity_floors": [{"per": "fleet_partition", "percent": 75}]}


def test_a_floor_per_partition_counts_who_is_out_of_it(target):
    rows = fleet(8, g8="at_target")
    plan = plan_of(rows, target, PER_PART, variables=PARTS)
    both = {"p1": {"fleet": 4, "out": 0, "at_target": []}, "p2": {"fleet": 4, "out": 0, "at_target": ["g8"]}}
    assert plan["groups"] == {"fleet_partition": both}
    assert [wave["nodes"] for wave in plan["waves"]] == [["g1"], ["g2", "g5"], ["g3", "g6"], ["g4", "g7"]]


def test_a_partition_without_room_refuses_with_the_numbers(target):
    with pytest.raises(PlanError) as caught:
        plan_of(fleet(), target, {**PER_PART, "exclude": ["g8"]}, variables=PARTS)
    assert "fleet_partition p2: 4 in the fleet, 1 out of service (g8); wanted: 3 in service" in str(caught.value)
    assert "capacity_floors 75 per fleet_partition" in str(caught.value)


def test_every_node_of_the_fleet_belongs_to_a_partition_that_has_a_floor(target):
    with pytest.raises(PlanError, match="g8: no fleet_partition is known"):
        plan_of(fleet(8, g8="at_target"), target, PER_PART, variables={**PARTS, "g8": {}})


def test_a_node_with_the_skip_label_stays_out_with_its_reason(target):
    plan = plan_of(fleet(), target, {"skip": "fleet_skip"}, variables={"g2": {"fleet_skip": "new board on order"}})
    assert plan["excluded"] == [{"node": "g2", "why": "skipped by fleet_skip: new board on order"}]
    assert plan["out"] == {"MI300X": 1}


def test_the_order_of_the_inventory_counts_where_the_policy_says_so(target):
    order = [f"g{number}" for number in (5, 8, 7, 6, 4, 3, 2, 1)]
    plan = plan_of(fleet(), target, {"order": "inventory"}, order=order)
    assert [wave["nodes"] for wave in plan["waves"]][:2] == [["g5"], ["g8", "g7"]]


def test_a_pattern_of_the_order_that_fits_no_node_is_refused(target):
    with pytest.raises(PlanError, match=r"policy: order h[*]: fits no node of this fleet"):
        plan_of(fleet(), target, {"order": ["g1", "h*"]})


def test_what_is_kept_of_the_records_makes_the_same_plan(target):
    rows, kept, policy = fleet(9, g3="unhealthy", g4="at_target"), Kept(), {"unfit_nodes": "exclude"}
    slim = {node: kept(row) for node, row in rows.items()}
    assert plan_of(slim, target, policy) == plan_of(rows, target, policy)
    assert slim["g1"]["rollback"] is slim["g2"]["rollback"]
    assert ("findings" in slim["g1"], "findings" in slim["g3"]) == (False, True)


@given(
    st.lists(st.tuples(st.sampled_from(["may_move", "at_target", "unhealthy"]), st.sampled_from("PQR")), min_size=1),
    st.integers(0, 100),
)
def test_at_every_moment_the_floor_of_each_partition_holds(kinds, percent):
    rows = {f"g{n}": record(f"g{n}", kind=kind, why="x") for n, (kind, _part) in enumerate(kinds)}
    parts = {f"g{n}": {"part": part} for n, (_kind, part) in enumerate(kinds)}
    floors = {"capacity_floors": [{"per": "part", "percent": percent}], "capacity_floor_percent": 0}
    policy = {**floors, "unfit_nodes": "exclude", "failure_domain": "none"}
    try:
        plan = plan_of(rows, {"name": "t", "products": {}}, policy, variables=parts)
    except PlanError:
        return
    assert_floor_of_parts(plan, rows, parts, percent)


def assert_floor_of_parts(plan, rows, parts, percent):
    gone = {node for node, row in rows.items() if row["class"] == "unhealthy"}
    for wave in plan["waves"]:
        for part in {parts[node]["part"] for node in wave["nodes"]}:
            of_it = {node for node, own in parts.items() if own["part"] == part}
            assert len(of_it - gone - set(wave["nodes"])) >= math.ceil(len(of_it) * percent / 100)


KINDS = st.lists(st.sampled_from(["may_move", "at_target", "unhealthy", "unknown"]), min_size=1, max_size=40)


@given(KINDS, st.integers(0, 100), st.integers(1, 6), st.integers(1, 8))
def test_at_every_moment_the_floor_holds_over_the_whole_fleet(kinds, percent, per_rack, max_wave):
    rows = {f"g{n}": record(f"g{n}", rack=f"r{n // per_rack}", kind=kind, why="x") for n, kind in enumerate(kinds)}
    policy = {"capacity_floor_percent": percent, "max_wave": max_wave, "unfit_nodes": "exclude"}
    least, out = math.ceil(len(rows) * percent / 100), sum(kind in ("unhealthy", "unknown") for kind in kinds)
    try:
        plan = plan_of(rows, {"name": "t", "products": {}}, policy)
    except PlanError:
        assert len(rows) - out - 1 < least
        return
    assert all(len(rows) - out - len(wave["nodes"]) >= least for wave in plan["waves"])
    assert sorted(plan["nodes"]) == sorted(node for wave in plan["waves"] for node in wave["nodes"])


def saved(plan, folder):
    path = folder / "plan.json"
    write_json(path, plan)
    return str(path)


def test_a_plan_comes_back_from_its_file_as_it_was(target, tmp_path):
    plan = plan_of(fleet(), target)
    assert canonical(load_plan(saved(plan, tmp_path))) == canonical(plan)


ETA = {"seconds": 5, "p90_seconds": None, "samples": 0, "source": "typical", "waves": [5]}
ODD = [("seconds", -1), ("seconds", "5"), ("waves", 5), ("waves", [None]), ("p90_seconds", 1.5), ("source", None),
       ("samples", True)]  # fmt: skip


def test_a_plan_from_before_the_estimate_knew_its_source_is_followed(target, tmp_path):
    plan = {key: value for key, value in plan_of(fleet(), target).items() if key != "eta"}
    assert load_plan(saved(plan, tmp_path)) == plan


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("waves", [], "was edited by hand"),
        ("policy", {"failure_budget": 99}, "was edited by hand"),
        ("plan_id", "0" * 12, "was edited"),
        ("nodes", [], "is damaged at nodes"),
        ("inputs", {"target": {}}, "is damaged at inputs.target"),
        ("schema", 2, "is not a plan"),
        ("eta_seconds", -1, "is damaged at eta_seconds"),
        ("eta", [], "is damaged at eta"),
        *(("eta", {**ETA, key: value}, "is damaged at eta") for key, value in ODD),
    ],
)
def test_an_edited_plan_is_refused(target, tmp_path, key, value, message):
    with pytest.raises(PlanError, match=message):
        load_plan(saved({**plan_of(fleet(), target), key: value}, tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\udcff"])
def test_a_file_that_is_no_plan_is_refused(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PlanError):
        load_plan(str(path))
    with pytest.raises(PlanError, match="No such file"):
        load_plan(str(tmp_path / "nope.json"))


def test_a_plan_whose_inputs_are_as_they_were_is_accepted(target):
    plan = plan_of(fleet(), target)
    current = current_inputs(plan, CATALOG, fleet())
    check_plan_inputs(plan, current)
    assert current["facts"] == plan["inputs"]["facts"]


def test_nodes_already_done_are_not_compared(target):
    plan = plan_of(fleet(), target)
    check_plan_inputs(plan, current_inputs(plan, CATALOG, {"g8": fleet()["g8"]}))


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("target", "sha256:other", "the target "),
        ("catalog", "sha256:other", "the catalog"),
        ("policy", "sha256:other", "the policy"),
        ("facts", {"g1": "sha256:g1", "g2": "sha256:other", "g3": None}, "the facts of g2, g3"),
    ],
)
def test_an_input_that_changed_is_named(target, key, value, named):
    plan = plan_of(fleet(), target)
    with pytest.raises(PlanInputChanged) as caught:
        check_plan_inputs(plan, {**current_inputs(plan, CATALOG, fleet()), key: value})
    assert named in str(caught.value)
    assert "make a new plan" in str(caught.value)


def test_a_target_file_that_is_gone_is_a_changed_input(tmp_path):
    path = write_target(tmp_path)
    plan = plan_of(fleet(), load_target(path, CATALOG))
    (tmp_path / "target.yml").unlink()
    with pytest.raises(PlanInputChanged, match="the target"):
        check_plan_inputs(plan, current_inputs(plan, CATALOG, fleet()))
