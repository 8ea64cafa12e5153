# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout on the terminal: is it clean, where is each node, and what to do about those that are lost."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import bullets, paint, section, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    NO_REASON,
    WIDTH,
    by_node,
    clean,
    duration,
    journey,
    next_step,
    plural,
    tone,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import FINISHED_OK, LOST

HEAD = ("node", "wave", "rack", "state", "from -> to", "since (UTC)", "why")
Nodes = Mapping[str, Mapping[str, Any]]


def rollout_report(
    plan: Mapping[str, Any], nodes: Nodes, outcome: Mapping[str, Any], colour: bool = False, width: int = WIDTH,
    progress: Mapping[str, Any] | None = None,
) -> str:
    """The rollout as text: verdict, waves, nodes, and what to do about each that did not come to a good end.

    :param nodes: ``Ledger.nodes()``. :param outcome: ``gate.outcome(plan, nodes)``.
    :param progress: ``eta.progress``; told while there is something left to do.
    """
    rows = rollout_rows(plan, nodes)
    body = [[r["node"], r["wave"], r["rack"], r["state"], journey(r), r["since"], r["reason"]] for r in rows]
    text = f"{paint(textwrap.fill(verdict(plan, outcome), width), verdict_tone(outcome), colour)}\n"
    if progress and outcome["unfinished"]:
        text += f"{textwrap.fill(progress_line(progress), width)}\n"
    text += section("Waves", table(("wave", "kind", "domain", "nodes", "in service", "restored", "lost", "other"),
                                   [list(w.values()) for w in wave_rows(plan, nodes)], width, colour), colour)
    text += section("Nodes", table(HEAD, body, width, colour, [tone(r["state"]) for r in rows], toned=3), colour)
    troubles = [(f"{r['node']} ({r['state']})", _trouble(r)) for r in (*outcome["lost"], *outcome["unfinished"])
                if r["state"] != "planned"]
    return text + section("What to do", bullets(troubles, width), colour)


def verdict(plan: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    """One sentence: is the rollout clean?"""
    name = f"Rollout {clean(plan['plan_id'])} to {clean(plan.get('target_name'))}"
    counts, total = outcome["counts"], len(plan["nodes"])
    if not total:
        return f"{name}: nothing to do."
    told = ", ".join(f"{number} {state.replace('_', ' ')}" for state, number in counts.items())
    if outcome["clean"]:
        word = "ROLLED BACK" if counts.get("restored") else "CLEAN"
        return f"{name}: {word}. {plural(total, 'node')}: {told}."
    missing = [f"{len(outcome[key])} {key}" for key in ("lost", "unfinished") if outcome[key]]
    word = "NOT CLEAN" if outcome["lost"] else "NOT FINISHED"
    return f"{name}: {word}, {', '.join(missing)}. {plural(total, 'node')}: {told}."


def progress_line(told: Mapping[str, Any]) -> str:
    """How far a rollout has come, in one sentence. It tells the work left, not when it ends: it may stand still."""
    factor = told["factor"]
    by = "by the plan's estimate" if factor is None else f"as the waves so far took {factor:.1f} times the estimate"
    return (f"Progress: {told['in_service']} of {plural(told['nodes'], 'node')} in service, {told['waves_done']} of "
            f"{plural(told['waves'], 'wave')} done, begun {duration(told['begun_seconds'])} ago; about "
            f"{duration(told['left_seconds'])} of work left, {by}.")


def verdict_tone(outcome: Mapping[str, Any]) -> str:
    """good, warn (only unfinished) or bad (lost)."""
    return "good" if outcome["clean"] else "bad" if outcome["lost"] else "warn"


def rollout_rows(plan: Mapping[str, Any], nodes: Nodes) -> list[dict[str, Any]]:
    """One row per planned node in natural order: plan and ledger joined; a node without a record is "unknown"."""
    rows = []
    for node, planned in by_node(plan["nodes"]).items():
        told = nodes.get(node, {"state": "unknown", "reason": "the ledger has no record of it"})
        rows.append({
            "node": node, "wave": planned.get("wave"), "rack": planned.get("rack") or "-",
            "product": planned.get("product"), "state": told["state"], "from": planned.get("from"),
            "to": planned.get("to"), "since": (told.get("updated_at") or "-")[:19].replace("T", " "),
            "reason": told.get("reason") or "",
        })
    return rows


def wave_rows(plan: Mapping[str, Any], nodes: Nodes) -> list[dict[str, Any]]:
    """One row per wave: number, kind, domain, how many nodes; how many are in service, restored, lost, other."""
    rows = []
    for wave in plan["waves"]:
        states = [nodes.get(node, {}).get("state", "unknown") for node in wave["nodes"]]
        good = sum(state in FINISHED_OK for state in states)
        back = states.count("restored")
        lost = sum(state in LOST or state == "unknown" for state in states) - back
        rows.append({"number": wave["number"], "kind": wave.get("kind", ""), "domain": wave.get("domain") or "-",
                     "size": len(states), "in_service": good, "restored": back,
                     "lost": lost, "other": len(states) - good - back - lost})
    return rows


def _trouble(row: Mapping[str, Any]) -> str:
    fix = next_step(row["state"])
    return clean(row.get("why") or NO_REASON) + (f" -- what to do: {fix}" if fix else "")
