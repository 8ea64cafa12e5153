# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI Express path of each GPU, hop by hop up to the root port.

A GPU that reports a full link may sit behind a port that runs slower, so every hop is read.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import (
    AMD,
    DEVICES,
    gpu_addresses,
    path_to_root,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import (
    Reading,
    hexadecimal,
    whole_number,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import parse_speed, parse_width

SUBSET = "link"

_BRIDGE = "0604"
# Functions of the switches on AMD's own boards that carry the CPU maker's vendor id.
_BOARD_SWITCHES = frozenset({"14a0", "14a1", "14c7", "14c8"})
_AMD_CPU = "1022"
_AER = {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}
_READINGS = {
    "speed_gts": ("current_link_speed", parse_speed),
    "width": ("current_link_width", parse_width),
    "max_speed_gts": ("max_link_speed", parse_speed),
    "max_width": ("max_link_width", parse_width),
}


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``link`` of each of the ``gpus``: speeds in GT/s, widths in lanes, the GPU first; and its ``aer`` counts."""
    return {"gpus": [_gpu(host, problems, bdf) for bdf in gpu_addresses(host)]}


def _gpu(host: Host, problems: list[dict], bdf: str) -> dict:
    reading = Reading(host, problems, SUBSET, bdf)
    aer = {name: _aer(reading, f"{DEVICES}/{bdf}", name, total) for name, total in _AER.items()}
    reading.tell_absent("not there")
    return {"bdf": bdf, "link": _path(host, problems, bdf), "aer": aer}


def _path(host: Host, problems: list[dict], gpu: str) -> list[dict]:
    path = path_to_root(host, gpu)
    aspm = Reading(host, problems, SUBSET, gpu)
    hops = [_hop(host, problems, path, bdf, aspm) for bdf in path]
    aspm.tell_absent("shows no ASPM state")
    return hops


def _hop(host: Host, problems: list[dict], path: list[str], bdf: str, aspm: Reading) -> dict:
    subject = bdf if bdf == path[0] else f"{path[0]} hop {bdf}"
    reading = Reading(host, problems, SUBSET, subject)
    device = f"{DEVICES}/{bdf}"
    identity = {key: reading.parsed(f"{device}/{key}", hexadecimal, key) for key in ("vendor", "device", "class")}
    hop: dict[str, Any] = {"bdf": bdf, "role": _role(path, bdf, identity)}
    hop.update({"vendor_id": identity["vendor"], "device_id": identity["device"]})
    hop.update({key: reading.parsed(f"{device}/{name}", parse, name) for key, (name, parse) in _READINGS.items()})
    hop["aspm"] = {state: _aspm(aspm, bdf, state) for state in ("l0s", "l1")}
    reading.tell_absent("not there")
    return hop


def _aspm(reading: Reading, bdf: str, state: str) -> bool | None:
    number = reading.parsed(f"{DEVICES}/{bdf}/link/{state}_aspm", whole_number, bdf)
    return None if number is None else number != 0


def _role(path: list[str], bdf: str, identity: dict[str, str | None]) -> str:
    if bdf == path[0]:
        return "gpu"
    if bdf == path[-1]:
        return "root_port"
    if identity["vendor"] == AMD and (identity["class"] or "").startswith(_BRIDGE):
        return "board_switch"
    is_board = identity["vendor"] in (AMD, _AMD_CPU) and identity["device"] in _BOARD_SWITCHES
    return "board_switch" if is_board else "switch"


def _aer(reading: Reading, device: str, name: str, total: str) -> int | None:
    line = re.compile(rf"^TOTAL_ERR_{total} ([0-9]{{1,18}})$", re.MULTILINE)
    return reading.parsed(f"{device}/aer_dev_{name}", lambda text: _first_number(line, text), f"aer_dev_{name}")


def _first_number(line: re.Pattern[str], text: str) -> int | None:
    match = line.search(text)
    return int(match[1]) if match else None
