# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May the next wave begin, and was the rollout clean? Answered from the ledger: no keyword of a play can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits, standing_orders, states, windows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import FINISHED_OK, HELD, LOST, STATES, TERMINAL
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import least_in_service, room

Nodes = Mapping[str, Mapping[str, Any]]
Waves = Sequence[Sequence[str]]
NO_RECORD = "the ledger has no record of it"
SHOWN = 5
# Why a wave is refused: in the message, in the result of the task and in the data of the ledger's note. Stable.
CODES = ("canary_lost", "canary_unproven", "budget_spent", "floor_broken", "window_closed", "lease_lost",
         "paused", "aborted", "alert_firing", "alert_unknown")
ASKED = ("alert_firing", "alert_unknown")  # each host asks for itself: those of one wave may hear different answers
# The hosts of a wave ask one after the other: a window that closes meanwhile does not split the wave.
ASKED_TOGETHER = timedelta(minutes=10)

Refusal = tuple[str, str, str, str]


class Refused(FleetError):
    """A wave may not begin; ``code`` is one of ``CODES``."""

    def __init__(self, code: str, subject: str, seen: str, wanted: str = "", fix: str = "") -> None:
        self.code = code
        super().__init__(subject, f"{seen} [{code}]", wanted, fix)


def admission(
    plan: Mapping[str, Any], nodes: Nodes, wave: int, policy: Mapping[str, Any] | None = None, rollback: bool = False,
    waves: Waves | None = None, now: datetime | None = None, standing: Mapping[str, Any] | None = None,
    alerts: Callable[[], Refusal | None] | None = None,
) -> dict[str, Any]:
    """Whether a wave may begin.

    :param plan: docs/contracts.md section 5.
    :param nodes: ``Ledger.nodes()``.
    :param wave: number of the wave, from 1: its place in ``waves``.
    :param policy: the plan's own where left out.
    :param rollback: a rollback's waves: lost is who was not brought back, whatever the upgrade did to it.
    :param waves: the waves of this run, where they are not (or no longer) those of the plan.
    :param now: this moment, for the policy's windows; where there are some and it is None, none of them is open.
    :param standing: the order of an operator that stands for this way: ``Ledger.standing(rollback)``.
    :param alerts: asks the policy's alert gates (``alerts.ask``); called last, and only for an upgrade that has some.
    :returns: ``admit``, ``lost`` [{node, state, why}], ``budget``; with a no also ``code`` (one of ``CODES``),
        ``reason``, ``wanted``, ``fix``.
    """
    rules = plan.get("policy", {}) if policy is None else policy
    budget = _budget(rules, rollback)
    run = waves if waves is not None else [row["nodes"] for row in plan["waves"]]
    lost = _not_brought_back(nodes, run[:wave - 1]) if rollback else _lost(plan, nodes, run[wave - 1:])
    refusals = (
        None if not rollback and _is_being_admitted(nodes, run[wave - 1], now) else stopped(standing, rollback),
        None if rollback else _canaries(plan, nodes, run[wave - 1], lost),
        _over_budget(lost, budget, rollback),
        _below_floor(plan, run[wave - 1], lost + _held(plan, nodes), rules),
        None if rollback else _window_closed(nodes, run[wave - 1], rules.get("windows") or (), now),
    )
    refused = next((refusal for refusal in refusals if refusal), None)
    if not refused and not rollback:
        refused = _alerted(nodes, run[wave - 1], rules.get("alert_gates") or (), alerts)
    code, reason, wanted, fix = refused or ("", "", "", "")
    return {"admit": not reason, "lost": lost, "budget": budget, "code": code, "wanted": wanted, "fix": fix,
            "reason": f"wave {wave} is refused: {reason}" if reason else ""}


