# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each GPU is, which driver owns it, and what it runs: identity, partition."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import (
    DEVICES,
    gpu_addresses,
    path_to_root,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import (
    Reading,
    hexadecimal,
    whole_number,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "gpu"

_KFD_NODES = "/sys/class/kfd/kfd/topology/nodes"
_AMD_OF_KFD = 0x1002
_PCI_IDS = {
    "vendor_id": "vendor",
    "device_id": "device",
    "subsystem_vendor_id": "subsystem_vendor",
    "subsystem_id": "subsystem_device",
    "class": "class",
}
_PARTITION = {"compute": "current_compute_partition", "memory": "current_memory_partition"}
_MODES = {"compute_modes": "available_compute_partition", "memory_modes": "available_memory_partition"}

# How many nodes the compute driver has by domain, and bus and device as one number.
_Nodes = Counter[tuple[int, int]]


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``gpus`` part of the facts; memory in bytes.

    :raises Unreadable: where the bus cannot be read.
    """
    addresses = gpu_addresses(host)
    computing, silent = None, ""
    try:
        computing = _kfd_nodes(host) if addresses else None
    except Unreadable as error:
        silent = f"{error.subject}: {error.seen}"
    return {"gpus": [_gpu(Reading(host, problems, SUBSET, bdf), bdf, computing, silent) for bdf in addresses]}


def _gpu(reading: Reading, bdf: str, computing: _Nodes | None, silent: str) -> dict:
    """One row; ``silent`` says why the nodes of the compute driver cannot be counted though there are some."""
    device = f"{DEVICES}/{bdf}"
    driver = _link_name(reading, device, "driver")
    nodes = _drm_nodes(reading.host, device)
    compute_nodes = None if computing is None else computing[_location(bdf)]
    facts: dict[str, Any] = {"bdf": bdf, "driver": driver, "kind": _kind(reading.host, bdf)}
    serves = driver == "amdgpu" and bool(nodes) and compute_nodes != 0
    facts["initialised"] = None if serves and silent else serves
    facts["physical_function"] = _link_name(reading, device, "physfn")
    facts["virtual_functions"] = _virtual_functions(reading, device)
    facts.update({key: reading.parsed(f"{device}/{name}", hexadecimal, name) for key, name in _PCI_IDS.items()})
    facts["numa_node"] = reading.parsed(f"{device}/numa_node", _numa_node, "numa_node")
    facts["render_nodes"] = [name for name in nodes if name.startswith("renderD")]
    facts["compute_nodes"] = compute_nodes
    if computing is None and (driver == "amdgpu" or silent):
        reading.problem("compute_nodes", silent or "the compute driver lists no nodes")
    reading.tell_absent("not there")
    facts.update(_told_by_driver(reading, device))
    reading.tell_absent("not there" if driver == "amdgpu" else f"not known while {driver or 'no driver'} is bound")
    return facts


def _link_name(reading: Reading, device: str, name: str) -> str | None:
    try:
        return reading.host.readlink(f"{device}/{name}").rsplit("/", 1)[-1]
    except Unreadable as error:
        # A device without the link has no driver, or is no virtual function: that is an answer, not a problem.
        if not error.missing:
            reading.problem(name, error.seen)
        return None


def _drm_nodes(host: Host, device: str) -> list[str]:
    try:
        return host.list(f"{device}/drm")
    except Unreadable:
        return []


def _virtual_functions(reading: Reading, device: str) -> dict[str, int | None]:
    # The kernel shows these files for each function that has the capability, so without them none is possible.
    if not reading.host.exists(f"{device}/sriov_totalvfs"):
        return {"possible": 0, "enabled": 0}
    names = {"possible": "sriov_totalvfs", "enabled": "sriov_numvfs"}
    return {key: reading.parsed(f"{device}/{name}", whole_number, name) for key, name in names.items()}


def _told_by_driver(reading: Reading, device: str) -> dict:
    facts: dict[str, Any] = {"serial": reading.text(f"{device}/serial_number", "serial_number")}
    facts["unique_id"] = reading.text(f"{device}/unique_id", "unique_id")
    facts["board"] = {name: reading.text(f"{device}/{name}", name) for name in ("product_name", "product_number")}
    facts["board"]["form"] = reading.parsed(f"{device}/board_info", _form, "board_info")
    facts["memory_bytes"] = reading.parsed(f"{device}/mem_info_vram_total", whole_number, "mem_info_vram_total")
    facts["partition"] = {key: reading.text(f"{device}/{name}", name) for key, name in _PARTITION.items()}
    facts["partition"].update({key: reading.parsed(f"{device}/{name}", _modes, name) for key, name in _MODES.items()})
    level = "power_dpm_force_performance_level"
    facts["performance_level"] = reading.text(f"{device}/{level}", level)
    return facts


def _form(text: str) -> str | None:
    kinds = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.split(":", 1)[0].strip() == "type"]
    return kinds[0] if kinds and kinds[0] not in ("", "unknown") else None


def _modes(text: str) -> list[str] | None:
    names = [name.strip() for name in text.replace(",", " ").split()]
    return names if names and all(name.isalnum() for name in names) else None


def _numa_node(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and number >= 0 else None


def _kind(host: Host, bdf: str) -> str:
    if host.exists(f"{DEVICES}/{bdf}/physfn"):
        return "vf"
    if host.exists(f"{DEVICES}/{bdf}/sriov_totalvfs"):
        return "pf"
    # Without a port above it the device was handed into a virtual machine, where both kinds look alike.
    return "pf" if len(path_to_root(host, bdf)) > 1 else "unknown"


def _location(bdf: str) -> tuple[int, int]:
    domain, bus, rest = bdf.split(":")
    return int(domain, 16), int(bus, 16) << 5 | int(rest.split(".")[0], 16)


def _kfd_nodes(host: Host) -> _Nodes | None:
    """How many nodes the compute driver has of each GPU, by its location; None where it lists none.

    :raises Unreadable: where one of the nodes does not say what it is, so that nothing can be counted.
    """
    try:
        names = host.list(_KFD_NODES)
    except Unreadable as error:
        if error.missing:
            return None
        raise
    return Counter(place for place in (_place_of(host, f"{_KFD_NODES}/{name}/properties") for name in names) if place)


def _place_of(host: Host, path: str) -> tuple[int, int] | None:
    """Domain, and bus and device as one number, of a node that is one of AMD's GPUs; None for a processor."""
    found = dict(line.split(" ", 1) for line in host.read(path).splitlines() if " " in line)
    simds, vendor = whole_number(found.get("simd_count", "")), whole_number(found.get("vendor_id", ""))
    if simds == 0 or vendor == 0:
        return None
    domain, place = whole_number(found.get("domain", "0")), whole_number(found.get("location_id", ""))
    if vendor is None or domain is None or place is None:
        raise Unreadable(path, "does not say which device it is")
    # A partition of a GPU is a node of its own: it says which one in the bits of the function.
    return (domain, place >> 3) if vendor == _AMD_OF_KFD else None
