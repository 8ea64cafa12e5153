# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the command line lasts: in every entry of the boot menu, on kernels to come, and over the next reboot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import in_every_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.layers import ARGUMENTS, said
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread

_NEW_KERNELS = "/etc/kernel/cmdline"
_KEYS = {"cmdline", "rescue"}


def every_entry(ctx: Context) -> Iterator[Finding]:
    """Every entry of the boot menu but those for rescue has what the target wants: the way back boots one of them."""
    wanted = _wanted(ctx)
    if not wanted:
        return
    entries = ctx.get("node.boot_entries")
    whole = isinstance(entries, list) and all(isinstance(row, Mapping) and row.keys() >= _KEYS for row in entries)
    known = {token: in_every_entry(entries, token) for token in wanted} if whole else {"": None}
    absent = [token for token, answer in known.items() if answer is False]
    if absent:
        kernels = [str(row.get("kernel")) for row in entries if not row.get("rescue") and _lacks(row, absent)]
        yield Finding(
            "warn",
            ctx.node,
            f"{' '.join(absent)} in every entry",
            f"not in that of {', '.join(dict.fromkeys(kernels))}",
            "a boot of that entry, by a choice in the menu or as a way back, would go without it",
            "write the menu anew: `update-grub`, or `grubby --update-kernel=ALL --args=...` for loader entries",
        )
    elif None in known.values():
        yield unread(ctx.node, "the entries of the boot menu", " ".join(wanted))
    else:
        yield passed(ctx.node, f"{len(entries)} entries")


def new_kernels(ctx: Context) -> Iterator[Finding]:
    """A kernel that is installed from now on gets what the target wants."""
    wanted, given = _wanted(ctx), ctx.get("node.kernel.new_kernels_cmdline")
    if not wanted:
        return
    if isinstance(given, list) and missing(wanted, given):
        yield Finding(
            "warn",
            ctx.node,
            " ".join(wanted),
            f"{_NEW_KERNELS} lacks {' '.join(missing(wanted, given))}",
            "kernel-install takes the arguments of a new kernel from this file, not from the entries that are there",
            f"add it to {_NEW_KERNELS}; after each update of the kernel, look at the default entry before the reboot",
        )
    elif isinstance(given, list):
        yield passed(ctx.node, " ".join(wanted))
    elif any(_NEW_KERNELS in str(row.get("subject")) for row in ctx.get("problems") or []):
        yield unread(ctx.node, _NEW_KERNELS, " ".join(wanted))


def at_reboot(ctx: Context) -> Iterator[Finding]:
    """A reboot changes no setting but those that the target asks for."""
    now, coming = ctx.get("node.kernel.cmdline"), ctx.get("node.kernel.next_boot_cmdline")
    if not _is_cmdline(now) or not _is_cmdline(coming):
        yield unread(ctx.node, "the command line of the next boot")
        return
    changes = [name for name in ARGUMENTS if said(name, now) != said(name, coming) and not _is_asked_for(ctx, name)]
    for name in changes:
        yield Finding(
            "warn",
            f"{ctx.node} {name}",
            said(name, now) or "no argument about it",
            f"at the next boot {said(name, coming) or 'no argument about it'}",
            "somebody changed the boot menu and did not boot it, or a drop-in file overrides the other",
            "keep what is meant: the target's kernel.cmdline says so for good",
        )
    if not changes:
        yield passed(ctx.node)


def _wanted(ctx: Context) -> list[str]:
    return list((ctx.wanted or {}).get("kernel", {}).get("cmdline") or [])


def _lacks(row: Mapping[str, Any], tokens: list[str]) -> bool:
    return row.get("cmdline") is not None and bool(missing(tokens, row["cmdline"]))


def _is_cmdline(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(token, str) for token in value)


def _is_asked_for(ctx: Context, name: str) -> bool:
    """True where the next boot has exactly the target's arguments of a setting."""
    asked = said(name, _wanted(ctx))
    return asked is not None and asked == said(name, ctx.get("node.kernel.next_boot_cmdline"))
