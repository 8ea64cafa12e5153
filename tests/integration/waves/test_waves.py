# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops the next wave when a node goes bad: neither keyword does it reliably, on no supported ansible-core."""

from __future__ import annotations

import pytest
import yaml
from ansible.release import __version__

from ansible_collections.fleetops.instinct.tests.integration.waves.wave_lab import CASES, HERE, measure


def release(text: str) -> tuple[int, ...]:
    """Major and minor release as numbers."""
    return tuple(int(part) for part in text.split(".")[:2])


def expectations() -> dict:
    """The newest expectation file that is not newer than this ansible-core."""
    files = [path for path in (HERE / "expected").glob("*.yml") if release(path.stem) <= release(__version__)]
    newest = max(files, key=lambda path: release(path.stem))
    return yaml.safe_load(newest.read_text(encoding="utf-8"))


@pytest.mark.parametrize("keyword", CASES["keywords"])
@pytest.mark.parametrize("name", CASES["cases"])
def test_core_does_with_a_bad_node_what_the_table_says(tmp_path, name, keyword):
    seen, run = measure(tmp_path, CASES["cases"][name], keyword)
    assert seen == expectations()[name][keyword], run.output


def test_neither_keyword_stops_the_next_wave_for_an_unreachable_node():
    rows = expectations()["unreachable_in_block_with_rescue_and_always"]
    assert {row["next_wave"] for row in rows.values()} == {"begins"}


def test_every_case_has_an_expectation_and_none_is_left_over():
    assert list(expectations()) == list(CASES["cases"])
