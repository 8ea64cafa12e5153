# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of failure says of every step what it does, what stops it, and how the node comes back."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.rehearsal import UNTOUCHED, rehearsal, steps

OLD, NEW = {"rocm": "6.4.4", "driver": "6.4.4"}, {"rocm": "7.0.2", "driver": "30.10.2"}
SYSCTL = {"kernel.numa_balancing": 0}
KERNEL = {"cmdline": ["pcie_aspm=off"], "module_options": {"amdgpu": {"x": "1"}}, "sysctl": SYSCTL}


def plan(policy=None, **row):
    node = {
        "product": "MI300X", "wave": 1, "steps": ["kernel", "rocm", "reboot"], "reboot": True, "from": OLD, "to": NEW,
        "rollback": {"ready": True, "why": []}, "point_of_no_return": None, **row,
    }  # fmt: skip
    return {
        "plan_id": "abc", "policy": load_policy(policy or {}), "nodes": {"g01": node},
        "target": {"products": {"MI300X": {"kernel": KERNEL}}},
        "waves": [{"number": 1, "kind": "canary", "nodes": ["g01"]}],
    }  # fmt: skip


def named(plan_of, name):
    return next(step for step in steps(plan_of, "g01") if step.name == name)


def test_every_step_of_a_node_is_told_in_the_order_of_its_states():
    told = [step.name for step in steps(plan(), "g01")]
    assert told == ["admit", "precheck", "drain", "snapshot", "kernel", "rocm", "reboot", "verify", "soak", "return"]


def test_no_step_is_silent_on_what_stops_it_or_how_the_node_comes_back():
    assert all(all(step) for step in steps(plan(), "g01"))


def test_a_step_that_the_node_does_not_need_is_not_told():
    told = [step.name for step in steps(plan(steps=["rocm"], reboot=False), "g01")]
    assert "kernel" not in told
    assert "reboot" not in told


@pytest.mark.parametrize("name", ["admit", "precheck", "drain"])
def test_before_the_snapshot_there_is_nothing_to_bring_back(name):
    assert named(plan(), name).back == UNTOUCHED


@pytest.mark.parametrize("scope", ["none", "node", "wave", "rollout"])
def test_the_way_back_is_that_of_the_policy(scope):
    words = {"none": "for a person", "node": "by itself, is rebooted", "wave": "its wave", "rollout": "whole rollout"}
    assert words[scope] in named(plan({"automatic_rollback": scope}), "rocm").back


def test_a_node_without_a_way_back_is_told_so_from_the_first_change_on():
    one_way = plan(rollback={"ready": False, "why": ["rocm-core 6.4.4 is offered by no repository"]})
    for name in ("kernel", "rocm", "reboot", "verify", "soak", "return"):
        assert "no way back: rocm-core 6.4.4 is offered by no repository" in named(one_way, name).back


FLASH = {"component": "bios", "from": "3.2", "to": "3.4", "activation": "ac_cycle", "lowest": None, "back": None}
ITEM = {"attribute": "SMTControl", "from": "Disabled", "to": "Enabled"}
BOARD = {"steps": ["firmware", "rocm", "bios", "reboot"], "firmware": [FLASH], "bios": [ITEM]}


def test_firmware_and_bios_have_their_steps_in_the_order_in_which_they_are_done():
    told = [step.name for step in steps(plan(**BOARD), "g01")]
    assert told[4:8] == ["firmware", "rocm", "bios", "reboot"]
    assert "bios 3.2 -> 3.4 (ac_cycle)" in named(plan(**BOARD), "firmware").does
    assert named(plan(**BOARD), "bios").does == "stages SMTControl Enabled"


def test_that_no_snapshot_takes_firmware_back_is_told():
    assert "firmware stays (whether the BMC takes it again is not told)" in named(plan(**BOARD), "firmware").back
    assert "the values from before are staged again" in named(plan(**BOARD), "bios").back


def test_windows_and_alerts_are_among_what_stops_a_wave_only_where_the_policy_has_them():
    window = {"days": ["sat"], "from": "22:00", "to": "06:00"}
    assert "no window open (" in named(plan({"windows": [window]}), "admit").stops
    assert "window" not in named(plan(), "admit").stops


def test_the_kernel_settings_are_named():
    does = named(plan(), "kernel").does
    assert does == "declares the command line pcie_aspm=off, options of amdgpu, kernel.numa_balancing"


def test_the_text_begins_with_the_node_and_its_journey_and_fits_a_terminal():
    text = rehearsal(plan(), "g01", width=80)
    assert text.splitlines()[1] == "g01 (MI300X, wave 1 of 1, canary): 6.4.4 -> 7.0.2 / 30.10.2"
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    "policy, words",
    [
        ({}, "one that does not waits for a person and uses up the budget"),
        ({"reboot_recovery": "command", "reboot_recovery_command": ["x", "{node}"]}, "command (x {node}) and 30 min"),
        ({"reboot_recovery": "bmc"}, "(On where it is off, else the first that it offers of ForceRestart, PowerCycle"),
        ({"reboot_recovery": "bmc", "reboot_recovery_reset": ["ForceOff"]}, "it offers of ForceOff and On) and 30 min"),
    ],
)
def test_what_brings_a_silent_node_back_is_told(policy, words):
    assert words in named(plan(policy), "reboot").back
