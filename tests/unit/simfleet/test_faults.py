# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults: what may be said of them, and when they act."""

from __future__ import annotations

from typing import Any

import pytest

from simfleet.acts import ACTS
from simfleet.errors import FleetFileError
from simfleet.faults import EFFECTS, Fault, active, parse_fault

GPUS = {"g01": 8}


def _row(**more: Any) -> dict[str, Any]:
    return {"node": "g01", **more}


WRONG = {
    "no mapping": ("g01", "faults[0]: saw 'g01'"),
    "an unknown node": ({"node": "g99", "effect": "disk_full"}, "faults[0].node: saw 'g99'; the fleet has g01"),
    "an unknown effect": (_row(effect="fire"), "faults[0].effect: saw 'fire'; known are never_comes_back"),
    "a missing parameter": (_row(effect="link_speed", index=1), "faults[0]: gts is missing"),
    "an unknown parameter": (_row(effect="disk_full", size=1), "faults[0].size: unknown key; allowed are leave_kb"),
    "a text for a number": (_row(effect="gpu_missing", index="1"), "faults[0].index: saw '1'; wanted int"),
    "a GPU that is not there": (
        _row(effect="gpu_missing", index=8),
        "faults[0].index: saw 8; the node has GPUs",
    ),
    "an unknown hop": (_row(effect="link_speed", index=1, gts=16.0, hop="riser"), "faults[0].hop: saw 'riser'"),
    "an unknown condition": (_row(effect="disk_full", when={"moon": 1}), "faults[0].when.moon: unknown condition"),
    "a driver as a number": (_row(effect="disk_full", when={"driver": 6.4}), "faults[0].when.driver: saw 6.4"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_clear_error(case: str) -> None:
    row, words = WRONG[case]
    with pytest.raises(FleetFileError) as caught:
        parse_fault("faults[0]", row, GPUS)
    assert words in str(caught.value)


def test_what_is_left_out_gets_its_default() -> None:
    fault = parse_fault("f", _row(effect="link_speed", index=1, gts=16.0), GPUS)
    assert fault.args == {"hop": "gpu", "index": 1, "gts": 16.0}


@pytest.mark.parametrize(
    "when, driver, boots, acts",
    [
        ({}, None, 1, True),
        ({"driver": "6.14.14"}, "6.12.12", 1, False),
        ({"driver": "6.14.14"}, "6.14.14", 1, True),
        ({"driver": "6.14.14"}, None, 1, False),
        ({"boots": 2}, "6.12.12", 1, False),
        ({"boots": 2}, "6.12.12", 2, True),
        ({"boots": 2}, "6.12.12", 3, True),
        ({"boots": 2, "driver": "6.14.14"}, "6.12.12", 2, False),
    ],
)
def test_a_fault_acts_only_under_its_condition(
    when: dict[str, Any], driver: str | None, boots: int, acts: bool
) -> None:
    fault = Fault("g01", "disk_full", {}, when)
    assert active([fault], driver, boots) == ([fault] if acts else [])


def test_every_effect_of_a_running_node_can_begin_and_end() -> None:
    assert {name for name, effect in EFFECTS.items() if effect.at == "up"} == set(ACTS)
