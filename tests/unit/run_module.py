# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module as Ansible does, on a recorded machine."""

from __future__ import annotations

import io
import json

import pytest


class Runner:
    """``runner(module, host, **options)`` is the module's result."""

    def __init__(self, monkeypatch, capsys):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, module, host, check=False, diff=False, **options):
        options.update(_ansible_check_mode=check, _ansible_diff=diff)
        sent = json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()
        self.monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", sent)
        self.monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
        self.monkeypatch.setattr("sys.stdin", io.StringIO(""))
        self.monkeypatch.setattr(module, "Host", lambda: host)
        with pytest.raises(SystemExit):
            module.main()
        return json.loads(self.capsys.readouterr().out)
