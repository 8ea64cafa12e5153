# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's BMC says of the firmware, joined with what the node itself shows."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import StoredFacts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import connection, reading, task
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import (
    disagreements,
    machine_of,
    seen_by_node,
)

# Ansible loads this file before it starts its workers: what is read now is there in each of them.
connection.prepare()


class ActionModule(task.RedfishAction):
    """See the documentation of fleetops.instinct.redfish_firmware_info."""

    SPEC = {
        **task.SPEC,
        "patterns": {"type": "list", "elements": "dict", "default": []},
        "catalog": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        settings, catalog = self.settings(args, task_vars), load_catalog(args["catalog"])
        by = reading.patterns(args["patterns"], catalog.redfish)
        client = self.client(settings)
        try:
            with client:
                seen = reading.read(client.get, client.subject, settings["system"], by, chassis=False)
        except BmcError as problem:
            if problem.code not in reading.TELLS_NOTHING:
                raise
            nothing = {"available": False, "maker": None, "components": [], "disagreements": []}
            return {"changed": False, **nothing, "problems": [str(problem)], "code": problem.code}
        node = task_vars["inventory_hostname"]
        facts = StoredFacts(args["fleet_dir"], [node]).get(node)
        told = disagreements(seen.entries, facts)
        return {
            "changed": False,
            "available": True,
            "maker": seen.board.maker,
            "components": [entry.as_dict() for entry in seen.entries],
            "machine": machine_of(seen.board, facts, catalog.product_for),
            "node": seen_by_node(facts),
            "disagreements": told,
            "problems": seen.problems,
            "warnings": [*self.warnings_of(client), *told, *seen.problems],
        }
