# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what runs now could be put back: assessed before the change, while there is still a choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, rows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.systems import builds_badly


def rollback_readiness(ctx: Context, node_changes: bool) -> dict[str, Any]:
    """Whether the versions that are installed now could be put back: ``{"ready": bool, "why": [reasons]}``.

    Their packages must be offered, and the driver that is installed now must build for the kernel that boots next:
    a way back is not one to the kernel of before.
    """
    if not node_changes:
        return {"ready": True, "why": []}
    why = [*_packages(ctx), *_driver(ctx)]
    return {"ready": not why, "why": why}


def _packages(ctx: Context) -> Iterator[str]:
    offered = ctx.get("rocm.obtainable")
    if not isinstance(offered, Mapping):
        yield "the package lists on the node could not be read"
    elif not offered and rows(ctx.get("rocm.installed")):
        yield "ROCm is there and no package says where it came from"
    else:
        yield from (_reason(ctx, name, answer) for name, answer in sorted(offered.items()) if answer is not True)


def _reason(ctx: Context, name: str, answer: object) -> str:
    found = [(ctx.get(f"{part}.packages") or {}).get(name) for part in ("driver", "rocm")]
    versions = [row["version"] for row in found if isinstance(row, Mapping) and row.get("version")]
    package = f"{name} {versions[0] if versions else 'the installed version'}"
    return f"{package} is offered by no repository" if answer is False else f"whether {package} is offered is not known"


def _driver(ctx: Context) -> Iterator[str]:
    release, kernel = ctx.get("driver.installed.release"), ctx.get("node.kernel.next_boot")
    ready, running = ctx.get("driver.ready_for_next_boot"), ctx.get("node.kernel.running")
    # A build that is there for the kernel is the proof that there can be one.
    if not release or (ready is True and kernel is not None):
        return
    found = builds_badly(ctx, release, ctx.get("driver.installed.module"))
    known = [row for row in found if not row.get("possible")]
    seen = f"driver {release} for {kernel}, which boots next"
    keep = f"; keep {running} and boot it, or give up the way back" if running and kernel != running else ""
    if kernel is None or ready is None:
        yield f"whether driver {release} builds for the kernel that boots next is not known"
    elif known:
        yield from (f"there is no {seen}: {row['why']}{keep}" for row in known)
    else:
        yield f"there is no build of {seen}{keep}"
