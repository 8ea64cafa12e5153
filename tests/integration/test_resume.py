# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers that die, stop and meet each other: one rollout, cut off again and again, told by what it left behind.

The fleet goes through one story (the fixture), and each test looks at one thing in it:

1. the first controller is killed while apt works on g01; a new plan is asked for
2. the second is stopped while g01 reboots; another operator tries; its lease runs out and the third takes over;
   then the second goes on where it was
3. the third is killed as it reboots g02, and the fourth is started while that node is down
4. the fourth is killed while g03 soaks
5. the fifth is killed while g04, whose link is slow under the new driver, is on its way back by itself
6. g04 is rolled back by hand, and the rollout is run once more
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

NODES = ["g01", "g02", "g03", "g04"]
KEPT = "sha256sum /var/lib/fleetops/snapshots/*"


def _killed_while_changing(operator: Any, seen: SimpleNamespace, until: Callable[..., None]) -> None:
    controller = operator.start("upgrade", plan=seen.plan)
    until(lambda: operator.states().get("g01") == "changing" and operator.reasons()["g01"].startswith("ROCm"))
    controller.kill()
    seen.after_kill = operator.states()
    seen.planned_anew = operator.play("plan", target=operator.target)
    seen.snapshot, seen.before = operator.shell("g01", KEPT), _before(operator)


def _stopped_while_activating(operator: Any, seen: SimpleNamespace, until: Callable[..., None]) -> Any:
    controller = operator.start("upgrade", plan=seen.plan)
    until(lambda: operator.boots()["g01"] == 2)
    controller.signal(signal.SIGSTOP)
    seen.while_stopped = operator.states()
    seen.second_pid = controller.process.pid
    seen.intruder = operator.play("upgrade", plan=seen.plan)
    seen.looked = operator.play("status")
    operator.until_answers("g01")
    return controller


def _taken_over(operator: Any, seen: SimpleNamespace, until: Callable[..., None], stopped: Any) -> Any:
    controller = operator.start("upgrade", plan=seen.plan, fleet_takeover="the other controller stands still")
    until(lambda: operator.states()["g01"] == "in_service")
    stopped.signal(signal.SIGCONT)
    seen.stale = stopped.finish()
    return controller


def _killed_at(operator: Any, until: Callable[..., None], controller: Any, node: str, state: str) -> None:
    until(lambda: operator.states()[node] == state)
    controller.kill()


def _before(operator: Any) -> bytes:
    return (operator.rollout() / "before" / "g01.json").read_bytes()


@pytest.fixture(scope="module")
def seen(operator: Any, until: Callable[..., None]) -> SimpleNamespace:
    seen = SimpleNamespace(plan=operator.plan())
    _killed_while_changing(operator, seen, until)
    second = _stopped_while_activating(operator, seen, until)
    third = _taken_over(operator, seen, until, second)
    _killed_at(operator, until, third, "g02", "activating")
    _killed_at(operator, until, operator.start("upgrade", plan=seen.plan), "g03", "soaking")
    _killed_at(operator, until, operator.start("upgrade", plan=seen.plan), "g04", "rolling_back")
    seen.cut_off = operator.states()
    seen.rolled_back = operator.play("rollback", "--limit", "g04")
    seen.again = operator.play("upgrade", plan=seen.plan)
    return seen


def _epochs(operator: Any) -> list[int]:
    return [epoch for (epoch,) in operator.query("SELECT epoch FROM events ORDER BY id")]


# -- what became of the nodes --------------------------------------------------------------------------------------


def test_every_healthy_node_is_in_service_after_five_deaths(seen: Any, operator: Any) -> None:
    assert seen.after_kill["g01"] == "changing"
    assert operator.states() == {"g01": "in_service", "g02": "in_service", "g03": "in_service", "g04": "restored"}
    assert {operator.node(name)["driver"] for name in NODES[:3]} == {"6.14.14"}
    assert {operator.node(name)["packages"]["rocm-core"].split()[0] for name in NODES[:3]} == {"7.0.2.70002-56~22.04"}


def test_no_node_was_rebooted_without_need(seen: Any, operator: Any) -> None:
    assert operator.boots() == {"g01": 2, "g02": 2, "g03": 2, "g04": 3}


def test_the_snapshot_is_the_one_from_before_the_first_change(seen: Any, operator: Any) -> None:
    assert operator.shell("g01", KEPT) == seen.snapshot
    assert _before(operator) == seen.before
    assert json.loads(seen.before)["rocm"]["active"] == "6.4.4"


def test_the_events_form_one_chain(seen: Any, operator: Any) -> None:
    module = pytest.importorskip("ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger")
    ledger = module.Ledger.open(operator.rollout() / "ledger.sqlite")
    assert ledger.verify_chain() == []
    assert len(ledger.events()) > 40


def test_the_same_command_once_more_has_nothing_to_do_and_does_not_call_the_rollout_clean(seen: Any) -> None:
    assert "left to do: 0 nodes, 0 waves" in seen.again.text
    assert seen.again.status == 2


# -- two operators -------------------------------------------------------------------------------------------------


def test_a_new_plan_is_refused_while_a_rollout_is_cut_off(seen: Any, operator: Any) -> None:
    assert seen.planned_anew.status == 2
    (error,) = seen.planned_anew.errors()
    assert "this rollout was cut off with nodes under way: g01 changing" in error
    assert f"upgrade -e plan={seen.plan}" in error
    assert f"rollback -e rollout={operator.rollout().name}" in error


def test_a_second_operator_is_refused_and_told_who_is_at_work(seen: Any) -> None:
    assert seen.while_stopped["g01"] in ("activating", "booted")
    assert seen.intruder.status == 2
    (error,) = seen.intruder.errors()
    assert f"(process {seen.second_pid}) is at work on this rollout since" in error


def test_anybody_may_look_while_somebody_is_at_work(seen: Any) -> None:
    assert seen.looked.status == 0
    assert "g01" in seen.looked.text


def test_a_controller_that_was_taken_over_writes_nothing_more(seen: Any, operator: Any) -> None:
    epochs = _epochs(operator)
    assert epochs == sorted(epochs)
    assert seen.stale.status != 0
    assert "took over with epoch" in seen.stale.text
    assert "Traceback" not in seen.stale.text


# -- the way back --------------------------------------------------------------------------------------------------


def test_a_node_whose_way_back_was_cut_off_is_brought_back_by_the_rollback(seen: Any, operator: Any) -> None:
    assert seen.cut_off["g04"] == "rolling_back"
    assert "PLAY RECAP" in seen.rolled_back.text
    assert operator.states()["g04"] == "restored"
    assert operator.node("g04")["driver"] == "6.12.12"
    assert operator.node("g04")["packages"]["rocm-core"].startswith("6.4.4.60404")
