# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit hands to other programs: JUnit XML for a CI system, Markdown for a ticket."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import summarise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.markdown import LONGEST, escape
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.problems import problems, subjects_together
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils import fleet
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record

HOSTILE = "g\x1b[31m]]>&<b>\u202e\ud800|`x`\n\x00"


def finding(verdict="fail", rule="link.speed", subject="0000:63:00.0", **more):
    texts = {"expected": "32.0 GT/s", "observed": "16.0 GT/s", "why": "slow", "fix": "reseat it", "source": "a guide"}
    return {"rule": rule, "subject": subject, "verdict": verdict, "area": "health", **texts, **more}


def result(*findings, node="g1", **more):
    return model([{**record(node), "findings": list(findings), "passed_rules": ["gpu.count"], **more}], {}, "", "t")


def case(name, *findings, **more):
    tree = ElementTree.fromstring(report.render(result(*findings, **more), "junit"))
    return next(found for found in tree.iter("testcase") if found.get("name") == name)


def outcome(found):
    return [child.tag for child in found]


@pytest.fixture(name="varied", scope="module")
def _varied(tmp_path_factory):
    """132 nodes with each fault there is, and nodes that do not answer."""
    nodes = fleet.Fleet(132)
    records = fleet.judged(nodes, *fleet.load(tmp_path_factory.mktemp("fleet")))
    return model(records, {**summarise(records, records), "code": "unreachable"}, "sha256:0", "rocm-7.0.2", nodes)


@pytest.mark.parametrize(
    "verdict, tags",
    [("fail", ["failure"]), ("unknown", ["error"]), ("waived", ["skipped"]), ("warn", ["system-out"])],
)
def test_a_verdict_has_its_outcome_in_junit(verdict, tags):
    assert outcome(case("link.speed", finding(verdict))) == tags


def test_a_rule_that_passed_passes_and_one_that_said_nothing_is_skipped():
    assert outcome(case("gpu.count")) == []
    assert outcome(case("node.reachable")) == []
    assert case("sysctl").find("skipped").get("message") == "nothing to look at, or nothing odd"


def test_no_rule_passes_on_a_node_that_does_not_answer(varied):
    tree = ElementTree.fromstring(report.render(varied, "junit"))
    suite = next(found for found in tree if found.get("name") == "g0041")
    assert {tag for found in suite.iter("testcase") for tag in outcome(found) or ["passed"]} == {"error", "skipped"}
    assert suite.find("testcase").find("error").get("message").startswith("g0041: no route to host")


def test_a_case_has_the_worst_verdict_and_tells_all_of_its_findings():
    found = case("link.speed", finding("warn"), finding("unknown", subject="b"), finding(subject="c"))
    assert outcome(found) == ["failure"]
    assert found[0].get("message") == "c: 16.0 GT/s, wanted 32.0 GT/s (and 2 more)"
    assert all(text in found[0].text for text in ("warn: 0000", "unknown: b", "fail: c", "reseat it", "a guide"))


def test_a_suite_for_each_node_and_a_case_for_each_rule(varied):
    tree = ElementTree.fromstring(report.render(varied, "junit"))
    assert [suite.get("name") for suite in tree] == list(varied["records"])
    assert {len(suite.findall("testcase")) for suite in tree} == {len(RULES) + 2}


@pytest.mark.parametrize(
    "tag, attribute", [("testcase", "tests"), ("failure", "failures"), ("error", "errors"), ("skipped", "skipped")]
)
def test_the_numbers_of_junit_are_right(varied, tag, attribute):
    tree = ElementTree.fromstring(report.render(varied, "junit"))
    for suite in (tree, *tree):
        assert int(suite.get(attribute)) == len(list(suite.iter(tag)))


# What the common schema of JUnit (that of Jenkins' xunit plugin) allows: attributes, then children in order.
SCHEMA = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, r"(testsuite )*"),
    "testsuite": (
        {"name", "hostname", "tests", "failures", "errors", "skipped", "time", "timestamp"},
        r"properties (testcase )*",
    ),
    "properties": (set(), r"(property )*"),
    "property": ({"name", "value"}, ""),
    "testcase": ({"classname", "name", "time"}, r"(skipped |error |failure )?(system-out )?"),
    "failure": ({"message", "type"}, ""),
    "error": ({"message", "type"}, ""),
    "skipped": ({"message"}, ""),
    "system-out": (set(), ""),
}


