# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The orders of operators for a whole rollout: which one stands, and which one may follow it.

An abort stands for ever: what was given up is not upgraded any more. A rollback obeys only what was ordered after it
began, so that an aborted rollout can be sent back, and that way back be paused, resumed and aborted for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import Database, LedgerError

ORDERS = ("pause", "resume", "abort")
WAYS_OUT = "send it back (rollback playbook), or make a new plan (plan playbook)"

# The keys of an event's data are sorted, and a quote within a value is escaped: these patterns see keys alone.
GIVEN = """SELECT * FROM events WHERE node IS NULL AND kind = 'note' AND id > ? AND data LIKE '{"by": %"order": %'
    ORDER BY data LIKE '%"order": "abort"}' DESC, id DESC LIMIT 1"""
BEGUN = """SELECT id, data LIKE '%"mode": "rollback"%' AS back FROM events
    WHERE node IS NULL AND kind = 'note' AND data LIKE '%"mode": "%' ORDER BY id DESC LIMIT 1"""

Order = Mapping[str, Any]


class Given(NamedTuple):
    """An order as it is given: ``by`` (user on machine), ``order`` (one of ``ORDERS``), ``reason``."""

    by: str
    order: str
    reason: str


def find(db: Database, path: str, rollback: bool = False) -> dict[str, Any] | None:
    """The order that stands: ``id`` of its event, ``order`` (pause or abort), ``by``, ``at``, ``reason``; else None.

    :param rollback: for a way back: where one is the last that began, only what was ordered since counts.
    """
    begun = db.execute(BEGUN).fetchone() if rollback else None
    row = db.execute(GIVEN, (begun["id"] if begun and begun["back"] else 0,)).fetchone()
    said = chain.event(row, path) if row else None
    if said is None or said["data"]["order"] == "resume":
        return None
    return {**said["data"], "id": said["id"], "at": said["at"], "reason": said["reason"]}


def give(db: Database, path: str, given: Given, at: str, epoch: int) -> int | None:
    """Write an order within the caller's transaction; its event's number, None where it stands already.

    :raises LedgerError: no such order, no reason, nothing to resume, or the rollout was aborted.
    """
    if given.order not in ORDERS or not given.reason.strip():
        seen = f"the order {given.order!r}, because {given.reason!r}"
        raise LedgerError(path, seen, f"one of {', '.join(ORDERS)}, and a reason")
    if not is_new(given.order, find(db, path), find(db, path, rollback=True), path):
        return None
    text = chain.plain({"by": given.by, "order": given.order}, path)
    return chain.append(db, at=at, epoch=epoch, kind="note", reason=masked(given.reason), data=text)


def is_new(order: str, standing: Order | None, here: Order | None, subject: str) -> bool:
    """Whether an order has to be written: not where it stands already.

    :param standing: what stands for the rollout.
    :param here: what stands for the way that was taken last; see ``find``.
    :raises LedgerError: there is nothing to resume, or the rollout was aborted.
    """
    now, ever = (row["order"] if row else None for row in (here, standing))
    if order == "resume" and "pause" in (now, ever):
        return True
    if order == now:
        return False
    aborted = here if now == "abort" else standing if (order, ever) == ("resume", "abort") else None
    if aborted:
        raise LedgerError(
            subject, f"{words(aborted)}; nothing can {order} it any more", "a rollout that was not aborted", WAYS_OUT
        )
    if order == "resume":
        fix = "run upgrade or rollback; nodes that were paused one by one go on by resume --limit NODES"
        raise LedgerError(subject, "nothing to resume: no order stands", "a rollout that somebody paused", fix)
    return True


def words(order: Order) -> str:
    """Who ordered what, when and why."""
    done = {"pause": "paused", "abort": "aborted"}[order["order"]]
    return f"{done} by {order['by']} at {order['at']}: {order['reason']}"
