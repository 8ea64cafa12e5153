# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who goes back by the policy alone, and in which waves, once a rollout has lost more than it may.

Nothing of it is remembered but what the nodes are: a controller that comes after one that died in the middle finds the
same rollout with the same losses, and so the same nodes, without those that are back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import gate, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import few

SCOPES = ("none", "node", "wave", "rollout")
# Refusals for what was lost: the others (a window, an order, an alert) are no reason to undo anything.
LOSSES = ("budget_spent", "canary_lost")

Nodes = Mapping[str, Mapping[str, Any]]
Waves = list[list[str]]


def scope(policy: Mapping[str, Any]) -> str:
    """How far a failure reaches: one of ``SCOPES``. A policy of before this key sends back the node that failed."""
    return str(policy.get("automatic_rollback", "node"))


def goes_on(policy: Mapping[str, Any], code: str) -> bool:
    """True where a refused wave ends quietly, since the plays after it undo what was done, and fail the run then."""
    return scope(policy) in ("wave", "rollout") and code in LOSSES


def waves(plan: Mapping[str, Any], nodes: Nodes, members: Iterable[str]) -> Waves:
    """The nodes that the policy sends back now, in waves; empty while the losses are within the budget.

    ``wave``: every node that was changed in a wave that lost one, ``rollout``: every node that was changed. Both take
    healthy ones too: that is what the operator asked for by naming more than the node.

    :param nodes: ``Ledger.nodes()``.
    :param members: the nodes that this run may touch.
    """
    reach, lost = scope(plan["policy"]), gate.spent(plan, nodes)
    if reach not in ("wave", "rollout") or not lost:
        return []
    hit = [wave["nodes"] for wave in plan["waves"] if reach == "rollout" or lost & set(wave["nodes"])]
    wanted = set(members) & {node for names in hit for node in names}
    return split(rollout.rollback_waves(plan, nodes, wanted, incident=False), plan["policy"])


def split(whole: Sequence[Sequence[str]], policy: Mapping[str, Any]) -> Waves:
    """The same waves with at most ``rollback_batch`` nodes each: what kept two racks apart still does."""
    most = policy.get("rollback_batch") or max([len(wave) for wave in whole], default=1)
    return [list(wave[start : start + most]) for wave in whole for start in range(0, len(wave), most)]


def words(plan: Mapping[str, Any], nodes: Nodes, back: Waves) -> str:
    """One sentence for the operator and the ledger: what is undone, and why."""
    lost, chosen = sorted(gate.spent(plan, nodes)), [node for wave in back for node in wave]
    return (
        f"automatic_rollback {scope(plan['policy'])}: lost {few(lost)}; going back: {few(chosen)}, "
        f"{len(back)} wave{'s' if len(back) > 1 else ''}"
    )
