# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each layer says about a setting: the kernel now, the command lines, and files that are read at boot."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import read_menu
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._sysctl import configured

_NUMA = "kernel.numa_balancing"
# Arguments of the command line by setting, as key_of() writes them. pcie_aspm.policy chooses among what pcie_aspm
# leaves to the kernel; the two are different arguments.
ARGUMENTS = {
    "aspm": ("pcie_aspm", "pcie_aspm.policy"),
    "idle": ("processor.max_cstate", "intel_idle.max_cstate", "idle", "cpuidle.off"),
    "iommu": ("iommu", "amd_iommu", "intel_iommu", "iommu.passthrough"),
    "numa_balancing": ("numa_balancing", f"sysctl.{_NUMA}"),
    "smt": ("nosmt", "mitigations"),
    "thp": ("transparent_hugepage",),
}


def layers(
    reading: Reading, live: dict[str, str | None], cmdline: list[str] | None, options: dict[str, dict[str, str]] | None
) -> dict[str, dict[str, str | None]]:
    """By setting, each layer as text: ``live``, ``cmdline``, ``next_boot`` and ``config`` (``file: value``).

    None where a layer does not say anything, or cannot be read, which has a row in ``problems``.

    :param live: by setting, what is in effect.
    :param options: what modprobe.d asks for, by module and parameter.
    """
    coming = next_cmdline(reading)
    config = {"numa_balancing": _sysctl(reading, _NUMA), "idle": _module_limit(options)}
    return {
        setting: {
            "live": live.get(setting),
            "cmdline": said(setting, cmdline),
            "next_boot": said(setting, coming),
            "config": config.get(setting),
        }
        for setting in ARGUMENTS
    }


def said(setting: str, cmdline: list[str] | None) -> str | None:
    """The arguments of a command line that bear on a setting, in order; None where there are none."""
    found = [token for token in cmdline or [] if key_of(token) in ARGUMENTS[setting]]
    # Of the mitigations only those that switch threads off bear on them.
    return " ".join(token for token in found if key_of(token) != "mitigations" or "nosmt" in token) or None


def next_cmdline(reading: Reading) -> list[str] | None:
    """Arguments of the next boot; None, with a row, where they cannot be told."""
    try:
        menu = read_menu(reading.host)
    except FleetError as error:
        reading.problem("next boot", str(error))
        return None
    if menu.next is None:
        reading.problem("next boot", menu.reason or "cannot be told")
        return None
    return menu.next.cmdline


def _sysctl(reading: Reading, key: str) -> str | None:
    try:
        found = configured(reading.host, (key,)).get(key)
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None
    return f"{found[0]}: {found[1]}" if found else None


def _module_limit(options: dict[str, dict[str, str]] | None) -> str | None:
    limit = (options or {}).get("processor", {}).get("max_cstate")
    return f"/etc/modprobe.d: processor max_cstate={limit}" if limit else None
