# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must hold of packages before a node is drained, so that the change does not fail on it afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    passed,
    rows,
    unread,
)

_LOCKS = "/proc/locks"
_CHANGED = ("apt",)
_KERNEL_PACKAGES = ("linux-image-generic", "linux-image-amd64", "kernel-core", "kernel-default")


def manager(ctx: Context) -> Iterator[Finding]:
    """The node's packages are managed by a program that a rollout can drive."""
    if not ctx.moves:
        return
    seen = ctx.get("rocm.manager")
    if seen is None:
        yield unread(ctx.node, "the package manager", ", ".join(_CHANGED))
    elif seen in _CHANGED:
        yield passed(ctx.node, seen)
    else:
        why = "this release changes packages with apt only, and would fail after the drain"
        yield Finding("fail", ctx.node, ", ".join(_CHANGED), str(seen), why, "change this node by hand", "manual")


def lock(ctx: Context) -> Iterator[Finding]:
    """Nobody is just changing packages."""
    holder = ctx.get("rocm.lock_holder")
    if isinstance(holder, Mapping):
        why = "the change would wait for it, on a drained node"
        told = f"process {holder.get('pid')} holds {holder.get('path')}"
        yield Finding("warn", ctx.node, "no lock that is held", told, why, "let it end first", move="needs_step")
    elif any(str(row.get("subject")).startswith(_LOCKS) for row in rows(ctx.get("problems"))) or not ctx.get("rocm"):
        yield unread(ctx.node, "the locks of the package manager")
    else:
        yield passed(ctx.node)


def shadowing(ctx: Context) -> Iterator[Finding]:
    """No package of the distribution stands in the place of AMD's."""
    seen = ctx.get("rocm.shadowing")
    if not isinstance(seen, list):
        yield unread(ctx.node, "packages of the distribution under AMD's names")
    elif not seen:
        yield passed(ctx.node)
    elif ctx.get("rocm.pins") is None:
        yield unread(ctx.node, "the pins, which tell whether the distribution's packages win over AMD's")
    else:
        pins = ctx.get("rocm.pins")
        few = ", ".join(f"{row.get('name')} {row.get('version')}" for row in seen[:4])
        told = f"{few}{f' and {len(seen) - 4} more' if len(seen) > 4 else ''} ({seen[0].get('why')})"
        verdict = "warn" if pins else "fail"
        why = (
            "AMD's are preferred by a pin"
            if pins
            else "no pin prefers AMD's, so the distribution's win or mix with them"
        )
        fix = "remove them, or let the rollout's rocm step pin AMD's repository and bring its own"
        move = "blocked" if pins else "needs_step"
        yield Finding(verdict, ctx.node, "AMD's packages alone", told, why, fix, move)


def repositories(ctx: Context) -> Iterator[Finding]:
    """AMD's repositories on the node are for its release of the distribution."""
    seen = ctx.get("rocm.repositories")
    if not isinstance(seen, list):
        yield unread(ctx.node, "the repositories")
        return
    wrong = [f"{row.get('file')}: {row['mismatch']}" for row in seen if row.get("mismatch")]
    if wrong:
        why = "packages of another release ask for libraries that this one does not have"
        fix = "correct the repository; the rollout's rocm step replaces it by the target's"
        yield Finding("warn", ctx.node, "repositories for this release", "; ".join(wrong), why, fix)
    else:
        yield passed(ctx.node, f"{len(seen)} repositories")


def unattended(ctx: Context) -> Iterator[Finding]:
    """No program changes ROCm or the kernel by itself."""
    seen = ctx.get("rocm.unattended")
    if not isinstance(seen, list):
        yield unread(ctx.node, "whether anything installs updates by itself")
        return
    free = [(row, moved) for row in seen for moved in [_moves(row)] if moved]
    for row, moved in free:
        why = f"{row.get('name')} installs updates by itself, and nothing in {row.get('file')} keeps {moved} out"
        fix = "keep the kernel and AMD's packages out of it (Package-Blacklist, excludepkgs, a lock), or hold them"
        yield Finding("warn", ctx.node, "updates at chosen times only", f"{row.get('name')} may move {moved}", why, fix)
    if not free:
        yield passed(ctx.node, ", ".join(str(row.get("name")) for row in seen) or "nothing updates by itself")


def containers(ctx: Context) -> Iterator[Finding]:
    """The user space of every container image may run on the driver that is wanted, and on the one there is."""
    images = (ctx.wanted or {}).get("containers") or []
    now = ctx.get("driver.installed.release")
    for image in images:
        subject, rocm = f"{ctx.node} {image['image']}", image["rocm"]
        window = ctx.window((ctx.wanted or {})["driver"], rocm)
        expected, observed = f"a driver for ROCm {rocm}", f"driver {(ctx.wanted or {})['driver']}"
        fix = "rebuild the image on a release inside the window, or choose another driver"
        if window.answer == "outside":
            why = f"its user space would leave the window of the driver: {window.source}"
            yield Finding("fail", subject, expected, observed, why, fix, source=window.source)
        elif window.answer != "inside":
            why = f"whether it runs there is not known: {window.source}"
            yield Finding("unknown", subject, expected, observed, why, fix, source=window.source)
        elif now and ctx.window(now, rocm).answer == "outside":
            why = f"it is outside of the window of today's driver: {ctx.window(now, rocm).source}"
            yield Finding("warn", subject, expected, f"driver {now} now", why, "start it after the rollout only")
        else:
            yield passed(subject, observed)


def _moves(row: Mapping[str, Any]) -> str:
    """What an automatic updater may move: the kernel, ROCm, or both, in words; empty where it may move neither."""
    kept = [str(pattern) for pattern in rows(row.get("excludes"))]
    kernel = not any(_takes(pattern, name) for pattern in kept for name in _KERNEL_PACKAGES)
    rocm = bool(row.get("amd")) and not any(_takes(pattern, "rocm-core") for pattern in kept)
    return " and ".join(name for name, moved in (("the kernel", kernel), ("ROCm", rocm)) if moved)


def _takes(pattern: str, name: str) -> bool:
    """Whether a pattern of an updater takes a package; apt's are regular expressions from the start, others globs."""
    try:
        return re.match(pattern.replace("*", ".*") if ".*" not in pattern else pattern, name) is not None
    except re.error:
        return False
