# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One result of an audit, whatever is shown of it: counts, versions and rules, in an order that does not change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import summarise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model, worst_by_rule
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    change,
    facts,
    write_target,
)

CATALOG = load_catalog()
SCHEMAS = Path(__file__).parents[4] / "docs" / "schemas"


def errors(value):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in requirements-dev/tests.txt")
    referencing = pytest.importorskip("referencing", reason="comes with jsonschema")
    schemas = {name: json.loads((SCHEMAS / name).read_text("utf-8")) for name in ("audit.json", "record.json")}
    resources = [(name, referencing.Resource.from_contents(schema)) for name, schema in schemas.items()]
    registry = referencing.Registry().with_resources(resources)
    validator = jsonschema.Draft202012Validator(schemas["audit.json"], registry=registry)
    return [f"{error.json_path}: {error.message:.200}" for error in validator.iter_errors(value)]


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    return load_target(write_target(tmp_path_factory.mktemp("model")), CATALOG)


@pytest.fixture(name="seen", scope="module")
def _seen():
    """Facts of four nodes; g4 does not answer."""
    slow = change(facts("g2"), "gpus.0.link.0.speed_gts", 16.0)
    return {"g1": facts("g1"), "g2": change(slow, "gpus.1.vbios", "113-M3000100-103"), "g10": facts("g10", NEW)}


@pytest.fixture(name="records", scope="module")
def _records(seen, target):
    judged = {
        node: judge(told, target, CATALOG, node, "r1", "run", f"2026-12-01T04:3{number}:00Z")
        for number, (node, told) in enumerate(seen.items())
    }
    return {**judged, "g4": unreachable_record("g4", "no route to host", "r2", "run", "2026-12-01T05:00:00Z", "MI300X")}


@pytest.fixture(name="result", scope="module")
def _result(records, seen):
    return model(records, summarise(records, records), "sha256:0", "rocm-7.0.2", seen)


def rule(result, name):
    return next(row for row in result["rules"] if row["rule"] == name)


def values(result, key):
    return [(row["value"], row["nodes"]) for row in result["distributions"][key]]


def test_nodes_are_in_the_order_that_people_sort_them(result):
    assert list(result["records"]) == list(result["versions"]) == ["g1", "g2", "g4", "g10"]


def test_the_result_does_not_depend_on_the_order_of_the_records(records, seen, result):
    turned = dict(reversed(records.items()))
    again = model(turned, result["summary"], "sha256:0", "rocm-7.0.2", dict(reversed(seen.items())))
    assert json.dumps(again) == json.dumps(result)


def test_classes_are_counted_over_the_fleet_and_by_product_and_rack(result):
    assert result["counts"]["class"] == {"unknown": 1, "unhealthy": 1, "may_move": 1, "at_target": 1}
    assert result["counts"]["product"] == {"MI300X": result["counts"]["class"]}
    assert result["counts"]["rack"]["r2"] == {"unknown": 1}


def test_a_version_that_nobody_could_read_is_counted_as_that_and_comes_last(result):
    assert values(result, "rocm") == [("6.4.4", 2), ("7.0.2", 1), (None, 1)]
    assert values(result, "kernel") == [("6.1.0-40-amd64", 3), (None, 1)]
    assert values(result, "os") == [("debian 12", 3), (None, 1)]


def test_a_node_with_two_vbios_is_counted_for_each_with_its_gpus(result):
    rows = [(row["value"], row["nodes"], row["gpus"]) for row in result["distributions"]["firmware"]["vbios"]]
    assert rows == [("113-M3000100-102", 3, 23), ("113-M3000100-103", 1, 1), (None, 1, 0)]


def test_without_facts_versions_are_unknown_and_those_of_records_are_told(records):
    result = model(records, {})
    assert values(result, "kernel") == [(None, 4)]
    assert values(result, "driver")[0] == ("6.4.4", 2)


def test_each_node_is_asked_for_its_facts_once(records, seen):
    class Lazy(Mapping):
        asked = []

        def __getitem__(self, node):
            self.asked.append(node)
            return seen[node]

        def __iter__(self):
            return iter(seen)

        def __len__(self):
            return len(seen)

    model(records, {}, facts=Lazy())
    assert sorted(Lazy.asked) == ["g1", "g10", "g2", "g4"]


