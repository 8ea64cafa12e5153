# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checker of the states lets no broken table pass: mutants are made from the table itself, all of them.

There are no equivalent mutants: every edge is asked for by some sentence of the checker, and so is its absence.
"""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import state_checks
from ansible_collections.fleetops.instinct.plugins.plugin_utils.state_checks import KINDS, Search, check_table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import (
    ACTIONS,
    EDGES,
    STATES,
    TABLE,
    Edge,
    Table,
)

NAMES = [s.name for s in STATES]
GROUPS = sorted({s.group for s in STATES})
BY_EDGE = pytest.mark.parametrize("edge", EDGES, ids=lambda e: f"{e.source}-{e.target}-{e.action or e.kind}")
BY_STATE = pytest.mark.parametrize("state", STATES, ids=lambda s: s.name)


def passes(states, edges):
    return next(state_checks.faults(Table(tuple(states), tuple(edges))), None) is None


def survivors(edge, mutants):
    """Those of the edges that the checker would take in the place of ``edge``."""
    rest = [e for e in EDGES if e != edge]
    return [mutant for mutant in mutants if passes(STATES, [*rest, mutant])]


def test_the_real_table_is_sound():
    assert check_table() == []


def test_the_search_sees_every_state_and_takes_every_edge():
    search = Search(TABLE)
    assert {place.state for place in search.places} == set(NAMES)
    assert {edge for _here, edge, _there in search.steps} == set(EDGES)
    assert len(search.places) > 2 * len(STATES)  # it tells apart how a node came to a state


@BY_EDGE
def test_a_table_without_one_of_its_edges_is_not_sound(edge):
    assert not passes(STATES, [e for e in EDGES if e != edge])


@BY_EDGE
def test_a_table_with_an_edge_that_leads_elsewhere_is_not_sound(edge):
    assert survivors(edge, [edge._replace(target=name) for name in NAMES if name != edge.target]) == []


@BY_EDGE
def test_a_table_with_an_edge_that_begins_elsewhere_is_not_sound(edge):
    assert survivors(edge, [edge._replace(source=name) for name in NAMES if name != edge.source]) == []


@BY_EDGE
def test_a_table_with_another_guard_on_an_edge_is_not_sound(edge):
    actions = [edge._replace(action=name) for name in (None, "typo", *ACTIONS) if name != edge.action]
    kinds = [edge._replace(kind=name) for name in KINDS if name != edge.kind]
    guards = [edge._replace(guard=name) for name in (None, "snapshot", "typo") if name != edge.guard]
    assert survivors(edge, [*actions, *kinds, *guards, edge._replace(lifts=not edge.lifts)]) == []


@BY_EDGE
def test_two_edges_that_swap_their_targets_are_not_sound(edge):
    for other in (e for e in EDGES if e.source == edge.source and e != edge):
        swapped = [edge._replace(target=other.target), other._replace(target=edge.target)]
        same = set(swapped) == {edge, other}  # two exits, say: their exchange is the table itself
        assert same or not passes(STATES, [*(e for e in EDGES if e not in (edge, other)), *swapped])


def edges_from(source):
    for target in NAMES:
        back, up = ("snapshot" if target == "rolling_back" else None), target == "in_service"
        for kind in KINDS:
            for action in ACTIONS if kind in ("resume", "named") else [None]:
                yield Edge(source, target, kind, action, back, up)


@BY_STATE
def test_no_new_edge_gets_past_the_checker(state):
    assert [edge for edge in edges_from(state.name) if passes(STATES, [*EDGES, edge])] == []


@BY_STATE
def test_a_state_that_counts_as_something_else_is_not_sound(state):
    mutants = [state._replace(group=name) for name in GROUPS if name != state.group]
    mutants += [state._replace(work=not state.work), state._replace(terminal=not state.terminal)]
    for mutant in mutants:
        assert not passes([mutant if s == state else s for s in STATES], EDGES), mutant


# What the walk alone finds, where no sentence of the checker names the edge: the proof does not rest on a list.
SHORTCUTS = [
    ("changing", "in_service"),
    ("verifying", "in_service"),
    ("booted", "soaking"),
    ("failed", "in_service"),
    ("failed", "verifying"),
    ("failed", "soaking"),
    ("paused", "in_service"),
    ("paused", "soaking"),
    ("planned", "changing"),
    ("admitted", "draining"),
    ("prechecked", "drained"),
    ("drained", "changing"),
    ("changing", "booted"),
    ("changing", "soaking"),
    ("activating", "verifying"),
    ("failed", "restored"),
    ("rolling_back", "restored"),
    ("quarantined", "in_service"),
    ("inconclusive", "verifying"),
    ("verifying_old", "in_service"),
    ("requeued", "changing"),
    ("requeued", "in_service"),
    ("restored", "in_service"),
    ("soaking", "skipped"),
]


@pytest.mark.parametrize("source, target", SHORTCUTS)
@pytest.mark.parametrize("action", [None, "resume"])
def test_a_shortcut_is_found_by_walking_it(source, target, action):
    edge = Edge(source, target, "resume" if action else "forward", action, None, target == "in_service")
    found = list(state_checks._order_of_work(Search(Table(STATES, (*EDGES, edge)))))
    assert f"{source} to {target}: without what must come before" in found


def test_a_verified_node_that_is_changed_again_has_to_be_verified_again():
    loop = Edge("soaking", "changing", "forward")
    steps = Search(Table(STATES, (*EDGES, loop))).steps
    changed = [there.memory.passed for here, edge, there in steps if edge == loop]
    assert changed
    assert not any("verifying" in passed or "soaking" in passed for passed in changed)


@pytest.mark.parametrize("source, target", [("drained", "draining"), ("changing", "snapshotted"), ("failed", "paused")])
def test_a_way_that_goes_round_by_itself_is_found_by_walking_it(source, target):
    edge = Edge(source, target, "forward")
    assert any("goes round by itself" in fault for fault in state_checks._ends(Search(Table(STATES, (*EDGES, edge)))))


@pytest.mark.parametrize("name", ["failed", "inconclusive", "rolling_back", "quarantined"])
def test_a_lost_state_that_holds_a_slot_is_said_so(name):
    mutant = tuple(s._replace(group="active") if s.name == name else s for s in STATES)
    assert f"{name}: a lost node holds a slot" in check_table(Table(mutant, EDGES))


@pytest.mark.parametrize(
    "edge, fault",
    [
        (Edge("soaking", "done", "forward"), "no such state"),
        (Edge("paused", "admitted", "named"), "name an action"),
        (Edge("planned", "failed", "exit", "resume"), "name an action"),
        (Edge("planned", "failed", "jump"), "unknown kind"),
        (EDGES[0], "declared twice"),
        (Edge("failed", "admitted", "forward"), "a lost node goes on to admitted"),
        (Edge("paused", "changing", "named", "resume"), "takes a slot (changing) without the gate"),
        (Edge("in_service", "verifying_old", "named", "rollback"), "is not asked for"),
    ],
)
def test_a_fault_is_named(edge, fault):
    assert any(fault in found for found in check_table(Table(STATES, (*EDGES, edge))))
