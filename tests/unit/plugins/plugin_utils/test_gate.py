# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate: each row of the measured table in which a play goes on after a loss, and here must not."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.gate import ASKED, CODES, Refused, admission, outcome
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import ACTIVE, LOST

WAVES = [["g01"], ["g02", "g03"], ["g04", "g05", "g06", "g07"], ["g08"]]
POLICY = {"failure_budget": 0, "capacity_floor_percent": 0}


def plan(waves=WAVES, canaries=1, product="MI300X", **more):
    return {
        "plan_id": "x", "policy": POLICY, "fleet": {product: 8}, "out": {product: 0},
        "nodes": {node: {"product": product, "wave": n} for n, names in enumerate(waves, 1) for node in names},
        "waves": [{"number": n, "kind": "canary" if n <= canaries else "wave", "nodes": names}
                  for n, names in enumerate(waves, 1)], **more}


def fleet(**states):
    """g01 is the canary and in service, the rest are planned, but for what is said."""
    known = {node: "planned" for names in WAVES for node in names} | {"g01": "in_service"} | states
    return {node: {"state": state, "reason": f"why {node}", "has_snapshot": state not in ("planned", "admitted")}
            for node, state in known.items()}


DONE = {"g01": "in_service", "g02": "in_service", "g03": "in_service"}

TABLE = {
    "plain task fails: nobody recorded it, the node stayed where it was": "changing",
    "fails in block and always: recorded by the rescue": "failed",
    "fails, rescue re-fails, no always": "rolling_back",
    "fails, rescue re-fails, always": "verifying_old",
    "fails, rescue recovers with status 0": "restored",
    "rescue cannot recover": "quarantined",
    "node unreachable, plain tasks, before anything": "admitted",
    "node unreachable, block rescue always: its rescue never ran": "draining",
    "node does not come back from its reboot": "activating",
    "node lost while it soaked": "soaking",
    "no answer that counts": "inconclusive",
}


@pytest.mark.parametrize("state", TABLE.values(), ids=TABLE)
def test_one_bad_node_in_wave_two_halts_wave_three(state):
    answer = admission(plan(), fleet(**{**DONE, "g03": state}), 3)
    assert not answer["admit"]
    assert [(row["node"], row["state"]) for row in answer["lost"]] == [("g03", state)]
    assert answer["reason"].startswith("wave 3 is refused: 1 node lost (g03 ")
    assert answer["wanted"] == "at most 0 (failure_budget)"
    assert "status playbook" in answer["fix"]


@pytest.mark.parametrize("state", TABLE.values(), ids=TABLE)
def test_one_bad_node_within_a_budget_of_one_lets_wave_three_go_on(state):
    answer = admission(plan(), fleet(**{**DONE, "g03": state}), 3, {**POLICY, "failure_budget": 1})
    assert answer["admit"]
    assert answer["reason"] == ""
    assert (len(answer["lost"]), answer["budget"]) == (1, 1)


@pytest.mark.parametrize("state", TABLE.values(), ids=TABLE)
def test_whole_batch_bad_a_lost_canary_halts_whatever_the_budget_is(state):
    answer = admission(plan(), fleet(g01=state), 2, {**POLICY, "failure_budget": 100})
    assert not answer["admit"]
    assert "a canary was lost (g01" in answer["reason"]


def test_a_clean_wave_lets_the_next_one_go_on():
    assert admission(plan(), fleet(**DONE), 3) == {
        "admit": True, "lost": [], "budget": 0, "code": "", "reason": "", "wanted": "", "fix": ""}


def test_the_first_wave_of_an_untouched_fleet_is_admitted():
    assert admission(plan(), fleet(g01="planned"), 1)["admit"]


@pytest.mark.parametrize("state", [s for s in ACTIVE if s != "planned"] + ["paused"])
def test_nodes_of_the_same_wave_on_their_way_are_not_lost(state):
    assert admission(plan(), fleet(**DONE, g04=state), 3)["admit"]


@pytest.mark.parametrize("state", sorted(LOST))
def test_a_lost_node_of_the_same_wave_counts_when_the_wave_is_resumed(state):
    assert not admission(plan(), fleet(**DONE, g04=state), 3)["admit"]


@pytest.mark.parametrize("node", ["g03", "g08"])
def test_a_paused_node_is_not_lost(node):
    answer = admission(plan(), fleet(**{**DONE, node: "paused"}), 3)
    assert (answer["admit"], answer["lost"]) == (True, [])


