# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where an error of the collection becomes a failure of a task."""

from __future__ import annotations

import io
import json

import pytest

module_under_test = pytest.importorskip(
    "ansible_collections.fleetops.instinct.plugins.module_utils._module", reason="ansible-core is not installed here"
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (  # noqa: E402
    CommandFailed,
    FleetError,
    TransactionFailed,
)


def test_a_plain_error_is_its_sentence():
    assert module_under_test.failure(FleetError("a", "b", "c", "d")) == {"msg": "a: b; wanted: c; fix: d"}


def test_a_failed_transaction_tells_its_kind_and_the_end_of_the_output():
    told = module_under_test.failure(TransactionFailed("disk_full", "apt", "no space", output="x" * 9000 + "END"))
    assert told["kind"] == "disk_full"
    assert len(told["output"]) == 4000
    assert told["output"].endswith("END")


def run(monkeypatch, capsys, body, **kwargs):
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {"name": "x"}}).encode()
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", arguments)
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(SystemExit) as end:
        module_under_test.run_module({"name": {"type": "str"}}, body, **kwargs)
    return end.value.code, json.loads(capsys.readouterr().out)


def test_what_the_body_returns_is_what_the_module_exits_with(monkeypatch, capsys):
    code, told = run(monkeypatch, capsys, lambda module: {"changed": True, "name": module.params["name"]})
    assert (code, told["changed"], told["name"]) == (0, True, "x")


def test_check_mode_is_supported_unless_said_otherwise(monkeypatch, capsys):
    told = run(monkeypatch, capsys, lambda module: {"supported": module.supports_check_mode})[1]
    assert told["supported"] is True


def test_an_error_of_the_collection_fails_the_task_without_a_traceback(monkeypatch, capsys):
    def body(module):
        raise CommandFailed("apt-get", "exit status 100", output="E: no")

    code, told = run(monkeypatch, capsys, body)
    assert (code, told["failed"], told["msg"], told["output"]) == (1, True, "apt-get: exit status 100", "E: no")
