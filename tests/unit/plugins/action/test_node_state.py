# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the result of a failed step makes of a node: failed, or inconclusive where a person has to look."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.fleetops.instinct.plugins.action.node_state import ActionModule
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, PLAN

TO_REBOOT = ("admitted", "prechecked", "draining", "drained", "snapshotted", "changing", "activating")
SPEC = {"state": "failed", "intent": False, "reason": "Reboot: it went wrong", "data": None, "actions": []}


def _act(args, checking=False):
    module = ActionModule(SimpleNamespace(check_mode=checking), None, None, None, None, None)
    return module.act({**SPEC, **args}, {"inventory_hostname": "g01"})


@pytest.fixture(name="here")
def _here(tmp_path):
    """A rollout whose node g01 is being rebooted."""
    ledger = Ledger.create(tmp_path / "ledger.sqlite", PLAN, ANNA)
    epoch = ledger.take_lease(ANNA, 600)
    for state in TO_REBOOT:
        ledger.record(epoch, "g01", state)
    return {"dir": str(tmp_path), "epoch": epoch}


@pytest.mark.parametrize(
    "failure, state",
    [
        ({"diagnosis": "host_key_changed", "evidence": {"port_answers": True}}, "inconclusive"),
        ({"diagnosis": "wrong_kernel", "evidence": {"kernel": "5.10"}}, "failed"),
        ({"msg": "no room"}, "failed"),
        (None, "failed"),
    ],
)
def test_the_diagnosis_decides_and_is_kept_f03(here, failure, state):
    assert _act({"rollout": here, "failure": failure})["state"] == state
    kept = Ledger.open(f"{here['dir']}/ledger.sqlite").events("g01")[-1]["data"]
    assert kept == {key: value for key, value in (failure or {}).items() if key != "msg"}


def test_a_way_back_is_told_what_stays_what_makes_the_node_unfit_and_what_to_set_back(here):
    ledger = Ledger.open(f"{here['dir']}/ledger.sqlite")
    ledger.note(here["epoch"], "g01", "BIOS settings", {"bios_before": [["SMTControl", "Disabled"]]})
    for event in ("intent", "accepted", "failed"):
        row = {"component": "bios", "event": event, "reason": "the old version runs", "version": "3.4"}
        ledger.note(here["epoch"], "g01", event, {"firmware": row})
    told = _act({"rollout": here, "state": None, "failure": None, "reason": ""})
    assert (told["bios_before"], told["stays"]) == ({"SMTControl": "Disabled"}, "")
    assert "flash of bios failed after the BMC had taken the image (the old version runs)" in told["unfit"]


@pytest.mark.parametrize("checking", [True, False])
def test_without_a_ledger_an_inconclusive_end_fails_the_run_as_a_failure_does(checking):
    with pytest.raises(FleetError, match="it went wrong"):
        _act({"rollout": None, "failure": {"diagnosis": "never_back"}}, checking)
