# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_facts: the module around the collectors."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import (
    COLLECTORS,
    SLOW,
    gather,
    select,
)
from ansible_collections.fleetops.instinct.plugins.modules import node_facts, node_glance
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost


def run(monkeypatch, capsys, module=node_facts, **arguments):
    sent = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", sent)
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr(module, "Host", lambda: RecordedHost.load("mi300x-8gpu-healthy"))
    with pytest.raises(SystemExit):
        module.main()
    return json.loads(capsys.readouterr().out)


def test_the_facts_of_the_machine_come_out_under_one_name(monkeypatch, capsys):
    told = run(monkeypatch, capsys)
    assert told["changed"] is False
    assert told["ansible_facts"] == {"instinct": gather(RecordedHost.load("mi300x-8gpu-healthy"), select(["all"]))}


def test_check_mode_reads_the_same(monkeypatch, capsys):
    told = run(monkeypatch, capsys, _ansible_check_mode=True)
    assert len(told["ansible_facts"]["instinct"]["gpus"]) == 8


def test_as_text_they_are_the_same(monkeypatch, capsys):
    told, text = run(monkeypatch, capsys), run(monkeypatch, capsys, as_text=True)
    assert json.loads(text["facts"]) == told["ansible_facts"]["instinct"]
    assert "ansible_facts" not in text


@pytest.mark.parametrize("subset", [["all"], ["gpu", "link"], ["all", "!activity"]])
def test_a_glance_sees_the_same(monkeypatch, capsys, subset):
    full, glance = (run(monkeypatch, capsys, module, gather_subset=subset) for module in (node_facts, node_glance))
    assert glance["ansible_facts"] == full["ansible_facts"]


@pytest.mark.parametrize("slow", sorted(SLOW))
def test_a_glance_refuses_what_was_not_sent_with_it(monkeypatch, capsys, slow):
    told = run(monkeypatch, capsys, node_glance, gather_subset=["all", slow])
    assert (told["failed"], told["msg"].startswith(f"gather_subset: {slow}; wanted: ")) == (True, True)


@pytest.mark.parametrize("slow", sorted(SLOW))
def test_what_a_slow_subset_needs_is_sent_with_the_module_that_has_it(slow):
    if slow != "previous_log":  # of which the file is that of the log
        sent = re.search(r"_collect import (.*)  # noqa", Path(node_facts.__file__).read_text(encoding="utf-8"))
        assert slow in sent[1].split(", ")


def test_parts_that_were_not_asked_for_are_left_out(monkeypatch, capsys):
    told = run(monkeypatch, capsys, gather_subset=["rocm"])
    assert sorted(told["ansible_facts"]["instinct"]) == ["problems", "rocm", "schema"]


def test_an_unknown_part_fails_with_the_known_ones(monkeypatch, capsys):
    told = run(monkeypatch, capsys, gather_subset=["frimware"])
    assert told["failed"] is True
    assert "wanted: all, or any of node, platform, gpu" in told["msg"]


def test_every_part_is_documented():
    documentation = yaml.safe_load(node_facts.DOCUMENTATION)
    described = " ".join(documentation["options"]["gather_subset"]["description"])
    assert [name for name in COLLECTORS if f"V({name})" not in described] == []


def test_every_key_of_the_facts_is_documented():
    described = yaml.safe_load(node_facts.RETURN)["ansible_facts"]["contains"]["instinct"]["contains"]
    assert set(described) == set(gather(RecordedHost.load("no-gpu"), list(COLLECTORS)))


def test_the_module_stays_small():
    lines = Path(node_facts.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250
