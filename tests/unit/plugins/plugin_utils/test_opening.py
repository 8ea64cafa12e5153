# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a way back is opened: the same for an operator and for the policy, but for who is in it."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import gate, opening, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

TO_SNAPSHOT = ("admitted", "prechecked", "draining", "drained", "snapshotted")
NODES = ["g01", "g02", "g03"]
WAVES = [{"number": 1, "kind": "canary", "nodes": ["g01"]}, {"number": 2, "kind": "wave", "nodes": ["g02", "g03"]}]


@pytest.fixture
def lost(tmp_path):
    """A function that makes a rollout with g01 in service and g02 failed; arguments to open its way back."""

    def make(**policy):
        rows = {"g01": {"wave": 1}, "g02": {"wave": 2}, "g03": {"wave": 2}}
        plan = {"plan_id": "abc", "nodes": rows, "waves": WAVES, "policy": {"failure_budget": 0, **policy}}
        book = Ledger.create(rollout.ledger_path(rollout.rollout_dir(str(tmp_path), "abc")), plan)
        epoch = book.take_lease({"who": "me", "host": "here", "pid": 1}, ttl=60)
        for state in (*TO_SNAPSHOT, "changing", "verifying", "soaking", "in_service"):
            book.record(epoch, "g01", state)
        for state in (*TO_SNAPSHOT, "changing", "failed"):
            book.record(epoch, "g02", state)
        return {"fleet_dir": str(tmp_path), "rollout": None, "plan": None, "nodes": NODES, "incident": False}

    return make


def test_an_operators_rollback_takes_what_was_changed_in_the_waves_of_the_plan(lost):
    opened = opening.back(lost())
    assert (opened.waves, opened.why) == ([["g01"], ["g02"]], "")
    assert (opened.directory / "plan.json").exists()


def test_an_incident_takes_all_at_once_whatever_the_batch(lost):
    given = lost(rollback_batch=1)
    assert opening.back({**given, "incident": True}).waves == [["g01", "g02"]]


def test_a_rollback_of_strangers_is_refused(lost):
    with pytest.raises(FleetError, match="none of these nodes is part of it: x1"):
        opening.back({**lost(), "nodes": ["x1"]})


def test_the_policy_sends_back_and_says_why(lost):
    opened = opening.back_by_itself(lost(automatic_rollback="rollout"))
    assert opened.waves == [["g01"], ["g02"]]
    assert opened.why.startswith("automatic_rollback rollout: lost g02; going back: g01, g02")


def test_a_policy_that_sends_nobody_back_opens_nothing(lost):
    opened = opening.back_by_itself(lost(automatic_rollback="node"))
    assert (opened.waves, opened.why) == ([], "")


@pytest.mark.parametrize("order", ["pause", "abort"])
def test_an_order_that_stands_holds_back_what_the_policy_would_undo(lost, order):
    given = lost(automatic_rollback="rollout")
    book = Ledger.open(rollout.ledger_path(rollout.rollout_dir(given["fleet_dir"], "abc")))
    book.order({"who": "anna", "host": "ctl1"}, order, "I want to look first")
    assert opening.back_by_itself(given).waves == []


def test_an_upgrade_is_not_opened_while_an_operator_holds_it(lost, monkeypatch):
    given = lost()
    book = Ledger.open(rollout.ledger_path(rollout.rollout_dir(given["fleet_dir"], "abc")))
    monkeypatch.setattr(opening, "load_plan", lambda path: book.plan())
    book.order({"who": "anna", "host": "ctl1"}, "pause", "the fabric is being worked on")
    with pytest.raises(gate.Refused, match=r"anna on ctl1.*the fabric is being worked on.*\[paused\]"):
        opening.forward(given, {}, lambda nodes: {})


def test_a_library_that_is_missing_is_told_before_anything_is_touched_and_only_where_it_is_needed(monkeypatch):
    host = dict.fromkeys(opening.host_variables.BMC, "x")
    monkeypatch.setattr(opening.connection, "library", lambda: (_ for _ in ()).throw(FleetError("sushy", "is missing")))
    opening.refuse_no_recovery({"policy": {"reboot_recovery": "command"}}, {}, ["g01"])
    opening.refuse_no_recovery({"policy": {"reboot_recovery": "bmc"}}, {}, [])
    with pytest.raises(FleetError, match="sushy: is missing"):
        opening.refuse_no_recovery({"policy": {"reboot_recovery": "bmc"}}, {"g01": host}, ["g01"])
