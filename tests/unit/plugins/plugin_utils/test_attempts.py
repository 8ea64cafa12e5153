# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a plan needs a ledger of its own, and when a rollout that was cut off forbids a new plan."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import attempts, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

PLAN = {"plan_id": "abc", "nodes": {"g01": {"wave": 1}, "g02": {"wave": 1}}}
ME = {"who": "me", "host": "here", "pid": 1}
TO_SNAPSHOT = ("admitted", "prechecked", "draining", "drained", "snapshotted")
TO_SERVICE = (*TO_SNAPSHOT, "changing", "verifying", "soaking", "in_service")


@pytest.fixture
def reach(tmp_path):
    """A function that takes g01 of a rollout through these states; the fleet directory."""

    def go(*path):
        book = Ledger.create(rollout.ledger_path(rollout.rollout_dir(str(tmp_path), "abc")), PLAN)
        epoch = book.take_lease(ME, ttl=60)
        for state in path:
            book.record(epoch, "g01", state)
        return str(tmp_path)

    return go


def test_a_plan_that_was_never_started_is_not_spent(tmp_path):
    assert not attempts.is_spent(str(tmp_path), "abc")


def test_a_rollout_that_only_began_is_not_spent(reach):
    assert not attempts.is_spent(reach("admitted"), "abc")


def test_a_rollout_that_lost_a_node_is_spent(reach):
    assert attempts.is_spent(reach("admitted", "failed"), "abc")


def test_a_plan_to_move_nodes_that_a_rollout_has_moved_already_is_a_new_one(reach):
    # Somebody moved them back since: the old ledger would say that there is nothing left to do.
    assert attempts.is_spent(reach(*TO_SERVICE), "abc")


def abort(fleet_dir):
    Ledger.open(rollout.ledger_path(rollout.rollout_dir(fleet_dir, "abc"))).order(ME, "abort", "wrong target")
    return fleet_dir


def test_an_aborted_rollout_is_spent_even_where_nothing_was_touched(reach):
    assert attempts.is_spent(abort(reach()), "abc")


def test_a_paused_rollout_is_not_spent(reach):
    fleet_dir = reach("admitted")
    Ledger.open(rollout.ledger_path(rollout.rollout_dir(fleet_dir, "abc"))).order(ME, "pause", "lunch")
    assert not attempts.is_spent(fleet_dir, "abc")


@pytest.mark.parametrize("path", [(), TO_SNAPSHOT[:-1], TO_SERVICE, ("admitted", "failed")])
def test_what_was_not_changed_before_an_abort_is_in_nobodys_way(reach, path):
    # No upgrade takes it up and no rollback brings it back: to refuse a new plan would leave no way out.
    attempts.refuse_unfinished(abort(reach(*path)))


def test_what_was_half_changed_before_an_abort_has_to_be_rolled_back_first(reach):
    with pytest.raises(FleetError, match=r"aborted with nodes under way: g01 changing;.*fix: roll it back \(rollback"):
        attempts.refuse_unfinished(abort(reach(*TO_SNAPSHOT, "changing")))


@pytest.mark.parametrize("path", [TO_SNAPSHOT, (*TO_SNAPSHOT, "changing", "failed")])
def test_no_plan_is_made_around_a_node_that_was_left_half_changed(reach, path):
    with pytest.raises(FleetError, match=f"g01 {path[-1]}"):
        attempts.refuse_unfinished(reach(*path))


@pytest.mark.parametrize("path", [(), TO_SERVICE, ("admitted", "failed")])
def test_a_node_that_is_done_or_was_never_changed_is_in_nobodys_way(reach, path):
    attempts.refuse_unfinished(reach(*path))
