# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An older ledger is read as it is and brought to this version by the first write; a newer one is refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger_file, ledger_schema
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import (
    ANNA,
    BOB,
    START,
    new_ledger,
)

# What the first version of the collection wrote: the row of the lease had no seal.
AS_VERSION_1 = """
CREATE TEMP TABLE kept AS SELECT id, owner, host, pid, epoch, since, expires_at, ttl FROM lease;
DROP TABLE lease;
CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT NOT NULL, host TEXT NOT NULL,
    pid INTEGER NOT NULL, epoch INTEGER NOT NULL, since REAL NOT NULL, expires_at REAL NOT NULL, ttl REAL NOT NULL);
INSERT INTO lease SELECT * FROM kept;
PRAGMA user_version = 1;
"""


def sql(path, statements):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statements)


def version(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


@pytest.fixture
def old(tmp_path):
    """A ledger of version 1 with a node admitted and the lease in Anna's hands until START + 60."""
    ledger = new_ledger(tmp_path)
    ledger.record(ledger.take_lease(ANNA, ttl=60), "g01", "admitted", reason="wave 1")
    sql(ledger.path, AS_VERSION_1)
    return ledger


def files(ledger):
    return sorted(os.listdir(os.path.dirname(ledger.path)))


def test_an_older_ledger_is_read_without_a_change(old):
    with open(old.path, "rb") as stream:
        before = stream.read()
    opened = Ledger.open(old.path)
    assert (opened.state_of("g01"), opened.holder()["who"]) == ("admitted", "anna")
    assert Ledger.verify(old.path) == []
    with open(old.path, "rb") as stream:
        assert stream.read() == before


def test_the_first_write_brings_it_to_this_version_and_keeps_a_copy_of_what_was(old):
    events, nodes = old.events(), old.nodes()
    old.record(1, "g01", "prechecked")
    assert (version(old.path), version(f"{old.path}.schema-1")) == (ledger_schema.VERSION, 1)
    assert old.events()[:-1] == events
    assert (Ledger.open(f"{old.path}.schema-1").events(), Ledger.open(f"{old.path}.schema-1").nodes()) == (
        events,
        nodes,
    )
    assert Ledger.verify(old.path) == Ledger.verify(f"{old.path}.schema-1") == []
    assert files(old) == ["ledger.sqlite", "ledger.sqlite.schema-1"]


def test_who_may_not_write_does_not_bring_it_to_this_version(old):
    with pytest.raises(LeaseHeld):
        old.take_lease(BOB, ttl=60)
    old.order(BOB, "pause", "what Anna runs is an older version of the collection")
    assert version(old.path) == 1
    assert files(old) == ["ledger.sqlite"]
    assert Ledger.verify(old.path) == []


def test_an_older_ledger_that_was_damaged_is_refused_and_not_brought_to_this_version(old):
    sql(old.path, "ALTER TABLE lease ADD COLUMN seal")
    assert Ledger.verify(old.path) == ["lease is not what it should be"]
    with pytest.raises(LedgerError, match="lease is not what it should be"):
        old.take_lease(ANNA, ttl=60)
    assert version(old.path) == 1


def half_way(db):
    ledger_schema._seal_the_lease(db)
    raise LedgerError("step", "failed")


def test_a_failure_half_way_leaves_it_as_it_was(old, monkeypatch):
    monkeypatch.setitem(ledger_schema.STEPS, 1, half_way)
    with pytest.raises(LedgerError, match="step: failed"):
        old.record(1, "g01", "prechecked")
    assert version(old.path) == 1
    assert Ledger.verify(old.path) == []


def test_after_a_failure_the_copy_is_made_anew(old, monkeypatch):
    monkeypatch.setitem(ledger_schema.STEPS, 1, half_way)
    with pytest.raises(LedgerError):
        old.record(1, "g01", "prechecked")
    monkeypatch.undo()
    old.order(BOB, "pause", "after the failure, still in the old form")
    old.record(1, "g01", "prechecked")
    assert version(old.path) == ledger_schema.VERSION
    assert len(Ledger.open(f"{old.path}.schema-1").events()) == len(old.events()) - 1


def test_without_room_for_the_copy_nothing_is_changed(old, monkeypatch):
    def full(path, fill, put):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_file, "_create", full)
    with pytest.raises(
        LedgerError, match=r"schema-1: no copy could be made: .*No space left.*; the ledger is as it was"
    ):
        old.record(1, "g01", "prechecked")
    assert version(old.path) == 1
    assert old.state_of("g01") == "admitted"


def test_a_controller_that_was_taken_over_does_not_bring_it_to_this_version(old):
    late = Ledger.open(old.path, clock=lambda: START + 100, alive=lambda pid: True)
    assert late.take_lease(BOB, ttl=60) == 2
    assert version(old.path) == ledger_schema.VERSION


def test_a_ledger_that_became_newer_while_it_was_open_is_not_written(tmp_path):
    ledger = new_ledger(tmp_path)
    epoch = ledger.take_lease(ANNA, ttl=60)
    sql(ledger.path, "PRAGMA user_version = 3")
    with pytest.raises(LedgerError, match=r"written by a newer version of the collection \(schema 3\)"):
        ledger.record(epoch, "g01", "admitted")
    assert ledger.state_of("g01") == "planned"