def test_a_paused_canary_has_shown_nothing():
    assert admission(plan(), fleet(g01="paused"), 2)["code"] == "canary_unproven"


def test_a_paused_node_does_not_serve_so_the_floor_counts_it():
    policy = {"failure_budget": 0, "capacity_floor_percent": 38}
    answer = admission(plan(), fleet(**{**DONE, "g03": "paused"}), 3, policy)
    assert (answer["code"], answer["lost"]) == ("floor_broken", [])
    assert "1 are out, 1 of them lost or paused" in answer["reason"]


def test_a_paused_node_that_its_own_wave_takes_up_is_counted_once():
    policy = {"failure_budget": 0, "capacity_floor_percent": 50}
    assert admission(plan(), fleet(**DONE, g04="paused"), 3, policy)["admit"]


def order(kind="pause"):
    """What ``Ledger.standing()`` gives."""
    return {"id": 7, "order": kind, "by": "anna on ctl1", "at": "2026-12-01T04:30:00.000Z", "reason": "heat"}


@pytest.mark.parametrize(("kind", "code", "way_out"), [
    ("pause", "paused", "resume playbook"), ("abort", "aborted", "rollback"), ("abort", "aborted", "a new plan")])
def test_while_an_order_stands_no_wave_begins_and_the_ways_out_are_named(kind, code, way_out):
    answer = admission(plan(), fleet(**DONE), 3, standing=order(kind))
    assert (answer["admit"], answer["code"]) == (False, code)
    assert answer["reason"] == f"wave 3 is refused: {code} by anna on ctl1 at 2026-12-01T04:30:00.000Z: heat"
    assert way_out in answer["fix"]


def test_an_order_is_told_before_what_else_is_wrong():
    assert admission(plan(), fleet(g01="failed"), 3, standing=order())["code"] == "paused"


@pytest.mark.parametrize(("minutes", "admitted"), [(1, True), (11, False)])
def test_an_order_that_comes_while_the_hosts_of_a_wave_ask_does_not_split_the_wave(minutes, admitted):
    nodes = fleet(**DONE, g04="admitted")
    nodes["g04"]["updated_at"] = (NOW - timedelta(minutes=minutes)).isoformat()
    assert admission(plan(), nodes, 3, now=NOW, standing=order())["admit"] is admitted


@pytest.mark.parametrize("kind", ["pause", "abort"])
def test_a_rollback_that_was_stopped_says_how_it_goes_on(kind):
    answer = admission(plan(), fleet(g01="restored"), 2, rollback=True, waves=[["g01"], ["g02"]], standing=order(kind))
    assert not answer["admit"]
    assert "run the rollback again" in answer["fix"]


def test_the_budget_is_for_the_whole_fleet_and_not_for_each_wave():
    nodes = fleet(**DONE | {"g03": "failed"}, g04="in_service", g05="quarantined", g06="in_service", g07="in_service")
    assert not admission(plan(), nodes, 4, {**POLICY, "failure_budget": 1})["admit"]
    assert admission(plan(), nodes, 4, {**POLICY, "failure_budget": 2})["admit"]


def test_a_node_that_the_ledger_does_not_know_is_lost_and_not_fine():
    nodes = fleet(**DONE)
    del nodes["g08"]
    answer = admission(plan(), nodes, 3)
    assert answer["lost"] == [{"node": "g08", "state": "unknown", "why": "the ledger has no record of it"}]
    assert not answer["admit"]


@pytest.mark.parametrize("wave", [2, 3, 4])
def test_no_wave_goes_before_its_canaries_have_shown_that_the_target_works(wave):
    answer = admission(plan(), fleet(g01="planned"), wave)
    assert "no canary has shown yet" in answer["reason"]


def test_canaries_of_several_products_go_one_after_the_other():
    waves = [["g01"], ["g02"], ["g03"]]
    assert admission(plan(waves, canaries=2), fleet(g01="in_service"), 2)["admit"]
    assert not admission(plan(waves, canaries=2), fleet(g01="in_service"), 3)["admit"]


def test_a_resumed_run_takes_up_a_node_that_a_killed_controller_left_on_its_way():
    nodes = fleet(g02="in_service", g03="activating")
    assert admission(plan(), nodes, 1, waves=[["g03"], WAVES[2], WAVES[3]])["admit"]
    assert not admission(plan(), nodes, 2, waves=[["g03"], WAVES[2], WAVES[3]])["admit"]


