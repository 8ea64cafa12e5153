# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the user's files once, before any node is contacted: one error for a bad one, not one for each node."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import select
from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    action,
    audit_files,
    ends,
    look,
    records,
    saved_facts,
)

UTILS = "ansible_collections.fleetops.instinct.plugins.plugin_utils"
ledger, plans, rollout = (Later(f"{UTILS}.{name}") for name in ("ledger", "plan", "rollout"))  # for a plan
look.prepare()  # once, for every worker that Ansible starts from here


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.fleet_inputs."""

    SPEC = {
        "target": {"type": "path"},
        "policy": {"type": "raw"},
        "plan": {"type": "path"},
        "catalog": {"type": "path"},
        "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
        "facts_from": {"type": "path"},
        "forms": audit_files.SPEC,
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        try:
            self._check(args)
        except FleetError as error:
            ended = ends.bad_input(masked(str(error)))
            self._tell(ended, args)
            return ends.refused(ended)
        return {"changed": False}

    @staticmethod
    def _check(args: dict[str, Any]) -> None:
        if args["plan"] and (args["target"] or args["policy"]):
            seen = "a target or a policy is given beside a plan, which carries its own"
            raise FleetError(args["plan"], seen, "the plan alone", "leave them out, or make a new plan with them")
        if not args["plan"] and not args["target"]:
            fix = "add -e target=TARGET.yml, or -e plan=PLAN.json where the playbook takes a plan"
            raise FleetError("target", "not given", "a target file or a plan", fix)
        look.basis(args)
        if args["plan"]:
            plan = plans.load_plan(args["plan"])
            path = rollout.ledger_path(rollout.rollout_dir(args["fleet_dir"], plan["plan_id"]))
            if path.exists():
                ledger.Ledger.open(path)
        select(args["gather_subset"])
        if args["facts_from"]:
            saved_facts.files(args["facts_from"])
        records.check_store(args["fleet_dir"])
        if args["forms"] is not None:
            audit_files.check(audit_files.places(args["fleet_dir"], args["forms"]))

    @staticmethod
    def _tell(ended: dict[str, Any], args: dict[str, Any]) -> None:
        """An audit writes its end even where it could not begin, if its files can be written at all."""
        if args["forms"] is None:
            return
        try:
            audit_files.write_end(ended, audit_files.places(args["fleet_dir"], args["forms"]))
        except FleetError:
            pass  # the error that is told already, or one that hides behind it
