# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a rollout or its rollback: check that nothing the plan rests on has changed, take the lease, give the waves."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

from ansible_collections.fleetops.instinct.plugins.action.audit_report import this_runs_records
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, host_variables, refusals, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import catalog_of, load_plan, refuse_changed


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_start."""

    SPEC = {
        "mode": {"type": "str", "default": "upgrade", "choices": ["upgrade", "rollback"]},
        "plan": {"type": "path"},
        "catalog": {"type": "path"},
        "rollout": {"type": "str"},
        "nodes": {"type": "list", "elements": "str", "required": True},
        "incident": {"type": "bool", "default": False},
        "takeover": {"type": "str", "default": ""},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        plan, directory, waves = (self._rollback if args["mode"] == "rollback" else self._upgrade)(args, task_vars)
        kept, order = directory / "plan.json", [*chain(*waves)]
        facts = {
            "mode": args["mode"],
            "plan_id": plan["plan_id"],
            "dir": str(directory) if kept.exists() else None,
            "plan": str(kept) if kept.exists() else os.path.abspath(args["plan"]),
            "epoch": None if self.checking or not waves else self._open(directory, plan["policy"], args, waves),
            "waves": waves,
            "order": order,
            "sizes": [len(wave) for wave in waves],
        }
        self.say(f"{args['mode'].capitalize()} {plan['plan_id']}: left to do: {len(order)} nodes, {len(waves)} waves.")
        return {"changed": False, "ansible_facts": {"fleet_rollout": facts}}

    def _upgrade(self, args: dict[str, Any], task_vars: Any) -> tuple[dict[str, Any], Path, list[list[str]]]:
        plan = load_plan(args["plan"])
        directory = rollout.rollout_dir(args["fleet_dir"], plan["plan_id"])
        nodes = rollout.nodes_of(directory)
        waves = rollout.upgrade_waves(plan, nodes, args["nodes"])
        found = this_runs_records(args["fleet_dir"], rollout.untouched(plan, nodes, args["nodes"]))
        refusals.refuse_unreachable(plan, found)
        host_variables.refuse_moved(plan, task_vars["hostvars"], found)
        refuse_changed(plan, catalog_of(plan, args["catalog"]), found)
        refusals.refuse_sick(plan, this_runs_records(args["fleet_dir"], rollout.in_service(nodes, args["nodes"])))
        others = [node for node in args["nodes"] if node in plan["at_target"]]
        refusals.refuse_below_floor(plan, waves, this_runs_records(args["fleet_dir"], others))
        if plan["nodes"] and not self.checking:
            rollout.begin(directory, plan)
        return plan, directory, waves

    def _rollback(self, args: dict[str, Any], _task_vars: Any) -> tuple[dict[str, Any], Path, list[list[str]]]:
        directory = rollout.find_rollout(args["fleet_dir"], args["rollout"] or args["plan"])
        ledger = Ledger.open(rollout.ledger_path(directory))
        plan, nodes = ledger.plan(), ledger.nodes()
        refusals.refuse_strangers(plan, args["nodes"])
        rollout.keep_plan(directory, plan)
        return plan, directory, rollout.rollback_waves(plan, nodes, args["nodes"], args["incident"])

    @staticmethod
    def _open(directory: Path, policy: dict[str, Any], args: dict[str, Any], waves: list[list[str]]) -> int:
        # each write renews the lease; the longest silences are a drain and a reboot
        ttl = policy["drain_timeout_seconds"] + policy["reboot_timeout_seconds"] + policy["soak_seconds"] + 600
        ledger = Ledger.open(rollout.ledger_path(directory))
        epoch = ledger.take_lease(action.owner(), ttl, takeover=bool(args["takeover"]), reason=args["takeover"])
        ledger.note(epoch, None, f"{args['mode']} begins", {"mode": args["mode"], "nodes": [*chain(*waves)]})
        return epoch
