# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every report of what went wrong elsewhere has a test that is named after it, but for those about schedulers."""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import ROOT
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import folder

# Reports that ask for nothing that can be tested here, and why.
WITHOUT_A_TEST = {
    "H01": "nothing here changes memory partitions; what they are is read of mi300x-cpx-nps4.json",
    "H07": "what a scheduler believes of a node: none is asked yet",
}
# What a report asks for besides, and why no test can show it here.
IN_PART = {
    "B33": "attributes at the top of the settings, as iLO 4 wants them: it has no host for Instinct, and is only read",
}
NAMED = re.compile(r"^\s*(?:(?:async )?def )?(\w+)[(:]", re.MULTILINE)
OPEN_CLASSES = "abcdefhi"  # of g, no scheduler is asked yet


def reports() -> list[str]:
    """Ids of the reports beside the checkout."""
    place = folder()
    path = place.parent / "bugs" / "reports.yaml" if place else None
    if path is None or not path.is_file():
        pytest.skip("no reports beside the checkout (../shared/bugs); the tests that are named after them stand alone")
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [row["id"] for row in rows if row["class"] in OPEN_CLASSES]


def named_ids() -> set[str]:
    """Ids in the names of tests, and of the cases of a table of tests."""
    files = [path for kind in ("test_*.py", "*cases*.yml") for path in (ROOT / "tests").rglob(kind)]
    names = [name for path in files for name in NAMED.findall(path.read_text(encoding="utf-8"))]
    return {found.upper() for name in names for found in re.findall(r"_([a-i][0-9]{2})(?=_|$)", name)}


def test_every_report_has_a_test_that_is_named_after_it():
    missing = set(reports()) - named_ids() - WITHOUT_A_TEST.keys()
    assert sorted(missing) == []


def test_no_reason_is_left_over():
    assert WITHOUT_A_TEST.keys() - set(reports()) | WITHOUT_A_TEST.keys() & named_ids() == set()


def test_what_is_shown_in_part_is_shown_and_is_a_report():
    assert set(IN_PART) - named_ids() == set()
    assert set(IN_PART) - set(reports()) == set()
