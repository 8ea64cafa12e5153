# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reboot a node and prove it: a new boot id, an uptime younger than the order, the kernel that was planned."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action
from ansible_collections.fleetops.instinct.plugins.plugin_utils.boot import Boot, parse_boot, prove_boot

READ_BOOT = "cat /proc/sys/kernel/random/boot_id /proc/uptime /proc/sys/kernel/osrelease"


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.node_reboot."""

    SPEC = {
        "timeout": {"type": "float", "default": 1800.0},
        "kernel": {"type": "str"},
        "command": {"type": "str", "default": "shutdown -r now"},
        "poll": {"type": "float", "default": 2.0},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node = task_vars["inventory_hostname"]
        self._refuse_controller(node)
        before = self._read_boot()
        if self.checking:
            return {"changed": True, "rebooted": False, "boot_id_before": before.boot_id}
        ordered = time.monotonic()
        self._order(node, args["command"])
        after = self._wait(node, before, ordered, args)
        elapsed = time.monotonic() - ordered
        prove_boot(node, before, after, elapsed, args["kernel"])
        return {
            "changed": True, "rebooted": True, "elapsed_seconds": round(elapsed, 1),
            "boot_id_before": before.boot_id, "boot_id": after.boot_id, "kernel": after.kernel,
        }

    def _refuse_controller(self, node: str) -> None:
        if self._connection.transport == "local":
            raise FleetError(node, "it is reached by the local connection: it is the controller itself", "a node reached over SSH", "run the rollout from another machine")

    def _read_boot(self) -> Boot:
        answer = self._low_level_execute_command(READ_BOOT, sudoable=False)
        return parse_boot(answer.get("rc", 1), answer.get("stdout", ""), answer.get("stderr", ""))

    def _order(self, node: str, command: str) -> None:
        try:
            answer = self._low_level_execute_command(command, sudoable=True)
        except AnsibleConnectionFailure:
            return  # a node that goes down at once takes the connection with it; the boot id will tell
        if answer.get("rc") not in (0, None) and answer.get("rc", 0) < 128 and answer.get("rc") != 255:
            raise FleetError(node, f"{command!r} ended with status {answer['rc']}: {answer.get('stderr', '').strip()}", "status 0", "see why the node refuses to reboot")

    def _wait(self, node: str, before: Boot, ordered: float, args: dict[str, Any]) -> Boot:
        went_down, last_error = False, ""
        while time.monotonic() - ordered < args["timeout"]:
            time.sleep(args["poll"])
            try:
                self._reset()
                seen = self._read_boot()
            except (AnsibleConnectionFailure, FleetError) as error:
                went_down, last_error = True, str(error).strip()
                continue
            if seen.boot_id != before.boot_id:
                return seen
        if went_down and last_error:
            raise FleetError(node, f"did not come back within {args['timeout']:.0f} s of the reboot; last error: {last_error}", "an answer over SSH with a new boot id", "look at its console through the BMC")
        raise FleetError(node, f"still up after {args['timeout']:.0f} s with the same boot id {before.boot_id}: the reboot was ignored", "a new boot id", "see what blocks the shutdown (systemctl list-jobs)")

    def _reset(self) -> None:
        # a ControlPersist socket of before the reboot would hang until its own time-out
        try:
            self._connection.reset()
        except AnsibleConnectionFailure:
            pass
