# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy: how much of the fleet a rollout may risk at once. Every key has a default."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import alert_gates, limits, windows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest, plain, read_marked
from ansible_collections.fleetops.instinct.plugins.plugin_utils.recovery import RESETS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES

_SPEC: dict[str, dict[str, Any]] = {
    "failure_budget": {"type": "int", "default": 0},
    "automatic_rollback": {"type": "str", "default": "node", "choices": ["none", "node", "wave", "rollout"]},
    "rollback_batch": {"type": "int", "default": None},
    "rollback_failure_budget": {"type": "int", "default": None},
    "capacity_floor_percent": {"type": "float", "default": 75},
    "canaries_per_product": {"type": "int", "default": 1},
    "growth": {"type": "raw", "default": 2},
    "max_wave": {"type": "int", "default": 32},
    "failure_domain": {"type": "str", "default": "rack", "choices": ["rack", "none"]},
    "failure_domains": {"type": "list", "elements": "dict", "default": None},
    "domainless_nodes": {"type": "str", "default": "refuse", "choices": ["refuse", "own_domain"]},
    "capacity_floors": {"type": "list", "elements": "dict", "default": None},
    "order": {"type": "raw", "default": "domain"},
    "skip": {"type": "str", "default": None},
    "windows": {"type": "list", "elements": "dict", "default": []},
    "alert_gates": {"type": "list", "elements": "dict", "default": []},
    "unfit_nodes": {"type": "str", "default": "refuse", "choices": ["refuse", "exclude"]},
    "exclude": {"type": "list", "elements": "str", "default": []},
    "require_rollback": {"type": "bool", "default": True},
    "require_listed_os": {"type": "bool", "default": False},
    "require_listed_firmware": {"type": "bool", "default": False},
    "soak_seconds": {"type": "int", "default": 60},
    "reboot_timeout_seconds": {"type": "int", "default": 1800},
    "drain_timeout_seconds": {"type": "int", "default": 3600},
    "max_reboots_per_node": {"type": "int", "default": 6},
    "reboot_recovery": {"type": "str", "default": "none", "choices": ["none", "command", "bmc"]},
    "reboot_recovery_command": {"type": "list", "elements": "str", "default": []},
    "reboot_recovery_reset": {"type": "list", "elements": "str", "default": [], "choices": list(RESETS)},
    "waivers": {"type": "list", "elements": "dict", "default": []},
}
_WAIVER: dict[str, dict[str, Any]] = {
    "rule": {"type": "str", "required": True},
    "nodes": {"type": "list", "elements": "str", "required": True},
    "owner": {"type": "str", "required": True},
    "expires": {"type": "str", "required": True},
    "reason": {"type": "str", "required": True},
}
_RANGES: dict[str, tuple[float, float]] = {
    "failure_budget": (0, 100000),
    "rollback_batch": (1, 10000),
    "rollback_failure_budget": (0, 100000),
    "capacity_floor_percent": (0, 100),
    "canaries_per_product": (0, 100),
    "max_wave": (1, 10000),
    "soak_seconds": (0, 86400),
    "reboot_timeout_seconds": (30, 86400),
    "drain_timeout_seconds": (0, 604800),
    "max_reboots_per_node": (1, 100),
}
_WANTED = "a policy file (docs/contracts.md, section 3)"
# That a waiver is over cannot be waived; what is no rule of the table (a node that does not answer) cannot either.
WAIVABLE = frozenset(rule.id for rule in RULES) - {"waiver.expired"}


class PolicyError(FleetError):
    """The policy holds a key, a type or a number that it may not hold."""


def load_policy(value: Mapping[str, Any] | str | None) -> dict:
    """The policy with every default of docs/contracts.md section 3.

    :param value: a map, the path of a YAML file, or nothing for the defaults.
    :raises PolicyError: naming the file and its line (or ``fleet_policy``), the key, what was seen and what is allowed.
    """
    if not isinstance(value, str):
        return _checked({} if value is None else value, "fleet_policy")
    content, lines = read_marked(value, PolicyError, _WANTED)
    try:
        return _checked({} if content is None else content, value)
    except PolicyError as problem:
        subject = _placed(value, problem.subject.removeprefix(f"{value}: "), lines)
        raise PolicyError(subject, problem.seen, problem.wanted, problem.fix) from problem