def test_a_resumed_run_that_leaves_such_a_node_out_counts_it_as_lost():
    answer = admission(plan(), fleet(g02="in_service", g03="activating"), 1, waves=[WAVES[2], WAVES[3]])
    assert answer["lost"] == [{"node": "g03", "state": "activating", "why": "never came back from activating: why g03"}]


@pytest.mark.parametrize("percent, admitted", [(0, True), (37, True), (38, False), (75, False)])
def test_a_wave_that_would_break_the_capacity_floor_with_the_lost_nodes_out_is_refused(percent, admitted):
    policy = {"failure_budget": 5, "capacity_floor_percent": percent}
    answer = admission(plan(), fleet(**{**DONE, "g03": "quarantined"}), 3, policy)  # 8 nodes, 1 lost, 4 taken: 3 stay
    assert answer["admit"] is admitted
    assert admitted or "3 of 8 MI300X would stay in service: 1 are out, 1 of them lost" in answer["reason"]


@pytest.mark.parametrize("size, out, admitted", [(20, 0, True), (19, 0, False), (20, 1, False), (24, 1, True)])
def test_the_floor_counts_the_whole_fleet_and_who_was_out_before(size, out, admitted):
    policy = {"failure_budget": 5, "capacity_floor_percent": 75}
    bigger = plan(fleet={"MI300X": size}, out={"MI300X": out})
    assert admission(bigger, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)["admit"] is admitted


def test_the_floor_of_one_product_is_not_broken_by_the_losses_of_another():
    mixed = plan(fleet={"MI300X": 7, "MI210": 1}, out={"MI300X": 0, "MI210": 0})
    mixed["nodes"]["g03"]["product"] = "MI210"
    policy = {"failure_budget": 5, "capacity_floor_percent": 43}
    assert admission(mixed, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)["admit"] is True


def test_a_floor_that_the_plan_cannot_keep_is_the_plans_own_decision_while_nothing_is_lost():
    assert admission(plan(), fleet(**DONE), 3, {"failure_budget": 0, "capacity_floor_percent": 100})["admit"]


def partitioned(**policy):
    """Half of the fleet in each of two partitions, g03 and g04 in the same."""
    here = plan(groups={"fleet_partition": {name: {"fleet": 8, "out": 0, "at_target": []} for name in ("p1", "p2")}})
    for node, row in here["nodes"].items():
        row["variables"] = {"fleet_partition": "p1" if node in ("g03", "g04") else "p2"}
    floors = [{"per": "fleet_partition", "percent": 80}]
    return here, {"failure_budget": 5, "capacity_floor_percent": 0, "capacity_floors": floors, **policy}


def test_the_floor_of_a_partition_is_kept_with_its_lost_nodes_out():
    here, policy = partitioned()
    answer = admission(here, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)
    assert "6 of 8 fleet_partition p1 would stay in service: 1 are out" in answer["reason"]
    assert (answer["code"], answer["wanted"]) == ("floor_broken", "at least 7 (capacity_floors 80 per fleet_partition)")


def test_a_loss_in_another_partition_breaks_no_floor():
    here, policy = partitioned()
    here["nodes"]["g04"]["variables"]["fleet_partition"] = "p2"
    assert admission(here, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)["admit"]


def test_a_floor_may_be_per_rack_which_a_plan_keeps_in_a_place_of_its_own():
    here = plan(groups={"fleet_rack": {"r1": {"fleet": 8, "out": 0, "at_target": []}}})
    for row in here["nodes"].values():
        row["rack"] = "r1"
    policy = {**POLICY, "failure_budget": 5, "capacity_floors": [{"per": "fleet_rack", "percent": 60}]}
    answer = admission(here, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)
    assert "3 of 8 fleet_rack r1 would stay in service" in answer["reason"]


NOW = datetime(2026, 12, 1, 12, tzinfo=timezone.utc)
NIGHTS = [{"days": ["sat"], "from": "22:00", "to": "23:00", "timezone": "UTC"}]


def at_noon(nodes, now=NOW, **more):
    return admission(plan(), nodes, 3, {**POLICY, "windows": NIGHTS}, now=now, **more)


def test_outside_of_the_windows_no_wave_begins():
    answer = at_noon(fleet(**DONE))
    assert answer["code"] == "window_closed"
    assert answer["reason"] == (
        "wave 3 is refused: it is Tue 2026-12-01 12:00 UTC, outside of every maintenance window")
    assert answer["wanted"] == "sat 22:00 to 23:00 UTC"
    assert "from Sat 2026-12-05 22:00 UTC on" in answer["fix"]


