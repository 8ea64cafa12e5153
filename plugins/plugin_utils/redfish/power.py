# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One reset of a silent host through its BMC: which one, by power state and offer, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import recovery
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import Recovered
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import task
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, path_of, refused
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import host_board
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client

# Seconds: whoever flashes through the same BMC does not want a reset amid that, and a node is not waited for that long.
MOST_WAIT = 300.0
_ACTION = "#ComputerSystem.Reset"
_ON = ("On", "ForceOn")
# Power is there, or comes or goes and does not get to an end: one reset ends all of that.
_POWERED = frozenset(("On", "Paused", "PoweringOn", "PoweringOff"))
_MOVING = frozenset(("PoweringOn", "PoweringOff"))


@dataclass
class Case:
    """A silent host, and what its reset goes by.

    :param policy: of the rollout, for ``reboot_recovery_reset``.
    :param port: whether the node's SSH port takes a connection by now, None where that cannot be told.
    :param write: writes down what is about to be ordered (resets, power state); raises where it may not be.
    :param fleet_dir: where the lock of the BMC is.
    :param system: the Id of the system, where the BMC has several that could be the host.
    :param settle: seconds for the power state to become what was ordered; ``off`` is how long it stays off between.
    """

    policy: Mapping[str, Any]
    port: Callable[[], bool | None]
    write: Callable[[str, str], None]
    system: str | None = None
    fleet_dir: str = "fleet-records"
    clock: Callable[[], float] = time.monotonic
    poll: float = 3.0
    settle: float = 60.0
    off: float = 10.0


class Offer(NamedTuple):
    """Where a reset is ordered, and the reset types that are offered; None where the BMC does not say which."""

    uri: str
    resets: list[str] | None


def offer(system: Mapping[str, Any], info: Mapping[str, Any] | None, subject: str) -> Offer:
    """What a system offers.

    :param info: the resource at ``info_uri``, where it has one.
    :raises BmcError: no reset at all.
    """
    reset = _reset(system)
    if not isinstance(reset.get("target"), str):
        raise BmcError("activation_not_offered", subject, "its system offers no reset", "ComputerSystem.Reset",
                       "bring this node back by its console, or by an outlet that can be switched")  # fmt: skip
    inline = reset.get("ResetType@Redfish.AllowableValues")
    rows = (info or {}).get("Parameters")
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    told = next((row.get("AllowableValues") for row in rows if row.get("Name") == "ResetType"), None)
    values = inline if isinstance(inline, list) else told
    return Offer(path_of(reset["target"]), [str(one) for one in values] if isinstance(values, list) else None)


def info_uri(system: Mapping[str, Any]) -> str | None:
    """Where the reset types are told that do not stand beside the reset itself."""
    uri = _reset(system).get("@Redfish.ActionInfo")
    return path_of(uri) if isinstance(uri, str) else None


