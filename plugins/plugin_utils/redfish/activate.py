# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a flashed version the running one, as far as a BMC can do it, and the orders for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, path_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.wishes import ACTIVATIONS

# The node does these itself, and whoever called has to see to it.
BY_CALLER = ("driver_reload", "reboot")
POWER = ("power_cycle", "ac_cycle")
# One reboot of the host stands for the first two.
TAKES_HOST = (*BY_CALLER, *POWER)


class Order(NamedTuple):
    """One POST of a reset; ``then`` is the PowerState to wait for, None where there is none to wait for."""

    uri: str
    reset: str
    then: str | None = None


def strongest(kinds: Iterable[str]) -> str:
    """The one activation that stands for several."""
    return max(kinds, key=ACTIVATIONS.index, default="none")


def orders(kind: str, board: Board, power: str | None, hook: Sequence[str], subject: str) -> list[Order]:
    """The orders for an activation, in their turn; [] where the operator's hook does it, or nothing has to be done.

    A host is asked to shut down before its power goes. An AC cycle is FullPowerCycle of the system, of the chassis, the
    chassis' PowerCycle, or the hook; a PowerCycle of the system keeps standby power, and is none.

    :param power: the PowerState now.
    :raises BmcError: the BMC does not offer what is wanted.
    """
    if kind == "bmc_reset":
        return [_order(board.manager, "Manager.Reset", ("GracefulRestart", "ForceRestart"), subject, kind)]
    if kind == "power_cycle":
        on = _order(board.system, "ComputerSystem.Reset", ("On", "ForceOn"), subject, kind)._replace(then="On")
        return [*_off(board, power, subject, kind), on]
    if kind != "ac_cycle":
        return []
    if hook:
        return _off(board, power, subject, kind)
    return [*_off(board, power, subject, kind), _full_cycle(board, subject)]


def _off(board: Board, power: str | None, subject: str, kind: str) -> list[Order]:
    if power == "Off":
        return []
    return [
        _order(board.system, "ComputerSystem.Reset", ("GracefulShutdown", "ForceOff"), subject, kind)._replace(
            then="Off"
        )
    ]


def force_off(board: Board, subject: str) -> Order:
    """For a host that does not shut down when it is asked to."""
    return _order(board.system, "ComputerSystem.Reset", ("ForceOff",), subject, "power_cycle")._replace(then="Off")


def _full_cycle(board: Board, subject: str) -> Order:
    for resource, action, resets in (
        (board.system, "ComputerSystem.Reset", ("FullPowerCycle",)),
        (board.chassis, "Chassis.Reset", ("FullPowerCycle", "PowerCycle")),
    ):
        found = _offered(resource, action, resets)
        if found:
            return found
    raise BmcError(
        "activation_not_offered",
        subject,
        "no FullPowerCycle of system or chassis is offered",
        "an AC cycle",
        "give ac_cycle_command, a program that switches the outlets of this node",
    )


def _order(resource: Mapping[str, Any], action: str, resets: Sequence[str], subject: str, kind: str) -> Order:
    found = _offered(resource, action, resets)
    if found is None:
        raise BmcError(
            "activation_not_offered",
            subject,
            f"{action} offers none of {', '.join(resets)}",
            kind,
            "do it by other means, and run this again",
        )
    return found


def _offered(resource: Mapping[str, Any], action: str, resets: Sequence[str]) -> Order | None:
    found = (resource.get("Actions") or {}).get(f"#{action}") or {}
    allowed = found.get("ResetType@Redfish.AllowableValues")
    if not isinstance(found.get("target"), str):
        return None
    # Where nothing is said of the values, the plainest of what every BMC has is tried.
    wanted = next((reset for reset in resets if reset in allowed), None) if isinstance(allowed, list) else resets[-1]
    return Order(path_of(found["target"]), wanted) if wanted else None
