# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge nodes by facts that were saved before; nothing is connected to."""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, ends, look, records, saved_facts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import name_list


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.audit_saved."""

    SPEC = {
        "facts_from": {"type": "path", "required": True},
        "nodes": {"type": "list", "elements": "str"},
        "target": {"type": "path", "required": True},
        "policy": {"type": "raw"},
        "catalog": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._all(args, task_vars)
        except FleetError as error:
            return ends.refused(ends.bad_input(masked(str(error))))

    def _all(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        files, by = saved_facts.files(args["facts_from"]), look.basis(args)
        nodes = args["nodes"] or list(files)
        written = [self._judge(node, files.get(node), by, args, task_vars) for node in nodes]
        dates = sorted(date for date in written if date)
        result: dict[str, Any] = {"changed": False, "nodes": nodes}
        if dates:
            self.say(f"Facts from {args['facts_from']}: {len(dates)} files, written {dates[0]} to {dates[-1]}")
        strangers = sorted(set(files) - set(task_vars["groups"]["all"]) - set(nodes))
        if strangers:
            result["warnings"] = [f"files that no host of the inventory is named like: {name_list(strangers)}"]
        return result

    @staticmethod
    def _judge(
        node: str, path: str | None, by: look.Basis, args: dict[str, Any], task_vars: dict[str, Any]
    ) -> str | None:
        """Keep the record of a node, and its facts; when these were written."""
        rack = task_vars["hostvars"][node].get("fleet_rack") if node in task_vars["groups"]["all"] else None
        about: dict[str, Any] = {"rack": rack, "run_id": action.run_id(), "gathered_at": action.now()}
        if path is None:
            why = f"no file of that name in {args['facts_from']}"
            records.write_record(args["fleet_dir"], look.silent_record(args["fleet_dir"], node, why, **about))
            return None
        saved = saved_facts.read(path)
        if saved.facts is None:
            record = look.unread_record(node, saved.why, **about)
        else:
            record = look.judged(node, saved.facts, by, **about)
        # Waivers were held against today; what the node is, is as old as its file.
        record["gathered_at"] = saved.written_at or record["gathered_at"]
        records.write_record(args["fleet_dir"], record)
        kept = records.facts_path(args["fleet_dir"], node)
        if saved.facts is not None and os.path.realpath(kept) != os.path.realpath(path):
            records.write_facts(args["fleet_dir"], node, saved.facts)
        return saved.written_at
