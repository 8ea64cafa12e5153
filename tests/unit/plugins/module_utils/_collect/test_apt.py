# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins of apt: which of them let AMD's packages win."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.apt import pins, repositories
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

PIN = "/etc/apt/preferences.d/rocm-pin-600"
GOOD = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"


def ask(path, text, what):
    problems = []
    return what(Reading(RecordedHost({"files": {path: text}}), problems, "rocm")), [row["reason"] for row in problems]


def pinned(text):
    return ask(PIN, text, lambda reading: pins(reading, []))


@pytest.mark.parametrize("priority", ["501", "600", "1001"])
def test_a_pin_above_the_distributions_priority_is_a_pin(priority):
    assert pinned(GOOD.replace("600", priority)) == ([PIN], [])


@pytest.mark.parametrize("priority", ["500", "100", "-10"])
def test_a_pin_that_does_not_prefer_amd_is_told_and_is_none_a05(priority):
    seen = f"pins AMD's packages at {priority}: the distribution's stand at 500"
    assert pinned(GOOD.replace("600", priority)) == ([], [seen])


def test_a_priority_that_is_no_number_is_told_and_is_none():
    assert pinned(GOOD.replace("600", "high")) == ([], ["priority not understood: 'high'"])


def test_one_good_stanza_is_enough():
    assert pinned(f"{GOOD.replace('600', '100')}\n{GOOD}")[0] == [PIN]


def test_a_tab_after_the_type_of_a_source_is_read():
    line = "deb\thttps://repo.radeon.com/rocm/apt/7.0.2 jammy main"
    found, _reasons = ask("/etc/apt/sources.list", f"{line}\n", repositories)
    assert [row["line"] for row in found] == [line]
