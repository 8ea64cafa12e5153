# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes one JSON line per result: which host ended which task how."""

from __future__ import annotations

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: wave_record
type: notification
short_description: One JSON line per task result
description: Used by the regression test of waves only.
"""


class CallbackModule(CallbackBase):
    """Appends to the file that WAVE_RECORD names."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "wave_record"
    CALLBACK_NEEDS_ENABLED = True

    def _record(self, result, status):
        # 2.19 made these private attributes methods' business; both spellings are read.
        host, task = getattr(result, "host", None) or result._host, getattr(result, "task", None) or result._task
        with open(os.environ["WAVE_RECORD"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"host": host.get_name(), "task": task.get_name(), "status": status}) + "\n")

    def v2_runner_on_ok(self, result):
        self._record(result, "ok")

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._record(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._record(result, "unreachable")

    def v2_runner_on_skipped(self, result):
        self._record(result, "skipped")
