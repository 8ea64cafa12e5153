# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read, stage or prove the settings of a node's BIOS through its BMC."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, fence
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios, bios_staging, task
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_names import Names, names_of


class ActionModule(task.RedfishAction):
    """See the documentation of fleetops.instinct.redfish_bios."""

    SPEC = {
        **task.SPEC,
        "state": {"type": "str", "choices": ["read", "staged", "applied"], "default": "read"},
        "attributes": {"type": "dict", "default": {}},
        "foreign": {"type": "str", "choices": list(bios.FOREIGN), "default": "refuse"},
        "job": {"type": "str"},
        "patterns": {"type": "list", "elements": "dict", "default": []},
        "wait": {"type": "float", "default": 300.0},
        "poll": {"type": "float", "default": 5.0},
        "rollout": {"type": "dict"},
        "catalog": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        settings, names, here = self.settings(args, task_vars), self._names(args), args["rollout"]
        node, changes = task_vars["inventory_hostname"], args["state"] == "staged"
        with self.turn(settings, args, node, changes), self.client(settings) as client:
            desk = bios_staging.Desk(client, names, settings["system"], time.monotonic, time.sleep)
            desk.may_act, desk.poll, desk.wait = (lambda: fence.still_ours(here)), args["poll"], args["wait"]
            result = self._done(desk, args)
        return {"changed": False, **result, "warnings": [*self.warnings_of(client), *result.get("warnings", [])]}

    def _done(self, desk: bios_staging.Desk, args: dict[str, Any]) -> dict[str, Any]:
        wishes = args["attributes"]
        if args["state"] == "read":
            return bios_staging.shown(desk)
        if args["state"] == "applied":
            # Under --check nothing was staged that could have been applied.
            job, proven = args["job"], not self.checking
            rows = bios_staging.prove(desk, wishes, job) if proven else bios_staging.looked(desk, wishes)
            return {"rows": [row.as_dict() for row in rows]}
        if self.checking:
            plan = bios.plan(desk.read(), wishes, desk.names, desk.subject, args["foreign"])
            return bios_staging.told(plan, None)
        return bios_staging.told(*bios_staging.stage(desk, wishes, args["foreign"]))

    @staticmethod
    def _names(args: dict[str, Any]) -> Names:
        catalog = load_catalog(args["catalog"])
        rows = [catalog.rows("bios_attributes", section) for section in ("attributes", "values")]
        return names_of(args["patterns"], *rows)