def outcome(plan: Mapping[str, Any], nodes: Nodes, back: Collection[str] | None = None) -> dict[str, Any]:
    """How a rollout (or its rollback) ended.

    :param back: the nodes that a rollback was to bring back; only these are judged then. None for an upgrade.
    :returns: ``clean`` (every node in service, or left out by an operator; of a rollback: every node that was to come
        back restored), ``counts`` {state: how many}, ``lost`` and ``unfinished``, each [{node, state, why}].
    """
    found = Counter(str(nodes.get(node, {}).get("state", "unknown")) for node in plan["nodes"])
    order = [s.name for s in STATES] + ["unknown"]
    if back is not None:
        lost = [_row(n, nodes) for n in plan["nodes"] if n in back and _state(n, nodes) != "restored"]
        unfinished: list[dict[str, str]] = []
    else:
        lost = [_row(n, nodes) for n in plan["nodes"] if _state(n, nodes) in LOST or n not in nodes]
        out = {row["node"] for row in lost}
        ended = FINISHED_OK | states.LEFT_OUT
        unfinished = [_row(n, nodes) for n in plan["nodes"] if n not in out and _state(n, nodes) not in ended]
    return {"clean": not lost and not unfinished, "counts": {s: found[s] for s in order if found[s]},
            "lost": lost, "unfinished": unfinished}


def spent(plan: Mapping[str, Any], nodes: Nodes) -> frozenset[str]:
    """The lost nodes of an upgrade that goes no further: over its budget, or a canary among them; else none.

    :param nodes: ``Ledger.nodes()``, while no wave is under way: a node in the middle of its steps never came back.
    """
    lost = _lost(plan, nodes, [])
    canaries = {node for row in plan["waves"] if row.get("kind") == "canary" for node in row["nodes"]}
    names = frozenset(row["node"] for row in lost)
    return names if names & canaries or len(lost) > _budget(plan["policy"], rollback=False) else frozenset()


def stopped(standing: Mapping[str, Any] | None, rollback: bool = False) -> Refusal | None:
    """Why no wave may begin while an order stands: code, what was seen, what was wanted, what to do; None for none."""
    if standing is None:
        return None
    code = {"pause": "paused", "abort": "aborted"}[standing["order"]]
    fix = "run the rollback again when it may go on: it obeys no order from before it began" if rollback else (
        "resume it (resume playbook), then run the same command again" if code == "paused" else
        standing_orders.WAYS_OUT)
    return code, standing_orders.words(standing), "no order that stops it", fix


def was_refused(events: Iterable[Mapping[str, Any]], epoch: int, code: str) -> bool:
    """True where this controller has written down already that a wave was refused for that reason."""
    notes = (event for event in events if event["kind"] == "note" and event["epoch"] == epoch)
    return any((event["data"] or {}).get("code") == code for event in notes)


def _budget(rules: Mapping[str, Any], rollback: bool) -> int:
    own = rules.get("rollback_failure_budget") if rollback else None
    return int(rules.get("failure_budget", 0) if own is None else own)


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
        elif state not in TERMINAL | HELD and state != "planned" and node not in taken_up:
            found.append(_row(node, nodes, f"never came back from {state}"))
    return found


def _held(plan: Mapping[str, Any], nodes: Nodes) -> list[dict[str, str]]:
    """Nodes that an operator stopped half way: nobody lost them, but they do not serve either."""
    return [_row(node, nodes) for node in plan["nodes"] if _state(node, nodes) in HELD]


def _not_brought_back(nodes: Nodes, earlier: Waves) -> list[dict[str, str]]:
    return [_row(node, nodes, "was not brought back") for names in earlier for node in names
            if _state(node, nodes) != "restored"]


def _canaries(
    plan: Mapping[str, Any], nodes: Nodes, members: Sequence[str], lost: list[dict[str, str]]
) -> Refusal | None:
    canaries = [node for row in plan["waves"] if row.get("kind") == "canary" for node in row["nodes"]]
    gone = [row for row in lost if row["node"] in canaries]
    if gone:
        return ("canary_lost", f"a canary was lost ({_names(gone)}), whatever the budget is",
                "every canary in service", "find out why; mend the cause and make a new plan, or roll back")
    unproven = [_row(node, nodes) for node in canaries if _state(node, nodes) not in FINISHED_OK]
    if unproven and not set(members) <= set(canaries):
        return ("canary_unproven", f"no canary has shown yet that the target works ({_names(unproven)})",
                "every canary in service",
                "let the canaries run first: do not leave them out with --limit, or make a new plan without them")
    return None


def _over_budget(lost: list[dict[str, str]], budget: int, rollback: bool) -> Refusal | None:
    if len(lost) <= budget:
        return None
    key = "rollback_failure_budget, or else failure_budget" if rollback else "failure_budget"
    many = f"{len(lost)} node{'s' if len(lost) > 1 else ''} lost ({_names(lost)})"
    fix = "look at them by hand; then run the rollback again" if rollback else (
        "look at the story of each (status playbook); then roll back, or make a new plan without them")
    return "budget_spent", many, f"at most {budget} ({key})", fix


