# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator meets at the border: a ledger that cannot be trusted, a full disk, a clock that jumps.

One clear error, nothing touched on any node, and nothing lost of what was recorded.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.integration.waves import playbook_lab

HOUR = 3600.0
ELSEWHERE = {"who": "bob", "host": "ctl2", "pid": 7}
HERE = {"who": getpass.getuser(), "host": socket.gethostname(), "pid": 2**22 + 1}
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
# The first run meets a full disk, the second finds room again; what the first one left is kept beside it.
STORY = """mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && cd "$1" && shift
"$@" > first.log 2>&1; echo $? > first.rc
cp -a records/rollouts kept
mount -o remount,size=64m records/rollouts
"$@" > second.log 2>&1; echo $? > second.rc
cp -a records/rollouts/. after
"""


@pytest.fixture
def planned(lab):
    """A laboratory, and a plan for all of its nodes."""
    made = lab.play("plan", target=lab.target, policy=playbook_lab.POLICY)
    assert made.rc == 0, made.output
    return lab, next((lab.records / "plans").glob("*.json"))


def begin(lab, path, owner=HERE, ahead=0.0, release=True):
    """A rollout that another controller has begun, by a clock so many seconds ahead of ours; its ledger's file."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    place = lab.records / "rollouts" / plan["plan_id"] / "ledger.sqlite"
    ledger = Ledger.create(place, plan, clock=lambda: time.time() + ahead)
    epoch = ledger.take_lease(owner, ttl=60)
    ledger.record(epoch, "g1", "admitted", reason="wave 1")
    if release:
        ledger.release_lease(epoch)
    return place


def newer(place):
    with closing(sqlite3.connect(place)) as db, db:
        db.execute("PRAGMA user_version = 99")


def rewritten(place):
    with closing(sqlite3.connect(place)) as db, db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE events SET reason = 'wave 2' WHERE state = 'admitted'")
        for _, sql in guards:
            db.execute(sql)


def cut_short(place):
    place.write_bytes(place.read_bytes()[:-3000])


DAMAGE = {
    "newer_schema": (newer, "written by a newer version of the collection"),
    "damaged_row": (rewritten, "event 3"),
    "half_a_file": (cut_short, "ledger.sqlite"),
}


@pytest.mark.parametrize("playbook", ["upgrade", "rollback"])
@pytest.mark.parametrize("name", DAMAGE)
def test_a_ledger_that_cannot_be_trusted_is_one_error_and_stays_as_it_is(planned, name, playbook):
    lab, plan = planned
    damage, text = DAMAGE[name]
    damage(place := begin(lab, plan))
    before = place.read_bytes()
    run = lab.play(playbook, **({"plan": str(plan)} if playbook == "upgrade" else {}))
    assert (run.rc, len(run.errors())) == (2, 1), run.output
    assert str(place) in run.errors()[0]
    assert text in run.errors()[0]
    assert (lab.whose(playbook_lab.TOUCHING), place.read_bytes()) == ("", before)


def test_a_clock_that_is_behind_takes_no_lease_from_another_controller(planned):
    lab, plan = planned
    place = begin(lab, plan, ELSEWHERE, ahead=HOUR, release=False)
    events = Ledger.open(place).events()
    run = lab.play("upgrade", plan=str(plan))
    assert (run.rc, len(run.errors())) == (2, 1), run.output
    assert "one of the two clocks is wrong" in run.errors()[0]
    assert lab.whose(playbook_lab.TOUCHING) == ""
    assert Ledger.open(place).events() == events


def test_a_clock_that_went_back_between_two_runs_stops_nothing_and_loses_nothing(planned):
    lab, plan = planned
    place = begin(lab, plan, ahead=HOUR)
    run = lab.play("upgrade", plan=str(plan))
    assert run.rc == 0, run.output
    ledger = Ledger.open(place)
    assert ledger.verify_chain() == []
    assert ledger.events()[2]["reason"] == "wave 1"
    assert {row["state"] for row in ledger.nodes().values()} == {"in_service"}


@pytest.fixture
def filled(planned):
    """An upgrade whose ledger has a disk of its own that fills up, and the same command with room again."""
    lab, plan = planned
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("this system gives no namespace of mounts")
    (lab.records / "rollouts").mkdir()
    words = ["sh", "-c", STORY, "sh", "150k", str(lab.records / "rollouts"), str(lab.folder)]
    told = lab.play("upgrade", before=[*NAMESPACE, *words], plan=str(plan))
    if "mount: " in told.output:
        pytest.skip("no disk can be mounted here")
    return lab


def logged(lab, name):
    """Status and output of one of the two runs."""
    log = (lab.folder / f"{name}.log").read_text(encoding="utf-8")
    return playbook_lab.Run(int((lab.folder / f"{name}.rc").read_text(encoding="ascii")), log)


def test_a_full_disk_under_the_ledger_stops_the_rollout_and_with_room_it_goes_on(filled):
    first, second = logged(filled, "first"), logged(filled, "second")
    kept, after = (next((filled.folder / name).glob("*/ledger.sqlite")) for name in ("kept", "after"))
    assert first.rc != 0, first.output
    assert "Traceback" not in first.output
    assert "fix: " in first.errors()[0]
    events = Ledger.open(kept).events()
    assert Ledger.open(after).events()[: len(events)] == events
    assert Ledger.verify(str(after)) == []
    assert second.rc == 0, second.output
    assert {row["state"] for row in Ledger.open(after).nodes().values()} == {"in_service"}
