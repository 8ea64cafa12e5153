# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell what the fleet is fit for, from the records of this run."""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import audit_report

BLOCKING = ("blocked", "unknown", "unhealthy")


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_report."""

    SPEC = {
        "nodes": {"type": "list", "elements": "str", "required": True},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        found = this_runs_records(args["fleet_dir"], args["nodes"])
        summary = records.summarise(found, args["nodes"])
        path = os.path.abspath(os.path.join(args["fleet_dir"], "audit.json"))
        records.write_json(path, {"schema": 1, "summary": summary, "records": found})
        self.say(audit_report(found, summary, colour=self.colour()))
        self.say(f"Full findings: {path}")
        blocking = [node for node in args["nodes"] if found[node]["class"] in BLOCKING]
        result: dict[str, Any] = {"changed": False, "summary": summary, "path": path}
        if blocking:
            result.update(
                failed=True,
                msg=f"{len(blocking)} of {len(found)} nodes cannot be moved: {', '.join(blocking)}; the table says why",
            )
        return result


def this_runs_records(fleet_dir: str, nodes: list[str]) -> dict[str, dict[str, Any]]:
    """A record for each node: the one this run wrote, or "unknown" for a node that gave none."""
    stored, run = records.read_records(fleet_dir, nodes), action.run_id()
    for node in nodes:
        last = stored.get(node, {})
        if last.get("run_id") != run:
            stored[node] = unreachable_record(
                node,
                "no answer in this run: the node cannot be reached over SSH",
                rack=last.get("rack"),
                run_id=run,
                gathered_at=action.now(),
                product=last.get("product"),
            )
            records.write_record(fleet_dir, stored[node])
    return {node: stored[node] for node in nodes}
