# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What earlier rollouts below the same fleet directory mean for a new plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import eta, lease, ledger_file, rollout, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import load_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import PlanError, few

SPENT = states.TERMINAL | states.LOST
PROVEN = states.FINISHED_OK | {"restored"}  # a rollout has looked at the node, and it was what it should be
MOST_EVENTS = 10_000  # of the newest rollouts: some hundred nodes tell enough, and are read in a blink


def is_spent(fleet_dir: str, plan_id: str) -> bool:
    """True where a rollout of this very plan has lost or finished nodes, or was aborted: a new try needs its own plan.

    A node in service that is to be moved from the same state again was moved back since, by another rollout or by hand.
    """
    path = rollout.ledger_path(rollout.rollout_dir(fleet_dir, plan_id))
    if not path.exists():
        return False
    try:
        ledger = Ledger.open(path)
    except LedgerError:
        return True  # nothing can be written to it any more
    return _is_aborted(ledger) or any(row["state"] in SPENT for row in ledger.nodes().values())


class Whole(NamedTuple):
    """A rollout whose ledger can be read."""

    begun_at: str
    directory: Path
    nodes: Mapping[str, Mapping[str, Any]]
    aborted: bool


def refuse_unfinished(fleet_dir: str, members: Sequence[str]) -> list[str]:
    """Refuse to plan around a rollout that was cut off: its nodes are neither old nor new.

    :param members: the nodes that are to be planned.
    :returns: the rollouts whose ledgers cannot be read and need not be, each in a sentence.
    :raises FleetError: naming the rollout, the nodes under way and the ways out. LedgerError: a ledger cannot be read,
        and nothing else tells whether it left some of ``members`` half changed.
    """
    found, unread = [], []
    for path in rollout.ledgers(fleet_dir):
        try:
            found.append(_whole(path))
        except LedgerError as problem:
            unread.append((path, problem))
    for one in sorted(found):
        under_way = [
            f"{node} {row['state']}" for node, row in one.nodes.items() if _is_under_way(row, one.aborted)
        ]  # fmt: skip
        if under_way:
            on = f"go on with it (upgrade -e plan={rollout.plan_path(fleet_dir, one.directory.name)}) or "
            raise FleetError(
                str(one.directory),
                f"this rollout was {'aborted' if one.aborted else 'cut off'} with nodes under way: "
                f"{', '.join(under_way)}",
                "no node under way",
                f"{'' if one.aborted else on}roll it back (rollback -e rollout={one.directory.name})",
            )
    return [_without(path, problem, members, found) for path, problem in unread]


def _whole(path: Path) -> Whole:
    ledger = Ledger.open(path)
    return Whole(ledger.begun_at(), path.parent, ledger.nodes(), _is_aborted(ledger))


def _without(path: Path, problem: LedgerError, members: Sequence[str], others: Iterable[Whole]) -> str:
    """What is told of a ledger that cannot be read, where none of these nodes can be under way in its rollout.

    Its plan tells which nodes were in it. A node that a later rollout has proven since is not half changed by this one.
    """
    plan = _plan_of(path)
    last = max(_last_sign(path), lease.seconds(plan["created_at"]) if plan else 0)
    later = [one for one in others if plan and lease.seconds(one.begun_at) > last]
    proven = {node for one in later for node, row in one.nodes.items() if row["state"] in PROVEN}
    open_ = [node for node in members if (plan is None or node in plan["nodes"]) and node not in proven]
    if not open_:
        return f"{path}: {problem.seen}; the plan does without it: no node of the fleet can be under way in its rollout"
    raise LedgerError(
        str(path),
        f"{problem.seen}; and nothing else tells whether its rollout left nodes half changed: {few(open_)}",
        "a ledger that can be read, or a later rollout in which each of them was proven",
        "put it back from a copy (verify_ledger names each damaged row); or, once you have seen that no node of it is "
        f"half changed, move {path.parent} out of the way",
    )


def _plan_of(path: Path) -> dict[str, Any] | None:
    """The plan of a rollout whose ledger cannot be read; None where none that is its own is kept."""
    for kept in (path.parent / "plan.json", rollout.plan_path(str(path.parents[2]), path.parent.name)):
        try:
            plan = load_plan(str(kept))
        except PlanError:
            continue
        if plan["plan_id"] == path.parent.name:
            return plan
    return None


def _last_sign(path: Path) -> float:
    """When a damaged ledger was last written to, as far as it can still be read; 0 where it cannot."""
    try:
        return max(lease.seconds(str(event["at"])) for event in Ledger.at(path).events())
    except (LedgerError, ValueError):
        return 0.0


def _is_aborted(ledger: Ledger) -> bool:
    return (ledger.standing() or {}).get("order") == "abort"


def _is_under_way(row: Mapping[str, Any], aborted: bool) -> bool:
    """Of an aborted rollout only what a rollback can bring back is: nothing takes up the others any more."""
    # A controller that died before the way back began leaves a node that failed half changed.
    if aborted or row["state"] == "failed":
        return bool(row["has_snapshot"]) and row["state"] not in states.TERMINAL
    return row["state"] not in states.TERMINAL | {"planned"}


def measured(fleet_dir: str) -> eta.Measured:
    """How long each step took in the newest rollouts; a ledger that cannot be read is left out, and named."""
    books, found, unread = [], [], []
    for path in sorted(rollout.rollout_dir(fleet_dir, "").glob("*/ledger.sqlite")):
        try:
            book = Ledger.open(path)
            books.append((book.begun_at(), book))
        except LedgerError as problem:
            unread.append(f"{path}: {problem.seen}")
    left = MOST_EVENTS
    for _begun, book in sorted(books, key=lambda row: row[0], reverse=True):
        try:
            events = ledger_file.newest(book.path, left)
            found.append(eta.samples(book.plan(), events))
            left -= len(events)
        except (LedgerError, ValueError, KeyError, TypeError) as problem:
            unread.append(f"{book.path}: {getattr(problem, 'seen', problem)}")
        if left <= 0:
            break
    return eta.measured(found, unread)
