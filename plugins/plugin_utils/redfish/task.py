# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions that speak to a BMC share: how they find it, and a session that is closed whatever happens."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, host_variables
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import turn
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.connection import Door

# Options of an action; each may be a host variable with fleet_bmc_ in front of its name instead.
SPEC: dict[str, dict[str, Any]] = {
    "address": {"type": "str"},
    "user": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "ca": {"type": "path"},
    "validate_certs": {"type": "bool"},
    "system": {"type": "str"},
    "timeout": {"type": "float"},
    "connect_timeout": {"type": "float"},
    "attempts": {"type": "int"},
    "pause": {"type": "float"},
    "turn_timeout": {"type": "float"},
}
PREFIX = "fleet_bmc_"
_DEFAULTS = {"validate_certs": True, "timeout": 60.0, "connect_timeout": 10.0, "attempts": 5, "pause": 3.0}
_DEFAULTS["turn_timeout"] = 3600.0
_TRUSTING = "is not checked (fleet_bmc_validate_certs: false): whoever answers at this address gets the password"


class RedfishAction(action.FleetAction):
    """Base of the actions that speak to a BMC; a subclass adds SPEC to its own."""

    def settings(self, args: Mapping[str, Any], task_vars: Mapping[str, Any]) -> dict[str, Any]:
        """Where the BMC is and who we are there: what the task says, else the host's variables, else the defaults.

        :raises FleetError: address, user or password is not given, or is of a wrong kind.
        """
        return settings_of(args, task_vars, self._templar.template)

    @staticmethod
    def client(settings: Mapping[str, Any], patience: float = 0.0) -> Client:
        """A session with the BMC, for ``with``."""
        return client_of(settings, patience)

    def turn(
        self, settings: Mapping[str, Any], args: Mapping[str, Any], node: str, changes: bool = True
    ) -> contextlib.AbstractContextManager[None]:
        """The only one who changes this BMC, for ``with``; who changes nothing, as under --check, waits for nobody.

        :param args: ``fleet_dir`` and ``rollout`` of the task.
        """
        if self.checking or not changes:
            return contextlib.nullcontext()
        return turn_of(settings, turn.folder(args["rollout"], args["fleet_dir"]), f"{self._task.action} for {node}")

    @staticmethod
    def warnings_of(client: Client) -> list[str]:
        """What the operator has to be told of every session."""
        return warnings_of(client)


def settings_of(
    args: Mapping[str, Any], task_vars: Mapping[str, Any], template: Callable[[Any], Any]
) -> dict[str, Any]:
    """The same for an action that speaks to a BMC only now and then.

    :raises FleetError: as ``RedfishAction.settings``.
    """
    given = {key: args.get(key) for key in SPEC}
    for key, value in given.items():
        if value is None and f"{PREFIX}{key}" in task_vars:
            given[key] = action.plain(template(task_vars[f"{PREFIX}{key}"]))
    missing = [name for name in host_variables.BMC if not given[name.removeprefix(PREFIX)]]
    if missing:
        raise FleetError(
            task_vars["inventory_hostname"],
            f"nothing says how to reach its BMC: {', '.join(missing)}",
            "these variables of the host",
            "put them into the inventory, the password into a vault",
        )
    return {key: _DEFAULTS.get(key) if value is None else value for key, value in given.items()}


def client_of(settings: Mapping[str, Any], patience: float = 0.0) -> Client:
    """A session with the BMC, for ``with``.

    :param patience: so many seconds it may be away, since an earlier run has left it on its way.
    :raises FleetError: a number is none.
    """
    try:
        door = Door(
            str(settings["address"]),
            str(settings["user"]),
            str(settings["password"]),
            ca=settings["ca"],
            verify=_truth(settings["validate_certs"]),
            timeout=float(settings["timeout"]),
            connect_timeout=float(settings["connect_timeout"]),
            attempts=max(1, int(settings["attempts"])),
            pause=float(settings["pause"]),
            patience=patience,
        )
    except (TypeError, ValueError) as wrong:
        raise FleetError(f"{PREFIX}*", f"one of the numbers is none: {wrong}", "numbers", "correct it") from wrong
    return Client(door, time.sleep)


def turn_of(
    settings: Mapping[str, Any], fleet_dir: str, what: str, most: float | None = None
) -> contextlib.AbstractContextManager[None]:
    """The same for an action that speaks to a BMC only now and then.

    :param what: is at work, as others are told. :param most: seconds that are waited at the most.
    """
    try:
        seconds = float(settings["turn_timeout"])
    except (TypeError, ValueError) as wrong:
        raise FleetError(f"{PREFIX}turn_timeout", f"is no number: {wrong}", "seconds", "correct it") from wrong
    who = {**action.owner(os.getpid()), "what": what, "since": action.now()}
    seconds = seconds if most is None else min(most, seconds)
    return turn.turn(fleet_dir, str(settings["address"]), who, seconds, time.monotonic, time.sleep)


def warnings_of(client: Client) -> list[str]:
    """What has to be told of every session."""
    return [] if client.door.verify else [f"the certificate of {client.subject} {_TRUSTING}"]


def _truth(value: Any) -> bool:
    """Only a clear no trusts any certificate."""
    return str(value).strip().lower() not in ("false", "no", "off", "0")
