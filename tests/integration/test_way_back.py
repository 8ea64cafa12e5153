# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wave that loses a node goes back by itself, and goes on going back after its controller has died.

1. g01 (the canary) and g02 come into service; of g03 and g04, g04 has a slow link under the new driver
2. g04 goes back because it failed; then g03 goes back because the policy says wave, and the controller is killed there
3. the same command again
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

OLD, NEW = "6.12.12", "6.14.14"
NODES = ["g01", "g02", "g03", "g04", "g05"]


@pytest.fixture(scope="module")
def seen(operator: Any, until: Callable[..., None]) -> SimpleNamespace:
    seen = SimpleNamespace(plan=operator.plan(automatic_rollback="wave", rollback_batch=1))
    first = operator.start("upgrade", plan=seen.plan)
    until(lambda: operator.states().get("g03") == "rolling_back")
    first.kill()
    seen.cut_off = operator.states()
    seen.again = operator.play("upgrade", plan=seen.plan)
    seen.once_more = operator.play("upgrade", plan=seen.plan)
    return seen


def test_the_controller_died_while_a_healthy_node_of_the_lost_wave_was_going_back(seen: Any) -> None:
    assert seen.cut_off == {
        "g01": "in_service", "g02": "in_service", "g03": "rolling_back", "g04": "restored", "g05": "planned",
    }  # fmt: skip


def test_the_same_command_brings_the_rest_of_the_wave_back_and_nobody_else(seen: Any, operator: Any) -> None:
    assert operator.states() == {**seen.cut_off, "g03": "restored"}
    assert {name: operator.node(name)["driver"] for name in NODES} == {
        "g01": NEW, "g02": NEW, "g03": OLD, "g04": OLD, "g05": OLD,
    }  # fmt: skip


def test_the_run_says_what_is_undone_and_why_and_does_not_end_well(seen: Any, operator: Any) -> None:
    assert seen.again.status == 2
    assert "automatic_rollback wave: lost g03, g04; going back: g03, 1 wave" in seen.again.text
    assert operator.reasons()["g03"].startswith("automatic_rollback wave: lost")


def test_the_refusal_of_the_next_wave_is_in_the_ledger_with_its_code(seen: Any, operator: Any) -> None:
    codes = operator.query("SELECT json_extract(data, '$.code') FROM events WHERE data LIKE '%\"code\"%'")
    assert {code for (code,) in codes} == {"budget_spent"}


def test_once_all_are_back_nothing_is_left_to_undo(seen: Any, operator: Any) -> None:
    assert seen.once_more.status == 2
    assert f"Rollback {operator.rollout().name}: automatic_rollback" in seen.again.text
    assert "Rollback " not in seen.once_more.text
    assert operator.boots() == {"g01": 2, "g02": 2, "g03": 3, "g04": 3, "g05": 1}
