# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator may order of which node, and how an order is refused that makes no sense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import gate, orders, states

STATES = [state.name for state in states.STATES]
ABORTED = {"id": 4, "order": "abort", "by": "anna on ctl1", "at": "2026-12-01T04:30:00.000Z", "reason": "wrong target"}
PAUSED = {**ABORTED, "order": "pause"}


def fleet(**given_states):
    return {node: {"state": state} for node, state in given_states.items()}


def moved(order, **given_states):
    return orders.moves(order, given_states, fleet(**given_states), "rollout x")


@pytest.mark.parametrize(("order", "before", "after"), [
    ("pause", "draining", "paused"), ("resume", "paused", "requeued"), ("skip", "planned", "skipped"),
    ("retry", "skipped", "planned"), ("retry", "failed", "requeued"), ("retry", "restored", "requeued"),
    ("release", "quarantined", "requeued"), ("quarantine", "inconclusive", "quarantined"),
])  # fmt: skip
def test_an_order_moves_a_node_as_the_table_says(order, before, after):
    assert moved(order, g01=before) == [("g01", before, after)]


@given(st.sampled_from(orders.OF_NODES), st.sampled_from(STATES))
def test_whatever_an_order_does_to_a_node_the_ledger_would_take_and_doing_it_twice_does_nothing(order, state):
    try:
        found = moved(order, g01=state)
    except FleetError:
        assert order not in states.orders_for(state)
        return
    for move in found:
        assert states.advance(move.before, move.after, order).kind == "named"
        assert moved(order, g01=move.after) == []


def test_nodes_that_are_where_the_order_leads_are_left_alone():
    assert [move.node for move in moved("skip", g01="planned", g02="skipped", g03="planned")] == ["g01", "g03"]


def test_a_node_that_is_named_twice_is_moved_once():
    assert len(orders.moves("skip", ["g01", "g01"], fleet(g01="planned"), "rollout x")) == 1


def test_one_error_names_every_node_that_cannot_take_the_order_with_its_state_and_what_it_takes():
    with pytest.raises(FleetError) as caught:
        moved("release", g01="in_service", g02="quarantined", g03="planned", g04="in_service")
    assert str(caught.value) == (
        "release in rollout x: g01, g04 are in_service (takes: rollback); g03 is planned (takes: skip); "
        "wanted: nodes that are quarantined; fix: no node was moved; leave these out of --limit"
    )


def test_an_unknown_node_is_refused_with_the_nearest_name():
    with pytest.raises(FleetError, match=r"g011 is not part of it \(nearest: 'g01'\); zz is not part of it; wanted"):
        orders.moves("skip", ["g011", "zz"], fleet(g01="planned"), "rollout x")


@pytest.mark.parametrize(("order", "state"), [("resume", "paused"), ("retry", "failed"), ("release", "quarantined")])
def test_what_was_aborted_takes_no_node_up_again(order, state):
    with pytest.raises(gate.Refused, match=r"wrong target \[aborted\]") as caught:
        orders.moves(order, ["g01"], fleet(g01=state), "rollout x", ABORTED)
    assert caught.value.code == "aborted"
    assert orders.moves(order, ["g01"], fleet(g01=state), "rollout x", PAUSED)


@pytest.mark.parametrize("order", orders.NAMES)
@pytest.mark.parametrize("reason", ["", "  \n"])
def test_every_order_needs_a_reason(order, reason):
    with pytest.raises(FleetError, match="no reason is given"):
        orders.refuse_unclear(order, reason, ["g01"])


@pytest.mark.parametrize(("order", "nodes", "why"), [
    ("skip", None, "name the nodes: skip --limit NODES"), ("retry", None, "--limit"), ("release", None, "--limit"),
    ("quarantine", None, "--limit"), ("skip", [], "an empty list"), ("pause", [], "an empty list"),
    ("abort", ["g01"], "it is for the whole rollout"),
])  # fmt: skip
def test_an_order_says_whom_it_is_for(order, nodes, why):
    with pytest.raises(FleetError, match=why):
        orders.refuse_unclear(order, "because", nodes)


@pytest.mark.parametrize("order", ["pause", "resume", "abort"])
def test_the_orders_for_a_whole_rollout_name_no_node(order):
    orders.refuse_unclear(order, "because", None)


def test_every_order_of_the_table_but_the_rollback_has_its_name_here():
    assert {*orders.OF_NODES, "rollback"} == {*states.ACTIONS}


@pytest.mark.parametrize(("standing", "code"), [(PAUSED, "paused"), (ABORTED, "aborted")])
def test_an_upgrade_is_not_opened_while_an_order_stands(standing, code):
    with pytest.raises(gate.Refused, match=rf"upgrade x: {code} by anna on ctl1 at 2026.*: wrong target") as caught:
        orders.refuse_standing(standing, "upgrade x")
    assert caught.value.code == code


def test_an_upgrade_is_opened_where_no_order_stands():
    orders.refuse_standing(None, "upgrade x")
