# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI Express path of every GPU, each hop against what its two ends can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import (
    describe,
    generation,
    narrowest,
    parse_width,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    per_gpu,
    rows,
    unread,
)

_LOWEST = 2.5


class _Hop(NamedTuple):
    """A hop with what its link should carry."""

    row: Mapping[str, Any]
    speed: float
    width: int


def _is_read(hop: Mapping[str, Any]) -> bool:
    # A device that fell off the bus reads as all ones: what no link can be is no reading, however large the number.
    speeds = all(generation(hop.get(key)) for key in ("speed_gts", "max_speed_gts"))
    widths = all(parse_width(str(hop.get(key))) for key in ("width", "max_width"))
    if not (hop.get("bdf") and speeds and widths):
        return False
    return bool(hop["speed_gts"] <= hop["max_speed_gts"] and hop["width"] <= hop["max_width"])


def _partner(path: list[Mapping[str, Any]], index: int) -> Mapping[str, Any]:
    # GPU and port, upper port and port: the two ends of a link come in pairs from the GPU upwards. Where a hop is
    # missing the pairs cannot be told, and the hop above stands in.
    other = index ^ 1 if len(path) % 2 == 0 else min(index + 1, len(path) - 1)
    return path[other]


def _expected(ctx: Context, path: list[Mapping[str, Any]]) -> list[_Hop]:
    limit = (ctx.wanted or ctx.product or {})["link"]
    hops = []
    for index, hop in enumerate(path):
        other = _partner(path, index)
        hops.append(
            _Hop(
                hop,
                min(hop["max_speed_gts"], other["max_speed_gts"], limit["speed_gts"]),
                min(hop["max_width"], other["max_width"], limit["width"]),
            )
        )
    return hops


def _unreadable(path: list[Mapping[str, Any]]) -> str | None:
    if len(path) < 2:
        return "the path above the GPU (a virtual machine does not show it)"
    dark = [str(hop.get("bdf") or hop.get("role")) for hop in path if not _is_read(hop)]
    return f"speed and width, now and at most, of hop {', '.join(dark)}" if dark else None


def _judged(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding] | list[_Hop]:
    """The hops to judge, or the one finding where there is nothing to judge."""
    if ctx.product is None:
        return iter(())
    if ctx.product["host_link"] != "pcie":
        return iter([passed(name_of(gpu), "no host link to judge: it is inside the socket")])
    path = rows(gpu.get("link"))
    dark = _unreadable(path)
    return iter([unread(name_of(gpu), dark)]) if dark else _expected(ctx, path)


@per_gpu
def speed(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Every hop runs at the speed both of its ends can do."""
    hops = _judged(ctx, gpu)
    if not isinstance(hops, list):
        yield from hops
        return
    slow = [hop for hop in hops if hop.row["speed_gts"] < hop.speed]
    if not slow:
        yield passed(name_of(gpu), describe(hops[0].row["speed_gts"]))
        return
    worst = _worst(slow)
    seen = describe(worst.row["speed_gts"])
    if _may_be_idle(ctx, gpu, slow):
        yield Finding(
            "unknown",
            _subject(gpu, worst),
            describe(worst.speed),
            seen,
            f"an idle GPU may save power; {_story(hops)}",
            "audit it under load or with a pinned performance level: this reading proves neither health nor fault",
        )
    else:
        yield Finding("fail", _subject(gpu, worst), describe(worst.speed), seen, _story(hops), _FIX)


@per_gpu
def width(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Every hop runs at the width both of its ends can do; power saving does not explain missing lanes."""
    hops = _judged(ctx, gpu)
    if not isinstance(hops, list):
        yield from hops
        return
    narrow = [hop for hop in hops if hop.row["width"] < hop.width]
    if narrow:
        worst = _worst(narrow)
        yield Finding("fail", _subject(gpu, worst), f"x{worst.width}", f"x{worst.row['width']}", _story(hops), _FIX)
    else:
        yield passed(name_of(gpu), f"x{hops[0].row['width']}")


@per_gpu
def capability(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """The path can carry what the product can, and the target does not ask for less."""
    path = rows(gpu.get("link"))
    if ctx.product is None or ctx.product["host_link"] != "pcie" or _unreadable(path):
        return
    own, known = ctx.product["link"], [name for name, _lanes in ctx.product.get("narrow_bridges", [])]
    for hop in path:
        full = hop["max_speed_gts"] >= own["speed_gts"] and hop["max_width"] >= own["width"]
        if not full and f"{hop.get('vendor_id')}:{hop.get('device_id')}" not in known:
            yield Finding(
                "warn",
                f"{name_of(gpu)} hop {hop['bdf']}",
                f"{describe(own['speed_gts'])} x{own['width']}",
                f"{describe(hop['max_speed_gts'])} x{hop['max_width']} at most",
                "this hop cannot do more, so it limits a GPU that could",
                "nothing, where the server is built like that",
            )
            return
    if ctx.wanted and ctx.wanted["link"]["speed_gts"] < own["speed_gts"]:
        yield Finding(
            "warn",
            name_of(gpu),
            describe(own["speed_gts"]),
            f"the target asks for {describe(ctx.wanted['link']['speed_gts'])}",
            "a capped link is a degraded mode",
            "take the cap out of the target when its cause is mended",
        )


_FIX = (
    "reseat card, riser or cable and power-cycle; if it stays, look at the BIOS's link settings and the retimers of "
    "this hop"
)


def _worst(hops: list[_Hop]) -> _Hop:
    row = narrowest([dict(hop.row) for hop in hops]) or hops[0].row
    return next(hop for hop in hops if hop.row["bdf"] == row["bdf"])


def _subject(gpu: Mapping[str, Any], hop: _Hop) -> str:
    return name_of(gpu) if hop.row["bdf"] == gpu.get("bdf") else f"{name_of(gpu)} hop {hop.row['bdf']}"


def _story(hops: list[_Hop]) -> str:
    # All readings, so that an operator who looks at one device alone is not misled by it.
    return "from the GPU upwards: " + ", ".join(
        f"{hop.row['bdf']} {describe(hop.row['speed_gts'])} x{hop.row['width']}" for hop in hops
    )


def _may_be_idle(ctx: Context, gpu: Mapping[str, Any], slow: list[_Hop]) -> bool:
    if (ctx.product or {}).get("full_speed_at_idle"):
        return False
    return all(hop.row["speed_gts"] == _LOWEST for hop in slow) and gpu.get("performance_level") in (
        "auto",
        "low",
        None,
    )
