# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger counts the reboots that were ordered of a node, and keeps what was done for one that stayed away."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.reboots import Book, ordered
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, BOB, PLAN


@pytest.fixture(name="here")
def _here(tmp_path):
    """What a task is told of a rollout in which anna has the lease."""
    ledger = Ledger.create(tmp_path / "ledger.sqlite", PLAN, ANNA)
    return {"dir": str(tmp_path), "epoch": ledger.take_lease(ANNA, 600)}


def _events(here, node="g01"):
    return Ledger.open(f"{here['dir']}/ledger.sqlite").events(node)


def test_a_reboot_is_written_down_before_it_is_ordered(here):
    Book(here, "g01").order(6, "aaaa", "6.1")
    assert _events(here)[-1]["data"] == {"reboot": {"number": 1, "boot_id": "aaaa", "kernel": "6.1"}}
    assert _events(here)[-1]["reason"] == "reboot 1 of at most 6 is ordered"


def test_a_node_is_not_rebooted_for_ever(here):
    for _ in range(2):
        Book(here, "g01").order(2, "aaaa", None)
    with pytest.raises(NotRebooted, match="rebooted 2 times in this rollout") as caught:
        Book(here, "g01").order(2, "aaaa", None)
    assert caught.value.diagnosis == "loop"
    assert ordered(_events(here)) == 2


def test_each_node_has_its_own_count(here):
    Book(here, "g01").order(1, "aaaa", None)
    Book(here, "g02").order(1, "bbbb", None)


def test_a_controller_that_was_taken_over_orders_no_reboot_and_no_recovery(here):
    Ledger.open(f"{here['dir']}/ledger.sqlite").take_lease(BOB, 600, takeover=True, reason="it burnt down")
    done = []
    for act in (lambda b: b.order(6, "aaaa", None), lambda b: b.recovering("command", lambda: done.append("cycled"))):
        with pytest.raises(StaleController):
            act(Book(here, "g01"))
    assert done == []


@pytest.mark.parametrize("failed, told", [("", "done, waiting for the node"), ("ipmi: no route", "ipmi: no route")])
def test_a_recovery_is_noted_before_and_after(here, failed, told):
    seen = []
    assert Book(here, "g01").recovering("command", lambda: seen.append(_events(here)[-1]["reason"]) or failed) == failed
    assert seen == ["it stays away: its recovery by command begins"]
    assert _events(here)[-1]["reason"] == f"recovery by command: {told}"
    assert _events(here)[-1]["data"] == {"recovery": "command", "done": not failed}


@pytest.mark.parametrize("here", [None, {}, {"dir": None, "epoch": 1}, {"dir": "/nowhere", "epoch": None}])
def test_outside_of_a_rollout_nothing_is_counted(here):
    book = Book(here, "g01")
    book.order(0, "aaaa", None)
    assert book.recovering("command", lambda: "failed") == "failed"
