# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger remembers, through kills and many writers, and says so when it cannot be trusted."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import time
from contextlib import closing

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain
from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger as ledger_file
from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger_file as ledger_store
from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import LeaseHeld, StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import SPINE, StateError

ANNA = {"who": "anna", "host": "ctl1", "pid": 100}
BOB = {"who": "bob", "host": "ctl2", "pid": 200}
PLAN = {"schema": 1, "plan_id": "0123456789ab",
        "nodes": {"g01": {"wave": 1}, "g02": {"wave": 2}, **{f"n{i:02}": {"wave": 3} for i in range(20)}}}
FORK = multiprocessing.get_context("fork")


class Clock:
    def __init__(self):
        self.now = 1_796_099_400.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    return Ledger.create(tmp_path / "rollouts" / "x" / "ledger.sqlite", PLAN, ANNA, clock, alive=lambda pid: True)


@pytest.fixture
def epoch(ledger):
    return ledger.take_lease(ANNA, ttl=60)


def go(ledger, epoch, node, *names, **more):
    for name in names:
        ledger.record(epoch, node, name, **more)


def test_a_new_ledger_has_every_node_as_planned_and_keeps_the_plan(ledger):
    assert set(ledger.nodes()) == set(PLAN["nodes"])
    assert ledger.nodes()["g02"] == {
        "wave": 2, "state": "planned", "updated_at": "2026-12-01T04:30:00.000Z", "reason": "", "has_snapshot": False}
    assert ledger.plan() == PLAN
    assert "begun by anna on ctl1" in ledger.events()[0]["reason"]


def test_colleagues_may_look_at_it_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        path = Ledger.create(tmp_path / "new" / "ledger.sqlite", PLAN).path
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o755


def test_a_node_goes_all_the_way_and_its_story_is_kept(ledger, epoch, clock):
    for name in SPINE[1:]:
        clock.now += 10
        ledger.record(epoch, "g01", name, reason=f"now {name}", data={"step": name})
    assert ledger.state_of("g01") == "in_service"
    story = ledger.events("g01")
    assert [row["state"] for row in story] == list(SPINE[1:])
    assert story[-1]["data"] == {"step": "in_service"}
    assert Ledger.open(ledger.path).verify_chain() == []


def test_an_intent_moves_a_node_into_work_but_not_to_a_result(ledger, epoch):
    go(ledger, epoch, "g01", *SPINE[1:6])
    ledger.record(epoch, "g01", "changing", kind="intent", data={"step": "rocm"})
    assert ledger.state_of("g01") == "changing"
    go(ledger, epoch, "g01", "verifying", "soaking")
    ledger.record(epoch, "g01", "in_service", kind="intent")
    assert ledger.state_of("g01") == "soaking"
    assert ledger.verify_chain() == []


def test_a_step_that_the_state_machine_does_not_have_is_not_written(ledger, epoch):
    with pytest.raises(StateError):
        ledger.record(epoch, "g01", "in_service")
    assert ledger.state_of("g01") == "planned"
    assert ledger.events("g01") == []


def test_a_note_moves_nothing(ledger, epoch):
    ledger.note(epoch, "g01", "waiver used", {"rule": "link.speed"})
    ledger.note(epoch, None, "paused for lunch")
    assert ledger.state_of("g01") == "planned"
    assert [row["reason"] for row in ledger.events()][-2:] == ["waiver used", "paused for lunch"]


@pytest.mark.parametrize("call", [
    lambda book, epoch: book.record(epoch, "g99", "admitted"), lambda book, epoch: book.state_of("g99"),
    lambda book, epoch: book.note(epoch, "g99", "x")])
def test_a_node_that_is_not_part_of_the_rollout_is_refused(ledger, epoch, call):
    with pytest.raises(LedgerError, match="g99 is not part of this rollout"):
        call(ledger, epoch)


def test_credentials_in_an_address_never_get_into_the_file(ledger, epoch):
    text = "https://me:tweety@m.example/x: 401"
    ledger.record(epoch, "g01", "admitted", reason=text, data={"a": [text]})
    ledger.note(epoch, "g01", text, {"b": text})
    with open(ledger.path, "rb") as file:
        assert b"tweety" not in file.read()
    assert ledger.nodes()["g01"]["reason"] == "https://***@m.example/x: 401"
    assert ledger.verify_chain() == []


@pytest.mark.parametrize("data", [
    {"password": "x"}, {"bmc": {"auth_token": "x"}}, {"list": [{"Secret": "x"}]}, {"api_key": "x"},
    {"sudo_passwd": "x"}])
