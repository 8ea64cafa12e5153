# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show and write the report of a rollout, from its ledger alone."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    action,
    closing,
    eta,
    report,
    rollout,
    standing_orders,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_report."""

    SPEC = {
        "rollout": {"type": "str"},
        "node": {"type": "str"},
        "mode": {"type": "str", "choices": ["upgrade", "rollback"]},
        "must_be_clean": {"type": "bool", "default": False},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        directory = rollout.find_rollout(args["fleet_dir"], args["rollout"])
        plan, nodes, events, outcome = told = closing.read(directory, args["mode"])
        if args["node"]:
            self._tell_story(args["node"], nodes, events)
        else:
            progress = eta.progress(plan, nodes, events, action.now())
            shape = {"colour": self.colour(), "width": self.width()}
            self.say(report.rollout_report(plan, nodes, outcome, **shape, progress=progress))
        standing = Ledger.open(rollout.ledger_path(directory)).standing(rollout.mode_of(events) == "rollback")
        if standing:
            self.say(f"The rollout was {standing_orders.words(standing)}")
        page = closing.write(directory, told)
        self.say(f"Report: {page}")
        if args["must_be_clean"]:
            closing.give_back(directory, action.owner())
        result: dict[str, Any] = {"changed": False, "outcome": outcome, "standing": standing, "report": str(page)}
        if args["must_be_clean"] and not outcome["clean"]:
            missing = outcome["lost"] + outcome["unfinished"]
            named = "; ".join(f"{row['node']} {row['state']}: {row['why'] or 'no reason given'}" for row in missing[:5])
            result.update(
                failed=True,
                msg=f"rollout {plan['plan_id']} is not clean: {len(missing)} of {len(nodes)} nodes ({named})",
            )
        return result

    def _tell_story(self, node: str, nodes: dict[str, Any], events: list[dict[str, Any]]) -> None:
        if node not in nodes:
            raise FleetError(
                f"node {node}",
                "is not part of this rollout",
                "one of its nodes: " + ", ".join(nodes),
                "name one of these, or another rollout with -e rollout=PLAN_ID",
            )
        self.say(report.story([event for event in events if event["node"] == node]))
