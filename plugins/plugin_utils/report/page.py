# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout for the browser (one file, no script, nothing loaded from anywhere) and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Template

from ansible_collections.fleetops.instinct.plugins.plugin_utils.limits import RACK
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import timeline
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.policy import (
    estimate_sentence,
    rule_rows,
    waves_sentence,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.rollout import (
    rollout_rows,
    verdict,
    verdict_tone,
    wave_rows,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.templates import environment
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    NO_REASON,
    by_node,
    clean,
    duration,
    finding_text,
    journey,
    next_step,
    releases,
    tone,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import STATES, WORK

Rows = Mapping[str, Any] | Iterable[Mapping[str, Any]] | None
PHASES = tuple(s.name for s in STATES if s.name in WORK)


def html(
    plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], events: Sequence[Mapping[str, Any]], records: Rows,
    outcome: Mapping[str, Any],
) -> str:
    """The whole rollout as one HTML page; every value is escaped.

    :param nodes: ``Ledger.nodes()``. :param events: ``Ledger.events()``. :param records: the last audit, or None.
    :param outcome: ``gate.outcome(plan, nodes)``.
    """
    stories, audited = timeline.by_nodes(events), by_node(records)
    lost = {row["node"] for row in outcome["lost"]}
    rows = [{**_row(row, stories.get(row["node"], []), audited.get(row["node"])), "lost": row["node"] in lost}
            for row in rollout_rows(plan, nodes)]
    shown = [name for name in PHASES if any(name in row["phases"] for row in rows)]
    return _template().render(
        plan=plan, verdict=verdict(plan, outcome), verdict_tone=verdict_tone(outcome), rows=rows, shown=shown,
        waves=_waves(plan, nodes), cards=_cards(plan, outcome, events), excluded=plan.get("excluded", ()),
        troubles=_troubles(outcome, stories), general=timeline.story_rows(stories.get("", [])),
        rules=rule_rows(plan.get("policy", {})), counted=waves_sentence(plan), estimate=estimate_sentence(plan),
    )


def as_json(
    plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], events: Sequence[Mapping[str, Any]],
    outcome: Mapping[str, Any],
) -> dict[str, Any]:
    """The rollout as plain data, ``schema: 1``: verdict, outcome, waves, and each node with its seconds per state."""
    stories = timeline.by_nodes(events)
    rows = {}
    for row in rollout_rows(plan, nodes):
        told = stories.get(row["node"], [])
        rows[row.pop("node")] = {
            **row, "phases": timeline.phases(told), "seconds": timeline.total(told),
            "first_event_at": told[0]["at"] if told else None, "last_event_at": told[-1]["at"] if told else None,
        }
    return {"schema": 1, "plan_id": plan["plan_id"], "target_name": plan.get("target_name"),
            "verdict": verdict(plan, outcome), "clean": outcome["clean"], "outcome": dict(outcome),
            "waves": wave_rows(plan, nodes), "nodes": rows, "excluded": list(plan.get("excluded", ())),
            "at_target": list(plan.get("at_target", ())), "events": len(events),
            "refusals": timeline.refusals(events)}


@lru_cache(maxsize=1)
def _template() -> Template:
    env = environment()
    env.filters.update(duration=duration, clean=clean, tone=tone, state=lambda name: str(name).replace("_", " "))
    return env.get_template("page.html.j2")


def _row(row: dict[str, Any], told: list[Mapping[str, Any]], record: Mapping[str, Any] | None) -> dict[str, Any]:
    findings = (record or {}).get("findings", ())
    return {
        **row, "tone": tone(row["state"]), "journey": journey(row, "\N{RIGHTWARDS ARROW}"),
        "phases": timeline.phases(told), "total": timeline.total(told), "story": timeline.story_rows(told),
        "running": releases(record) if record else "",
        "findings": [{**f, "seen": finding_text(f), "tone": tone(f["verdict"])} for f in findings],
    }


def _waves(plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The waves with a chip per node, grouped by rack."""
    rows = wave_rows(plan, nodes)
    for row, wave in zip(rows, plan["waves"], strict=True):
        racks: dict[str, list[dict[str, str]]] = {}
        for node in wave["nodes"]:
            state = nodes.get(node, {}).get("state", "unknown")
            rack = plan["nodes"].get(node, {}).get("rack") or "no rack"
            racks.setdefault(rack, []).append({"node": node, "state": state, "tone": tone(state)})
        row["racks"] = racks
        domains = (wave.get("domains") or {}).items()
        row["stands"] = "; ".join(f"{kind} {', '.join(names)}" for kind, names in domains if kind != RACK)
    return rows


def _cards(
    plan: Mapping[str, Any], outcome: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str, str]]:
    counts = outcome["counts"]
    good = counts.get("in_service", 0)
    return [
        (f"{good} / {len(plan['nodes'])}", "in service", "good" if good == len(plan["nodes"]) else "idle"),
        (str(len(outcome["lost"])), "lost", "bad" if outcome["lost"] else "idle"),
        (str(len(outcome["unfinished"])), "unfinished", "warn" if outcome["unfinished"] else "idle"),
        (str(plan.get("policy", {}).get("failure_budget", 0)), "failure budget", "idle"),
        (duration(timeline.total(events)) if events else "-", "from the first to the last event", "idle"),
    ]


def _troubles(outcome: Mapping[str, Any], stories: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, str]]:
    """Who needs a person: with what first went wrong, not with what was done about it."""
    rows = [(row, "bad") for row in outcome["lost"]] + [(row, "warn") for row in outcome["unfinished"]]
    return [{**row, "tone": look, "fix": next_step(row["state"]),
             "why": timeline.cause(stories.get(row["node"], ())) or row["why"] or NO_REASON}
            for row, look in rows if row["state"] != "planned"]
