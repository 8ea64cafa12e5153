# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator reads in a terminal: the verdict first, unknown said as unknown, a way on for each trouble."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.gate import outcome
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import timeline, words
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.policy import rule_rows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import table

OLD, NEW = {"rocm": "6.4.4", "driver": "6.4.4"}, {"rocm": "7.0.2", "driver": "30.10.2"}


def make_plan(nodes=("g01", "g02", "g10"), **more):
    return {
        "schema": 1, "plan_id": "0123456789ab", "created_at": "2026-12-01T04:30:00Z", "target_name": "rocm-7.0.2",
        "policy": {"failure_budget": 0, "capacity_floor_percent": 75, "soak_seconds": 60}, "eta_seconds": 3900,
        "nodes": {n: {"product": "MI300X", "rack": "r1", "wave": 1, "steps": ["kernel", "rocm", "reboot"],
                      "reboot": True, "from": OLD, "to": NEW,
                      "rollback": {"ready": True, "why": []}, "point_of_no_return": None}
                  for n in nodes},
        "waves": [{"number": 1, "kind": "canary", "domain": "r1", "nodes": list(nodes)}] if nodes else [],
        "at_target": [], "excluded": [], **more}


def make_nodes(plan, **states):
    return {n: {"wave": 1, "state": states.get(n, "in_service"), "reason": f"why {n}" if n in states else "",
                "updated_at": "2026-12-01T05:00:00.000Z", "has_snapshot": True} for n in plan["nodes"]}


def make_record(node="g01", **more):
    return {"node": node, "rack": "r1", "product": "MI300X", "gpu_count": 8, "expected_gpu_count": 8, **OLD,
            "target": NEW, "class": "may_move", "findings": [], "steps": ["rocm", "reboot"],
            "rollback": {"ready": True, "why": []}, **more}


def make_finding(verdict="fail", **more):
    return {"rule": "link.speed", "subject": "0000:63:00.0", "verdict": verdict, "expected": "32.0 GT/s",
            "observed": "16.0 GT/s", "why": "", "fix": "reseat the riser", **more}


def event(state, at, node="g01", kind="outcome", reason="", data=None, action=None, number=1):
    return {"id": number, "at": f"2026-12-01T04:{at}.000Z", "epoch": 1, "node": node, "kind": kind, "state": state,
            "action": action, "reason": reason, "data": data or {}, "prev_hash": "", "hash": ""}


STORY = [
    event("admitted", "30:00", action="resume"), event("draining", "30:10", kind="intent"), event("drained", "32:10"),
    event("snapshotted", "32:12", data={"snapshot": {"big": 1}}),
    event("changing", "32:15", kind="intent", reason="ROCm"),
    event("failed", "36:15", reason="dkms_build_failed"), event("rolling_back", "36:20", kind="intent"),
    event("verifying_old", "38:20", kind="intent"), event("restored", "38:30", reason="automatic")]


def test_the_audit_says_first_how_many_nodes_are_fit():
    text = report.audit_report({"g01": make_record(), "g02": make_record("g02", **{"class": "blocked"})})
    assert text.startswith("Audit of 2 nodes: 1 may move, 1 blocked.\n")


def test_the_audit_tells_products_apart_where_there_are_several():
    summary = {"products": {"MI210": {"blocked": 1}, "MI300X": {"may_move": 4, "at_target": 1}}}
    text = report.audit_report([make_record()], summary)
    assert "  MI210: 1 blocked\n  MI300X: 4 may move, 1 at target\n" in text


def test_the_audit_takes_records_as_a_list_and_sorts_nodes_as_people_do():
    text = report.audit_report([make_record(n) for n in ("g10", "g2", "g1")])
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["g1", "g2", "g10"]


def test_what_could_not_be_read_is_said_and_is_not_zero():
    row = make_record(rocm=None, driver=None, gpu_count=None, product=None, **{"class": "unknown"})
    line = report.audit_report([row]).splitlines()[3]
    assert "?/8" in line
    assert line.count("unknown") >= 3
    assert "None" not in line


def test_a_node_that_may_move_but_has_no_way_back_says_so_in_its_row():
    text = report.audit_report([make_record(rollback={"ready": False, "why": ["6.4.4 is gone"]})], width=200)
    assert "rocm, reboot; no way back: 6.4.4 is gone" in text


@pytest.mark.parametrize("kind, told", [
    ("unknown", "driver.loaded: could not"), ("unhealthy", "link.width: x8"), ("blocked", "disk.free: 0.1"),
    ("other", "rocm.active: 6.4.4")])
