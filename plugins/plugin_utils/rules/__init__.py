# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules, in one table. A rule is a small function of a Context; its name and what it decides stand here."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import (
    advice,
    aspm,
    bmc,
    boot,
    build,
    firmware,
    hardware,
    health,
    idle,
    links,
    loading,
    log,
    packages,
    paths,
    preconditions,
    privilege,
    settings,
    smi,
    systems,
    versions,
    waivers,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Rule

_IDS = "pci.ids of 2026-08-22; AMD's Linux driver"
_LINK = (
    "AMD system acceptance guide, PCIe checks; PCI Express base specification (8.0 GT/s is Gen3, 16.0 Gen4, 32.0 Gen5)"
)
_MATRIX = "AMD's compatibility matrix of user space and driver"
_FIRMWARE = "AMD's table of drivers and firmware"
_SYSTEMS = "AMD's compatibility matrix of operating systems and kernels"
_BAD = "reports and advisories of AMD and its users"
_SMI = "AMD SMI"
_TARGET = "the target file"
_LOG = "the messages of the kernel and of AMD's Linux driver"
_BIOS = "AMD system acceptance guide, BIOS settings (2026-07-10)"
_KERNEL = "AMD system acceptance guide, kernel parameters (2026-07-10)"
_INSTALL = "AMD's installation guide for ROCm and the driver"
_PRACTICE = "practice of this collection"

DECIDING, ADVISORY = True, False