def placed(value: Mapping[str, Any] | str | None, key: str) -> str:
    """A key of a policy with its file and line, for a message about it; ``value`` is what it was loaded from."""
    if not isinstance(value, str):
        return f"fleet_policy: {key}"
    return _placed(value, key, read_marked(value, PolicyError, _WANTED)[1])


def _placed(path: str, key: str, lines: Mapping[str, int]) -> str:
    if key == path:
        return path
    # A key that is missing has no line of its own: that of what it should be in is told.
    known = [name for name in lines if key == name or key.startswith((f"{name}.", f"{name}["))]
    return f"{path}, line {lines[max(known, key=len)]}: {key}" if known else f"{path}: {key}"


def _checked(value: Any, place: str) -> dict:
    given = plain(value, place, PolicyError)
    policy = check(_SPEC, given, (place, ""), PolicyError)
    for key, (least, most) in _RANGES.items():
        if policy[key] is not None and not least <= policy[key] <= most:
            raise PolicyError(f"{place}: {key}", f"is {policy[key]}", f"{least:g} to {most:g}", "correct the number")
    limits.checked(policy, given, place, PolicyError)
    if policy["skip"] is not None and not policy["skip"].isidentifier():
        raise PolicyError(f"{place}: skip", f"is {policy['skip']!r}", "the name of a host variable", "correct the name")
    _check_recovery(policy, place)
    policy["windows"] = [
        windows.checked(window, (place, f"windows[{number}]"), PolicyError)
        for number, window in enumerate(policy["windows"])
    ]
    policy["alert_gates"] = alert_gates.checked(policy["alert_gates"], "alert_gates", place, PolicyError)
    policy["exclude"] = sorted(set(policy["exclude"]))
    policy["waivers"] = [
        _waiver(waiver, (place, f"waivers[{number}]")) for number, waiver in enumerate(policy["waivers"])
    ]
    return {key: policy[key] for key in _SPEC}


def _check_recovery(policy: Mapping[str, Any], place: str) -> None:
    kind, command = policy["reboot_recovery"], policy["reboot_recovery_command"]
    if kind == "command" and not any("{node}" in word for word in command):
        seen, fix = f"is {command!r}, which names no node", "give program and arguments as a list; {node} is its name"
        raise PolicyError(f"{place}: reboot_recovery_command", seen, "{node} in one of its arguments", fix)
    resets = policy["reboot_recovery_reset"]
    for wanted, key, given in (("command", "command", command), ("bmc", "reset", resets)):
        if given and kind != wanted:
            seen, fix = f"is {kind}, and there is a reboot_recovery_{key}", f"say {wanted}, or take the {key} out"
            raise PolicyError(f"{place}: reboot_recovery", seen, wanted, fix)
    if len(set(resets)) < len(resets):
        seen, fix = f"is {resets!r}", "name those that may be ordered, the one that is wanted most first"
        raise PolicyError(f"{place}: reboot_recovery_reset", seen, "each of them once", fix)


def _waiver(value: Any, place: tuple[str, str]) -> dict:
    waiver = check(_WAIVER, value, place, PolicyError)
    day, key = waiver["expires"], f"{place[0]}: {place[1]}"
    if waiver["rule"] not in WAIVABLE:
        raise PolicyError(
            f"{key}.rule",
            f"is {waiver['rule']!r}, which is no rule that can be waived",
            nearest(waiver["rule"], WAIVABLE),
            "name the rule as the report does (docs/reference/rules.md)",
        )
    if not _is_day(day):
        raise PolicyError(f"{key}.expires", f"is {day!r}", "a date such as 2027-01-31", "correct the date")
    for name in ("nodes", "owner", "reason"):
        texts = waiver[name] if isinstance(waiver[name], list) else [waiver[name]]
        if not texts or not all(text.strip() for text in texts):
            raise PolicyError(f"{key}.{name}", "is empty", "text", "say it, or take the waiver out")
    return waiver


def _is_day(text: str) -> bool:
    try:
        # Waivers are held against a day as text, so no other form of the same date may pass.
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
