# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A night of an operator: rehearsals on a fleet at work, and the way back where one node is in the way."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

POLICY = {"soak_seconds": 1, "reboot_timeout_seconds": 60, "capacity_floor_percent": 0, "drain_timeout_seconds": 2}
OLD, NEW = "6.12.12", "6.14.14"


class Night(NamedTuple):
    """What was seen, in the order in which it happened."""

    rehearsed_upgrade: Any
    rehearsed_rollback: Any
    boots: dict[str, int]
    incident: Any


@pytest.fixture(scope="module")
def night(operator: Any) -> Night:
    """A fleet with one node at work is rehearsed, upgraded, rehearsed again and sent back in an incident."""
    wanted = {"target": operator.target, "policy": POLICY}
    operator.simfleet("fault", "g02", "kfd_busy", "command=train.py")
    rehearsed = operator.play("upgrade", "--check", **wanted)
    operator.simfleet("clear", "g02")
    done = operator.play("upgrade", **wanted)
    assert done.status == 0, done.text
    operator.simfleet("fault", "g02", "kfd_busy", "command=train.py")
    back = operator.play("rollback", "--check")
    return Night(rehearsed, back, operator.boots(), operator.play("rollback", fleet_incident="true"))


def test_an_upgrade_can_be_rehearsed_while_jobs_run(night: Night) -> None:
    assert night.rehearsed_upgrade.status == 0, night.rehearsed_upgrade.text


def test_a_rollback_can_be_rehearsed_and_reboots_nothing(night: Night) -> None:
    assert night.rehearsed_rollback.status == 0, night.rehearsed_rollback.text
    assert night.boots == {"g01": 2, "g02": 2, "g03": 2}


def test_one_busy_node_does_not_stop_the_way_back_of_the_others(night: Night, operator: Any) -> None:
    assert {name: operator.node(name)["driver"] for name in ("g01", "g02", "g03")} == {
        "g01": OLD, "g02": NEW, "g03": OLD,
    }  # fmt: skip
    assert operator.states() == {"g01": "restored", "g02": "in_service", "g03": "restored"}


def test_a_node_that_was_not_brought_back_ends_the_incident_with_a_failure_that_says_why(
    night: Night, operator: Any
) -> None:
    assert night.incident.status == 2
    assert "g02 in_service: " in night.incident.errors()[-1]
    assert "train.py" in night.incident.errors()[-1]
    assert "train.py" in operator.play("status", node="g02").text


def test_the_lease_is_given_back_when_a_run_ends(night: Night, operator: Any) -> None:
    assert operator.query("SELECT expires_at FROM lease") == [(0.0,)]


def test_a_rollout_whose_plan_was_lost_with_the_controller_goes_on(night: Night, operator: Any) -> None:
    kept = operator.rollout() / "plan.json"
    plan = operator.records / "plans" / f"{json.loads(kept.read_text(encoding='utf-8'))['plan_id']}.json"
    kept.unlink()
    done = operator.play("upgrade", plan=plan)
    assert kept.exists(), done.text
