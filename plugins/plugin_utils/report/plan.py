# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan on the terminal: who goes when, from what to what, and whether there is a way back."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.policy import (
    estimate_sentence,
    rule_rows,
    waves_sentence,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import bullets, section, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    NO_REASON,
    WIDTH,
    by_node,
    clean,
    duration,
    flash,
    flashed_back,
    journey,
    name_list,
    plural,
)

Plan = Mapping[str, Any]
_SHOWN = 3  # of the domains of a kind in one wave


def plan_report(plan: Plan, colour: bool = False, width: int = WIDTH, now: datetime | None = None) -> str:
    """The plan as text: waves, what changes, the way back, who is left out, how long it takes and by which rules.

    :param plan: docs/contracts.md section 5.
    :param now: this moment, for the windows of the policy; where it is None nothing is said of what is open.
    """
    text = f"{textwrap.fill(_headline(plan), width)}\n"
    head, waves = _waves(plan)
    told = table(head, waves, width, colour)
    count = waves_sentence(plan)
    text += section("Waves", f"{told}\n{textwrap.fill(count, width)}" if told and count else told, colour)
    head = ["product", "from -> to", "steps", "nodes", "who"]
    text += section("What changes", table(head, _changes(plan), width, colour), colour)
    text += section("Firmware through the BMC", bullets(_firmware(plan), width), colour)
    text += section("BIOS settings", bullets(_bios(plan), width), colour)
    text += section("No way back", bullets(_no_way_back(plan), width), colour)
    text += section("Point of no return", bullets(_no_return(plan), width), colour)
    left_out = by_node(plan.get("excluded"))
    rows = [[why, len(nodes), name_list(nodes)] for why, nodes in _together(left_out).items()]
    text += section(f"Left out ({len(left_out)})", table(("why", "nodes", "who"), rows, width, colour), colour)
    text += section("Fleet", bullets(_fleet(plan), width), colour)
    text += section("Estimate", textwrap.fill(estimate_sentence(plan), width), colour)
    return text + section("Rules", bullets(rule_rows(plan.get("policy", {}), now), width), colour)


def _waves(plan: Plan) -> tuple[list[str], list[list[Any]]]:
    """The waves with a column for each kind of failure domain."""
    kinds = list(plan["waves"][0]["domains"]) if plan["waves"] and "domains" in plan["waves"][0] else []
    rows = []
    for wave in plan["waves"]:
        own = [name_list(wave["domains"][kind], _SHOWN) for kind in kinds] or [wave.get("domain") or "-"]
        names = name_list(wave["nodes"], len(wave["nodes"]))
        rows.append([wave["number"], wave.get("kind", ""), *own, len(wave["nodes"]), names])
    return ["wave", "kind", *(kinds or ["domain"]), "nodes", "who"], rows


def _together(left_out: Mapping[str, Any]) -> dict[str, list[str]]:
    """The nodes that are left out by the reason: of a large fleet many have the same."""
    found: dict[str, list[str]] = {}
    for node, row in left_out.items():
        found.setdefault(clean(row.get("why") or NO_REASON), []).append(node)
    return found


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
    groups: dict[str, list[str]] = {}
    for node, row in by_node(plan["nodes"]).items():
        if row.get("point_of_no_return"):
            kept = [f"{clean(one['component'])} {clean(one['from'])}: {flashed_back(one)}"
                    for one in row.get("firmware", ())]  # fmt: skip
            stays = f": no snapshot takes firmware back ({'; '.join(kept)})" if kept else ""
            groups.setdefault(f"after {clean(row['point_of_no_return'])}{stays}", []).append(node)
    return [(name_list(nodes), why) for why, nodes in groups.items()]


def _firmware(plan: Plan) -> list[tuple[str, str]]:
    """What is flashed, nodes with the same in one row."""
    groups: dict[str, list[str]] = {}
    for node, row in by_node(plan["nodes"]).items():
        for one in row.get("firmware", ()):
            groups.setdefault(flash(one), []).append(node)
    return [(name_list(nodes), what) for what, nodes in groups.items()]


def _bios(plan: Plan) -> list[tuple[str, str]]:
    """What is set, nodes with the same in one row."""
    groups: dict[str, list[str]] = {}
    for node, row in by_node(plan["nodes"]).items():
        for one in row.get("bios", ()):
            what = f"{clean(one['attribute'])} {clean(one['from'])} -> {clean(one['to'])}"
            groups.setdefault(what, []).append(node)
    return [(name_list(nodes), what) for what, nodes in groups.items()]


def _fleet(plan: Plan) -> list[tuple[str, str]]:
    out = plan.get("out", {})
    return [(product, f"{plural(number, 'node')}, {out.get(product, 0)} out of service before it begins")
            for product, number in plan.get("fleet", {}).items()]
