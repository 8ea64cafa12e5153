# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the kernel log says. How grave a line is stands in the catalog, not here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    rows,
    unread,
)

Row = Mapping[str, Any]

_WHAT = "the kernel log"
_FEW = 3


def read(ctx: Context) -> Iterator[Finding]:
    """The kernel log of this boot was read from its start."""
    log = ctx.get("log")
    if not isinstance(log, Mapping) or log.get("complete") is None:
        yield unread(ctx.node, _WHAT)
    elif not log["complete"]:
        yield Finding(
            "warn",
            ctx.node,
            "the log from the start of the boot",
            f"the last {log.get('lines')} lines",
            "what the kernel said before is not in its ring buffer any more",
            "read `journalctl -k -b`, or give the kernel more room (log_buf_len=)",
        )
    else:
        yield passed(ctx.node, f"{log.get('lines')} lines")


def fatal(ctx: Context) -> Iterator[Finding]:
    """The log holds no line after which a GPU, its path or its host is not to be trusted."""
    if not isinstance(ctx.get("log"), Mapping):
        return
    found = ctx.get("log.signatures")
    if not isinstance(found, list):
        yield unread(ctx.node, f"what {_WHAT} says")
        return
    said = [finding for row in found for finding in _fatal(ctx, row)]
    yield from said or [passed(ctx.node)]


def warnings(ctx: Context) -> Iterator[Finding]:
    """The log holds no line that deserves a look; one finding for each signature."""
    grouped: dict[str, list[Row]] = {}
    for row in rows(ctx.get("log.signatures")):
        entry = ctx.catalog.signatures.get(str(row.get("id")))
        if entry and entry["severity"] == "warn" and _concerns(ctx, row, entry) and not _is_flood(row, entry):
            grouped.setdefault(entry["id"], []).append(row)
    for name, group in grouped.items():
        yield _finding("warn", ctx.node, ctx.catalog.signatures[name], group)


def previous(ctx: Context) -> Iterator[Finding]:
    """The log of the boot before holds no line after which a GPU is not to be trusted; asked for by name."""
    grouped: dict[str, list[Row]] = {}
    for row in rows(ctx.get("log.previous.signatures")):
        entry = ctx.catalog.signatures.get(str(row.get("id")))
        if entry and _is_grave(row, entry) and _concerns(ctx, row, entry):
            grouped.setdefault(entry["id"], []).append(row)
    for name, group in grouped.items():
        finding = _finding("warn", ctx.node, ctx.catalog.signatures[name], group)
        yield finding._replace(observed=f"{finding.observed}, in the boot before")


def _fatal(ctx: Context, row: Row) -> Iterator[Finding]:
    entry = ctx.catalog.signatures.get(str(row.get("id")))
    if entry is None:
        yield unread(ctx.node, f"what {row.get('id')} in {_WHAT} means")
    elif not _concerns(ctx, row, entry):
        return
    elif "per_minute" in entry and _per_minute(row) is None:
        yield unread(_subject(ctx, row), f"how often {entry['id']} is in {_WHAT}")
    elif _is_grave(row, entry):
        yield _finding("fail", _subject(ctx, row), entry, [row])
    elif entry["severity"] == "fail":
        finding = _finding("warn", _subject(ctx, row), entry, [row])
        yield finding._replace(why=f"{finding.why}; a reset or a start of the GPU that went well followed")


def _is_grave(row: Row, entry: Mapping[str, Any]) -> bool:
    if entry["severity"] == "fail":
        return not (entry.get("until_reset") and row.get("open") == 0)
    return _is_flood(row, entry)


def _is_flood(row: Row, entry: Mapping[str, Any]) -> bool:
    rate = _per_minute(row)
    return "per_minute" in entry and rate is not None and rate >= entry["per_minute"]


def _per_minute(row: Row) -> float | None:
    """Lines a minute between the first and the last, all where that is less than a minute; None without times."""
    first, last, count = row.get("first"), row.get("last"), row.get("count")
    if not isinstance(first, (int, float)) or not isinstance(last, (int, float)) or not isinstance(count, int):
        return None
    return count * 60 / max(last - first, 60.0)


def _concerns(ctx: Context, row: Row, entry: Mapping[str, Any]) -> bool:
    """Whether a line is about the node, one of its GPUs or their paths; what cannot be told apart is about them."""
    gpus, bdf = row.get("gpus"), row.get("bdf")
    if entry["scope"] == "host" or not isinstance(gpus, list) or gpus:
        return True
    # The driver runs other products' GPUs too, and most ports of a server lead to no GPU.
    return entry["scope"] == "gpu" if bdf is None else _is_on_a_path(ctx, bdf)


def _is_on_a_path(ctx: Context, bdf: object) -> bool:
    hops = [hop for gpu in ctx.gpus for hop in [gpu, *rows(gpu.get("link"))]]
    return any(isinstance(hop, Mapping) and hop.get("bdf") == bdf for hop in hops)


def _subject(ctx: Context, row: Row) -> str:
    known = {name_of(gpu) for gpu in ctx.gpus}
    gpus = [bdf for bdf in rows(row.get("gpus")) if bdf in known]
    return ", ".join(gpus[:_FEW]) if gpus else str(row.get("bdf") or ctx.node)


def _finding(verdict: str, subject: str, entry: Mapping[str, Any], group: list[Row]) -> Finding:
    total = sum(row["count"] for row in group if isinstance(row.get("count"), int))
    places = [_place(row) for row in group if row.get("bdf")]
    few = ", ".join(places[:_FEW]) + (f" and {len(places) - _FEW} more" if len(places) > _FEW else "")
    seen = f"{entry['id']}: {total} at {few}" if few else f"{entry['id']}: {total}"
    return Finding(
        verdict,
        subject,
        f"no {entry['id']} in {_WHAT}",
        "".join([seen, _details(group[0]), _rate(group[0])]),
        f"{entry['meaning']}: {group[0].get('sample')}",
        entry["action"],
        source=entry["source"],
    )


def _place(row: Row) -> str:
    return str(row["bdf"]) if row.get("named", True) else f"{row['bdf']} (named in a line before)"


def _details(row: Row) -> str:
    pairs = ", ".join(f"{key} {value}" for key, value in (row.get("details") or {}).items())
    return f" ({pairs})" if pairs else ""


def _rate(row: Row) -> str:
    rate = _per_minute(row)
    return f", {rate:.0f} a minute" if rate and rate >= 1 else ""
