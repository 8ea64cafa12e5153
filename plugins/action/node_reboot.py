# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reboot a node and prove it: a new boot id, an uptime younger than the order, the kernel that was planned."""

from __future__ import annotations

import contextlib
import functools
import time
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, boot, reboot, reboots, recovery
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import power, turn


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.node_reboot."""

    SPEC = {
        "timeout": {"type": "float", "default": 1800.0},
        "kernel": {"type": "str"},
        "command": {"type": "str", "default": "shutdown -r now"},
        "poll": {"type": "float", "default": 2.0},
        "answers": {"type": "int", "default": 5},
        "policy": {"type": "dict"},
        "rollout": {"type": "dict"},
        "order": {"type": "bool", "default": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        name, policy = task_vars["inventory_hostname"], args["policy"] or {}
        book = reboots.Book(args["rollout"], name, policy.get("max_reboots_per_node", reboots.MOST))
        wishes = reboot.Wishes(*(args[key] for key in reboot.Wishes._fields))
        case = power.Case(policy, functools.partial(recovery.knock, self._connection, name), book.reset)
        case.fleet_dir = turn.folder(args["rollout"], case.fleet_dir)
        template = functools.partial(action.templated, self._templar)
        by_bmc = functools.partial(power.by_bmc, task_vars, template, case)
        recover = recovery.chosen(policy, name, book.recovering, by_bmc) if args["order"] or book.is_open else None
        seams = (functools.partial(self._order, name, args["command"]), case.port, self._journal, recover)
        node = reboot.Node(name, self._look, *seams, time.monotonic, time.sleep)
        if not args["order"]:
            return {"changed": False, "rebooted": False} | ({} if self.checking else reboot.wait(node, wishes))
        look = reboot.first_look(node, wishes)
        before = boot.check_before(name, look)
        boot.refuse_controller(name, self._connection.transport, before, recovery.own_boot_id())
        if self.checking:
            return {"changed": True, "rebooted": False, "boot_id_before": before.boot_id}
        book.order(before.boot_id, wishes.kernel or None)
        return {"changed": True, **reboot.reboot(node, look, wishes)}

    def _run(self, command: str, sudoable: bool = False) -> tuple[int, str, str]:
        answer = self._low_level_execute_command(command, sudoable=sudoable)
        return answer.get("rc") or 0, answer.get("stdout", ""), answer.get("stderr", "")

    def _look(self, fresh: bool) -> boot.Look:
        try:
            # a ControlPersist socket of before the reboot would hang until its own time-out
            with contextlib.suppress(AnsibleError):
                self._connection.reset()
            if fresh and self._connection.transport == "ssh":
                self._connection.set_option("ssh_args", recovery.unshared(self._connection.get_option("ssh_args")))
            return boot.look_in(*self._run(boot.READ))
        except (AnsibleError, FleetError) as error:
            return boot.Look(None, str(error).strip())

    def _order(self, name: str, command: str) -> None:
        with contextlib.suppress(AnsibleError):  # a node that goes down at once takes the connection with it
            boot.check_order(name, command, *self._run(command, sudoable=True))

    def _journal(self) -> list[str]:
        with contextlib.suppress(AnsibleError):
            return boot.parse_boots(self._run(boot.READ_JOURNAL, sudoable=True)[1])
        return []
