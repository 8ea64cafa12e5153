# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of bmc.py, which is loaded only for a target that wants firmware or BIOS settings: most want neither."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import bmc
else:
    bmc = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.bmc")


def _asked(ctx: Context) -> bool:
    return bool((ctx.wanted or {}).get("firmware") or (ctx.wanted or {}).get("bios"))


def firmware(ctx: Context) -> Iterable[Finding]:
    """See bmc.firmware."""
    return bmc.firmware(ctx) if _asked(ctx) else ()


def bios(ctx: Context) -> Iterable[Finding]:
    """See bmc.bios."""
    return bmc.bios(ctx) if _asked(ctx) else ()


def ready(ctx: Context) -> Iterable[Finding]:
    """See bmc.ready."""
    return bmc.ready(ctx) if _asked(ctx) else ()


def foreseen(ctx: Context) -> dict[str, Any]:
    """See bmc.foreseen."""
    return bmc.foreseen(ctx) if _asked(ctx) else {}
