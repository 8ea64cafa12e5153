# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One upgrade over nodes whose reboot goes wrong, each in its own way: all are told apart (reports F01, F03, F05).

The change is one kernel argument, so that a reboot is all there is to it. Each node may be rebooted once: what failed
with an answer that counts is sent back, and the reboot of its way back is one too many. The recovery cycles the power
of every node but `lost`, and writes down whom it was asked for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
RECOVER = """#!/bin/sh
echo "$1" >> {folder}/asked
if [ "$1" = lost ]; then echo "no route to its BMC"; exit 3; fi
PYTHONPATH={tests} exec {python} -m simfleet --state {state} power "$1" cycle
"""
STATES = {
    "well": "in_service",
    "silent": "in_service",  # back by its recovery
    "ignores": "restored",  # it never went down: what was changed on its disk is taken back
    "doubles": "quarantined",  # its way back wants a second reboot
    "other": "quarantined",
    "flaps": "inconclusive",
    "rekeyed": "inconclusive",
    "lost": "inconclusive",
}
DIAGNOSES = {
    "ignores": "ignored",
    "doubles": "doubled",
    "other": "wrong_kernel",
    "flaps": "flapping",
    "rekeyed": "host_key_changed",
    "lost": "never_back",
}


def _policy(operator: Any) -> dict[str, Any]:
    script = operator.folder / "recover.sh"
    places = {"folder": operator.folder, "tests": TESTS, "python": sys.executable, "state": operator.state}
    script.write_text(RECOVER.format(**places), encoding="utf-8")
    return {
        "failure_budget": 100, "canaries_per_product": 0, "capacity_floor_percent": 0, "failure_domain": "none",
        "growth": {"kind": "fixed", "size": 8}, "soak_seconds": 1, "drain_timeout_seconds": 2,
        "max_reboots_per_node": 1, "reboot_timeout_seconds": 30, "reboot_recovery": "command",
        "reboot_recovery_command": ["sh", str(script), "{node}"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def seen(operator: Any) -> SimpleNamespace:
    """The upgrade, and what was left behind."""
    target = operator.state / "one-argument.yml"
    text = (operator.state / "target-6.4.4.yml").read_text(encoding="utf-8")
    target.write_text(f"{text}    kernel: {{cmdline: [pcie_aspm=off]}}\n", encoding="utf-8")
    run = operator.play("upgrade", target=target, policy=_policy(operator))
    rows = operator.query("SELECT node, reason, data FROM events WHERE node IS NOT NULL ORDER BY id")
    events = [(node, reason, json.loads(data or "{}")) for node, reason, data in rows]
    asked = (operator.folder / "asked").read_text(encoding="utf-8").split()
    return SimpleNamespace(run=run, states=operator.states(), events=events, asked=asked, boots=operator.boots())


def test_every_node_has_an_end_in_the_ledger_also_one_that_never_came_back_f05(seen: Any) -> None:
    assert seen.states == STATES
    assert seen.run.status == 2


def test_what_became_of_each_reboot_is_told_apart_in_the_ledger_f01(seen: Any) -> None:
    told = {node: data["diagnosis"] for node, _reason, data in reversed(seen.events) if "diagnosis" in data}
    assert told == DIAGNOSES


@pytest.mark.parametrize("node", DIAGNOSES)
def test_the_word_stands_in_the_message_that_the_operator_sees(seen: Any, node: str) -> None:
    assert any(f"{node}: " in error and f"[{DIAGNOSES[node]}]" in error for error in seen.run.errors())


def test_only_a_silent_node_is_recovered_and_only_once_f03(seen: Any) -> None:
    assert sorted(seen.asked) == ["lost", "silent"]


def test_the_recovery_is_in_the_story_before_and_after_it(seen: Any) -> None:
    told = {n: [reason for node, reason, data in seen.events if node == n and "recovery" in data] for n in seen.asked}
    assert told["silent"] == [
        "it stays away: its recovery by command begins",
        "recovery by command: done, waiting for the node",
    ]
    assert told["lost"][1] == "recovery by command: sh ended with status 3: no route to its BMC"


def test_a_node_with_another_host_key_was_left_as_it_is_f03(seen: Any, operator: Any) -> None:
    assert seen.boots["rekeyed"] == 2
    assert "pcie_aspm=off" in operator.node("rekeyed")["cmdline"]


def test_a_node_is_not_rebooted_more_often_than_the_policy_allows(seen: Any, operator: Any) -> None:
    assert seen.boots["doubles"] == 3
    assert seen.boots["other"] == 2
    assert all("[loop]" in operator.reasons()[node] for node in ("doubles", "other"))


def test_the_kernel_that_was_going_to_boot_is_known_and_checked(seen: Any, operator: Any) -> None:
    planned = {node: data["reboot"]["kernel"] for node, _reason, data in seen.events if "reboot" in data}
    assert set(planned.values()) == {operator.node("well")["kernel"]}
    assert any(data.get("kernel_planned") == planned["well"] for node, _reason, data in seen.events if node == "well")


def test_who_waits_for_a_person_is_named_with_the_reason_by_the_status(seen: Any, operator: Any) -> None:
    assert "host_key_changed" in operator.play("status", node="rekeyed").text
