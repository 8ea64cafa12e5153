# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware of each GPU, as the driver read it from the blocks that the GPU has."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import is_absent, scheme_of, value_of
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "firmware"

_SUFFIX = "_fw_version"
_UNTOLD = ("", "N/A", "UNKNOWN")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``firmware`` rows ``{scheme, value, sources}`` by block, and the ``vbios`` part number, of each GPU.

    ``value`` is None where what the driver prints was not understood; a block that the GPU does not have has no row.
    """
    return {"gpus": [_gpu(Reading(host, problems, SUBSET, bdf), bdf) for bdf in gpu_addresses(host)]}


def _gpu(reading: Reading, bdf: str) -> dict:
    device = f"{DEVICES}/{bdf}"
    facts = {"bdf": bdf, "vbios": reading.parsed(f"{device}/vbios_version", _part_number, "vbios_version")}
    facts["firmware"] = _blocks(reading, device)
    reading.tell_absent("not there")
    return facts


def _part_number(text: str) -> str | None:
    stripped = text.strip()
    return None if stripped.upper() in _UNTOLD else stripped


def _blocks(reading: Reading, device: str) -> dict[str, dict] | None:
    # A block that a GPU does not have has no file, so only what is listed is read.
    names = reading.names(f"{device}/fw_version", "fw_version")
    if names is None:
        return None
    blocks = [name[: -len(_SUFFIX)] for name in names if name.endswith(_SUFFIX)]
    rows = {block: _row(reading, f"{device}/fw_version/{block}{_SUFFIX}", block) for block in blocks}
    return {block: row for block, row in rows.items() if row is not None}


def _row(reading: Reading, path: str, block: str) -> dict | None:
    text = reading.raw(path, block + _SUFFIX)
    raw = None if text is None else text.strip()
    # Kernels that do not hide the file of a block that is not there print a zero.
    if raw is not None and is_absent(raw):
        return None
    value = None if raw is None else value_of(block, raw)
    if raw is not None and value is None:
        reading.problem(block + _SUFFIX, f"not understood: {raw[:60]!r}")
    return {"scheme": scheme_of(block), "value": value, "sources": {} if raw is None else {"sysfs": raw}}
