# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the kernel that bear on GPUs, as they are in effect now."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of, missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import (
    Reading,
    bracketed,
    whole_number,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "settings"

_CPUS = "/sys/devices/system/cpu"
_IDLE = f"{_CPUS}/cpu0/cpuidle"
_MODPROBE = "/etc/modprobe.d"


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``settings`` part of the facts; idle states are those of the first CPU."""
    reading = Reading(host, problems, SUBSET)
    cmdline = reading.parsed("/proc/cmdline", tokens)
    facts = {
        "aspm": {
            "policy": reading.parsed("/sys/module/pcie_aspm/parameters/policy", bracketed),
            "cmdline_off": None if cmdline is None else not missing(["pcie_aspm=off"], cmdline),
        },
        "iommu": {"passthrough": _passthrough(host, reading, cmdline)},
        "idle": _idle(reading),
        "numa_balancing": reading.parsed("/proc/sys/kernel/numa_balancing", whole_number),
        "thp": reading.parsed("/sys/kernel/mm/transparent_hugepage/enabled", bracketed),
        "smt_active": _flag(reading, f"{_CPUS}/smt/active"),
        "sriov_capable": _sriov(host, reading),
        "module_options": _module_options(reading),
    }
    reading.tell_absent("not there")
    return {"settings": facts}


def _gpus(host: Host) -> list[str]:
    try:
        return gpu_addresses(host)
    except Unreadable:
        return []


def _passthrough(host: Host, reading: Reading, cmdline: list[str] | None) -> bool | None:
    """True where the GPUs' own IOMMU groups pass everything through; the command line speaks where no group does."""
    types = {kind for kind in (_group_type(host, bdf) for bdf in _gpus(host)) if kind}
    if types:
        return types == {"identity"}
    if cmdline is not None and not missing(["iommu=pt"], cmdline):
        return True
    reading.problem("iommu", "no GPU is in an IOMMU group, and the command line does not say iommu=pt")
    return None


def _group_type(host: Host, bdf: str) -> str | None:
    try:
        return host.read(f"{DEVICES}/{bdf}/iommu_group/type").strip()
    except Unreadable:
        return None


def _idle(reading: Reading) -> dict:
    driver = reading.text(f"{_CPUS}/cpuidle/current_driver")
    folders = reading.names(_IDLE)
    if folders is None:
        return {"driver": driver, "states": None, "disabled": None}
    states = [name for name in folders if name.startswith("state")]
    names = {state: reading.text(f"{_IDLE}/{state}/name") for state in states}
    off = [names[state] for state in states if _flag(reading, f"{_IDLE}/{state}/disable")]
    return {"driver": driver, "states": [names[state] for state in states], "disabled": off}


def _flag(reading: Reading, path: str) -> bool | None:
    number = reading.parsed(path, whole_number)
    return None if number is None else number != 0


def _sriov(host: Host, reading: Reading) -> bool | None:
    gpus = _gpus(host)
    if not gpus:
        return None
    present = [bdf for bdf in gpus if host.exists(f"{DEVICES}/{bdf}/sriov_totalvfs")]
    return any(reading.parsed(f"{DEVICES}/{bdf}/sriov_totalvfs", whole_number) for bdf in present)


def _module_options(reading: Reading) -> dict[str, dict[str, str]] | None:
    """What modprobe.d asks for, by module and parameter; the later file and line win, as for modprobe."""
    names = reading.names(_MODPROBE) if reading.host.exists(_MODPROBE) else []
    if names is None:
        return None
    options: dict[str, dict[str, str]] = {"amdgpu": {}}
    for name in names:
        if name.endswith(".conf"):
            _add_options(options, reading.raw(f"{_MODPROBE}/{name}") or "")
    return options


def _add_options(options: dict[str, dict[str, str]], text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        words = tokens(line)
        if len(words) > 2 and words[0] == "options":
            module = options.setdefault(key_of(words[1]), {})
            module.update({key_of(word): word.partition("=")[2].strip('"') for word in words[2:]})
