# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the clocks of two controllers do, only the last one that took the lease gets anything done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import lease
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld, StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import (
    ANNA,
    BOB,
    FORK,
    START,
    new_ledger,
)

TTL = 60.0
OWNERS = {"anna": ANNA, "bob": BOB}
# Who does what, after their own clock has moved by so many seconds: clocks go on, stand still, and jump both ways.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(sorted(OWNERS)),
        st.sampled_from(["take", "force", "write", "write", "give"]),
        st.one_of(st.floats(0, 90), st.floats(-1e6, 1e6, allow_nan=False)),
    ),
    max_size=60,
)


class Story:
    """A lease, the clocks of two controllers, and the epoch that each of them believes to have."""

    def __init__(self):
        self.held, self.clocks, self.epochs = None, dict.fromkeys(OWNERS, START), dict.fromkeys(OWNERS)

    def step(self, who, what, seconds):
        """True where it was let; the lease is as it was where it was not."""
        self.clocks[who] += seconds
        try:
            self.held = self._done(who, what, self.clocks[who])
        except (LeaseHeld, StaleController):
            return False
        return True

    def _done(self, who, what, now):
        if what in ("take", "force"):
            taken = lease.take(self.held, OWNERS[who], TTL, now, lambda pid: True, "x", by_force=what == "force")
            self.epochs[who] = taken.epoch
            return taken
        renewed = lease.renew(self.held, self.epochs[who], now, "x")
        return renewed._replace(expires_at=0.0) if what == "give" else renewed


@given(steps=STEPS)
def test_only_the_last_one_that_took_the_lease_is_let_write(steps):
    story, last = Story(), None
    for who, what, seconds in steps:
        let = story.step(who, what, seconds)
        last = who if let and what in ("take", "force") else last
        assert not (let and what in ("write", "give")) or who == last


@given(steps=STEPS)
def test_an_epoch_is_never_used_twice(steps):
    story, taken = Story(), {}
    for who, what, seconds in steps:
        if story.step(who, what, seconds) and what in ("take", "force"):
            assert taken.setdefault(story.held.epoch, who) == who
            assert story.held.epoch == max(taken)


@given(steps=STEPS)
def test_no_clock_takes_time_from_who_has_the_lease(steps):
    story = Story()
    for who, what, seconds in steps:
        before = story.held
        let = story.step(who, what, seconds)
        if before and before.expires_at and story.held.epoch == before.epoch and not (let and what == "give"):
            assert story.held.expires_at >= before.expires_at


@given(steps=STEPS, behind=st.floats(0, 1e6))
def test_a_lease_is_never_taken_from_who_has_it_by_a_clock_that_is_behind(steps, behind):
    story = Story()
    for who, what, seconds in steps:
        story.step(who, what, seconds)
    other = {"who": "carl", "host": "ctl3", "pid": 300}
    if story.held and story.held.expires_at:
        now = story.held.expires_at - 1 - behind
        with pytest.raises(LeaseHeld) as caught:
            lease.take(story.held, other, TTL, now, lambda pid: True, "x")
        wrong = story.held.expires_at - TTL - now > lease.SLACK
        assert ("one of the two clocks" in str(caught.value)) == wrong


def try_to_take(path, number, told):
    try:
        told.put(Ledger.at(path).take_lease({"who": f"w{number}", "host": f"ctl{number}", "pid": 1}, ttl=600))
    except LeaseHeld:
        told.put(None)


def test_of_many_that_ask_at_once_one_gets_it(tmp_path):
    path, told = new_ledger(tmp_path).path, FORK.Queue()
    workers = [FORK.Process(target=try_to_take, args=(path, number, told)) for number in range(8)]
    for worker in workers:
        worker.start()
    answers = [told.get(timeout=60) for _worker in workers]
    assert sorted(answers, key=str) == [1, *[None] * 7]
    assert [row["reason"][:1] for row in Ledger.open(path).events()[1:]] == ["w"]
