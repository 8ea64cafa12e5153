# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an update has come to, from one look at its task after another. Pure: the caller looks, waits and reads back.

A task's own word is half of the truth: ``read_back`` says that the version decides now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    Answer,
    infos_of,
    message_id,
    words_of,
)

_BAD = frozenset(
    ("Exception", "Killed", "Cancelled", "Canceled", "Failed", "CompletedWithErrors", "RebootFailed", "Error")
)
_WELL = frozenset(("Completed", "Success", "RebootCompleted"))
_WAITS = frozenset(("Pending", "Scheduled", "Interrupted", "Suspended", "Waiting", "ReadyForExecution"))
_HOST, _BOOTS = "(host|system|server)", "(restart|reset|reboot|boot)"
_BOOT = re.compile(f"{_HOST}.{{0,40}}{_BOOTS}|{_BOOTS}.{{0,40}}{_HOST}|reboot", re.IGNORECASE)


class Limits(NamedTuple):
    """Seconds: for the whole update, of silence, of a task that waits; and so many good reads before a BMC is back."""

    timeout: float = 3600.0
    silence: float = 900.0
    pending: float = 120.0
    answers: int = 3


class Verdict(NamedTuple):
    """``what`` is wait, read_back, staged, failed or inconclusive; ``code`` a stable word."""

    what: str
    code: str
    why: str


WAIT = Verdict("wait", "running", "")


class Follower:
    """The state of following one task.

    :param started: when the order was accepted, in seconds of the clock that ``see`` gets.
    :param is_bmc: whether the BMC itself is flashed: that it goes away is then no surprise.
    """

    def __init__(self, started: float, limits: Limits, is_bmc: bool) -> None:
        self._started, self._limits, self._is_bmc = started, limits, is_bmc
        self._answered, self._away, self._good, self._gone = started, False, 0, 0
        self._waits_since: float | None = None
        self.was_away = False

    def see(self, at: float, answer: Answer) -> Verdict:
        """What one look at the task says."""
        verdict = self._see(at, answer)
        if verdict.what == "wait" and at - self._started > self._limits.timeout:
            return Verdict("inconclusive", "timeout", f"no end within {self._limits.timeout:.0f} s: {answer.said}")
        return verdict

    def _see(self, at: float, answer: Answer) -> Verdict:
        if answer.passing or answer.status == 401:
            return self._silent(at, answer)
        self._answered = at
        if self._away:
            # A BMC that starts answers and fails in turn; nothing is taken from it before it holds.
            self._good += 1
            if self._good < self._limits.answers:
                return WAIT
            self._away = False
        if answer.status == 404:
            self._gone += 1
            gone = self._gone >= self._limits.answers
            return Verdict("read_back", "task_gone", "the task is no longer there") if gone else WAIT
        self._gone = 0
        return self._of_answer(at, answer)

    def _silent(self, at: float, answer: Answer) -> Verdict:
        self._away, self.was_away, self._good, self._gone = True, True, 0, 0
        if at - self._answered <= self._limits.silence:
            return WAIT
        whose = "which was flashed" if self._is_bmc else "which is not what was flashed"
        why = f"the BMC, {whose}, has not answered for {at - self._answered:.0f} s: {answer.said}"
        return Verdict("inconclusive", "bmc_silent", why)

    def _of_answer(self, at: float, answer: Answer) -> Verdict:
        if not answer.good:
            return Verdict("failed", "task_failed", answer.said)
        body = answer.body or {}
        state = body.get("TaskState") or body.get("JobState")
        if state is None:
            # A monitor gives the answer of the operation itself once it is over.
            if "error" in body and answer.status != 202 and any(_is_bad(row) for row in infos_of(body)):
                return Verdict("failed", "task_failed", answer.said)
            return WAIT if answer.status == 202 else Verdict("read_back", "ended", "")
        if state not in _WAITS:
            self._waits_since = None
            return of_task(body)
        self._waits_since = at if self._waits_since is None else self._waits_since
        return self._waiting(at - self._waits_since, state, body)

    def _waiting(self, seconds: float, state: str, body: Mapping[str, Any]) -> Verdict:
        told = "; ".join(words_of(body))
        if state == "Scheduled" or (state == "Pending" and _BOOT.search(told)):
            return Verdict("staged", "waits_for_boot", told or "the job waits for the host to boot")
        if seconds <= self._limits.pending:
            return WAIT
        if state == "Pending":
            return Verdict("staged", "pending", f"it has been pending for {seconds:.0f} s")
        if state == "Interrupted":
            return Verdict("read_back", "interrupted", told or "the task was interrupted")
        return WAIT


def of_task(task: Mapping[str, Any]) -> Verdict:
    """What a task says that does not wait for something: its state first, then its status; per cent say nothing."""
    state, status = task.get("TaskState") or task.get("JobState"), task.get("TaskStatus") or task.get("JobStatus")
    told = "; ".join(words_of(task)) or str(task.get("Message") or "")
    if state in _BAD:
        return Verdict("failed", "task_failed", f"{state}: {told}" if told else f"the task ended as {state}")
    if state not in _WELL:
        return WAIT
    if status not in (None, "", "OK", "Warning"):
        ids = [message_id(row) for row in infos_of(task)] + [str(task.get("MessageId"))]
        stalled = any(one.endswith("JCP052") for one in ids) or "no progress" in told
        return Verdict("failed", "stalled_job" if stalled else "task_critical", f"{state} and {status}: {told}")
    return Verdict("read_back", "completed", told)


def _is_bad(row: Mapping[str, Any]) -> bool:
    return str(row.get("MessageSeverity") or row.get("Severity")) == "Critical"
