# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the inventory says of the nodes and a plan rests on: failure domains, partitions and the label to skip."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import nearest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import PolicyError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import few

BMC = ("fleet_bmc_address", "fleet_bmc_user", "fleet_bmc_password")
_SHOWN = 5
Values = dict[str, dict[str, str]]
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")


def read(
    policy: Mapping[str, Any],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Iterable[str],
    placed: Callable[[str], str] = "fleet_policy: {}".format,
) -> Values:
    """Of each node, the values of the variables that the policy asks for, as text; one without a value is left out.

    The rack is left out: the audit keeps it. Where the policy asks for nothing else no node's variables are looked at.

    :param placed: a key of the policy with its file and line, for a message.
    :raises PolicyError: for a variable that no node has, with the nearest that one has; for a value that is no name.
    """
    wanted, names = _wanted(policy), _names(policy)
    found = {node: _values(node, hostvars[node], names) for node in nodes} if names else {}
    for name, key in wanted.items():
        if found and not any(name in values for values in found.values()):
            known = {str(own) for node in found for own in hostvars[node] if _is_own(str(own))}
            raise PolicyError(
                placed(key), f"is {name!r}, and no node has this variable", nearest(name, known), "correct the name"
            )
    return found


def refuse_without_bmc(
    policy: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]], nodes: Iterable[str]
) -> None:
    """Refuse nodes that the policy wants to bring back through a BMC of which the inventory does not tell.

    It is told before anything is touched, since later it would be found out by a node that is silent already.

    :param nodes: those that are to be moved; where the policy wants no BMC their variables are not looked at.
    :raises PolicyError: naming the variables and the nodes.
    """
    if policy.get("reboot_recovery") != "bmc":
        return
    known = {node: hostvars[node] for node in nodes}
    missing = {name: [node for node, own in known.items() if name not in own] for name in BMC}
    gaps = [f"no {name}: {few(gap)}" for name, gap in missing.items() if gap]
    if gaps:
        raise PolicyError(
            "policy: reboot_recovery",
            f"is bmc, and there is {'; '.join(gaps)}",
            "the BMC of every node that is moved",
            "put it into the inventory, leave these nodes out (exclude), or choose another reboot_recovery",
        )


def refuse_moved(plan: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]], nodes: Iterable[str]) -> None:
    """Refuse a plan for nodes that stand elsewhere by now, or are to be skipped.

    :param nodes: nodes of the plan.
    :raises FleetError: naming each of the first, the variable, what it was and what it is.
    """
    names, moved = _names(plan["policy"]), []
    for node in nodes if names else ():
        was, now = plan["nodes"][node].get("variables", {}), _values(node, hostvars[node], names)
        moved += [
            f"{node} {name} was {was.get(name, 'not there')} and is {now.get(name, 'not there')}"
            for name in names
            if was.get(name) != now.get(name)
        ]
    if moved:
        more = f" and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else ""
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"changed in the inventory since it was made: {'; '.join(moved[:_SHOWN])}{more}",
            "the host variables that it was made from",
            "make a new plan and look at it; in this one the wrong nodes would be down together",
        )


def refuse_other_nodes(
    plan: Mapping[str, Any], hosts: Container[str], planned: Iterable[str], members: Iterable[str]
) -> None:
    """Refuse a plan where the inventory has lost a node that is still to be moved, or the fleet has one more.

    :param hosts: every host of the inventory, also those that a limit leaves out.
    :param planned: the nodes of the plan that no run has touched yet.
    :param members: the nodes of this run.
    :raises FleetError: naming the nodes and the ways out.
    """
    known = {*plan["nodes"], *plan["at_target"], *(row["node"] for row in plan["excluded"])}
    gone, new = [node for node in planned if node not in hosts], [node for node in members if node not in known]
    seen = [f"not in the inventory any more: {few(gone)}"] if gone else []
    seen += [f"new in the fleet: {few(new)}"] if new else []
    if seen:
        leave_out = f", or leave them out: --limit '{':'.join(['all', *(f'!{node}' for node in new)])}'"
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"the inventory has changed since it was made; {'; '.join(seen)}",
            "the nodes that it was made for",
            "make a new plan and look at it" + (leave_out if new and not gone else ""),
        )


def _wanted(policy: Mapping[str, Any]) -> dict[str, str]:
    return {name: key for name, key in limits.variables(policy).items() if name != limits.RACK}


def _names(policy: Mapping[str, Any]) -> list[str]:
    return [*_wanted(policy), *([policy["skip"]] if policy.get("skip") else [])]


def _is_own(name: str) -> bool:
    # What Ansible itself gives every host is no domain.
    return not name.startswith(("ansible_", "group", "inventory_", "hostvars", "omit", "play", "_"))


def _values(node: str, variables: Mapping[str, Any], names: list[str]) -> dict[str, str]:
    given = {name: variables.get(name) for name in names}
    for name, value in given.items():
        if value is not None and not isinstance(value, (str, int)):
            seen = f"is the {type(value).__name__} {value!r:.60}"
            raise PolicyError(f"{node}: {name}", seen, "text or a number", "say one value in the inventory")
    return {name: str(value).strip() for name, value in given.items() if value is not None and str(value).strip()}


def to_skip(policy: Mapping[str, Any], variables: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The nodes with the skip label, each with the reason; a label that is neither a yes nor a no is the reason."""
    name = policy.get("skip")
    if not name:
        return {}
    labels = {node: values.get(name, "") for node, values in variables.items()}
    return {
        node: f"skipped by {name}" + ("" if label.lower() in _YES else f": {label}")
        for node, label in labels.items()
        if label.lower() not in _NO
    }
