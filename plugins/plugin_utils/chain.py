# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of a ledger's events: how one is added, how all of them and what rests on them are proven."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked_in
from ansible_collections.fleetops.instinct.plugins.plugin_utils import states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import (
    RESCUE,
    Database,
    LedgerError,
    digest,
    fill,
    form_faults,
    lease_seal,
    version_of,
)

TABLES = ("rollout", "nodes", "events", "lease")
START = "0" * 64
LEAST = -(1 << 63)  # of a number in SQLite: a whole proof leaves out no row, whatever its number
FIELDS = ("id", "at", "epoch", "node", "kind", "state", "action", "reason", "data", "prev_hash")
ENCODER = json.JSONEncoder(default=repr)  # a damaged value may be of any type
SECRET = re.compile(r"passw|token|secret|credential|api_?key|private_?key", re.IGNORECASE)


def plan_seal(plan: str) -> str:
    """What the first event says of the plan's text, so that the plan is part of the chain."""
    return json.dumps({"plan_digest": digest(plan)})


def broken(path: str, faults: list[str]) -> LedgerError:
    """The error for a ledger whose contents do not hold together."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return LedgerError(path, f"the ledger is damaged: {faults[0]}{more}", "an unbroken chain of events", RESCUE)


def unreadable(path: str, error: Exception) -> LedgerError:
    """The error for what SQLite says of a file: of a disk, of rights and of locks it tells apart from damage."""
    if "locked" in str(error):
        seen = "another process has held it for a minute, perhaps one that was stopped"
        fix = f"see which (fuser -v {path}); let it go on or end it, and run the same command again"
        return LedgerError(path, seen, "a free ledger", fix)
    if isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such"):
        fix = "look at df, its rights and its disk; keep the file, and run the same command again"
        return LedgerError(path, f"cannot be used now: {error}", "a disk with room where it can be written", fix)
    return LedgerError(path, f"cannot be used as a ledger: {error}", "a whole ledger and room to write it", RESCUE)


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


def begin(db: Database, plan: Mapping[str, Any], owner: Mapping[str, Any] | None, at: str) -> None:
    """Fill a new ledger: every node of the plan is planned, and the first event seals the plan."""
    text = json.dumps(plan, sort_keys=True)
    by = f" by {owner.get('who')} on {owner.get('host')}" if owner else ""
    db.execute("BEGIN")
    fill(db)
    db.execute("INSERT INTO rollout VALUES (1, ?, ?, ?)", (str(plan["plan_id"]), at, text))
    for node, row in plan["nodes"].items():
        db.execute("INSERT INTO nodes VALUES (?, ?, 'planned', ?, '')", (node, int(row["wave"]), at))
    append(db, at=at, epoch=0, kind="note", reason=f"rollout {plan['plan_id']} begun{by}", data=plan_seal(text))
    db.execute("COMMIT")


def append(
    db: Database, *, at: str, epoch: int, kind: str, reason: str, node: str | None = None,
    state: str | None = None, action: str | None = None, data: str = "{}",
) -> int:
    """Add an event within the caller's transaction; its number. LedgerError if the last event was tampered with."""
    last = db.execute("SELECT * FROM events ORDER BY id DESC LIMIT 1").fetchone()
    if last is not None and last["hash"] != hash_of(last):
        raise broken("ledger", [f"event {last['id']} does not match its hash"])
    number, before = (1, START) if last is None else (last["id"] + 1, last["hash"])
    values = (number, at, epoch, node, kind, state, action, reason, data, before)
    row = dict(zip(FIELDS, values, strict=True))
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, hash_of(row)))
    return int(number)


def hash_of(row: Any) -> str:
    """The hash that an event of these fields has; ``data`` is the text that is kept."""
    return digest(ENCODER.encode([row[name] for name in FIELDS]))


def event(row: Any, subject: str) -> dict[str, Any]:
    """A row of events with its data as what it means; LedgerError where the data was damaged."""
    try:
        return {**dict(row), "data": json.loads(row["data"])}
    except (TypeError, ValueError) as error:
        raise broken(subject, [f"the data of event {row['id']} cannot be read"]) from error


