# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators order lands in the ledger with who and why, for one node or for the whole rollout."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import SPINE, StateError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, BOB, Clock, new_ledger


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    return new_ledger(tmp_path, clock)


@pytest.fixture
def epoch(ledger):
    return ledger.take_lease(ANNA, ttl=60)


def test_a_colleague_pauses_a_rollout_that_is_at_work_and_says_why(ledger, epoch):
    number = ledger.order(BOB, "pause", "the cooling is out")
    assert ledger.standing() == {
        "id": number,
        "order": "pause",
        "by": "bob on ctl2",
        "at": "2026-12-01T04:30:00.000Z",
        "reason": "the cooling is out",
    }
    ledger.record(epoch, "g01", "admitted")  # what is under way goes on; the gate of the next wave obeys
    assert ledger.holder()["who"] == "anna"
    assert Ledger.verify(ledger.path) == []


def test_an_order_moves_no_node(ledger, epoch):
    before = ledger.nodes()
    ledger.order(BOB, "abort", "wrong target")
    assert ledger.nodes() == before


def stands(ledger, rollback=False):
    return (ledger.standing(rollback) or {}).get("order")


def begins(ledger, epoch, mode):
    ledger.note(epoch, None, f"{mode} begins", {"mode": mode, "nodes": ["g01"]})


def test_a_pause_stands_until_it_is_taken_back_and_an_abort_for_ever(ledger, epoch):
    assert ledger.standing() is None
    for action, now in (("pause", "pause"), ("resume", None), ("pause", "pause"), ("abort", "abort")):
        ledger.order(BOB, action, "because")
        ledger.note(epoch, None, "something else", {"order_of": "nodes"})
        assert stands(ledger) == now


@pytest.mark.parametrize("order", ["pause", "abort"])
def test_ordering_what_stands_already_writes_nothing(ledger, order):
    ledger.order(BOB, order, "because")
    before = ledger.events()
    assert ledger.order(ANNA, order, "for my reasons") is None
    assert ledger.events() == before


def test_where_nothing_stands_there_is_nothing_to_resume(ledger):
    before = ledger.events()
    with pytest.raises(LedgerError, match="nothing to resume: no order stands"):
        ledger.order(BOB, "resume", "because")
    assert ledger.events() == before


@pytest.mark.parametrize("order", ["pause", "resume"])
def test_nothing_goes_on_after_an_abort_and_the_ways_out_are_named(ledger, order):
    ledger.order(BOB, "abort", "wrong target")
    with pytest.raises(LedgerError, match=r"aborted by bob on ctl2 at .*: wrong target; .*rollback.* a new plan"):
        ledger.order(ANNA, order, "because")
    assert stands(ledger) == "abort"


def test_a_rollback_obeys_only_what_was_ordered_after_it_began(ledger, epoch):
    ledger.order(BOB, "abort", "wrong target")
    begins(ledger, epoch, "rollback")
    assert (stands(ledger), stands(ledger, rollback=True)) == ("abort", None)
    ledger.order(BOB, "pause", "the way back hurts too")
    assert (stands(ledger), stands(ledger, rollback=True)) == ("abort", "pause")
    ledger.order(BOB, "resume", "it was something else")
    assert (stands(ledger), stands(ledger, rollback=True)) == ("abort", None)


def test_a_rollback_can_be_aborted_for_itself_and_be_ordered_anew(ledger, epoch):
    for _ in range(2):
        begins(ledger, epoch, "rollback")
        assert stands(ledger, rollback=True) is None
        assert ledger.order(BOB, "abort", "stop")
        with pytest.raises(LedgerError, match="nothing can resume it any more"):
            ledger.order(BOB, "resume", "because")


def test_an_upgrade_that_follows_a_rollback_obeys_what_was_ordered_before_both(ledger, epoch):
    ledger.order(BOB, "pause", "not now")
    begins(ledger, epoch, "rollback")
    assert stands(ledger) == "pause"
    assert ledger.order(BOB, "resume", "go on")
    begins(ledger, epoch, "upgrade")
    assert (stands(ledger), stands(ledger, rollback=True)) == (None, None)


def test_who_could_not_take_the_lease_is_told_so_and_nothing_is_written(ledger, epoch, clock):
    before = ledger.events(), ledger.holder()
    with pytest.raises(LeaseHeld, match="anna on ctl1"):
        ledger.refuse_at_work(BOB)
    ledger.refuse_at_work(ANNA)
    clock.now += 61
    ledger.refuse_at_work(BOB)
    assert (ledger.events(), ledger.holder()) == before


def test_an_order_can_be_given_before_any_controller_was_at_work(ledger):
    ledger.order(BOB, "pause", "not before Monday")
    assert ledger.events()[-1]["epoch"] == 0
    assert ledger.standing()["reason"] == "not before Monday"


@pytest.mark.parametrize("action, reason", [("stop", "because"), ("pause", ""), ("pause", "  "), ("", "because")])
def test_an_unknown_order_and_one_without_a_reason_are_refused(ledger, action, reason):
    before = ledger.events()
    with pytest.raises(LedgerError, match="one of pause, resume, abort, and a reason"):
        ledger.order(BOB, action, reason)
    assert ledger.events() == before


def test_an_order_for_a_node_keeps_its_action_and_reason(ledger, epoch):
    for state in SPINE[1:4]:
        ledger.record(epoch, "g01", state)
    ledger.record(epoch, "g01", "paused", reason="a fan is loud", action="pause")
    ledger.record(epoch, "g01", "requeued", reason="it was dust", action="resume")
    assert [(row["state"], row["action"], row["reason"]) for row in ledger.events("g01")][-2:] == [
        ("paused", "pause", "a fan is loud"),
        ("requeued", "resume", "it was dust"),
    ]
    ledger.record(epoch, "g01", "admitted")
    assert Ledger.verify(ledger.path) == []


def test_an_order_for_a_node_needs_a_reason(ledger, epoch):
    with pytest.raises(StateError, match="skip of g01 without a reason"):
        ledger.record(epoch, "g01", "skipped", reason=" ", action="skip")
    assert ledger.state_of("g01") == "planned"
    ledger.record(epoch, "g01", "skipped", reason="on loan", action="skip")


@pytest.mark.parametrize("state, action", [("failed", None), ("admitted", "rollback")])
def test_a_node_without_a_snapshot_is_not_sent_back(ledger, epoch, state, action):
    ledger.record(epoch, "g01", "admitted")
    if state == "failed":
        ledger.record(epoch, "g01", "failed")
    with pytest.raises(StateError, match="g01 has no snapshot to go back to"):
        ledger.record(epoch, "g01", "rolling_back", kind="intent", reason="asked for", action=action)
    assert ledger.state_of("g01") == state


def test_a_node_that_was_restored_is_not_sent_back_to_the_snapshot_it_is_at(ledger, epoch):
    for state in (*SPINE[1:7], "failed", "rolling_back", "verifying_old", "restored"):
        ledger.record(epoch, "g01", state)
    ledger.record(epoch, "g01", "requeued", reason="again", action="retry")
    with pytest.raises(StateError, match="no snapshot"):
        ledger.record(epoch, "g01", "rolling_back", reason="asked for", action="rollback")


def test_not_every_event_prolongs_the_lease_but_little_of_it_is_ever_lost(ledger, epoch, clock):
    clock.now += 2
    ledger.note(epoch, None, "soon after")
    assert ledger.holder()["expires_at"] == "2026-12-01T04:31:00.000Z"
    clock.now += 2
    ledger.note(epoch, None, "later")
    assert ledger.holder()["expires_at"] == "2026-12-01T04:31:04.000Z"
