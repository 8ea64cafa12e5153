# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell what the fleet is fit for, from the records of this run, and end accordingly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, audit_files, ends, look, records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import render
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target

NAMES = ("by_class", "rollback_not_ready")  # lists of nodes: in the files, and too long for a line of Ansible's


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_report."""

    SPEC = {
        "nodes": {"type": "list", "elements": "str", "required": True},
        "target": {"type": "path"},
        "catalog": {"type": "path"},
        "forms": audit_files.SPEC,
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._report(args)
        except FleetError as error:
            return ends.refused(ends.bad_input(masked(str(error))))

    def _report(self, args: dict[str, Any]) -> dict[str, Any]:
        found = this_runs_records(args["fleet_dir"], args["nodes"])
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


def this_runs_records(
    fleet_dir: str, nodes: list[str], keep: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """A record for each node, or what is to be kept of it: the one this run wrote, or "unknown" where it gave none."""
    run = action.run_id()
    found = records.read_records(fleet_dir, nodes, run_id=run, keep=keep)
    for node in nodes:
        if node not in found:
            about = {"run_id": run, "gathered_at": action.now()}
            found[node] = look.silent_record(fleet_dir, node, "no answer in this run", **about)
            records.write_record(fleet_dir, found[node])
    return {node: found[node] for node in nodes}
