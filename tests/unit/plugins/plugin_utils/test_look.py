# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look always ends in a record: facts that the rules stumble over make an unknown node, not a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import look
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import write_json, write_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import facts, record, write_target

ABOUT = {"rack": "r1", "run_id": "run", "gathered_at": "2026-12-01T00:00:00Z"}
ODD = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2) | st.just({"x": [1]})
NEEDED = {"node", "gpus", "driver", "rocm"}


@pytest.fixture(scope="module")
def by(tmp_path_factory):
    path = write_target(tmp_path_factory.mktemp("target"))
    return look.Basis(load_target(path, load_catalog()), load_policy(None), load_catalog())


def test_good_facts_are_judged(by):
    assert look.judged("g01", facts(), by, **ABOUT)["class"] == "may_move"


def test_facts_of_a_wrong_shape_make_an_unknown_node_with_the_reason(by):
    told = look.judged("g01", {**facts(), "gpus": [{"link": 7}]}, by, **ABOUT)
    assert (told["class"], told["reachable"], told["facts_digest"]) == ("unknown", False, None)
    (finding,) = told["findings"]
    assert finding["rule"] == "node.facts"
    assert "cannot be judged: " in finding["observed"]


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.sampled_from(sorted(facts())), ODD, min_size=1))
def test_odd_facts_never_end_the_audit_and_never_pass_for_good_ones(by, odd):
    told = look.judged("g01", {**facts(), **odd}, by, **ABOUT)
    assert told["node"] == "g01"
    assert told["class"] in ("unknown", "unhealthy", "blocked") or not NEEDED & set(odd)


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ({"facts": '{"schema":1}'}, {"schema": 1}),
        ({"ansible_facts": {"instinct": {"schema": 1}}}, {"schema": 1}),
        ({"facts": "{"}, None),
        ({"facts": "[]"}, None),
        ({"ansible_facts": {}}, None),
        ({"ansible_facts": None}, None),
        ({}, None),
    ],
)
def test_the_facts_of_an_answer_are_read_as_text_or_as_they_are(answer, facts):
    assert look.facts_in(answer) == facts


def test_a_node_that_does_not_answer_keeps_its_product_and_rack_and_tells_why(tmp_path):
    write_record(tmp_path, record("g01"))
    silent = look.silent_record(tmp_path, "g01", "Permission denied\n(publickey)", run_id="run", gathered_at="")
    assert (silent["product"], silent["rack"], silent["reachable"]) == ("MI300X", "r1", False)
    assert silent["findings"][0]["observed"] == "Permission denied (publickey)"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "the facts module gave no answer"),
        (
            {"msg": "MODULE FAILURE", "module_stderr": "sh: 1:\n sudo: not found"},
            "MODULE FAILURE; sh: 1: sudo: not found",
        ),
        ({"module_stdout": "x" * 9999}, "x" * 400),
        ({"msg": "http://me:secret@mirror/"}, "http://***@mirror/"),
    ],
)
def test_what_a_node_said_in_place_of_facts_is_told_in_one_line(answer, why):
    assert look.why_no_facts(answer) == why


@pytest.mark.parametrize(
    "told, own, said",
    [
        ({"boot_id": "aaaa"}, "aaaa", {"is_controller": True}),
        ({"boot_id": "aaaa"}, "ffff", {}),
        ({"boot_id": None}, None, {}),
        (["aaaa"], "aaaa", {}),
    ],
    ids=["same", "another", "unknown", "odd facts"],
)
def test_a_record_tells_where_the_node_is_the_machine_that_this_runs_on_f24(told, own, said):
    assert look.of_controller({"node": told}, own) == said


def test_neither_target_nor_plan_is_told_with_a_way_out():
    with pytest.raises(FleetError, match=r"target: not given.*add -e target=FILE"):
        look.basis({"target": None, "plan": None})


def test_a_way_back_does_not_need_the_overlay_of_its_plan(tmp_path, monkeypatch, by):
    plan = {"target": dict(by.target), "policy": {}, "inputs": {"catalog": {"path": "/gone.yml", "digest": ""}}}
    monkeypatch.setattr("ansible_collections.fleetops.instinct.plugins.plugin_utils.plan.load_plan", lambda path: plan)
    write_json(tmp_path / "plan.json", plan)
    assert look.basis({"plan": "plan.json"}, overlay=False).catalog is load_catalog()


@pytest.mark.parametrize(
    ("subsets", "module"),
    [(["all"], "node_glance"), (["gpu"], "node_glance"), (["all", "smi"], "node_facts"), (["lspci"], "node_facts")],
)
def test_only_who_asks_for_a_slow_subset_sends_it(subsets, module):
    assert look.module_for(subsets) == f"fleetops.instinct.{module}"
