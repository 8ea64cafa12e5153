# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The orders that make a flashed version the running one, by what a BMC offers."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.activate import force_off, orders, strongest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board


def resource(action, *resets):
    """A resource with a reset."""
    kind = action.partition(".")[0]
    row = {"target": f"/{kind}/{action}", "ResetType@Redfish.AllowableValues": list(resets)}
    return {"Actions": {f"#{action}": row}} if resets else {}


def board(system=(), manager=(), chassis=()):
    """A board that offers these resets."""
    return Board(
        "any",
        {},
        resource("ComputerSystem.Reset", *system),
        resource("Manager.Reset", *manager),
        resource("Chassis.Reset", *chassis),
        {},
        [],
    )


ALL = ("On", "GracefulShutdown", "ForceOff", "FullPowerCycle", "PowerCycle")


def told(kind, here, power="On", hook=()):
    """What is ordered, or the code of the refusal."""
    try:
        return [order.reset for order in orders(kind, here, power, hook, "BMC")]
    except BmcError as problem:
        return problem.code


@pytest.mark.parametrize(
    ("kind", "here", "power", "hook", "resets"),
    [
        ("none", board(), "On", (), []),
        ("reboot", board(), "On", (), []),
        ("bmc_reset", board(manager=("ForceRestart",)), "On", (), ["ForceRestart"]),
        ("bmc_reset", board(), "On", (), "activation_not_offered"),
        ("power_cycle", board(ALL), "On", (), ["GracefulShutdown", "On"]),
        ("power_cycle", board(ALL), "Off", (), ["On"]),
        ("ac_cycle", board(ALL), "On", (), ["GracefulShutdown", "FullPowerCycle"]),
        ("ac_cycle", board(ALL[:3], chassis=("PowerCycle",)), "Off", (), ["PowerCycle"]),
        ("ac_cycle", board((*ALL[:3], "PowerCycle")), "On", (), "activation_not_offered"),
        ("ac_cycle", board(ALL[:3]), "On", ("pdu",), ["GracefulShutdown"]),
        ("ac_cycle", board(ALL), "Off", ("pdu",), []),
    ],
)
def test_an_activation_is_ordered_as_the_bmc_offers_it(kind, here, power, hook, resets):
    assert told(kind, here, power, hook) == resets


def test_a_power_cycle_of_the_system_is_no_ac_cycle():
    assert told("ac_cycle", board(("On", "ForceOff", "PowerCycle"))) == "activation_not_offered"


def test_a_host_that_does_not_shut_down_can_be_forced():
    assert force_off(board(ALL), "BMC")[1:] == ("ForceOff", "Off")


def test_the_strongest_activation_stands_for_all():
    assert [strongest(kinds) for kinds in ([], ["reboot", "bmc_reset"], ["ac_cycle", "reboot"])] == [
        "none",
        "reboot",
        "ac_cycle",
    ]
