# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the account that read the node was not allowed to see."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread

# How collectors say that more would be there for root.
_KEPT = ("PermissionError", "by root only", "cannot be looked into")
_SHOWN = 6


def nothing_kept(ctx: Context) -> Iterator[Finding]:
    """Nothing was kept from the account that read the node: what it could not see might be what is wrong."""
    if not isinstance(ctx.facts.get("problems"), list):
        yield unread(ctx.node, "what could not be read")
        return
    kept = [
        f"{row.get('subject')} ({row.get('subset')})"
        for row in ctx.facts["problems"]
        if any(words in str(row.get("reason")) for words in _KEPT)
    ]
    if not kept:
        yield passed(ctx.node)
        return
    more = f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else ""
    yield Finding(
        "unknown",
        ctx.node,
        "everything read that root may read",
        f"kept from the account that read the node: {', '.join(kept[:_SHOWN])}{more}",
        "a fault may be in what could not be seen",
        "audit with become (the default), or waive this rule where nobody may become root",
    )
