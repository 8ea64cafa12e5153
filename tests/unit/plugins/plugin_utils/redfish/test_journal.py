# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of what was flashed: on the disk before the act, and believed only where it is whole."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import Journal, journal_path
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record, write_target


def journal(folder):
    """The journal of a node as a new process finds it."""
    return Journal(str(folder), "g01", None, lambda: "2026-12-01T08:00:00Z")


def test_an_intent_is_there_for_whoever_comes_next(tmp_path):
    journal(tmp_path).write("bios", "intent", "1 to 2", version="2", tasks=["/t/1"])
    told = journal(tmp_path).last("bios")
    assert (told["event"], told["version"], told["tasks"]) == ("intent", "2", ["/t/1"])


def test_an_event_keeps_what_its_intent_said_and_the_next_intent_does_not(tmp_path):
    here = journal(tmp_path)
    here.write("bios", "intent", "", version="2", task=None)
    here.write("bios", "accepted", "", task="/t/2")
    assert (here.last("bios")["version"], here.last("bios")["task"]) == ("2", "/t/2")
    here.write("bios", "intent", "", version="3")
    assert here.last("bios").get("task") is None


def test_components_do_not_mix(tmp_path):
    journal(tmp_path).write("bios", "done", "")
    assert journal(tmp_path).last("bmc") == {}


def test_half_a_last_line_is_what_a_kill_leaves(tmp_path):
    journal(tmp_path).write("bios", "done", "")
    with open(journal_path(str(tmp_path), "g01"), "ab") as stream:
        stream.write(b'{"component": "bi')
    assert journal(tmp_path).last("bios")["event"] == "done"


def test_half_a_last_line_does_not_spoil_the_event_after_it(tmp_path):
    journal(tmp_path).write("bios", "intent", "", version="2")
    with open(journal_path(str(tmp_path), "g01"), "ab") as stream:
        stream.write(b'{"component": "bi')
    for event in ("accepted", "done"):
        journal(tmp_path).write("bios", event, "")
    assert (journal(tmp_path).last("bios")["event"], journal(tmp_path).last("bios")["version"]) == ("done", "2")


@pytest.mark.parametrize(
    ("event", "under_way"),
    [
        ("intent", True),
        ("accepted", True),
        ("staged", False),
        ("activating", True),
        ("done", False),
        ("failed", False),
    ],
)
def test_a_bmc_may_be_away_while_an_update_has_not_come_to_its_end(tmp_path, event, under_way):
    here = journal(tmp_path)
    assert not here.under_way
    here.write("bios", "done", "")
    here.write("bmc", event, "", version="2")
    assert journal(tmp_path).under_way is under_way


def test_a_damaged_line_is_no_memory_to_flash_by(tmp_path):
    journal(tmp_path).write("bios", "done", "")
    path = journal_path(str(tmp_path), "g01")
    with open(path, "rb") as stream:
        line = stream.read()
    with open(path, "wb") as stream:
        stream.write(b"garbage\n" + line + line)
    with pytest.raises(FleetError, match="line 1 is damaged"):
        journal(tmp_path)


def test_what_cannot_be_written_stops_before_the_act(tmp_path):
    (tmp_path / "firmware").write_text("in the way")
    with pytest.raises(FleetError, match=r"cannot be (written|read)"):
        journal(tmp_path).write("bios", "intent", "")


def test_in_a_rollout_the_ledger_has_every_event_and_says_whether_we_may_act(tmp_path):
    catalog, rows = load_catalog(), {"g01": record("g01")}
    parts = (load_target(write_target(tmp_path), catalog), load_policy({"capacity_floor_percent": 0}), catalog)
    plan = make_plan(rows, {"g01": "r1"}, *parts, "2026-12-01T08:00:00Z", rows)
    directory = rollout.rollout_dir(str(tmp_path), plan["plan_id"])
    rollout.begin(directory, plan)
    ledger = Ledger.open(rollout.ledger_path(directory))
    here = {"dir": str(directory), "epoch": ledger.take_lease(action.owner(), 600)}
    Journal(str(tmp_path), "g01", here, lambda: "now").write("bios", "intent", "1 to 2", version="2")
    assert ledger.events("g01")[-1]["data"]["firmware"]["version"] == "2"
    with pytest.raises(FleetError, match=r"lease|controller|took"):
        Journal(str(tmp_path), "g01", {**here, "epoch": here["epoch"] - 1}, lambda: "now").still_ours()
