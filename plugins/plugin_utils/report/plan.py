# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan on the terminal: who goes when, from what to what, and whether there is a way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import bullets, section, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    WIDTH,
    by_node,
    clean,
    duration,
    journey,
    name_list,
    plural,
)

Plan = Mapping[str, Any]


def plan_report(plan: Plan, colour: bool = False, width: int = WIDTH) -> str:
    """The plan as text: waves, what changes, the way back, who is left out.

    :param plan: docs/contracts.md section 5.
    """
    waves = [[row["number"], row.get("kind", ""), row.get("domain") or "-", len(row["nodes"]),
              name_list(row["nodes"], len(row["nodes"]))] for row in plan["waves"]]
    text = _headline(plan) + "\n"
    text += section("Waves", table(("wave", "kind", "domain", "nodes", "who"), waves, width, colour), colour)
    head = ("product", "from -> to", "steps", "nodes", "who")
    text += section("What changes", table(head, _changes(plan), width, colour), colour)
    text += section("No way back", bullets(_no_way_back(plan), width), colour)
    text += section("Point of no return", bullets(_no_return(plan), width), colour)
    left_out = [(node, row.get("why") or "no reason given") for node, row in by_node(plan.get("excluded")).items()]
    text += section(f"Left out ({len(left_out)})", bullets(left_out, width), colour)
    text += section("Fleet", bullets(_fleet(plan), width), colour)
    return text + section("Rules", bullets(_rules(plan.get("policy", {})), width), colour)


def _headline(plan: Plan) -> str:
    name = f"Plan {clean(plan['plan_id'])} to {clean(plan.get('target_name'))}"
    done = plan.get("at_target", ())
    already = f" {plural(len(done), 'node')} at target already." if done else ""
    if not plan["nodes"]:
        return f"{name}: nothing to do.{already}"
    return (f"{name}: {plural(len(plan['nodes']), 'node')} in {plural(len(plan['waves']), 'wave')}, "
            f"about {duration(plan.get('eta_seconds'))}.{already}")


def _changes(plan: Plan) -> list[list[Any]]:
    """Nodes that go the same way in one row."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node, row in by_node(plan["nodes"]).items():
        key = (clean(row.get("product")), journey(row), ", ".join(row.get("steps", ())))
        groups.setdefault(key, []).append(node)
    return [[*key, len(nodes), name_list(nodes)] for key, nodes in groups.items()]


def _no_way_back(plan: Plan) -> list[tuple[str, str]]:
    groups: dict[str, list[str]] = {}
    for node, row in by_node(plan["nodes"]).items():
        rollback = row.get("rollback") or {}
        if not rollback.get("ready"):
            why = "; ".join(rollback.get("why") or ()) or "it is not known whether there is one"
            groups.setdefault(why, []).append(node)
    return [(name_list(nodes), why) for why, nodes in groups.items()]


def _no_return(plan: Plan) -> list[tuple[str, str]]:
    rows = by_node(plan["nodes"]).items()
    return [(node, f"after {clean(row['point_of_no_return'])}") for node, row in rows if row.get("point_of_no_return")]


def _fleet(plan: Plan) -> list[tuple[str, str]]:
    out = plan.get("out", {})
    return [(product, f"{plural(number, 'node')}, {out.get(product, 0)} out of service before it begins")
            for product, number in plan.get("fleet", {}).items()]


def _rules(policy: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = (("failure_budget", "nodes may be lost over the whole rollout, before the next wave is refused"),
             ("capacity_floor_percent", "percent of each product stay in service"),
             ("soak_seconds", "for so long health must hold before a node is given back"))
    return [(f"{key} {policy[key]}", text) for key, text in words if key in policy]
