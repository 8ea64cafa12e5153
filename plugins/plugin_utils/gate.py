# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May the next wave begin, and was the rollout clean? Answered from the ledger: no keyword of a play can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import FINISHED_OK, LOST, STATES, TERMINAL
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import least_in_service, room

Nodes = Mapping[str, Mapping[str, Any]]
Waves = Sequence[Sequence[str]]
NO_RECORD = "the ledger has no record of it"
SHOWN = 5


def admission(
    plan: Mapping[str, Any], nodes: Nodes, wave: int, policy: Mapping[str, Any] | None = None, rollback: bool = False,
    waves: Waves | None = None,
) -> dict[str, Any]:
    """Whether a wave may begin.

    :param plan: docs/contracts.md section 5.
    :param nodes: ``Ledger.nodes()``.
    :param wave: number of the wave, from 1: its place in ``waves``.
    :param policy: the plan's own where left out.
    :param rollback: a rollback's waves: lost is who was not brought back, whatever the upgrade did to it.
    :param waves: the waves of this run, where they are not (or no longer) those of the plan.
    :returns: ``admit``, ``lost`` [{node, state, why}], ``budget``; with a no also ``reason``, ``wanted``, ``fix``.
    """
    rules = plan.get("policy", {}) if policy is None else policy
    budget = int(rules.get("failure_budget", 0))
    run = waves if waves is not None else [row["nodes"] for row in plan["waves"]]
    lost = _not_brought_back(nodes, run[:wave - 1]) if rollback else _lost(plan, nodes, run[wave - 1:])
    refusals = (
        None if rollback else _canaries(plan, nodes, run[wave - 1], lost),
        _over_budget(lost, budget, rollback),
        _below_floor(plan, run[wave - 1], lost, float(rules.get("capacity_floor_percent", 75))),
    )
    reason, wanted, fix = next((refusal for refusal in refusals if refusal), ("", "", ""))
    return {"admit": not reason, "lost": lost, "budget": budget, "wanted": wanted, "fix": fix,
            "reason": f"wave {wave} is refused: {reason}" if reason else ""}


def outcome(plan: Mapping[str, Any], nodes: Nodes, back: Collection[str] | None = None) -> dict[str, Any]:
    """How a rollout (or its rollback) ended.

    :param back: the nodes that a rollback was to bring back; only these are judged then. None for an upgrade.
    :returns: ``clean`` (every node in service; of a rollback: every node that was to come back restored),
        ``counts`` {state: how many}, ``lost`` and ``unfinished``, each [{node, state, why}].
    """
    found = Counter(str(nodes.get(node, {}).get("state", "unknown")) for node in plan["nodes"])
    order = [s.name for s in STATES] + ["unknown"]
    if back is not None:
        lost = [_row(n, nodes) for n in plan["nodes"] if n in back and _state(n, nodes) != "restored"]
        unfinished: list[dict[str, str]] = []
    else:
        lost = [_row(n, nodes) for n in plan["nodes"] if _state(n, nodes) in LOST or n not in nodes]
        out = {row["node"] for row in lost}
        unfinished = [_row(n, nodes) for n in plan["nodes"] if n not in out and _state(n, nodes) not in FINISHED_OK]
    return {"clean": not lost and not unfinished, "counts": {s: found[s] for s in order if found[s]},
            "lost": lost, "unfinished": unfinished}


def _state(node: str, nodes: Nodes) -> str:
    return str(nodes[node]["state"]) if node in nodes else "unknown"


def _row(node: str, nodes: Nodes, why: str = "") -> dict[str, str]:
    given = NO_RECORD if node not in nodes else str(nodes[node].get("reason") or "")
    return {"node": node, "state": _state(node, nodes), "why": ": ".join(part for part in (why, given) if part)}


def _lost(plan: Mapping[str, Any], nodes: Nodes, to_come: Waves) -> list[dict[str, str]]:
    """Nodes in a lost state, wherever; and nodes on their way that no wave to come takes up: they never came back."""
    taken_up = {node for names in to_come for node in names}
    found = []
    for node in plan["nodes"]:
        state = _state(node, nodes)
        if state in LOST or node not in nodes:
            found.append(_row(node, nodes))
        elif state not in TERMINAL and state != "planned" and node not in taken_up:
            found.append(_row(node, nodes, f"never came back from {state}"))
    return found


def _not_brought_back(nodes: Nodes, earlier: Waves) -> list[dict[str, str]]:
    return [_row(node, nodes, "was not brought back") for names in earlier for node in names
            if _state(node, nodes) != "restored"]


def _canaries(
    plan: Mapping[str, Any], nodes: Nodes, members: Sequence[str], lost: list[dict[str, str]]
) -> tuple[str, str, str] | None:
    canaries = [node for row in plan["waves"] if row.get("kind") == "canary" for node in row["nodes"]]
    gone = [row for row in lost if row["node"] in canaries]
    if gone:
        return (f"a canary was lost ({_names(gone)}), whatever the budget is", "every canary in service",
                "find out why; mend the cause and make a new plan, or roll back")
    unproven = [_row(node, nodes) for node in canaries if _state(node, nodes) not in FINISHED_OK]
    if unproven and not set(members) <= set(canaries):
        return (f"no canary has shown yet that the target works ({_names(unproven)})", "every canary in service",
                "let the canaries run first: do not leave them out with --limit, or make a new plan without them")
    return None


def _over_budget(lost: list[dict[str, str]], budget: int, rollback: bool) -> tuple[str, str, str] | None:
    if len(lost) <= budget:
        return None
    many = f"{len(lost)} node{'s' if len(lost) > 1 else ''} lost ({_names(lost)})"
    fix = "look at them by hand; then run the rollback again" if rollback else (
        "look at the story of each (status playbook); then roll back, or make a new plan without them")
    return many, f"at most {budget} (failure_budget)", fix


def _below_floor(
    plan: Mapping[str, Any], members: Sequence[str], lost: list[dict[str, str]], percent: float
) -> tuple[str, str, str] | None:
    """The plan kept the floor while nothing was lost; here it is kept with the lost nodes out of service.

    A restored node uses up the budget but not the floor: it was proven to be what it was, and serves.
    """
    product = {node: row["product"] for node, row in plan["nodes"].items()}
    taken = Counter(product[node] for node in members)
    gone = Counter(product[row["node"]] for row in lost if row["node"] not in members and row["state"] != "restored")
    for name in sorted(set(taken) & set(gone)):
        fleet, out = plan["fleet"][name], plan["out"][name] + gone[name]
        if taken[name] > room(fleet, out, percent):
            return (f"{fleet - out - taken[name]} of {fleet} {name} would stay in service: {out} are out, "
                    f"{gone[name]} of them lost in this rollout, and the wave takes {taken[name]}",
                    f"at least {least_in_service(fleet, percent)} (capacity_floor_percent {percent:g})",
                    "bring the lost nodes back, or make a new plan with smaller waves")
    return None


def _names(rows: list[dict[str, str]]) -> str:
    """The first few, each with its state."""
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return ", ".join(f"{row['node']} {row['state']}" for row in rows[:SHOWN]) + more
