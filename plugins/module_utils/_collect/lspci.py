# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI Express path of each GPU as ``lspci`` tells it: for what sysfs and the configuration space leave open.

It starts a program, so it is gathered by name only. What another subset has read is kept; a row says where the two
disagree.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.link import READINGS
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import (
    DEVICES,
    gpu_addresses,
    path_to_root,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._lspci import parse_lspci

SUBSET = "lspci"

_COMMAND = ["lspci", "-D", "-nn", "-vvv"]
_TIMEOUT = 30.0
_KEYS = ("answers", *READINGS, "target_speed_gts", "autonomous_speed", "device_errors")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``link`` of each of the ``gpus``; null where ``lspci`` cannot be asked, hops hold only what it told."""
    paths = [path_to_root(host, bdf) for bdf in gpu_addresses(host)]
    text = _text(host, problems) if paths else ""
    devices = parse_lspci(text, dict.fromkeys(bdf for path in paths for bdf in path))
    return {"gpus": [_gpu(host, problems, path, devices) for path in paths]} if text else {"gpus": _bare(paths)}


def _bare(paths: list[list[str]]) -> list[dict]:
    return [{"bdf": path[0]} for path in paths]


def _text(host: Host, problems: list[dict]) -> str:
    reading = Reading(host, problems, SUBSET)
    try:
        done = host.run(_COMMAND, timeout=_TIMEOUT)
    except CommandFailed as error:
        reading.problem("lspci", error.seen)
        return ""
    if done.rc != 0 or not done.out:
        reading.problem("lspci", f"exit status {done.rc}: {done.err.strip()[:200] or 'no output'}")
    return done.out


def _gpu(host: Host, problems: list[dict], path: list[str], devices: dict[str, dict]) -> dict:
    hops = []
    for bdf in path:
        subject = bdf if bdf == path[0] else f"{path[0]} hop {bdf}"
        hops.append(_hop(Reading(host, problems, SUBSET, subject), bdf, devices.get(bdf)))
    return {"bdf": path[0], "link": hops}


def _hop(reading: Reading, bdf: str, device: dict[str, Any] | None) -> dict[str, Any]:
    if device is None:
        reading.problem("", "lspci does not list it")
        return {"bdf": bdf}
    if device["reason"]:
        reading.problem("", device["reason"])
    _compare(reading, bdf, device)
    speed, aspm = device["speed_gts"], device["aspm"]
    known = aspm["l0s"] is not None
    return {
        "bdf": bdf,
        **{key: device[key] for key in _KEYS},
        "samples_gts": None if speed is None else [speed],
        "aspm": {**aspm, "source": "lspci" if known else None},
    }


def _compare(reading: Reading, bdf: str, device: dict[str, Any]) -> None:
    # What sysfs lacks or nobody understands has its row from the subset link; here it is only nothing to compare with.
    quiet = Reading(reading.host, [], SUBSET)
    for key, (name, parse) in READINGS.items():
        shown = quiet.parsed(f"{DEVICES}/{bdf}/{name}", parse)
        if None not in (shown, device[key]) and shown != device[key]:
            reading.problem(name, f"{shown} in sysfs, {device[key]} by lspci")
