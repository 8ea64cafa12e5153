# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record one node and keep the recording on the controller, under a name that does not tell which node it was."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, records


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.record_node."""

    SPEC = {
        "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
        "fleet_dir": action.FLEET_DIR,
        "number": {"type": "int", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node = task_vars["inventory_hostname"]
        answer = self._execute_module(
            module_name="fleetops.instinct.node_record",
            module_args={"gather_subset": args["gather_subset"]},
            task_vars=task_vars,
            wrap_async=False,
        )
        machine = action.plain(answer.get("machine"))
        if answer.get("failed") or answer.get("unreachable") or not isinstance(machine, dict):
            seen = str(answer.get("msg") or "the module gave no recording")
            raise FleetError(node, seen, "a recording", "gather_subset leaves out a part with a ! before its name")
        path = os.path.join(args["fleet_dir"], "machines", f"machine-{args['number']}.json")
        text = json.dumps(machine, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        if not self.checking:
            records.write_text(path, text, mode=0o600)
        return {"changed": True, "path": path, "expect": machine.get("expect")}
