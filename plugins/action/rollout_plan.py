# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a plan from the records of this run, save it and show it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    action,
    attempts,
    host_variables,
    opening,
    records,
    this_run,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.eta import Measured
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy, placed
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import plan_report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rollout import plan_path
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import Kept
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_plan."""

    SPEC = {
        "target": {"type": "path", "required": True},
        "policy": {"type": "raw"},
        "catalog": {"type": "path"},
        "nodes": {"type": "list", "elements": "str", "required": True},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        unread = attempts.refuse_unfinished(args["fleet_dir"], args["nodes"])
        learned = attempts.measured(args["fleet_dir"])
        plan = self._plan(args, task_vars["hostvars"], learned)
        opening.refuse_no_recovery(plan, task_vars["hostvars"], list(plan["nodes"]))
        path = plan_path(args["fleet_dir"], plan["plan_id"])
        changed = not path.exists()
        if changed:
            records.write_json(path, plan)
        self.say(plan_report(plan, self.colour(), self.width(), datetime.fromisoformat(action.now())))
        self.say(f"Plan {plan['plan_id']}: {path}")
        unread += [f"The estimate leaves out an earlier rollout that cannot be read: {why}" for why in learned.unread]
        told = {"plan_id": plan["plan_id"], "plan": str(path), "waves": plan["waves"], "warnings": unread}
        return {"changed": changed, **told}

    @staticmethod
    def _plan(args: dict[str, Any], hostvars: Mapping[str, Any], learned: Measured) -> dict[str, Any]:
        catalog = load_catalog(args["catalog"])
        target, policy = load_target(args["target"], catalog), load_policy(args["policy"])
        found = this_run.found(args["fleet_dir"], args["nodes"], Kept())
        variables = host_variables.read(policy, hostvars, args["nodes"], lambda key: placed(args["policy"], key))
        racks = {node: record.get("rack") for node, record in found.items()}
        for attempt in itertools.count(1):
            plan = make_plan(
                found,
                racks,
                target,
                policy,
                catalog,
                created_at=action.now(),
                inventory_order=args["nodes"],
                attempt=attempt,
                overlay=args["catalog"],
                variables=variables,
                measured=learned,
            )
            if not attempts.is_spent(args["fleet_dir"], plan["plan_id"]):
                return plan
        raise AssertionError("itertools.count has no end")
