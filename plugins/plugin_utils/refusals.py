# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a rollout may not be opened, though its plan is what it was: what its nodes show now."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import first_reason
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import few
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import least_in_service, room

FIT = ("at_target", "may_move")


def refuse_unreachable(plan: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to begin while a node that the plan still has to move does not answer.

    :raises FleetError: naming the nodes and the ways out.
    """
    gone = [node for node, record in records.items() if not record["reachable"]]
    if gone:
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"these nodes do not answer: {', '.join(gone)}",
            "every node that is still to be moved answers",
            f"bring them back, or leave them out: --limit '{':'.join(['all', *(f'!{node}' for node in gone)])}'",
        )


def refuse_controller(plan: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to begin while the machine that this runs on is among the nodes: it would reboot itself half way.

    :raises FleetError: naming the node and the ways out.
    """
    own = [node for node, record in records.items() if record.get("is_controller")]
    if own:
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"{', '.join(own)} is the machine that this runs on, by its boot id",
            "nodes other than the controller",
            f"run it from a machine that is not in the plan, or leave this one out: --limit 'all:!{':!'.join(own)}'",
        )


def refuse_other_racks(plan: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a plan that goes by racks for nodes that stand in another one by now.

    :param records: fresh ones, of nodes of the plan: the audit keeps the rack.
    :raises FleetError: naming the first nodes, where they stood and where they stand.
    """
    if limits.RACK not in limits.variables(plan["policy"]):
        return
    both = {node: (plan["nodes"][node]["rack"], record.get("rack")) for node, record in records.items()}
    moved = [
        f"{node} was in {was or 'no rack'} and is in {now or 'none'}"
        for node, (was, now) in both.items()
        if was != now
    ]
    if moved:
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"changed in the inventory since it was made: {few(moved)}",
            "the racks that it was made from",
            "make a new plan and look at it; in this one the wrong nodes would be down together",
        )


def refuse_sick(plan: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to go on while a node that this rollout put into service is not at the target any more, or is not healthy.

    :param records: fresh ones, of the nodes in service alone.
    :raises FleetError: naming the nodes, what is wrong with the first, and the ways out.
    """
    sick = [node for node, record in records.items() if record["class"] != "at_target"]
    if sick:
        named = ", ".join(f"{node} {records[node]['class']}" for node in sick)
        raise FleetError(
            f"plan {plan['plan_id']}",
            f"put into service and not as it was then: {named} ({first_reason(records[sick[0]])})",
            "every node that this rollout put into service at the target and healthy",
            f"see why; send them back (rollback --limit {','.join(sick)}), or leave them out: "
            f"--limit '{':'.join(['all', *(f'!{node}' for node in sick)])}'",
        )


def refuse_below_floor(
    plan: Mapping[str, Any], waves: Iterable[Iterable[str]], records: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse waves for which the capacity floor has no room any more, since other nodes fell out after planning.

    :param records: fresh ones, of the nodes that the plan counts on and does not move.
    :raises FleetError: naming the nodes that are out.
    """
    out = {node: record["product"] for node, record in records.items() if record["class"] not in FIT}
    floors = limits.floors(plan["policy"])
    for wave, floor in itertools.product(waves, floors) if out else ():
        for name, taken, fleet, gone, before in _short_of(plan, list(wave), floor, out):
            if gone and taken > room(fleet, before + len(gone), floor.percent):
                raise FleetError(
                    f"plan {plan['plan_id']}",
                    f"out of service since it was made: {', '.join(gone)}; with a wave of {taken} that is more of "
                    f"{fleet} {name} than the floor allows",
                    f"at least {least_in_service(fleet, floor.percent)} in service ({floor.said})",
                    "bring them back, or make a new plan",
                )


def _short_of(
    plan: Mapping[str, Any], wave: list[str], floor: limits.Floor, out: Mapping[str, str | None]
) -> Iterator[tuple[str, int, int, list[str], int]]:
    """Of each group that a floor counts: its name, how many the wave takes, how many there are, who fell out, and how
    many were out when the plan was made."""
    rows = [plan["nodes"][node] for node in wave]
    if floor.per == limits.PRODUCT:
        for name, taken in Counter(row["product"] for row in rows).items():
            gone = [node for node, own in out.items() if own in (name, None)]
            yield name, taken, plan["fleet"][name], gone, plan["out"][name]
        return
    for name, taken in Counter(str(limits.value(row, floor.per)) for row in rows).items():
        group = plan["groups"][floor.per][name]
        gone = [node for node in group["at_target"] if node in out]
        yield f"{floor.per} {name}", taken, group["fleet"], gone, group["out"]


def refuse_strangers(plan: Mapping[str, Any], members: Sequence[str]) -> None:
    """Refuse a rollback of nodes none of which is part of the rollout.

    :raises FleetError: naming the nodes.
    """
    strangers = [node for node in members if node not in plan["nodes"]]
    if len(strangers) == len(members):
        raise FleetError(
            f"rollout {plan['plan_id']}",
            f"none of these nodes is part of it: {', '.join(strangers)}",
            "nodes of the rollout",
            "look at the status playbook, or name another rollout with -e rollout=PLAN_ID",
        )
