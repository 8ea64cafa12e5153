# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Memory and logic errors, retired memory, heat and power of each GPU. Absent is null: no counter is never zero."""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading, whole_number
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "ras"

_RAS_LINE = re.compile(r"(ue|ce|de): ([0-9]{1,20})")
_BAD_PAGE = re.compile(r"0x[0-9a-f]+ : 0x[0-9a-f]+ : ([RPF])", re.IGNORECASE)
_PAGE_STATES = {"R": "reserved", "P": "pending", "F": "failed"}
_ERR_COUNT = "_err_count"
_LABEL = re.compile(r"temp[0-9]+_label")
# What the driver hands on of registers and tables that hold nothing: all ones of 16 and of 32 bits. No counter that a
# boot could reach is as high as the second one.
_ALL_ONES = (2**16 - 1, 2**32 - 1)
# A running GPU is neither at the freezing point nor as hot as solder, and takes neither nothing nor four kilowatts.
_HOTTEST, _STRONGEST = 200, 4000
_SENSOR = {"celsius": "input", "critical": "crit", "emergency": "emergency"}


def collect(host: Host, problems: list[dict]) -> dict:
    """The counters in the ``gpus`` part of the facts; temperatures in degrees Celsius, power in watts."""
    return {"gpus": [_counters(Reading(host, problems, SUBSET, bdf), bdf) for bdf in gpu_addresses(host)]}


def _counters(reading: Reading, bdf: str) -> dict:
    device = f"{DEVICES}/{bdf}"
    ras, pages = _ras(reading, device), None
    if ras is not None:
        pages = reading.parsed(f"{device}/ras/gpu_vram_bad_pages", _bad_pages, "gpu_vram_bad_pages")
    monitor = _monitor(reading, device)
    facts = {
        "bdf": bdf,
        "ras": ras,
        "bad_pages": None if pages is None else sum(pages.values()),
        "bad_pages_by_state": pages,
        "temperatures": None if monitor is None else _temperatures(reading, monitor),
        "power": None if monitor is None else _power(reading, monitor),
    }
    reading.tell_absent("not there")
    return facts


def _ras(reading: Reading, device: str) -> dict | None:
    names = reading.names(f"{device}/ras", "ras")
    if names is None:
        return None
    blocks = [name[: -len(_ERR_COUNT)] for name in names if name.endswith(_ERR_COUNT)]
    return {block: _block(reading, f"{device}/ras/{block}{_ERR_COUNT}", f"ras {block}") for block in blocks}


def _block(reading: Reading, path: str, name: str) -> dict[str, int | None] | None:
    counts = reading.parsed(path, _ras_counts, name)
    for kind, number in (counts or {}).items():
        if number is None:
            reading.problem(f"{name} {kind}", "all ones, which is no count")
    return counts


def _ras_counts(text: str) -> dict[str, int | None] | None:
    # During a reset the file holds a sentence in place of counts.
    matches = [_RAS_LINE.fullmatch(line) for line in _lines(text)]
    counts = {match[1]: int(match[2]) for match in matches if match}
    if not counts or None in matches:
        return None
    return {kind: number if number < _ALL_ONES[1] else None for kind, number in counts.items()}


def _bad_pages(text: str) -> dict[str, int] | None:
    matches = [_BAD_PAGE.fullmatch(line) for line in _lines(text)]
    if None in matches:
        return None
    states = [match[1].upper() for match in matches if match]
    return {name: states.count(letter) for letter, name in _PAGE_STATES.items()}


def _lines(text: str) -> list[str]:
    # Some kernels hand out whole pages: the text, and NULs up to the end.
    return [line.strip() for line in text.replace("\0", "").splitlines() if line.strip()]


def _monitor(reading: Reading, device: str) -> str | None:
    """Folder of the GPU's own sensors; others, such as those of a network port, may lie beside it."""
    names = reading.names(f"{device}/hwmon", "hwmon")
    if names is None:
        return None
    folders = [f"{device}/hwmon/{name}" for name in names]
    found = [folder for folder in folders if reading.parsed(f"{folder}/name", _word, "hwmon name") == "amdgpu"]
    if not found:
        reading.problem("hwmon", "no sensors named amdgpu")
    return found[0] if found else None


def _temperatures(reading: Reading, folder: str) -> dict[str, dict[str, float | None]] | None:
    # Sensors are told apart by label: their numbers differ between products.
    names = [name for name in reading.names(folder, "hwmon") or [] if _LABEL.fullmatch(name)]
    stems = {reading.parsed(f"{folder}/{name}", _word, name): name[: -len("label")] for name in names}
    found = {label: _sensor(reading, folder, stem) for label, stem in stems.items() if label}
    if not found:
        reading.problem("temperatures", "no sensor has a label")
    return found or None


def _sensor(reading: Reading, folder: str, stem: str) -> dict[str, float | None]:
    celsius = _scaled(1000, _HOTTEST)
    return {key: reading.parsed(f"{folder}/{stem}{end}", celsius, f"{stem}{end}") for key, end in _SENSOR.items()}


def _power(reading: Reading, folder: str) -> dict[str, float | None]:
    watts = _scaled(1_000_000, _STRONGEST)
    # Newer products show the power of this moment, older ones the mean of the last; some show both.
    shown = [name for name in reading.names(folder, "hwmon") or [] if name in ("power1_average", "power1_input")]
    name = shown[0] if shown else "power1_average"
    return {
        "watts": reading.parsed(f"{folder}/{name}", watts, name),
        "cap_watts": reading.parsed(f"{folder}/power1_cap", watts, "power1_cap"),
    }


def _scaled(unit: int, most: int) -> Callable[[str], Any]:
    """A parser of a sensor's number: None for what no sensor can have measured."""

    def parse(text: str) -> float | None:
        number = whole_number(text.replace("\0", ""))
        possible = number is not None and 0 < number <= most * unit and number not in _ALL_ONES
        return number / unit if number is not None and possible else None

    return parse


def _word(text: str) -> str | None:
    return text.replace("\0", "").strip() or None