def _below_floor(
    plan: Mapping[str, Any], members: Sequence[str], gone: list[dict[str, str]], rules: Mapping[str, Any]
) -> Refusal | None:
    """The plan kept the floors while nothing was lost; here they are kept with lost and paused nodes out of service.

    A restored node uses up the budget but not the floor: it was proven to be what it was, and serves.
    """
    out = {row["node"] for row in gone if row["node"] not in members and row["state"] != "restored"}
    for floor in limits.floors({"capacity_floor_percent": 75, **rules}):
        group = _groups(plan, floor.per)
        taken, less = Counter(group[node] for node in members), Counter(group[node] for node in out)
        for name in sorted(set(taken) & set(less)):
            refusal = _floor_of(plan, floor, name, taken[name], less[name])
            if refusal:
                return refusal
    return None


def _groups(plan: Mapping[str, Any], per: str) -> dict[str, str]:
    rows = plan["nodes"].items()
    return {node: str(row["product"] if per == limits.PRODUCT else limits.value(row, per)) for node, row in rows}


def _floor_of(plan: Mapping[str, Any], floor: limits.Floor, name: str, taken: int, gone: int) -> Refusal | None:
    if floor.per == limits.PRODUCT:
        fleet, out, called = plan["fleet"][name], plan["out"][name] + gone, name
    else:
        counts = plan["groups"][floor.per][name]
        fleet, out, called = counts["fleet"], counts["out"] + gone, f"{floor.per} {name}"
    if taken <= room(fleet, out, floor.percent):
        return None
    return ("floor_broken", f"{fleet - out - taken} of {fleet} {called} would stay in service: {out} are out, "
            f"{gone} of them lost or paused in this rollout, and the wave takes {taken}",
            f"at least {least_in_service(fleet, floor.percent)} ({floor.said})",
            "bring the lost nodes back, or make a new plan with smaller waves")


def _window_closed(
    nodes: Nodes, members: Sequence[str], given: Sequence[windows.Window], now: datetime | None
) -> Refusal | None:
    """A wave begins in a window; one that has begun is finished, since nodes half way are worse than a late end."""
    if not given or any(_has_begun(nodes.get(node, {}), now) for node in members):
        return None
    if now is None:
        return ("window_closed", "the time is not known, and the policy has windows", windows.named(given), "")
    if windows.is_open(given, now):
        return None
    opens = windows.next_opening(given, now)
    return ("window_closed", f"it is {now:%a %Y-%m-%d %H:%M} UTC, outside of every maintenance window",
            windows.named(given), f"run the same command again from {opens:%a %Y-%m-%d %H:%M} UTC on; "
            "what is done stays done")


def _alerted(
    nodes: Nodes, members: Sequence[str], gates: Sequence[Any], ask: Callable[[], Refusal | None] | None
) -> Refusal | None:
    """What the alert gates say. Nodes half way are finished: that they are down may be what an alert is about."""
    if not gates or all(_has_begun(nodes.get(node, {}), None) for node in members):
        return None
    if ask is None:
        return "alert_unknown", "nobody asked the alert gates of the policy", "an answer of each", ""
    return ask()


def _has_begun(row: Mapping[str, Any], now: datetime | None) -> bool:
    state = str(row.get("state", "planned"))
    if state == "admitted" and now is not None:
        return _was_just_admitted(row, now)
    return state in states.ACTIVE and state not in ("planned", "admitted")


def _is_being_admitted(nodes: Nodes, members: Sequence[str], now: datetime | None) -> bool:
    """True where a host of the wave got its yes just now: an order that comes in between does not split the wave."""
    rows = [nodes[node] for node in members if _state(node, nodes) == "admitted"]
    return now is not None and any(_was_just_admitted(row, now) for row in rows)


def _was_just_admitted(row: Mapping[str, Any], now: datetime) -> bool:
    return now - datetime.fromisoformat(str(row["updated_at"])) <= ASKED_TOGETHER


def _names(rows: list[dict[str, str]]) -> str:
    """The first few, each with its state."""
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return ", ".join(f"{row['node']} {row['state']}" for row in rows[:SHOWN]) + more
