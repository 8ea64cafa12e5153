# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule passes, fails and does not know, each on a node of cases.py."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import CASES, Case, findings

CATALOG = load_catalog()
JUDGED = [(name, verdict) for name, row in CASES.items() for verdict, case in row.items() if isinstance(case, Case)]


def test_every_rule_has_a_row_and_every_row_a_rule():
    assert sorted(CASES) == sorted(rule.id for rule in RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_row_has_a_node_or_a_reason_for_each_verdict(name):
    assert list(CASES[name]) in (["pass", "fail", "unknown"], ["pass", "warn", "unknown"])
    assert isinstance(CASES[name]["pass"], Case)
    assert all(isinstance(case, Case) or len(case) > 20 for case in CASES[name].values())


@pytest.mark.parametrize(("name", "verdict"), JUDGED)
def test_a_rule_says_of_a_node_what_it_must(name, verdict, tmp_path):
    said = findings(name, CASES[name][verdict], CATALOG, tmp_path)
    verdicts = {finding.verdict for finding in said}
    # Rules that only tell of something say nothing of a node without it.
    assert verdicts <= {"pass"} if verdict == "pass" else verdict in verdicts
    told = [finding for finding in said if finding.verdict == verdict != "pass"]
    assert all(finding.observed and finding.why and finding.fix for finding in told)


@pytest.mark.parametrize("name", [rule.id for rule in RULES if rule.deciding])
def test_a_deciding_rule_says_that_it_passed(name, tmp_path):
    assert findings(name, CASES[name]["pass"], CATALOG, tmp_path)
