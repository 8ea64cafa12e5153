# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rows of each command of amd-smi and rocm-smi say about a GPU, under the names of docs/contracts.md.

Each function takes a row as :mod:`_smi` decodes it, and leaves nothing out: what a row does not tell is None.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._smi import (
    count,
    flag,
    hex_id,
    lanes,
    last_line,
    number,
    speed_gts,
    text_of,
    told,
)

_PRODUCT = re.compile(r"\bMI[0-9]|instinct", re.IGNORECASE)
_TOOL_LINE = re.compile(r"AMDSMI Tool: ([0-9][0-9.]{0,20})")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_NO_PAGES = "no bad pages found"
_PAGE_LISTS = ("retired", "pending", "un_res")


def static(row: dict) -> dict:
    """Identity, VBIOS and what the link can do, from ``amd-smi static``."""
    asic, bus, board, ras = (_section(row, name) for name in ("asic", "bus", "board", "ras"))
    # From 7.1 the section has another heading, even where it was asked for by the old one.
    vbios = _section(row, "ifwi") or _section(row, "vbios")
    return {
        "product_name": _product(text_of(asic.get("market_name")), text_of(board.get("product_name"))),
        "serial": text_of(board.get("product_serial")),
        "unique_id": text_of(asic.get("asic_serial")),
        "device_id": hex_id(asic.get("device_id")),
        "vbios": text_of(vbios.get("part_number")),
        "ifwi": _first_word(vbios.get("version")),
        "max_speed_gts": speed_gts(bus.get("max_pcie_speed")),
        "max_width": lanes(bus.get("max_pcie_width")),
        "bad_page_threshold_exceeded": flag(ras.get("bad_page_threshold_exceeded")),
    }


def firmware(row: dict) -> dict[str, str]:
    """Text of each version by the tool's own name, from ``amd-smi firmware``."""
    listed = row.get("fw_list")
    rows = listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else []
    named = [
        (text_of(entry.get("fw_id")) or text_of(entry.get("fw_name")), text_of(entry.get("fw_version")))
        for entry in rows
        if isinstance(entry, dict)
    ]
    return {name: version for name, version in named if name and version}


def metric(row: dict) -> dict:
    """The link as the GPU sees it and its memory errors, from ``amd-smi metric``."""
    pcie, ecc = _section(row, "pcie"), _section(row, "ecc")
    kinds = {"ue": "total_uncorrectable_count", "ce": "total_correctable_count", "de": "total_deferred_count"}
    return {
        "speed_gts": speed_gts(pcie.get("speed")),
        "width": lanes(pcie.get("width")),
        "ecc": {kind: count(ecc.get(key)) for kind, key in kinds.items()},
    }


def bad_pages(row: dict) -> int | None:
    """Pages that are retired, about to be, or could not be, from ``amd-smi bad-pages``; None where one is not told."""
    counts = [_pages(row[name]) for name in _PAGE_LISTS if name in row]
    known = [pages for pages in counts if pages is not None]
    return sum(known) if "retired" in row and len(known) == len(counts) else None


def version(documents: list[Any], text: str) -> str | None:
    """The version of amd-smi without its build, from ``amd-smi version``."""
    rows = [row for document in documents for row in (document if isinstance(document, list) else [document])]
    versions = [text_of(row.get("version")) for row in rows if isinstance(row, dict)]
    line = _TOOL_LINE.search(text)
    match = _VERSION.match(next((found for found in versions if found), "") or (line[1] if line else ""))
    return match[0] if match else None


def card(row: dict) -> dict:
    """What rocm-smi says about a GPU; it tells no link and no errors.

    Its card model is not used: it is a product of another line where the tool resolves a subsystem wrongly.
    """
    versions = {name[: -len("_firmware_version")]: text_of(value) for name, value in row.items() if _is_version(name)}
    return {
        "product_name": _product(text_of(row.get("device_name")), text_of(row.get("card_series"))),
        "serial": text_of(row.get("serial_number")),
        "unique_id": text_of(row.get("unique_id")),
        "device_id": hex_id(row.get("device_id")) or hex_id(row.get("gpu_id")),
        "vbios": text_of(row.get("vbios_version")),
        "firmware": {name: version for name, version in versions.items() if version},
    }


def failure(out: str, err: str) -> str:
    """One line that says why a tool gave nothing."""
    return last_line(err) or last_line(out) or "no output"


def _is_version(name: str) -> bool:
    return name.endswith("_firmware_version")


def _section(row: dict, name: str) -> dict:
    section = row.get(name)
    return section if isinstance(section, dict) else {}


def _product(market_name: str | None, product_name: str | None) -> str | None:
    # The market name may be a generic one ("AMD Radeon Graphics"), or a device id.
    names = [name for name in (market_name, product_name) if name]
    return next((name for name in names if _PRODUCT.search(name)), names[0] if names else None)


def _first_word(value: Any) -> str | None:
    words = (text_of(value) or "").split()
    return words[0] if words else None


def _pages(value: Any) -> int | None:
    if isinstance(value, list):
        return len(value) if all(isinstance(page, dict) for page in value) else None
    if isinstance(value, dict):
        # One page is not in a list. The form for people repeats its keys instead.
        address = value.get("page_address")
        return len(address) if isinstance(address, list) else 1 if number(address) is not None else None
    known = told(value)
    return 0 if isinstance(known, str) and known.lower().rstrip(".") == _NO_PAGES else None
