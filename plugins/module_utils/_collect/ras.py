# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Memory and logic errors, retired memory and heat of each GPU. Absent is null: no counter is never zero."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading, whole_number
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "ras"

_RAS_LINE = re.compile(r"^(ue|ce|de): ([0-9]{1,18})$", re.MULTILINE)
_BAD_PAGE = re.compile(r"^0x[0-9a-f]+ : 0x[0-9a-f]+ : [RPF]$", re.MULTILINE)
_ERR_COUNT = "_err_count"
_LABEL = re.compile(r"temp[0-9]+_label")


def collect(host: Host, problems: list[dict]) -> dict:
    """The counters in the ``gpus`` part of the facts; temperatures in degrees Celsius."""
    return {"gpus": [_counters(Reading(host, problems, SUBSET, bdf), bdf) for bdf in gpu_addresses(host)]}


def _counters(reading: Reading, bdf: str) -> dict:
    device = f"{DEVICES}/{bdf}"
    facts = {
        "bdf": bdf,
        "ras": _ras(reading, device),
        "temperatures": _temperatures(reading, device),
    }
    facts["bad_pages"] = None
    if facts["ras"] is not None:
        facts["bad_pages"] = reading.parsed(f"{device}/ras/gpu_vram_bad_pages", _bad_pages, "gpu_vram_bad_pages")
    reading.tell_absent("not there")
    return facts


def _ras(reading: Reading, device: str) -> dict | None:
    names = reading.names(f"{device}/ras", "ras")
    if names is None:
        return None
    blocks = [name[: -len(_ERR_COUNT)] for name in names if name.endswith(_ERR_COUNT)]
    return {block: reading.parsed(f"{device}/ras/{block}{_ERR_COUNT}", _ras_counts, f"ras {block}") for block in blocks}


def _ras_counts(text: str) -> dict[str, int] | None:
    # During a reset the file holds a sentence in place of counts.
    return {kind: int(number) for kind, number in _RAS_LINE.findall(text)} or None


def _bad_pages(text: str) -> int | None:
    pages = _BAD_PAGE.findall(text)
    return len(pages) if len(pages) == len(text.split("\n")) - text.endswith("\n") or not text.strip() else None


def _temperatures(reading: Reading, device: str) -> dict[str, float | None] | None:
    monitors = reading.names(f"{device}/hwmon", "hwmon")
    if not monitors:
        return None
    folder = f"{device}/hwmon/{monitors[0]}"
    # Sensors are told apart by label: their numbers differ between products.
    labels = [name for name in reading.names(folder, "hwmon") or [] if _LABEL.fullmatch(name)]
    sensors = {reading.text(f"{folder}/{name}", name): name.replace("label", "input") for name in labels}
    return {label: reading.parsed(f"{folder}/{name}", _celsius, name) for label, name in sensors.items() if label}


def _celsius(text: str) -> float | None:
    number = whole_number(text)
    return number / 1000 if number is not None else None
