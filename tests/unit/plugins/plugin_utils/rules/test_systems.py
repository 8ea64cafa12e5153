# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operating system, kernel, driver, release and product together."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import (
    TO_624,
    TO_641,
    TO_644,
    UBUNTU,
    old,
    seen,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import CATALOG, record_of, said

LISTED = {"policy": {"require_listed_os": True}}
DEBIAN_11 = ("node.os", {"id": "debian", "version": "11", "name": "Debian GNU/Linux 11 (bullseye)"})
NOBLE = ("node.os", {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04.2 LTS"})


def test_a_driver_that_does_not_build_on_the_next_kernel_is_refused_before_anything_is_done_a01(tmp_path):
    case = old(NOBLE, ("node.kernel.next_boot", "6.14.0-24-generic"), wants=TO_641)
    record = record_of(case, tmp_path)
    (row,) = said(record, "driver.builds")
    assert (row["verdict"], record["class"]) == ("fail", "blocked")
    assert row["observed"] == "driver 6.4.1 on kernel 6.14.0-24-generic"
    assert row["source"].startswith("ROCm/amdgpu issue 192")


@pytest.mark.parametrize("kernel, kind", [("6.11.0-29-generic", "may_move"), (None, "unknown")])
def test_another_kernel_is_fine_and_one_that_is_not_known_is_unknown_a01(tmp_path, kernel, kind):
    case = old(NOBLE, ("node.kernel.next_boot", kernel), wants=TO_641)
    assert record_of(case, tmp_path)["class"] == kind


@pytest.mark.parametrize("kernel, verdicts", [("6.8.0-44-generic", ["fail"]), ("6.8.0-47-generic", [])])
def test_the_part_of_a_kernel_after_the_dash_counts_b36(tmp_path, kernel, verdicts):
    case = old(UBUNTU[0], ("node.kernel.next_boot", kernel), wants={"rocm": "6.2.0", "driver": "6.2.0"})
    assert [row["verdict"] for row in said(record_of(case, tmp_path), "driver.builds")] == verdicts


def test_a_build_that_is_there_is_the_proof_against_every_list(tmp_path):
    installed = {"module": "6.12.12", "build": "x", "release": "6.4.1", "package_version": "x"}
    case = seen(("driver.installed", installed), ("node.kernel.next_boot", "6.14.0-24-generic"), wants=TO_641)
    assert said(record_of(case, tmp_path), "driver.builds") == []


def test_a_combination_amd_excludes_is_blocked_and_one_that_may_be_it_is_unknown(tmp_path):
    assert record_of(old(*UBUNTU, wants=TO_624), tmp_path)["class"] == "blocked"
    assert record_of(old(UBUNTU[1], ("node.os", None), wants=TO_624), tmp_path)["class"] == "unknown"


def test_an_advisory_about_what_runs_is_told_with_the_way_out_d04(tmp_path):
    (row,) = said(record_of(old(("rocm.active", "6.2.1")), tmp_path), "known_bad.now")
    assert (row["verdict"], row["fix"]) == ("warn", "go to 6.2.2 or later")


@pytest.mark.parametrize("rocm", ["6.2.2", "6.4.4"])
def test_an_advisory_ends_with_the_release_that_mended_it_d04(tmp_path, rocm):
    assert said(record_of(old(("rocm.active", rocm)), tmp_path), "known_bad.now") == []


@pytest.mark.parametrize(
    "os, policy, verdict, kind",
    [
        (DEBIAN_11, {}, "warn", "at_target"),
        (DEBIAN_11, LISTED, "fail", "blocked"),
        (("node.os", None), {}, "unknown", "at_target"),
        (("node.os", None), LISTED, "unknown", "unknown"),
    ],
)
def test_an_unlisted_system_is_told_and_decides_where_the_policy_says_so(tmp_path, os, policy, verdict, kind):
    record = record_of(old(os, wants=TO_644, **policy), tmp_path)
    assert [row["verdict"] for row in said(record, "os.supported")] == [verdict]
    assert record["class"] == kind


def test_a_listed_system_is_no_finding_and_the_policy_lets_it_move(tmp_path):
    record = record_of(old(**LISTED), tmp_path)
    assert (said(record, "os.supported"), record["class"]) == ([], "may_move")


def test_a_kernel_that_is_not_listed_for_a_listed_system_is_unknown(tmp_path):
    case = old(NOBLE, ("node.kernel.next_boot", "6.17.0-5-generic"), wants=TO_644, **LISTED)
    record = record_of(case, tmp_path)
    assert [row["verdict"] for row in said(record, "kernel.supported")] == ["unknown"]
    assert record["class"] == "unknown"


@pytest.mark.parametrize("odd", [5, "x", [], {"id": 5, "version": []}, {"id": None}])
def test_an_odd_system_is_an_unknown_one(tmp_path, odd):
    verdicts = [
        row["verdict"] for row in said(record_of(old(("node.os", odd), wants=TO_644), tmp_path), "os.supported")
    ]
    assert verdicts in (["unknown"], ["warn"])


class Listing:
    """The catalog with one known-bad combination, of which it may not be known whether a node is one."""

    def __init__(self, **row):
        self._row = {"id": "x", "when": {"rocm": ["7.0.2"]}, "why": "w", "fix": "f", "source": "s", **row}

    def __getattr__(self, name):
        return getattr(CATALOG, name)

    def known_bad(self, **_versions):
        return [self._row]


@pytest.mark.parametrize(
    "row, verdict, kind",
    [
        ({"severity": "fail", "status": "verified"}, "fail", "blocked"),
        ({"severity": "fail", "status": "verified", "possible": True}, "unknown", "unknown"),
        ({"severity": "fail", "status": "unverified"}, "warn", "may_move"),
        ({"severity": "fail", "status": "unverified", "possible": True}, "warn", "may_move"),
        ({"severity": "warn", "status": "verified"}, "warn", "may_move"),
        ({"severity": "warn", "status": "verified", "possible": True}, "warn", "may_move"),
    ],
)
def test_a_combination_weighs_what_the_catalog_says_and_knows(tmp_path, row, verdict, kind):
    record = record_of(old(), tmp_path, Listing(**row))
    assert [finding["verdict"] for finding in said(record, "known_bad.target")] == [verdict]
    assert record["class"] == kind
