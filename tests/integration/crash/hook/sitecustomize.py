# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python loads this file in a controller under test, whose PYTHONPATH has its folder; the product knows nothing of it.

It writes every transaction of the ledger into the file CRASH_LOG, as a JSON line, and kills the controller at the one
that CRASH_AT names: ``{"write": [node, kind, state, which], "when": "before" or "after", "whom": "all", "alone" or a
command}``: all of its processes, only the one that the operator started, or none, and a command is run in its stead. A
write is named by the node ("rollout" for the rollout itself), the kind and the state of its event (of a note the end of
what it says, without numbers), and which of those it is in this run, from 1.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

MAIN = os.getpid()  # Ansible forks its workers, and they keep this
LONGEST_PAUSE = 0.2  # seconds: a simulated node boots in less than a controller waits between two looks at it
NEW = "SELECT coalesce(node, 'rollout'), kind, state, reason FROM events WHERE id > ? ORDER BY id"


class Watched(sqlite3.Connection):
    """A connection that says what it commits."""

    seen = 0
    written: tuple = ()  # the lines of a new ledger, which is there only once its draft has got its name

    def execute(self, sql, *parameters):
        if sql == "COMMIT":
            return self._commit()
        result = super().execute(sql, *parameters)
        if sql == "BEGIN IMMEDIATE":
            self.seen = self._last()
        return result

    def _commit(self):
        with in_turn() as log:
            names = name_writes(log, self._new_events())
            end_if(names, "before")
            result = super().execute("COMMIT")
            log.writelines(json.dumps(name) + "\n" for name in names)
            log.flush()
            if is_draft(self):
                Watched.written = names
            else:
                end_if(names, "after")
        return result

    def _last(self):
        with suppress(sqlite3.OperationalError):  # a new ledger has no tables yet
            return super().execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        return 0

    def _new_events(self):
        rows = super().execute(NEW, (self.seen,)).fetchall()
        return [(node, kind, state or said(reason)) for node, kind, state, reason in rows] or [("rollout", "lease", "")]


def said(reason):
    """What is the same in each run of what a note says: its last words."""
    return " ".join("N" if any(map(str.isdigit, word)) else word for word in reason.split()[-2:])


def is_draft(db):
    """Whether a connection writes a ledger that has not got its name yet."""
    file = sqlite3.Connection.execute(db, "PRAGMA database_list").fetchone()[2]
    return os.path.basename(file).startswith(".ledger-")


@contextmanager
def in_turn():
    """The log, while no other process of the controller may commit."""
    with open(os.environ["CRASH_LOG"], "a+", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield log


def name_writes(log, rows):
    """The names of these writes: what they are, and which of its kind in this run each is."""
    log.seek(0)
    earlier = [tuple(json.loads(line)[:3]) for line in log]
    names = []
    for row in rows:
        earlier.append(row)
        names.append([*row, earlier.count(row)])
    return names


def end_if(names, when):
    """Kill the controller where it is to die at one of these writes, at this side of the commit."""
    wanted = json.loads(os.environ.get("CRASH_AT") or "{}")
    if wanted.get("when") == when and wanted["write"] in names:
        act(wanted["whom"])


def act(whom):
    """Do what is to be done at this place."""
    if whom == "all":
        end_all()
    elif whom == "alone":
        os.kill(MAIN, signal.SIGKILL)
    else:
        subprocess.run(whom, check=True, stdin=subprocess.DEVNULL)


def end_all():
    """SIGKILL for the controller, its workers and their connections, as a machine that stops would end them."""
    os.kill(MAIN, signal.SIGSTOP)  # it must not fork while its children are counted
    for pid in [MAIN, *below(MAIN)]:
        if pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def below(pid):
    """Every process that descends from this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def link(source, target, *words, **options):
    """os.link, after which a new ledger is there."""
    real_link(source, target, *words, **options)
    if os.path.basename(os.fspath(target)) == "ledger.sqlite":
        end_if(Watched.written, "after")


def load_the_one_behind():
    """A Python may have a file of this name itself."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        path = os.path.join(folder or ".", "sitecustomize.py")
        if os.path.abspath(folder or ".") != here and os.path.isfile(path):
            exec(compile(Path(path).read_bytes(), path, "exec"), {"__name__": "sitecustomize", "__file__": path})
            return


load_the_one_behind()
if os.environ.get("CRASH_LOG"):
    real_link, os.link = os.link, link
    sqlite3.connect = functools.partial(sqlite3.connect, factory=Watched)
    real_sleep = time.sleep
    time.sleep = lambda seconds: real_sleep(min(seconds, LONGEST_PAUSE))
