# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One upgrade over nodes whose reboot goes wrong, each in its own way: all are told apart (reports F01, F03, F05).

The change is one kernel argument, so that a reboot is all there is to it. Each node may be rebooted once: what failed
with an answer that counts is sent back, and the reboot of its way back is one too many. The recovery cycles the power
of every node but `lost`, and writes down whom it was asked for.

Meanwhile a second operator moves other nodes, which are brought back through their BMCs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

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


BY_BMC = {"dark": "in_service", "hangs": "in_service", "sinks": "restored", "buried": "inconclusive"}
POLICY = {
    "failure_budget": 100, "canaries_per_product": 0, "capacity_floor_percent": 0, "failure_domain": "none",
    "growth": {"kind": "fixed", "size": 8}, "soak_seconds": 1, "drain_timeout_seconds": 2, "reboot_timeout_seconds": 30,
}  # fmt: skip


def _policy(operator: Any) -> dict[str, Any]:
    script = operator.folder / "recover.sh"
    places = {"folder": operator.folder, "tests": TESTS, "python": sys.executable, "state": operator.state}
    script.write_text(RECOVER.format(**places), encoding="utf-8")
    command = {"reboot_recovery": "command", "reboot_recovery_command": ["sh", str(script), "{node}"]}
    return {**POLICY, "max_reboots_per_node": 1, **command}


def _inventory(operator: Any, nodes: Any) -> Path:
    """The fleet's inventory with these nodes alone; that of `buried` leads to a BMC which nobody is at, and which
    nobody asks before the reboot."""
    hosts = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))
    credentials = yaml.safe_load((operator.state / "bmc-credentials.yml").read_text(encoding="ascii"))
    own = {**credentials, "ca": str(operator.state / "bmc-ca.pem"), "attempts": 2, "pause": 0.2}
    hosts["fleet"]["vars"] |= {f"fleet_bmc_{key}": value for key, value in own.items()}
    hosts["fleet"]["hosts"]["buried"] |= {"fleet_bmc_address": "127.1.57.250", "fleet_bios_foreign": "keep"}
    hosts["fleet"]["hosts"] = {node: hosts["fleet"]["hosts"][node] for node in nodes}
    path = operator.folder / f"only-{next(iter(nodes))}.yml"
    path.write_text(yaml.safe_dump(hosts), encoding="utf-8")
    return path


def _events(operator: Any) -> list[tuple[str, str, dict[str, Any]]]:
    rows = operator.query("SELECT node, reason, data FROM events WHERE node IS NOT NULL ORDER BY id")
    return [(node, reason, json.loads(data or "{}")) for node, reason, data in rows]


@pytest.fixture(scope="module")
def by_bmc(operator: Any) -> SimpleNamespace:
    """The second operator, at work."""
    other, policy = operator.elsewhere("bmc"), {**POLICY, "max_reboots_per_node": 3, "reboot_recovery": "bmc"}
    target, inventory = _target(operator), _inventory(operator, BY_BMC)
    run = operator.start("upgrade", target=target, policy=policy, inventory=inventory, fleet_dir=other.records)
    return SimpleNamespace(other=other, run=run, policy=policy, inventory=inventory, target=target)


def _target(operator: Any) -> Path:
    target = operator.state / "one-argument.yml"
    text = (operator.state / "target-6.4.4.yml").read_text(encoding="utf-8")
    target.write_text(f"{text}    kernel: {{cmdline: [pcie_aspm=off]}}\n", encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def seen(operator: Any, by_bmc: SimpleNamespace) -> SimpleNamespace:
    """The upgrade, and what was left behind."""
    inventory = _inventory(operator, STATES)
    run = operator.play("upgrade", target=by_bmc.target, policy=_policy(operator), inventory=inventory)
    asked = (operator.folder / "asked").read_text(encoding="utf-8").split()
    told = {"states": operator.states(), "events": _events(operator), "boots": operator.boots()}
    return SimpleNamespace(run=run, asked=asked, **told)


@pytest.fixture(scope="module")
def brought(seen: SimpleNamespace, by_bmc: SimpleNamespace) -> SimpleNamespace:
    """What was left behind by the second operator."""
    run = by_bmc.run.finish()
    return SimpleNamespace(run=run, states=by_bmc.other.states(), events=_events(by_bmc.other))


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


def test_a_node_that_is_off_or_hangs_is_brought_back_by_its_bmc_and_also_on_its_way_back(brought: Any) -> None:
    assert brought.states == BY_BMC, brought.run.text[-4000:]


def test_the_reset_that_fits_the_power_state_is_in_the_story_before_it_is_ordered(brought: Any) -> None:
    told = {node: data["reboot"] for node, _reason, data in brought.events if "by" in data.get("reboot", {})}
    resets = {node: (reboot["reset"], reboot["power"], reboot["number"]) for node, reboot in told.items()}
    assert resets == {"dark": ("On", "Off", 2), "hangs": ("ForceRestart", "On", 2), "sinks": ("On", "Off", 3)}


def test_each_node_was_reset_once(brought: Any, operator: Any) -> None:
    boots = operator.boots()
    assert {node: boots[node] for node in BY_BMC} == {"dark": 2, "hangs": 2, "sinks": 4, "buried": 1}


def test_a_bmc_that_nobody_is_at_is_told_beside_what_became_of_the_node(brought: Any) -> None:
    reason = next(reason for node, reason, data in brought.events if node == "buried" and "diagnosis" in data)
    assert "buried: did not come back within" in reason
    assert "[never_back]; and its recovery failed: BMC 127.1.57.250: login: no answer" in reason


def test_no_session_is_left_at_a_bmc_and_the_password_is_told_nowhere(brought: Any, by_bmc: Any, operator: Any) -> None:
    secret = yaml.safe_load((operator.state / "bmc-credentials.yml").read_text(encoding="ascii"))["password"]
    kept = [path for path in by_bmc.other.records.rglob("*") if path.is_file()]
    assert [str(path) for path in kept if secret.encode() in path.read_bytes()] == []
    assert secret not in brought.run.text
    assert {json.loads(operator.simfleet("bmc", node))["sessions"]["open"] for node in BY_BMC} == {0}


def test_a_plan_for_a_node_whose_bmc_nobody_knows_is_refused(brought: Any, by_bmc: Any, operator: Any) -> None:
    given = {"target": by_bmc.target, "policy": by_bmc.policy, "fleet_dir": operator.folder / "none"}
    refused = operator.play("plan", "-l", "sinks", **given)
    assert refused.status == 2
    assert "reboot_recovery: is bmc, and there is no fleet_bmc_user" in refused.text
