# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many events a second twenty writers get into one ledger, beside a bare SQLite loop in the same run.

Run with the collection on the path: PYTHONPATH=COLLECTIONS python tests/bench/ledger.py [FOLDER]

Both write with synchronous=FULL, one transaction per event, and open the file anew for each, as tasks do in forked
workers. Fails below the limit, but not on a disk on which the bare loop is hardly faster than the limit itself.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

LIMIT = 1000.0
FAST_ENOUGH = 1300.0
WRITERS = 20
EVENTS = 150
ROUNDS = 5
NODES = [f"node{number:02d}" for number in range(WRITERS)]
PLAN = {"plan_id": "bench", "nodes": {node: {"wave": 1} for node in NODES}}
FORK = multiprocessing.get_context("fork")


def main(folder: str | None) -> int:
    """Write in turn, round after round, so that a busy moment of the disk meets both; the best round counts."""
    own, bare = [], []
    with tempfile.TemporaryDirectory(prefix="bench-ledger-", dir=folder) as name:
        for number in range(ROUNDS):
            own.append(rate(write_events, new_ledger(Path(name) / f"{number}")))
            bare.append(rate(write_rows, new_table(Path(name) / f"{number}.sqlite")))
            print(f"ledger {own[-1]:.0f}/s, bare loop {bare[-1]:.0f}/s, ratio {own[-1] / bare[-1]:.2f}", flush=True)
    print(f"best of {WRITERS} writers: ledger {max(own):.0f} events/s (limit {LIMIT:.0f}), bare loop {max(bare):.0f}/s")
    return 1 if max(own) < LIMIT and max(bare) > FAST_ENOUGH else 0


def rate(write: Callable[[str, int], None], path: str) -> float:
    """Events a second of all writers together; the time in which they start is not counted."""
    ready = FORK.Barrier(WRITERS + 1)
    workers = [FORK.Process(target=at_once, args=(ready, write, path, number)) for number in range(WRITERS)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - start
    if any(worker.exitcode for worker in workers):
        sys.exit("a writer failed: its rate would mean nothing")
    return WRITERS * EVENTS / took


def at_once(ready, write, path, number):
    """What a worker does: wait for the others, then write."""
    ready.wait()
    write(path, number)


def new_ledger(folder: Path) -> str:
    """A ledger whose lease is epoch 1."""
    ledger = Ledger.create(folder / "ledger.sqlite", PLAN)
    ledger.take_lease({"who": "bench", "host": "here", "pid": 1}, ttl=1e6)
    return ledger.path


def write_events(path: str, number: int) -> None:
    """The events of one writer, as a task writes them."""
    ledger = Ledger.at(path)
    for count in range(EVENTS):
        ledger.note(1, NODES[number], f"step {count} of the work on this node", {"step": count})


def new_table(path: Path) -> str:
    """A file with one table."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT)")
    return str(path)


def write_rows(path: str, number: int) -> None:
    """As many rows of the size of an event, with nothing else done to them."""
    for _count in range(EVENTS):
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO events (text) VALUES (?)", ("x" * 300,))
            db.execute("COMMIT")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
