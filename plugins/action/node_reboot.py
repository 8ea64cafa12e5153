# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reboot a node and prove it: a new boot id, an uptime younger than the order, the kernel that was planned."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, boot, fence

READ_BOOT = "cat /proc/sys/kernel/random/boot_id /proc/uptime /proc/sys/kernel/osrelease"


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.node_reboot."""

    SPEC = {
        "timeout": {"type": "float", "default": 1800.0},
        "kernel": {"type": "str"},
        "command": {"type": "str", "default": "shutdown -r now"},
        "poll": {"type": "float", "default": 2.0},
        "answers": {"type": "int", "default": 5},
        "rollout": {"type": "dict"},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node = task_vars["inventory_hostname"]
        self._refuse_controller(node)
        before = self._read_boot()
        if self.checking:
            return {"changed": True, "rebooted": False, "boot_id_before": before.boot_id}
        fence.still_ours(args["rollout"])
        ordered = time.monotonic()
        self._order(node, args["command"])
        after = self._wait(node, before, ordered, args)
        elapsed = time.monotonic() - ordered
        boot.prove_boot(node, before, after, elapsed, args["kernel"])
        told = {"boot_id_before": before.boot_id, "boot_id": after.boot_id, "kernel": after.kernel}
        return {"changed": True, "rebooted": True, "elapsed_seconds": round(elapsed, 1), **told}

    def _refuse_controller(self, node: str) -> None:
        if self._connection.transport == "local":
            seen = "it is reached by the local connection: it is the controller itself"
            raise FleetError(node, seen, "a node reached over SSH", "run the rollout from another machine")

    def _read_boot(self) -> boot.Boot:
        answer = self._low_level_execute_command(READ_BOOT, sudoable=False)
        return boot.parse_boot(answer.get("rc", 1), answer.get("stdout", ""), answer.get("stderr", ""))

    def _order(self, node: str, command: str) -> None:
        try:
            answer = self._low_level_execute_command(command, sudoable=True)
        except AnsibleConnectionFailure:
            return  # a node that goes down at once takes the connection with it; the boot id will tell
        boot.check_order(node, command, answer.get("rc") or 0, answer.get("stderr", ""))

    def _wait(self, node: str, before: boot.Boot, ordered: float, args: dict[str, Any]) -> boot.Boot:
        answers = boot.Answers(before, args["answers"])
        while time.monotonic() - ordered < args["timeout"]:
            time.sleep(args["poll"])
            try:
                self._reset()
                seen = self._read_boot()
            except (AnsibleConnectionFailure, FleetError) as error:
                answers.missed(str(error))
                continue
            if answers.is_back(seen):
                return seen
        raise boot.not_rebooted(node, before, args["timeout"], answers.last_error)

    def _reset(self) -> None:
        # a ControlPersist socket of before the reboot would hang until its own time-out
        with contextlib.suppress(AnsibleConnectionFailure):
            self._connection.reset()