def test_the_row_of_a_node_says_what_made_it_be_of_its_class(kind, told):
    rows = (("rocm.active", "fail", "compliance", "6.4.4"), ("aspm", "fail", "health", "on"),
            ("link.width", "fail", "health", "x8"), ("disk.free", "fail", "transition", "0.1"),
            ("driver.loaded", "unknown", "compliance", "could not be read"))
    findings = [make_finding(verdict, rule=rule, area=area, observed=seen) for rule, verdict, area, seen in rows]
    text = report.audit_report([make_record(findings=findings, **{"class": kind})], width=200)
    assert told in text.splitlines()[3]
    assert "(and 4 more)" in text.splitlines()[3]


def test_equal_findings_are_told_once_with_their_nodes_and_fix():
    rows = [make_record(f"g{i}", findings=[make_finding()], **{"class": "unhealthy"}) for i in range(20)]
    text = report.audit_report(rows, width=300).split("fail (1)")[1]
    assert text.count("reseat the riser") == 1
    assert "g0, g1, g2" in text
    assert "and 8 more" in text


def test_warnings_come_after_failures_and_passes_not_at_all():
    findings = [make_finding("warn", rule="w"), make_finding("pass", rule="p"), make_finding("fail", rule="f")]
    text = report.audit_report([make_record(findings=findings)])
    assert text.index("fail (1)") < text.index("warn (1)")
    assert "  p: " not in text


def test_an_audit_of_nothing_is_not_a_good_audit():
    assert "nothing can be said" in report.audit_report({}, {})


def test_the_plan_shows_waves_changes_and_how_long():
    text = report.plan_report(make_plan())
    assert text.startswith("Plan 0123456789ab to rocm-7.0.2: 3 nodes in 1 wave, about 1 h 5 min.")
    for part in ("canary", "g01, g02, g10", "6.4.4 -> 7.0.2 / 30.10.2", "kernel, rocm, reboot", "failure_budget 0"):
        assert part in text
    assert "No way back" not in text


def test_the_plan_shows_who_is_left_out_who_cannot_go_back_and_from_where():
    plan = make_plan(excluded=[{"node": "g09", "why": "blocked: os"}], fleet={"MI300X": 4}, out={"MI300X": 1})
    plan["nodes"]["g02"].update(rollback={"ready": False, "why": ["6.4.4 is gone"]}, point_of_no_return="rocm")
    text = report.plan_report(plan)
    assert "blocked: os  1      g09" in text
    for part in ("Left out (1)", "g02: 6.4.4 is gone", "g02: after rocm", "MI300X: 4 nodes, 1 out"):
        assert part in text


LONG = {
    "failure_domains": [{"variable": "fleet_rack", "at_once": 2}, {"variable": "fleet_feed"},
                        {"variable": "fleet_leaf", "at_once": None}],
    "capacity_floors": [{"per": "fleet_feed", "percent": 50}], "growth": {"kind": "linear", "step": 4},
    "order": ["login*", "g*"], "skip": "fleet_skip",
    "windows": [{"days": ["sat"], "from": "22:00", "to": "06:00"}],
    "alert_gates": [{"name": "hot", "prometheus": "https://p:9090", "query": "ALERTS"},
                    {"name": "disk", "command": ["/bin/quiet", "-x"]}]}


def long_plan(nodes=("g01", "g02"), **more):
    plan = make_plan(nodes, policy=load_policy(LONG), fleet={"MI300X": 4}, out={"MI300X": 0}, **more)
    for row in plan["nodes"].values():
        row["variables"] = {"fleet_feed": "A", "fleet_leaf": "l1"}
    plan["groups"] = {"fleet_feed": {"A": {"fleet": 4, "out": 0, "at_target": []}}}
    for wave in plan["waves"]:
        wave["domains"] = {"fleet_rack": ["r1", "r2", "r3", "r4", "r5"], "fleet_feed": ["A"], "fleet_leaf": ["l1"]}
    return plan


FLASH = {"component": "bios", "from": "3.2", "to": "3.4", "activation": "ac_cycle", "lowest": "3.0", "back": True}
ITEM = {"attribute": "SMTControl", "from": "Disabled", "to": "Enabled"}