def test_within_a_window_a_wave_begins():
    assert at_noon(fleet(**DONE), now=NOW.replace(day=5, hour=22))["admit"]


def test_a_time_that_is_not_known_lies_in_no_window():
    assert at_noon(fleet(**DONE), now=None)["code"] == "window_closed"


@pytest.mark.parametrize("state", [s for s in ACTIVE if s not in ("planned", "admitted")])
def test_a_wave_that_has_begun_is_finished_after_its_window(state):
    assert at_noon(fleet(**DONE, g04=state))["admit"]


@pytest.mark.parametrize(("minutes", "admitted"), [(1, True), (11, False)])
def test_a_window_that_closes_while_the_hosts_of_a_wave_ask_does_not_split_the_wave(minutes, admitted):
    nodes = fleet(**DONE, g04="admitted")
    nodes["g04"]["updated_at"] = (NOW - timedelta(minutes=minutes)).isoformat()
    assert at_noon(nodes)["admit"] is admitted


def test_a_rollback_waits_for_no_window():
    assert at_noon(fleet(**DONE), rollback=True, waves=[[], [], ["g03"]])["admit"]


def refusals():
    """One refusal of each kind that is read from the ledger."""
    here, policy = partitioned()
    return [
        admission(plan(), fleet(g01="failed"), 2), admission(plan(), fleet(g01="planned"), 2),
        admission(plan(), fleet(**{**DONE, "g03": "failed"}), 3), at_noon(fleet(**DONE)),
        *(admission(plan(), fleet(**DONE), 3, standing=order(kind)) for kind in ("pause", "abort")),
        admission(here, fleet(**{**DONE, "g03": "quarantined"}), 3, policy)]


def test_each_refusal_has_its_code():
    found = {answer["code"] for answer in refusals()}
    assert found == set(CODES) - {"lease_lost", *ASKED}


def test_the_code_stands_in_the_message():
    error = Refused("budget_spent", "upgrade x", "wave 3 is refused: 1 node lost", "at most 0", "look")
    assert str(error) == "upgrade x: wave 3 is refused: 1 node lost [budget_spent]; wanted: at most 0; fix: look"
    assert error.code in CODES


@pytest.mark.parametrize("before", ["in_service", "quarantined", "failed", "inconclusive", "soaking"])
def test_a_rollback_may_begin_whatever_the_upgrade_did(before):
    nodes = fleet(**{**DONE, "g03": before})
    assert admission(plan(), nodes, 1, rollback=True, waves=[["g01"], ["g02", "g03"]])["admit"]


@pytest.mark.parametrize("state", ["quarantined", "rolling_back", "verifying_old", "in_service", "failed"])
def test_a_node_that_the_rollback_did_not_bring_back_halts_the_rollback(state):
    answer = admission(plan(), fleet(g01=state), 2, rollback=True, waves=[["g01"], ["g02", "g03"]])
    assert not answer["admit"]
    assert "was not brought back" in answer["lost"][0]["why"]


def test_a_restored_node_serves_and_does_not_count_against_the_floor():
    policy = {"failure_budget": 1, "capacity_floor_percent": 50}
    assert admission(plan(), fleet(**{**DONE, "g03": "restored"}), 3, policy)["admit"] is True


def test_a_rollback_goes_on_over_restored_nodes():
    assert admission(plan(), fleet(g01="restored"), 2, rollback=True, waves=[["g01"], ["g02", "g03"]])["admit"]


def test_a_long_list_of_lost_nodes_is_cut_in_the_sentence_and_whole_in_the_data():
    waves = [[f"n{i}" for i in range(9)], ["m1"]]
    nodes = {node: {"state": "failed", "reason": ""} for node in waves[0]} | {"m1": {"state": "planned", "reason": ""}}
    answer = admission(plan(waves, canaries=0), nodes, 2)
    assert "9 nodes lost (n0 failed, n1 failed, n2 failed, n3 failed, n4 failed and 4 more)" in answer["reason"]
    assert len(answer["lost"]) == 9


def everyone(state):
    return {node: {"state": state, "reason": "", "has_snapshot": True} for names in WAVES for node in names}


