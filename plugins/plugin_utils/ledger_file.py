# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file under a ledger: opened for one call and closed again, and changed in one transaction or not at all.

Ansible forks its workers, and a connection (with its locks) that lives through a fork breaks the file.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError

BUSY_SECONDS = 60.0

Result = TypeVar("Result")
Query = Callable[[sqlite3.Connection], Result]


def read(path: str, query: Query[Result]) -> Result:
    """What ``query`` finds in the open file; it waits while others write.

    :raises LedgerError: the file cannot be used.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with closing(connect(_uri(path))) as db:
                return query(db)
        except UnicodeDecodeError as error:  # what SQLite says of a damaged table names it
            raise chain.unreadable(path, error) from error
        except sqlite3.Error as error:
            # Some ways of being busy (another process recovers or removes the WAL) do not wait for the timeout.
            if not _is_busy(error) or time.monotonic() > end:
                raise chain.unreadable(path, error) from error
        threading.Event().wait(0.02)


def newest(path: str, most: int) -> list[dict[str, Any]]:
    """At most so many of the last events, in order and without their data, which is most of the file.

    :raises LedgerError: the file cannot be used.
    """
    query = (
        "SELECT id, at, epoch, node, kind, state, action, reason FROM events "
        "WHERE id > (SELECT max(id) FROM events) - ? ORDER BY id"
    )
    return [dict(row) for row in read(path, lambda db: db.execute(query, (most,)).fetchall())]


def write(path: str, change: Query[Result]) -> Result:
    """Run ``change`` as one transaction: once this returns its work is on the disk, if it raises there is none of it.

    :raises LedgerError: the file cannot be written, such as on a full disk. What it had before it still has.
    """

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

    return read(path, transact)


def create(path: str, fill: Query[None]) -> None:
    """Make a file that ``fill`` has filled; it appears whole or not at all.

    :raises LedgerError: there is one already, or it cannot be written.
    """
    try:
        _create(path, fill)
    except (OSError, sqlite3.Error) as error:
        if os.path.isfile(path):
            raise LedgerError(path, "there is a ledger already", "none yet", "open it to go on") from error
        fix = "look at the disk and its rights"
        raise LedgerError(path, f"cannot be written: {error}", "a new ledger", fix) from error


def keep_copy(path: str, copy: str) -> None:
    """Copy a ledger as it is, without what a transaction under way has changed.

    A copy that an earlier try left behind is replaced: that try changed nothing, and the story may have gone on since.

    :raises LedgerError: there is no room for it.
    """

    def take_over(new: sqlite3.Connection) -> None:
        with closing(connect(_uri(path))) as old:
            old.backup(new)

    try:
        _create(copy, take_over, os.replace)
    except (OSError, sqlite3.Error) as error:
        fix = "look at df and the rights of its directory"
        raise LedgerError(copy, f"no copy could be made: {error}; the ledger is as it was", "", fix) from error


def connect(uri: str) -> sqlite3.Connection:
    """A connection whose commits reach the disk. A damaged text is read all the same: its hash will tell."""
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()  # left to the garbage collector it would close, and touch the file, at any later time
        raise
    return db


def _create(path: str, fill: Query[None], put: Callable[[str, str], None] = os.link) -> None:
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        os.makedirs(directory)
        os.chmod(directory, 0o755)  # whatever the umask: colleagues may look at a rollout
    handle, draft = tempfile.mkstemp(prefix=".ledger-", dir=directory)
    os.close(handle)
    try:
        os.chmod(draft, 0o644)
        with closing(connect(f"file:{quote(draft)}?mode=rw")) as db:
            db.execute("PRAGMA journal_mode = WAL")
            fill(db)
        put(draft, path)
    finally:
        for name in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(name)
    _sync(directory)


def _uri(path: str) -> str:
    """Read-write where that is allowed; else a look that needs no lock file, so that colleagues can see the status."""
    name = f"file:{quote(path)}"
    if os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK):
        return name + "?mode=rw"
    return name + ("?mode=ro" if os.path.exists(path + "-wal") else "?mode=ro&immutable=1")


def _is_busy(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))


def _sync(directory: str) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