def test_the_plan_says_before_the_start_what_is_flashed_and_that_it_stays():
    plan = make_plan()
    plan["nodes"]["g02"].update(firmware=[FLASH], bios=[ITEM], point_of_no_return="firmware")
    text = report.plan_report(plan, width=200)
    assert "bios 3.2 -> 3.4 (ac_cycle)" in text
    assert "SMTControl Disabled -> Enabled" in text
    assert "after firmware: no snapshot takes firmware back (bios 3.2: the BMC takes 3.0 and newer" in text


@pytest.mark.parametrize("part", [
    "wave  kind    fleet_rack             fleet_feed  fleet_leaf  nodes  who", "r1, r2, r3 and 2 more  A ",
    "capacity_floors: 50 percent of the nodes of each value of fleet_feed stay in service",
    "fleet_rack: nodes of 2 values of it", "fleet_feed: nodes of 1 value of it", "fleet_leaf: nodes of any number",
    "growth: linear, the first after the canaries 1 node, then each 4 more, 32 at most; 1 node of each product",
    "order: by the patterns login*, g*, then the rest", "host variable fleet_skip are left out",
    "windows sat 22:00 to 06:00 UTC: no wave begins outside of them; the next opens Sat 2026-12-05 22:00 UTC",
    "alert gate hot: asked before each wave: ALERTS at https://p:9090", "alert gate disk: asked before each wave: /bin",
    "1 wave; no schedule of these rules has fewer."])
def test_the_plan_says_each_rule_of_its_policy(part):
    assert part in report.plan_report(long_plan(), width=200, now=datetime(2026, 12, 1, 12, tzinfo=timezone.utc))


@pytest.mark.parametrize("growth, told", [
    (3, "each wave at most 3 times the one before, 8 nodes at most"),
    ({"kind": "fixed", "size": 9}, "fixed, waves of 8 nodes at most"),
    ({"kind": "exponential", "factor": 1.5, "first": 2}, "exponential, the first after the canaries 2 nodes, then "
     "each 1.5 times as many, 8 at most")])
def test_every_kind_of_growth_has_its_words(growth, told):
    rows = dict(rule_rows(load_policy({"growth": growth, "max_wave": 8, "canaries_per_product": 0})))
    assert rows["growth"] == f"{told}; no canaries"


def test_a_window_that_is_open_is_said_to_be():
    rows = dict(rule_rows(load_policy(LONG), datetime(2026, 12, 5, 23, tzinfo=timezone.utc)))
    assert rows["windows sat 22:00 to 06:00 UTC"].endswith(
        "one is open now, the next opens Sat 2026-12-12 22:00 UTC")


def test_without_domains_a_wave_may_stand_anywhere():
    assert ("failure domain", "none: nodes of a wave may stand anywhere") in rule_rows(
        load_policy({"failure_domain": "none"}))


def test_more_waves_than_the_least_are_told_with_the_least():
    plan = long_plan()
    plan["fleet"] = {"MI300X": 8}
    plan["waves"] = [{**plan["waves"][0], "number": n, "nodes": [node]} for n, node in enumerate(plan["nodes"], 1)]
    assert "2 waves; no schedule of these rules needs fewer than 1, canaries and growth" in report.plan_report(plan)


@pytest.mark.parametrize("source, p90, told", [
    ("typical", None, "about 1 h; by typical times: too little was measured"),
    ("earlier rollouts", 5400, "about 1 h, 1 h 30 min if each step takes as long as one in ten did; by what 7 "
     "nodes took"),
    ("both", 5400, "in earlier rollouts, and by typical times for the rest")])
