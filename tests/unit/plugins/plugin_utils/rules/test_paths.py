# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ways there are from one release to another, and what has to be done before one is taken."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import old, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

NEW_PACKAGING = {"rocm": "7.14.0", "driver": "31.40.0"}
FIVE_SEVEN = (("rocm.active", "5.7.1"), ("driver.installed.release", "5.7.1"))


def test_across_the_change_of_packaging_the_steps_are_named_and_the_rollout_does_not_take_the_node(tmp_path):
    record = record_of(old(), tmp_path, **NEW_PACKAGING)
    assert (record["verdict"]["transition"], record["class"]) == ("needs_step", "blocked")
    assert record["before"][0] == "remove every ROCm package up to 7.2.4"
    assert record["steps"] == ["rocm", "reboot"]


def test_the_way_back_across_it_has_its_steps_too(tmp_path):
    record = record_of(seen(("rocm.active", "7.14.1")), tmp_path)
    assert record["verdict"]["transition"] == "needs_step"
    assert "amdrocm" in record["before"][0]


@pytest.mark.parametrize("now", ["7.9.0", "7.13.0"])
@pytest.mark.parametrize("wanted", [{}, NEW_PACKAGING])
def test_from_a_preview_no_way_leads_on(tmp_path, now, wanted):
    record = record_of(old(("rocm.active", now)), tmp_path, **wanted)
    assert (record["verdict"]["transition"], record["class"]) == ("blocked", "blocked")


def test_to_a_preview_no_way_leads(tmp_path):
    assert record_of(old(), tmp_path, rocm="7.13.0")["verdict"]["transition"] in ("blocked", "unknown")
    assert "technology previews" in said(record_of(old(), tmp_path, rocm="7.13.0"), "path.stream")[0]["why"]


@pytest.mark.parametrize("now", ["7.5.0", "8.0.0", "text", None, 5])
def test_a_release_that_never_was_is_unknown(tmp_path, now):
    assert record_of(old(("rocm.active", now)), tmp_path)["verdict"]["transition"] == "unknown"


def test_a_way_by_other_releases_is_named_stop_by_stop(tmp_path):
    record = record_of(old(*FIVE_SEVEN), tmp_path)
    assert (record["verdict"]["transition"], record["class"]) == ("needs_step", "blocked")
    assert {step[:13] for step in record["before"]} == {"move to ROCm "}


def test_a_node_inside_the_window_has_nothing_before_its_move(tmp_path):
    record = record_of(old(), tmp_path)
    assert (record["verdict"]["transition"], record["before"]) == ("safe", [])


def test_seven_fourteen_is_newer_than_seven_two(tmp_path):
    assert "downgrade" not in str(said(record_of(old(), tmp_path, **NEW_PACKAGING), "path.stream"))
