# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a rollout: one SQLite file, one event per line of the story, each carrying the hash of the one before.

Every call opens the file and closes it again: Ansible forks its workers, and a connection (with its locks) that lives
through a fork breaks the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain, lease, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError

BUSY_SECONDS = 60.0
TAIL = 2000  # events that open() proves: each task opens the file, and a fleet of 1,000 nodes writes some 25,000

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
        try:
            ledger._create(plan, owner)
        except (OSError, sqlite3.Error) as error:
            if os.path.isfile(ledger.path):
                raise LedgerError(ledger.path, "there is a ledger already", "none yet", "open it to go on") from error
            fix = "look at the disk and its rights"
            raise LedgerError(ledger.path, f"cannot be written: {error}", "a new ledger", fix) from error
        return ledger

    @classmethod
    def open(
        cls, path: str | Path, clock: Callable[[], float] = time.time, alive: Callable[[int], bool] = lease.pid_alive
    ) -> Ledger:
        """An existing ledger. Its form and last events are proven here, all events by ``take_lease``.

        :raises LedgerError: missing, not a ledger, of another schema, damaged, or empty; nothing is touched.
        """
        ledger = cls(path, clock, alive)
        chain.check_header(ledger.path)
        faults = ledger._read(lambda db: chain.faults(db, TAIL))
        if faults:
            raise chain.broken(ledger.path, faults)
        return ledger

    def take_lease(self, owner: Mapping[str, Any], ttl: float) -> int:
        """The epoch under which ``owner`` ({who, host, pid}) may write for ``ttl`` seconds; each write prolongs it.

        :raises LeaseHeld: another controller is at work. LedgerError: the chain is broken.
        """
        faults = self.verify_chain()
        if faults:
            raise chain.broken(self.path, faults)

        def change(db: sqlite3.Connection) -> int:
            now = self._clock()
            before = _lease(db)
            taken = lease.take(before, owner, ttl, now, self._alive, self.path)
            _keep(db, taken)
            if before is None or before.epoch != taken.epoch:
                reason = f"{taken.who} on {taken.host} (process {taken.pid}) has the lease"
                chain.append(db, at=lease.iso(now), epoch=taken.epoch, kind="note", reason=reason)
            return taken.epoch

        return self._write(change)

    def release_lease(self, epoch: int) -> None:
        """Give the lease back; StaleController if it is not ours."""
        def change(db: sqlite3.Connection) -> None:
            _keep(db, lease.renew(_lease(db), epoch, self._clock(), self.path)._replace(expires_at=0.0))
        self._write(change)

    def record(
        self, epoch: int, node: str, state: str, kind: str = "outcome", reason: str = "",
        data: Mapping[str, Any] | None = None, action: str | None = None,
    ) -> int:
        """Write what is about to happen to a node (``intent``) or has happened (``outcome``); the event's number.

        An outcome moves the node to ``state``; an intent does so only for a state that is work (states.WORK).

        :raises StateError: no such step. StaleController: another controller took over. LedgerError: unknown node, a
            secret in ``data``, or data that is not plain.
        """
        if kind not in ("intent", "outcome"):
            raise LedgerError(self.path, f"an event of kind {kind!r} for {node}", "intent or outcome")
        text = chain.plain(data or {}, f"{self.path}: {state} of {node}")

        def change(db: sqlite3.Connection) -> int:
            at = self._enter(db, epoch)
            states.advance(_state(db, node, self.path), state, action)
            if kind == "outcome" or state in states.WORK:
                db.execute("UPDATE nodes SET state = ?, updated_at = ?, reason = ? WHERE node = ?",
                           (state, at, masked(str(reason)), node))
            return chain.append(db, at=at, epoch=epoch, node=node, kind=kind, state=state, action=action,
                                reason=masked(str(reason)), data=text)

        return self._write(change)

    def note(self, epoch: int, node: str | None, reason: str, data: Mapping[str, Any] | None = None) -> int:
        """Write something about a node, or about the whole rollout (None), that moves nothing; the event's number."""
        text = chain.plain(data or {}, f"{self.path}: note on {node or 'the rollout'}")

        def change(db: sqlite3.Connection) -> int:
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
        return [{**dict(row), "data": json.loads(row["data"])} for row in rows]

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

    def _create(self, plan: Mapping[str, Any], owner: Mapping[str, Any] | None) -> None:
        directory = os.path.dirname(self.path)
        if not os.path.isdir(directory):
            os.makedirs(directory)
            os.chmod(directory, 0o755)  # whatever the umask: colleagues may look at a rollout
        handle, draft = tempfile.mkstemp(prefix=".ledger-", dir=directory)
        os.close(handle)
        try:
            os.chmod(draft, 0o644)
            with closing(_connect(f"file:{quote(draft)}?mode=rw")) as db:
                db.execute("PRAGMA journal_mode = WAL")
                _fill(db, plan, owner, lease.iso(self._clock()))
            os.link(draft, self.path)
        finally:
            os.unlink(draft)
        _sync(directory)

    def _enter(self, db: sqlite3.Connection, epoch: int) -> str:
        """Check the right to write and prolong it; the time of the event."""
        now = self._clock()
        _keep(db, lease.renew(_lease(db), epoch, now, self.path))
        return lease.iso(now)

    def _write(self, change: Callable[[sqlite3.Connection], Result]) -> Result:
        def transact(db: sqlite3.Connection) -> Result:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = change(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return result
        return self._read(transact)

    def _read(self, query: Callable[[sqlite3.Connection], Result]) -> Result:
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(_connect(_uri(self.path))) as db:
                    return query(db)
            except sqlite3.Error as error:
                # Some ways of being busy (another process recovers or removes the WAL) do not wait for the timeout.
                if not _is_busy(error) or time.monotonic() > end:
                    raise chain.unreadable(self.path, error) from error
            threading.Event().wait(0.02)


def _connect(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _uri(path: str) -> str:
    """Read-write where that is allowed; else a look that needs no lock file, so that colleagues can see the status."""
    name = f"file:{quote(path)}"
    if os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK):
        return name + "?mode=rw"
    return name + ("?mode=ro" if os.path.exists(path + "-wal") else "?mode=ro&immutable=1")


def _is_busy(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))


