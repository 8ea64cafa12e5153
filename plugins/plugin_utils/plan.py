# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan: who goes when, by which steps, with which way back; and whether what it rests on is still so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import eta, host_variables, limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import digest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import (
    PlanError,
    Record,
    capacity,
    excluded,
    few,
    group_rooms,
    groups_of,
    members,
    refuse_gaps,
    refuse_no_way_back,
    rooms,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import TargetError, load_target
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import natural, schedule

_SHAPE: dict[str, type | tuple[type, ...]] = {
    "schema": int,
    "plan_id": str,
    "created_at": str,
    "target_name": str,
    "attempt": int,
    "inputs": dict,
    "target": dict,
    "policy": dict,
    "fleet": dict,
    "out": dict,
    "nodes": dict,
    "waves": list,
    "at_target": list,
    "excluded": list,
    "eta_seconds": int,
}


class PlanInputChanged(FleetError):
    """Something the plan rests on is not what it was."""


def make_plan(
    records: Mapping[str, Record],
    topology: Mapping[str, str | None],
    target: Mapping[str, Any],
    policy: Mapping[str, Any],
    catalog: Catalog,
    created_at: str,
    inventory_order: Iterable[str],
    attempt: int = 1,
    overlay: str | None = None,
    variables: Mapping[str, Mapping[str, str]] | None = None,
    measured: eta.Measured | None = None,
) -> dict[str, Any]:
    """A plan (docs/contracts.md section 5); the same inputs in any order give the same bytes.

    :param topology: the rack of each node.
    :param target: a Target; a plain map works as well and has no path.
    :param inventory_order: every node of the fleet; its order means nothing but to ``order: inventory``.
    :param attempt: which try this is; another number is another plan.
    :param overlay: what the catalog was loaded with, for whoever follows the plan.
    :param variables: of each node, the other host variables that the policy asks for (:func:`host_variables.read`).
    :param measured: what the steps took in earlier rollouts, for the estimate.
    :raises PlanError: where a node has no record or no failure domain, is unfit or has no way back and the policy
        refuses that, or where a capacity floor leaves no room.
    """
    order, variables = list(dict.fromkeys(inventory_order)), variables or {}
    nodes = sorted(order, key=natural)
    refuse_gaps(records, nodes, policy)
    left_out = excluded(records, nodes, policy, host_variables.to_skip(policy, variables))
    fit = [node for node in nodes if node not in left_out and records[node]["class"] == "may_move"]
    refuse_no_way_back(records, fit, policy)
    fleet, out = capacity(records, nodes, left_out)
    per_product = rooms({records[node]["product"] for node in fit}, fleet, out, policy, (records, left_out))
    known = {node: {limits.RACK: topology.get(node), **variables.get(node, {})} for node in nodes}
    at_target = [node for node in nodes if node not in left_out and records[node]["class"] == "at_target"]
    groups = groups_of(known, left_out, at_target, policy)
    free = {(limits.PRODUCT, name): number for name, number in per_product.items()}
    free |= group_rooms(groups, known, fit, left_out, policy)
    waves = schedule(members(records, fit, known, policy, order), free, policy)
    typical = {row["step"]: row["seconds"] for row in catalog.settings["typical_seconds"]}
    estimate = eta.estimate(records, waves, typical, policy["soak_seconds"], measured)
    body = {
        "schema": 1,
        "created_at": created_at,
        "target_name": target["name"],
        "attempt": attempt,
        "inputs": _inputs(records, fit, target, policy, catalog, overlay),
        "target": {key: target[key] for key in target},
        "policy": dict(policy),
        "fleet": fleet,
        "out": out,
        "nodes": _node_rows(records, fit, topology, variables, waves),
        "waves": waves,
        "at_target": at_target,
        "excluded": [{"node": node, "why": why} for node, why in left_out.items()],
        "eta_seconds": estimate["seconds"],
        "eta": estimate,
    }
    body |= {"groups": groups} if groups else {}
    return {**body, "plan_id": plan_id(body)}


def plan_id(plan: Mapping[str, Any]) -> str:
    """12 hex digits over everything but the id itself, the time it was made, the estimate and paths."""
    placed = {name: {"digest": plan["inputs"][name]["digest"]} for name in ("target", "catalog")}
    inputs = {**plan["inputs"], **placed}
    left_out = ("plan_id", "created_at", "eta_seconds", "eta", "inputs")
    body = {key: value for key, value in plan.items() if key not in left_out}
    return digest({**body, "inputs": inputs}).removeprefix("sha256:")[:12]


def _inputs(
    records: Mapping[str, Record],
    fit: list[str],
    target: Mapping[str, Any],
    policy: Mapping[str, Any],
    catalog: Catalog,
    overlay: str | None,
) -> dict[str, Any]:
    path = getattr(target, "path", "")
    return {
        "target": {
            "path": os.path.abspath(path) if path else "",
            "digest": digest({key: target[key] for key in target}),
        },
        "catalog": {"path": os.path.abspath(overlay) if overlay else "", "digest": catalog.digest},
        "policy": {"digest": digest(policy)},
        "facts": {node: records[node]["facts_digest"] for node in fit},
    }


