# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an audit as text: nothing is lost in packing, nothing is loaded, nothing that a node says is markup.

How it looks and works is tested in a browser, in tests/browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.audit_page import codes
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.packed import in_script, pack
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils import fleet
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record


class Page(HTMLParser):
    """Tags, texts, and what is in scripts and styles, of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.inside, self.now = [], [], {}, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.now = tag
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        self.now = ""

    def handle_data(self, data):
        self.inside.setdefault(self.now, []).append(data)


@pytest.fixture(name="result", scope="module")
def _result(tmp_path_factory):
    nodes = fleet.Fleet(132)
    return model(fleet.judged(nodes, *fleet.load(tmp_path_factory.mktemp("page"))), {"code": "unknown"}, facts=nodes)


@pytest.fixture(name="page", scope="module")
def _page(result):
    return report.render(result, "html")


def unpacked(packed):
    """Findings by node, as the script sees them."""

    def text(number):
        return None if number < 0 else packed["strings"][number]

    found = {}
    for row in packed["nodes"]:
        pairs = packed["found"][row[6]]
        found[text(row[0])] = rows = []
        for number, subject in zip(pairs[::2], pairs[1::2], strict=True):
            rule, verdict, *texts = packed["texts"][number]
            told = [packed["rules"][rule][0], packed["verdicts"][verdict], *map(text, texts)]
            rows.append([*told, text(row[0]) if subject < 0 else text(subject)])
    return found


def test_no_finding_is_lost_in_packing(result):
    parts = ("rule", "verdict", "area", "expected", "observed", "why", "fix", "source", "subject")
    told = {node: [[f[part] for part in parts] for f in row["findings"]] for node, row in result["records"].items()}
    assert unpacked(json.loads(in_script(pack(result)))) == told


def test_what_many_nodes_share_is_packed_once(result):
    packed = pack(result)
    for key in ("strings", "texts", "found", "cells", "versions", "answers", "unread"):
        assert len(set(packed[key])) == len(packed[key])
    assert len(packed["cells"]) < len(packed["nodes"]) / 2


def test_the_page_has_one_style_and_one_script_and_its_policy_names_both(page):
    parsed = Page(page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src &#39;none&#39;" in policy
    for text in (parsed.inside["style"][0], parsed.inside["script"][-1]):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy.replace("&#43;", "+")
    assert (parsed.tags.count("style"), parsed.tags.count("script")) == (1, 2)


def test_nothing_in_the_page_is_loaded_or_styled_from_elsewhere(page):
    parsed = Page(page)
    names = {name for name, _value in parsed.attributes}
    assert names & {"src", "srcset", "style", "onclick", "onload", "action", "formaction"} == set()
    assert {value for name, value in parsed.attributes if name == "href"} == {"#fleet"}
    assert "url(" not in parsed.inside["style"][0]
    assert set(parsed.tags) & {"link", "img", "iframe", "object", "base"} == set()


@pytest.mark.parametrize("word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch("])
def test_the_script_has_no_way_to_make_markup_of_data(page, word):
    assert word not in Page(page).inside["script"][-1]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>&\"'/!-=scriptSCRIPT \\\u2028x`{}%", max_size=30))
def test_whatever_a_node_says_the_page_keeps_its_shape(text):
    finding = dict.fromkeys(("rule", "subject", "expected", "observed", "why", "fix", "source"), text)
    row = {**record(text, product=text, rack=text), "findings": [{**finding, "verdict": "fail", "area": "health"}]}
    same = [{**dict.fromkeys(finding, "x"), "verdict": "fail", "area": "health"}]
    plain = {**record("x", product="x", rack="x"), "findings": same}
    pages = [Page(report.render(model([told], {}), "html")) for told in (row, plain)]
    assert pages[0].tags == pages[1].tags


@pytest.mark.parametrize("text", ["</script>", "<!--", "<script", "]]>", "&lt;", "\u2028"])
def test_data_in_a_script_can_neither_end_it_nor_open_a_comment(text):
    told = in_script({"a": text})
    assert set(told) & set("<>&\u2028") == set()
    assert json.loads(told) == {"a": text}


@pytest.mark.parametrize(
    "summary, told",
    [
        ({}, []),
        ({"codes": {"unknown": 3, "blocked": 1}}, [("unknown", 3), ("blocked", 1)]),
        ({"codes": ["bad_input"]}, [("bad_input", None)]),
    ],
)
def test_the_codes_of_a_summary_are_told_with_their_nodes(summary, told):
    assert codes(summary) == told


def test_why_nothing_could_be_looked_at_is_on_the_page():
    summary = {"code": "bad_input", "codes": {"bad_input": 0}, "why": "target.yml: <no such file>"}
    text = report.render(model({}, summary), "html")
    assert "target.yml: &lt;no such file&gt;" in text
    assert "Ends with bad input." in text
