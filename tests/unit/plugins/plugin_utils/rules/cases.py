# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For every rule a node that passes, one that does not, and one of which the rule cannot tell.

test_cases.py judges each of them, and fails where a rule has no row here. docs/reference/rules.md takes what it says of
a rule (what was expected, why, how to fix) from the findings of the failing case, so that page and rule cannot differ.

A row has the keys ``pass``, ``fail`` (``warn`` where the rule never fails) and ``unknown``; each holds a Case, or in
words why there is no such node.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import findings_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Finding
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    change,
    facts,
    target_document,
    write_target,
)

KERNEL = {
    "cmdline": ["iommu=pt", "pcie_aspm=off"],
    "module_options": {"amdgpu": {"noretry": "0"}},
    "sysctl": {"kernel.numa_balancing": 0},
}
BDF = "0000:33:00.0"
KEPT = [{"subset": "log", "subject": "/dev/kmsg", "reason": "PermissionError: Operation not permitted"}]
TODAY = "2026-12-01"


class Case(NamedTuple):
    """A healthy node with some facts changed, and what the target wants of it.

    ``changes`` are facts by path, ``"gpus.2.bad_pages"`` or a tuple where a key has a dot; ``node`` are arguments of
    ``samples.facts``, ``product`` and ``wants`` the row of the target, ``policy`` what the judge is told of it.
    """

    changes: tuple[tuple[Any, Any], ...] = ()
    node: Mapping[str, Any] = {}
    product: str = "MI300X"
    wants: Mapping[str, Any] = {}
    policy: Mapping[str, Any] = {}


def seen(*changes: tuple[Any, Any], **more: Any) -> Case:
    """A node that runs the target's releases, with facts changed."""
    return Case(changes, **more)


def old(*changes: tuple[Any, Any], **more: Any) -> Case:
    """A node that runs older releases than the target's, with facts changed."""
    return Case(changes, **{**more, "node": {"versions": OLD, **more.get("node", {})}})


def line(name: str, **more: Any) -> list[dict[str, Any]]:
    """The signatures of a kernel log with one row, about the third GPU."""
    row = {"id": name, "bdf": BDF, "named": True, "gpus": [BDF], "count": 1, "open": 1, "first": 1.0, "last": 1.0}
    return [{**row, "sample": "the line", "details": {}, **more}]


def facts_of(case: Case) -> dict[str, Any]:
    """The facts of a case."""
    sample = change(facts(**{"versions": NEW, **case.node}), "settings.module_options.amdgpu", {"noretry": "0"})
    for path, value in case.changes:
        sample = change(sample, path, value)
    return sample


def findings(rule: str, case: Case, catalog: Catalog, folder: Any) -> list[Finding]:
    """What a rule says of a case; the target's file is written into the folder."""
    wants = {"rocm": NEW[0], "driver": NEW[1], "kernel": KERNEL, **case.wants}
    target = load_target(write_target(folder, target_document(**{case.product: wants})), catalog)
    said = findings_of(facts_of(case), target, catalog, "g01", case.policy, TODAY)
    return [finding for row, finding in said if row.id == rule]


def asked(smi: Any = None, *changes: tuple[Any, Any]) -> Case:
    """A node whose GPUs amd-smi was asked about; it knows all of them but the third, of which it says ``smi``."""
    told = {"tool": "amd-smi 26.0.2", "bad_page_threshold_exceeded": False}
    every = [(f"gpus.{number}.smi", told if number != 2 else smi) for number in range(8)]
    return seen(*every, *changes)


def waiving(expires: str, **more: Any) -> Case:
    """A healthy node that a waiver names."""
    waiver = {"rule": "link.speed", "nodes": ["g0*"], "owner": "ops", "reason": "a retimer is on order"}
    return seen(policy={"waivers": [{**waiver, "expires": expires, **more}]})


def behind(bmc: dict[str, Any] | None, **wants: Any) -> Case:
    """A healthy node with what its BMC says, and a target that wants firmware or settings of the BIOS."""
    return seen(("bmc", bmc), wants=wants)


