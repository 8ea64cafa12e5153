# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that stood still past its lease and wakes up: it can neither write nor begin another act."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import fence
from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld, StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import (
    ANNA,
    BOB,
    FORK,
    START,
    Clock,
    new_ledger,
    reasons,
)

TTL = 0.5


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    return new_ledger(tmp_path, clock)


def work(path, told):
    """A controller that writes and acts until it is refused; what refused it, and how often it acted before."""
    ledger = Ledger.open(path)
    epoch, acts = ledger.take_lease(ANNA, ttl=TTL), 0
    try:
        while True:
            ledger.note(epoch, "g01", "intent")
            ledger.still_ours(epoch)
            acts += 1
    except StaleController as error:
        told.put((acts, str(error)))


def frozen_controller(path, told, delay):
    """A controller that is stopped at some moment of its work, not within a transaction: that would keep the lock."""
    worker = FORK.Process(target=work, args=(path, told))
    worker.start()
    while not Ledger.open(path).events("g01"):
        time.sleep(0.005)
    time.sleep(delay)
    os.kill(worker.pid, signal.SIGSTOP)
    while locked(path):
        resume_for_a_moment(worker.pid)
    return worker


def take_as_soon_as_it_is_free(path):
    while True:
        try:
            return Ledger.open(path, alive=lambda pid: True).take_lease(BOB, ttl=600)
        except LeaseHeld:
            time.sleep(0.05)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.011])
def test_a_process_that_was_stopped_past_its_lease_is_refused_when_it_goes_on(tmp_path, delay):
    path, told = new_ledger(tmp_path, time.time).path, FORK.Queue()
    worker = frozen_controller(path, told, delay)
    assert take_as_soon_as_it_is_free(path) == 2
    taken = Ledger.open(path).events()
    os.kill(worker.pid, signal.SIGCONT)
    assert "bob on ctl2 (process 200) took over with epoch 2" in told.get(timeout=20)[1]
    worker.join(10)
    assert Ledger.open(path).events() == taken


def locked(path):
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def resume_for_a_moment(pid):
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.002)
    os.kill(pid, signal.SIGSTOP)


def test_who_still_has_the_lease_may_act_and_nothing_is_written_for_it(ledger, clock):
    epoch = ledger.take_lease(ANNA, ttl=60)
    clock.now += 20
    before = (ledger.events(), ledger.holder())
    ledger.still_ours(epoch)
    assert (ledger.events(), ledger.holder()) == before


def test_who_has_used_up_half_of_the_lease_prolongs_it_before_the_act(ledger, clock):
    epoch = ledger.take_lease(ANNA, ttl=60)
    clock.now += 40
    ledger.still_ours(epoch)
    clock.now += 50
    with pytest.raises(LeaseHeld):
        ledger.take_lease(BOB, ttl=60)


def test_who_was_taken_over_may_not_act(ledger, clock):
    epoch = ledger.take_lease(ANNA, ttl=60)
    clock.now += 61
    ledger.take_lease(BOB, ttl=60)
    with pytest.raises(StaleController, match="bob on ctl2"):
        ledger.still_ours(epoch)


def test_an_action_asks_with_the_fact_of_the_rollout(ledger):
    epoch = ledger.take_lease(ANNA, ttl=60)
    here = {"dir": os.path.dirname(ledger.path), "epoch": epoch}
    fence.still_ours(here)
    ledger.release_lease(epoch)
    with pytest.raises(StaleController, match="given back"):
        fence.still_ours(here)


@pytest.mark.parametrize("here", [None, {}, {"dir": None, "epoch": None}, {"dir": "/nowhere", "epoch": None}])
def test_without_a_rollout_there_is_nothing_to_ask(here):
    fence.still_ours(here)


def test_a_controller_that_died_on_another_machine_is_taken_over_by_name(ledger):
    ledger.take_lease(ANNA, ttl=60)
    with pytest.raises(LeaseHeld, match="at once with -e fleet_takeover=WHY"):
        ledger.take_lease(BOB, ttl=60)
    assert ledger.take_lease(BOB, ttl=60, takeover=True, reason="ctl1 has burnt down") == 2
    assert reasons(ledger)[-1] == (
        "bob on ctl2 (process 200) has the lease, taken over from anna on ctl1 (process 100): ctl1 has burnt down"
    )
    with pytest.raises(StaleController):
        ledger.note(1, None, "hello")


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_takeover_says_why_or_is_none(ledger, reason):
    ledger.take_lease(ANNA, ttl=60)
    with pytest.raises(LedgerError, match="a takeover without a reason"):
        ledger.take_lease(BOB, ttl=60, takeover=True, reason=reason)
    assert ledger.holder()["who"] == "anna"


def test_where_there_is_nobody_to_take_over_from_nothing_is_said_of_it(ledger, clock):
    assert ledger.take_lease(ANNA, ttl=60, takeover=True, reason="to be sure") == 1
    clock.now += 61
    assert ledger.take_lease(BOB, ttl=60, takeover=True, reason="to be sure") == 2
    assert not any("taken over" in reason for reason in reasons(ledger))


def test_a_clock_that_went_back_between_two_controllers_is_noted_before_the_new_one_writes(ledger, clock):
    ledger.release_lease(ledger.take_lease(ANNA, ttl=60))
    clock.now = START - 3600
    ledger.take_lease(BOB, ttl=60)
    assert reasons(ledger)[1] == "the clock went back: it is 3600 s behind the last event"
    assert reasons(ledger)[2].startswith("bob on ctl2")


def test_a_clock_that_goes_back_loses_neither_the_lease_nor_the_order_of_events_and_is_noted_once(ledger, clock):
    epoch = ledger.take_lease(ANNA, ttl=60)
    until = ledger.holder()["expires_at"]
    clock.now = START - 3600
    ledger.record(epoch, "g01", "admitted")
    ledger.record(epoch, "g01", "prechecked")
    assert ledger.holder()["expires_at"] == until
    assert reasons(ledger)[1:] == ["the clock went back: it is 3600 s behind the last event", "", ""]
    with pytest.raises(LeaseHeld, match="one of the two clocks is wrong"):
        ledger.take_lease(BOB, ttl=60)
    assert ledger.verify_chain() == []


def test_a_clock_that_goes_forward_loses_no_lease_that_nobody_took(ledger, clock):
    epoch = ledger.take_lease(ANNA, ttl=60)
    clock.now += 86400
    ledger.record(epoch, "g01", "admitted")
    assert "the lease had run out 86340 s ago and nobody took over" in reasons(ledger)[1]
    assert ledger.state_of("g01") == "admitted"
    with pytest.raises(LeaseHeld):
        ledger.take_lease(BOB, ttl=60)
