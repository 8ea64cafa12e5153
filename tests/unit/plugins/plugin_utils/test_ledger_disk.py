# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A full disk under the ledger: one clear error, nothing that was written is lost, and with room again it goes on."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger_file
from ansible_collections.fleetops.instinct.plugins.plugin_utils.chain import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, PLAN, new_ledger

FULL = r"cannot be used now: database or disk is full; wanted: a disk with room.*fix: look at df"
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
MOUNT = 'mount -t tmpfs -o size=400k tmpfs "$1" && exec "$2" -c "$3" "$1"'
SCRIPT = f"from {__name__} import on_a_small_disk; import sys; on_a_small_disk(sys.argv[1])"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A ledger in whose file there is room for three more pages, until the function that is given with it is called."""
    ledger = new_ledger(tmp_path)
    limit, connect = [pages(ledger) + 3], ledger_file.connect

    def limited(uri):
        db = connect(uri)
        db.execute(f"PRAGMA max_page_count = {limit[0]}")
        return db

    monkeypatch.setattr(ledger_file, "connect", limited)
    return ledger, lambda: limit.__setitem__(0, 100000)


def pages(ledger):
    return os.path.getsize(ledger.path) // 4096


def write_until_it_is_full(ledger, epoch):
    """How many notes there was room for; the error that ended it."""
    for number in range(10000):
        try:
            ledger.note(epoch, "g01", f"note {number} " + "x" * 1000)
        except LedgerError as error:
            return number, error
    raise AssertionError("the disk has no end")


def test_a_full_disk_is_one_clear_error_and_nothing_that_was_written_is_lost(small):
    ledger, _room = small
    epoch = ledger.take_lease(ANNA, ttl=60)
    written, error = write_until_it_is_full(ledger, epoch)
    assert str(error).startswith(ledger.path)
    with pytest.raises(LedgerError, match=FULL):
        ledger.note(epoch, "g01", "x" * 1000)
    assert [row["reason"].split()[1] for row in ledger.events("g01")] == [str(n) for n in range(written)]
    assert Ledger.verify(ledger.path) == []


def test_a_step_that_did_not_fit_has_not_happened(small):
    ledger, _room = small
    epoch = ledger.take_lease(ANNA, ttl=60)
    write_until_it_is_full(ledger, epoch)
    with pytest.raises(LedgerError, match=FULL):
        ledger.record(epoch, "g02", "admitted", data={"much": "x" * 5000})
    assert (ledger.state_of("g02"), ledger.events("g02")) == ("planned", [])


def test_with_room_again_the_next_write_goes_on_where_it_was(small):
    ledger, room = small
    epoch = ledger.take_lease(ANNA, ttl=60)
    written, _error = write_until_it_is_full(ledger, epoch)
    room()
    ledger.record(epoch, "g02", "admitted")
    assert len(ledger.events("g01")) == written
    assert (ledger.state_of("g02"), Ledger.verify(ledger.path)) == ("admitted", [])


def test_a_ledger_that_does_not_fit_is_not_begun(tmp_path, monkeypatch):
    def full(uri):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ledger_file, "connect", full)
    with pytest.raises(LedgerError, match=r"ledger.sqlite: cannot be written: .*full; wanted: a new ledger; fix: look"):
        Ledger.create(tmp_path / "ledger.sqlite", PLAN)
    assert os.listdir(tmp_path) == []


def on_a_small_disk(folder):
    """Run on a disk of 400 KB, in a namespace of its own; what came of it is printed."""
    ledger = Ledger.create(os.path.join(folder, "x", "ledger.sqlite"), PLAN)
    epoch = ledger.take_lease(ANNA, ttl=1e9)
    written, error = write_until_it_is_full(ledger, epoch)
    told = {"written": written, "kept": len(ledger.events("g01")), "faults": Ledger.verify(ledger.path)}
    told |= {"error": str(error), "again": str(write_until_it_is_full(ledger, epoch)[1])}
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    ledger.record(epoch, "g02", "admitted")
    after = [ledger.state_of("g02"), len(ledger.events("g01")), Ledger.verify(ledger.path)]
    print(json.dumps({**told, "after": after}))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("small"))
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("this system gives no namespace of mounts")
    command = [*NAMESPACE, "sh", "-c", MOUNT, "sh", folder, sys.executable, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    if "mount: " in done.stderr:
        pytest.skip("no disk can be mounted here")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_real_disk_that_is_full_says_so(told):
    assert told["written"] > 10
    for text in (told["error"], told["again"]):
        assert "cannot be used now" in text
        assert "look at df" in text


def test_a_real_disk_that_is_full_has_kept_what_was_written(told):
    assert told["kept"] == told["written"]
    assert told["faults"] == []


def test_a_real_disk_with_room_again_takes_the_next_write(told):
    state, notes, faults = told["after"]
    assert (state, faults) == ("admitted", [])
    assert notes >= told["written"]
