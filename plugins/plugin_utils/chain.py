# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a ledger file and the chain of its events: how one is added, how all are proven. For ledger.py only."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Mapping
from typing import Any, Protocol

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked_in
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import states

START = "0" * 64
FIELDS = ("id", "at", "epoch", "node", "kind", "state", "action", "reason", "data", "prev_hash")
SECRET = re.compile(r"passw|token|secret|credential|api_?key|private_?key", re.IGNORECASE)
MAGIC = b"SQLite format 3\0"
RESCUE = "nothing was touched; put the file back from a copy, or move its directory away, audit and plan anew"
APPLICATION_ID = 0x464C4F31
VERSION = 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE rollout (id INTEGER PRIMARY KEY CHECK (id = 1), plan_id TEXT NOT NULL, created_at TEXT NOT NULL,
    plan TEXT NOT NULL);
CREATE TABLE nodes (node TEXT PRIMARY KEY, wave INTEGER NOT NULL, state TEXT NOT NULL, updated_at TEXT NOT NULL,
    reason TEXT NOT NULL);
CREATE TABLE events (id INTEGER PRIMARY KEY, at TEXT NOT NULL, epoch INTEGER NOT NULL,
    node TEXT REFERENCES nodes (node), kind TEXT NOT NULL, state TEXT, action TEXT, reason TEXT NOT NULL,
    data TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX events_by_node ON events (node, state);
CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT NOT NULL, host TEXT NOT NULL,
    pid INTEGER NOT NULL, epoch INTEGER NOT NULL, since REAL NOT NULL, expires_at REAL NOT NULL, ttl REAL NOT NULL);
CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE (ABORT, 'events are never changed'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE (ABORT, 'events are never deleted'); END;
"""


class Database(Protocol):
    """What the chain needs of an open ledger, which ledger.py alone opens."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""


class LedgerError(FleetError):
    """A ledger that is not there, cannot be trusted, or was asked for something it must not keep."""


def digest(text: str) -> str:
    """The SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def plan_seal(plan: str) -> str:
    """What the first event says of the plan's text, so that the plan is part of the chain."""
    return json.dumps({"plan_digest": digest(plan)})


def broken(path: str, faults: list[str]) -> LedgerError:
    """The error for a ledger whose contents do not hold together."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return LedgerError(path, f"the ledger is damaged: {faults[0]}{more}", "an unbroken chain of events", RESCUE)


def unreadable(path: str, error: Exception) -> LedgerError:
    """The error for what SQLite says of a file: of a disk, of rights and of locks it tells apart from damage."""
    if isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such"):
        fix = "look at df, its rights and its disk; keep the file, and run the same command again"
        return LedgerError(path, f"cannot be used now: {error}", "a disk with room where it can be written", fix)
    return LedgerError(path, f"cannot be used as a ledger: {error}", "a whole ledger and room to write it", RESCUE)


def check_header(path: str) -> None:
    """Look at the file's first bytes, without SQLite, which would make or recover a file.

    :raises LedgerError: missing, not readable, not SQLite, cut short, or not a ledger of this version.
    """
    head, size = _head(path)
    if len(head) < 100 or head[:16] != MAGIC:
        seen = "is empty" if not head else "is cut short" if MAGIC.startswith(head[:16]) else "is not a database"
        raise LedgerError(path, seen, "a ledger (SQLite)", RESCUE)
    page_size, found, kind = (int.from_bytes(head[a:b], "big") for a, b in ((16, 18), (60, 64), (68, 72)))
    if size % (page_size if page_size > 1 else 65536):
        raise LedgerError(path, "is cut short", "whole pages", RESCUE)
    if (kind, found) != (APPLICATION_ID, VERSION):
        raise LedgerError(path, f"is a database, but not a ledger of schema {VERSION} (kind {kind:#x}, schema {found})",
                          f"a ledger of schema {VERSION}", "use the version of the collection that wrote it")


def _head(path: str) -> tuple[bytes, int]:
    try:
        with open(path, "rb") as stream:
            return stream.read(100), os.fstat(stream.fileno()).st_size
    except FileNotFoundError as error:
        raise LedgerError(path, "there is no ledger", "the ledger of a rollout that was started",
                          "start the rollout with upgrade, or look at fleet_dir") from error
    except OSError as error:
        raise LedgerError(path, f"cannot be read: {error.strerror}", fix="look at the disk and its rights") from error


def plain(data: Mapping[str, Any], subject: str) -> str:
    """Data as JSON text, addresses masked; LedgerError for what is not plain, or where a key looks like a secret's."""
    _refuse_secrets(data, subject, "data")
    try:
        return json.dumps(masked_in(data), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise LedgerError(subject, f"data that is not plain: {error}", "what JSON can carry") from error


def _refuse_secrets(value: Any, subject: str, where: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if SECRET.search(str(key)):
                raise LedgerError(subject, f"{where}.{key} looks like a secret", "data without secrets", "leave it out")
            _refuse_secrets(inner, subject, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            _refuse_secrets(inner, subject, f"{where}[{number}]")


def append(
    db: Database, *, at: str, epoch: int, kind: str, reason: str, node: str | None = None,
    state: str | None = None, action: str | None = None, data: str = "{}",
) -> int:
    """Add an event within the caller's transaction; its number. LedgerError if the last event was tampered with."""
    last = db.execute("SELECT * FROM events ORDER BY id DESC LIMIT 1").fetchone()
    if last is not None and last["hash"] != _hash(last):
        raise broken("ledger", [f"event {last['id']} does not match its hash"])
    number, before = (1, START) if last is None else (last["id"] + 1, last["hash"])
    values = (number, at, epoch, node, kind, state, action, reason, data, before)
    row = dict(zip(FIELDS, values, strict=True))
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, _hash(row)))
    return int(number)


def _hash(row: Any) -> str:
    return digest(json.dumps([row[name] for name in FIELDS]))


def faults(db: Database, tail: int | None) -> list[str]:
    """What is wrong with a ledger, one sentence per fault.

    :param tail: prove only so many of the last events; None for all of them, the file's pages and the nodes table.
    """
    last = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
    start = 0 if tail is None else max(0, last - tail)
    db.execute("BEGIN")  # one view of the file, whatever others write meanwhile
    try:
        found = _pages(db) if start == 0 else []
        found = found or _links(db, start) or _rollout(db)
        return found or (_nodes(db) if start == 0 else [])
    finally:
        db.execute("COMMIT")


def _pages(db: Database) -> list[str]:
    rows = [str(row[0]) for row in db.execute("PRAGMA quick_check")]
    return [] if rows == ["ok"] else [f"page check: {row}" for row in rows]


def _rollout(db: Database) -> list[str]:
    row = db.execute("SELECT plan FROM rollout").fetchone()
    if row is None:
        return ["there is no rollout in it"]
    first = db.execute("SELECT data FROM events WHERE id = 1").fetchone()
    if first is None or first["data"] != plan_seal(row["plan"]):
        return ["the plan is not the one that the rollout began with"]
    return []


def _links(db: Database, start: int) -> list[str]:
    row = db.execute("SELECT hash FROM events WHERE id = ?", (start,)).fetchone()
    found, before, number = [], row["hash"] if row else START, start
    for row in db.execute("SELECT * FROM events WHERE id > ? ORDER BY id", (start,)):
        if row["id"] != number + 1:
            found.append(f"event {number + 1} is missing")
        if row["prev_hash"] != before:
            found.append(f"event {row['id']} does not follow the one before it")
        if row["hash"] != _hash(row):
            found.append(f"event {row['id']} does not match its hash")
        before, number = row["hash"], row["id"]
    return found


def _nodes(db: Database) -> list[str]:
    """The nodes table against the plan and the events: a replay."""
    plan, begun = db.execute("SELECT plan, created_at FROM rollout").fetchone()
    told = {node: (int(row["wave"]), "planned", begun, "") for node, row in json.loads(plan)["nodes"].items()}
    for row in db.execute("SELECT node, kind, state, at, reason FROM events WHERE state IS NOT NULL ORDER BY id"):
        if row["kind"] == "outcome" or row["state"] in states.WORK:
            told[row["node"]] = (told[row["node"]][0], row["state"], row["at"], row["reason"])
    rows = db.execute("SELECT node, wave, state, updated_at, reason FROM nodes")
    seen = {row["node"]: tuple(row)[1:] for row in rows}
    return [f"{node} is {_brief(seen.get(node))}, but its events say {_brief(told.get(node))}"
            for node in sorted({*told, *seen}) if told.get(node) != seen.get(node)]


def _brief(row: tuple[Any, ...] | None) -> str:
    return "not there" if row is None else f"{row[1]} (wave {row[0]}, {row[2]}, {row[3]!r})"
