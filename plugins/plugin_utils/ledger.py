# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a rollout: one SQLite file, an event per line of the story, each with the hash of the one before."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    chain,
    lease,
    ledger_file,
    ledger_schema,
    standing_orders,
    states,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import Database, LedgerError

TAIL = 500  # events that open() proves: each task opens the file, and a fleet of 1,000 nodes writes some 25,000
FRESH = 20  # a lease is prolonged once so many parts of its length are gone: not every event has to write it

# The first snapshot since the node was last proven to be the old one: a resumed node is snapshotted half changed.
SNAPSHOT = """SELECT data FROM events e
    WHERE e.node = {node} AND e.state = 'snapshotted' AND e.kind = 'outcome' AND e.id > coalesce(
    (SELECT max(id) FROM events r WHERE r.node = e.node AND r.state = 'restored' AND r.kind = 'outcome'), 0)
    ORDER BY e.id LIMIT 1"""
ROW = ("wave", "state", "updated_at", "reason")

Result = TypeVar("Result")


class Ledger:
    """A rollout's ledger. Make one with ``create`` or ``open``; it is safe in forked workers, many at once.

    Every method may raise LedgerError for a file that cannot be read or written.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float], alive: Callable[[int], bool]) -> None:
        self.path = os.path.abspath(path)
        self._clock = clock
        self._alive = alive

    @classmethod
    def create(
        cls, path: str | Path, plan: Mapping[str, Any], owner: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.time, alive: Callable[[int], bool] = lease.pid_alive,
    ) -> Ledger:
        """A new ledger with every node of the plan as planned; it appears whole or not at all.

        :param clock: seconds since 1970.
        :raises LedgerError: there is one already, or the file cannot be written.
        """
        ledger = cls(path, clock, alive)
        ledger_file.create(ledger.path, lambda db: chain.begin(db, plan, owner, lease.iso(clock())))
        return ledger

    @classmethod
    def open(
        cls, path: str | Path, clock: Callable[[], float] = time.time, alive: Callable[[int], bool] = lease.pid_alive
    ) -> Ledger:
        """An existing ledger. Its form and last events are proven here, all events by ``take_lease``.

        One of an older schema is read as it is; the first write brings it to this one, with a copy kept beside it.

        :raises LedgerError: missing, not a ledger, of a newer schema, damaged, or empty; nothing is touched.
        """
        ledger = cls(path, clock, alive)
        ledger_schema.check_header(ledger.path)
        faults = ledger._read(lambda db: chain.faults(db, TAIL))
        if faults:
            raise chain.broken(ledger.path, faults)
        return ledger

    @classmethod
    def at(cls, path: str | Path) -> Ledger:
        """The same without a proof of what is in it, for ``still_ours``, which has to be quick."""
        return cls(path, time.time, lease.pid_alive)

    @staticmethod
    def verify(path: str | Path) -> list[str]:
        """What is wrong with a ledger, also one that does not open: sentences that name the row; empty for nothing."""
        try:
            ledger_schema.check_header(os.path.abspath(path))
            return ledger_file.read(os.path.abspath(path), lambda db: chain.faults(db, None))
        except LedgerError as error:
            return [error.seen]

    def take_lease(self, owner: Mapping[str, Any], ttl: float, takeover: bool = False, reason: str = "") -> int:
        """The epoch under which ``owner`` ({who, host, pid}) may write for ``ttl`` seconds; each write prolongs it.

        :param takeover: also from a controller that seems to be at work, for one that died with its machine. The
            ``reason`` is wanted then, and kept.
        :raises LeaseHeld: another controller is at work. LedgerError: the chain is broken, or no reason.
        """
        faults = self.verify_chain()
        if faults:
            raise chain.broken(self.path, faults)
        if takeover and not reason.strip():
            raise LedgerError(self.path, "a takeover without a reason", "why the other controller cannot be alive")

        def change(db: Database) -> int:
            now = self._clock()
            before = _lease(db)
            taken = lease.take(before, owner, ttl, now, self._alive, self.path, by_force=takeover)
            self._keep(db, taken)
            _tell_clock(db, taken, now)
            if before is None or before.epoch != taken.epoch:
                forced = takeover and before is not None and before.expires_at > now
                over = f", taken over from {lease.name(before)}: {reason}" if forced and before else ""
                chain.append(db, at=lease.iso(now), epoch=taken.epoch, kind="note",
                             reason=masked(f"{lease.name(taken)} has the lease{over}"))
            return taken.epoch

        return self._write(change)

    def release_lease(self, epoch: int) -> None:
        """Give the lease back; StaleController if it is not ours."""
        def change(db: Database) -> None:
            self._keep(db, lease.renew(_lease(db), epoch, self._clock(), self.path)._replace(expires_at=0.0))
        self._write(change)

    def still_ours(self, epoch: int) -> None:
        """Pass if this controller may act; to be asked right before a node is touched.

        A controller that was frozen between its intent and its act finds out here. One read, and a write only where
        half of the lease is gone, so that nobody takes it while the act is under way.

        :raises StaleController: another controller took over.
        """
        held, now = self._read(_lease), self._clock()
        if lease.renew(held, epoch, now, self.path) and held and held.expires_at < now + held.ttl / 2:
            self._write(lambda db: self._enter(db, epoch))

    def order(self, owner: Mapping[str, Any], action: str, reason: str) -> int | None:
        """Write what an operator wants of the whole rollout: ``pause``, ``resume`` or ``abort``; the event's number.

        It needs no lease, so that it can be given while a controller is at work, and moves no node: the gate obeys it.
        What stands already is not written again: None then.

        :raises LedgerError: another order, no reason, nothing to resume, or the rollout was aborted.
        """
        def change(db: Database) -> int | None:
            held = _lease(db)
            given = standing_orders.Given(f"{owner['who']} on {owner['host']}", action, reason)
            return standing_orders.give(db, self.path, given, lease.iso(self._clock()), held.epoch if held else 0)
        return self._write(change)

    def standing(self, rollback: bool = False) -> dict[str, Any] | None:
        """The order that stands: ``id``, ``order`` (pause or abort, which stands for ever), ``by``, ``at``, ``reason``.

        None for none. :param rollback: where a way back is what began last, only an order that was given since.
        """
        return self._read(lambda db: standing_orders.find(db, self.path, rollback))

    def refuse_at_work(self, owner: Mapping[str, Any]) -> None:
        """LeaseHeld where ``owner`` could not take the lease now; writes nothing."""
        lease.take(self._read(_lease), owner, 0, self._clock(), self._alive, self.path)

    def record(
        self, epoch: int, node: str, state: str, kind: str = "outcome", reason: str = "",
        data: Mapping[str, Any] | None = None, action: str | None = None,
    ) -> int:
        """Write what is about to happen to a node (``intent``) or has happened (``outcome``); the event's number.

        An outcome moves the node to ``state``; an intent does so only for a state that is work (states.WORK).

        :raises StateError: no such step, an order without a reason, or no snapshot to go back to. StaleController:
            another controller took over. LedgerError: unknown node, a secret in ``data``, or data that is not plain.
        """
        if kind not in ("intent", "outcome"):
            raise LedgerError(self.path, f"an event of kind {kind!r} for {node}", "intent or outcome")
        text = chain.plain(data or {}, f"{self.path}: {state} of {node}")

        def change(db: Database) -> int:
            at = self._enter(db, epoch)
            _permit(db, node, states.advance(_state(db, node, self.path), state, action), reason)
            if kind == "outcome" or state in states.WORK:
                db.execute("UPDATE nodes SET state = ?, updated_at = ?, reason = ? WHERE node = ?",
                           (state, at, masked(str(reason)), node))
            return chain.append(db, at=at, epoch=epoch, node=node, kind=kind, state=state, action=action,
                                reason=masked(str(reason)), data=text)

        return self._write(change)

    def note(self, epoch: int, node: str | None, reason: str, data: Mapping[str, Any] | None = None) -> int:
        """Write something about a node, or about the whole rollout (None), that moves nothing; the event's number."""
        text = chain.plain(data or {}, f"{self.path}: note on {node or 'the rollout'}")

        def change(db: Database) -> int:
            at = self._enter(db, epoch)
            if node is not None:
                _state(db, node, self.path)
            return chain.append(db, at=at, epoch=epoch, node=node, kind="note", reason=masked(str(reason)), data=text)

        return self._write(change)

    def state_of(self, node: str) -> str:
        """The node's state; LedgerError for a node that is not part of the rollout."""
        return self._read(lambda db: _state(db, node, self.path))

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Each node's ``wave``, ``state``, ``updated_at``, ``reason``, ``has_snapshot``, in the plan's order."""
        query = (f"SELECT *, ({SNAPSHOT.format(node='n.node')}) IS NOT NULL AS has_snapshot FROM nodes n "
                 "ORDER BY n.rowid")
        rows = self._read(lambda db: db.execute(query).fetchall())
        return {row["node"]: {**{key: row[key] for key in ROW}, "has_snapshot": bool(row["has_snapshot"])}
                for row in rows}

    def events(self, node: str | None = None) -> list[dict[str, Any]]:
        """The events of a node, or all of them, in the order in which they were written."""
        query = "SELECT * FROM events" + (" WHERE node = ?" if node else "") + " ORDER BY id"
        rows = self._read(lambda db: db.execute(query, (node,) if node else ()).fetchall())
        return [chain.event(row, self.path) for row in rows]

    def snapshot_of(self, node: str) -> dict[str, Any] | None:
        """What the rollback of a node goes back to, None where nothing was kept."""
        row = self._read(lambda db: db.execute(SNAPSHOT.format(node="?"), (node,)).fetchone())
        return None if row is None else dict(json.loads(row["data"]))

    def plan(self) -> dict[str, Any]:
        """The plan as it was when the rollout began."""
        row = self._read(lambda db: db.execute("SELECT plan FROM rollout").fetchone())
        return dict(json.loads(row["plan"]))

    def begun_at(self) -> str:
        """When the rollout began, ISO 8601."""
        return str(self._read(lambda db: db.execute("SELECT created_at FROM rollout").fetchone()["created_at"]))

    def holder(self) -> dict[str, Any] | None:
        """The lease: who, host, pid, epoch, since, expires_at (ISO; None once given back). None before the first."""
        held = self._read(_lease)
        if held is None:
            return None
        until = lease.iso(held.expires_at) if held.expires_at else None
        return {**held._asdict(), "since": lease.iso(held.since), "expires_at": until}

    def verify_chain(self) -> list[str]:
        """What is wrong with the events and with what the nodes table says of them; empty for an intact ledger."""
        return self._read(lambda db: chain.faults(db, None))

    def _enter(self, db: Database, epoch: int) -> str:
        """Check the right to write and prolong it; the time of the event."""
        now, held = self._clock(), _lease(db)
        fresh = lease.renew(held, epoch, now, self.path)
        self._bring_up(db)
        if held is None or fresh.expires_at - held.expires_at >= held.ttl / FRESH:
            self._keep(db, fresh)
        _tell_clock(db, held or fresh, now)
        return lease.iso(now)

    def _keep(self, db: Database, held: lease.Lease) -> None:
        self._bring_up(db)
        row = (*held[:4], *(float(value) for value in held[4:]))  # as they will be read again
        seal = ledger_schema.lease_seal(row)
        db.execute("INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, seal))

    def _bring_up(self, db: Database) -> None:
        ledger_schema.migrate(db, self.path, lambda copy: ledger_file.keep_copy(self.path, copy))

    def _write(self, change: Callable[[Any], Result]) -> Result:
        return ledger_file.write(self.path, change)

    def _read(self, query: Callable[[Any], Result]) -> Result:
        return ledger_file.read(self.path, query)


def _state(db: Database, node: str, path: str) -> str:
    row = db.execute("SELECT state FROM nodes WHERE node = ?", (node,)).fetchone()
    if row is None:
        raise LedgerError(path, f"{node} is not part of this rollout", "a node of its plan", "make a new plan for it")
    return str(row["state"])


def _lease(db: Database) -> lease.Lease | None:
    row = db.execute("SELECT owner, host, pid, epoch, since, expires_at, ttl FROM lease").fetchone()
    return None if row is None else lease.Lease(*row)


def _tell_clock(db: Database, held: lease.Lease, now: float) -> None:
    """Note what is odd about the clock, once: what is written next is the new measure."""
    last = db.execute("SELECT at FROM events ORDER BY id DESC LIMIT 1").fetchone()
    odd = lease.clock_fault(last["at"], held, now)
    if odd:
        chain.append(db, at=lease.iso(now), epoch=held.epoch, kind="note", reason=odd)


def _permit(db: Database, node: str, edge: states.Edge | None, reason: str) -> None:
    """What the edge asks for besides being one."""
    if edge and edge.kind == "named" and not reason.strip():
        raise states.StateError(f"state {edge.source}", f"{edge.action} of {node} without a reason", "a reason")
    if edge and edge.guard == "snapshot" and not db.execute(SNAPSHOT.format(node="?"), (node,)).fetchone():
        raise states.StateError(f"state {edge.source}", f"{node} has no snapshot to go back to", "a snapshot",
                                "a node that was not changed needs no way back")