def faults(db: Database, tail: int | None) -> list[str]:
    """What is wrong with a ledger, one sentence per fault.

    :param tail: prove only so many of the last events; None for all of them, the file's pages and the other tables.
    """
    db.execute("BEGIN")  # one view of the file, whatever others write meanwhile
    try:
        form = form_faults(db)
        if any(fault.split()[0] in TABLES for fault in form):
            return form  # whatever is asked of it now may not even be there
        last = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        start = 0 if tail is None else max(0, last - tail)
        if start:
            return _links(db, start) or _rollout(db)
        found = _links(db, 0) + _pages(db)
        return [*(found or _rollout(db) or [*_nodes(db), *_lease(db)]), *form]
    finally:
        db.execute("ROLLBACK")


def _pages(db: Database) -> list[str]:
    rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    return [] if rows == ["ok"] else [f"page check: {row}" for row in rows]


def _rollout(db: Database) -> list[str]:
    row = db.execute("SELECT plan_id, created_at, plan FROM rollout").fetchone()
    if row is None:
        return ["there is no rollout in it"]
    first = db.execute("SELECT at, data FROM events WHERE id = 1").fetchone()
    if first is None or not isinstance(row["plan"], str) or first["data"] != plan_seal(row["plan"]):
        return ["the plan is not the one that the rollout began with"]
    if (row["plan_id"], row["created_at"]) != (str(json.loads(row["plan"])["plan_id"]), first["at"]):
        return ["the id or the date of the rollout is not that of its plan and first event"]
    return []


def _links(db: Database, start: int) -> list[str]:
    found, number = [], start
    try:
        row = db.execute("SELECT hash FROM events WHERE id = ?", (start,)).fetchone() if start else None
        before = row["hash"] if row else START
        for row in db.execute("SELECT * FROM events WHERE id >= ? ORDER BY id", (start + 1 if start else LEAST,)):
            found += link_faults(row, number, before)
            before, number = row["hash"], row["id"]
    except sqlite3.DatabaseError as error:
        if not number:
            raise  # not one event can be read: this is no damaged row
        found.append(f"event {number + 1} cannot be read ({error})")
    return found


def link_faults(row: Any, number: int, before: str) -> list[str]:
    """What is wrong with an event that should follow the one of this number and hash."""
    gap = [f"event {number + 1} is missing"] if row["id"] != number + 1 else []
    torn = [f"event {row['id']} does not follow the one before it"] if row["prev_hash"] != before else []
    changed = [f"event {row['id']} does not match its hash"] if row["hash"] != hash_of(row) else []
    return gap + torn + changed


def _lease(db: Database) -> list[str]:
    if version_of(db) < 2:
        return []  # it had no seal yet
    rows = [tuple(row) for row in db.execute("SELECT * FROM lease")]
    return [f"the lease of {row[1]!r} does not match its seal" for row in rows if row[-1] != lease_seal(row[1:-1])]


def _nodes(db: Database) -> list[str]:
    """The nodes table against the plan and the events: a replay."""
    plan, begun = db.execute("SELECT plan, created_at FROM rollout").fetchone()
    told = replay(json.loads(plan), begun, db.execute(
        "SELECT node, kind, state, at, reason FROM events WHERE state IS NOT NULL ORDER BY id"))
    rows = db.execute("SELECT node, wave, state, updated_at, reason FROM nodes")
    seen = {row["node"]: tuple(row)[1:] for row in rows}
    return [f"{node} is {_brief(seen.get(node))}, but its events say {_brief(told.get(node))}"
            for node in sorted({*told, *seen}, key=str) if told.get(node) != seen.get(node)]


def replay(plan: Mapping[str, Any], begun: str, events: Iterable[Any]) -> dict[str, tuple[int, str, str, str]]:
    """Each node's wave, state, time and reason as its events make them; the nodes table says the same."""
    told = {node: (int(row["wave"]), "planned", begun, "") for node, row in plan["nodes"].items()}
    for row in events:
        if row["state"] is not None and (row["kind"] == "outcome" or row["state"] in states.WORK):
            told[row["node"]] = (told[row["node"]][0], row["state"], row["at"], row["reason"])
    return told


def _brief(row: tuple[Any, ...] | None) -> str:
    return "not there" if row is None else f"{row[1]} (wave {row[0]}, {row[2]}, {row[3]!r})"
