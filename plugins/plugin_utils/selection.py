# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who may go: the nodes that are fit for a plan, the room each product leaves, and every reason to refuse."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import nearest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import first_reason
from ansible_collections.fleetops.instinct.plugins.plugin_utils.pool import Group, Member
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import least_in_service, natural, room

Record = Mapping[str, Any]
Topology = Mapping[str, Mapping[str, str | None]]
_SHOWN = 10


_FIT = ("may_move", "at_target")
_KEPT = ("class", "product", "gpu_count", "rocm", "driver", "target", "steps", "firmware", "bios", "rollback", "rack",
         "facts_digest")  # fmt: skip


class Kept:
    """Of each record what a plan is made of, with equal parts held once: a large fleet takes a tenth of the memory."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        # Findings only say why a node may not go, so those of the others are many and of no use here.
        keys = _KEPT if record["class"] in _FIT else (*_KEPT, "findings")
        return {key: self._once(record[key]) for key in keys if key in record}

    def _once(self, part: Any) -> Any:
        return self._parts.setdefault(repr(part), part) if isinstance(part, (dict, list)) else part


class PlanError(FleetError):
    """No plan can be made of this, or a file is not a plan."""


def refuse_gaps(records: Mapping[str, Record], nodes: list[str], policy: Mapping[str, Any]) -> None:
    """Refuse a fleet of which a node has no record, and a policy that excludes or puts first a node nobody knows."""
    absent = [node for node in nodes if node not in records]
    if absent:
        raise PlanError(few(absent), "no record of this run", "a record of every node", "run the audit of all of them")
    for name in policy["exclude"]:
        if name not in records:
            raise PlanError(
                f"policy: exclude {name}", "is not a node of this fleet", nearest(name, nodes), "correct it"
            )
    for pattern in policy["order"] if isinstance(policy.get("order"), list) else ():
        if not fnmatch.filter(nodes, pattern):
            raise PlanError(
                f"policy: order {pattern}", "fits no node of this fleet", nearest(pattern, nodes), "correct it"
            )


def excluded(
    records: Mapping[str, Record], nodes: list[str], policy: Mapping[str, Any], skipped: Mapping[str, str]
) -> dict[str, str]:
    """The nodes that stay out, with the reason; refused as a whole where the policy says so.

    :param skipped: the nodes that the inventory says to skip, with the reason.
    """
    by_name = {node: "taken out by the policy" for node in nodes if node in policy["exclude"]}
    by_name |= {node: why for node, why in skipped.items() if node not in by_name}
    unfit = {
        node: f"{records[node]['class']}: {first_reason(records[node])}"
        for node in nodes
        if node not in by_name and records[node]["class"] not in _FIT
    }
    if unfit and policy["unfit_nodes"] == "refuse":
        rows = [f"{node} is {why}" for node, why in unfit.items()]
        raise PlanError(
            f"{len(unfit)} of {len(nodes)} nodes",
            "; ".join(rows[:_SHOWN]) + _more(rows),
            "every node fit to move",
            "mend them, take them out by policy exclude, or set unfit_nodes: exclude",
        )
    both = {**by_name, **unfit}
    return {node: both[node] for node in nodes if node in both}


def refuse_no_way_back(records: Mapping[str, Record], fit: list[str], policy: Mapping[str, Any]) -> None:
    """Refuse nodes that could not be brought back to what they run now, unless the policy accepts that."""
    rows = [f"{node}: {_why_no_way_back(records[node])}" for node in fit if not records[node]["rollback"]["ready"]]
    if rows and policy["require_rollback"]:
        raise PlanError(
            f"{len(rows)} of {len(fit)} nodes",
            f"there would be no way back: {'; '.join(rows[:_SHOWN])}{_more(rows)}",
            "what is installed now can be had again",
            "bring the old repository back to the node's package lists, or set require_rollback: false and accept it",
        )


def _why_no_way_back(record: Record) -> str:
    return ", ".join(record["rollback"]["why"][:2]) or "not ready"


def capacity(
    records: Mapping[str, Record], nodes: list[str], out_names: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, int]]:
    """Of each product, the nodes there are and those that are out of service before anything begins."""
    fleet = Counter(records[node]["product"] for node in nodes if records[node]["product"])
    out = Counter(records[node]["product"] for node in out_names if records[node]["product"])
    # A node nobody could ask may be of any product, so it counts as one that is out, for each of them.
    strangers = sum(_may_be_any(records[node]) for node in nodes)
    return (
        {name: fleet[name] + strangers for name in sorted(fleet)},
        {name: out[name] + strangers for name in sorted(fleet)},
    )


def _may_be_any(record: Record) -> bool:
    return not record["product"] and record.get("gpu_count") != 0


def rooms(
    products: set[str],
    fleet: Mapping[str, int],
    out: Mapping[str, int],
    policy: Mapping[str, Any],
    left_out: tuple[Mapping[str, Record], Mapping[str, str]],
) -> dict[str, int]:
    """Of each product to be moved, how many nodes may be out at once; refused where that is none."""
    percent = policy["capacity_floor_percent"]
    frees = {name: room(fleet[name], out[name], percent) for name in sorted(products)}
    for name, free in frees.items():
        if free < 1:
            gone = [node for node in left_out[1] if left_out[0][node]["product"] == name]
            gone += [f"{node} of unknown product" for node in left_out[1] if _may_be_any(left_out[0][node])]
            counts = {"fleet": fleet[name], "out": out[name]}
            raise _no_room(f"product {name}", counts, gone, limits.floors(policy)[0])
    return frees


Groups = dict[str, dict[str, dict[str, Any]]]


def groups_of(
    topology: Topology, left_out: Mapping[str, str], at_target: list[str], policy: Mapping[str, Any]
) -> Groups:
    """Of each value of each host variable with a floor: the nodes there are, those out, and who stays at target.

    :raises PlanError: where a node of the fleet has no value.
    """
    found: Groups = {}
    for floor in limits.floors(policy)[1:]:
        _refuse_valueless(topology, floor.per, list(topology))
        values = {node: str(own[floor.per]) for node, own in topology.items()}
        fleet, out = Counter(values.values()), Counter(values[node] for node in left_out)
        rows: dict[str, dict[str, Any]] = {
            name: {"fleet": fleet[name], "out": out[name], "at_target": []} for name in sorted(fleet, key=natural)
        }
        for node in at_target:
            rows[values[node]]["at_target"].append(node)
        found[floor.per] = rows
    return found


def group_rooms(
    groups: Groups, topology: Topology, fit: list[str], left_out: Mapping[str, str], policy: Mapping[str, Any]
) -> dict[Group, int]:
    """Of each of these groups with nodes to be moved, how many may be out at once; refused where that is none."""
    frees: dict[Group, int] = {}
    for floor in limits.floors(policy)[1:]:
        for name in sorted({str(topology[node][floor.per]) for node in fit}, key=natural):
            counts = groups[floor.per][name]
            free = frees[floor.per, name] = room(counts["fleet"], counts["out"], floor.percent)
            if free < 1:
                gone = [node for node in left_out if topology[node][floor.per] == name]
                raise _no_room(f"{floor.per} {name}", counts, gone, floor)
    return frees


def _no_room(subject: str, counts: Mapping[str, Any], gone: list[str], floor: limits.Floor) -> PlanError:
    return PlanError(
        subject,
        f"{counts['fleet']} in the fleet, {counts['out']} out of service" + (f" ({few(gone)})" if gone else ""),
        f"{least_in_service(counts['fleet'], floor.percent)} in service at all times ({floor.said}) "
        "and at least one to take",
        f"mend the nodes that are out, or lower {floor.key}",
    )


def _refuse_valueless(topology: Topology, name: str, nodes: list[str]) -> None:
    lost = [node for node in nodes if not topology[node].get(name)]
    if lost:
        raise PlanError(
            few(lost), f"no {name} is known", f"the host variable {name} on every node", f"set {name} in the inventory"
        )


def members(
    records: Mapping[str, Record], fit: list[str], topology: Topology, policy: Mapping[str, Any], order: list[str]
) -> list[Member]:
    """The fit nodes with product, failure domains and what the floors count them in.

    :param order: the nodes as the inventory has them; means nothing unless the policy goes by it.
    :raises PlanError: where a domain is not known and the policy does not take such a node for a domain of its own.
    """
    kinds, floors = [kind.variable for kind in limits.kinds(policy)], [row.per for row in limits.floors(policy)[1:]]
    if policy.get("domainless_nodes", "refuse") == "refuse":
        for name in kinds:
            if name == limits.RACK:
                _refuse_rackless(topology, fit)
            _refuse_valueless(topology, name, fit)
    places = {node: place for place, node in enumerate(order)} if policy.get("order") == "inventory" else {}
    found = []
    for node in fit:
        product, own = records[node]["product"], topology[node]
        domains = tuple(own.get(name) or f"{node} alone" for name in kinds)
        groups = ((limits.PRODUCT, product), *((name, str(own[name])) for name in floors))
        found.append(Member(node, product, domains, groups, places.get(node, 0)))
    return found


def _refuse_rackless(topology: Topology, fit: list[str]) -> None:
    lost = [node for node in fit if not topology[node].get(limits.RACK)]
    if lost:
        raise PlanError(
            few(lost),
            "no rack is known",
            "the host variable fleet_rack on every node",
            "set fleet_rack in the inventory, or failure_domain: none in the policy",
        )


def few(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + _more(names)


def _more(rows: list[str]) -> str:
    return f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
