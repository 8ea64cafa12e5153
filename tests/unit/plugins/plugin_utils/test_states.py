# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state machine: the happy way, the ways out, and a checker that a broken table does not get past."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import (
    EDGES,
    STATES,
    TABLE,
    Edge,
    StateError,
    Table,
    advance,
    check_table,
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


@pytest.mark.parametrize("start", ["changing", "activating", "booted", "draining", "paused", "inconclusive", "failed"])
def test_a_resumed_rollout_takes_a_node_up_again_but_only_by_saying_so(start):
    advance(start, "admitted", action="resume")
    with pytest.raises(StateError):
        advance(start, "admitted")


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
    for action in (None, "resume", "retry", "rollback"):
        with pytest.raises(StateError):
            advance(start, "in_service", action=action)


def test_the_error_says_what_was_possible():
    with pytest.raises(StateError, match=r"state planned: no step to changing; wanted: one of admitted.*; fix: "):
        advance("planned", "changing")
    with pytest.raises(StateError, match="state upgraded: no such state"):
        advance("soaking", "upgraded")


def test_the_sets_say_what_counts_as_what():
    assert {"in_service", "restored", "quarantined"} == states.TERMINAL
    assert {"failed", "rolling_back", "verifying_old", "restored", "quarantined", "inconclusive"} == states.LOST
    assert {"in_service"} == states.FINISHED_OK
    assert not states.SLOT & states.LOST


def test_the_real_table_is_sound():
    assert check_table() == []


@pytest.mark.parametrize("edge", EDGES, ids=lambda e: f"{e.source}-{e.target}-{e.kind}")
def test_a_table_without_one_of_its_edges_is_not_sound(edge):
    assert check_table(Table(STATES, tuple(e for e in EDGES if e != edge)))


BAD_EDGES = [
    ("changing", "in_service"), ("verifying", "in_service"), ("booted", "soaking"), ("failed", "in_service"),
    ("failed", "admitted"), ("failed", "verifying"), ("failed", "soaking"), ("restored", "admitted"),
    ("paused", "in_service"),
    ("paused", "soaking"), ("planned", "changing"), ("admitted", "draining"), ("prechecked", "drained"),
    ("drained", "changing"), ("changing", "booted"), ("changing", "soaking"), ("activating", "verifying"),
    ("failed", "restored"), ("rolling_back", "restored"), ("rolling_back", "admitted"), ("quarantined", "in_service"),
    ("quarantined", "rolling_back"), ("in_service", "failed"), ("inconclusive", "verifying"),
    ("verifying_old", "in_service"),
]


@pytest.mark.parametrize("source, target", BAD_EDGES)
def test_a_table_with_a_shortcut_is_not_sound(source, target):
    assert check_table(Table(STATES, (*EDGES, Edge(source, target, "forward"))))


GUARDED = ["in_service", "soaking", "restored", "changing", "activating", "booted", "drained"]
KNOWN = {(e.source, e.target) for e in EDGES if e.action is None}


@pytest.mark.parametrize("source, target", [
    (a, b) for a in NAMES for b in GUARDED if a != b and (a, b) not in KNOWN
])
def test_no_new_way_to_a_guarded_state_gets_past_the_checker(source, target):
    assert check_table(Table(STATES, (*EDGES, Edge(source, target, "forward"))))


@pytest.mark.parametrize("name", ["failed", "inconclusive", "rolling_back", "quarantined"])
def test_a_lost_state_that_holds_a_slot_is_not_sound(name):
    mutant = tuple(s._replace(group="active") if s.name == name else s for s in STATES)
    assert any("a lost node holds a slot" in fault for fault in check_table(Table(mutant, EDGES)))


@pytest.mark.parametrize("edge, fault", [
    (Edge("soaking", "done", "forward"), "no such state"), (Edge("paused", "admitted", "named"), "name an action"),
    (Edge("planned", "failed", "exit", "resume"), "name an action"),
    (Edge("planned", "failed", "jump"), "unknown kind"),
    (EDGES[0], "declared twice"), (Edge("in_service", "verifying_old", "named", "rollback"), "nobody asked for"),
    (Edge("in_service", "admitted", "resume", "resume"), "resumes at admitted"),
])
def test_a_malformed_edge_is_named(edge, fault):
    assert any(fault in found for found in check_table(Table(STATES, (*EDGES, edge))))


def test_the_page_in_the_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == states.render_table(TABLE), "write render_table() to docs/states.md"
