# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: one file that loads nothing, runs nothing, and believes nothing of what a node says."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.gate import outcome
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy

EVIL = "<script>alert('1')</script>\"><img src=x onerror=alert(1)>"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, attributes and text of a page, and whether every tag is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.said = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.said).split())


def event(number, node, state, seconds, reason="", kind="outcome"):
    at = f"2026-12-01T{4 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"
    return {"id": number, "at": at, "epoch": 1, "node": node, "kind": kind, "state": state, "action": None,
            "reason": reason, "data": {}, "prev_hash": "", "hash": ""}


def make(names=("g01", "g02"), states=None, reason="", events_each=2, evil=""):
    states = states or {}
    release = {"rocm": "6.4.4" + evil, "driver": "6.4.4"}
    plan = {"plan_id": "0123456789ab", "target_name": "t" + evil, "created_at": "2026-12-01T04:00:00Z" + evil,
            "policy": {"failure_budget": 0, "note": evil}, "inputs": {"target": {"path": "t.yml" + evil}},
            "nodes": {n: {"product": "MI300X" + evil, "rack": "r1" + evil, "wave": 1, "from": release, "to": release}
                      for n in names},
            "waves": [{"number": 1, "kind": "canary" + evil, "domain": "r1", "nodes": list(names)}] if names else [],
            "at_target": ["a" + evil], "excluded": [{"node": "g99" + evil, "why": "blocked" + evil}]}
    nodes = {n: {"state": states.get(n, "in_service"), "reason": reason + evil, "updated_at": None} for n in names}
    path = ["draining", "drained", "snapshotted", "changing", "activating", "booted", "verifying", "soaking"] * 3
    events = [event(i, n, path[i], i * 10, reason + evil) for n in names for i in range(events_each)]
    return plan, nodes, [event(0, None, None, 0, "begun" + evil, "note"), *events]


def render(records=None, **kwargs):
    plan, nodes, events = make(**kwargs)
    return report.html(plan, nodes, events, records, outcome(plan, nodes))


def test_the_page_is_well_formed_and_begins_with_the_verdict():
    page = Page(render())
    assert page.open == []
    assert "Rollout 0123456789ab to t: CLEAN. 2 nodes: 2 in service." in page.text


def test_the_page_needs_no_script_and_loads_nothing():
    text = render()
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?://|url\(|@import", text)
    assert {value for name, value in page.attributes if name in ("src", "href")} == {"#node-g01", "#node-g02"}


def test_the_page_follows_the_readers_light_or_dark_and_can_be_printed():
    text = render()
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_every_value_is_escaped_wherever_it_comes_from():
    finding = dict.fromkeys(("rule", "subject", "expected", "observed", "fix"), "x" + EVIL) | {"verdict": "fail"}
    record = {"node": "g01", "rocm": EVIL, "driver": EVIL, "findings": [finding]}
    page = Page(render([record], evil=EVIL, states={"g01": "failed"}))
    assert not {"script", "img"} & set(page.tags)
    assert not [name for name, _value in page.attributes if name.startswith("on")]
    assert page.text.count("alert('1')") > 20


def test_a_node_with_an_evil_name_stays_a_name():
    page = Page(render(names=("g01" + EVIL,)))
    assert not {"script", "img"} & set(page.tags)


@pytest.mark.parametrize("state, step", [
    ("failed", "roll it back"), ("quarantined", "keep it out of service"), ("inconclusive", "look at the node by hand"),
    ("activating", "never came back")])
def test_each_trouble_has_its_reason_and_what_to_do(state, step):
    text = Page(render(states={"g02": state}, reason="dkms_build_failed", events_each=0)).text
    assert "What needs a person" in text
    assert "dkms_build_failed" in text
    assert step in text


def test_a_lost_node_shows_its_story_at_once_and_the_others_on_demand():
    text = render(states={"g02": "quarantined"})
    assert re.search(r'<details id="node-g02" open>', text)
    assert re.search(r'<details id="node-g01">', text)


def test_the_time_in_each_phase_is_shown():
    assert "1 min 10 s" in Page(render(events_each=8)).text


def test_the_findings_of_the_last_audit_are_part_of_a_nodes_story():
    record = {"node": "g01", "rocm": None, "driver": None,
              "findings": [{"rule": "link.speed", "verdict": "fail", "expected": "32", "observed": None}]}
    text = Page(render({"g01": record})).text
    assert "link.speed" in text
    assert "unknown, wanted 32" in text


def test_an_empty_rollout_has_a_page_too():
    page = Page(render(names=()))
    assert "nothing to do" in page.text
    assert page.open == []


def test_each_of_a_thousand_nodes_has_its_story_on_the_page():
    plan, nodes, events = make([f"g{i:04}" for i in range(1000)], events_each=10)
    end = outcome(plan, nodes)
    page = report.html(plan, nodes, events, None, end)
    assert page.count("<details") == 1000


def test_the_rules_of_the_plan_and_where_each_wave_stands_are_on_the_page():
    policy = load_policy({"failure_domains": [{"variable": "fleet_feed"}], "alert_gates": [
        {"name": "<hot>", "command": ["/bin/quiet"]}]})
    plan, nodes, events = make()
    plan = {**plan, "policy": policy, "fleet": {"MI300X": 8}, "out": {"MI300X": 0}}
    plan["waves"][0]["domains"] = {"fleet_feed": ["A<b>"]}
    page = Page(report.html(plan, nodes, events, None, outcome(plan, nodes)))
    for part in ("fleet_feed A<b>", "fleet_feed: nodes of 1 value of it", "alert gate <hot>", "no schedule of these"):
        assert part in page.text
