# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a ledger file, version by version: what is in it, how it is told from others, how an older one grows."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Protocol

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

MAGIC = b"SQLite format 3\0"
RESCUE = "nothing was touched; put the file back from a copy, or move its directory away, audit and plan anew"
APPLICATION_ID = 0x464C4F31
VERSION = 2
FORM = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
LEASE = """CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT NOT NULL, host TEXT NOT NULL,
    pid INTEGER NOT NULL, epoch INTEGER NOT NULL, since REAL NOT NULL, expires_at REAL NOT NULL, ttl REAL NOT NULL,
    seal TEXT NOT NULL)"""
LEASE_1 = LEASE.replace(", ttl REAL NOT NULL,\n    seal TEXT NOT NULL)", ", ttl REAL NOT NULL)")
TABLES = (
    """CREATE TABLE rollout (id INTEGER PRIMARY KEY CHECK (id = 1), plan_id TEXT NOT NULL, created_at TEXT NOT NULL,
    plan TEXT NOT NULL)""",
    """CREATE TABLE nodes (node TEXT PRIMARY KEY, wave INTEGER NOT NULL, state TEXT NOT NULL, updated_at TEXT NOT NULL,
    reason TEXT NOT NULL)""",
    """CREATE TABLE events (id INTEGER PRIMARY KEY, at TEXT NOT NULL, epoch INTEGER NOT NULL,
    node TEXT REFERENCES nodes (node), kind TEXT NOT NULL, state TEXT, action TEXT, reason TEXT NOT NULL,
    data TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL)""",
    "CREATE INDEX events_by_node ON events (node, state)",
    LEASE,
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE (ABORT, 'events are never changed'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE (ABORT, 'events are never deleted'); END",
)


class Database(Protocol):
    """What these files need of an open ledger, which ``ledger_file`` alone opens."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""


class LedgerError(FleetError):
    """A ledger that is not there, cannot be trusted, or was asked for something it must not keep."""


def digest(text: str) -> str:
    """The SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def lease_seal(values: Sequence[Any]) -> str:
    """What the lease row carries so that a damaged one is seen; ``values`` from owner to ttl."""
    return digest(json.dumps(list(values), default=repr))


def fill(db: Database) -> None:
    """Make the tables of a new ledger, within the caller's transaction."""
    for statement in (f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {VERSION}", *TABLES):
        db.execute(statement)


def version_of(db: Database) -> int:
    """The schema of an open ledger."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: Database, path: str, keep_copy: Callable[[str], None]) -> None:
    """Bring a ledger to the newest schema within the caller's transaction; nothing to do for one that is there.

    :param keep_copy: makes a copy of the ledger as it was under the path that it is given; called before anything is
        changed, and only if something is.
    :raises LedgerError: the ledger is of a newer schema.
    """
    found = version_of(db)
    if found > VERSION:
        raise _newer(path, found)
    if found < VERSION:
        keep_copy(f"{path}.schema-{found}")
        for version in range(found, VERSION):
            STEPS[version](db)
        db.execute(f"PRAGMA user_version = {VERSION}")


def _seal_the_lease(db: Database) -> None:
    """From 1 to 2: the row of the lease can be proven."""
    rows = db.execute("SELECT owner, host, pid, epoch, since, expires_at, ttl FROM lease").fetchall()
    db.execute("DROP TABLE lease")
    db.execute(LEASE)
    for row in rows:
        db.execute("INSERT INTO lease VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, lease_seal(tuple(row))))


STEPS: dict[int, Callable[[Database], None]] = {1: _seal_the_lease}


def form_faults(db: Database) -> list[str]:
    """What of the tables, the index and the triggers is not as its version makes them, the tables first."""
    wanted, found = _wanted_form(version_of(db)), {row[0]: row[1] for row in db.execute(FORM)}
    names = sorted(
        {*wanted, *found}, key=lambda name: (not str(wanted.get(name)).startswith("CREATE TABLE"), str(name))
    )
    return [f"{name} is not what it should be" for name in names if wanted.get(name) != found.get(name)]


@functools.cache
def _wanted_form(version: int) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        fill(fresh)
        return {**dict(fresh.execute(FORM).fetchall()), **({"lease": LEASE_1} if version == 1 else {})}


def check_header(path: str) -> None:
    """Look at the file's first bytes, without SQLite, which would make or recover a file.

    :raises LedgerError: missing, not readable, not SQLite, cut short, not a ledger, or of a newer schema.
    """
    head, size = _head(path)
    if len(head) < 100 or head[:16] != MAGIC:
        seen = "is empty" if not head else "is cut short" if MAGIC.startswith(head[:16]) else "is not a database"
        raise LedgerError(path, seen, "a ledger (SQLite)", RESCUE)
    page_size, found, kind = (int.from_bytes(head[a:b], "big") for a, b in ((16, 18), (60, 64), (68, 72)))
    if size % (page_size if page_size > 1 else 65536):
        raise LedgerError(path, "is cut short", "whole pages", RESCUE)
    if kind != APPLICATION_ID or found < 1:
        raise LedgerError(
            path,
            f"is a database, but not a ledger (kind {kind:#x}, schema {found})",
            "the ledger of a rollout",
            "name the right file, or put the ledger back from a copy",
        )
    if found > VERSION:
        raise _newer(path, found)


def _newer(path: str, found: int) -> LedgerError:
    return LedgerError(
        path,
        f"was written by a newer version of the collection (schema {found}); nothing was touched",
        f"a ledger of schema {VERSION} or older",
        "go on with the version that wrote it, or a newer one",
    )


def _head(path: str) -> tuple[bytes, int]:
    try:
        with open(path, "rb") as stream:
            return stream.read(100), os.fstat(stream.fileno()).st_size
    except FileNotFoundError as error:
        raise LedgerError(
            path,
            "there is no ledger",
            "the ledger of a rollout that was started",
            "start the rollout with upgrade, or look at fleet_dir",
        ) from error
    except OSError as error:
        raise LedgerError(path, f"cannot be read: {error.strerror}", fix="look at the disk and its rights") from error
