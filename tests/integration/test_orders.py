# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator who steers a rollout: one story (the fixture), and each test looks at one thing in it.

1. g01 is the first wave; while it is at work a colleague pauses the rollout, and tries to skip g03
2. the upgrade is tried again, then resumed; g03 is on loan and skipped, then it is back and retried
3. a job holds g02, so that its wave fails; the job ends, g02 is retried, and the upgrade takes it up
4. while g02 is at work the rollout is aborted; the upgrade is tried again, then everything is rolled back
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

OLD = "6.12.12"


def _while_it_reboots(operator: Any, until: Callable[..., None], plan: Any, node: str, *orders: Any) -> tuple[Any, ...]:
    """Upgrade, and give orders while a node is down; how they ended, and last how the upgrade did."""
    controller = operator.start("upgrade", plan=plan)
    until(lambda: operator.boots()[node] == 2)
    controller.signal(signal.SIGSTOP)  # so that it is at work until all orders were given
    given = [operator.play(name, *words, reason=reason) for name, reason, *words in orders]
    controller.signal(signal.SIGCONT)
    return (*given, controller.finish())


def _paused(operator: Any, seen: SimpleNamespace, until: Callable[..., None]) -> None:
    orders = (("pause", "the cooling is out"), ("pause", "me too"), ("skip", "on loan", "--limit", "g03"))
    seen.pause, seen.second_pause, seen.colleague, seen.first = _while_it_reboots(
        operator, until, seen.plan, "g01", *orders
    )
    seen.after_first, seen.boots = operator.states(), operator.boots()
    seen.while_paused = operator.play("upgrade", plan=seen.plan)


def _resumed(operator: Any, seen: SimpleNamespace) -> None:
    seen.resume = operator.play("resume", reason="it is cold again")
    seen.rehearsed = operator.play("skip", "--limit", "g03", "--check", "--diff", reason="on loan")
    seen.after_rehearsal = operator.states()["g03"]
    operator.play("skip", "--limit", "g03", reason="on loan")
    seen.after_skip = operator.states()["g03"]
    operator.play("retry", "--limit", "g03", reason="it is back")


def _retried(operator: Any, seen: SimpleNamespace) -> None:
    operator.simfleet("fault", "g02", "kfd_busy", "command=train.py")
    seen.busy = operator.play("upgrade", plan=seen.plan)
    operator.simfleet("clear", "g02")
    seen.before_retry = operator.states()
    seen.whole_fleet = operator.play("retry", reason="the job has ended")
    seen.mixed = operator.play("retry", "--limit", "g01,g02", reason="the job has ended")
    seen.after_refusals = operator.states()
    seen.retry = operator.play("retry", "--limit", "g02", reason="the job has ended")


@pytest.fixture(scope="module")
def seen(operator: Any, until: Callable[..., None]) -> SimpleNamespace:
    seen = SimpleNamespace(plan=operator.plan())
    _paused(operator, seen, until)
    _resumed(operator, seen)
    _retried(operator, seen)
    seen.abort, seen.last = _while_it_reboots(operator, until, seen.plan, "g02", ("abort", "the target is wrong"))
    seen.after_abort = operator.states()
    seen.while_aborted = [operator.play(name, plan=seen.plan, reason="go on") for name in ("upgrade", "resume")]
    seen.rollback = operator.play("rollback")
    return seen


# -- pause and resume ----------------------------------------------------------------------------------------------


def test_a_pause_is_given_while_a_controller_is_at_work_and_says_so(seen: Any) -> None:
    assert seen.pause.status == 0, seen.pause.text
    assert "has under way goes on" in seen.pause.text


def test_a_second_pause_changes_nothing_and_tells_of_the_first(seen: Any) -> None:
    assert seen.second_pause.status == 0
    assert "pause stands already, paused by" in seen.second_pause.text
    assert "the cooling is out" in seen.second_pause.text
    assert "changed=0" in seen.second_pause.text


def test_the_wave_under_way_is_finished_and_the_next_one_refused_with_its_code(seen: Any) -> None:
    assert seen.first.status == 2
    assert seen.after_first == {"g01": "in_service", "g02": "planned", "g03": "planned"}
    assert seen.boots == {"g01": 2, "g02": 1, "g03": 1}
    assert any("the cooling is out" in error and "[paused]" in error for error in seen.first.errors())


def test_while_a_controller_is_at_work_a_colleague_moves_no_node_and_is_told_who_it_is(seen: Any) -> None:
    assert seen.colleague.status == 2
    (error,) = seen.colleague.errors()
    assert "is at work on this rollout since" in error