def test_a_secret_in_the_data_is_refused_and_not_repeated(ledger, epoch, data):
    with pytest.raises(LedgerError, match="looks like a secret") as caught:
        ledger.record(epoch, "g01", "admitted", data=data)
    assert "'x'" not in str(caught.value)
    assert ledger.state_of("g01") == "planned"


def test_data_that_is_not_plain_is_refused(ledger, epoch):
    with pytest.raises(LedgerError, match="not plain"):
        ledger.record(epoch, "g01", "admitted", data={"when": object()})
    with pytest.raises(LedgerError, match="intent or outcome"):
        ledger.record(epoch, "g01", "admitted", kind="wish")


def test_a_rollback_goes_back_to_the_first_snapshot_not_to_that_of_a_half_changed_node(ledger, epoch):
    assert ledger.snapshot_of("g01") is None
    go(ledger, epoch, "g01", *SPINE[1:6], data={"rocm": "6.4.4"})
    ledger.record(epoch, "g01", "changing")
    ledger.record(epoch, "g01", "admitted", action="resume")
    go(ledger, epoch, "g01", *SPINE[2:6], data={"rocm": "half"})
    assert ledger.snapshot_of("g01") == {"rocm": "6.4.4"}
    assert ledger.nodes()["g01"]["has_snapshot"]


def test_a_restored_node_that_is_tried_again_gets_a_new_snapshot(ledger, epoch):
    go(ledger, epoch, "g01", *SPINE[1:6], "failed", "rolling_back", "verifying_old", "restored", data={"n": 1})
    ledger.record(epoch, "g01", "requeued", action="retry", reason="the mirror was down")
    ledger.record(epoch, "g01", "admitted")
    assert not ledger.nodes()["g01"]["has_snapshot"]
    go(ledger, epoch, "g01", *SPINE[2:6], data={"n": 2})
    assert ledger.snapshot_of("g01") == {"n": 2}


def test_a_second_operator_is_refused_while_the_first_is_at_work(ledger, epoch, clock):
    with pytest.raises(LeaseHeld, match="anna on ctl1"):
        ledger.take_lease(BOB, ttl=60)
    clock.now += 50
    ledger.record(epoch, "g01", "admitted")  # prolongs it
    clock.now += 50
    with pytest.raises(LeaseHeld):
        ledger.take_lease(BOB, ttl=60)


def test_a_controller_that_slept_past_its_lease_cannot_write_after_the_takeover(ledger, epoch, clock):
    clock.now += 61
    assert ledger.take_lease(BOB, ttl=60) == epoch + 1
    for write in (lambda: ledger.record(epoch, "g01", "admitted"), lambda: ledger.note(epoch, None, "hello"),
                  lambda: ledger.release_lease(epoch)):
        with pytest.raises(StaleController, match="bob on ctl2"):
            write()
    assert ledger.state_of("g01") == "planned"


def test_a_controller_that_was_killed_is_replaced_at_once_on_the_same_machine(ledger, epoch, clock):
    after = Ledger.open(ledger.path, clock, alive=lambda pid: False)
    assert after.take_lease({**ANNA, "pid": 101}, ttl=60) == 2


def test_a_lease_that_was_given_back_can_be_taken_but_not_written_with(ledger, epoch):
    ledger.release_lease(epoch)
    assert ledger.holder()["expires_at"] is None
    with pytest.raises(StaleController, match="given back"):
        ledger.record(epoch, "g01", "admitted")
    assert ledger.take_lease(BOB, ttl=60) == 2
    assert ledger.holder()["who"] == "bob"


