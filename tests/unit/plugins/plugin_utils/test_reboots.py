# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger counts the reboots that were ordered of a node, and keeps what was done for one that stayed away."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted, Recovered
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.reboots import (
    Book,
    is_open,
    ordered,
    was_recovered,
    why_not,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, BOB, PLAN


@pytest.fixture(name="here")
def _here(tmp_path):
    """What a task is told of a rollout in which anna has the lease."""
    ledger = Ledger.create(tmp_path / "ledger.sqlite", PLAN, ANNA)
    return {"dir": str(tmp_path), "epoch": ledger.take_lease(ANNA, 600)}


def _events(here, node="g01"):
    return Ledger.open(f"{here['dir']}/ledger.sqlite").events(node)


def test_a_reboot_is_written_down_before_it_is_ordered(here):
    Book(here, "g01").order("aaaa", "6.1")
    assert _events(here)[-1]["data"] == {"reboot": {"number": 1, "boot_id": "aaaa", "kernel": "6.1"}}
    assert _events(here)[-1]["reason"] == "reboot 1 of at most 6 is ordered"


def test_a_node_is_not_rebooted_for_ever(here):
    for _ in range(2):
        Book(here, "g01", 2).order("aaaa", None)
    with pytest.raises(NotRebooted, match="rebooted 2 times in this rollout") as caught:
        Book(here, "g01", 2).order("aaaa", None)
    assert caught.value.diagnosis == "loop"
    assert ordered(_events(here)) == 2


def test_each_node_has_its_own_count(here):
    Book(here, "g01", 1).order("aaaa", None)
    Book(here, "g02", 1).order("bbbb", None)


def test_a_reset_through_a_bmc_is_written_down_and_counts_as_a_reboot(here):
    book = Book(here, "g01", 2)
    book.order("aaaa", None)
    book.reset("ForceOff and On", "On")
    event = _events(here)[-1]
    assert event["data"] == {"reboot": {"number": 2, "by": "bmc", "reset": "ForceOff and On", "power": "On"}}
    assert event["reason"].endswith("2 is ordered of its BMC: ForceOff and On, while its power state is On")
    with pytest.raises(NotRebooted):
        book.reset("On", "Off")


def test_a_controller_that_was_taken_over_orders_no_reboot_and_no_recovery(here):
    Ledger.open(f"{here['dir']}/ledger.sqlite").take_lease(BOB, 600, takeover=True, reason="it burnt down")
    done = []
    order, recovery = lambda b: b.order("aaaa", None), lambda b: b.recovering("command", lambda: done.append("cycled"))
    for act in (order, recovery, lambda b: b.reset("On", "Off")):
        with pytest.raises(StaleController):
            act(Book(here, "g01"))
    assert done == []


@pytest.mark.parametrize("failed, told", [("", "done, waiting for the node"), ("ipmi: no route", "ipmi: no route")])
def test_a_recovery_is_noted_before_and_after(here, failed, told):
    seen, came = [], Recovered(failed)
    assert Book(here, "g01").recovering("command", lambda: seen.append(_events(here)[-1]["reason"]) or came) == came
    assert seen == ["it stays away: its recovery by command begins"]
    assert _events(here)[-1]["reason"] == f"recovery by command: {told}"
    assert _events(here)[-1]["data"] == {"recovery": "command", "done": not failed}


@pytest.mark.parametrize("here", [None, {}, {"dir": None, "epoch": 1}, {"dir": "/nowhere", "epoch": None}])
def test_outside_of_a_rollout_nothing_is_counted(here):
    book = Book(here, "g01")
    book.order("aaaa", None)
    book.reset("On", "Off")
    assert book.recovering("command", lambda: Recovered("failed")).failed == "failed"
    assert book.is_open is False


def test_what_was_done_is_told_with_the_outcome_of_a_recovery(here):
    Book(here, "g01").recovering("bmc", lambda: Recovered(told="On ordered of BMC b"))
    assert _events(here)[-1]["reason"] == "recovery by bmc: done, waiting for the node: On ordered of BMC b"


def _event(data=None, state=None):
    return {"data": data, "state": state}


ORDER, RESET = _event({"reboot": {"number": 1}}), _event({"reboot": {"number": 2, "by": "bmc"}})
BEGINS, BY_COMMAND = _event({"recovery": "bmc"}), _event({"recovery": "command"})


@pytest.mark.parametrize(
    "events, told",
    [
        ([], False),
        ([ORDER], True),
        ([ORDER, _event(state="admitted"), _event()], True),
        ([ORDER, _event({}, "booted")], False),
        ([ORDER, _event(None, "inconclusive"), _event(None, "admitted")], False),
        ([ORDER, _event(None, "verifying_old")], False),
        ([ORDER, _event(None, "booted"), _event(None, "rolling_back"), ORDER], True),
    ],
)
def test_a_reboot_is_open_until_something_is_known_of_its_end(events, told):
    assert is_open(events) is told


@pytest.mark.parametrize(
    "events, told",
    [
        ([ORDER], False),
        ([ORDER, BEGINS], False),
        ([ORDER, BEGINS, RESET], True),
        ([ORDER, BY_COMMAND], True),
        ([ORDER, BEGINS, RESET, _event(None, "booted"), ORDER], False),
    ],
    ids=["none", "bmc not asked yet", "reset ordered", "command begun", "another reboot since"],
)
def test_a_recovery_is_done_once_for_each_reboot(events, told):
    assert was_recovered(events) is told


@pytest.mark.parametrize("kind", ["command", "bmc"])
def test_what_a_controller_began_before_it_died_is_not_done_a_second_time(here, kind):
    book, done = Book(here, "g01"), []
    book.order("aaaa", None)

    def dies():
        book.reset("ForceRestart", "On")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book.recovering(kind, dies)
    later = Book(here, "g01")
    assert later.is_open
    assert "nothing is ordered a second time" in later.recovering(kind, lambda: done.append("reset")).failed
    assert done == []


def _flash(event):
    return _event({"firmware": {"component": "bios", "event": event, "version": "3.4", "reason": ""}})


@pytest.mark.parametrize("event, told", [("intent", True), ("staged", True), ("done", False), ("failed", False)])
def test_a_node_whose_boot_may_write_its_firmware_is_left_alone(event, told):
    assert ("its firmware (bios) may be written" in why_not([_flash("intent"), _flash(event), ORDER])) is told


def test_nothing_is_asked_of_a_node_whose_boot_may_write_its_firmware(here):
    row = {"component": "bios", "event": "staged", "version": "3.4", "reason": ""}
    Ledger.open(f"{here['dir']}/ledger.sqlite").note(here["epoch"], "g01", "staged", {"firmware": row})
    book = Book(here, "g01")
    book.order("aaaa", None)
    assert "would be half written" in book.recovering("bmc", lambda: pytest.fail("asked")).failed
