# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gate leaves behind where it refuses a wave: an error with a code, and a note in the ledger."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.action.rollout_admit import ActionModule
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, gate, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record, write_target


@pytest.fixture(name="begun")
def _begun(tmp_path):
    """A ledger just begun, its plan, and what the task is told: g1 is the canary, g2 and g3 follow."""
    catalog, rows = load_catalog(), {f"g{n}": record(f"g{n}") for n in (1, 2, 3)}
    target, policy = load_target(write_target(tmp_path), catalog), load_policy({"capacity_floor_percent": 0})
    plan = make_plan(rows, dict.fromkeys(rows, "r1"), target, policy, catalog, "2026-12-01T08:00:00Z", rows)
    directory = rollout.rollout_dir(str(tmp_path), plan["plan_id"])
    rollout.begin(directory, plan)
    ledger = Ledger.open(rollout.ledger_path(directory))
    here = {"mode": "upgrade", "dir": str(directory), "waves": [["g1"], ["g2", "g3"]]}
    return ledger, plan, {**here, "epoch": ledger.take_lease(action.owner(), 600)}


def test_a_refused_wave_leaves_one_note_with_its_code_in_the_ledger(begun):
    ledger, plan, here = begun
    for node in ("g3", "g2"):
        with pytest.raises(gate.Refused, match=r"no canary has shown yet .*\[canary_unproven\]"):
            ActionModule._admit(ledger, plan, node, here)
    notes = [event["data"] for event in ledger.events() if "code" in (event["data"] or {})]
    assert notes == [{"code": "canary_unproven", "wave": 2, "lost": []}]


def test_an_admitted_node_is_recorded_and_nothing_noted(begun):
    ledger, plan, here = begun
    ActionModule._admit(ledger, plan, "g1", here)
    assert ledger.state_of("g1") == "admitted"


def test_a_controller_that_has_lost_its_lease_is_refused_with_a_code_of_its_own(begun):
    ledger, plan, here = begun
    with pytest.raises(gate.Refused, match=r"\[lease_lost\]") as caught:
        ActionModule._admit(ledger, plan, "g1", {**here, "epoch": here["epoch"] - 1})
    assert caught.value.code == "lease_lost"
    assert ledger.state_of("g1") == "planned"


def test_a_wave_refused_for_its_losses_ends_quietly_where_the_policy_undoes_them_next(begun):
    ledger, plan, here = begun
    ledger.record(here["epoch"], "g1", "admitted")
    ledger.record(here["epoch"], "g1", "failed")
    plan["policy"]["automatic_rollback"] = "rollout"
    assert [ActionModule._admit(ledger, plan, node, here) for node in ("g2", "g3", "g2")] == [True, True, True]
    notes = [event["data"] for event in ledger.events() if "code" in (event["data"] or {})]
    assert notes == [{"code": "canary_lost", "wave": 2, "lost": ["g1"]}]
    assert (ledger.state_of("g2"), ledger.holder()["expires_at"] is not None) == ("planned", True)


@pytest.mark.parametrize(("order", "code"), [("pause", "paused"), ("abort", "aborted")])
def test_a_wave_is_refused_while_the_order_of_an_operator_stands(begun, order, code):
    ledger, plan, here = begun
    ledger.order(action.owner(), order, "the cooling is out")
    with pytest.raises(gate.Refused, match=rf"{code} by .* the cooling is out \[{code}\]") as caught:
        ActionModule._admit(ledger, plan, "g1", here)
    assert (caught.value.code, ledger.state_of("g1")) == (code, "planned")
    assert [event["data"]["code"] for event in ledger.events() if "code" in (event["data"] or {})] == [code]


def test_a_rollback_after_an_abort_begins_and_stops_at_what_is_ordered_from_then_on(begun):
    ledger, plan, here = begun
    ledger.order(action.owner(), "abort", "wrong target")
    ledger.note(here["epoch"], None, "rollback begins", {"mode": "rollback", "nodes": ["g1", "g2", "g3"]})
    ActionModule._admit(ledger, plan, "g1", {**here, "mode": "rollback"})
    ledger.order(action.owner(), "pause", "not so fast")
    with pytest.raises(gate.Refused, match="not so fast"):
        ActionModule._admit(ledger, plan, "g1", {**here, "mode": "rollback"})


def test_an_alert_that_any_host_of_the_wave_hears_of_is_noted_once_and_touches_nothing(begun):
    ledger, plan, here = begun
    plan["waves"], here["waves"] = [{"number": 1, "kind": "wave", "nodes": ["g1", "g2", "g3"]}], [["g1", "g2", "g3"]]
    plan["policy"]["alert_gates"] = [{"name": "hot", "command": ["/bin/sh", "-c", "exit 1"], "timeout_seconds": 9}]
    for node in ("g3", "g2", "g3"):
        with pytest.raises(gate.Refused, match=r"alert gate hot is firing.*\[alert_firing\]"):
            ActionModule._admit(ledger, plan, node, here)
    assert [event["data"]["code"] for event in ledger.events() if "code" in (event["data"] or {})] == ["alert_firing"]
    assert [ledger.state_of(node) for node in ("g2", "g3")] == ["planned", "planned"]
