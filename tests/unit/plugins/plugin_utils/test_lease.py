# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may write: one controller, and a stale one that wakes up is fenced off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import lease
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld, StaleController

ANNA = {"who": "anna", "host": "ctl1", "pid": 100}
BOB_HERE = {"who": "bob", "host": "ctl1", "pid": 200}
BOB_AWAY = {"who": "bob", "host": "ctl2", "pid": 200}
T = 1_796_099_400.0


def take(current, owner, now=T, alive=True, ttl=60.0):
    return lease.take(current, owner, ttl, now, lambda pid: alive, "ledger.sqlite")


def test_the_first_lease_has_epoch_one():
    held = take(None, ANNA)
    assert (held.who, held.epoch, held.since, held.expires_at) == ("anna", 1, T, T + 60)


def test_another_living_owner_is_told_who_where_since_until_and_what_to_do():
    with pytest.raises(LeaseHeld) as caught:
        take(take(None, ANNA), BOB_HERE, now=T + 1)
    text = str(caught.value)
    fix = "fix: let it finish, or stop process 100 on ctl1"
    for part in ("anna on ctl1 (process 100)", lease.iso(T), lease.iso(T + 60), fix):
        assert part in text


def test_a_dead_process_of_the_same_machine_is_taken_over_with_the_next_epoch():
    assert take(take(None, ANNA), BOB_HERE, now=T + 1, alive=False).epoch == 2


def test_nothing_can_be_known_of_a_process_on_another_machine_so_it_counts_as_alive():
    with pytest.raises(LeaseHeld):
        take(take(None, ANNA), BOB_AWAY, now=T + 1, alive=False)


def test_an_expired_lease_is_taken_over_even_from_a_living_process():
    assert take(take(None, ANNA), BOB_AWAY, now=T + 61).epoch == 2


def test_the_same_controller_gets_its_own_lease_again_with_the_same_epoch():
    again = take(take(None, ANNA), ANNA, now=T + 30)
    assert (again.epoch, again.since, again.expires_at) == (1, T, T + 90)


def test_a_lease_that_was_given_back_is_free_at_once():
    given_back = take(None, ANNA)._replace(expires_at=0.0)
    assert take(given_back, BOB_AWAY, now=T + 1).epoch == 2
    assert take(given_back, ANNA, now=T + 1).epoch == 2


def test_each_write_prolongs_the_lease():
    assert lease.renew(take(None, ANNA), 1, T + 50, "x").expires_at == T + 110


def test_a_slow_controller_goes_on_after_its_lease_ran_out_if_nobody_took_over():
    assert lease.renew(take(None, ANNA), 1, T + 500, "x").expires_at == T + 560


def test_an_operator_who_knows_that_the_other_controller_is_gone_takes_its_lease_by_force():
    taken = lease.take(take(None, ANNA), BOB_AWAY, 60.0, T + 1, lambda pid: True, "x", by_force=True)
    assert (taken.who, taken.epoch, taken.since) == ("bob", 2, T + 1)
    with pytest.raises(StaleController, match="bob on ctl2"):
        lease.renew(taken, 1, T + 2, "x")


def test_force_changes_nothing_for_who_has_the_lease_already():
    assert lease.take(take(None, ANNA), ANNA, 60.0, T + 1, lambda pid: True, "x", by_force=True).epoch == 1


def test_a_clock_that_was_set_back_takes_no_lease_away_from_its_owner():
    held = take(None, ANNA)
    assert lease.renew(held, 1, T - 3600, "x").expires_at == held.expires_at
    assert take(held, ANNA, now=T - 3600).expires_at == held.expires_at


def test_who_asks_with_a_clock_that_is_behind_is_told_that_one_of_the_two_is_wrong():
    with pytest.raises(LeaseHeld, match=r"last sign of life is 3600 s ahead, so one of the two clocks is wrong"):
        take(take(None, ANNA), BOB_AWAY, now=T - 3600)
    with pytest.raises(LeaseHeld) as caught:
        take(take(None, ANNA), BOB_AWAY, now=T - lease.SLACK)
    assert "clocks" not in str(caught.value)


def test_a_clock_that_was_set_forward_takes_over_and_the_other_is_fenced_off():
    taken = take(take(None, ANNA), BOB_AWAY, now=T + 86400)
    assert taken.epoch == 2
    with pytest.raises(StaleController):
        lease.renew(taken, 1, T + 1, "x")


@pytest.mark.parametrize("last, now, odd", [
    (T, T + 1, ""), (T, T - 30, ""), (T, T + 100, ""), (T, T - 120, "the clock went back: it is 120 s behind"),
    (T, T + 180, "the lease had run out 120 s ago and nobody took over"),
])
def test_what_is_odd_about_the_clock_is_said(last, now, odd):
    assert lease.clock_fault(lease.iso(last), take(None, ANNA), now).startswith(odd)
    assert bool(lease.clock_fault(lease.iso(last), take(None, ANNA), now)) is bool(odd)


def test_a_time_is_read_as_it_was_written():
    assert lease.seconds(lease.iso(T + 0.25)) == T + 0.25


@pytest.mark.parametrize("current, epoch, seen", [
    (None, 1, "no controller holds the lease"),
    (take(None, ANNA)._replace(expires_at=0.0), 1, "was given back"),
    (take(take(None, ANNA), BOB_AWAY, now=T + 61), 1, r"bob on ctl2 \(process 200\) took over with epoch 2"),
    (take(None, ANNA), None, "this run has None"),
])
def test_a_stale_controller_is_told_what_happened(current, epoch, seen):
    with pytest.raises(StaleController, match=seen):
        lease.renew(current, epoch, T + 62, "ledger.sqlite")


@pytest.mark.parametrize("owner", [{}, {"who": "a", "host": "h"}, {"who": "a", "host": "h", "pid": "x"}])
def test_an_owner_without_a_name_place_or_process_is_refused(owner):
    with pytest.raises(FleetError, match="who, host and pid"):
        take(None, owner)


def test_whether_a_process_lives_is_asked_of_the_system():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert lease.pid_alive(os.getpid())
    assert not lease.pid_alive(child.pid)


def test_times_are_utc():
    assert lease.iso(0.25) == "1970-01-01T00:00:00.250Z"
