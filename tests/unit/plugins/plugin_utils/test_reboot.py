# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of a reboot over a node that a test plays, second by second (reports F01, F03, F04)."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import reboot
from ansible_collections.fleetops.instinct.plugins.plugin_utils.boot import Boot, Look
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted, Recovered

BEFORE = Boot("aaaa", 86400.0, "6.1")
FIRST = Look(BEFORE)
SILENT, STALE = Look(None, "Connection refused"), Look(None, "Shared connection to g01 closed.")
KEY = Look(None, "REMOTE HOST IDENTIFICATION HAS CHANGED")
UP = Look(Boot("bbbb", 5.0, "6.1"))
AGAIN = Look(Boot("cccc", 5.0, "6.1"))


class Played:
    """A node that answers what the test says for each second since the order; its clock moves by sleeping alone."""

    def __init__(self, at, fresh=None, port=False, recovery=None, journal=()):
        self.at, self.fresh, self.now, self.done = at, fresh or at, 0.0, []
        self.port, self.recovery, self.known = port, recovery, list(journal)

    def look(self, fresh):
        return (self.fresh if fresh else self.at)(self.now)

    def recover(self):
        self.done.append(f"recovered at {self.now:.0f}")
        if self.recovery == "":
            self.at = self.fresh = lambda now: UP
        return Recovered(self.recovery, "" if self.recovery else "ForceRestart ordered")

    def sleep(self, seconds):
        self.now += seconds

    def reboot(self, kernel=None, before=FIRST):
        node = reboot.Node(
            "g01", self.look, lambda: self.done.append("ordered"), lambda: self.port, lambda: self.known,
            None if self.recovery is None else self.recover, lambda: self.now, self.sleep,
        )  # fmt: skip
        return reboot.reboot(node, before, reboot.Wishes(timeout=60, poll=2, answers=3, kernel=kernel))

    def fails(self, **more):
        with pytest.raises(NotRebooted) as caught:
            self.reboot(**more)
        return caught.value


def comes_back(after, look=UP):
    return lambda now: look if now >= after else SILENT


def test_a_node_that_comes_back_is_proven():
    told = Played(comes_back(20)).reboot(kernel="6.1")
    assert told == {
        "rebooted": True, "diagnosis": "rebooted", "boot_id_before": "aaaa", "boot_id": "bbbb", "kernel": "6.1",
        "kernel_planned": "6.1", "recovered": False, "elapsed_seconds": 24.0,
    }  # fmt: skip


def test_of_a_kernel_that_was_not_planned_nothing_is_said():
    assert Played(comes_back(20)).reboot()["kernel_planned"] is None


def test_a_slow_shutdown_is_waited_for_and_no_reboot_f01():
    played = Played(lambda now: Look(BEFORE) if now < 30 else SILENT if now < 40 else UP)
    assert played.reboot()["boot_id"] == "bbbb"
    assert played.now >= 40


def test_an_unchanged_boot_is_waited_for_to_the_limit_and_then_fails_f01():
    played = Played(lambda now: Look(BEFORE))
    assert played.fails().diagnosis == "ignored"
    assert played.now >= 60


def test_a_stale_socket_is_not_taken_for_a_lost_node_f04():
    played = Played(lambda now: STALE, fresh=lambda now: UP)
    assert played.reboot()["boot_id"] == "bbbb"


def test_a_last_probe_that_finds_the_node_has_to_see_it_stay_f04():
    played = Played(lambda now: STALE, fresh=lambda now: UP if now < 62 else SILENT)
    assert played.fails().diagnosis == "flapping"


def test_another_host_key_is_told_and_recovers_nothing_f03():
    played = Played(comes_back(20, KEY), port=True, recovery="")
    assert played.fails().diagnosis == "host_key_changed"
    assert played.done == ["ordered"]


def test_a_rescue_system_with_another_key_on_the_way_is_waited_out_f03():
    assert Played(lambda now: SILENT if now < 10 else KEY if now < 30 else UP).reboot()["diagnosis"] == "rebooted"


@pytest.mark.parametrize(
    "at, word",
    [
        (lambda now: UP if now % 8 < 4 else SILENT, "flapping"),
        (lambda now: Look(BEFORE), "ignored"),
        (lambda now: UP if now < 5 else AGAIN, "doubled"),
        (comes_back(20, Look(Boot("bbbb", 5.0, "5.10"))), "wrong_kernel"),
        (comes_back(20, Look(Boot("bbbb", 900.0, "6.1"))), "not_younger"),
    ],
    ids=["flapping", "ignored", "doubled", "wrong_kernel", "not_younger"],
)
def test_a_node_that_answers_is_never_recovered(at, word):
    played = Played(at, recovery="")
    assert played.fails(kernel="6.1").diagnosis == word
    assert played.done == ["ordered"]