def test_the_document_keeps_to_the_schema_of_junit(varied):
    for element in ElementTree.fromstring(report.render(varied, "junit")).iter():
        attributes, children = SCHEMA[element.tag]
        assert set(element.attrib) <= attributes
        assert re.fullmatch(children, "".join(f"{child.tag} " for child in element))
    assert re.search(r'timestamp="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"', report.render(varied, "junit"))


def test_what_xml_cannot_hold_is_shown_as_text():
    found = case("link.speed", finding(observed=HOSTILE), node=HOSTILE)
    assert found.get("classname") == "g\\x1b[31m]]>&<b>\u202e\\ud800|`x`\n\\x00"
    assert "]]>&<b>" in found[0].text


@settings(max_examples=60, deadline=None)
@example("\ud800")
@given(st.text(alphabet=st.characters(), max_size=20))
def test_whatever_a_node_says_the_document_can_be_parsed_and_every_form_be_written(text):
    told = result(finding(observed=text, subject=text), finding("warn", rule=text), node=f"g{text}", rack=text)
    ElementTree.fromstring(report.render(told, "junit").encode())
    for form in ("markdown", "table", "json", "html"):
        report.render(told, form).encode()


def test_the_ticket_says_the_code_the_counts_and_what_to_do(varied):
    text = report.render(varied, "markdown")
    for part in ("# Audit for rocm-7.0.2", "**unreachable**: 132 nodes", "| MI300X |", "| link.width |", "reseat card"):
        assert part in text


def test_what_stands_in_the_way_comes_before_what_a_rollout_would_change(varied):
    titles = re.findall(r"^## (.*)$", report.render(varied, "markdown"), re.M)
    assert titles == [
        "Products", "Versions", "What stands in the way", "What a rollout would change", "Advice and warnings",
        "Nodes that cannot be moved",
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 50, 400])
def test_the_ticket_stays_short_whatever_the_fleet_says(count):
    many = [finding(rule=f"rule{n}", fix="|&" * 2000, why="<" * 2000, observed="x" * 2000) for n in range(100)]
    rows = [{**record(f"g{n}-{'h' * 250}", kind="unhealthy", rack="`" * 200), "findings": many} for n in range(count)]
    text = report.render(model(rows, {}, "", "t"), "markdown")
    assert len(text) <= LONGEST
    assert "more.\n" in text


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    text = report.render(result(finding(observed=HOSTILE, why="a|b\\|c", fix="`x|y`"), node=HOSTILE), "markdown")
    rows = [line for line in text.splitlines() if line.startswith("|") and "rule" not in line and "g" in line]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows if "link.speed" in line and "a\\|b" in line} == {7}


@pytest.mark.parametrize(
    "text, told",
    [
        ("a|b", r"a\|b"),
        ("`rm`", r"\`rm\`"),
        ("<script>", "&lt;script&gt;"),
        ("@all #12", "&#64;all &#35;12"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("a\nb\x1b[0m", r"a b \[0m"),
        (None, "unknown"),
        ("x" * 500, "x" * 237 + "..."),
    ],
)
def test_a_value_is_never_markup(text, told):
    assert escape(text) == told


def test_equal_problems_of_many_nodes_are_one_with_what_was_seen():
    rows = [{**record(f"g{n}"), "findings": [finding(observed=f"{n % 2}")]} for n in range(1, 6)]
    (one,) = problems(model(rows, {}))
    assert (one.kind, one.nodes) == ("in_the_way", ["g1", "g2", "g3", "g4", "g5"])
    assert one.seen == [("1, wanted 32.0 GT/s", 3), ("0, wanted 32.0 GT/s", 2)]


@pytest.mark.parametrize(
    "rule, verdict, area, kind",
    [
        ("rocm.active", "fail", "compliance", "to_change"),
        ("rocm.active", "unknown", "compliance", "in_the_way"),
        ("aspm", "fail", "health", "advice"),
        ("link.speed", "warn", "health", "advice"),
        ("link.speed", "waived", "health", "waived"),
    ],
)
def test_what_a_problem_means_to_a_move(rule, verdict, area, kind):
    assert problems(result(finding(verdict, rule, area=area)))[0].kind == kind


def test_the_same_finding_on_several_gpus_is_told_once_with_all_of_them():
    told = subjects_together([finding(), finding(subject="b"), finding(observed="8.0 GT/s")])
    assert [subjects for _finding, subjects in told] == [["0000:63:00.0", "b"], ["0000:63:00.0"]]
