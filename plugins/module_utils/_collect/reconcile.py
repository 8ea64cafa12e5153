# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring together what the kernel's files and amd-smi or rocm-smi say about the same GPU.

The kernel's files win. Where the two disagree both stay, and one row in ``problems`` says so; nothing is judged here.
"""

from __future__ import annotations

from typing import Any, Iterator

from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import (
    block_of,
    is_absent,
    scheme_of,
    value_of,
)

_LINK = {"speed_gts": "link speed in GT/s", "width": "link width"}


def reconcile(gpus: list[dict] | None) -> tuple[list[dict] | None, list[dict]]:
    """The rows of the GPUs with the firmware that a tool tells beside the kernel's, and the problems found.

    :param gpus: as the subsets gathered them; a row without ``smi`` stays as it is.
    """
    joined, problems = [], []
    for gpu in gpus or []:
        known = {**gpu, "firmware": _firmware(gpu)} if gpu.get("smi") and "firmware" in gpu else gpu
        joined.append(known)
        for what, reason in (*_disagreements(known), *_not_understood(known)):
            problems.append({"subset": "smi", "subject": f"{gpu.get('bdf')} {what}", "reason": reason})
    return (gpus if gpus is None else joined), problems


def _name(gpu: dict) -> str:
    """The tool without its version, as the sources of a firmware row name it."""
    return gpu["smi"]["tool"].split(" ")[0]


def _firmware(gpu: dict) -> dict | None:
    told = dict(gpu["smi"].get("firmware") or {})
    if gpu["smi"].get("ifwi"):
        told.setdefault("ifwi", gpu["smi"]["ifwi"])
    rows = dict(gpu["firmware"] or {})
    for name, text in told.items():
        block = block_of(name)
        if not is_absent(text):
            rows[block] = _row(rows.get(block), block, _name(gpu), text)
    return rows if rows or gpu["firmware"] is not None else None


def _row(row: dict | None, block: str, tool: str, text: str) -> dict:
    mine = row or {"scheme": scheme_of(block), "value": None, "sources": {}}
    value = _value(block, tool, text) if mine["value"] is None else mine["value"]
    return {**mine, "value": value, "sources": {**mine["sources"], tool: text}}


def _value(block: str, tool: str, text: str) -> str | None:
    return value_of(block, text, decimal_bytes=tool == "rocm-smi")


def _disagreements(gpu: dict) -> Iterator[tuple[str, str]]:
    if gpu.get("smi"):
        for what, kernel, tool in _told_twice(gpu, gpu["smi"]):
            yield what, f"sysfs says {kernel}, {_name(gpu)} says {tool}"


def _not_understood(gpu: dict) -> Iterator[tuple[str, str]]:
    for block, row in (gpu.get("firmware") or {}).items():
        if gpu.get("smi") and row["value"] is None and _name(gpu) in row["sources"]:
            yield f"firmware {block}", f"not understood: {row['sources'][_name(gpu)]!r}"


def _told_twice(gpu: dict, smi: dict) -> Iterator[tuple[str, Any, Any]]:
    """What both know and tell differently: its name, the kernel's value and the tool's."""
    pairs = [(name, gpu.get(name), smi.get(name)) for name in ("device_id", "vbios", "bad_pages")]
    errors = _errors(gpu.get("ras"))
    pairs += [(f"ecc {kind}", errors.get(kind), count) for kind, count in (smi.get("ecc") or {}).items()]
    yield from ((what, kernel, tool) for what, kernel, tool in pairs if None not in (kernel, tool) and kernel != tool)
    yield from _of_links(gpu.get("link") or [], smi)
    yield from _of_firmware(gpu)


def _errors(ras: dict | None) -> dict[str, int | None]:
    """Sums over the blocks, as the tool gives them; None where the count of one block is not known."""
    blocks = list((ras or {}).values())
    kinds = {kind for block in blocks for kind in block or {}}
    counts = {kind: [(block or {kind: None}).get(kind, 0) for block in blocks] for kind in kinds}
    return {kind: None if None in known else sum(known) for kind, known in counts.items()}


def _of_links(hops: list[dict], smi: dict) -> Iterator[tuple[str, Any, Any]]:
    # Which hop the tool means differs between products, so it agrees where one of them is as it says.
    for key, what in _LINK.items():
        for name, title in ((key, what), (f"max_{key}", f"possible {what}")):
            seen = [hop.get(name) for hop in hops]
            seen += [speed for hop in hops for speed in hop.get("samples_gts") or [] if name == "speed_gts"]
            known = sorted({value for value in seen if value is not None})
            if known and smi.get(name) is not None and smi[name] not in known:
                yield title, " and ".join(f"{value:g}" for value in known), f"{smi[name]:g}"


def _of_firmware(gpu: dict) -> Iterator[tuple[str, Any, Any]]:
    for block, row in (gpu.get("firmware") or {}).items():
        text = row["sources"].get(_name(gpu))
        value = None if text is None else _value(block, _name(gpu), text)
        if value is not None and row["value"] not in (None, value):
            yield f"firmware {block}", row["value"], value
