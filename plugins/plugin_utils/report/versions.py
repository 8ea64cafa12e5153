# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs where: the versions of a node out of its facts, and how they are spread over the fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import get, rows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import natural

Versions = Mapping[str, Any]
MOST = 40
NODE_KEYS = ("driver", "rocm", "os", "kernel", "bios")


class Use(NamedTuple):
    """That a node of a product has a value on so many GPUs; None is a value that nobody could read."""

    value: str | None
    product: str
    gpus: int


def versions_of(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """``os``, ``kernel``, ``bios`` and ``firmware`` of a node: for each block, its values and on how many GPUs.

    A value is None where it could not be read; everything is None, and ``firmware`` empty, where there are no facts.
    """
    seen = facts or {}
    system = [get(seen, f"node.os.{key}") for key in ("id", "version")]
    return {
        "os": " ".join(map(str, system)) if all(system) else get(seen, "node.os.name"),
        "kernel": get(seen, "node.kernel.running"),
        "bios": get(seen, "platform.bios_version"),
        "firmware": _firmware([gpu for gpu in rows(seen.get("gpus")) if gpu.get("kind") != "vf"]),
    }


def unread_of(facts: Mapping[str, Any] | None) -> list[str]:
    """What could not be read on a node and why, a line each, at most MOST; the same reason is told once."""
    problems = rows((facts or {}).get("problems"))
    lines = list(dict.fromkeys(" ".join(f"{row.get('subject')}: {row.get('reason')}".split()) for row in problems))
    return lines[:MOST] + ([f"and {len(lines) - MOST} more"] if len(lines) > MOST else [])


def _firmware(gpus: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, Counter[str | None]] = {}
    for gpu in gpus:
        blocks = {"vbios": gpu.get("vbios"), **{k: get(row, "value") for k, row in (gpu.get("firmware") or {}).items()}}
        for block, value in blocks.items():
            found.setdefault(block, Counter())[value] += 1
    return {
        block: [{"value": value, "gpus": counts[value]} for value in sorted(counts, key=_order)]
        for block, counts in sorted(found.items())
    }


def distributions(nodes: Mapping[str, Mapping[str, Any]], versions: Mapping[str, Versions]) -> dict[str, Any]:
    """How the versions are spread: rows of value, nodes, GPUs and the nodes by product, the most frequent first.

    ``driver``, ``rocm``, ``os``, ``kernel`` and ``bios`` are such rows, ``firmware`` has them by block. A node that has
    two versions of a block is counted in the row of each. The VBIOS of a node without facts is one nobody could read.
    """
    uses: dict[str, list[Use]] = {key: [] for key in NODE_KEYS}
    firmware: dict[str, list[Use]] = {"vbios": []}
    for node, record in nodes.items():
        product, gpus = record.get("product") or "unknown", record.get("gpu_count") or 0
        merged = {**record, **versions[node]}
        for key in NODE_KEYS:
            uses[key].append(Use(merged.get(key), product, gpus))
        for block, use in _blocks(versions[node], product):
            firmware.setdefault(block, []).append(use)
    spread = {key: _rows(found) for key, found in uses.items()}
    return {**spread, "firmware": {block: _rows(firmware[block]) for block in sorted(firmware)}}


def _blocks(versions: Versions, product: str) -> Iterator[tuple[str, Use]]:
    blocks = versions["firmware"]
    if "vbios" not in blocks:
        yield "vbios", Use(None, product, 0)
    for block, seen in blocks.items():
        for row in seen:
            yield block, Use(row["value"], product, row["gpus"])


def _rows(uses: Iterable[Use]) -> list[dict[str, Any]]:
    found: dict[str | None, tuple[Counter[str], list[int]]] = {}
    for use in uses:
        products, gpus = found.setdefault(use.value, (Counter(), []))
        products[use.product] += 1
        gpus.append(use.gpus)
    told = [
        {"value": value, "nodes": products.total(), "gpus": sum(gpus), "products": dict(sorted(products.items()))}
        for value, (products, gpus) in found.items()
    ]
    return sorted(told, key=lambda row: (row["value"] is None, -row["nodes"], _order(row["value"])))


def _order(value: str | None) -> tuple[bool, Any]:
    return value is None, natural(str(value))
