# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that somebody read who is not root is not clean: what was kept from them is told by name."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import findings_of, judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import NEW, facts, write_target

KMSG = {"subset": "log", "subject": "/dev/kmsg", "reason": "PermissionError: Permission denied; see the journal"}


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    return load_target(write_target(tmp_path_factory.mktemp("target")), load_catalog())


@pytest.fixture
def said(target):
    def ask(*problems, told=True):
        seen = {**facts(versions=NEW), "problems": list(problems) if told else None}
        found = findings_of(seen, target, load_catalog(), "g01")
        return next(finding for rule, finding in found if rule.id == "facts.privilege")

    return ask


@pytest.mark.parametrize(
    "row",
    [
        KMSG,
        {"subset": "activity", "subject": "/proc", "reason": "6 processes cannot be looked into"},
        {"subset": "link", "subject": "0000:13:00.0 config", "reason": "64 bytes, all of them by root only"},
    ],
)
def test_what_was_kept_from_the_account_is_named(said, row):
    finding = said(row)
    assert finding.verdict == "unknown"
    assert f"{row['subject']} ({row['subset']})" in finding.observed


@pytest.mark.parametrize("reason", ["OSError: Input/output error", "not understood: '??'"])
def test_what_nobody_can_read_is_no_matter_of_the_account(said, reason):
    assert said({**KMSG, "reason": reason}).verdict == "pass"


def test_many_are_counted_and_the_first_are_named(said):
    rows = [{**KMSG, "subject": f"0000:{number:x}3:00.0 config"} for number in range(32)]
    assert said(*rows).observed.endswith("0000:53:00.0 config (log) and 26 more")


def test_facts_without_their_problems_do_not_say_that_nothing_was_kept(said):
    assert said(told=False).verdict == "unknown"


def test_the_node_is_unknown_whatever_else_is_well(target):
    record = judge({**facts(versions=NEW), "problems": [KMSG]}, target, load_catalog(), "g01")
    assert record["class"] == "unknown"