def test_a_ledger_is_not_made_twice(ledger, epoch):
    ledger.record(epoch, "g01", "admitted")
    with pytest.raises(LedgerError, match="there is a ledger already"):
        Ledger.create(ledger.path, PLAN)
    assert ledger.state_of("g01") == "admitted"
    assert os.listdir(os.path.dirname(ledger.path)) == ["ledger.sqlite"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.create(tmp_path / "file" / "ledger.sqlite", PLAN)


def damage(ledger, statement):
    with closing(sqlite3.connect(ledger.path)) as db:
        db.executescript("DROP TRIGGER no_update; DROP TRIGGER no_delete; PRAGMA foreign_keys = OFF;" + statement)


DAMAGE = {
    "UPDATE events SET reason = 'all fine' WHERE id = 3;": "event 3 does not match its hash",
    "DELETE FROM events WHERE id = 3;": "event 3 is missing",
    "DELETE FROM events WHERE id = 4;": r"g01 is prechecked .*, but its events say admitted",
    "UPDATE nodes SET state = 'in_service' WHERE node = 'g01';":
        r"g01 is in_service .*, but its events say prechecked",
    "UPDATE nodes SET reason = 'all fine' WHERE node = 'g01';": "g01 is prechecked .*'all fine'",
    "UPDATE nodes SET wave = 7 WHERE node = 'g02';":
        r"g02 is planned \(wave 7, .*, but its events say planned \(wave 2",
    "DELETE FROM nodes WHERE node = 'g02';": "g02 is not there, but",
    "UPDATE rollout SET plan = '{}';": "the plan is not the one",
    "UPDATE events SET data = 'no json' WHERE id = 1;": "event 1 does not match its hash",
    "DELETE FROM rollout;": "there is no rollout in it",
    "DROP TABLE events;": "events is not what it should be",
    "PRAGMA user_version = 9;": r"written by a newer version of the collection \(schema 9\); nothing was touched",
    "PRAGMA user_version = 0;": r"not a ledger \(kind 0x464c4f31, schema 0\)",
    "UPDATE events SET data = x'00' WHERE id = 4;": "event 4 does not match its hash",
    "UPDATE events SET reason = CAST(x'80' AS TEXT) WHERE id = 4;": "event 4 does not match its hash",
    "UPDATE events SET hash = 'x' WHERE id = 4;": "event 4 does not match its hash",
    "UPDATE events SET prev_hash = 'x' WHERE id = 4;": "event 4 does not follow the one before it",
    "UPDATE lease SET expires_at = 9e12;": "the lease of 'anna' does not match its seal",
    "UPDATE lease SET seal = 'x';": "the lease of 'anna' does not match its seal",
    "UPDATE rollout SET plan_id = 'x';": "the id or the date of the rollout",
    "UPDATE rollout SET created_at = 'x';": "the id or the date of the rollout",
    "UPDATE nodes SET node = 'g99' WHERE node = 'g02';": "g02 is not there, but",
    "CREATE TABLE more (x);": "more is not what it should be",
    "DROP INDEX events_by_node;": "events_by_node is not what it should be",
    "PRAGMA application_id = 7;": "not a ledger",
}


@pytest.mark.parametrize("statement, seen", DAMAGE.items())
def test_a_damaged_ledger_is_refused_with_what_is_wrong_and_what_to_do(ledger, epoch, statement, seen):
    go(ledger, epoch, "g01", "admitted", "prechecked")
    damage(ledger, statement)
    with pytest.raises(LedgerError, match=seen) as caught:
        Ledger.open(ledger.path)
    assert str(caught.value).startswith(ledger.path)
    assert "fix: " in str(caught.value)


FILES = {
    "missing": (None, "there is no ledger"),
    "empty": (b"", "is empty"),
    "half a header": (b"SQLite fo", "is cut short"),
    "header only": (b"SQLite format 3\0" + bytes(30), "is cut short|is not a database"),
    "a text": (b"state: in_service\n" * 20, "is not a database"),
    "another database": ("sqlite", r"a database, but not a ledger \(kind 0x0, schema 0\)"),
}


@pytest.mark.parametrize("content, seen", FILES.values(), ids=FILES)
def test_a_file_that_is_no_ledger_is_refused_and_not_touched(tmp_path, content, seen):
    path = tmp_path / "ledger.sqlite"
    if content == "sqlite":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE t (x)")
    elif content is not None:
        path.write_bytes(content)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(LedgerError, match=seen):
        Ledger.open(path)
    assert (path.read_bytes() if path.exists() else None) == before
    assert os.listdir(tmp_path) in ([], ["ledger.sqlite"])


def test_a_directory_in_the_place_of_the_ledger_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be read: Is a directory"):
        Ledger.open(tmp_path)


@pytest.mark.parametrize("keep", [1000, 4096, 5000, 8192, 20480])
def test_a_ledger_that_is_cut_short_is_refused(ledger, epoch, keep):
    go(ledger, epoch, "g01", "admitted", "prechecked")
    os.truncate(ledger.path, keep)
    with pytest.raises(LedgerError, match="fix: "):
        Ledger.open(ledger.path)


def test_a_flipped_byte_of_an_event_or_a_node_is_seen(ledger, epoch):
    reason = b"a reason that can be found in the file"
    ledger.record(epoch, "g01", "admitted", reason=reason.decode())
    with open(ledger.path, "rb") as stream:
        content = stream.read()
    places = [at for at in range(len(content)) if content.startswith(reason, at)]
    assert len(places) == 2  # the event and the node
    for at in places:
        with open(ledger.path, "wb") as stream:
            stream.write(content[:at] + b"A" + content[at + 1:])
        with pytest.raises(LedgerError, match=r"event 3 does not match its hash|g01 is admitted"):
            Ledger.open(ledger.path)


def test_a_long_ledger_is_proven_in_part_when_opened_and_whole_before_a_controller_goes_on(ledger, epoch, monkeypatch):
    monkeypatch.setattr(ledger_file, "TAIL", 3)
    for number in range(10):
        ledger.note(epoch, "g01", f"note {number}")
    damage(ledger, "UPDATE events SET reason = 'never' WHERE id = 4;")
    late = Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match="event 4 does not match"):
        late.take_lease(BOB, ttl=60)


