# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a rollout, forward and back, by its plan and its ledger."""

from __future__ import annotations

import os

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

NODES = ["g01", "g02", "g03", "g04"]
PLAN = {"waves": [{"nodes": ["g01"]}, {"nodes": ["g02", "g03"]}, {"nodes": ["g04"]}]}


def ledger(**states):
    return {node: {"state": states.get(node, "planned"), "has_snapshot": node in states} for node in NODES}


def test_a_fresh_rollout_has_all_the_waves_of_its_plan():
    assert rollout.upgrade_waves(PLAN, {}, NODES) == [["g01"], ["g02", "g03"], ["g04"]]


def test_a_second_run_of_a_finished_rollout_has_nothing_to_do():
    assert rollout.upgrade_waves(PLAN, ledger(**dict.fromkeys(NODES, "in_service")), NODES) == []


def test_a_node_that_a_killed_controller_left_is_taken_up_again():
    assert rollout.upgrade_waves(PLAN, ledger(g01="in_service", g02="activating"), NODES) == [["g02", "g03"], ["g04"]]


@pytest.mark.parametrize("state", ["failed", "restored", "quarantined", "rolling_back", "paused", "skipped"])
def test_a_node_that_is_lost_or_was_stopped_waits_for_an_operator(state):
    assert rollout.upgrade_waves(PLAN, ledger(g02=state), NODES) == [["g01"], ["g03"], ["g04"]]


def test_a_node_that_an_operator_gave_back_is_taken_up_with_its_wave():
    assert rollout.upgrade_waves(PLAN, ledger(g01="in_service", g02="requeued"), NODES) == [["g02", "g03"], ["g04"]]


def test_a_limit_never_mixes_two_waves():
    assert rollout.upgrade_waves(PLAN, {}, ["g03", "g04"]) == [["g03"], ["g04"]]


def test_rollback_takes_only_what_was_changed_and_is_not_back():
    nodes = ledger(g01="in_service", g02="restored", g03="activating")
    assert rollout.rollback_waves(PLAN, nodes, NODES, incident=False) == [["g01"], ["g03"]]


def test_an_incident_takes_all_at_once():
    nodes = ledger(**dict.fromkeys(NODES, "in_service"))
    assert rollout.rollback_waves(PLAN, nodes, NODES, incident=True) == [NODES]


def test_an_ordinary_step_needs_no_named_action():
    assert rollout.action_for("failed", "rolling_back", ["rollback"]) is None


def test_leaving_service_needs_the_action_that_is_allowed():
    assert rollout.action_for("in_service", "rolling_back", ["rollback"]) == "rollback"


def test_no_rollout_yet_is_said_with_the_folder(tmp_path):
    with pytest.raises(FleetError, match="no rollout was ever started"):
        rollout.find_rollout(str(tmp_path), None)


def test_an_unknown_rollout_names_those_that_exist(tmp_path):
    folder = tmp_path / "rollouts" / "abc123"
    folder.mkdir(parents=True)
    (folder / "ledger.sqlite").touch()
    with pytest.raises(FleetError, match="abc123"):
        rollout.find_rollout(str(tmp_path), "def456")


def test_only_nodes_that_no_run_touched_must_still_be_what_was_planned():
    plan = {"nodes": dict.fromkeys(NODES)}
    assert rollout.untouched(plan, ledger(g01="in_service", g02="activating"), [*NODES, "other"]) == ["g03", "g04"]


def test_a_node_is_begun_from_its_first_change_on_and_stays_so_when_it_is_taken_up_again(tmp_path):
    plan = {"plan_id": "abc", "nodes": {"g01": {"wave": 1}, "g02": {"wave": 1}}}
    book = Ledger.create(rollout.ledger_path(tmp_path), plan)
    epoch = book.take_lease({"who": "me", "host": "here", "pid": 1}, ttl=60)
    for state in ("admitted", "prechecked", "draining", "drained", "snapshotted"):
        book.record(epoch, "g01", state)
    assert not rollout.was_begun(tmp_path, "g01")
    book.record(epoch, "g01", "changing", kind="intent")
    book.record(epoch, "g01", "admitted", action="resume")
    assert rollout.was_begun(tmp_path, "g01")
    assert not rollout.was_begun(tmp_path, "g02")


def test_a_node_that_was_brought_back_and_is_tried_again_counts_as_untouched(tmp_path):
    book = Ledger.create(rollout.ledger_path(tmp_path), {"plan_id": "abc", "nodes": {"g01": {"wave": 1}}})
    epoch = book.take_lease({"who": "me", "host": "here", "pid": 1}, ttl=60)
    for state in ("admitted", "prechecked", "draining", "drained", "snapshotted", "changing", "failed", "rolling_back"):
        book.record(epoch, "g01", state)
    assert rollout.was_begun(tmp_path, "g01")
    book.record(epoch, "g01", "verifying_old")
    book.record(epoch, "g01", "restored")
    assert not rollout.was_begun(tmp_path, "g01")


