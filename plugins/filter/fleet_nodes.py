# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of the fleet group, or a clear error: a play over a group that is not there does nothing and returns 0."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError


def fleet_nodes(
    groups: dict[str, Any], name: str = "fleet", limited: list[str] | None = None, saved: bool = False
) -> list[str]:
    """Names of the hosts in an inventory group.

    :param limited: the hosts that ``--limit`` leaves; a play over none of them would do nothing, too.
    :param saved: facts were saved elsewhere, so that one can do without a group: then the controller is the only host.
    :raises AnsibleFilterError: there is no such group, it is empty, or nothing of it is left.
    """
    members = list(groups.get(name) or [])
    if saved and not members:
        return ["localhost"]
    if members and (limited is None or not set(members).isdisjoint(limited)):
        return members
    seen = ", ".join(sorted(set(groups) - {"all", "ungrouped"})) or "none"
    what = "has no host that --limit leaves" if members else "is empty" if name in groups else "does not exist"
    fix = f"put the nodes into a group named {name!r}, or name yours with -e fleet_group=NAME"
    if members:
        fix = f"name hosts of the group with --limit: {', '.join(members[:3])}{' ...' if len(members) > 3 else ''}"
    raise AnsibleFilterError(f"bad_input: inventory: the group {name!r} {what}; groups seen: {seen}; fix: {fix}")


class FilterModule:
    """Filters of the collection."""

    def filters(self) -> dict[str, Any]:
        return {"fleet_nodes": fleet_nodes}
