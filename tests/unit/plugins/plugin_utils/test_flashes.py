# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What no snapshot takes back, what makes a node unfit for service, and which BIOS settings can be set back."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import flashes

TAKEN = ("intent", "accepted")


def course(*names, component="bios", version="3.4"):
    """The events of a flash as the ledger has them; only the intent names the version."""
    rows = [{"component": component, "event": name, "reason": f"why {name}"} for name in names]
    return [{"data": {"firmware": row | ({"version": version} if row["event"] == "intent" else {})}} for row in rows]


def other(**data):
    return [{"data": data}]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([], ""),
        ([*other(reboot={"number": 1}), {"data": None}], ""),
        (course(*TAKEN, "done"), "firmware stays: bios 3.4"),
        (course(*TAKEN, "staged"), "firmware stays: bios 3.4, which is staged and runs after the next activation"),
        (course(*TAKEN, "staged", "activating", "done"), "firmware stays: bios 3.4"),
        (course("intent", "failed"), ""),
        (course(*TAKEN, "done") + course(*TAKEN, "done", component="bmc", version="2.16"),
         "firmware stays: bios 3.4; bmc 2.16"),
    ],
)  # fmt: skip
def test_what_was_flashed_stays(events, told):
    assert flashes.stays(events) == told


@pytest.mark.parametrize(
    ("events", "unfit"),
    [
        ([], False),
        (course("intent", "failed"), False),
        (course(*TAKEN, "failed"), True),
        (course(*TAKEN, "staged", "failed"), True),
        (course(*TAKEN, "done"), False),
        (course(*TAKEN, "failed") + course(*TAKEN, "done"), False),
        (course(*TAKEN, "failed", component="bmc") + course(*TAKEN, "done"), True),
    ],
)
def test_a_flash_that_failed_after_the_bmc_had_the_image_makes_a_node_unfit(events, unfit):
    assert bool(flashes.unfit(events)) is unfit
    assert not unfit or "why failed" in flashes.unfit(events)


@pytest.mark.parametrize(
    ("last", "open_"), [("staged", False), ("activating", True), ("done", False), ("failed", False)]
)
def test_an_activation_without_an_end_is_one_that_a_controller_died_in(last, open_):
    assert flashes.is_activating([*course("intent", "done", component="bmc"), *course(*TAKEN, last)]) is open_


def test_an_image_that_was_sent_is_a_flash_however_it_ended():
    assert flashes.was_flashed(course("intent"))
    assert not flashes.was_flashed(other(reboot={"number": 1}))


def test_the_settings_from_before_are_those_that_were_written_down_first():
    events = other(bios_before=[["SMT", "Off"]]) + other() + other(bios_before=[["SMT", "On"], ["IOMMU", "Off"]])
    assert flashes.bios_before(events) == {"SMT": "Off", "IOMMU": "Off"}