def test_events_cannot_be_changed_by_accident(ledger):
    with closing(sqlite3.connect(ledger.path)) as db, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        db.execute("UPDATE events SET reason = 'x'")


def write_a_lot(path, epoch, node):
    ledger = Ledger.open(path)
    for name in SPINE[1:]:
        ledger.record(epoch, node, name, reason=f"pid {os.getpid()}")


def test_twenty_forked_workers_write_at_once_and_the_chain_is_whole(ledger):
    epoch = ledger.take_lease(ANNA, ttl=1e9)
    nodes = [f"n{i:02}" for i in range(20)]
    workers = [FORK.Process(target=write_a_lot, args=(ledger.path, epoch, node)) for node in nodes]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * 20
    assert {ledger.state_of(node) for node in nodes} == {"in_service"}
    assert Ledger.open(ledger.path).verify_chain() == []


def write_for_ever(path, epoch):
    ledger = Ledger.open(path)
    while True:
        ledger.note(epoch, "g01", "x" * 500)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_writer_killed_at_any_moment_leaves_a_whole_ledger(ledger, delay):
    epoch = ledger.take_lease(ANNA, ttl=1e9)
    worker = FORK.Process(target=write_for_ever, args=(ledger.path, epoch))
    worker.start()
    while len(ledger.events("g01")) < 2:
        time.sleep(0.005)
    time.sleep(delay)
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(10)
    after = Ledger.open(ledger.path)
    assert after.verify_chain() == []
    after.record(epoch, "g01", "admitted")


def look_as_nobody(path, answers):
    os.setgid(65534)
    os.setuid(65534)
    try:
        answers.put(Ledger.open(path).state_of("g01"))
        Ledger.open(path).record(1, "g01", "prechecked")
    except FleetError as error:
        answers.put(str(error))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_colleague_without_rights_can_look_but_not_write(ledger, epoch, tmp_path):
    ledger.record(epoch, "g01", "admitted")
    for directory in (tmp_path, *tmp_path.parents[:3]):
        if str(directory).startswith("/tmp/"):
            os.chmod(directory, 0o755)
    answers = FORK.Queue()
    worker = FORK.Process(target=look_as_nobody, args=(ledger.path, answers))
    worker.start()
    assert answers.get(timeout=20) == "admitted"
    assert "readonly" in answers.get(timeout=20)
    worker.join(10)


def test_a_copy_of_the_ledger_is_as_good_as_the_ledger(ledger, epoch, tmp_path):
    ledger.record(epoch, "g01", "admitted")
    shutil.copy(ledger.path, tmp_path / "copy.sqlite")
    assert Ledger.open(tmp_path / "copy.sqlite").state_of("g01") == "admitted"


def test_a_file_that_a_stopped_process_keeps_locked_is_told_as_such(ledger, epoch, monkeypatch):
    monkeypatch.setattr(ledger_store, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"another process has held it.*fix: see which \(fuser -v /.*\)"):
            ledger.record(epoch, "g01", "admitted")
    ledger.record(epoch, "g01", "admitted")


@pytest.mark.parametrize("said", ["database or disk is full", "disk I/O error", "attempt to write a readonly database"])
def test_who_has_a_full_disk_is_not_told_to_move_the_ledger_away(said):
    told = str(chain.unreadable("ledger.sqlite", sqlite3.OperationalError(said)))
    assert said in told
    assert "keep the file" in told
    assert "move its directory away" in str(chain.unreadable("x", sqlite3.DatabaseError("disk image is malformed")))
