# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit ends clean only where every node was looked at and nothing keeps any of them; else by the worst code."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import ends
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.look import unread_record
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record

EXPIRED = {"rule": "waiver.expired", "verdict": "fail", "subject": "g01 waiver of gpu.count"}


def of_class(name, kind):
    return {**record(name), "class": kind}


NODES = {
    None: of_class("fit", "may_move"),
    "unreachable": unreachable_record("away", "no route"),
    "unknown": of_class("odd", "unknown"),
    "unhealthy": of_class("sick", "unhealthy"),
    "blocked": of_class("stuck", "blocked"),
}


@pytest.mark.parametrize("code", NODES)
def test_the_code_of_one_node(code):
    assert ends.code_of(NODES[code]) == code


def test_a_node_that_answered_and_gave_no_facts_is_unknown():
    assert ends.code_of(unread_record("g1", "no python3")) == "unknown"


@pytest.mark.parametrize("kind", ["may_move", "at_target"])
def test_a_fleet_of_fit_nodes_is_clean(kind):
    ended = ends.end({"g1": of_class("g1", kind), "g2": of_class("g2", kind)}, ["g1", "g2"])
    assert ended == {"code": "clean", "codes": {}, "line": "clean: 2 nodes"}


def test_an_audit_that_looked_at_nothing_is_not_clean():
    ended = ends.end({}, [])
    assert (ended["code"], ended["codes"]) == ("bad_input", {"bad_input": 0})
    assert "no node was looked at" in ended["line"]


@pytest.mark.parametrize("found", [{}, {"g1": {}}, {"g1": {"class": "splendid"}}])
def test_a_node_without_a_record_or_of_a_class_nobody_knows_is_unknown(found):
    assert ends.end(found, ["g1"])["codes"] == {"unknown": 1}


@pytest.mark.parametrize("first, second", list(itertools.combinations([code for code in NODES if code], 2)))
def test_of_two_codes_the_worse_one_is_the_end_and_both_are_told_in_this_order(first, second):
    found = {row["node"]: row for row in (NODES[second], NODES[None], NODES[first])}
    ended = ends.end(found, list(found))
    assert ended["code"] == first
    assert list(ended["codes"].items()) == [(first, 1), (second, 1)]
    assert ended["line"].startswith(f"{first}: 1 of 3 nodes ({NODES[first]['node']}); {second}: 1 of 3 nodes")


def test_many_nodes_are_counted_and_the_first_are_named():
    found = {f"g{number:03}": of_class(f"g{number:03}", "blocked") for number in range(200)}
    line = ends.end(found, list(found))["line"]
    assert line.startswith("blocked: 200 of 200 nodes (g000, g001, ")
    assert line.endswith("and 188 more)")


@pytest.mark.parametrize("kind, codes", [("at_target", {}), ("unhealthy", {"unhealthy": 1})])
def test_a_waiver_that_expired_is_told_beside_what_the_node_is(kind, codes):
    found = {"g01": {**of_class("g01", kind), "findings": [EXPIRED]}}
    ended = ends.end(found, ["g01"])
    assert ended["codes"] == {**codes, "waiver_expired": 1}
    assert ended["code"] == next(iter(ended["codes"]))


@pytest.mark.parametrize("verdict", ["waived", "warn"])
def test_only_a_failure_of_its_rule_says_that_a_waiver_expired(verdict):
    assert not ends.has_expired_waiver({"findings": [{**EXPIRED, "verdict": verdict}]})


def test_a_line_is_one_line_whatever_a_name_holds():
    line = ends.end({}, ["g1\n\x1b[31mclean: 1 node"])["line"]
    assert line.isprintable()
    assert line.startswith("unknown: ")


@given(st.lists(st.sampled_from(list(NODES)), min_size=1, max_size=6), st.randoms())
def test_the_end_does_not_depend_on_the_order_and_no_node_makes_it_better(kinds, chance):
    found = {f"g{number}": NODES[kind] for number, kind in enumerate(kinds)}
    shuffled = chance.sample(list(found), len(found))
    codes = ends.end(found, list(found))["codes"]
    assert ends.end(found, shuffled)["codes"] == codes
    assert sum(codes.values()) == sum(kind is not None for kind in kinds)
