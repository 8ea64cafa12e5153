# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator's order from the task to the ledger: what is written, and what is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.fleetops.instinct.plugins.action.rollout_order import ActionModule
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import lease, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, PLAN


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(rollout.ledger_path(rollout.rollout_dir(str(tmp_path), PLAN["plan_id"])), PLAN)


@pytest.fixture
def give(tmp_path, ledger, monkeypatch):
    """A function that runs the task and gives its result."""
    monkeypatch.setattr(ActionModule, "say", lambda self, text: None)

    def run(order, *nodes, check=False, **more):
        one = ActionModule.__new__(ActionModule)
        one._task = SimpleNamespace(check_mode=check)
        args = {"order": order, "reason": "because", "rollout": None, "takeover": "", "fleet_dir": str(tmp_path)}
        return one.act({**args, "nodes": list(nodes) or None, **more}, {})

    return run


def told(ledger):
    """All that the ledger holds."""
    return ledger.events(), ledger.nodes(), ledger.holder(), ledger.standing()


def test_a_pause_stands_for_the_whole_rollout_and_a_second_one_changes_nothing(give, ledger):
    first = give("pause")
    before = told(ledger)
    second = give("pause", reason="for another reason")
    assert (first["changed"], second["changed"], told(ledger)) == (True, False, before)
    assert first["standing"]["reason"] == "because"
    assert second["msg"].startswith("pause stands already, paused by ")
    assert second["msg"].endswith(": because")


def test_a_pause_needs_no_lease_and_says_who_is_at_work(give, ledger):
    ledger.take_lease(ANNA, 600)
    assert "what anna on ctl1 has under way goes on" in give("pause")["msg"]
    assert ledger.holder()["who"] == "anna"


def test_a_resume_takes_the_pause_back_and_shows_it(give, ledger):
    give("pause")
    result = give("resume")
    assert (result["changed"], result["standing"], ledger.standing()) == (True, None, None)
    assert "paused by" in result["diff"]["before"]
    assert result["diff"]["after"] == "resume: because\n"


def test_an_order_moves_the_named_nodes_alone_with_its_reason_and_gives_the_lease_back(give, ledger):
    result = give("skip", "g01", "g03")
    assert [row["state"] for row in ledger.nodes().values()] == ["skipped", "planned", "skipped"]
    assert result["nodes"] == {node: {"before": "planned", "after": "skipped"} for node in ("g01", "g03")}
    assert result["diff"]["before"] == "g01: planned\ng03: planned\n"
    assert (ledger.events("g01")[-1]["action"], ledger.events("g01")[-1]["reason"]) == ("skip", "because")
    assert ledger.holder()["expires_at"] is None
    assert Ledger.verify(ledger.path) == []


def test_the_same_order_once_more_writes_nothing_at_all(give, ledger):
    give("skip", "g01")
    before = told(ledger)
    assert not give("skip", "g01")["changed"]
    assert told(ledger) == before


def test_one_node_that_cannot_take_the_order_keeps_all_of_them_where_they_are(give, ledger):
    give("skip", "g03")
    before = told(ledger)
    with pytest.raises(FleetError, match=r"g04 is not part of it \(nearest: 'g03'\)"):
        give("retry", "g03", "g04")
    with pytest.raises(FleetError, match=r"g01, g02 are planned \(takes: skip\); g03 is skipped"):
        give("release", "g01", "g02", "g03")
    assert told(ledger) == before


@pytest.mark.parametrize("check", [True, False])
def test_while_another_controller_is_at_work_no_node_is_moved_and_it_is_named(give, ledger, check):
    ledger.take_lease(ANNA, 600)
    before = told(ledger)
    with pytest.raises(lease.LeaseHeld, match="anna on ctl1"):
        give("skip", "g01", check=check)
    assert told(ledger) == before


def test_a_controller_that_is_known_to_be_dead_is_taken_over_with_a_reason(give, ledger):
    ledger.take_lease(ANNA, 600)
    assert give("skip", "g01", takeover="ctl1 has burnt down", check=True)["changed"]
    give("skip", "g01", takeover="ctl1 has burnt down")
    assert ledger.state_of("g01") == "skipped"
    assert any("ctl1 has burnt down" in event["reason"] for event in ledger.events())


@pytest.mark.parametrize(("order", "nodes"), [("pause", ()), ("abort", ()), ("skip", ("g01", "g02"))])
def test_check_mode_tells_what_would_change_and_writes_nothing(give, ledger, order, nodes):
    before = told(ledger)
    result = give(order, *nodes, check=True)
    assert (result["changed"], told(ledger)) == (True, before)
    done = give(order, *nodes)
    assert (done["changed"], done["nodes"]) == (True, result["nodes"])
    assert not give(order, *nodes, check=True)["changed"]


@pytest.mark.parametrize("check", [True, False])
def test_nothing_resumes_an_aborted_rollout(give, check):
    give("abort")
    for order, nodes in (("pause", ()), ("resume", ()), ("retry", ("g01",))):
        with pytest.raises(FleetError, match=r"aborted by .*rollback playbook"):
            give(order, *nodes, check=check)


def test_a_rollout_that_was_never_started_takes_no_order(give):
    with pytest.raises(FleetError, match="was never started"):
        give("pause", rollout="ffffffffffff")
