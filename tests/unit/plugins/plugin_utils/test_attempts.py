# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a plan needs a ledger of its own, and when a rollout that was cut off forbids a new plan."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import attempts, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import _SHAPE, plan_id

PLAN = {"plan_id": "abc", "nodes": {"g01": {"wave": 1}, "g02": {"wave": 1}}}
NODES = ["g01", "g02"]
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
    attempts.refuse_unfinished(abort(reach(*path)), NODES)


def test_what_was_half_changed_before_an_abort_has_to_be_rolled_back_first(reach):
    with pytest.raises(FleetError, match=r"aborted with nodes under way: g01 changing;.*fix: roll it back \(rollback"):
        attempts.refuse_unfinished(abort(reach(*TO_SNAPSHOT, "changing")), NODES)


@pytest.mark.parametrize("path", [TO_SNAPSHOT, (*TO_SNAPSHOT, "changing", "failed")])
def test_no_plan_is_made_around_a_node_that_was_left_half_changed(reach, path):
    with pytest.raises(FleetError, match=f"g01 {path[-1]}"):
        attempts.refuse_unfinished(reach(*path), NODES)


@pytest.mark.parametrize("path", [(), TO_SERVICE, ("admitted", "failed")])
def test_a_node_that_is_done_or_was_never_changed_is_in_nobodys_way(reach, path):
    assert attempts.refuse_unfinished(reach(*path), NODES) == []


def rollout_of(fleet_dir, nodes, made_at, begun, **ends):
    """A rollout of its own plan, begun at a second of 2026, whose nodes reached these states; its directory."""
    plan = {key: kind() for key, kind in _SHAPE.items()} | {"schema": 1, "created_at": made_at}
    plan |= {"inputs": {"target": {"digest": "t"}, "catalog": {"digest": "c"}, "policy": {"digest": "p"}, "facts": {}}}
    plan |= {"nodes": {node: {"wave": 1} for node in nodes}, "target_name": made_at}
    plan["plan_id"] = plan_id(plan)
    directory = rollout.rollout_dir(fleet_dir, plan["plan_id"])
    book = Ledger.create(rollout.ledger_path(directory), plan, clock=lambda: begun)
    epoch = book.take_lease(ME, ttl=60)
    for node, state in ((node, state) for node, path in ends.items() for state in path):
        book.record(epoch, node, state)
    (directory / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return directory


MONDAY, TUESDAY = 1796_000_000.0, 1796_090_000.0  # of November 2026


def damaged(directory):
    """The ledger with its first page overwritten."""
    path = rollout.ledger_path(directory)
    path.write_bytes(b"x" * 4096 + path.read_bytes()[4096:])
    return directory


def test_a_damaged_ledger_of_other_nodes_is_named_and_in_nobodys_way(tmp_path):
    old = damaged(rollout_of(str(tmp_path), ["x1"], "2026-11-30T00:00:00Z", MONDAY))
    (told,) = attempts.refuse_unfinished(str(tmp_path), NODES)
    assert told.startswith(f"{old}/ledger.sqlite: ")
    assert "the plan does without it" in told


def test_a_damaged_ledger_is_in_nobodys_way_once_a_later_rollout_has_proven_its_nodes(tmp_path):
    damaged(rollout_of(str(tmp_path), NODES, "2026-11-29T00:00:00Z", MONDAY, g01=[*TO_SNAPSHOT, "changing"]))
    rollout_of(str(tmp_path), NODES, "2026-11-30T00:00:00Z", TUESDAY, g01=TO_SERVICE, g02=TO_SERVICE)
    assert len(attempts.refuse_unfinished(str(tmp_path), NODES)) == 1


@pytest.mark.parametrize("made, end", [("2026-11-30T00:00:00Z", TO_SNAPSHOT[:1]), ("2026-12-24T00:00:00Z", TO_SERVICE)])
def test_a_damaged_ledger_that_may_have_left_a_node_half_changed_refuses_the_plan(tmp_path, made, end):
    old = damaged(rollout_of(str(tmp_path), NODES, made, MONDAY))
    ends = {"g01": TO_SERVICE, "g02": [*end, "failed"] if end == TO_SNAPSHOT[:1] else end}
    rollout_of(str(tmp_path), NODES, "2026-11-30T01:00:00Z", TUESDAY, **ends)
    with pytest.raises(LedgerError, match=r"rollout left nodes half changed: .*g02") as caught:
        attempts.refuse_unfinished(str(tmp_path), NODES)
    assert f"move {old} out of the way" in str(caught.value)


def test_what_a_damaged_ledger_still_tells_of_its_last_event_counts(tmp_path):
    old = rollout_of(str(tmp_path), NODES, "2026-11-29T00:00:00Z", TUESDAY + 60)
    with closing(sqlite3.connect(rollout.ledger_path(old))) as db, db:
        db.executescript("DROP TRIGGER no_update; UPDATE events SET reason = 'another' WHERE id = 1")
    rollout_of(str(tmp_path), NODES, "2026-11-30T00:00:00Z", TUESDAY, g01=TO_SERVICE, g02=TO_SERVICE)
    with pytest.raises(LedgerError, match=r"the ledger is damaged: .*half changed: g01, g02"):
        attempts.refuse_unfinished(str(tmp_path), NODES)


def test_a_damaged_ledger_whose_plan_is_gone_or_was_edited_may_be_of_any_node(tmp_path):
    old = damaged(rollout_of(str(tmp_path), ["x1"], "2026-11-30T00:00:00Z", MONDAY))
    text = (old / "plan.json").read_text(encoding="utf-8")
    for kept in (text.replace("x1", "x2"), ""):
        (old / "plan.json").write_text(kept, encoding="utf-8")
        with pytest.raises(LedgerError, match="half changed: g01, g02"):
            attempts.refuse_unfinished(str(tmp_path), NODES)


def test_a_plan_whose_own_ledger_is_damaged_is_spent(tmp_path):
    old = damaged(rollout_of(str(tmp_path), NODES, "2026-11-30T00:00:00Z", MONDAY))
    assert attempts.is_spent(str(tmp_path), old.name)