def _fill(db: sqlite3.Connection, plan: Mapping[str, Any], owner: Mapping[str, Any] | None, at: str) -> None:
    text = json.dumps(plan, sort_keys=True)
    by = f" by {owner.get('who')} on {owner.get('host')}" if owner else ""
    db.executescript("BEGIN;" + chain.SCHEMA)
    db.execute("INSERT INTO rollout VALUES (1, ?, ?, ?)", (str(plan["plan_id"]), at, text))
    rows = [(node, int(row["wave"]), "planned", at, "") for node, row in plan["nodes"].items()]
    db.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?)", rows)
    chain.append(db, at=at, epoch=0, kind="note", reason=f"rollout {plan['plan_id']} begun{by}",
                 data=chain.plan_seal(text))
    db.execute("COMMIT")


def _state(db: sqlite3.Connection, node: str, path: str) -> str:
    row = db.execute("SELECT state FROM nodes WHERE node = ?", (node,)).fetchone()
    if row is None:
        raise LedgerError(path, f"{node} is not part of this rollout", "a node of its plan", "make a new plan for it")
    return str(row["state"])


def _lease(db: sqlite3.Connection) -> lease.Lease | None:
    row = db.execute("SELECT owner, host, pid, epoch, since, expires_at, ttl FROM lease").fetchone()
    return None if row is None else lease.Lease(*row)


def _keep(db: sqlite3.Connection, held: lease.Lease) -> None:
    db.execute("INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?, ?, ?, ?)", held)


def _sync(directory: str) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