def test_a_rollout_is_clean_when_every_node_is_in_service():
    assert outcome(plan(), everyone("in_service")) == {
        "clean": True, "counts": {"in_service": 8}, "lost": [], "unfinished": []}


@pytest.mark.parametrize("state", sorted(LOST))
def test_the_last_wave_has_no_successor_so_the_end_looks_again(state):
    end = outcome(plan(), everyone("in_service") | {"g08": {"state": state, "reason": "dkms"}})
    assert not end["clean"]
    assert end["lost"] == [{"node": "g08", "state": state, "why": "dkms"}]
    assert end["counts"] == {"in_service": 7, state: 1}


@pytest.mark.parametrize("state", ["planned", "paused", *ACTIVE])
def test_a_node_that_is_not_at_an_end_makes_the_rollout_not_clean(state):
    end = outcome(plan(), everyone("in_service") | {"g08": {"state": state, "reason": ""}})
    assert (end["clean"], [row["node"] for row in end["unfinished"]], end["lost"]) == (False, ["g08"], [])


def test_a_node_that_an_operator_left_out_is_told_and_does_not_make_the_rollout_unclean():
    end = outcome(plan(), everyone("in_service") | {"g08": {"state": "skipped", "reason": "on loan"}})
    assert end == {"clean": True, "counts": {"in_service": 7, "skipped": 1}, "lost": [], "unfinished": []}


def test_a_node_without_a_record_is_lost_at_the_end():
    nodes = everyone("in_service")
    del nodes["g08"]
    assert [row["node"] for row in outcome(plan(), nodes)["lost"]] == ["g08"]


def test_a_rollback_is_clean_when_every_node_that_was_to_come_back_is_restored():
    nodes = everyone("in_service") | {"g07": {"state": "restored", "reason": ""}}
    assert outcome(plan(), nodes, back={"g07"})["clean"]
    assert not outcome(plan(), nodes)["clean"]


def test_a_rollback_is_not_clean_while_one_of_its_nodes_is_not_back():
    nodes = everyone("restored") | {"g07": {"state": "quarantined", "reason": "apt"}}
    assert [row["node"] for row in outcome(plan(), nodes, back=set(nodes))["lost"]] == ["g07"]


def test_an_empty_plan_is_a_clean_rollout():
    assert outcome(plan([]), {}) == {"clean": True, "counts": {}, "lost": [], "unfinished": []}


FIRING = ("alert_firing", "alert gate hot is firing: GpuHot", "no alert at this gate", "see to it")
GATED = {**POLICY, "alert_gates": [{"name": "hot"}]}


class Gates:
    """Alert gates that count how often they are asked."""

    def __init__(self, says=None):
        self.says, self.times = says, 0

    def __call__(self):
        self.times += 1
        return self.says


def test_a_firing_alert_refuses_the_wave_with_its_code():
    answer = admission(plan(), fleet(**DONE), 3, GATED, alerts=Gates(FIRING))
    assert (answer["admit"], answer["code"], answer["fix"]) == (False, "alert_firing", "see to it")
    assert answer["reason"] == "wave 3 is refused: alert gate hot is firing: GpuHot"


def test_a_wave_whose_gates_pass_is_admitted_after_one_question():
    gates = Gates()
    assert admission(plan(), fleet(**DONE), 3, GATED, alerts=gates)["admit"]
    assert gates.times == 1


@pytest.mark.parametrize(
    ("states", "policy", "rollback"),
    [
        ({"g03": "failed"}, GATED, False),
        ({}, POLICY, False),
        ({}, GATED, True),
        (dict.fromkeys(WAVES[2], "activating"), GATED, False),
    ],
    ids=["refused already", "no gates", "a rollback", "every node half way"],
)
def test_nobody_is_asked_where_the_answer_would_change_nothing(states, policy, rollback):
    gates = Gates(FIRING)
    admission(plan(), fleet(**{**DONE, **states}), 3, policy, rollback, alerts=gates)
    assert gates.times == 0


@pytest.mark.parametrize("state", ["planned", "admitted"])
def test_a_wave_that_is_partly_half_way_is_asked_for_since_the_other_nodes_are_untouched(state):
    states = {**dict.fromkeys(WAVES[2], "activating"), "g05": state}
    assert not admission(plan(), fleet(**{**DONE, **states}), 3, GATED, alerts=Gates(FIRING))["admit"]


def test_gates_that_nobody_asked_do_not_pass():
    assert admission(plan(), fleet(**DONE), 3, GATED)["code"] == "alert_unknown"
