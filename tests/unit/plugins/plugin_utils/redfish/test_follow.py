# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an update has come to, by one answer after another."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import LOST, Answer
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.follow import Follower, Limits, of_task

LIMITS = Limits(timeout=3600, silence=300, pending=120, answers=3)
GONE, BUSY, NOTHING, DENIED = Answer(404), Answer(503), Answer(LOST), Answer(401)


def task(state, status="OK", **more):
    """An answer with a task."""
    return Answer(200, {"TaskState": state, "TaskStatus": status, **more})


def told(*looks, is_bmc=False):
    """The last verdict over (seconds, answer) pairs."""
    follower = Follower(0.0, LIMITS, is_bmc)
    return [follower.see(at, answer) for at, answer in looks][-1][:2]


RUNNING, DONE = task("Running", PercentComplete=100), task("Completed")


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (
            {
                "TaskState": "Completed",
                "TaskStatus": "Critical",
                "PercentComplete": 100,
                "Messages": [{"MessageId": "IDRAC.2.8.JCP052", "Message": "made no progress"}],
            },
            ("failed", "stalled_job"),
        ),
        ({"TaskState": "Completed", "TaskStatus": "OK"}, ("read_back", "completed")),
        ({"TaskState": "Exception", "TaskStatus": "OK", "PercentComplete": 100}, ("failed", "task_failed")),
        ({"JobState": "CompletedWithErrors", "JobStatus": "Critical"}, ("failed", "task_failed")),
        ({"JobState": "Running", "MessageId": "RED002", "EndTime": "TIME_NA"}, ("wait", "running")),
        ({"TaskState": "foobared", "PercentComplete": 100}, ("wait", "running")),
    ],
)
def test_the_state_decides_before_status_and_per_cent_b08_b13_b14(body, verdict):
    assert of_task(body)[:2] == verdict


@pytest.mark.parametrize(
    ("looks", "verdict"),
    [
        ([(1, RUNNING), (2, NOTHING), (3, BUSY), (4, DENIED), (290, BUSY)], ("wait", "running")),
        ([(1, RUNNING), (2, NOTHING), (302, BUSY)], ("inconclusive", "bmc_silent")),
        ([(1, NOTHING), (2, DONE), (3, DONE)], ("wait", "running")),
        ([(1, NOTHING), (2, DONE), (3, BUSY), (4, DONE), (5, DONE)], ("wait", "running")),
        ([(1, NOTHING), (2, DONE), (3, DONE), (4, DONE)], ("read_back", "completed")),
    ],
)
def test_a_silent_bmc_is_waited_for_and_believed_after_some_good_answers_b11(looks, verdict):
    assert told(*looks, is_bmc=True) == verdict


@pytest.mark.parametrize(
    ("looks", "verdict"),
    [
        ([(1, RUNNING), (2, GONE), (3, GONE)], ("wait", "running")),
        ([(1, RUNNING), (2, GONE), (3, GONE), (4, GONE)], ("read_back", "task_gone")),
        ([(1, GONE), (2, GONE), (3, RUNNING), (4, GONE)], ("wait", "running")),
    ],
)
def test_a_task_that_is_gone_leaves_it_to_the_version_b10(looks, verdict):
    assert told(*looks) == verdict


def test_a_time_out_is_inconclusive():
    assert told((1, RUNNING), (3601, RUNNING)) == ("inconclusive", "timeout")


@pytest.mark.parametrize(
    ("looks", "verdict"),
    [
        ([(1, task("Scheduled"))], ("staged", "waits_for_boot")),
        (
            [(1, task("Pending", Messages=[{"Message": "The job waits for the host to restart."}]))],
            ("staged", "waits_for_boot"),
        ),
        ([(1, task("Pending")), (100, task("Pending"))], ("wait", "running")),
        ([(1, task("Pending")), (130, task("Pending"))], ("staged", "pending")),
        ([(1, task("Pending")), (100, RUNNING), (130, task("Pending"))], ("wait", "running")),
        ([(1, task("Interrupted")), (130, task("Interrupted"))], ("read_back", "interrupted")),
        ([(1, task("Suspended")), (900, task("Suspended"))], ("wait", "running")),
    ],
)
def test_a_job_that_waits_for_a_boot_is_staged_and_no_failure(looks, verdict):
    assert told(*looks) == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(202, {}), ("wait", "running")),
        (Answer(204), ("read_back", "ended")),
        (Answer(200, {}), ("read_back", "ended")),
        (Answer(400, {"error": {"message": "bad image"}}), ("failed", "task_failed")),
        (
            Answer(200, {"error": {"@Message.ExtendedInfo": [{"Message": "no", "Severity": "Critical"}]}}),
            ("failed", "task_failed"),
        ),
    ],
)
def test_a_monitor_gives_the_answer_of_the_order_itself(answer, verdict):
    assert told((1, answer)) == verdict