HEALTHY = seen()
FIRMWARE = {"firmware": [bmcs.row(*bmcs.BMC)]}
SMT = {"bios": {"smt": "Enabled"}}
SMI = {"tool": "amd-smi 26.0.2", "bad_page_threshold_exceeded": False}
NO_SMI = tuple((f"gpus.{number}.smi", None) for number in range(8))
MIXED = {"subset": "smi", "subject": "amd-smi", "reason": "amd_smi_mixed_versions: command 7.1.1, library 7.0.1"}
ENTRY = {"kernel": "6.1.0-40-amd64", "cmdline": ["iommu=pt", "pcie_aspm=off"], "default": True, "rescue": False}
SHADOW = [{"name": "rocminfo", "version": "5.7.1-3", "why": "not AMD's, but of Debian ROCm Team"}]
UPGRADES = {"name": "unattended-upgrades", "file": "/etc/apt/apt.conf.d/20auto-upgrades", "excludes": [], "amd": True}
UBUNTU = (
    ("node.os", {"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04.5 LTS"}),
    ("node.kernel.next_boot", "6.8.0-45-generic"),
)
TO_624 = {"rocm": "6.2.4", "driver": "6.2.4"}
TO_644 = {"rocm": "6.4.4", "driver": "6.4.4"}
TO_641 = {"rocm": "6.4.1", "driver": "6.4.1"}
MI325X = {"product": "MI325X", "wants": {"rocm": "7.2.2", "driver": "30.30.2"}, "node": {"device_id": "74a5"}}


def bundle(value: str) -> tuple[tuple[Any, Any], ...]:
    """Changes: the bundle of every GPU, as amd-smi tells it."""
    row = {"scheme": "dotted", "value": value, "sources": {"amd-smi": value}}
    return tuple((f"gpus.{number}.firmware.pldm_bundle", row) for number in range(8))


