# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processors: idle states over all of them, governors, boost and simultaneous threads."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading, whole_number
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

CPUS = "/sys/devices/system/cpu"

_FREQUENCY = f"{CPUS}/cpufreq"
_NO_TURBO = f"{CPUS}/intel_pstate/no_turbo"
_CPU = re.compile(r"cpu[0-9]{1,5}")
_STATE = re.compile(r"state[0-9]{1,3}")
# More than any kernel supports; a text with a wider range is no list of processors.
_MOST_CPUS = 65536


class Switches(NamedTuple):
    """How many processors have an idle state off and on, and how many gave no answer though the file is there."""

    off: int
    on: int
    unread: int


def cpu_numbers(text: str) -> list[int] | None:
    """The processors in ``0-3,8``; None where the text is no such list."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        start, end = whole_number(first), whole_number(last if dash else first)
        if start is None or end is None or not 0 <= start <= end < _MOST_CPUS:
            return None
        found += range(start, end + 1)
    return found


def idle(reading: Reading) -> dict:
    """Idle states by the names that the first processor gives them: no state is known by its number.

    ``disabled`` are off on every processor that is on, ``partly_disabled`` on some; no states at all where the kernel
    says that no driver drives them.
    """
    driver = reading.text(f"{CPUS}/cpuidle/current_driver")
    cpus = _online(reading)
    first = f"{CPUS}/cpu{_first(reading.host, cpus or [0])}/cpuidle"
    if driver == "none" and not reading.host.exists(first):
        return {"driver": driver, "states": [], "disabled": [], "latency_us": {}, "partly_disabled": []}
    folders = reading.names(first)
    if folders is None:
        return {"driver": driver, "states": None, "disabled": None, "latency_us": None, "partly_disabled": None}
    states = sorted((name for name in folders if _STATE.fullmatch(name)), key=lambda name: int(name[5:]))
    names = [reading.text(f"{first}/{state}/name") for state in states]
    latencies = [reading.parsed(f"{first}/{state}/latency", whole_number) for state in states]
    latency = {name: value for name, value in zip(names, latencies) if name}
    return {"driver": driver, "states": names, **_switched_off(reading, cpus, states, names), "latency_us": latency}


def governors(reading: Reading) -> dict[str, int] | None:
    """How many frequency policies have each governor; none where the kernel scales no frequency, as in most guests."""
    if not reading.host.exists(_FREQUENCY):
        return {}
    names = reading.names(_FREQUENCY)
    if names is None:
        return None
    policies = [name for name in names if name.startswith("policy")]
    found = [reading.text(f"{_FREQUENCY}/{name}/scaling_governor") for name in policies]
    return None if None in found else dict(sorted(Counter(filter(None, found)).items()))


def boost(reading: Reading) -> bool | None:
    """Whether processors may run above their base frequency; None where no driver tells."""
    if reading.host.exists(_NO_TURBO) and not reading.host.exists(f"{_FREQUENCY}/boost"):
        off = flag(reading, _NO_TURBO)
        return None if off is None else not off
    return flag(reading, f"{_FREQUENCY}/boost")


def flag(reading: Reading, path: str) -> bool | None:
    """A file that holds 0 or another number."""
    number = reading.parsed(path, whole_number)
    return None if number is None else number != 0


def _online(reading: Reading) -> list[int] | None:
    """Processors that are on; a kernel that keeps no list of them has all of them on."""
    if reading.host.exists(f"{CPUS}/online"):
        numbers: list[int] | None = reading.parsed(f"{CPUS}/online", cpu_numbers)
        return numbers
    names = reading.names(CPUS)
    return None if names is None else sorted(int(name[3:]) for name in names if _CPU.fullmatch(name))


def _first(host: Host, cpus: list[int]) -> int:
    # Processors come and go: the first may have no folder of its own just now.
    return next((cpu for cpu in cpus if host.exists(f"{CPUS}/cpu{cpu}/cpuidle")), cpus[0])


def _switched_off(reading: Reading, cpus: list[int] | None, states: list[str], names: list[str | None]) -> dict:
    if cpus is None:
        return {"disabled": None, "partly_disabled": None}
    seen = [_switches(reading.host, cpus, state) for state in states]
    for state, found in zip(states, seen):
        if found.unread or not found.off + found.on:
            count = found.unread or len(cpus)
            reading.problem(f"{state}/disable", f"cannot be read on {count} of {len(cpus)} processors")
    if any(not found.off + found.on for found in seen):
        return {"disabled": None, "partly_disabled": None}
    whole = [name for name, found in zip(names, seen) if found.off and not found.on and not found.unread]
    partly = [name for name, found in zip(names, seen) if found.off and (found.on or found.unread)]
    return {"disabled": whole, "partly_disabled": partly}


def _switches(host: Host, cpus: list[int], state: str) -> Switches:
    off = on = unread = 0
    for cpu in cpus:
        try:
            number = whole_number(host.read(f"{CPUS}/cpu{cpu}/cpuidle/{state}/disable"))
        except Unreadable as error:
            unread += not error.missing
            continue
        off += number is not None and number != 0
        on += number == 0
        unread += number is None
    return Switches(off, on, unread)
