# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold before a node is drained; cases.py has a node for each verdict of each rule."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import (
    SHADOW,
    UPGRADES,
    old,
    seen,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

BLACKLIST = "/etc/modprobe.d/blacklist-amdgpu.conf: blacklist amdgpu"
META = "modprobe.blacklist=amdgpu"
SECURE = ("node.secure_boot", True)


def judged(folder, *changes, node=old, **more):
    return record_of(node(*changes, **more), folder)


def verdicts(record, rule):
    return [row["verdict"] for row in said(record, rule)]


@pytest.mark.parametrize(
    ("path", "value", "rule", "kind"),
    [
        ("driver.build.headers", False, "build.headers", "blocked"),
        ("driver.build.headers", None, "build.headers", "unknown"),
        ("driver.build.compilers", [], "build.tools", "blocked"),
        ("driver.build.make", False, "build.tools", "blocked"),
        ("driver.build.built_by", "gcc-13", "build.tools", "may_move"),
        ("rocm.manager", "zypper", "packages.manager", "blocked"),
        ("rocm.manager", None, "packages.manager", "unknown"),
        ("driver.compute_device", False, "driver.compute_device", "unhealthy"),
        ("rocm.lock_holder", {"pid": 7, "path": "/var/lib/dpkg/lock"}, "packages.lock", "may_move"),
        ("rocm.unattended", [UPGRADES], "packages.unattended", "may_move"),
        ("rocm.unattended", None, "packages.unattended", "may_move"),
        ("rocm.repositories.0.mismatch", "focal, the node runs jammy", "repository.mismatch", "may_move"),
        ("driver.next_boot.initramfs.older_than_module", True, "driver.initramfs", "may_move"),
    ],
)
def test_one_precondition_decides_or_is_told(tmp_path, path, value, rule, kind):
    record = judged(tmp_path, (path, value))
    assert record["class"] == kind
    assert said(record, rule)[0]["fix"]


@pytest.mark.parametrize("manager", ["dnf", "zypper"])
def test_a_node_whose_package_manager_no_rollout_drives_is_refused_before_its_drain_f13_f15(tmp_path, manager):
    record = judged(tmp_path, ("rocm.manager", manager))
    assert (record["class"], verdicts(record, "packages.manager")) == ("blocked", ["fail"])
    assert said(record, "packages.manager")[0]["fix"] == "change this node by hand"


@pytest.mark.parametrize("path", ["driver.build", "rocm.manager"])
def test_what_a_change_needs_is_not_asked_where_nothing_changes(tmp_path, path):
    assert judged(tmp_path, (path, None), node=seen)["class"] == "at_target"


def test_a_driver_that_is_installed_already_need_not_be_built(tmp_path):
    record = judged(tmp_path, ("node.kernel.cmdline", []), ("driver.build.headers", False), node=seen)
    assert (record["class"], verdicts(record, "build.headers")) == ("may_move", [])


def test_tools_that_come_with_dkms_are_not_missed_before_it_is_there(tmp_path):
    record = judged(tmp_path, ("driver.build.dkms", False), ("driver.build.compilers", []))
    assert verdicts(record, "build.tools") == []


@pytest.mark.parametrize(
    ("changes", "rule", "kind"),
    [
        ([SECURE, ("driver.build.key_enrolled", True)], "secure_boot.module", "unhealthy"),
        ([SECURE, ("driver.next_boot.signed", True), ("driver.build.key_enrolled", True)], None, "may_move"),
        (
            [SECURE, ("driver.next_boot.signed", True), ("driver.build.key_enrolled", False)],
            "secure_boot.key",
            "blocked",
        ),
        ([SECURE, ("driver.next_boot.signed", True)], "secure_boot.key", "unknown"),
        ([("node.secure_boot", None), ("driver.taint", "O")], "secure_boot.module", "unknown"),
    ],
    ids=["not signed", "enrolled", "not enrolled", "not known", "dark"],
)
def test_with_secure_boot_the_driver_and_its_key_have_to_be_trusted(tmp_path, changes, rule, kind):
    record = judged(tmp_path, *changes)
    assert record["class"] == kind
    assert not rule or "fail" in verdicts(record, rule) or kind == "unknown"


def test_a_compressed_module_of_the_kernel_is_signed_by_whoever_signed_the_kernel(tmp_path):
    own = [("driver.next_boot.signed", None), ("driver.next_boot.origin", "in-tree")]
    assert verdicts(judged(tmp_path, SECURE, *own), "secure_boot.module") == []
    assert verdicts(judged(tmp_path, SECURE, own[0]), "secure_boot.module") == ["unknown"]


