# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather, judge and store one node: the whole audit of a node is this one task."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, bmc_look, look, phases, records, recovery

# Ansible loads this file before it starts its workers: what is read now is there in each of them.
look.prepare()


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_node."""

    SPEC = {
        "target": {"type": "path"},
        "plan": {"type": "path"},
        "policy": {"type": "raw"},
        "catalog": {"type": "path"},
        "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
        "rack": {"type": "str"},
        "fleet_dir": action.FLEET_DIR,
        "rollout_dir": {"type": "path"},
        "phase": {"type": "str", "default": "audit", "choices": list(phases.PHASES)},
        "seconds": {"type": "float", "default": 0.0},
        "interval": {"type": "float", "default": 5.0},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        end = time.monotonic() + args["seconds"]
        store = phases.Store(args["fleet_dir"], args["rollout_dir"], task_vars["inventory_hostname"])
        self._bmc = bmc_look.Bmc(args, task_vars, self._templar.template, self.ask)
        while True:
            result = self._look(args, task_vars, store)
            remaining = end - time.monotonic()
            if result.get("failed") or remaining <= 0:
                return result
            time.sleep(min(args["interval"], remaining))

    def _look(self, args: dict[str, Any], task_vars: dict[str, Any], store: phases.Store) -> dict[str, Any]:
        node = task_vars["inventory_hostname"]
        about = {"rack": args["rack"], "run_id": action.run_id(), "gathered_at": action.now()}
        try:
            facts, why = self._facts(args["gather_subset"], task_vars)
        except AnsibleConnectionFailure as lost:
            # Ansible tells the play that the node is unreachable; why it is has to outlive this process.
            if args["phase"] == "audit":
                record = look.silent_record(args["fleet_dir"], node, str(lost), **about)
                records.write_record(args["fleet_dir"], record)
            raise
        if facts is None:
            record = look.unread_record(node, why, **about)
        else:
            by = look.basis(args, overlay=args["phase"] != "verify_old")
            record = look.judged(node, self._bmc.joined(facts, by), by, **about)
            record |= look.of_controller(facts, recovery.own_boot_id())
        if args["phase"] == "audit":
            records.write_record(args["fleet_dir"], record)
            if facts is not None:
                records.write_facts(args["fleet_dir"], node, facts)
        return phases.conclude(args["phase"], record, facts, store, keep=not self.checking)

    def _facts(self, subsets: list[str], task_vars: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
        answer = self._execute_module(
            module_name=look.module_for(subsets),
            module_args={"gather_subset": subsets, "as_text": True},
            task_vars=task_vars,
            wrap_async=False,
        )
        if answer.get("failed"):
            return None, look.why_no_facts(answer)
        facts = look.facts_in(answer)
        return facts, "" if facts is not None else "the facts module returned no facts"
