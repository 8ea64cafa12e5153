# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors the hardware has counted, and who uses the GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    per_gpu,
    rows,
    unread,
)

_NONE = "0 uncorrectable errors"


@per_gpu
def aer(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """The PCI Express port of no GPU has counted an uncorrectable error since boot."""
    counts = {kind: (gpu.get("aer") or {}).get(kind) for kind in ("nonfatal", "fatal")}
    risen = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    fix = "drain the node; read `journalctl -k` for AER lines of this path, reseat, and see whether it comes back"
    dark = "the AER counters (absent where the firmware keeps them)"
    yield from _counted(gpu, counts, dark, Finding("fail", name_of(gpu), _NONE, risen, "the link lost data", fix))


@per_gpu
def aer_path(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """No port above a GPU has counted one either: the other end of a link may be the one that saw the error."""
    ports = rows(gpu.get("link"))[1:]
    seen = [f"{hop.get('bdf')} {text}" for hop in ports for text in _uncorrectable(hop)]
    if seen:
        yield Finding(
            "warn",
            f"{name_of(gpu)} path",
            _NONE,
            ", ".join(seen),
            "a port above the GPU saw uncorrectable errors; other devices may share it",
            "read `journalctl -k` for AER lines of these ports, and see whether they come back",
        )
    elif ports and not any(None in (hop.get("aer") or {"": None}).values() for hop in ports):
        # Many ports have no counters of their own: that is told in the facts, and is no finding.
        yield passed(name_of(gpu))


def _uncorrectable(hop: Mapping[str, Any]) -> list[str]:
    counts = hop.get("aer") or {}
    names = ("nonfatal", "fatal", "received_nonfatal", "received_fatal")
    found = [f"{counts[name]} {name.replace('_', ' ')}" for name in names if counts.get(name)]
    # Where firmware keeps the counters, the sticky bit of the status is what is left of them.
    keeps_none = all(counts.get(name) is None for name in names)
    return [*found, "fatal error seen"] if keeps_none and "fatal" in rows(hop.get("device_errors")) else found


@per_gpu
def ras(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """No block of any GPU has counted an uncorrectable error since the driver was loaded."""
    counts = {block: (row or {}).get("ue") for block, row in (gpu.get("ras") or {}).items()}
    risen = ", ".join(f"{block} {number}" for block, number in sorted(counts.items()) if number)
    unknown = ", ".join(sorted(block for block, number in counts.items() if number is None))
    fix = "drain the node, read `amd-smi bad-pages` and the driver's log; a GPU that does it again is for the maker"
    why, dark = "memory or logic of the GPU lost data", f"the RAS counters{' of ' + unknown if unknown else ''}"
    yield from _counted(gpu, counts, dark, Finding("fail", name_of(gpu), _NONE, risen, why, fix))


def _counted(
    gpu: Mapping[str, Any], counts: Mapping[str, int | None], dark: str, failure: Finding
) -> Iterator[Finding]:
    """The failure where something was counted, an unknown where a counter is dark, a pass where neither is so."""
    if failure.observed:
        yield failure
    # Without its driver a device need not count, and the missing driver is a finding of its own.
    if (not counts or None in counts.values()) and gpu.get("initialised") is not False:
        yield unread(failure.subject, dark, _NONE)
    elif not failure.observed:
        yield passed(failure.subject)


@per_gpu
def bad_pages(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """No memory page of any GPU had to be retired."""
    pages = gpu.get("bad_pages")
    if pages is None and gpu.get("initialised") is not False:
        yield unread(name_of(gpu), "the retired pages")
    elif pages:
        yield Finding(
            "warn",
            name_of(gpu),
            "0",
            f"{pages}{_states(gpu)}",
            "retired pages stay retired; a growing number announces a failure",
            "watch it, and compare it with the maker's limit",
        )
    else:
        yield passed(name_of(gpu))


def _states(gpu: Mapping[str, Any]) -> str:
    counts = gpu.get("bad_pages_by_state") or {}
    told = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    return f" ({told})" if told else ""


def holders(ctx: Context) -> Iterator[Finding]:
    """Nobody has a GPU open."""
    found = ctx.get("holders")
    if found is None:
        yield unread(ctx.node, "who has the GPUs open")
    elif found:
        names = sorted({f"{row.get('command')} ({row.get('pid')})" for row in found})
        few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Finding(
            "warn", ctx.node, "nobody", few, "jobs may be running", "nothing now: the rollout drains the node first"
        )
    else:
        yield passed(ctx.node)


def schema(ctx: Context) -> Iterator[Finding]:
    """The facts are of the form this code reads."""
    seen = ctx.get("schema")
    if seen == 1:
        yield passed(ctx.node, "1")
    else:
        yield Finding(
            "unknown",
            ctx.node,
            "facts with schema 1",
            str(seen),
            "other facts may mean other things by the same names",
            "gather them with the node_facts module of this collection",
        )
