# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather, judge and store one node: the whole audit of a node is this one task."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, phases, records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import load_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import Target, load_target


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_node."""

    SPEC = {
        "target": {"type": "path"},
        "plan": {"type": "path"},
        "policy": {"type": "raw"},
        "rack": {"type": "str"},
        "fleet_dir": action.FLEET_DIR,
        "rollout_dir": {"type": "path"},
        "phase": {"type": "str", "default": "audit", "choices": list(phases.PHASES)},
        "seconds": {"type": "float", "default": 0.0},
        "interval": {"type": "float", "default": 5.0},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        end = time.monotonic() + args["seconds"]
        while True:
            result = self._look(args, task_vars)
            remaining = end - time.monotonic()
            if result.get("failed") or remaining <= 0:
                return result
            time.sleep(min(args["interval"], remaining))

    def _look(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node, catalog = task_vars["inventory_hostname"], load_catalog()
        about = {"rack": args["rack"], "run_id": action.run_id(), "gathered_at": action.now()}
        facts, why = self._facts(task_vars)
        if facts is None:
            record = unreachable_record(node, why, **about)
        else:
            target, policy = _wanted(args, catalog)
            record = judge(facts, target, catalog, node, waivers=policy["waivers"], **about)
        if args["phase"] == "audit":
            records.write_record(args["fleet_dir"], record)
            if facts is not None:
                records.write_facts(args["fleet_dir"], node, facts)
        store = phases.Store(args["fleet_dir"], args["rollout_dir"], node)
        return phases.conclude(args["phase"], record, facts, store, keep=not self.checking)

    def _facts(self, task_vars: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
        answer = self._execute_module(
            module_name="fleetops.instinct.node_facts", module_args={}, task_vars=task_vars, wrap_async=False
        )
        if answer.get("failed"):
            return None, str(answer.get("msg") or answer.get("module_stdout") or "the facts module gave no answer")
        facts = action.plain(answer.get("ansible_facts", {}).get("instinct"))
        if not isinstance(facts, dict):
            raise FleetError(task_vars["inventory_hostname"], "the facts module returned no facts", "a dict")
        return facts, ""


def _wanted(args: dict[str, Any], catalog: Catalog) -> tuple[Target, dict[str, Any]]:
    if args["plan"]:
        plan = load_plan(args["plan"])
        return Target(plan["target"], args["plan"]), plan["policy"]
    if args["target"]:
        return load_target(args["target"], catalog), load_policy(args["policy"])
    raise FleetError("target", "not given", "a target file or a plan", "add -e target=FILE, or -e plan=FILE")