def test_a_paused_rollout_is_not_taken_up(seen: Any) -> None:
    assert seen.while_paused.status == 2
    assert "[paused]" in seen.while_paused.errors()[0]
    assert "resume playbook" in seen.while_paused.errors()[0]


def test_a_resume_says_what_it_took_back(seen: Any) -> None:
    assert (seen.resume.status, "resume: it is cold again" in seen.resume.text) == (0, True)


# -- nodes ---------------------------------------------------------------------------------------------------------


def test_a_rehearsed_order_shows_what_it_would_do_and_does_nothing(seen: Any) -> None:
    assert (seen.rehearsed.status, seen.after_rehearsal) == (0, "planned")
    assert "-g03: planned" in seen.rehearsed.text
    assert "+g03: skipped" in seen.rehearsed.text


def test_a_node_is_skipped_and_taken_in_again(seen: Any) -> None:
    assert (seen.after_skip, seen.before_retry["g03"]) == ("skipped", "planned")


def test_a_busy_node_stops_the_rollout(seen: Any) -> None:
    assert seen.busy.status == 2
    assert seen.before_retry == {"g01": "in_service", "g02": "failed", "g03": "planned"}


def test_a_forgotten_limit_and_a_node_that_takes_no_retry_move_nothing(seen: Any) -> None:
    assert "name the nodes: retry --limit NODES" in seen.whole_fleet.errors()[0]
    assert "g01 is in_service (takes: rollback)" in seen.mixed.errors()[0]
    assert seen.after_refusals == seen.before_retry


def test_a_node_that_failed_is_retried_and_the_upgrade_takes_it_up(seen: Any) -> None:
    assert "g02 failed -> requeued" in seen.retry.text
    assert seen.after_abort["g02"] == "in_service"


# -- abort ---------------------------------------------------------------------------------------------------------


def test_an_abort_lets_the_wave_under_way_end_and_no_other_begin(seen: Any) -> None:
    assert (seen.abort.status, seen.last.status) == (0, 2)
    assert seen.after_abort == {"g01": "in_service", "g02": "in_service", "g03": "planned"}
    assert any("[aborted]" in error for error in seen.last.errors())


def test_nothing_takes_up_an_aborted_rollout_and_the_ways_out_are_told(seen: Any) -> None:
    for run in seen.while_aborted:
        assert run.status == 2
        assert "the target is wrong" in run.errors()[0]
        assert "rollback playbook" in run.errors()[0]


def test_an_aborted_rollout_is_rolled_back(seen: Any, operator: Any) -> None:
    assert seen.rollback.status == 0, seen.rollback.text
    assert operator.states() == {"g01": "restored", "g02": "restored", "g03": "planned"}
    assert {operator.node(name)["driver"] for name in ("g01", "g02", "g03")} == {OLD}


# -- afterwards ----------------------------------------------------------------------------------------------------


def test_who_ordered_what_and_why_stands_in_the_ledger(seen: Any, operator: Any) -> None:
    rows = operator.query("SELECT action, reason FROM events WHERE action IN ('skip', 'retry') ORDER BY id")
    assert rows == [("skip", "on loan"), ("retry", "it is back"), ("retry", "the job has ended")]
    rows = operator.query("SELECT reason FROM events WHERE data LIKE '%\"order\": %' ORDER BY id")
    assert [row[0] for row in rows] == ["the cooling is out", "it is cold again", "the target is wrong"]


def test_the_same_inputs_give_a_new_plan(seen: Any, operator: Any) -> None:
    assert operator.plan() != seen.plan


def test_the_ledger_of_all_this_is_whole_and_can_be_taken_away(seen: Any, operator: Any) -> None:
    assert operator.play("verify_ledger").status == 0
    assert operator.play("export_ledger").status == 0
    exported = operator.rollout() / "events.jsonl"
    rows = [json.loads(line) for line in exported.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 1 + operator.query("SELECT count(*) FROM events")[0][0]
    done = operator.play("verify_ledger", exported=exported)
    assert done.status == 0, done.text


def test_a_damaged_ledger_ends_the_proof_with_the_row_and_a_status(seen: Any, operator: Any) -> None:
    ledger = operator.rollout() / "ledger.sqlite"
    kept = ledger.read_bytes()
    ledger.write_bytes(kept.replace(b"the cooling is out", b"the cooling is off", 1))
    done = operator.play("verify_ledger")
    ledger.write_bytes(kept)
    assert done.status == 2
    assert "does not match its hash" in done.errors()[0]
