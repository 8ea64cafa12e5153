# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether user space and driver fit each other, and whether the way from one pair to the next is supported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.versions import loaded_release, no_rocm


def window_now(ctx: Context) -> Iterator[Finding]:
    """The pair that runs now is one AMD supports."""
    if not no_rocm(ctx):
        yield _pair(ctx, loaded_release(ctx), ctx.get("rocm.active"), "warn", "the target mends it where it is inside")


def window_target(ctx: Context) -> Iterator[Finding]:
    """The pair of the target is one AMD supports."""
    if ctx.wanted is not None:
        yield _pair(ctx, ctx.wanted["driver"], ctx.wanted["rocm"], "fail", "choose another pair in the target")


def _pair(ctx: Context, driver: str | None, rocm: str | None, outside: str, fix: str) -> Finding:
    window = ctx.window(driver, rocm)
    pair = f"ROCm {rocm} on driver {driver}"
    if window.answer == "inside":
        return passed(ctx.node, pair)
    verdict = outside if window.answer == "outside" else "unknown"
    why = f"{window.answer} the window of user space and driver"
    return Finding(verdict, ctx.node, "a supported pair", pair, why, fix, source=window.source)


def product_min(ctx: Context) -> Iterator[Finding]:
    """The product is supported by the target's ROCm."""
    if ctx.wanted is None or ctx.product is None:
        return
    least, wanted, name = ctx.product["min_rocm"], ctx.wanted["rocm"], ctx.product["name"]
    if least is None:
        yield Finding(
            "unknown",
            ctx.node,
            f"a release that supports {name}",
            wanted,
            f"no source says since when ROCm supports {name}",
            "find it in AMD's compatibility matrix and waive the rule",
        )
    elif compare(wanted, least) < 0:
        yield Finding(
            "fail",
            ctx.node,
            f"{least} or newer",
            wanted,
            f"ROCm {wanted} does not know {name}",
            "choose a newer release",
        )
    elif "min_rocm" in ctx.product["unverified"]:
        yield Finding(
            "warn",
            ctx.node,
            f"{least} or newer (not verified)",
            wanted,
            "the catalog's minimum is not verified",
            "nothing, where AMD's compatibility matrix lists the product",
        )
    else:
        yield passed(ctx.node, f"{wanted}, {least} or newer")


def path_stream(ctx: Context) -> Iterator[Finding]:
    """The way leads from production to production, and in place: not across a change of packaging."""
    if ctx.wanted is None or not ctx.moves:
        return
    seen, wanted = ctx.get("rocm.active"), ctx.wanted["rocm"]
    now, then = ctx.catalog.release(seen), ctx.catalog.release(wanted)
    way = f"from {seen} to {wanted}"
    if no_rocm(ctx):
        yield passed(ctx.node, f"from none to {wanted}")
    elif now is None or then is None:
        yield Finding(
            "unknown",
            ctx.node,
            "two releases of the catalog",
            way,
            "the catalog does not know both",
            "bring a newer catalog",
        )
    elif hops := ctx.catalog.hops(now["rocm"], then["rocm"]):
        yield from (_hop(ctx, row, way) for row in hops)
    elif now["kind"] != "production" and now != then:
        why = "there is no upgrade path from one preview to another"
        yield Finding("fail", ctx.node, "production to production", way, why, "install the node anew")
    elif compare(seen, wanted) > 0:
        yield Finding("warn", ctx.node, "an upgrade", way, "this is a downgrade", "make sure that it is meant")
    else:
        yield passed(ctx.node, way)


def _hop(ctx: Context, row: Mapping[str, Any], way: str) -> Finding:
    """What the catalog says of a way that is more than an upgrade in place: with named steps it is one after them."""
    steps, sure = tuple(row["steps"]), row["status"] == "verified"
    return Finding(
        "fail" if sure else "unknown",
        ctx.node,
        "an upgrade in place",
        way,
        row["why"],
        row["fix"],
        move="needs_step" if steps else row["move"],
        source=row["source"],
        before=steps,
    )


def path_window(ctx: Context) -> Iterator[Finding]:
    """One half of the change may be in place without the other: old user space on the new driver, or new on the old."""
    if ctx.wanted is None or not ctx.moves:
        return
    seen, wanted = ctx.get("rocm.active"), ctx.wanted
    new_driver = ctx.window(wanted["driver"], seen)
    old_driver = ctx.window(loaded_release(ctx), wanted["rocm"])
    answers = (new_driver.answer, old_driver.answer)
    way = f"from {seen} on {loaded_release(ctx)} to {wanted['rocm']} on {wanted['driver']}"
    if "inside" in answers or no_rocm(ctx):
        yield passed(ctx.node, way)
    elif "outside" in answers:
        stops = _stops(ctx)
        yield Finding(
            "fail",
            ctx.node,
            "a way inside the window",
            way,
            "neither half of the change can stand without the other",
            _advice(stops),
            move="needs_step" if stops else "blocked",
            source=new_driver.source,
            before=tuple(f"move to {stop}" for stop in stops),
        )
    else:
        yield Finding(
            "unknown",
            ctx.node,
            "a way inside the window",
            way,
            "no list says whether half of the change can stand",
            _advice(_stops(ctx)),
        )


def _advice(stops: list[str]) -> str:
    if not stops:
        return "no releases in between lead there; install the node anew"
    return f"go by way of {', then '.join(stops)}"


def _stops(ctx: Context) -> list[str]:
    """The fewest releases in between, each step of which stays inside the window; none where no way leads there."""
    goal = ((ctx.wanted or {})["rocm"], (ctx.wanted or {})["driver"])
    stops = [
        (row["rocm"], row["driver"])
        for row in reversed(ctx.catalog.releases.values())
        if row["driver"] and row["kind"] == "production" and row["packaging"] == "legacy"
    ]
    ways: list[list[tuple]] = [[(ctx.get("rocm.active"), loaded_release(ctx))]]
    for way in ways:
        if len(way) > 1 and _may_step(ctx, way[-1], goal):
            return [f"ROCm {rocm} on driver {driver}" for rocm, driver in way[1:]]
        fresh = [stop for stop in stops if _may_step(ctx, way[-1], stop)]
        stops = [stop for stop in stops if stop not in fresh]
        ways += [[*way, stop] for stop in fresh]
    return []


def _may_step(ctx: Context, here: tuple, there: tuple) -> bool:
    halves = ((there[1], here[0]), (here[1], there[0]))
    return any(ctx.window(driver, rocm).answer == "inside" for driver, rocm in halves)
