# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idle states: three knobs that are easily taken for one another."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.idle import Seen, deeper, limiting, rule_on
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

STATES, LATENCY = ["POLL", "C1", "C2"], {"POLL": 0, "C1": 1, "C2": 100}


def idle(folder, argument=None, **changes):
    facts = {
        "driver": "acpi_idle", "states": STATES, "disabled": [], "latency_us": LATENCY, "partly_disabled": [], **changes
    }  # fmt: skip
    layer = {"live": None, "cmdline": argument, "next_boot": argument, "config": None}
    case = seen(("settings.idle", facts), ("settings.layers", {"idle": layer}))
    return said(record_of(case, folder), "idle.states")


@pytest.mark.parametrize(
    ("states", "latency", "deep"),
    [
        (STATES, LATENCY, ["C2"]),
        (["POLL", "C1", "C1E", "C6"], {"POLL": 0, "C1": 1, "C1E": 4, "C6": 170}, ["C1E", "C6"]),
        (["POLL", "C1"], {"POLL": 0, "C1": 1}, []),
        (["C2", "POLL", "C1"], LATENCY, ["C2"]),
        (["POLL", "C1", "C1_ACPI"], {"POLL": 0, "C1": 1, "C1_ACPI": 1}, []),
        (["POLL", "C2"], {}, ["C2"]),
    ],
    ids=["epyc", "intel", "shallow only", "in another order", "the same by another name", "no latencies"],
)
def test_i09_deep_states_are_picked_by_name_and_latency_never_by_number(states, latency, deep):
    assert deeper(states, latency, ["POLL", "C1"]) == deep


@pytest.mark.parametrize(
    ("driver", "arguments", "limits"),
    [
        ("acpi_idle", ["processor.max_cstate=1"], ["processor.max_cstate=1"]),
        ("acpi_idle", ["processor.max_cstate=0"], ["processor.max_cstate=0"]),
        ("acpi_idle", ["processor.max_cstate=1", "processor.max_cstate=9"], []),
        ("acpi_idle", ["processor.max_cstate=2"], []),
        ("acpi_idle", ["intel_idle.max_cstate=1"], []),
        ("intel_idle", ["intel_idle.max_cstate=1"], ["intel_idle.max_cstate=1"]),
        ("intel_idle", ["processor.max_cstate=1"], []),
        (None, ["idle=poll"], ["idle=poll"]),
    ],
)
def test_i10_an_argument_counts_only_for_the_driver_that_listens_to_it(driver, arguments, limits):
    assert limiting(driver, arguments) == limits


@pytest.mark.parametrize(
    ("shown", "wins", "as_wanted", "words"),
    [
        (Seen("acpi_idle", STATES, ["C2"], [], [], []), None, True, ""),
        (Seen("acpi_idle", ["POLL", "C1"], [], [], [], ["processor.max_cstate=1"]), "os", True, "allowed for latency"),
        (Seen("acpi_idle", ["POLL", "C1"], [], [], [], []), "bios", False, ""),
        (Seen("acpi_idle", STATES, ["C2"], [], [], ["intel_idle.max_cstate=1"]), None, False, "acpi_idle from C2"),
        (Seen("acpi_idle", STATES, ["C2"], ["C2"], [], []), "os", False, "costs boost"),
        (Seen("acpi_idle", STATES, ["C2"], [], ["C2"], []), "os", False, "off on some processors"),
        (Seen("none", [], [], [], [], [], True), "host", True, "guests"),
        (Seen("none", [], [], [], [], [], False), "bios", False, ""),
        (Seen("none", [], [], [], [], ["idle=poll"], False), "os", False, "idle=poll"),
    ],
    ids=["settled", "i10 c", "bios", "i10 a", "cpupower", "some cpus", "i10 b", "no driver", "awake"],
)
def test_the_truth_table(shown, wins, as_wanted, words):
    ruling = rule_on(shown)
    assert (ruling.wins, ruling.as_wanted) == (wins, as_wanted)
    assert words in ruling.why
    assert ruling.as_wanted or ruling.fix


def test_only_what_the_bios_does_is_the_bioss_to_undo(tmp_path):
    (bios,) = idle(tmp_path, states=["POLL", "C1"])
    (cpupower,) = idle(tmp_path, disabled=["C2"])
    assert bios["fix"].startswith("enable Global C-state control in the BIOS; it is neither DF C-states")
    assert cpupower["fix"].startswith("`cpupower idle-set -E`")
    assert "BIOS" not in cpupower["fix"]


def test_folklore_12_leaving_c2_out_by_the_operating_system_is_no_fault(tmp_path):
    assert idle(tmp_path, "processor.max_cstate=1", states=["POLL", "C1"], latency_us={"POLL": 0, "C1": 1}) == []


def test_i09_a_state_that_is_off_on_some_processors_is_told(tmp_path):
    (row,) = idle(tmp_path, partly_disabled=["C2"])
    assert "C2 is off on some processors" in row["why"]
