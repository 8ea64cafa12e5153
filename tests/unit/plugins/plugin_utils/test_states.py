# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state machine: the happy way, the ways out, and the orders of an operator."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import (
    ACTIONS,
    ACTIVE,
    ORDERS,
    STATES,
    TABLE,
    StateError,
    advance,
    orders_for,
)

NAMES = [s.name for s in STATES]
PAGE = Path(__file__).parents[4] / "docs" / "states.md"


def walk(*names: str) -> None:
    for a, b in pairwise(names):
        advance(a, b)


def test_a_node_goes_from_planned_to_in_service_step_by_step():
    walk(*states.SPINE)


def test_a_node_that_needs_no_reboot_goes_from_changing_to_verifying():
    walk("changing", "verifying", "soaking", "in_service")


def test_several_steps_are_made_in_one_state():
    walk("changing", "changing", "changing", "activating")


def test_a_failed_node_is_put_back_and_proven_to_be_the_old_one():
    walk("changing", "failed", "rolling_back", "verifying_old", "restored")


def test_a_node_that_failed_before_any_change_is_proven_without_a_rollback():
    walk("draining", "failed", "verifying_old", "restored")


@pytest.mark.parametrize("start", ACTIVE[1:])
def test_a_resumed_rollout_takes_a_node_up_again_but_only_by_saying_so(start):
    advance(start, "admitted", action="resume")
    with pytest.raises(StateError):
        advance(start, "admitted")


@pytest.mark.parametrize("start", ["rolling_back", "verifying_old"])
def test_a_resumed_way_back_goes_on_back_and_never_forward(start):
    advance(start, "rolling_back", action="resume")
    with pytest.raises(StateError):
        advance(start, "admitted", action="resume")


ORDERED = [(action, source, target) for action, sources, target in ORDERS for source in sources]


@pytest.mark.parametrize("action, source, target", ORDERED)
def test_an_order_is_a_step_only_when_it_is_named(action, source, target):
    assert advance(source, target, action).kind == "named"
    assert orders_for(source)[action] == target
    by_itself = [e for e in TABLE.edges if e.action is None and (e.source, e.target) == (source, target)]
    if not by_itself and source != target:
        with pytest.raises(StateError):
            advance(source, target)


@pytest.mark.parametrize("start", ["paused", "failed", "inconclusive", "restored", "quarantined"])
def test_a_node_that_is_given_back_waits_for_its_wave_and_takes_no_slot(start):
    action = {"paused": "resume", "quarantined": "release"}.get(start, "retry")
    advance(start, "requeued", action)
    advance("requeued", "admitted")
    for name in (None, "resume", *ACTIONS):
        with pytest.raises(StateError):
            advance(start, "admitted", name)


def test_a_node_that_was_left_out_is_planned_again_on_request():
    advance("planned", "skipped", "skip")
    advance("skipped", "planned", "retry")


@pytest.mark.parametrize("start", [name for name in NAMES if name != "planned"])
def test_only_a_node_that_was_not_touched_can_be_left_out(start):
    assert "skip" not in orders_for(start)


def test_a_way_back_asks_for_a_snapshot():
    assert {e.guard for e in TABLE.edges if e.target == "rolling_back"} == {"snapshot"}
    assert advance("changing", "changing") is None


def test_only_a_soaked_node_that_goes_into_service_loses_the_cordon():
    assert [(e.source, e.target) for e in TABLE.edges if e.lifts] == [("soaking", "in_service")]


@pytest.mark.parametrize("start", ["in_service", "quarantined", "soaking", "inconclusive"])
def test_a_fleet_rollback_is_a_named_action(start):
    advance(start, "rolling_back", action="rollback")
    with pytest.raises(StateError):
        advance(start, "rolling_back")


@pytest.mark.parametrize("name", sorted(states.TERMINAL))
def test_nothing_leaves_a_terminal_state_by_itself(name):
    for other in NAMES:
        with pytest.raises(StateError):
            advance(name, other)


@pytest.mark.parametrize("start", [n for n in NAMES if n != "soaking"])
def test_only_a_soaked_node_goes_into_service(start):
    for action in (None, *ACTIONS):
        with pytest.raises(StateError):
            advance(start, "in_service", action=action)


def test_the_error_says_what_was_possible():
    with pytest.raises(StateError, match=r"state planned: no step to changing; wanted: one of admitted.*; fix: "):
        advance("planned", "changing")
    with pytest.raises(StateError, match="state upgraded: no such state"):
        advance("soaking", "upgraded")


def test_the_sets_say_what_counts_as_what():
    assert {"in_service", "skipped", "restored", "quarantined"} == states.TERMINAL
    assert {"failed", "rolling_back", "verifying_old", "restored", "quarantined", "inconclusive"} == states.LOST
    assert {"in_service"} == states.FINISHED_OK
    assert {"paused"} == states.HELD
    assert not states.SLOT & states.LOST


def test_the_page_in_the_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == states.render_table(TABLE), "write render_table() to docs/states.md"
