# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems that people reported, as the audit would have told them: the name ends with the id of the report."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import parse
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import count
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import (
    BDF,
    HEALTHY,
    facts_of,
    old,
    seen,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

GPU = f"[    9.605986] amdgpu {BDF}: "


def logged(*lines, **facts):
    """A node whose third GPU wrote these lines into the kernel log."""
    found = count(parse("\n".join(f"{GPU}{line}" for line in lines))).rows.values()
    keys = ("id", "bdf", "count", "open", "first", "last", "sample", "details")
    rows = [{**{key: getattr(row, key) for key in keys}, "gpus": [BDF], "named": True} for row in found]
    return seen(("log.signatures", rows), *[(f"gpus.2.{key}", value) for key, value in facts.items()])


def test_a_leftover_that_stops_dkms_is_named_and_is_no_missing_driver_a03(tmp_path):
    case = old(("driver.stale_trees", ["6.8.5-2041575.24.04"]), ("driver.dkms", None))
    record = record_of(case, tmp_path)
    assert said(record, "driver.stale_trees")[0]["observed"] == "6.8.5-2041575.24.04"
    assert record["driver"] == "6.4.4"


def test_a_driver_without_a_build_for_the_kernel_that_boots_next_is_not_ready_a04(tmp_path):
    case = seen(("node.kernel.next_boot", "6.17.0-8-generic"), ("driver.ready_for_next_boot", False))
    record = record_of(case, tmp_path)
    assert said(record, "driver.next_boot")[0]["expected"] == "a driver built for 6.17.0-8-generic"
    assert record["class"] == "unhealthy"


def test_a_boot_folder_that_cannot_hold_another_initrd_is_refused_a09(tmp_path):
    case = old(("node.free_bytes./boot", 38_797_312), ("node.initrd_bytes", 183_500_800))
    record = record_of(case, tmp_path)
    assert (said(record, "disk.free")[0]["verdict"], record["class"]) == ("fail", "blocked")


def test_a_package_that_an_uninstall_left_is_told_a10(tmp_path):
    record = record_of(seen(("rocm.leftovers", ["/opt/rocm-6.4.1"])), tmp_path)
    assert said(record, "rocm.leftovers")[0]["observed"] == "/opt/rocm-6.4.1"


def test_a_driver_that_is_not_loaded_is_not_a_gpu_that_is_missing_a21(tmp_path):
    no_driver = (("driver.loaded", False), ("driver.version", None), ("driver.origin", None))
    bound = [(f"gpus.{number}.{key}", value) for number in range(8) for key, value in UNBOUND.items()]
    record = record_of(seen(*no_driver, *bound), tmp_path)
    assert said(record, "driver.loaded")[0]["observed"] == "no driver is loaded"
    assert (said(record, "gpu.count"), record["class"]) == ([], "unhealthy")


UNBOUND = {"driver": None, "initialised": False}
BLACKLIST = "/etc/modprobe.d/blacklist-amdgpu.conf: blacklist amdgpu"


@pytest.mark.parametrize("node", [seen, old])
def test_a_blacklist_that_waits_for_the_next_initramfs_blocks_a_change_a23(tmp_path, node):
    record = record_of(node(("driver.next_boot.kept_out_by", [BLACKLIST])), tmp_path)
    assert (said(record, "driver.kept_out")[0]["observed"], record["class"]) == (BLACKLIST, "blocked")


def test_a_firmware_file_without_which_the_gpu_does_not_start_is_its_cause_b24(tmp_path):
    lines = (
        "Direct firmware load for amdgpu/arcturus_gpu_info.bin failed with error -2",
        "Fatal error during GPU init",
    )
    record = record_of(logged(*lines, initialised=False, init_error=lines[0]), tmp_path)
    assert "amdgpu/arcturus_gpu_info.bin" in said(record, "gpu.initialised")[0]["observed"]
    assert record["class"] == "unhealthy"


def test_a_firmware_file_that_the_gpu_does_without_is_a_warning_b25(tmp_path):
    lines = ("Direct firmware load for amdgpu/vega20_ta.bin failed with error -2",)
    record = record_of(logged(*lines), tmp_path)
    assert (said(record, "log.fatal"), record["class"]) == ([], "at_target")


def test_a_gpu_that_memory_errors_stopped_is_a_fault_of_its_own_with_its_cause_d01(tmp_path):
    cause = "RAS records:48 exceed threshold:32, GPU will not be initialized."
    record = record_of(logged(f"amdgpu: {cause}", initialised=False, init_error=cause), tmp_path)
    assert said(record, "gpu.initialised")[0]["observed"].endswith(cause)
    assert record["class"] == "unhealthy"
    assert any("no other driver mends it" in row["fix"] for row in said(record, "log.fatal"))


def test_another_order_of_the_gpus_is_no_difference_h04(tmp_path):
    gpus = facts_of(HEALTHY)["gpus"]
    one, other = (record_of(seen(("gpus", rows)), tmp_path) for rows in (gpus, gpus[::-1]))
    assert one["findings"] == other["findings"]
    assert one["class"] == other["class"] == "at_target"
