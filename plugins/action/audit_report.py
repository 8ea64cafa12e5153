# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell what the fleet is fit for, from the records of this run, and end accordingly."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, audit_files, ends, records, this_run
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import render
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target

NAMES = ("by_class", "rollback_not_ready")  # lists of nodes: in the files, and too long for a line of Ansible's


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_report."""

    SPEC = {
        "nodes": {"type": "list", "elements": "str", "default": []},
        "facts_from": {"type": "path"},
        "target": {"type": "path"},
        "policy": {"type": "raw"},
        "catalog": {"type": "path"},
        "forms": audit_files.SPEC,
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        try:
            judged = this_run.judge_saved(args, task_vars) if args["facts_from"] else None
            if judged is None:
                return self._report(args)
            if judged.said:
                self.say(judged.said)
            told = {"warnings": judged.warnings} if judged.warnings else {}
            return {**self._report({**args, "nodes": judged.nodes}), **told}
        except FleetError as error:
            return ends.refused(ends.bad_input(masked(str(error))))

    def _report(self, args: dict[str, Any]) -> dict[str, Any]:
        found = this_run.found(args["fleet_dir"], args["nodes"])
        ended = ends.end(found, args["nodes"])
        result = self._result(args, found, ended)
        where = audit_files.places(args["fleet_dir"], args["forms"])
        audit_files.write(result, where)
        self.say(render(result, "table", colour=self.colour()))
        for form, path in where.items():
            self.say(f"{form}: {path}")
        counts = {key: value for key, value in result["summary"].items() if key not in NAMES}
        told = {"summary": counts, "files": where, "path": where["json"]}
        return {**ends.refused(ended), "failed": ended["code"] != ends.CLEAN, **told}

    @staticmethod
    def _result(args: dict[str, Any], found: dict[str, Any], ended: dict[str, Any]) -> dict[str, Any]:
        summary = {**records.summarise(found, args["nodes"]), "code": ended["code"], "codes": ended["codes"]}
        catalog = load_catalog(args["catalog"])
        name = load_target(args["target"], catalog)["name"] if args["target"] else ""
        read = [node for node, record in found.items() if record["facts_digest"] is not None]
        facts = records.StoredFacts(args["fleet_dir"], read)
        return model(found, summary, catalog_digest=catalog.digest, target_name=name, facts=facts)
