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
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import Target, load_target


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_node."""

    SPEC = {
        "target": {"type": "path"},
        "plan": {"type": "path"},
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
        node = task_vars["inventory_hostname"]
        rack = args["rack"] or task_vars.get("fleet_rack")
        catalog = load_catalog()
        about = {"rack": rack and str(rack), "run_id": action.run_id(), "gathered_at": action.now()}
        facts, why = self._facts(task_vars)
        if facts is None:
            record = unreachable_record(node, why, **about)
        else:
            record = judge(facts, self._target(args, catalog), catalog, node, **about)
        store = phases.Store(args["fleet_dir"], args["rollout_dir"], node)
        if args["phase"] == "audit":
            records.write_record(args["fleet_dir"], record)
            if facts is not None:
                records.write_facts(args["fleet_dir"], node, facts)
        return phases.conclude(args["phase"], record, facts, store, keep=not self.checking)

    @staticmethod
    def _target(args: dict[str, Any], catalog: Catalog) -> Target:
        if args["plan"]:
            return Target(load_plan(args["plan"])["target"], args["plan"])
        if args["target"]:
            return load_target(args["target"], catalog)
        raise FleetError(
            "target", "not given", "a target file or a plan", "add -e target=TARGET.yml, or -e plan=PLAN.json"
        )

    def _facts(self, task_vars: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
        answer = self._execute_module(
            module_name="fleetops.instinct.node_facts", module_args={}, task_vars=task_vars, wrap_async=False
        )
        if answer.get("failed"):
            return None, str(answer.get("msg") or answer.get("module_stdout") or "the facts module gave no answer")
        facts = action.plain(answer.get("ansible_facts", {}).get("instinct"))
        if not isinstance(facts, dict):
            raise FleetError(
                task_vars["inventory_hostname"], "the facts module returned no facts", "ansible_facts.instinct"
            )
        return facts, ""
