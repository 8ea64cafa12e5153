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
    partner,
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
# A GPU that does this much, in percent, has no reason to save power.
_UNDER_LOAD = 50


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


def _expected(ctx: Context, path: list[Mapping[str, Any]]) -> list[_Hop]:
    limit = (ctx.wanted or ctx.product or {})["link"]
    hops = []
    for index, hop in enumerate(path):
        other = path[partner(path, index)]
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


def _gone(gpu: Mapping[str, Any]) -> Finding | None:
    """The finding for a path with a device on it that reads as all ones, whatever the other hops say."""
    path = rows(gpu.get("link"))
    dead = [str(hop.get("bdf")) for hop in path if hop.get("answers") is False]
    if not dead:
        return None
    return Finding(
        "fail",
        name_of(gpu) if dead[0] == gpu.get("bdf") else f"{name_of(gpu)} hop {dead[0]}",
        "a device that answers",
        "reads as all ones",
        f"{', '.join(dead)} fell off the bus; {_story(path)}",
        "drain the node, power-cycle it and reseat the card; see the kernel log for what came before",
    )


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
    """Every device of the path answers, and every hop runs at the speed both of its ends can do."""
    gone = _gone(gpu)
    hops = iter([gone]) if gone else _judged(ctx, gpu)
    if not isinstance(hops, list):
        yield from hops
        return
    slow = [hop for hop in hops if hop.row["speed_gts"] < hop.speed]
    if slow:
        yield _slow(ctx, gpu, hops, slow)
    else:
        yield passed(name_of(gpu), describe(hops[0].row["speed_gts"]))


def _slow(ctx: Context, gpu: Mapping[str, Any], hops: list[_Hop], slow: list[_Hop]) -> Finding:
    saves = not (ctx.product or {}).get("full_speed_at_idle")
    unproven = [hop for hop in slow if not (saves and _proven(hop))]
    worst = _worst(unproven or slow)
    subject, wanted, seen = _subject(gpu, worst), describe(worst.speed), describe(worst.row["speed_gts"])
    story = _story([hop.row for hop in hops])
    if not unproven and not _under_load(gpu):
        return passed(subject, f"{seen} now, {wanted} in another reading: it saves power, and can do all")
    if not unproven:
        why = f"the speed moves although the GPU is busy ({gpu['busy_percent']} %); {story}"
        return Finding("warn", subject, wanted, seen, why, "see whether the kernel log tells of retrained links")
    if any(hop.row.get("autonomous_speed") is False for hop in unproven):
        why = f"the hardware is kept from changing the speed (SpeedDis), and holds the link where it was; {story}"
        return Finding("fail", subject, wanted, seen, why, _UNPIN)
    if saves and _may_be_idle(gpu, [hop.row for hop in unproven], "speed_gts"):
        return Finding("unknown", subject, wanted, seen, f"an idle GPU may save power; {story}", _LOAD)
    return Finding("fail", subject, wanted, seen, story, _FIX)


@per_gpu
def width(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Every hop runs at the width both of its ends can do; power saving explains only lanes that it does take away."""
    # A device that is gone has its finding in the rule of the speed.
    hops = iter(()) if _gone(gpu) else _judged(ctx, gpu)
    if not isinstance(hops, list):
        yield from hops
        return
    narrow = [hop for hop in hops if hop.row["width"] < hop.width]
    if not narrow:
        yield passed(name_of(gpu), f"x{hops[0].row['width']}")
        return
    worst, story = _worst(narrow), _story([hop.row for hop in hops])
    subject, wanted, seen = _subject(gpu, worst), f"x{worst.width}", f"x{worst.row['width']}"
    saves = not (ctx.product or {}).get("full_speed_at_idle")
    if saves and _may_be_idle(gpu, [hop.row for hop in narrow], "width"):
        why = f"power management of this GPU has a level with as few lanes; {story}"
        yield Finding("unknown", subject, wanted, seen, why, _LOAD)
    else:
        yield Finding("fail", subject, wanted, seen, story, _FIX)


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
_LOAD = "audit it under load or with a pinned performance level: this reading proves neither health nor fault"
_UNPIN = (
    "power-cycle the node, and see what sets Hardware Autonomous Speed Disable: it must never be set while a link is "
    "below its target speed"
)


def _worst(hops: list[_Hop]) -> _Hop:
    row = narrowest([dict(hop.row) for hop in hops]) or hops[0].row
    return next(hop for hop in hops if hop.row["bdf"] == row["bdf"])


def _subject(gpu: Mapping[str, Any], hop: _Hop) -> str:
    return name_of(gpu) if hop.row["bdf"] == gpu.get("bdf") else f"{name_of(gpu)} hop {hop.row['bdf']}"


def _story(path: list[Mapping[str, Any]]) -> str:
    # All readings, so that an operator who looks at one device alone is not misled by it.
    return "from the GPU upwards: " + ", ".join(
        f"{hop.get('bdf')} {describe(hop.get('speed_gts'))} x{hop.get('width') or '?'}{_others(hop)}" for hop in path
    )


def _others(hop: Mapping[str, Any]) -> str:
    seen = list(dict.fromkeys(f"{sample}" for sample in rows(hop.get("samples_gts")) if generation(sample)))
    return f" (readings {' and '.join(seen)})" if len(seen) > 1 else ""


def _proven(hop: _Hop) -> bool:
    return any(generation(sample) and sample >= hop.speed for sample in rows(hop.row.get("samples_gts")))


def _under_load(gpu: Mapping[str, Any]) -> bool:
    busy = gpu.get("busy_percent")
    return isinstance(busy, int) and busy >= _UNDER_LOAD


def _may_be_idle(gpu: Mapping[str, Any], hops: list[Mapping[str, Any]], key: str) -> bool:
    """Whether power saving of an idle GPU can explain what ``key`` of the hops reads as."""
    if gpu.get("performance_level") not in ("auto", "low", None) or _under_load(gpu):
        return False
    levels = rows(gpu.get("link_levels"))
    if not levels or not all(generation(level.get("speed_gts")) and level.get("width") for level in levels):
        return key == "speed_gts" and all(hop[key] == _LOWEST for hop in hops)
    most = max(level[key] for level in levels)
    low = [(level["speed_gts"], level["width"]) for level in levels if level[key] < most]
    if key == "speed_gts":
        return all(hop[key] in {gts for gts, _lanes in low} for hop in hops)
    return all((hop["speed_gts"], hop["width"]) in low for hop in hops)
