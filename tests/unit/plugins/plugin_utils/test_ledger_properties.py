# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the nodes of a rollout do, its ledger replays to the same table; whatever byte is damaged, it is found."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain
from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_export import faults, lines
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import EDGES, WORK, StateError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, NODES, PLAN, new_ledger

QUICK = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)  # thousands of writes to the disk
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
# A step is a node, one of the edges that leave where it is (by a number), whether it is said as an intent, and why.
STEPS = st.lists(
    st.tuples(st.sampled_from(NODES), st.integers(0, 200), st.sampled_from(["outcome", "outcome", "intent"]), WORDS),
    max_size=40,
)


def walk(ledger, steps):
    """Take the steps; where the nodes are then, by the table of edges alone."""
    epoch, here, snapshots = ledger.take_lease(ANNA, ttl=60), dict.fromkeys(NODES, "planned"), set()
    for node, number, kind, why in steps:
        ways = [e for e in EDGES if e.source == here[node] and (not e.guard or node in snapshots)]
        edge = ways[number % len(ways)]
        ledger.record(epoch, node, edge.target, kind, f"because {why}", {"why": why}, edge.action)
        if kind == "outcome" or edge.target in WORK:
            here[node] = edge.target
            kept = {"snapshotted": snapshots.add, "restored": snapshots.discard}.get(edge.target, bool)
            kept(node)
    return here


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_any_moves_of_any_nodes_replay_to_the_table_that_was_kept(steps):
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        ledger = new_ledger(Path(folder))
        here = walk(ledger, steps)
        rows, events = ledger.nodes(), ledger.events()
        assert {node: row["state"] for node, row in rows.items()} == here
        told = chain.replay(PLAN, ledger.begun_at(), events)
        assert told == {n: (r["wave"], r["state"], r["updated_at"], r["reason"]) for n, r in rows.items()}
        assert Ledger.verify(ledger.path) == faults(lines(ledger)) == []
        assert sum(row["state"] is not None for row in events) == len(steps)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, other=st.sampled_from([e for e in EDGES if e.action is None]), node=st.sampled_from(NODES))
def test_a_step_that_the_table_does_not_have_leaves_no_trace(steps, other, node):
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        ledger = new_ledger(Path(folder))
        here, before = walk(ledger, steps), ledger.events()
        if (here[node], other.target) not in {(e.source, e.target) for e in EDGES if e.action is None} | {
            (s, s) for s in here.values()
        }:
            with pytest.raises(StateError):
                ledger.record(1, node, other.target)
            assert ledger.events() == before


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A ledger with events, notes and a lease; all of its rows as they are read back; a file to damage."""
    ledger = new_ledger(tmp_path_factory.mktemp("written"))
    epoch = ledger.take_lease(ANNA, ttl=60)
    for state in ("admitted", "prechecked", "draining", "drained", "snapshotted"):
        ledger.record(epoch, "g01", state, reason=f"because of {state}", data={"snapshot": {"rocm": "6.4.4"}})
    ledger.note(epoch, None, "halfway")
    return ledger.path, rows(ledger.path), tmp_path_factory.mktemp("damaged") / "ledger.sqlite"


def fresh(path, copy):
    for name in copy.parent.glob("*"):
        name.unlink(missing_ok=True)
    shutil.copy(path, copy)


def rows(path):
    """Everything that a file says, however it is read: each table in full, and the events of the node by the index."""
    queries = [f"SELECT * FROM {table} ORDER BY 1" for table in ("rollout", "nodes", "events", "lease")]
    queries += ["SELECT id FROM events WHERE node = 'g01' AND state = 'snapshotted'", "SELECT node FROM nodes"]
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
        return [db.execute(query).fetchall() for query in queries]


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_a_damaged_byte_is_found_or_changes_nothing_of_what_the_ledger_says(written, data):
    path, said, copy = written
    fresh(path, copy)
    size = copy.stat().st_size
    with open(copy, "r+b") as stream:
        stream.seek(at := data.draw(st.integers(0, size - 1)))
        old = stream.read(1)[0]
        stream.seek(at)
        stream.write(bytes([old ^ data.draw(st.integers(1, 255))]))
    assert Ledger.verify(copy) or rows(copy) == said


COLUMNS = [
    (table, column)
    for table, columns in {
        "events": (*chain.FIELDS, "hash"),
        "nodes": ("node", "wave", "state", "updated_at", "reason"),
        "rollout": ("plan_id", "created_at", "plan"),
        "lease": ("owner", "host", "pid", "epoch", "since", "expires_at", "ttl", "seal"),
    }.items()
    for column in columns
]


@settings(max_examples=100, deadline=None)
@given(
    place=st.sampled_from(COLUMNS),
    number=st.integers(0, 20),
    value=st.one_of(
        st.none(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=5), st.binary(max_size=5)
    ),
)
def test_a_row_that_was_rewritten_is_found_and_named(written, place, number, value):
    path, said, copy = written
    fresh(path, copy)
    if not rewrite(copy, *place, number, value) or rows(copy) == said:
        return  # the table does not take the value, or it was there already
    found = Ledger.verify(copy)
    names = {"events": "event ", "nodes": "g0", "rollout": "rollout", "lease": "lease"}
    assert any(names[place[0]] in fault for fault in found), found


def rewrite(path, table, column, number, value):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER no_update")
        db.execute("PRAGMA ignore_check_constraints = ON")
        count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        row = f"(SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {number % count})"
        try:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {row}", (value,))
        except sqlite3.IntegrityError:
            return False
        return True


def test_a_file_that_cannot_be_opened_is_told_by_verify_in_a_sentence(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"no")
    assert Ledger.verify(tmp_path / "ledger.sqlite") == ["is not a database"]
    assert Ledger.verify(tmp_path / "other.sqlite") == ["there is no ledger"]
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "other.sqlite")
