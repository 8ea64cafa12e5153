# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole job on each supported ansible-core: audit, rehearsal, upgrade with a bad node, again, and all the way back.

The tests of this file are one story and run in order. g03 loses a GPU under the new driver.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

DRIVERS = {"old": "6.12.12", "new": "6.14.14"}


@pytest.fixture(scope="module")
def plan(operator: Any) -> Path:
    return operator.plan(failure_budget=1)


def drivers(operator: Any) -> dict[str, str]:
    return {node: operator.node(node)["driver"] for node in ("g01", "g02", "g03")}


def test_an_audit_of_a_fleet_that_may_move_ends_with_0(operator: Any) -> None:
    done = operator.play("audit", target=operator.target)
    assert done.status == 0, done.text
    assert "3 may move" in done.text


def test_a_rehearsal_shows_every_change_and_makes_none(operator: Any, plan: Path) -> None:
    before = operator.fingerprint("g01")
    done = operator.play("upgrade", "--check", "--diff", plan=plan)
    assert done.status == 0, done.text
    assert "+rocm 7.0.2.70002-56~22.04 installed hold" in done.text
    assert operator.fingerprint("g01") == before
    assert not (operator.records / "rollouts").exists()


def test_a_bad_node_goes_back_alone_and_the_rollout_is_not_clean(operator: Any, plan: Path) -> None:
    done = operator.play("upgrade", plan=plan)
    assert done.status == 2, done.text
    assert operator.states() == {"g01": "in_service", "g02": "in_service", "g03": "restored"}
    assert drivers(operator) == {"g01": DRIVERS["new"], "g02": DRIVERS["new"], "g03": DRIVERS["old"]}
    assert "gpu" in operator.failures()["g03"]


def test_the_same_command_again_changes_nothing(operator: Any, plan: Path) -> None:
    boots = operator.boots()
    done = operator.play("upgrade", plan=plan)
    assert "left to do: 0 nodes, 0 waves" in done.text
    assert (done.status, operator.boots()) == (2, boots)


def test_the_story_of_the_bad_node_is_told(operator: Any) -> None:
    done = operator.play("status", node="g03")
    assert done.status == 0, done.text
    assert all(word in done.text for word in ("snapshotted", "failed", "rolling_back", "restored"))


def test_the_rollback_brings_every_node_back(operator: Any) -> None:
    done = operator.play("rollback")
    assert done.status == 0, done.text
    assert set(operator.states().values()) == {"restored"}
    assert set(drivers(operator).values()) == {DRIVERS["old"]}
