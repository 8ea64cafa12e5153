# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who goes back by the policy alone: nobody within the budget, never a node that was not changed."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import way_back
from ansible_collections.fleetops.instinct.plugins.plugin_utils.gate import CODES

WAVES = [["g01"], ["g02", "g03"], ["g04", "g05", "g06"], ["g07", "g08"]]
NODES = [node for wave in WAVES for node in wave]
UNTOUCHED = ("planned", "admitted", "prechecked")


def plan(**policy):
    kinds = ["canary", "wave", "wave", "wave"]
    rows = [
        {"number": n, "kind": kind, "nodes": names} for n, (kind, names) in enumerate(zip(kinds, WAVES, strict=True), 1)
    ]
    return {"nodes": dict.fromkeys(NODES), "waves": rows, "policy": {"failure_budget": 0, **policy}}


def fleet(**states):
    known = {**dict.fromkeys(NODES, "planned"), **states}
    return {
        node: {"state": state, "reason": "", "has_snapshot": state not in UNTOUCHED} for node, state in known.items()
    }


LOST_IN_THREE = {
    **dict.fromkeys(["g01", "g02", "g03", "g05", "g06"], "in_service"),
    "g04": "failed",
}  # fmt: skip


def back(nodes, members=NODES, **policy):
    return way_back.waves(plan(**policy), nodes, members)


@pytest.mark.parametrize("scope", ["none", "node"])
def test_a_policy_that_names_no_more_than_the_node_sends_nobody_else_back(scope):
    assert back(fleet(**LOST_IN_THREE), automatic_rollback=scope) == []


def test_a_policy_of_before_the_key_sends_nobody_else_back():
    assert back(fleet(**LOST_IN_THREE)) == []


def test_the_wave_that_lost_a_node_goes_back():
    assert back(fleet(**LOST_IN_THREE), automatic_rollback="wave") == [["g04", "g05", "g06"]]


def test_the_whole_rollout_goes_back_in_its_own_waves_and_leaves_alone_what_was_not_changed():
    found = back(fleet(**LOST_IN_THREE), automatic_rollback="rollout")
    assert found == [["g01"], ["g02", "g03"], ["g04", "g05", "g06"]]


@pytest.mark.parametrize("scope", ["wave", "rollout"])
def test_within_the_budget_nobody_goes_back(scope):
    assert back(fleet(**LOST_IN_THREE), automatic_rollback=scope, failure_budget=1) == []


def test_a_lost_canary_is_more_than_any_budget():
    lost = fleet(g01="failed", g02="in_service", g03="in_service")
    assert back(lost, automatic_rollback="wave", failure_budget=5) == [["g01"]]


def test_a_node_that_never_came_back_counts_as_lost():
    stuck = fleet(**{**LOST_IN_THREE, "g04": "activating"})
    assert back(stuck, automatic_rollback="wave") == [["g04", "g05", "g06"]]


def test_what_is_back_already_is_not_sent_back_again():
    half = fleet(**{**LOST_IN_THREE, "g04": "restored", "g05": "restored"})
    assert back(half, automatic_rollback="wave") == [["g06"]]
    done = fleet(**{**LOST_IN_THREE, **dict.fromkeys(["g04", "g05", "g06"], "restored")})
    assert back(done, automatic_rollback="wave") == []


def test_a_node_that_this_run_may_not_touch_stays():
    assert back(fleet(**LOST_IN_THREE), members=["g04", "g05"], automatic_rollback="wave") == [["g04", "g05"]]


def test_the_way_back_has_a_batch_size_of_its_own():
    found = back(fleet(**LOST_IN_THREE), automatic_rollback="rollout", rollback_batch=2)
    assert found == [["g01"], ["g02", "g03"], ["g04", "g05"], ["g06"]]


def test_what_is_undone_and_why_is_one_sentence():
    nodes, told = fleet(**LOST_IN_THREE), plan(automatic_rollback="wave")
    chosen = way_back.waves(told, nodes, NODES)
    assert way_back.words(told, nodes, chosen) == (
        "automatic_rollback wave: lost g04; going back: g04, g05, g06, 1 wave"
    )


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("scope", way_back.SCOPES)
def test_a_refused_wave_ends_quietly_only_where_losses_are_undone_next(scope, code):
    expected = scope in ("wave", "rollout") and code in ("budget_spent", "canary_lost")
    assert way_back.goes_on({"automatic_rollback": scope}, code) == expected
