# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator may order of a rollout or of some of its nodes, judged before anything of it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import gate, standing_orders, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import nearest

OF_NODES = ("pause", "resume", "skip", "retry", "release", "quarantine")
NAMES = (*standing_orders.ORDERS, *(name for name in OF_NODES if name not in standing_orders.ORDERS))
# What gives a node back to an upgrade: senseless once there is no upgrade any more.
ONWARD = ("resume", "retry", "release")

Nodes = Mapping[str, Mapping[str, Any]]


class Move(NamedTuple):
    """A node that an order moves, and between which states."""

    node: str
    before: str
    after: str


def refuse_standing(standing: Mapping[str, Any] | None, subject: str) -> None:
    """Refuse to open an upgrade while an order stands.

    :param standing: ``Ledger.standing()``.
    :raises gate.Refused: with the code ``paused`` or ``aborted``.
    """
    refusal = gate.stopped(standing)
    if refusal:
        code, seen, wanted, fix = refusal
        raise gate.Refused(code, subject, seen, wanted, fix)


def refuse_unclear(order: str, reason: str, nodes: Sequence[str] | None) -> None:
    """Refuse an order that does not say why, or of whom.

    :param nodes: names of nodes; None for the whole rollout.
    :raises FleetError: naming what to add.
    """
    if not reason.strip():
        raise FleetError(f"order {order}", "no reason is given", "why, for the story", '-e reason="..."')
    if nodes is None and order not in standing_orders.ORDERS:
        raise FleetError(
            f"order {order}", "no node is named", "the nodes that it is for", f"name the nodes: {order} --limit NODES"
        )
    if nodes is not None and not nodes:
        raise FleetError(f"order {order}", "an empty list of nodes", "at least one node", "name nodes of the rollout")
    if nodes and order not in OF_NODES:
        raise FleetError(
            f"order {order}", f"it is for the whole rollout, and nodes are named ({', '.join(nodes)})", "no node",
            "leave --limit out; to keep nodes out of the rollout: skip or quarantine --limit NODES",
        )  # fmt: skip


def moves(order: str, names: Iterable[str], nodes: Nodes, subject: str, standing: Any = None) -> list[Move]:
    """The nodes that an order moves; those that are where it leads already are left out.

    :param nodes: ``Ledger.nodes()``.
    :param standing: ``Ledger.standing()``.
    :raises FleetError: one for all nodes that cannot take the order; then none is to be moved.
    """
    if order in ONWARD and standing and standing["order"] == "abort":
        refuse_standing(standing, f"{order} in {subject}")
    wanted = list(dict.fromkeys(names))
    wrong = [*_unable(order, [name for name in wanted if name in nodes], nodes), *_unknown(wanted, nodes)]
    if wrong:
        sources = [state for action, froms, _to in states.ORDERS if action == order for state in froms]
        able = "under way" if sources == [*states.ACTIVE] else " or ".join(sources)
        fix = "no node was moved; leave these out of --limit"
        raise FleetError(f"{order} in {subject}", "; ".join(wrong), f"nodes that are {able}", fix)
    found = [Move(name, nodes[name]["state"], _leads_to(order, nodes[name]["state"])) for name in wanted]
    return [move for move in found if move.before != move.after]


def _leads_to(order: str, state: str) -> str:
    """Where an order takes a node in a state: the state itself where it is there already; empty where it cannot."""
    ends = {to for action, _froms, to in states.ORDERS if action == order}
    return states.orders_for(state).get(order, state if state in ends else "")


def _unable(order: str, names: Sequence[str], nodes: Nodes) -> Iterator[str]:
    """The nodes that cannot take the order, by state, each with what they could take."""
    by_state: dict[str, list[str]] = {}
    for name in names:
        if not _leads_to(order, nodes[name]["state"]):
            by_state.setdefault(nodes[name]["state"], []).append(name)
    for state, members in by_state.items():
        able = ", ".join(states.orders_for(state)) or "no order"
        yield f"{', '.join(members)} {'is' if len(members) == 1 else 'are'} {state} (takes: {able})"


def _unknown(names: Sequence[str], nodes: Nodes) -> Iterator[str]:
    for name in names:
        if name not in nodes:
            near, found, _rest = nearest(name, nodes).partition(" (nearest)")
            yield f"{name} is not part of it" + (f" (nearest: {near})" if found else "")


def told(order: str, found: Sequence[Move]) -> str:
    """What an order does to nodes, in one line."""
    if not found:
        return f"{order}: every node is where it leads already"
    on = "; run upgrade again to take them up" if order in ONWARD else ""
    return f"{order}: " + ", ".join(f"{move.node} {move.before} -> {move.after}" for move in found) + on


def diff(before: Iterable[str], after: Iterable[str], header: str) -> dict[str, str]:
    """What Ansible shows under ``--diff``."""
    told = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    return {"before": next(told), "after": next(told), "before_header": header, "after_header": header}