def catalog_of(plan: Mapping[str, Any], overlay: str | None = None) -> Catalog:
    """The catalog that a plan rests on, with the overlay that it was made with.

    :param overlay: where that overlay is now, if it was moved.
    :raises CatalogError: where the overlay cannot be read.
    """
    return load_catalog(overlay or plan["inputs"]["catalog"].get("path") or None)


def _node_rows(
    records: Mapping[str, Record],
    fit: list[str],
    topology: Mapping[str, str | None],
    variables: Mapping[str, Mapping[str, str]],
    waves: list[dict[str, Any]],
) -> dict[str, Any]:
    wave_of = {node: wave["number"] for wave in waves for node in wave["nodes"]}
    rows = {node: _node_row(records[node], topology.get(node), wave_of[node]) for node in fit}
    for node in fit:
        if node in variables:
            rows[node]["variables"] = dict(sorted(variables[node].items()))
    return rows


def _node_row(record: Record, rack: str | None, wave: int) -> dict[str, Any]:
    steps = record["steps"]
    one_way = ["firmware"] if "firmware" in steps else []
    one_way += ["rocm"] if not record["rollback"]["ready"] and "rocm" in steps else []
    row = {
        "product": record["product"],
        "rack": rack,
        "wave": wave,
        "steps": steps,
        "reboot": "reboot" in steps,
        "from": {"rocm": record["rocm"], "driver": record["driver"]},
        "to": record["target"],
        "rollback": record["rollback"],
        "point_of_no_return": one_way[0] if one_way else None,
    }
    return row | {key: record[key] for key in ("firmware", "bios") if record.get(key)}


def current_inputs(plan: Mapping[str, Any], catalog: Catalog, records: Mapping[str, Record]) -> dict[str, Any]:
    """What the plan rests on, as it is now: digests of target, catalog, policy and of each node's facts.

    :param records: fresh ones, of the nodes that were not touched yet; others of the plan are not compared.
    """
    path = plan["inputs"]["target"]["path"]
    try:
        target = load_target(path, catalog).digest if path else plan["inputs"]["target"]["digest"]
    except TargetError as problem:
        target = f"nothing usable ({problem.seen})"
    facts = {node: records[node]["facts_digest"] for node in plan["nodes"] if node in records}
    return {"target": target, "catalog": catalog.digest, "policy": digest(plan["policy"]), "facts": facts}


def check_plan_inputs(plan: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Refuse a plan one of whose inputs changed.

    :param current: see :func:`current_inputs`.
    :raises PlanInputChanged: naming every input that changed.
    """
    inputs = plan["inputs"]
    changed = [
        f"the {name}{' ' + inputs[name]['path'] if inputs[name].get('path') else ''}"
        for name in ("target", "catalog", "policy")
        if current[name] != inputs[name]["digest"]
    ]
    moved = [node for node, seen in current["facts"].items() if seen is None or seen != inputs["facts"].get(node)]
    changed += [f"the facts of {few(sorted(moved, key=natural))}"] if moved else []
    if changed:
        raise PlanInputChanged(
            f"plan {plan['plan_id']}",
            f"changed since it was made: {', '.join(changed)}",
            "the inputs it was made from",
            "make a new plan and look at it; this one describes a fleet that is no more",
        )


def refuse_changed(plan: Mapping[str, Any], catalog: Catalog, records: Mapping[str, Record]) -> None:
    """:func:`check_plan_inputs` with :func:`current_inputs`."""
    check_plan_inputs(plan, current_inputs(plan, catalog, records))


def load_plan(path: str) -> dict[str, Any]:
    """The plan in a file.

    :raises PlanError: where it is missing, not a plan, or not as it was written.
    """
    try:
        with open(path, "rb") as stream:
            plan = json.loads(stream.read())
    except (OSError, ValueError) as problem:
        seen = f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
        raise PlanError(path, seen, "a plan as the plan playbook writes it", "make the plan again") from problem
    _check_shape(plan, path)
    if plan_id(plan) != plan["plan_id"]:
        raise PlanError(
            path,
            f"was edited by hand: its content makes {plan_id(plan)}, it says {plan['plan_id']}",
            "the plan as made",
            "change the target, the policy or the fleet, and make a new plan",
        )
    return plan


def _check_shape(plan: Any, path: str) -> None:
    if not isinstance(plan, dict) or plan.get("schema") != 1:
        raise PlanError(
            path, "is not a plan with schema 1", "a plan as the plan playbook writes it", "make the plan again"
        )
    wrong = [key for key, kind in _SHAPE.items() if not isinstance(plan.get(key), kind)]
    # The estimate is no part of what the id proves.
    wrong += [] if eta.is_whole(plan.get("eta")) else ["eta"]
    wrong += ["eta_seconds"] if "eta_seconds" not in wrong and plan["eta_seconds"] < 0 else []
    digests = plan["inputs"] if "inputs" not in wrong else {}
    wrong += [
        f"inputs.{key}"
        for key in ("target", "catalog", "policy")
        if not isinstance((digests.get(key) or {}), dict) or "digest" not in (digests.get(key) or {})
    ]
    if wrong:
        raise PlanError(path, f"is damaged at {', '.join(wrong)}", "a whole plan", "make the plan again")
