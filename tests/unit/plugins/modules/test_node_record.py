# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that records a machine: it changes nothing, and what it cannot make safe it does not give."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")

from ansible_collections.fleetops.instinct.plugins.modules import node_record
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost
from ansible_collections.fleetops.instinct.tests.unit.run_module import Runner


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the module on a machine."""
    runner = Runner(monkeypatch, capsys)
    return lambda host, **options: runner(node_record, host, **options)


def test_a_recording_is_a_machine_in_the_form_of_the_fixtures(run):
    told = run(RecordedHost.load("mi300x-8gpu-healthy"))
    assert told["changed"] is False
    assert {"schema", "subsets", "files", "links", "commands", "expect"} <= set(told["machine"])


def test_only_the_parts_that_were_asked_for_are_read(run):
    told = run(RecordedHost.load("mi300x-8gpu-healthy"), gather_subset=["platform"])
    assert {path.split("/")[1] for path in told["machine"]["files"]} == {"sys", "proc"}
    assert set(told["machine"]["expect"]) == {"platform.vendor", "platform.product", "platform.bios_version"}


def test_an_unknown_part_is_refused_by_name(run):
    told = run(RecordedHost.load("no-gpu"), gather_subset=["frimware"])
    assert told["failed"] is True
    assert "frimware" in told["msg"]
