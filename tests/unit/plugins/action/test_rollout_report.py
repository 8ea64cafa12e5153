# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of a rollout says besides its nodes: the order that stands."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.fleetops.instinct.plugins.action.rollout_report import ActionModule
from ansible_collections.fleetops.instinct.plugins.plugin_utils import closing, eta, report, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA

PLAN = {"plan_id": "abc", "policy": {}, "waves": [{"nodes": ["g01"]}], "nodes": {"g01": {"wave": 1}}}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(rollout.ledger_path(rollout.rollout_dir(str(tmp_path), "abc")), PLAN)


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A function that runs the task; its result, and what it said."""
    said = []
    monkeypatch.setattr(ActionModule, "say", lambda self, text: said.append(text))
    monkeypatch.setattr(closing, "write", lambda directory, told: directory / "report.html")
    monkeypatch.setattr(eta, "progress", lambda *about: None)
    monkeypatch.setattr(report, "rollout_report", lambda *about, **how: "the table")

    def run():
        one = ActionModule.__new__(ActionModule)
        one._task = SimpleNamespace(check_mode=False)
        args = {"rollout": None, "node": None, "mode": None, "must_be_clean": False, "fleet_dir": str(tmp_path)}
        return one.act(args, {}), "\n".join(said)

    return run


def test_whoever_looks_at_a_rollout_is_told_of_the_order_that_stands(ledger, told):
    ledger.order(ANNA, "pause", "the cooling is out")
    result, said = told()
    assert result["standing"]["order"] == "pause"
    assert "The rollout was paused by anna on ctl1 at " in said
    assert "the cooling is out" in said


def test_a_rollback_that_goes_on_after_an_abort_is_not_told_to_be_stopped(ledger, told):
    ledger.order(ANNA, "abort", "wrong target")
    epoch = ledger.take_lease(ANNA, 60)
    ledger.note(epoch, None, "rollback begins", {"mode": "rollback", "nodes": ["g01"]})
    result, said = told()
    assert (result["standing"], "aborted" in said) == (None, False)
