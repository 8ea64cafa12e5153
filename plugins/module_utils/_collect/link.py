# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI Express path of each GPU, hop by hop up to the root port.

A GPU that reports a full link may sit behind a port that runs slower, so every hop is read. sysfs comes first; the
configuration space tells what it lacks, and a row says where the two disagree.
"""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple

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
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._pci_config import (
    SIZE,
    ConfigSpace,
    parse_config,
    unread,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import (
    parse_levels,
    parse_speed,
    parse_width,
    partner,
)

SUBSET = "link"
# File of sysfs, and how its text is understood, of each number; the registers have the same names.
READINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "speed_gts": ("current_link_speed", parse_speed),
    "width": ("current_link_width", parse_width),
    "max_speed_gts": ("max_link_speed", parse_speed),
    "max_width": ("max_link_width", parse_width),
}

_BRIDGE = "0604"
# Functions of the switches on AMD's own boards: they carry AMD's vendor id or the CPU maker's.
_BOARD_SWITCHES = frozenset({"1500", "1501", "14a0", "14a1", "14c7", "14c8"})
_AMD_CPU = "1022"
_AER = {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}
_RECEIVED = {"correctable": "cor", "nonfatal": "nonfatal", "fatal": "fatal"}
_STATES = ("l0s", "l1")
# A link that saves power changes its speed within this time; more readings than these tell no more.
_SAMPLES, _PAUSE = 5, 0.05
_ALL_ONES = 2**32 - 1


class _Hop(NamedTuple):
    """One device of a path, and what is at hand about it; with ``quiet`` a file may be missing without a row."""

    reading: Reading
    quiet: Reading
    device: str
    space: ConfigSpace


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``link`` of each of the ``gpus``, with its ``aer`` counts, load and DPM levels.

    Speeds are GT/s, widths lanes, the GPU comes first. ``speed_gts`` is the first reading; ``samples_gts`` are all.
    """
    spaces: dict[str, ConfigSpace] = {}
    gpus = [_gpu(host, problems, bdf, spaces) for bdf in gpu_addresses(host)]
    _sample(host, problems, [gpu["link"] for gpu in gpus])
    return {"gpus": gpus}


def _gpu(host: Host, problems: list[dict], bdf: str, spaces: dict[str, ConfigSpace]) -> dict:
    path = path_to_root(host, bdf) or [bdf]
    link = [_row(host, problems, path, hop, spaces) for hop in path]
    reading, device = Reading(host, problems, SUBSET, bdf), f"{DEVICES}/{bdf}"
    facts = {
        "bdf": bdf,
        "link": link,
        "aer": dict(link[0]["aer"]),
        "busy_percent": reading.parsed(f"{device}/gpu_busy_percent", _percent, "gpu_busy_percent"),
        "link_levels": reading.parsed(f"{device}/pp_dpm_pcie", parse_levels, "pp_dpm_pcie"),
    }
    reading.tell_absent("not there")
    return facts


def _row(host: Host, problems: list[dict], path: list[str], bdf: str, spaces: dict[str, ConfigSpace]) -> dict:
    device = f"{DEVICES}/{bdf}"
    if bdf not in spaces:
        spaces[bdf] = _config(host, device)
    subject = bdf if bdf == path[0] else f"{path[0]} hop {bdf}"
    reading, quiet = (Reading(host, problems, SUBSET, subject) for _each in range(2))
    hop = _Hop(reading, quiet, device, spaces[bdf])
    identity = {key: reading.parsed(f"{device}/{key}", hexadecimal, key) for key in ("vendor", "device", "class")}
    role = _role(path, bdf, identity)
    row: dict[str, Any] = {"bdf": bdf, "role": role, "vendor_id": identity["vendor"], "device_id": identity["device"]}
    row.update({"answers": hop.space.answers, **_numbers(hop), **_registers(hop)})
    row["aspm"] = _aspm(hop)
    row["aer"] = _aer(hop, received=role == "root_port")
    if hop.space.reason:
        reading.problem("config", hop.space.reason)
    reading.tell_absent("not there")
    return row


def _config(host: Host, device: str) -> ConfigSpace:
    try:
        return parse_config(host.read_range(f"{device}/config", 0, SIZE))
    except Unreadable as error:
        return unread("not there" if error.missing else error.seen)


def _numbers(hop: _Hop) -> dict[str, Any]:
    """Speed and width, now and at most, and the readings of the speed."""
    shown = {key: hop.reading.parsed(f"{hop.device}/{name}", parse, name) for key, (name, parse) in READINGS.items()}
    told = {key: getattr(hop.space.express, key) for key in READINGS}
    merged, samples = dict(shown), [shown["speed_gts"]]
    for key, (name, _parse) in READINGS.items():
        if shown[key] is None and told[key] is not None and _is_silent(hop, name):
            merged[key] = told[key]
        elif None not in (shown[key], told[key]) and shown[key] != told[key]:
            hop.reading.problem(name, f"{shown[key]} here, {told[key]} in the configuration space")
            # Two readings of a speed that differ are both kept.
            samples += [told[key]] if key == "speed_gts" else []
    samples[0] = merged["speed_gts"]
    return {**merged, "samples_gts": None if samples[0] is None else samples}


