# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of a plan in words: what its policy limits, and what it costs in waves and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits, windows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import clean, duration, plural
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import fewest

Plan = Mapping[str, Any]
Policy = Mapping[str, Any]
Row = tuple[str, str]
_ORDERS = {
    "domain": "by failure domain, then by name",
    "name": "by name",
    "inventory": "as the inventory has them",
}
_BACK = {
    "none": "a node that fails stays as it is, for a person",
    "node": "a node that fails goes back by itself",
    "wave": "a node that fails goes back by itself, and its wave with it once the budget is spent",
    "rollout": "a node that fails goes back by itself, and the whole rollout with it once the budget is spent",
}


def rule_rows(policy: Policy, now: datetime | None = None) -> list[Row]:
    """The rules, each as key and words; keys that the policy does not have are left out.

    :param now: this moment, for what the windows say of it; None leaves that out.
    """
    budget = policy.get("failure_budget", 0)
    rows = [
        (f"failure_budget {budget}", "nodes may be lost over the whole rollout, before the next wave is refused"),
        *_floors(policy),
    ]
    if "max_wave" not in policy:
        return rows
    rows += [*_domains(policy), ("growth", f"{_growth(policy)}; {_canaries(policy)}"), ("order", _order(policy))]
    rows += [("skip", f"nodes with the host variable {policy['skip']} are left out")] if policy.get("skip") else []
    rows += _windows(policy.get("windows") or (), now)
    rows += [(f"alert gate {gate['name']}", _gate(gate)) for gate in policy.get("alert_gates") or ()]
    rows.append((f"soak_seconds {policy['soak_seconds']}", "for so long health must hold before a node is given back"))
    back = _BACK.get(policy.get("automatic_rollback", ""))
    return rows + ([("automatic_rollback", back)] if back else [])


def _floors(policy: Policy) -> Iterator[Row]:
    for floor in limits.floors({"capacity_floor_percent": 75, **policy}):
        group = "product" if floor.per == limits.PRODUCT else f"value of {floor.per}"
        yield floor.key, f"{floor.percent:g} percent of the nodes of each {group} stay in service"


def _domains(policy: Policy) -> Iterator[Row]:
    kinds = limits.kinds(policy)
    for kind in kinds:
        most = "any number of values" if kind.at_once is None else plural(kind.at_once, "value")
        yield "failure domain", f"{kind.variable}: nodes of {most} of it are down together at most"
    if not kinds:
        yield "failure domain", "none: nodes of a wave may stand anywhere"


def _growth(policy: Policy) -> str:
    growth, most = policy["growth"], policy["max_wave"]
    if not isinstance(growth, Mapping):
        return f"each wave at most {growth:g} times the one before, {most} nodes at most"
    if growth["kind"] == "fixed":
        return f"fixed, waves of {min(most, growth['size'])} nodes at most"
    first = f"the first after the canaries {plural(growth['first'], 'node')}"
    more = f"each {growth['step']} more" if growth["kind"] == "linear" else f"each {growth['factor']:g} times as many"
    return f"{growth['kind']}, {first}, then {more}, {most} at most"


def _canaries(policy: Policy) -> str:
    each = policy["canaries_per_product"]
    return f"{plural(each, 'node')} of each product as canary first" if each else "no canaries"


def _order(policy: Policy) -> str:
    order = policy.get("order", "domain")
    return _ORDERS.get(order, order) if isinstance(order, str) else f"by the patterns {', '.join(order)}, then the rest"


def _windows(given: Any, now: datetime | None) -> Iterator[Row]:
    if not given:
        return
    told = "no wave begins outside of them"
    if now is not None:
        opens = windows.next_opening(given, now)
        told += ("; one is open now, the next opens" if windows.is_open(given, now) else "; the next opens")
        told += f" {opens:%a %Y-%m-%d %H:%M} UTC"
    yield f"windows {windows.named(given)}", told


def _gate(gate: Mapping[str, Any]) -> str:
    if "command" in gate:
        return f"asked before each wave: {' '.join(gate['command'])}"
    return f"asked before each wave: {gate['query']} at {gate['prometheus']}"


def waves_sentence(plan: Plan) -> str:
    """How many waves there are, and how few there could be; empty for a plan that has none, or is of an old policy."""
    if not plan["waves"] or "max_wave" not in plan.get("policy", {}):
        return ""
    least, told = fewest(plan), f"{plural(len(plan['waves']), 'wave')}; no schedule of these rules"
    if least >= len(plan["waves"]):
        return f"{told} has fewer."
    return f"{told} needs fewer than {least}, canaries and growth left aside."


def estimate_sentence(plan: Plan) -> str:
    """How long the plan takes and how that is known; empty where the plan does not say."""
    eta = plan.get("eta")
    if not eta or not plan["nodes"]:
        return ""
    told = f"about {duration(eta['seconds'])}"
    if eta["p90_seconds"] is not None:
        told += f", {duration(eta['p90_seconds'])} if each step takes as long as one in ten did"
    by = {
        "typical": "by typical times: too little was measured in earlier rollouts",
        "earlier rollouts": f"by what {plural(eta['samples'], 'node')} took in earlier rollouts",
        "both": f"by what {plural(eta['samples'], 'node')} took in earlier rollouts, and by typical times for the rest",
    }
    return clean(f"{told}; {by.get(eta['source'], eta['source'])}. A wave larger than the forks takes longer.")
