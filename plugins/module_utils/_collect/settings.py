# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the kernel that bear on GPUs: in effect now, and what each layer says about them."""

from __future__ import annotations

from collections import Counter

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of, missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.cpu import CPUS, boost, flag, governors, idle
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.layers import layers
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import (
    Reading,
    bracketed,
    whole_number,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "settings"
SYSCTLS = (
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "vm.compact_unevictable_allowed",
    "vm.compaction_proactiveness",
    "vm.swappiness",
)
PARAMETERS = (
    "aspm",
    "bad_page_threshold",
    "dpm",
    "gpu_recovery",
    "lockup_timeout",
    "noretry",
    "pcie_gen_cap",
    "pcie_lane_cap",
    "ras_enable",
    "reset_method",
    "runpm",
)

_MODPROBE = "/etc/modprobe.d"
_MODULE = "/sys/module/amdgpu"
_IOMMUS = "/sys/class/iommu"


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``settings`` part of the facts."""
    reading = Reading(host, problems, SUBSET)
    cmdline = reading.parsed("/proc/cmdline", tokens)
    sysctl = {key: _sysctl(reading, key) for key in SYSCTLS}
    numa = sysctl["kernel.numa_balancing"]
    facts = {
        "aspm": {
            "policy": reading.parsed("/sys/module/pcie_aspm/parameters/policy", bracketed),
            "cmdline_off": None if cmdline is None else not missing(["pcie_aspm=off"], cmdline),
        },
        "iommu": _iommu(host, reading, cmdline),
        "idle": idle(reading),
        "numa_balancing": None if numa is None else whole_number(numa),
        "thp": reading.parsed("/sys/kernel/mm/transparent_hugepage/enabled", bracketed),
        "smt_active": flag(reading, f"{CPUS}/smt/active"),
        "smt_control": reading.text(f"{CPUS}/smt/control"),
        "boost": boost(reading),
        "governors": governors(reading),
        "sriov_capable": _sriov(host, reading),
        "module_options": _module_options(reading),
        "module_parameters": _module_parameters(host, reading),
        "sysctl": sysctl,
    }
    facts["layers"] = layers(reading, _live(facts), cmdline, facts["module_options"])
    reading.tell_absent("not there")
    return {"settings": facts}


def _sysctl(reading: Reading, key: str) -> str | None:
    """A value as text, its blanks as one each."""
    value: str | None = reading.parsed(
        f"/proc/sys/{key.replace('.', '/')}", lambda text: " ".join(text.split()) or None
    )
    if key == "kernel.numa_balancing" and value is not None and whole_number(value) is None:
        reading.problem(key, f"not understood: {value[:60]!r}")
    return value


def _live(facts: dict) -> dict[str, str | None]:
    """What is in effect, as text, of the settings that have layers."""
    return {
        "aspm": facts["aspm"]["policy"],
        "idle": _idle_in_effect(facts["idle"]),
        "iommu": ", ".join(facts["iommu"]["group_types"]) or None,
        "numa_balancing": facts["sysctl"]["kernel.numa_balancing"],
        "smt": facts["smt_control"],
        "thp": facts["thp"],
    }


def _gpus(host: Host) -> list[str]:
    try:
        return gpu_addresses(host)
    except Unreadable:
        return []


def _idle_in_effect(seen: dict) -> str | None:
    if seen["states"] is None or seen["disabled"] is None:
        return None
    left = [name for name in seen["states"] if name and name not in seen["disabled"]]
    return f"{seen['driver']}: {', '.join(left) or 'no states'}"


def _iommu(host: Host, reading: Reading, cmdline: list[str] | None) -> dict:
    types = Counter(kind for kind in (_group_type(host, bdf) for bdf in _gpus(host)) if kind)
    return {
        "passthrough": _passthrough(reading, set(types), cmdline),
        "group_types": dict(sorted(types.items())),
        "present": _is_present(host, reading),
    }


def _passthrough(reading: Reading, types: set[str], cmdline: list[str] | None) -> bool | None:
    """True where the GPUs' own IOMMU groups pass everything through; the command line speaks where no group does."""
    if types:
        return types == {"identity"}
    if cmdline is not None and not missing(["iommu=pt"], cmdline):
        return True
    reading.problem("iommu", "no GPU is in an IOMMU group, and the command line does not say iommu=pt")
    return None


def _is_present(host: Host, reading: Reading) -> bool | None:
    """True where the kernel drives an IOMMU at all."""
    try:
        return bool(host.list(_IOMMUS))
    except Unreadable as error:
        if error.missing:
            return False
        reading.problem(_IOMMUS, error.seen)
        return None


def _group_type(host: Host, bdf: str) -> str | None:
    try:
        return host.read(f"{DEVICES}/{bdf}/iommu_group/type").strip()
    except Unreadable:
        return None


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


def _module_parameters(host: Host, reading: Reading) -> dict[str, dict[str, str | None] | None]:
    """Parameters that the loaded module runs with, of those that bear on GPUs; no module, no entry."""
    if not host.exists(_MODULE):
        return {}
    names = reading.names(f"{_MODULE}/parameters")
    if names is None:
        return {"amdgpu": None}
    # An empty value is a value: the module runs with its own.
    values = {name: reading.raw(f"{_MODULE}/parameters/{name}") for name in PARAMETERS if name in names}
    return {"amdgpu": {name: None if value is None else value.strip() for name, value in values.items()}}