def test_a_rule_counts_nodes_by_their_worst_verdict(result):
    assert {k: n for k, n in rule(result, "link.speed")["nodes"].items() if n} == {"fail": 1, "pass": 2, "none": 1}
    assert rule(result, "node.reachable")["nodes"]["unknown"] == 1


def test_a_rule_that_said_nothing_about_a_node_has_not_passed_it(result, records):
    assert worst_by_rule(records["g4"]) == {"node.reachable": "unknown"}
    assert "sysctl" not in worst_by_rule(records["g1"])
    assert rule(result, "sysctl")["nodes"]["pass"] == 0


def test_a_rule_that_another_version_of_the_collection_had_is_still_told(records):
    finding = {**records["g4"]["findings"][0], "rule": "a.newer.rule", "area": "transition"}
    row = model([{**records["g1"], "findings": [finding]}], {})["rules"][-1]
    assert (row["rule"], row["area"], row["nodes"]["unknown"]) == ("a.newer.rule", "transition", 1)


@pytest.mark.parametrize("policy, deciding", [(None, False), ({"strict": False}, False), ({"strict": True}, True)])
def test_a_policy_may_make_advice_decide(records, monkeypatch, policy, deciding):
    advice = SimpleNamespace(id="advice", area="health", deciding=False, decides_by="strict")
    monkeypatch.setattr(report.model, "RULES", [advice])
    assert rule(model(records, {}, policy=policy), "advice")["deciding"] is deciding


@pytest.mark.parametrize("name", ["node.reachable", "node.facts"])
def test_a_node_whose_facts_were_judged_has_answered(result, name):
    assert rule(result, name)["nodes"]["pass"] == 3


def test_what_could_not_be_read_is_told_with_its_reason_once(records, seen):
    row = {"subset": "link", "subject": "gpus.0.link", "reason": "Permission denied"}
    told = model(records, {}, facts={"g1": {**seen["g1"], "problems": [row, row, {**row, "subject": "log"}]}})
    assert told["unread"] == {"g1": ["gpus.0.link: Permission denied", "log: Permission denied"]}


def test_of_very_many_reasons_the_first_are_told(records, seen):
    rows = [{"subset": "link", "subject": f"hop {number}", "reason": "gone"} for number in range(90)]
    told = model(records, {}, facts={"g1": {**seen["g1"], "problems": rows}})["unread"]["g1"]
    assert told[39:] == ["hop 39: gone", "and 50 more"]


def test_when_the_fleet_was_looked_at(result):
    assert result["gathered"] == {"first": "2026-12-01T04:30:00Z", "last": "2026-12-01T05:00:00Z"}


def test_an_audit_of_nothing_is_a_result_too():
    assert model({}, {})["counts"]["class"] == {}


def test_the_json_form_is_the_result_itself(result):
    assert json.loads(report.render(result, "json")) == result


def test_the_table_is_a_form_of_the_result_and_tells_which_versions_there_are(result):
    text = report.render(result, "table")
    assert text.startswith("Audit of 4 nodes: 1 may move, 1 at target, 1 unhealthy, 1 unknown.\n")
    assert "Versions (nodes)\n  driver: 6.4.4 (2), 30.10.2 (1), unknown (1)\n" in text
    assert "  VBIOS: 113-M3000100-102 (3), 113-M3000100-103 (1), unknown (1)\n" in text


def test_the_table_tells_the_first_findings_and_how_many_more_there_are(records):
    many = [{**records["g4"]["findings"][0], "observed": f"reason {number}"} for number in range(250)]
    text = report.render(model([{**records["g4"], "findings": many}], {}), "table")
    assert "unknown (250)\n" in text
    assert text.endswith("\n  and 150 more\n")


def test_the_table_has_colours_only_where_they_are_asked_for(result):
    assert "\x1b" not in report.render(result, "table")
    assert "\x1b[" in report.render(result, "table", colour=True)


def test_a_form_that_there_is_not_is_refused_with_those_that_there_are(result):
    with pytest.raises(ValueError, match="pdf: not a form of the report; there are table, json"):
        report.render(result, "pdf")


def test_the_result_is_what_its_schema_says(result):
    assert errors(json.loads(report.render(result, "json"))) == []
    assert errors({**result, "colour": "red"})
    assert errors({**result, "rules": [{"rule": "link.speed"}]})