CASES: dict[str, dict[str, Case | str]] = {
    "rocm.active": {
        "pass": HEALTHY,
        "fail": old(),
        "unknown": seen(("rocm.active", None)),
    },
    "driver.loaded": {
        "pass": HEALTHY,
        "fail": old(),
        "unknown": seen(("driver.version", None)),
    },
    "cmdline.live": {
        "pass": HEALTHY,
        "fail": seen(("node.kernel.cmdline", ["root=/dev/sda1"])),
        "unknown": seen(("node.kernel.cmdline", None)),
    },
    "cmdline.next_boot": {
        "pass": HEALTHY,
        "fail": seen(("node.kernel.next_boot_cmdline", ["root=/dev/sda1"])),
        "unknown": seen(("node.kernel.next_boot_cmdline", None)),
    },
    "module.options": {
        "pass": HEALTHY,
        "fail": seen(("settings.module_options.amdgpu", {})),
        "unknown": seen(("settings.module_options", None)),
    },
    "sysctl": {
        "pass": HEALTHY,
        "fail": seen((("settings", "sysctl", "kernel.numa_balancing"), "1")),
        "unknown": seen((("settings", "sysctl", "kernel.numa_balancing"), None)),
    },
    "firmware.target": {
        "pass": behind(bmcs.told(bmcs.entry(*bmcs.BMC)), **FIRMWARE),
        "fail": behind(bmcs.told(bmcs.entry("bmc", "2.14.0")), **FIRMWARE),
        "unknown": behind(bmcs.told(bmcs.entry("bmc", None)), **FIRMWARE),
    },
    "bios.target": {
        "pass": behind(bmcs.settings(bmcs.item("Enabled", "Enabled")), **SMT),
        "fail": behind(bmcs.settings(bmcs.item("Disabled", "Enabled")), **SMT),
        "unknown": behind(bmcs.silent("bmc_unreachable", "bios"), **SMT),
    },
    "facts.schema": {
        "pass": HEALTHY,
        "fail": "facts of another form are not known to be wrong: they are not understood",
        "unknown": seen(("schema", 2)),
    },
    "facts.privilege": {
        "pass": HEALTHY,
        "fail": "what could not be seen is not known to be wrong",
        "unknown": seen(("problems", KEPT)),
    },
    "product.known": {
        "pass": HEALTHY,
        "fail": "a product that is not known is not known to be wrong",
        "unknown": seen(("gpus.2.device_id", "7551")),
    },
    "gpu.count": {
        "pass": HEALTHY,
        "fail": seen(node={"count": 7}),
        "unknown": seen(node={"device_id": "75a8"}, product="MI350P", wants={"rocm": "7.2.4", "driver": "30.30.3"}),
    },
    "gpu.identity": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.unique_id", f"{0x9001:016x}")),
        "unknown": seen(("gpus.2.unique_id", None)),
    },
    "gpu.initialised": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.initialised", False)),
        "unknown": seen(("gpus.2.initialised", None)),
    },
    "link.speed": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.link.3.speed_gts", 16.0)),
        "unknown": seen(("gpus.2.link.3.speed_gts", None)),
    },
    "link.width": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.link.3.width", 8)),
        "unknown": seen(("gpus.2.link.3.width", None)),
    },
    "health.aer": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.aer.fatal", 1)),
        "unknown": seen(("gpus.2.aer", None)),
    },
    "health.ras": {
        "pass": HEALTHY,
        "fail": seen(("gpus.2.ras.umc.ue", 2)),
        "unknown": seen(("gpus.2.ras", None)),
    },
    "log.fatal": {
        "pass": HEALTHY,
        "fail": seen(("log.signatures", line("ring_timeout"))),
        "unknown": seen(("log.signatures", None)),
    },
    "packages.whole": {
        "pass": HEALTHY,
        "fail": seen(("driver.packages.amdgpu-dkms.state", "half-configured")),
        "unknown": seen(("rocm.packages", None)),
    },
    "driver.next_boot": {
        "pass": HEALTHY,
        "fail": seen(("driver.ready_for_next_boot", False)),
        "unknown": seen(("driver.ready_for_next_boot", None)),
    },
    "product.wanted": {
        "pass": HEALTHY,
        "fail": seen(node={"device_id": "75a0"}),
        "unknown": "a node without a product is told by product.known",
    },
    "product.min_rocm": {
        "pass": HEALTHY,
        "fail": seen(node={"device_id": "75a3"}, product="MI355X", wants={"rocm": "6.4.4", "driver": "6.4.4"}),
        "unknown": seen(node={"device_id": "74a2"}, product="MI308X"),
    },
    "window.target": {
        "pass": HEALTHY,
        "fail": "a target outside of the window is refused when it is read",
        "unknown": "a target that no list answers for is refused when it is read",
    },
    "path.stream": {
        "pass": old(),
        "fail": old(("rocm.active", "7.13.0")),
        "unknown": old(("rocm.active", None)),
    },
    "path.window": {
        "pass": old(),
        "fail": old(("rocm.active", "5.7.1"), ("driver.installed.release", "5.7.1")),
        "unknown": old(("rocm.active", None), ("driver.version", None)),
    },
    "disk.free": {
        "pass": old(),
        "fail": old(("node.free_bytes./opt", 10**8)),
        "unknown": old(("node.free_bytes./opt", None)),
    },
    "driver.pending": {
        "pass": HEALTHY,
        "warn": seen(("driver.version", "6.12.12")),
        "unknown": seen(("driver.loaded_is_installed", None)),
    },
    "window.now": {
        "pass": HEALTHY,
        "warn": old(("rocm.active", "5.7.1")),
        "unknown": seen(("driver.version", None)),
    },
    "product.verified": {
        "pass": HEALTHY,
        "warn": seen(node={"device_id": "75a8"}, product="MI350P", wants={"rocm": "7.2.4", "driver": "30.30.3"}),
        "unknown": "it asks the catalog, not the node",
    },
    "link.capability": {
        "pass": HEALTHY,
        "warn": seen(("gpus.2.link.3.max_width", 8), ("gpus.2.link.3.width", 8)),
        "unknown": "a path that cannot be read is told by link.speed",
    },
    "rocm.link": {
        "pass": HEALTHY,
        "warn": seen(("rocm.installed", ["6.4.4"])),
        "unknown": "what cannot be read is told by rocm.active",
    },
    "driver.stale_trees": {
        "pass": HEALTHY,
        "warn": seen(("driver.stale_trees", ["6.8.5-2041575.24.04"])),
        "unknown": seen(("driver.stale_trees", None)),
    },
    "packages.held": {
        "pass": HEALTHY,
        "warn": seen(("rocm.pins", [])),
        "unknown": seen(("rocm.pins", None)),
    },
    "cmdline.advice": {
        "pass": HEALTHY,
        "warn": seen(("node.kernel.cmdline", ["iommu=pt", "pcie_aspm=off", "mitigations=off"])),
        "unknown": "a command line that cannot be read is told by cmdline.live",
    },
    "cmdline.realloc": {
        "pass": HEALTHY,
        "warn": seen(("settings.sriov_capable", False)),
        "unknown": seen(("settings.sriov_capable", None)),
    },
    "aspm": {
        "pass": HEALTHY,
        "warn": seen(("gpus.2.link.3.aspm.l1", True)),
        "unknown": seen(("gpus.2.link.3.aspm.l1", None)),
    },
    "idle.states": {
        "pass": HEALTHY,
        "warn": seen(("settings.idle.states", ["POLL", "C1"])),
        "unknown": seen(("settings.idle.states", None)),
    },
    "health.aer_path": {
        "pass": HEALTHY,
        "warn": seen(("gpus.2.link.3.aer.fatal", 1)),
        "unknown": "many ports have no counters of their own, which is told in the facts",
    },
    "health.bad_pages": {
        "pass": HEALTHY,
        "warn": seen(("gpus.2.bad_pages", 3)),
        "unknown": seen(("gpus.2.bad_pages", None)),
    },
    "log.read": {
        "pass": HEALTHY,
        "warn": seen(("log.complete", False)),
        "unknown": seen(("log", None)),
    },
    "log.warnings": {
        "pass": HEALTHY,
        "warn": seen(("log.signatures", line("aer_corrected"))),
        "unknown": "a log that cannot be read is told by log.read",
    },
    "log.previous": {
        "pass": HEALTHY,
        "warn": seen(("log.previous", {"signatures": line("ring_timeout")})),
        "unknown": "the log of the boot before is read only where it is asked for",
    },
    "gpu.holders": {
        "pass": HEALTHY,
        "warn": seen(("holders", [{"pid": 812, "command": "python3", "device": "/dev/kfd", "container": None}])),
        "unknown": seen(("holders", None)),
    },
    "firmware.files": {
        "pass": HEALTHY,
        "fail": seen(("driver.firmware_files", {"/lib/firmware/amdgpu": 0, "/lib/firmware/updates/amdgpu": 0})),
        "unknown": seen(("driver.firmware_files", None)),
    },
    "smi.gpus": {
        "pass": asked(SMI),
        "fail": asked(None),
        "unknown": "a tool that knows no GPU at all is told by smi.tool",
    },
    "smi.bad_pages": {
        "pass": asked(SMI),
        "fail": asked({**SMI, "bad_page_threshold_exceeded": True}),
        "unknown": asked({**SMI, "bad_page_threshold_exceeded": None}, ("gpus.2.bad_pages", 3)),
    },
    "driver.builds": {
        "pass": old(),
        "fail": old(("node.kernel.next_boot", "6.14.0-24-generic"), wants=TO_641),
        "unknown": old(("node.kernel.next_boot", None)),
    },
    "bmc.ready": {
        "pass": behind(bmcs.told(bmcs.entry("bmc", "2.14.0")), **FIRMWARE),
        "fail": behind({"address": False}, **FIRMWARE),
        "unknown": behind(bmcs.silent("bmc_unreachable"), **FIRMWARE),
    },
    "driver.kept_out": {
        "pass": HEALTHY,
        "fail": seen(("driver.next_boot.kept_out_by", ["/etc/modprobe.d/blacklist-amdgpu.conf: blacklist amdgpu"])),
        "unknown": seen(("driver.next_boot", None)),
    },
    "known_bad.target": {
        "pass": old(),
        "fail": old(*UBUNTU, wants=TO_624),
        "unknown": old(("node.os", None), ("node.kernel.next_boot", "6.8.0-45-generic"), wants=TO_624),
    },
    "known_bad.now": {
        "pass": HEALTHY,
        "warn": old(("rocm.active", "6.2.1")),
        "unknown": seen(("rocm.active", None)),
    },
    "waiver.expired": {
        "pass": waiving("2026-12-01"),
        "fail": waiving("2026-11-30"),
        "unknown": "without a date no waiver holds, and what it would let through is told as it is",
    },
    "os.supported": {
        "pass": old(wants=TO_644),
        "warn": old(("node.os", {"id": "debian", "version": "11", "name": "Debian 11"}), wants=TO_644),
        "unknown": old(("node.os", None), wants=TO_644),
    },
    "kernel.supported": {
        "pass": old(wants=TO_644),
        "warn": old(*UBUNTU, wants=TO_624),
        "unknown": old(("node.kernel.next_boot", None), wants=TO_644),
    },
    "firmware.pair": {
        "pass": seen(*bundle("01.25.06.08"), **MI325X),
        "fail": seen(*bundle("01.25.04.01"), **MI325X),
        "unknown": asked(SMI)._replace(**{**MI325X, "changes": asked(SMI).changes}),
    },
    "firmware.known": {
        "pass": seen(*bundle("01.25.06.08"), **MI325X),
        "warn": "what is known is judged by firmware.pair",
        "unknown": seen(**MI325X),
    },
    "firmware.uniform": {
        "pass": HEALTHY,
        "warn": seen(("gpus.2.vbios", "113-M3000100-103")),
        "unknown": seen(("gpus.2.firmware", None)),
    },
    "smi.tool": {
        "pass": asked(SMI),
        "warn": seen(("problems", [MIXED])),
        "unknown": seen(*NO_SMI),
    },
    "load.watched": {
        "pass": seen(("gpus", [])),
        "warn": "an audit starts no load, so there is nothing to warn of",
        "unknown": HEALTHY,
    },
    "rocm.leftovers": {
        "pass": HEALTHY,
        "warn": seen(("rocm.leftovers", ["/opt/rocm-6.4.1"])),
        "unknown": seen(("rocm.leftovers", None)),
    },
    "build.headers": {
        "pass": old(),
        "fail": old(("driver.build.headers", False)),
        "unknown": old(("driver.build", None)),
    },
    "build.tools": {
        "pass": old(),
        "fail": old(("driver.build.compilers", [])),
        "unknown": old(("driver.build", None)),
    },
    "secure_boot.key": {
        "pass": old(),
        "fail": old(("node.secure_boot", True), ("driver.build.key_enrolled", False)),
        "unknown": old(("node.secure_boot", True)),
    },
    "secure_boot.module": {
        "pass": HEALTHY,
        "fail": seen(("node.secure_boot", True)),
        "unknown": seen(("node.secure_boot", True), ("driver.next_boot.signed", None)),
    },
    "driver.compute_device": {
        "pass": HEALTHY,
        "fail": seen(("driver.compute_device", False)),
        "unknown": seen(("driver.compute_device", None)),
    },
    "driver.initramfs": {
        "pass": HEALTHY,
        "warn": seen(("driver.next_boot.initramfs.older_than_module", True)),
        "unknown": seen(("driver.next_boot.initramfs.older_than_module", None)),
    },
    "packages.manager": {
        "pass": old(),
        "fail": old(("rocm.manager", "dnf")),
        "unknown": old(("rocm.manager", None)),
    },
    "packages.shadowing": {
        "pass": HEALTHY,
        "fail": seen(("rocm.shadowing", SHADOW), ("rocm.pins", [])),
        "unknown": seen(("rocm.shadowing", None)),
    },
    "packages.lock": {
        "pass": HEALTHY,
        "warn": seen(("rocm.lock_holder", {"pid": 812, "path": "/var/lib/dpkg/lock-frontend"})),
        "unknown": seen(("problems", [{"subset": "rocm", "subject": "/proc/locks", "reason": "EACCES"}])),
    },
    "packages.unattended": {
        "pass": seen(("rocm.unattended", [{**UPGRADES, "excludes": ["linux-", "rocm"]}])),
        "warn": seen(("rocm.unattended", [UPGRADES])),
        "unknown": seen(("rocm.unattended", None)),
    },
    "repository.mismatch": {
        "pass": HEALTHY,
        "warn": seen(("rocm.repositories.0.mismatch", "focal, the node runs jammy")),
        "unknown": seen(("rocm.repositories", None)),
    },
    "containers.window": {
        "pass": old(wants={"containers": [{"image": "vllm", "rocm": "7.0.2"}]}),
        "fail": old(wants={"containers": [{"image": "old", "rocm": "5.7.1"}]}),
        "unknown": "a release that the catalog does not know is refused when the target is read",
    },
    "cmdline.every_entry": {
        "pass": HEALTHY,
        "warn": seen(("node.boot_entries", [ENTRY, {**ENTRY, "kernel": "6.1.0-39-amd64", "cmdline": ["iommu=pt"]}])),
        "unknown": seen(("node.boot_entries", None)),
    },
    "cmdline.new_kernels": {
        "pass": seen(("node.kernel.new_kernels_cmdline", ["iommu=pt", "pcie_aspm=off"])),
        "warn": seen(("node.kernel.new_kernels_cmdline", ["root=/dev/sda1", "ro"])),
        "unknown": seen(("problems", [{"subset": "node", "subject": "/etc/kernel/cmdline", "reason": "EACCES"}])),
    },
    "cmdline.at_reboot": {
        "pass": HEALTHY,
        "warn": seen(("node.kernel.next_boot_cmdline", ["iommu=pt", "pcie_aspm=off", "nosmt"])),
        "unknown": seen(("node.kernel.next_boot_cmdline", None)),
    },
    "cmdline.required": {
        "pass": HEALTHY,
        "warn": seen(("node.kernel.next_boot_cmdline", ["pcie_aspm=off"])),
        "unknown": seen(("node.kernel.next_boot_cmdline", None)),
    },
    "settings.advice": {
        "pass": HEALTHY,
        "warn": seen(("settings.numa_balancing", 1)),
        "unknown": seen(("settings.iommu.present", None)),
    },
}
