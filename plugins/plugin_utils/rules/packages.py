# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages, the driver's build for the next boot, and room for a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._space import MARGIN
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    passed,
    unread,
)

# A removed package whose configuration files stayed is not installed, and not broken either.
_FINE = ("installed", "config-files")


def _packages(ctx: Context) -> dict[str, Mapping[str, Any]] | None:
    groups = (ctx.get("driver.packages"), ctx.get("rocm.packages"))
    if not all(isinstance(group, Mapping) for group in groups):
        return None
    return {name: row for group in groups for name, row in group.items()}


def whole(ctx: Context) -> Iterator[Finding]:
    """No package of AMD's is left half installed."""
    packages = _packages(ctx)
    if packages is None:
        yield unread(ctx.node, "the package database")
        return
    states = {name: row.get("state") if isinstance(row, Mapping) else None for name, row in packages.items()}
    dark = sorted(name for name, state in states.items() if state is None)
    broken = sorted(f"{name} is {state}" for name, state in states.items() if state is not None and state not in _FINE)
    if dark:
        yield unread(ctx.node, f"the state of {', '.join(dark)}")
    if broken:
        yield Finding(
            "fail",
            ctx.node,
            "every package installed as a whole",
            ", ".join(broken),
            "an earlier change stopped half-way",
            "mend the package database first: `dpkg --audit`, then `dpkg --configure -a`; a failed dkms build has "
            "its log below /var/lib/dkms/amdgpu",
        )
    if not dark and not broken:
        yield passed(ctx.node, f"{len(states)} packages")


def next_boot(ctx: Context) -> Iterator[Finding]:
    """The kernel that boots next has the driver that is installed."""
    ready, kernel = ctx.get("driver.ready_for_next_boot"), ctx.get("node.kernel.next_boot")
    if ready is None or (ready and kernel is None):
        yield unread(ctx.node, "whether the next kernel has the driver")
    elif ready:
        yield passed(ctx.node, kernel)
    else:
        yield Finding(
            "fail",
            ctx.node,
            f"a driver built for {kernel}",
            "none",
            "after the next reboot the GPUs would be gone",
            f"install the headers of {kernel} and run `dkms autoinstall -k {kernel}`; a build that fails leaves its "
            "log below /var/lib/dkms/amdgpu",
        )


def leftovers(ctx: Context) -> Iterator[Finding]:
    """No folder of a ROCm that is not installed any more is left."""
    why = "a package or files of an earlier release stayed, and programs may find them first"
    fix = "remove the packages they belong to by name, then the folders"
    yield _nothing_left(ctx, "rocm.leftovers", "what earlier releases left behind", why, fix)


def stale_trees(ctx: Context) -> Iterator[Finding]:
    """No leftover of an old driver is in the tree of dkms."""
    why = "dkms stops with 'Could not locate dkms.conf' at such a folder"
    fix = "delete them below /var/lib/dkms/amdgpu once the package they came from is gone"
    yield _nothing_left(ctx, "driver.stale_trees", "the tree of dkms", why, fix)


def _nothing_left(ctx: Context, path: str, what: str, why: str, fix: str) -> Finding:
    found = ctx.get(path)
    if found is None:
        return unread(ctx.node, what)
    return Finding("warn", ctx.node, "none", ", ".join(map(str, found)), why, fix) if found else passed(ctx.node)


def held(ctx: Context) -> Iterator[Finding]:
    """What is installed is held and pinned, so that no ordinary update moves it."""
    packages, pins = _packages(ctx), ctx.get("rocm.pins")
    loose = sorted(
        name
        for name, row in (packages or {}).items()
        if isinstance(row, Mapping) and row.get("state") == "installed" and not row.get("hold")
    )
    unsure = [row for row in (packages or {}).values() if isinstance(row, Mapping) and row.get("hold", True) is None]
    if packages is None or pins is None or unsure:
        yield unread(ctx.node, "holds and pins")
    elif loose or not pins:
        few = ", ".join(loose[:5]) + (f" and {len(loose) - 5} more" if len(loose) > 5 else "")
        seen = "; ".join(part for part in (f"not held: {few}" if loose else "", "" if pins else "no pin") if part)
        yield Finding(
            "warn",
            ctx.node,
            "every package held, the repository pinned",
            seen,
            "the next ordinary update may move ROCm or the driver by itself",
            "the rollout's rocm step holds and pins what it installs",
        )
    else:
        yield passed(ctx.node, f"{len(packages)} held")


def space(ctx: Context) -> Iterator[Finding]:
    """There is room for the change."""
    if not ctx.moves:
        return
    for row in ctx.catalog.settings["space"]:
        yield _room(ctx, row)


def _room(ctx: Context, row: Mapping[str, Any]) -> Finding:
    free, least = (ctx.get("node.free_bytes") or {}).get(row["path"]), _least(ctx, row)
    subject = f"{ctx.node} {row['path']}"
    if free is None or least is None:
        return unread(subject, "free space" if free is None else "what is to be written beside what is there")
    bounds = (
        ("fail", least, "the change would run out of space half-way", "make room"),
        ("warn", row["comfortable"], "it may be tight", "make room where the target is a whole ROCm"),
    )
    for verdict, bound, why, fix in bounds:
        if free < bound:
            seen = f"{_size(free)} in {row['path']}"
            return Finding(verdict, subject, _size(bound), seen, why, fix, source=row["source"])
    return passed(subject, _size(free))


def _least(ctx: Context, row: Mapping[str, Any]) -> int | None:
    """The bytes without which the change cannot be made; a file that is replaced needs its own size once more."""
    if "beside" not in row:
        return int(row["least"])
    size = ctx.get(row["beside"])
    return None if size is None else max(int(row["least"]), int(size * MARGIN))


def _size(number: int) -> str:
    return f"{number / 2**30:.1f} GiB free"