def test_the_estimate_says_where_it_comes_from(source, p90, told):
    eta = {"seconds": 3600, "p90_seconds": p90, "samples": 7, "source": source, "waves": [3600]}
    assert told in report.plan_report(make_plan(eta=eta), width=200)


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_no_line_of_a_plan_is_wider_than_the_terminal_and_nothing_is_lost_on_a_narrow_one(width):
    plan = long_plan([f"g{n:02}" for n in range(30)], excluded=[{"node": "x1", "why": "skipped: " + "word " * 20}])
    text = report.plan_report(plan, width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert text.count("g29") == 1
    assert "\x1b" not in text


def test_nodes_that_are_left_out_for_the_same_reason_are_told_together():
    rows = [{"node": f"x{n}", "why": "skipped by fleet_skip: fans"} for n in range(3)]
    assert "skipped by fleet_skip: fans  3      x0, x1, x2" in report.plan_report(make_plan(excluded=rows))


def test_a_way_back_that_is_not_known_is_no_way_back():
    plan = make_plan(["g01"])
    plan["nodes"]["g01"]["rollback"] = None
    assert "it is not known whether there is one" in report.plan_report(plan)


def test_a_plan_with_nothing_to_do_says_so():
    assert "nothing to do. 1 node at target already." in report.plan_report(make_plan([], at_target=["g01"]))


@pytest.mark.parametrize("states, word", [
    ({}, "CLEAN. 3 nodes: 3 in service"), ({"g02": "restored"}, "NOT CLEAN, 1 lost"),
    ({"g02": "planned"}, "NOT FINISHED, 1 unfinished"), ({"g02": "soaking", "g10": "failed"}, "1 lost, 1 unfinished")])
def test_the_rollout_report_gives_its_verdict_first(states, word):
    plan = make_plan()
    nodes = make_nodes(plan, **states)
    assert word in report.rollout_report(plan, nodes, outcome(plan, nodes), width=300).splitlines()[0]


def test_a_rollout_that_was_rolled_back_whole_is_not_called_clean_but_rolled_back():
    plan = make_plan()
    nodes = make_nodes(plan, g01="restored", g02="restored", g10="restored")
    text = report.rollout_report(plan, nodes, outcome(plan, nodes, back=plan["nodes"]), width=300)
    assert "ROLLED BACK. 3 nodes: 3 restored." in text
    assert "What to do" not in text


@pytest.mark.parametrize("state", sorted({*words.NEXT_STEP, "activating"} - {"planned", "skipped", "unknown"}))
def test_every_trouble_comes_with_its_reason_and_a_way_on(state):
    plan = make_plan()
    nodes = make_nodes(plan, g02=state)
    text = report.rollout_report(plan, nodes, outcome(plan, nodes), width=300)
    assert f"g02 ({state}): why g02 -- what to do: {words.next_step(state)}" in text


def test_a_node_that_an_operator_left_out_is_told_and_is_no_trouble():
    plan = make_plan()
    nodes = make_nodes(plan, g01="in_service", g02="skipped", g10="in_service")
    text = report.rollout_report(plan, nodes, outcome(plan, nodes), width=300)
    assert "CLEAN. 3 nodes: 2 in service, 1 skipped." in text
    assert "why g02" in text
    assert "What to do" not in text


def test_a_node_that_the_ledger_does_not_know_is_shown_as_unknown():
    plan = make_plan()
    nodes = make_nodes(plan)
    del nodes["g10"]
    assert "g10 (unknown): the ledger has no record of it" in report.rollout_report(plan, nodes, outcome(plan, nodes))


def test_an_empty_rollout_is_nothing_to_do():
    plan = make_plan([])
    assert report.rollout_report(plan, {}, outcome(plan, {})).endswith("nothing to do.\n")


PROGRESS = {"in_service": 1, "nodes": 3, "waves_done": 0, "waves": 1, "begun_seconds": 4000, "left_seconds": 1500}


@pytest.mark.parametrize("factor, told", [
    (1.34, "as the waves so far took 1.3 times the estimate."), (None, "by the plan's estimate.")])
def test_an_unfinished_rollout_says_how_far_it_has_come_and_what_is_left(factor, told):
    plan = make_plan()
    nodes = make_nodes(plan, g02="draining", g10="planned")
    done = {**PROGRESS, "factor": factor}
    text = report.rollout_report(plan, nodes, outcome(plan, nodes), width=300, progress=done)
    assert text.splitlines()[1] == (
        "Progress: 1 of 3 nodes in service, 0 of 1 wave done, begun 1 h 6 min ago; about 25 min of work left, " + told)


@pytest.mark.parametrize("states", [{}, {"g02": "failed"}])
def test_a_rollout_with_nothing_left_to_do_tells_no_progress(states):
    plan = make_plan()
    nodes = make_nodes(plan, **states)
    text = report.rollout_report(plan, nodes, outcome(plan, nodes), progress={**PROGRESS, "factor": None})
    assert "Progress" not in text


def test_the_story_is_in_the_order_of_time_with_the_time_between():
    text = report.story(STORY)
    assert text.startswith("Story of g01: restored after 8 min 30 s")
    assert "2026-12-01 04:36:15  4 min" in text
    assert "Time spent: draining 2 min, changing 4 min, rolling_back 2 min, verifying_old 10 s" in text
    assert "What to do: it runs what it ran before" in text


def test_a_story_that_ends_with_an_intent_says_that_no_outcome_was_written():
    assert "no outcome was written" in report.story(STORY[:5])
    assert "no outcome was written" not in report.story(STORY)


def test_a_story_of_nothing_and_a_story_of_the_rollout():
    assert report.story([]).startswith("No events")
    begun = event(None, "30:00", node=None, kind="note", reason="begun")
    assert report.story([begun]).startswith("Story of the rollout")


def test_a_resume_is_told_but_not_for_the_first_admission():
    again = [STORY[0], STORY[1], event("admitted", "40:00", action="resume")]
    assert report.story(again).count("asked for: resume") == 1


def test_the_cause_is_what_went_wrong_first_in_the_last_try():
    assert timeline.cause(STORY) == "dkms_build_failed"
    assert timeline.cause([*STORY, event("admitted", "50:00", action="retry")]) == (
        "the last word was admitted, at 2026-12-01 04:50:00 UTC")
    assert timeline.cause([]) == ""


def test_a_clock_that_was_put_back_gives_no_negative_times():
    assert timeline.phases([event("draining", "30:10"), event("drained", "30:05")]) == {"draining": 0.0}


@pytest.mark.parametrize("seconds, text", [
    (0, "0 s"), (59.4, "59 s"), (60, "1 min"), (185, "3 min 5 s"), (3600, "1 h"), (7800, "2 h 10 min"),
    (90000, "1 d 1 h"), (None, "unknown")])
def test_durations_are_said_in_words(seconds, text):
    assert words.duration(seconds) == text


def test_the_last_column_wraps_and_no_line_is_wider_than_the_terminal():
    text = table(("node", "why"), [["g01", "word " * 60], ["g02", "x" * 200]], width=60)
    assert max(len(line) for line in text.splitlines()) <= 60
    assert "".join(text.split("g02")[1].split()) == "x" * 200


def test_colours_only_when_asked_for_and_the_columns_stay_in_line():
    plan = make_plan()
    nodes = make_nodes(plan, g02="failed")
    plain, painted = (report.rollout_report(plan, nodes, outcome(plan, nodes), colour=c) for c in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[31mfailed" in painted


@pytest.mark.parametrize("evil", ["\x1b]0;title\x07", "\x1b[2J", "line\nbreak", "\x9b31m"])
def test_what_a_node_says_cannot_drive_the_terminal(evil):
    plan = make_plan()
    nodes = make_nodes(plan, g02="failed")
    nodes["g02"]["reason"] = evil
    record = make_record(findings=[make_finding(observed=evil)])
    for text in (report.rollout_report(plan, nodes, outcome(plan, nodes)), report.audit_report([record]),
                 report.story([event("failed", "30:00", reason=evil)])):
        assert evil not in text
        assert "\x1b" not in text


def test_each_of_a_thousand_nodes_is_told():
    plan = make_plan([f"g{i:04}" for i in range(1000)])
    nodes = make_nodes(plan)
    told = report.rollout_report(plan, nodes, outcome(plan, nodes))
    assert all(f"\n{node} " in told for node in plan["nodes"])
    assert "g0999" in report.audit_report([make_record(n, findings=[make_finding()]) for n in plan["nodes"]])


def test_the_document_for_machines_carries_the_verdict_and_the_seconds_of_each_node():
    plan = make_plan(["g01"])
    nodes = make_nodes(plan, g01="restored")
    found = json.loads(json.dumps(report.as_json(plan, nodes, STORY, outcome(plan, nodes))))
    assert (found["schema"], found["clean"], found["outcome"]["lost"][0]["node"]) == (1, False, "g01")
    assert found["nodes"]["g01"]["phases"]["changing"] == 240
    assert found["nodes"]["g01"]["seconds"] == 510
    assert (found["waves"][0]["restored"], found["waves"][0]["lost"]) == (1, 0)


def test_the_result_file_tells_which_wave_was_refused_and_by_which_code():
    plan = make_plan()
    nodes = make_nodes(plan, g01="failed")
    note = {"id": 9, "at": "2026-12-01T05:09:00.000Z", "node": None, "kind": "note", "state": None, "action": None,
            "reason": "wave 2 is refused: 1 node lost", "data": {"code": "budget_spent", "wave": 2, "lost": ["g01"]}}
    found = report.as_json(plan, nodes, [note], outcome(plan, nodes))["refusals"]
    assert found == [{"at": note["at"], "wave": 2, "code": "budget_spent", "lost": ["g01"], "reason": note["reason"]}]