def test_a_silent_node_stays_as_it_is_where_no_recovery_is_configured():
    played = Played(lambda now: SILENT)
    assert played.fails().diagnosis == "never_back"
    assert played.done == ["ordered"]


def test_a_silent_node_is_recovered_once_and_gets_the_time_once_more():
    played = Played(lambda now: SILENT, recovery="")
    assert played.reboot()["recovered"] is True
    assert played.done == ["ordered", "recovered at 60"]


def test_a_node_whose_port_answers_is_not_power_cycled_f03():
    played = Played(lambda now: SILENT, port=True, recovery="")
    assert played.fails().diagnosis == "never_back"
    assert played.done == ["ordered"]


def test_a_recovery_that_fails_is_told_and_not_tried_again():
    played = Played(lambda now: SILENT, recovery="ipmi ended with status 1")
    error = played.fails()
    assert error.diagnosis == "never_back"
    assert "its recovery failed: ipmi ended with status 1" in str(error)
    assert error.evidence["recovery"] == "ipmi ended with status 1"
    assert played.done == ["ordered", "recovered at 60"]


def test_a_node_that_stays_away_after_its_recovery_is_lost():
    played = Played(lambda now: SILENT, recovery="")
    played.recover = lambda: Recovered(told="On ordered of BMC b")
    error = played.fails()
    assert error.diagnosis == "never_back"
    assert "this was after its recovery: On ordered of BMC b" in str(error)
    assert error.evidence["recovery"] == "On ordered of BMC b"
    assert played.now == 120


@pytest.mark.parametrize("recovery, expected", [(None, "doubled"), ("", "rebooted")])
def test_a_second_boot_in_the_journal_is_one_too_many_unless_the_power_was_cycled(recovery, expected):
    journal = ["aaaa", "dddd", "bbbb"]
    if recovery is None:
        assert Played(comes_back(20), journal=journal).fails().diagnosis == expected
    else:
        assert Played(lambda now: SILENT, recovery="", journal=journal).reboot()["diagnosis"] == expected


def _node(played):
    return reboot.Node(
        "g01", played.look, lambda: pytest.fail("ordered"), lambda: played.port, list,
        None if played.recovery is None else played.recover, lambda: played.now, played.sleep,
    )  # fmt: skip


def _wait(played):
    return reboot.wait(_node(played), reboot.Wishes(60, 2, 3, None))


@pytest.mark.parametrize("after, answers", [(0, True), (3, True), (60, False)])
def test_a_connection_that_drops_once_before_the_order_is_no_reason_to_give_up(after, answers):
    look = reboot.first_look(_node(Played(comes_back(after))), reboot.Wishes(60, 2, 3, None))
    assert bool(look.boot) is answers


@pytest.mark.parametrize("after", [0, 30])
def test_a_node_that_another_controller_left_is_waited_for_and_not_ordered_again(after):
    played = Played(comes_back(after))
    assert _wait(played) == {"boot_id": "bbbb", "kernel": "6.1", "recovered": False}
    assert played.now == after + 4


@pytest.mark.parametrize("at, word", [(lambda now: SILENT, "never_back"), (comes_back(9, KEY), "host_key_changed")])
def test_a_node_that_another_controller_left_and_that_stays_away_is_told_apart_too(at, word):
    with pytest.raises(NotRebooted) as caught:
        _wait(Played(at))
    assert caught.value.diagnosis == word


@pytest.mark.parametrize("port, recovered", [(False, True), (None, True), (True, False)])
def test_a_node_that_another_controller_left_and_that_is_silent_is_recovered(port, recovered):
    played = Played(lambda now: SILENT, port=port, recovery="")
    with contextlib.nullcontext() if recovered else pytest.raises(NotRebooted, match="never_back"):
        assert _wait(played)["recovered"] is True
    assert played.done == (["recovered at 60"] if recovered else [])


def test_a_node_that_says_no_is_not_waited_for():
    played = Played(comes_back(0))

    def refuses():
        raise NotRebooted("refused", "g01", "said no")

    node = reboot.Node("g01", played.look, refuses, lambda: None, list, None, lambda: played.now, played.sleep)
    with pytest.raises(NotRebooted, match="refused"):
        reboot.reboot(node, Look(BEFORE), reboot.Wishes(60, 2, 3, None))
    assert played.now == 0