# Compliance comes first: what it finds tells the transition rules whether there is anything to move.
RULES: tuple[Rule, ...] = (
    Rule("rocm.active", "compliance", DECIDING, _TARGET, versions.rocm_active),
    Rule("driver.loaded", "compliance", DECIDING, _TARGET, versions.driver_loaded),
    Rule("cmdline.live", "compliance", DECIDING, _TARGET, settings.cmdline_live),
    Rule("cmdline.next_boot", "compliance", DECIDING, _TARGET, settings.cmdline_next_boot),
    Rule("module.options", "compliance", DECIDING, _TARGET, settings.module_options),
    Rule("sysctl", "compliance", DECIDING, _TARGET, settings.sysctl),
    Rule("firmware.target", "compliance", DECIDING, _TARGET, bmc.firmware),
    Rule("bios.target", "compliance", DECIDING, _TARGET, bmc.bios),
    Rule("facts.schema", "health", DECIDING, _PRACTICE, health.schema),
    Rule("facts.privilege", "health", DECIDING, _PRACTICE, privilege.nothing_kept),
    Rule("product.known", "health", DECIDING, _IDS, hardware.product_known),
    Rule("gpu.count", "health", DECIDING, _IDS, hardware.gpu_count),
    Rule("gpu.identity", "health", DECIDING, _PRACTICE, hardware.gpu_identity),
    Rule("gpu.initialised", "health", DECIDING, _PRACTICE, hardware.gpu_initialised),
    Rule("link.speed", "health", DECIDING, _LINK, links.speed),
    Rule("link.width", "health", DECIDING, _LINK, links.width),
    Rule("health.aer", "health", DECIDING, "the kernel's documentation of aer_dev_*", health.aer),
    Rule("health.ras", "health", DECIDING, "AMD's Linux driver, RAS counters", health.ras),
    Rule("log.fatal", "health", DECIDING, _LOG, log.fatal),
    Rule("packages.whole", "health", DECIDING, _PRACTICE, packages.whole),
    Rule("driver.next_boot", "health", DECIDING, _INSTALL, packages.next_boot),
    Rule("driver.compute_device", "health", DECIDING, _INSTALL, loading.compute_device),
    Rule("secure_boot.module", "health", DECIDING, _INSTALL, build.signature),
    Rule("firmware.files", "health", DECIDING, "AMD's Linux driver", firmware.files),
    Rule("smi.gpus", "health", DECIDING, _SMI, smi.gpus),
    Rule("smi.bad_pages", "health", DECIDING, _SMI, smi.threshold),
    Rule("product.wanted", "transition", DECIDING, _TARGET, hardware.product_wanted),
    Rule("product.min_rocm", "transition", DECIDING, _MATRIX, paths.product_min),
    Rule("window.target", "transition", DECIDING, _MATRIX, paths.window_target),
    Rule("path.stream", "transition", DECIDING, "AMD's release notes of 7.9 and 7.14", paths.path_stream),
    Rule("path.window", "transition", DECIDING, _MATRIX, paths.path_window),
    Rule("driver.builds", "transition", DECIDING, _BAD, systems.driver_builds),
    Rule("firmware.pair", "transition", DECIDING, _FIRMWARE, firmware.pair),
    Rule("bmc.ready", "transition", DECIDING, _TARGET, bmc.ready),
    Rule("driver.kept_out", "transition", DECIDING, _INSTALL, loading.kept_out),
    Rule("known_bad.target", "transition", DECIDING, _BAD, systems.known_bad_target),
    Rule("waiver.expired", "transition", DECIDING, "the policy", waivers.expired),
    Rule("build.headers", "transition", DECIDING, _INSTALL, build.headers),
    Rule("build.tools", "transition", DECIDING, _INSTALL, build.tools),
    Rule("secure_boot.key", "transition", DECIDING, _INSTALL, build.signing_key),
    Rule("packages.manager", "transition", DECIDING, _PRACTICE, preconditions.manager),
    Rule("packages.shadowing", "transition", DECIDING, _INSTALL, preconditions.shadowing),
    Rule("containers.window", "transition", DECIDING, _MATRIX, preconditions.containers),
    Rule("disk.free", "transition", DECIDING, _PRACTICE, packages.space),
    Rule("os.supported", "transition", ADVISORY, _SYSTEMS, systems.os_supported, "require_listed_os"),
    Rule("kernel.supported", "transition", ADVISORY, _SYSTEMS, systems.kernel_supported, "require_listed_os"),
    Rule("firmware.known", "transition", ADVISORY, _FIRMWARE, firmware.known, "require_listed_firmware"),
    Rule("driver.pending", "transition", ADVISORY, _INSTALL, versions.pending_reboot),
    Rule("window.now", "transition", ADVISORY, _MATRIX, paths.window_now),
    Rule("known_bad.now", "health", ADVISORY, _BAD, systems.known_bad_now),
    Rule("firmware.uniform", "health", ADVISORY, _PRACTICE, firmware.uniform),
    Rule("smi.tool", "health", ADVISORY, _SMI, smi.tool),
    Rule("load.watched", "health", ADVISORY, _PRACTICE, smi.under_load),
    Rule("product.verified", "health", ADVISORY, _IDS, hardware.product_verified),
    Rule("link.capability", "health", ADVISORY, _LINK, links.capability),
    Rule("rocm.link", "health", ADVISORY, _INSTALL, versions.active_is_the_package),
    Rule("driver.stale_trees", "transition", ADVISORY, "ROCm issue 3701 (AMD's answer)", packages.stale_trees),
    Rule("rocm.leftovers", "health", ADVISORY, _INSTALL, packages.leftovers),
    Rule("packages.held", "health", ADVISORY, _INSTALL, packages.held),
    Rule("packages.lock", "transition", ADVISORY, _PRACTICE, preconditions.lock),
    Rule("packages.unattended", "transition", ADVISORY, _INSTALL, preconditions.unattended),
    Rule("repository.mismatch", "transition", ADVISORY, _INSTALL, preconditions.repositories),
    Rule("driver.initramfs", "health", ADVISORY, _INSTALL, loading.initramfs),
    Rule("cmdline.every_entry", "compliance", ADVISORY, _TARGET, boot.every_entry),
    Rule("cmdline.new_kernels", "compliance", ADVISORY, _TARGET, boot.new_kernels),
    Rule("cmdline.at_reboot", "health", ADVISORY, _PRACTICE, boot.at_reboot),
    Rule("cmdline.required", "health", ADVISORY, _KERNEL, advice.cmdline_required),
    Rule("settings.advice", "health", ADVISORY, _BIOS, advice.settings),
    Rule("cmdline.advice", "compliance", ADVISORY, _KERNEL, settings.cmdline_advice),
    Rule("cmdline.realloc", "health", ADVISORY, _KERNEL, settings.realloc),
    Rule("aspm", "health", ADVISORY, _BIOS, aspm.aspm),
    Rule("idle.states", "health", ADVISORY, _BIOS, idle.states),
    Rule("health.aer_path", "health", ADVISORY, "the kernel's documentation of aer_dev_*", health.aer_path),
    Rule("health.bad_pages", "health", ADVISORY, "AMD's Linux driver, RAS counters", health.bad_pages),
    Rule("log.read", "health", ADVISORY, _PRACTICE, log.read),
    Rule("log.warnings", "health", ADVISORY, _LOG, log.warnings),
    Rule("log.previous", "health", ADVISORY, _LOG, log.previous),
    Rule("gpu.holders", "transition", ADVISORY, _PRACTICE, health.holders),
)