def _reset(system: Mapping[str, Any]) -> Mapping[str, Any]:
    actions = system.get("Actions")
    found = actions.get(_ACTION) if isinstance(actions, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def choose(power: str | None, offered: Sequence[str] | None, order: Sequence[str], subject: str) -> list[str]:
    """The reset types to order, in their turn: On for a host that is off, else the first of ``order`` that is offered.

    :param offered: None where the BMC does not say: then the one that is wanted most is tried.
    :raises BmcError: the power state is not known, or what is wanted is not offered.
    """
    if power == "Off":
        return [_first(_ON, offered, subject)]
    if power not in _POWERED:
        seen = f"its power state is {power or 'not told'}"
        raise BmcError("host_power", subject, seen, "On or Off", "look at the BMC; no reset was ordered")
    reset = _first(order, offered, subject)
    return [reset, _first(_ON, offered, subject)] if reset == "ForceOff" else [reset]


def _first(wanted: Sequence[str], offered: Sequence[str] | None, subject: str) -> str:
    found = next((reset for reset in wanted if offered is None or reset in offered), None)
    if found is None:
        raise BmcError(
            "activation_not_offered", subject, f"its resets are {', '.join(offered or ()) or 'none'}",
            f"one of {', '.join(wanted)}",
            "name one that it offers in reboot_recovery_reset, or bring the node back by reboot_recovery: command",
        )  # fmt: skip
    return found


def by_bmc(task_vars: Mapping[str, Any], template: Callable[[Any], Any], case: Case) -> Recovered:
    """Reset a host through the BMC that the variables of the host name; whatever hinders it is told, and no error.

    :param template: what a variable stands for; FleetError where it cannot be told.
    :raises StaleController: another controller took over; nothing was ordered.
    """
    try:
        settings = task.settings_of({}, task_vars, template)
        case.system = settings["system"]
        what = f"the reset of {task_vars['inventory_hostname']}"
        with task.turn_of(settings, case.fleet_dir, what, MOST_WAIT), task.client_of(settings) as client:
            came = reset(client, case)
        return came._replace(told="; ".join([came.told, *task.warnings_of(client)]))
    except StaleController:
        raise
    except FleetError as problem:
        return Recovered(failed=str(problem))


def reset(client: Client, case: Case) -> Recovered:
    """Order one reset, once, and read the power state back.

    Where the answer to the order is lost it may have been carried out: it is not repeated, and the node waited for.
    Whether it boots is for the node to show, so a power state that is not the wanted one is told and decides nothing,
    but where a lost order has left a host off.

    :raises BmcError: nothing was ordered, or the order was refused. FleetError: it may not be ordered.
    """
    system, subject = _system(client, case), client.subject
    uri, place = info_uri(system), str(system["@odata.id"])
    offered = offer(system, client.look(uri).body if uri else None, subject)
    power = _power_at_rest(client, place, case)
    resets = choose(power, offered.resets, recovery.resets(case.policy), subject)
    if case.port():
        return Recovered(told="its SSH port answers by now, so no reset was ordered")
    case.write(" and ".join(resets), str(power))
    after, doubts = None, []
    for kind in resets:
        if after == "Off":
            client.sleep(case.off)
        after, doubt = _order(client, offered.uri, place, kind, case)
        doubts += [doubt] if doubt else []
    told = f"{' and '.join(resets)} ordered of {subject}; the power state was {power} and is {after or 'not told'}"
    return Recovered(told="; ".join([told, *doubts]))


def _order(client: Client, uri: str, place: str, kind: str, case: Case) -> tuple[str | None, str]:
    """Order a reset type: the power state that is read back, and what makes it doubtful that it was carried out."""
    answer = client.post(uri, {"ResetType": kind})
    if not answer.good and not answer.passing:
        raise refused(answer, client.subject, f"the order {kind}")
    doubt = "" if answer.good else f"its answer to {kind} proves nothing ({answer.said})"
    after = _wait_for(client, place, "Off" if kind == "ForceOff" else "On", case)
    if kind == "ForceOff":
        # On follows in any case: a host that is off is worse than an On that changes nothing.
        return after, doubt or ("" if after == "Off" else f"the power state was {after or 'not told'} after {kind}")
    if doubt and after == "Off":
        seen = f"the power state is {after} after {kind}; {doubt}"
        raise BmcError("host_power", client.subject, seen, "On", "look at the BMC; nothing is ordered a second time")
    return after, doubt


def _system(client: Client, case: Case) -> Mapping[str, Any]:
    found = host_board(client.get, case.system)
    if not found.system:
        seen, fix = "; ".join(found.problems), "see what the BMC says; fleet_bmc_system names one of several"
        raise BmcError("no_system", client.subject, seen or "no system", "one system that is the host", fix)
    return found.system


def _power(client: Client, place: str) -> str | None:
    answer = client.look(place)
    power = (answer.body or {}).get("PowerState") if answer.good else None
    return power if isinstance(power, str) else None


def _power_at_rest(client: Client, place: str, case: Case) -> str | None:
    """The power state now; one that is about to change is waited for."""
    end = case.clock() + case.settle
    power = client.get(place).get("PowerState")
    while power in _MOVING and case.clock() < end:
        client.sleep(case.poll)
        power = _power(client, place) or power
    return power if isinstance(power, str) else None


def _wait_for(client: Client, place: str, wanted: str, case: Case) -> str | None:
    """The power state that is read back: the wanted one, or what it is when the time for it is over."""
    end, power = case.clock() + case.settle, None
    while power != wanted:
        power = _power(client, place)
        if case.clock() >= end:
            break
        if power != wanted:
            client.sleep(case.poll)
    return power
