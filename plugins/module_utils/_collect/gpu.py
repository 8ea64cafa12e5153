# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each GPU is, which driver owns it, and what it runs: identity, partition."""

from __future__ import annotations

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
_TEXTS = {"serial": "serial_number", "unique_id": "unique_id"}
_PCI_IDS = {
    "vendor_id": "vendor",
    "device_id": "device",
    "subsystem_vendor_id": "subsystem_vendor",
    "subsystem_id": "subsystem_device",
    "class": "class",
}


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``gpus`` part of the facts; memory in bytes.

    :raises Unreadable: where the bus cannot be read.
    """
    addresses = gpu_addresses(host)
    computing = _kfd_locations(host) if addresses else None
    return {"gpus": [_gpu(Reading(host, problems, SUBSET, bdf), bdf, computing) for bdf in addresses]}


def _gpu(reading: Reading, bdf: str, computing: set[tuple[int, int]] | None) -> dict:
    device = f"{DEVICES}/{bdf}"
    driver = _driver(reading, device)
    facts: dict[str, Any] = {"bdf": bdf, "driver": driver, "kind": _kind(reading.host, bdf)}
    facts["initialised"] = driver == "amdgpu" and _serves(reading.host, bdf, computing)
    facts.update({key: reading.parsed(f"{device}/{name}", hexadecimal, name) for key, name in _PCI_IDS.items()})
    facts["numa_node"] = reading.parsed(f"{device}/numa_node", _numa_node, "numa_node")
    reading.tell_absent("not there")
    facts.update(_told_by_driver(reading, device))
    reading.tell_absent("not there" if driver == "amdgpu" else f"not known while {driver or 'no driver'} is bound")
    return facts


def _driver(reading: Reading, device: str) -> str | None:
    try:
        return reading.host.readlink(f"{device}/driver").rsplit("/", 1)[-1]
    except Unreadable as error:
        # A device without this link has no driver: that is an answer, not a problem.
        if not error.missing:
            reading.problem("driver", error.seen)
        return None


def _told_by_driver(reading: Reading, device: str) -> dict:
    facts: dict[str, Any] = {key: reading.text(f"{device}/{name}", name) for key, name in _TEXTS.items()}
    facts["memory_bytes"] = reading.parsed(f"{device}/mem_info_vram_total", whole_number, "mem_info_vram_total")
    facts["partition"] = {
        "compute": reading.text(f"{device}/current_compute_partition", "current_compute_partition"),
        "memory": reading.text(f"{device}/current_memory_partition", "current_memory_partition"),
    }
    level = "power_dpm_force_performance_level"
    facts["performance_level"] = reading.text(f"{device}/{level}", level)
    return facts


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


def _serves(host: Host, bdf: str, computing: set[tuple[int, int]] | None) -> bool:
    try:
        nodes = host.list(f"{DEVICES}/{bdf}/drm")
    except Unreadable:
        return False
    return bool(nodes) and (computing is None or _location(bdf) in computing)


def _location(bdf: str) -> tuple[int, int]:
    domain, bus, rest = bdf.split(":")
    return int(domain, 16), int(bus, 16) << 5 | int(rest.split(".")[0], 16)


def _kfd_locations(host: Host) -> set[tuple[int, int]] | None:
    """Domain, and bus and device as one number, of every GPU the compute driver serves; None where it tells none."""
    try:
        texts = [host.read(f"{_KFD_NODES}/{node}/properties") for node in host.list(_KFD_NODES)]
    except Unreadable:
        return None
    found = [dict(line.split(" ", 1) for line in text.splitlines() if " " in line) for text in texts]
    # A partition of a GPU is a node of its own: it says which one in the bits of the function.
    return {
        (whole_number(node.get("domain", "0")) or 0, (whole_number(node["location_id"]) or 0) >> 3)
        for node in found
        if node.get("vendor_id", "0").strip() == "4098" and "location_id" in node
    }
