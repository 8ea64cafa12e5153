# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last line of a run of these playbooks: how it ended, by a stable code, below the recap of the hosts.

ansible-core loads what lies here with any playbook beside it. It only repeats what a task has told before.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: fleet_end
type: notification
short_description: Tell how a run ended, below the recap
description:
  - Repeats the message of the task that ended an audit, which begins with a stable code, as the last line.
"""


class CallbackModule(CallbackBase):
    """Keeps the last message with a code, and shows it when everything else was shown."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "fleet_end"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line = ""

    def v2_runner_on_ok(self, result: Any) -> None:
        self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._keep(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._line:
            self._display.display(self._line)

    def _keep(self, result: Any) -> None:
        # ansible-core 2.19 gave the result a public name.
        told = result.result if hasattr(result, "result") else result._result
        if isinstance(told, dict) and {"code", "codes", "msg"} <= set(told):
            self._line = str(told["msg"])
