# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of the fleet group, or a clear error: a play over a group that is not there does nothing and returns 0."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError


def fleet_nodes(groups: dict[str, Any], name: str = "fleet") -> list[str]:
    """Names of the hosts in an inventory group.

    :raises AnsibleFilterError: there is no such group, or it is empty.
    """
    members = list(groups.get(name) or [])
    if members:
        return members
    seen = ", ".join(sorted(set(groups) - {"all", "ungrouped"})) or "none"
    what = "is empty" if name in groups else "does not exist"
    raise AnsibleFilterError(
        f"inventory: the group {name!r} {what}; groups seen: {seen}; "
        f"fix: put the nodes into a group named {name!r}, or name yours with -e fleet_group=NAME"
    )


class FilterModule:
    """Filters of the collection."""

    def filters(self) -> dict[str, Any]:
        return {"fleet_nodes": fleet_nodes}
