# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet with all kinds of trouble, as large as wanted: most nodes are well, the rest each have something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    change,
    facts,
    target_document,
    write_target,
)

PRODUCTS = {"MI300X": ("74a1", 32.0), "MI325X": ("74a5", 32.0), "MI210": ("740f", 16.0)}
AT = "2026-12-01T04:30:00Z"
HALF = {"amdgpu-dkms": {"version": "1:6.12.12", "state": "half-configured", "hold": True}}
# What is wrong with one node out of twelve: a path of the facts and what stands there instead.
FAULTS = (
    [("gpus.2.link.0.speed_gts", 16.0), ("gpus.2.link.0.samples_gts", [16.0])],
    [("gpus.5.link.0.width", 8)],
    [("gpus.1.ras", {"umc": {"ue": 3, "ce": 17}})],
    [("gpus.0.link.0.speed_gts", None), ("gpus.0.link.0.samples_gts", [None])],
    [(f"gpus.{number}.bad_pages", 4 + number) for number in range(8)],
    [("rocm.packages", HALF), ("driver.packages", HALF)],
    [("node.free_bytes", {"/": 10**9, "/boot": 10**7, "/opt": 10**9, "/var": 10**9})],
    [(f"gpus.{number}.aer.correctable", 90 + number) for number in range(8)],
    [("driver.loaded", None), ("driver.version", None), ("driver.loaded_is_installed", None)],
    [("gpus.3.vbios", "113-M3000100-103"), ("settings.iommu.passthrough", False)],
    [(f"gpus.{number}.initialised", False) for number in range(8)],
)


class Fleet(Mapping):
    """Facts by node, made when they are asked for and not kept, as a reader of files would."""

    def __init__(self, count: int) -> None:
        self.names = [f"g{number:04d}" for number in range(1, count + 1)]
        self.numbers = {name: number for number, name in enumerate(self.names)}

    def __getitem__(self, node):
        return node_facts(self.numbers[node], node)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def node_facts(number, node):
    """Facts of the node with this number; every twelfth of a product has the next fault of the list."""
    device, speed = list(PRODUCTS.values())[number // 8 % 5 % 3]
    seen = facts(node, NEW if number % 7 == 0 else OLD, device_id=device, speed=speed)
    for path, value in FAULTS[number // 12 % len(FAULTS)] if number % 12 == 5 else ():
        seen = change(seen, path, value)
    return seen


def load(folder):
    """The target of the fleet, and the catalog."""
    catalog = load_catalog()
    wanted = {name: {"rocm": NEW[0], "driver": NEW[1], "kernel": {"cmdline": ["iommu=pt"]}} for name in PRODUCTS}
    return load_target(write_target(folder, target_document(**wanted)), catalog), catalog


def judged(fleet, target, catalog):
    """Records of the fleet by node; one node of ninety does not answer."""
    records = {}
    for number, node in enumerate(fleet):
        rack = f"r{number // 8 + 1:03d}"
        if number % 90 == 40:
            records[node] = unreachable_record(node, "no route to host", rack, "run", AT, "MI300X")
        else:
            records[node] = judge(fleet[node], target, catalog, node, rack, "run", AT)
    return records