@pytest.fixture
def two_rollouts(tmp_path):
    """A fleet directory that came back from a backup: the older rollout has the newer file."""
    for number, name in enumerate(("older", "newer")):
        plan = {"plan_id": name, "nodes": {"g01": {"wave": 1}}}
        Ledger.create(tmp_path / "rollouts" / name / "ledger.sqlite", plan, clock=lambda begun=number: 1000.0 + begun)
    os.utime(tmp_path / "rollouts" / "newer" / "ledger.sqlite", (1, 1))
    return tmp_path


def test_the_newest_rollout_is_the_one_that_began_last_whatever_the_files_say(two_rollouts):
    assert rollout.find_rollout(str(two_rollouts), None).name == "newer"


def test_a_damaged_ledger_is_not_in_the_way_of_another_rollout(two_rollouts):
    (two_rollouts / "rollouts" / "older" / "ledger.sqlite").write_bytes(b"damaged")
    assert rollout.find_rollout(str(two_rollouts), "newer").name == "newer"


def test_the_nodes_in_service_are_those_of_this_run():
    assert rollout.in_service(ledger(g01="in_service", g02="in_service", g03="failed"), ["g02", "g03"]) == ["g02"]


def test_a_rollout_begins_with_every_node_planned(tmp_path):
    rollout.begin(tmp_path, {"plan_id": "abc", "nodes": {"g01": {"wave": 1}}})
    assert Ledger.open(rollout.ledger_path(tmp_path)).state_of("g01") == "planned"


def test_a_ledger_without_its_plan_gets_it_back(tmp_path):
    plan = {"plan_id": "abc", "nodes": {"g01": {"wave": 1}}}
    Ledger.create(rollout.ledger_path(tmp_path), plan)
    rollout.begin(tmp_path, plan)
    rollout.begin(tmp_path, plan)
    assert (tmp_path / "plan.json").exists()


def opened(mode, *nodes):
    return {"kind": "note", "data": {"mode": mode, "nodes": list(nodes)}}


def test_a_node_is_judged_by_the_last_order_that_took_it():
    events = [opened("upgrade", "g01", "g02", "g03"), opened("rollback", "g02", "g03"), opened("upgrade", "g03")]
    assert rollout.ordered_back(events) == {"g02"}


def view(path="", **wanted):
    target = {"products": {"MI300X": {"rocm": "7.0.2", "driver": "30.10.2", **wanted}}}
    plan = {"nodes": {"g01": {"product": "MI300X"}}, "target": target, "policy": {}}
    return rollout.node_view({**plan, "inputs": {"target": {"path": path}}}, "g01", None)


def test_a_node_is_given_its_firmware_and_bios_and_images_lie_beside_the_target():
    given = view("/srv/t/target.yml", firmware=[{"component": "bmc", "scheme": None}], bios={"smt": "Enabled"})
    assert [given[key] for key in ("firmware", "bios", "firmware_images")] == [
        [{"component": "bmc"}], {"smt": "Enabled"}, "/srv/t",
    ]  # fmt: skip
    assert [view()[key] for key in ("firmware", "bios", "firmware_images")] == [[], {}, "."]


POLICY = {"drain_timeout_seconds": 3600, "reboot_timeout_seconds": 1800, "soak_seconds": 60}


@pytest.mark.parametrize(("wanted", "more"), [({}, 0), ({"firmware": [{"component": "bmc"}]}, 3600)])
def test_a_lease_outlives_the_longest_flash(wanted, more):
    plan = {"policy": POLICY, "target": {"products": {"MI300X": wanted}}}
    assert rollout.lease_seconds(plan) >= sum(POLICY.values()) + more + 600


@pytest.mark.parametrize(
    "kernel, declared",
    [
        (None, False),
        ({"cmdline": [], "module_options": {}, "sysctl": {}}, False),
        ({"cmdline": ["iommu=pt"], "module_options": {}, "sysctl": {}}, True),
    ],
)
def test_a_target_that_is_silent_on_the_kernel_leaves_its_settings_alone(kernel, declared):
    target = {"products": {"MI300X": {"rocm": "7.0.2", "driver": "30.10.2", "kernel": kernel}}}
    plan = {"nodes": {"g01": {"product": "MI300X"}}, "target": target, "policy": {}}
    assert rollout.node_view(plan, "g01", None)["declares_kernel"] is declared