def _is_silent(hop: _Hop, name: str) -> bool:
    """Whether sysfs leaves it open: no such file, or a kernel that has no name for the speed.

    A file that is there and cannot be read or understood is trouble, which registers must not hide.
    """
    try:
        return hop.reading.host.read(f"{hop.device}/{name}").startswith("Unknown")
    except Unreadable as error:
        return error.missing


def _registers(hop: _Hop) -> dict[str, Any]:
    express = hop.space.express
    return {
        "target_speed_gts": express.target_speed_gts,
        "autonomous_speed": express.autonomous,
        "device_errors": None if express.errors is None else list(express.errors),
    }


def _aspm(hop: _Hop) -> dict[str, Any]:
    """Which states are on. The kernel shows it at the lower end of a link only, and only where it manages ASPM."""
    shown = {state: _shown_aspm(hop, state) for state in _STATES}
    express = hop.space.express
    told = {state: None if express.aspm is None else state in express.aspm for state in _STATES}
    states = {state: _either(hop, state, shown[state], told[state]) for state in _STATES}
    if None in states.values():
        hop.reading.problem("ASPM", "told neither by sysfs nor by the configuration space")
    if express.aspm is None:
        source = "sysfs" if any(value is not None for value in shown.values()) else None
    else:
        source = "sysfs" if states == shown else "config"
    supported = None if express.aspm_supported is None else list(express.aspm_supported)
    return {**states, "supported": supported, "source": source}


def _shown_aspm(hop: _Hop, state: str) -> bool | None:
    number = hop.quiet.parsed(f"{hop.device}/link/{state}_aspm", whole_number, f"link/{state}_aspm")
    return None if number is None else number != 0


def _either(hop: _Hop, state: str, shown: bool | None, told: bool | None) -> bool | None:
    if shown is None or told is None or shown == told:
        return told if shown is None else shown
    # L0s has a switch for each direction: the kernel tells of both, the register of its own end.
    if not (state == "l0s" and shown):
        hop.reading.problem(f"{state.upper()} of ASPM", f"{shown} in sysfs, {told} in the configuration space")
    return True


def _role(path: list[str], bdf: str, identity: dict[str, str | None]) -> str:
    if bdf == path[0]:
        return "gpu"
    if bdf == path[-1]:
        return "root_port"
    if identity["vendor"] == AMD and (identity["class"] or "").startswith(_BRIDGE):
        return "board_switch"
    is_board = identity["vendor"] in (AMD, _AMD_CPU) and identity["device"] in _BOARD_SWITCHES
    return "board_switch" if is_board else "switch"


def _aer(hop: _Hop, received: bool) -> dict[str, int | None]:
    counts = {
        name: hop.reading.parsed(f"{hop.device}/aer_dev_{name}", _total(total), f"aer_dev_{name}")
        for name, total in _AER.items()
    }
    for name, short in _RECEIVED.items() if received else ():
        file = f"aer_rootport_total_err_{short}"
        counts[f"received_{name}"] = hop.reading.parsed(f"{hop.device}/{file}", _count, file)
    return counts


def _total(name: str) -> Callable[[str], int | None]:
    line = re.compile(rf"^TOTAL_ERR_{name} ([0-9]{{1,20}})[\0 ]*$", re.MULTILINE)

    def parse(text: str) -> int | None:
        match = line.search(text)
        return _count(match[1]) if match else None

    return parse


def _count(text: str) -> int | None:
    """A counter; None for one that reads as all ones."""
    number = whole_number(text)
    return number if number is not None and 0 <= number < _ALL_ONES else None


def _percent(text: str) -> int | None:
    number = whole_number(text.rstrip("\0"))
    return number if number is not None and 0 <= number <= 100 else None


def _sample(host: Host, problems: list[dict], paths: list[list[dict]]) -> None:
    """Read again the speed of the hops that run slower than their links can: a few times, all hops in turn."""
    slow: dict[str, list[dict]] = {}
    for path in paths:
        for index, hop in enumerate(path):
            if _is_slow(path, index):
                slow.setdefault(hop["bdf"], []).append(hop)
    for _round in range(_SAMPLES - 1 if slow else 0):
        host.sleep(_PAUSE)
        for bdf, hops in slow.items():
            speed = _again(host, problems, bdf)
            for hop in hops:
                hop["samples_gts"].append(speed)


def _is_slow(path: list[dict], index: int) -> bool:
    # What a link can do is what both of its ends can: a slow card in a fast slot is no reason to wait.
    ends = (path[index], path[partner(path, index)])
    limits = [hop["max_speed_gts"] for hop in ends if hop["max_speed_gts"] is not None]
    speed = path[index]["speed_gts"]
    return speed is not None and bool(limits) and speed < min(limits)


def _again(host: Host, problems: list[dict], bdf: str) -> float | None:
    try:
        text = host.read_again(f"{DEVICES}/{bdf}/{READINGS['speed_gts'][0]}")
    except Unreadable as error:
        Reading(host, problems, SUBSET, bdf).problem("current_link_speed, again", error.seen)
        return None
    speed = parse_speed(text)
    if speed is None:
        Reading(host, problems, SUBSET, bdf).problem(
            "current_link_speed, again", f"not understood: {text.strip()[:60]!r}"
        )
    return speed