def test_a_module_that_the_kernel_took_unsigned_proves_that_nothing_asks_for_a_signature(tmp_path):
    assert judged(tmp_path, ("node.secure_boot", None), node=seen)["class"] == "at_target"


@pytest.mark.parametrize(
    ("kept_out", "cmdline", "verdict"),
    [
        ([BLACKLIST], ["iommu=pt", "pcie_aspm=off"], "fail"),
        ([META], ["iommu=pt", "pcie_aspm=off"], "fail"),
        ([META], ["iommu=pt", "pcie_aspm=off", META], "warn"),
        ([META, BLACKLIST], ["iommu=pt", "pcie_aspm=off", META], "fail"),
        (["nomodeset"], ["iommu=pt", "pcie_aspm=off", "nomodeset"], "fail"),
        (["module_blacklist=amdgpu"], ["iommu=pt", "pcie_aspm=off", "module_blacklist=amdgpu"], "fail"),
    ],
)
def test_a23_what_keeps_the_driver_out_blocks_unless_a_unit_loads_it(tmp_path, kept_out, cmdline, verdict):
    record = judged(tmp_path, ("driver.next_boot.kept_out_by", kept_out), ("node.kernel.cmdline", cmdline))
    (row,) = said(record, "driver.kept_out")
    assert (row["verdict"], META in row["fix"] + row["why"]) == (verdict, True)


def test_a23_a_blacklist_that_only_the_initramfs_still_has_blocks(tmp_path):
    record = judged(tmp_path, ("driver.next_boot.initramfs.holds_blacklist", True))
    assert verdicts(record, "driver.kept_out") == ["fail"]


def test_an_initramfs_without_the_driver_leaves_it_to_the_root_file_system(tmp_path):
    record = judged(tmp_path, ("driver.next_boot.initramfs.holds_module", False))
    assert verdicts(record, "driver.initramfs") == []


@pytest.mark.parametrize(("pins", "verdict", "move"), [([], "fail", "needs_step"), (["/etc/apt/p"], "warn", "safe")])
def test_a05_the_distributions_packages_win_where_no_pin_prefers_amds(tmp_path, pins, verdict, move):
    record = judged(tmp_path, ("rocm.shadowing", SHADOW), ("rocm.pins", pins))
    (row,) = said(record, "packages.shadowing")
    assert (row["verdict"], "rocminfo 5.7.1-3" in row["observed"]) == (verdict, True)
    assert (record["verdict"]["transition"], record["class"]) == (move, "may_move")


def test_f12_packages_held_at_another_version_do_not_keep_a_node_from_moving(tmp_path):
    held = {"version": "1:6.12.12.60404-2202139.22.04", "state": "installed", "hold": True}
    assert judged(tmp_path, ("driver.packages.amdgpu-dkms", held))["class"] == "may_move"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (UPGRADES, "the kernel and ROCm"),
        ({**UPGRADES, "excludes": ["linux-"]}, "ROCm"),
        ({**UPGRADES, "excludes": ["linux-.*", "rocm"]}, None),
        ({**UPGRADES, "excludes": ["kernel*"]}, "ROCm"),
        ({**UPGRADES, "amd": False}, "the kernel"),
        ({**UPGRADES, "amd": False, "excludes": ["("]}, "the kernel"),
    ],
)
def test_an_updater_is_told_with_what_it_may_move(tmp_path, row, told):
    rows = said(judged(tmp_path, ("rocm.unattended", [row])), "packages.unattended")
    assert [line["observed"] for line in rows] == ([f"unattended-upgrades may move {told}"] if told else [])


@pytest.mark.parametrize(
    ("rocm", "verdict", "kind"),
    [("7.0.2", None, "may_move"), ("6.4.4", None, "may_move"), ("5.7.1", "fail", "blocked")],
)
def test_an_image_that_would_leave_the_window_of_the_driver_blocks(tmp_path, rocm, verdict, kind):
    record = judged(tmp_path, wants={"containers": [{"image": "serving", "rocm": rocm}]})
    assert (verdicts(record, "containers.window"), record["class"]) == ([verdict] if verdict else [], kind)


def test_an_image_that_the_driver_of_today_cannot_carry_yet_is_told(tmp_path):
    today = ("driver.installed.release", "6.2.4")
    record = judged(tmp_path, today, wants={"containers": [{"image": "serving", "rocm": "7.1.1"}]})
    assert verdicts(record, "containers.window") == ["warn"]


@pytest.mark.parametrize("free", [38_797_312, 181_403_648])
def test_a09_boot_needs_room_for_one_more_initrd(tmp_path, free):
    record = judged(tmp_path, ("node.free_bytes./boot", free), ("node.initrd_bytes", 183_500_800))
    assert (record["class"], verdicts(record, "disk.free")) == ("blocked", ["fail"])
