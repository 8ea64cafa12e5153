# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What AMD advises for a product: rows of the catalog about BIOS, command line and operating system, and the facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread

# These have rules of their own, which know when they hold.
_OWN_RULE = frozenset({"pci=realloc=off", "aspm", "global_cstate", "pcie_speed", "sriov"})
_SWITCH = {"enabled": True, "on": True, "1": True, "disabled": False, "off": False, "0": False}


def applies(ctx: Context, row: Mapping[str, Any]) -> bool | None:
    """Whether a row is about this node; None where it is about one maker's processors, and the maker is not known."""
    if ctx.product is None or ctx.product["name"] not in row["products"]:
        return False
    maker = ctx.get("platform.cpu_vendor")
    if row["cpu_vendor"] is None or row["cpu_vendor"] == maker:
        return True
    return None if maker is None else False


def advised(ctx: Context, key: str) -> Mapping[str, Any] | None:
    """The row about a BIOS setting that holds, or may hold, for this node."""
    return next((row for row in ctx.catalog.bios if row["key"] == key and applies(ctx, row) is not False), None)


def verdict_of(row: Mapping[str, Any]) -> str:
    """What a node gets that is not as the row says: data that nobody verified never fails."""
    return "fail" if row["severity"] == "fail" and row["status"] == "verified" else "warn"


def settings(ctx: Context) -> Iterator[Finding]:
    """What the BIOS and the operating system set is what AMD advises for the product and the processor."""
    for bios, rows in ((True, ctx.catalog.bios), (False, ctx.catalog.settings["os"])):
        for row in rows:
            if row["severity"] != "info" and row["reads"] and applies(ctx, row) is not False:
                yield from _setting(ctx, row, bios)


def _setting(ctx: Context, row: Mapping[str, Any], bios: bool) -> Iterator[Finding]:
    seen, subject = _value(ctx, row), f"{ctx.node} {row['key']}"
    # What the site wishes for in the target goes before what AMD advises.
    wish = (ctx.wanted or {}).get("bios", {}).get(row["key"]) if bios else None
    row = {**row, "value": wish, "source": "the target file"} if wish else row
    if row["key"] in _OWN_RULE or (bios and row["value"].lower() not in _SWITCH):
        # A value in prose is for whoever sets the BIOS up.
        return
    if seen is None or applies(ctx, row) is None:
        yield unread(subject, row["key"], row["value"])
    elif agrees(row["value"], seen):
        yield passed(subject, _told(seen))
    else:
        fix = f"set {row['key']} to {row['value']}"
        place = "in the BIOS" if bios else "in the target's kernel settings, or by hand"
        wanted, found = (f"{row['key']} {text}" for text in (row["value"], _told(seen)))
        yield Finding(verdict_of(row), subject, wanted, found, row["why"], f"{fix} {place}", source=row["source"])


def agrees(value: str, seen: object) -> bool:
    """Whether a fact is what a row says: a switch, a text, or a map whose every key is to be the value."""
    if isinstance(seen, bool):
        return _SWITCH.get(value.lower()) is seen
    if isinstance(seen, Mapping):
        return set(seen) <= {value}
    return str(seen) == value


def cmdline_required(ctx: Context) -> Iterator[Finding]:
    """The command line of the next boot has what AMD requires for the product and the processor."""
    coming = ctx.get("node.kernel.next_boot_cmdline")
    for row in ctx.catalog.settings["kernel"]:
        if row["need"] != "required" or row["severity"] == "info":
            continue
        holds = applies(ctx, row) if row["key"] not in _OWN_RULE else False
        if holds is False:
            continue
        if holds is None or not isinstance(coming, list) or not all(isinstance(token, str) for token in coming):
            yield unread(ctx.node, "the processor's maker and the command line of the next boot", row["key"])
        elif missing([row["key"]], coming):
            fix = "add it to products.*.kernel.cmdline of the target"
            yield Finding(
                verdict_of(row), ctx.node, row["key"], "not on the command line", row["why"], fix, source=row["source"]
            )
        else:
            yield passed(ctx.node, row["key"])


def _value(ctx: Context, row: Mapping[str, Any]) -> object:
    seen = ctx.get(row["reads"])
    if isinstance(seen, Mapping) and row["reads"].endswith("sysctl"):
        return seen.get(row["key"])
    # No policy of frequencies at all is what guests show.
    return None if seen == {} else seen


def _told(seen: object) -> str:
    if isinstance(seen, bool):
        return "on" if seen else "off"
    return ", ".join(sorted(map(str, seen))) if isinstance(seen, Mapping) else str(seen)
