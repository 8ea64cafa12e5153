# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until no process holds a GPU of the node; a node that stays busy is named with what holds it."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.node_idle."""

    SPEC = {"timeout": {"type": "float", "default": 3600.0}, "poll": {"type": "float", "default": 5.0}}

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node = task_vars["inventory_hostname"]
        end = time.monotonic() + args["timeout"]
        while True:
            holders = self._holders(node, task_vars)
            if not holders or self.checking:
                return {"changed": False, "holders": holders}
            if time.monotonic() >= end:
                named = ", ".join(map(_named, holders))
                raise FleetError(
                    node,
                    f"its GPUs are held by {named} after {args['timeout']:.0f} s",
                    "no process on /dev/kfd or /dev/dri",
                    "end these jobs, or wait longer with drain_timeout_seconds in the policy",
                )
            time.sleep(args["poll"])

    def _holders(self, node: str, task_vars: dict[str, Any]) -> list[dict[str, Any]]:
        answer = self._execute_module(
            module_name="fleetops.instinct.node_glance",
            module_args={"gather_subset": ["activity"]},
            task_vars=task_vars,
            wrap_async=False,
        )
        holders = answer.get("ansible_facts", {}).get("instinct", {}).get("holders")
        if answer.get("failed") or holders is None:
            raise FleetError(
                node,
                f"who holds its GPUs cannot be read: {answer.get('msg', 'no list of holders')}",
                "a list of processes",
                "log in and look: fuser -v /dev/kfd",
            )
        return holders


def _named(row: dict[str, Any]) -> str:
    inside = f", in {row['container']}" if row.get("container") else ""
    return f"{row['command'] or 'a process of another namespace'} (pid {row['pid']}, {row['device']}{inside})"
