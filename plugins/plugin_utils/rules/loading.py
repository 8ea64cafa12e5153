# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A driver that the next boot will load, and that finds all it needs."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import keeping_out
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread

_ANEW = "write it anew: `update-initramfs -u -k all`, or `dracut -f --regenerate-all`"
_TAKE_OUT = "take it out"
_GONE = "the next boot, or that after the next initramfs, starts without the driver, and the GPUs would be gone"
_MEANT = (
    "where a unit is to load the driver after boot, as AMD offers for firmware work, have modprobe.blacklist=amdgpu "
    "on the command line instead"
)


def kept_out(ctx: Context) -> Iterator[Finding]:
    """Nothing keeps the driver from being loaded at the next boot."""
    seen = ctx.get("driver.next_boot.kept_out_by")
    if not isinstance(seen, list):
        yield unread(ctx.node, "whether a blacklist or an argument keeps the driver out")
        return
    inside = ["a line in the initramfs"] if ctx.get("driver.next_boot.initramfs.holds_blacklist") else []
    if not seen and not inside:
        yield passed(ctx.node)
    elif not inside and all(_is_meant(ctx, token) for token in seen):
        why = "AMD offers modprobe.blacklist=amdgpu where a unit loads the driver after boot, and here it is loaded"
        yield Finding("warn", ctx.node, "nothing", ", ".join(seen), why, "see to it that the unit stays enabled")
    else:
        told = ", ".join(map(str, [*seen, *inside]))
        yield Finding("fail", ctx.node, "nothing that keeps amdgpu out", told, _GONE, f"{_TAKE_OUT}; {_ANEW}; {_MEANT}")


def initramfs(ctx: Context) -> Iterator[Finding]:
    """The initramfs of the next boot is not older than the driver; one that does not hold it leaves it to the root."""
    seen = ctx.get("driver.next_boot.initramfs") or {}
    if seen.get("older_than_module"):
        why = "it may hold the driver from before, which is then loaded first"
        yield Finding("warn", ctx.node, "an initramfs that is newer than the module", str(seen.get("path")), why, _ANEW)
    elif seen.get("older_than_module") is None and seen.get("path") and ctx.get("driver.next_boot.module_file"):
        yield unread(ctx.node, "whether the initramfs is older than the driver")
    elif seen.get("path"):
        yield passed(ctx.node, seen["path"])


def compute_device(ctx: Context) -> Iterator[Finding]:
    """Where the driver is loaded, its compute device is there."""
    loaded, there = ctx.get("driver.loaded"), ctx.get("driver.compute_device")
    if loaded is False:
        return
    if loaded is None or there is None:
        yield unread(ctx.node, "whether /dev/kfd is there")
    elif there:
        yield passed(ctx.node, "/dev/kfd")
    else:
        why = "user space has no way to the GPUs without it, whatever version it says it is"
        fix = "see `journalctl -k -b` for why amdkfd did not start, and whether the driver's package is still installed"
        yield Finding("fail", ctx.node, "/dev/kfd", "not there although amdgpu is loaded", why, fix)


def _is_meant(ctx: Context, token: object) -> bool:
    """True for an argument that keeps modprobe from loading by itself, on a node that runs with it and the driver."""
    text, now = str(token), ctx.get("node.kernel.cmdline")
    if not text.startswith("modprobe.blacklist=") or not ctx.get("driver.loaded") or not isinstance(now, list):
        return False
    return text in keeping_out([word for word in now if isinstance(word, str)], "amdgpu")
