# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What amd-smi says where it was asked, and what an audit cannot tell."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import (
    HEALTHY,
    MIXED,
    NO_SMI,
    SMI,
    asked,
    seen,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said


def test_a_gpu_that_only_the_bus_knows_is_a_fault(tmp_path):
    record = record_of(asked(None), tmp_path)
    assert [row["subject"] for row in said(record, "smi.gpus")] == ["0000:33:00.0"]
    assert record["class"] == "unhealthy"


def test_a_gpu_that_did_not_start_is_told_by_its_own_rule(tmp_path):
    record = record_of(asked(None, ("gpus.2.initialised", False)), tmp_path)
    assert said(record, "smi.gpus") == []
    assert len(said(record, "gpu.initialised")) == 1


def test_a_threshold_that_is_exceeded_is_a_fault_whatever_the_bmc_says_d03(tmp_path):
    record = record_of(asked({**SMI, "bad_page_threshold_exceeded": True}), tmp_path)
    assert [row["subject"] for row in said(record, "smi.bad_pages")] == ["0000:33:00.0"]
    assert record["class"] == "unhealthy"


@pytest.mark.parametrize("pages, kind", [(0, "at_target"), (3, "unknown"), (None, "unknown")])
def test_a_threshold_nobody_tells_of_is_unknown_where_there_are_bad_pages_d03(tmp_path, pages, kind):
    case = asked({**SMI, "bad_page_threshold_exceeded": None}, ("gpus.2.bad_pages", pages))
    assert record_of(case, tmp_path)["class"] == kind


def test_parts_of_two_releases_are_told_and_the_node_keeps_its_gpus_e13(tmp_path):
    record = record_of(seen(*NO_SMI, ("problems", [MIXED])), tmp_path)
    (row,) = said(record, "smi.tool")
    assert (row["verdict"], row["observed"]) == ("warn", "amd_smi_mixed_versions: command 7.1.1, library 7.0.1")
    assert (record["class"], record["gpu_count"]) == ("at_target", 8)


def test_a_healthy_node_is_told_not_to_be_verified_under_load_h06(tmp_path):
    record = record_of(HEALTHY, tmp_path)
    (row,) = said(record, "load.watched")
    assert (row["verdict"], row["observed"], record["class"]) == ("unknown", "not verified under load", "at_target")
    assert "load.watched" not in record["passed_rules"]
