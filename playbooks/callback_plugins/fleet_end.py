# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run of these playbooks: its last line, and the report of a rollout that was cut off.

ansible-core loads what lies here with any playbook beside it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

from ansible_collections.fleetops.instinct.plugins.module_utils import _imports
from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

UTILS = "ansible_collections.fleetops.instinct.plugins.plugin_utils"
# Only a rollout that was cut off needs them.
action, closing = _imports.Later(f"{UTILS}.action"), _imports.Later(f"{UTILS}.closing")

DOCUMENTATION = """
name: fleet_end
type: notification
short_description: Tell how a run ended, below the recap
description:
  - Repeats the message of the task that ended an audit or refused a wave, with its stable code, as the last line.
  - Reports on a rollout whose last play was never begun, since ansible-core ends a run once every node of a wave is
    unreachable.
"""


class CallbackModule(CallbackBase):
    """Keeps the last message with a code and the rollouts that are open; speaks when everything else was shown."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "fleet_end"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _imports.start()  # before the first action or filter of this collection is loaded
        self._line = ""
        self._open: set[Path] = set()

    def v2_runner_on_ok(self, result: Any) -> None:
        self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._keep(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        for directory in sorted(self._open):
            try:
                self._display.display(closing.cut_off(directory, action.owner(os.getpid())))
            except FleetError as error:
                self._display.display(masked(str(error)))
        if self._line:
            self._display.display(self._line)

    def _keep(self, result: Any) -> None:
        # ansible-core 2.19 gave the result a public name.
        told = result.result if hasattr(result, "result") else result._result
        if not isinstance(told, dict):
            return
        if {"code", "msg"} <= set(told):
            self._line = str(told["msg"])
            self._open.clear()  # the gate has closed what it refused
        for name in ("fleet_rollout", "fleet_way_back"):
            opened = (told.get("ansible_facts") or {}).get(name) or {}
            if opened.get("epoch") is not None and opened.get("dir"):
                self._open.add(Path(str(opened["dir"])))
        if told.get("report"):
            self._open.discard(Path(str(told["report"])).parent)
