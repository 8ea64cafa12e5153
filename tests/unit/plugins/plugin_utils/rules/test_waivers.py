# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator lets through, and for how long."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import seen, waiving
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

SICK = (("gpus.2.ras.umc.ue", 2), ("gpus.3.aer.fatal", 1))
RAS = {"rule": "health.ras"}


def waived(expires, *changes, **more):
    return waiving(expires, **{**RAS, **more})._replace(changes=changes)


def test_what_is_waived_stays_in_the_record_with_name_reason_and_day(tmp_path):
    (row,) = said(record_of(waived("2026-12-31", SICK[0]), tmp_path), "health.ras")
    assert row["verdict"] == "waived"
    assert "waived by ops: a retimer is on order (until 2026-12-31)" in row["why"]


def test_a_waiver_that_is_over_is_a_failure_of_its_own_and_lets_nothing_through(tmp_path):
    record = record_of(waived("2026-11-30", SICK[0]), tmp_path)
    (row,) = said(record, "waiver.expired")
    assert (row["verdict"], row["subject"]) == ("fail", "g01 waiver of health.ras")
    assert "ops" in row["why"]
    assert (said(record, "health.ras")[0]["verdict"], record["class"]) == ("fail", "unhealthy")


def test_a_waiver_that_is_over_fails_though_nothing_needs_it_and_leaves_the_node_what_it_is(tmp_path):
    record = record_of(waived("2026-11-30"), tmp_path)
    assert (record["class"], record["verdict"]["transition"]) == ("at_target", "needs_step")


def test_a_waiver_holds_on_its_last_day_and_not_on_the_next(tmp_path):
    days = {day: record_of(waived(day, SICK[0]), tmp_path)["class"] for day in ("2026-12-01", "2026-11-30")}
    assert days == {"2026-12-01": "at_target", "2026-11-30": "unhealthy"}


@pytest.mark.parametrize("more", [{"nodes": ["g1*"]}, {"rule": "health.aer"}, {"nodes": ["G01"]}])
def test_a_waiver_of_others_or_of_another_rule_changes_nothing(tmp_path, more):
    record = record_of(waived("2026-12-31", SICK[0], **more), tmp_path)
    assert (record["class"], said(record, "waiver.expired")) == ("unhealthy", [])


def test_only_what_is_named_is_let_through(tmp_path):
    record = record_of(waived("2026-12-31", *SICK), tmp_path)
    assert (said(record, "health.ras")[0]["verdict"], said(record, "health.aer")[0]["verdict"]) == ("waived", "fail")
    assert record["class"] == "unhealthy"


def test_an_unknown_is_let_through_as_well(tmp_path):
    assert record_of(waived("2026-12-31", ("gpus.2.ras", None)), tmp_path)["class"] == "at_target"


def test_a_node_without_any_waiver_is_not_told_of_them(tmp_path):
    assert said(record_of(seen(policy={"waivers": []}), tmp_path), "waiver.expired") == []
