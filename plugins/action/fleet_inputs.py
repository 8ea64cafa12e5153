# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the user's files once, before any node is contacted: one error for a bad one, not one for each node."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, records, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import load_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.fleet_inputs."""

    SPEC = {
        "target": {"type": "path"},
        "policy": {"type": "raw"},
        "plan": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        if args["plan"] and (args["target"] or args["policy"]):
            seen = "a target or a policy is given beside a plan, which carries its own"
            raise FleetError(args["plan"], seen, "the plan alone", "leave them out, or make a new plan with them")
        if args["plan"]:
            plan = load_plan(args["plan"])
            ledger = rollout.ledger_path(rollout.rollout_dir(args["fleet_dir"], plan["plan_id"]))
            if ledger.exists():
                Ledger.open(ledger)
        elif args["target"]:
            load_target(args["target"], load_catalog())
            load_policy(args["policy"])
        else:
            fix = "add -e target=TARGET.yml, or -e plan=PLAN.json where the playbook takes a plan"
            raise FleetError("target", "not given", "a target file or a plan", fix)
        records.check_store(args["fleet_dir"])
        return {"changed": False}
