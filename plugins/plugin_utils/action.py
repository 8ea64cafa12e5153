# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every action plugin shares: checked arguments, plain data, one way to fail, one way to speak."""

from __future__ import annotations

import getpass
import json
import multiprocessing
import os
import socket
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import WIDTH

FLEET_DIR = {"type": "path", "default": "fleet-records"}


def plain(value: Any) -> Any:
    """Task arguments without core's tagged subclasses: what JSON can carry, as plain dicts, lists and strings."""
    return json.loads(json.dumps(value))


def templated(templar: Any, value: Any) -> Any:
    """What a host's variable stands for, as plain data.

    :raises FleetError: it stands for nothing, or a vault does not open.
    """
    try:
        return plain(templar.template(value))
    except AnsibleError as wrong:
        raise FleetError("a variable of the host", str(wrong), "a value", "correct it in the inventory") from wrong


def now() -> str:
    """This moment in UTC, ISO 8601 with seconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_id() -> str:
    """One name for this run of ansible-playbook, the same in each of its worker processes."""
    pid = controller()
    try:
        started = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[19]
    except OSError:
        started = "0"  # a controller without /proc: the process id alone has to do
    return f"{pid}-{started}"


def controller() -> int:
    """The process of ansible-playbook that this worker was started by.

    A worker that outlives it is init's child by then: a lease in init's name would hold for as long as it runs.
    """
    parent = multiprocessing.parent_process()
    return (parent.pid if parent else None) or os.getppid()


def owner(pid: int | None = None) -> dict[str, Any]:
    """Who drives this rollout: user, machine and controller process, for the lease.

    :param pid: the controller's process, for who is not one of its workers.
    """
    return {"who": getpass.getuser(), "host": socket.gethostname(), "pid": pid or controller()}


class FleetAction(ActionBase):
    """Base of the actions: a subclass gives ``SPEC`` and ``act(args, task_vars)``; it raises FleetError to fail."""

    SPEC: dict[str, Any] = {}
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(self.SPEC)
        try:
            result.update(self.act(plain(args), task_vars or {}))
        except FleetError as error:
            result.update(failed=True, msg=masked(str(error)))
            # Refusals have stable words, for whoever reads results by program.
            result |= {key: getattr(error, key) for key in ("code", "diagnosis", "evidence") if hasattr(error, key)}
        return result

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do the work; the returned dict is merged into the task's result."""
        raise FleetError(type(self).__name__, "this action does nothing by itself")

    def ask(self, name: str, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """The result of another action of this collection, in check mode, within this task; also one that failed."""
        task = self._task.copy()
        task.args, task.check_mode = {key: value for key, value in args.items() if value is not None}, True
        places = {key: getattr(self, f"_{key}") for key in ("connection", "play_context", "loader", "templar")}
        loader = self._shared_loader_obj
        other = loader.action_loader.get(f"fleetops.instinct.{name}", task=task, shared_loader_obj=loader, **places)
        return other.run(task_vars=task_vars)

    @property
    def checking(self) -> bool:
        """True under ``--check``."""
        return bool(self._task.check_mode)

    @staticmethod
    def say(text: str) -> None:
        """Show a text to the operator as it is, outside of the task's JSON."""
        Display().display(text)

    @staticmethod
    def width() -> int:
        """Columns for a report: those of the operator's terminal, within reason; 100 where there is none."""
        return min(160, max(40, Display().columns)) if os.isatty(1) else WIDTH

    @staticmethod
    def colour() -> bool:
        """True where the operator looks at a terminal that may show colours."""
        return os.isatty(1) and "NO_COLOR" not in os.environ and "ANSIBLE_NOCOLOR" not in os.environ
