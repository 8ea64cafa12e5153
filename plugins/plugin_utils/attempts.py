# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What earlier rollouts below the same fleet directory mean for a new plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import eta, ledger_file, rollout, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError

SPENT = states.TERMINAL | states.LOST
MOST_EVENTS = 10_000  # of the newest rollouts: some hundred nodes tell enough, and are read in a blink


def is_spent(fleet_dir: str, plan_id: str) -> bool:
    """True where a rollout of this very plan has lost or finished nodes, or was aborted: a new try needs its own plan.

    A node in service that is to be moved from the same state again was moved back since, by another rollout or by hand.
    """
    path = rollout.ledger_path(rollout.rollout_dir(fleet_dir, plan_id))
    if not path.exists():
        return False
    ledger = Ledger.open(path)
    return _is_aborted(ledger) or any(row["state"] in SPENT for row in ledger.nodes().values())


def refuse_unfinished(fleet_dir: str) -> None:
    """Refuse to plan around a rollout that was cut off: its nodes are neither old nor new.

    :raises FleetError: naming the rollout, the nodes under way and the ways out.
    """
    for directory in rollout.all_rollouts(fleet_dir):
        ledger = Ledger.open(rollout.ledger_path(directory))
        aborted = _is_aborted(ledger)
        under_way = [
            f"{node} {row['state']}" for node, row in ledger.nodes().items() if _is_under_way(row, aborted)
        ]  # fmt: skip
        if under_way:
            on = f"go on with it (upgrade -e plan={rollout.plan_path(fleet_dir, directory.name)}) or "
            raise FleetError(
                str(directory),
                f"this rollout was {'aborted' if aborted else 'cut off'} with nodes under way: {', '.join(under_way)}",
                "no node under way",
                f"{'' if aborted else on}roll it back (rollback -e rollout={directory.name})",
            )


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
