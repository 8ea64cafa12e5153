# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel log of this boot, and of the boot before, says about the GPUs, their paths and their host."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import (
    DEVICES,
    gpu_addresses,
    path_to_root,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import Record, lost, parse, starts_with_boot
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import SAMPLE, Row, Tally, count

SUBSET = "log"
PREVIOUS = "previous_log"
ROWS = 200

_KMSG = "/dev/kmsg"
_LIMIT, _SECONDS = 32 << 20, 2.0
_FIELDS = "MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP,__MONOTONIC_TIMESTAMP"
_JOURNAL = ["journalctl", "-k", "-b", "-1", "-o", "json", "--no-pager", f"--output-fields={_FIELDS}"]
_TIMEOUT = 60.0
_ELSEWHERE = "the journal may hold more (journalctl -k -b; the subset previous_log reads the boot before)"

Paths = dict[str, list[str]]


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``log`` of this boot, null where it cannot be read, and ``init_error`` of the ``gpus``."""
    reading = Reading(host, problems, SUBSET)
    paths = _paths(host, reading)
    records = _ring(host, reading)
    if records is None:
        errors: dict[str, str] = {}
        log = None
    else:
        tally = count(records)
        log = {**_log("kmsg", records, tally, paths, reading), "previous": None}
        log["complete"] = _is_complete(records, reading)
        errors = {bdf: text for bdf in paths or {} if (text := _init_error(host, bdf, tally))}
    rows = None if paths is None else [{"bdf": bdf, "init_error": errors.get(bdf)} for bdf in paths]
    return {"log": log, "gpus": rows}


def collect_previous(host: Host, problems: list[dict]) -> dict:
    """``previous`` of the ``log``: the boot before, as the journal keeps it; null where it keeps none."""
    reading = Reading(host, problems, PREVIOUS)
    try:
        done = host.run(_JOURNAL, timeout=_TIMEOUT)
    except FleetError as error:
        reading.problem(error.subject, error.seen)
        return {"log": {"previous": None}}
    records = parse("\n".join(line for line in done.out.split("\n") if line.startswith("{")))
    if done.rc or not records:
        said = done.err.strip().splitlines()
        reading.problem("journalctl", said[0][:SAMPLE] if said else "has no kernel log of the boot before")
        return {"log": {"previous": None}}
    log = _log("journal", records, count(records), _paths(host, reading), reading)
    return {"log": {"previous": {**log, "complete": starts_with_boot(records)}}}


def _paths(host: Host, reading: Reading) -> Paths | None:
    """The PCI functions from each GPU up to its root port; None where the bus cannot be read."""
    try:
        return {bdf: path_to_root(host, bdf) or [bdf] for bdf in gpu_addresses(host)}
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None


def _ring(host: Host, reading: Reading) -> list[Record] | None:
    try:
        content = host.read_records(_KMSG, limit=_LIMIT, seconds=_SECONDS)
    except Unreadable as error:
        reading.problem(_KMSG, f"{error.seen}; {_ELSEWHERE}")
        return None
    records = parse(content.decode("utf-8", "replace"))
    if not records:
        # A kernel that runs has said something: an empty log was hidden, or is another container's.
        reading.problem(_KMSG, f"holds nothing; {_ELSEWHERE}")
        return None
    if len(content) >= _LIMIT:
        reading.problem(_KMSG, f"only its first {_LIMIT >> 20} MiB were read")
    return records


def _is_complete(records: list[Record], reading: Reading) -> bool:
    before, between = lost(records)
    if before:
        reading.problem(_KMSG, f"the ring buffer has lost the first {before} records of this boot; {_ELSEWHERE}")
    if between:
        reading.problem(_KMSG, f"{between} records were overwritten while it was read")
    is_ring = any(record.sequence is not None for record in records)
    return not before and not between if is_ring else starts_with_boot(records)


def _log(source: str, records: list[Record], tally: Tally, paths: Paths | None, reading: Reading) -> dict[str, Any]:
    rows = bounded(list(tally.rows.values()))
    if len(rows) < len(tally.rows):
        reading.problem("signatures", f"{len(tally.rows) - len(rows)} more kinds of lines and devices are left out")
    return {
        "source": source,
        "complete": None,
        "lines": len(records),
        "signatures": [_fact(row, paths) for row in rows],
    }


def bounded(rows: list[Row], limit: int = ROWS) -> list[Row]:
    """At most ``limit`` rows in their order; where there are more, every signature keeps those of its first devices."""
    if len(rows) <= limit:
        return rows
    seen: dict[str, int] = {}
    ranked = []
    for position, row in enumerate(rows):
        seen[row.id] = seen.get(row.id, 0) + 1
        ranked.append((seen[row.id], position))
    return [rows[position] for position in sorted(position for _rank, position in sorted(ranked)[:limit])]


def _fact(row: Row, paths: Paths | None) -> dict[str, Any]:
    bus = row.details.get("secondary_bus")
    return {
        "id": row.id,
        "bdf": row.bdf,
        "named": row.named,
        "gpus": None if paths is None else [gpu for gpu, path in paths.items() if _is_above(path, row.bdf, bus)],
        "count": row.count,
        "open": row.open,
        "first": row.first,
        "last": row.last,
        "sample": row.sample,
        "details": row.details,
    }


def _is_above(path: list[str], bdf: str | None, bus: int | str | None) -> bool:
    """Whether the PCI function is the GPU, another function of its device, or on its way up to the root port."""
    if bdf is None:
        return False
    below = f"{bdf.split(':')[0]}:{bus}:"
    is_sibling = bdf.rsplit(".", 1)[0] == path[0].rsplit(".", 1)[0]
    return bdf in path or is_sibling or (bus is not None and any(hop.startswith(below) for hop in path))


def _init_error(host: Host, bdf: str, tally: Tally) -> str | None:
    """Why the GPU does not serve; what was said about one that does serve by now is past."""
    try:
        serves = host.readlink(f"{DEVICES}/{bdf}/driver").endswith("/amdgpu") and bool(
            host.list(f"{DEVICES}/{bdf}/drm")
        )
    except Unreadable:
        serves = False
    return tally.compute_errors.get(bdf) if serves else tally.init_errors.get(bdf, tally.compute_errors.get(bdf))
