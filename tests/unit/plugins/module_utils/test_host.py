# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam on a real file system."""

from __future__ import annotations

import os

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils import _host
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (
    CommandFailed,
    TransactionFailed,
    Unreadable,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host


def mode(path):
    return os.stat(path).st_mode & 0o777


def test_a_new_file_may_be_read_by_all_and_a_replaced_one_keeps_its_mode(tmp_path):
    path = tmp_path / "a" / "rocm.list"
    Host().write_bytes(str(path), b"1")
    assert mode(path) == 0o644
    path.chmod(0o600)
    Host().write_bytes(str(path), b"2")
    assert (mode(path), path.read_bytes()) == (0o600, b"2")


def test_a_given_mode_counts(tmp_path):
    path = tmp_path / "x"
    path.touch(0o644)
    Host().write_bytes(str(path), b"1", 0o640)
    assert Host().stat(str(path))[:2] == (1, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "x"
    path.touch(0o640)
    os.chown(path, 0, 4)
    Host().write_bytes(str(path), b"1")
    assert (path.stat().st_gid, mode(path)) == (4, 0o640)


def test_what_is_not_there_has_no_size(tmp_path):
    with pytest.raises(Unreadable) as caught:
        Host().stat(str(tmp_path / "x"))
    assert caught.value.missing is True


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(TransactionFailed, match="folder: cannot be written"):
        Host().write_bytes(str(tmp_path / "folder"), b"1")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_program_that_does_not_end_is_given_up_though_its_child_keeps_the_pipe(monkeypatch):
    monkeypatch.setattr(_host, "_LAST_WORDS_SECONDS", 0.2)
    with pytest.raises(CommandFailed, match="no end after 0 s"):
        Host().run(["sh", "-c", "echo begun; sleep 2 & wait"], timeout=0.3)


def test_what_a_program_printed_before_it_was_given_up_is_kept():
    with pytest.raises(CommandFailed) as caught:
        Host().run(["sh", "-c", "echo begun; exec sleep 30"], timeout=0.3)
    assert caught.value.output == "begun\n"


@pytest.mark.parametrize(
    ("offset", "size", "part"), [(0, 3, b"abc"), (2, 2, b"cd"), (-2, 9, b"ef"), (-99, 3, b"abc"), (9, 1, b"")]
)
def test_of_a_large_file_only_a_range_is_read(tmp_path, offset, size, part):
    (tmp_path / "x").write_bytes(b"abcdef")
    assert Host().read_range(str(tmp_path / "x"), offset, size) == part


def test_records_are_read_until_there_are_no_more_and_never_waited_for():
    reader, writer = os.pipe()
    os.write(writer, b"6,0,0,-;one\n")
    assert Host().read_records(f"/proc/self/fd/{reader}", 1 << 20, 5.0) == b"6,0,0,-;one\n"
    os.close(writer)


def test_of_a_flood_of_records_no_more_is_read_than_the_limit(tmp_path):
    (tmp_path / "kmsg").write_bytes(b"x" * (1 << 20))
    assert len(Host().read_records(str(tmp_path / "kmsg"), 100_000, 5.0)) < 1 << 18


def test_records_that_may_not_be_read_are_told(tmp_path):
    with pytest.raises(Unreadable) as caught:
        Host().read_records(str(tmp_path / "kmsg"), 10, 1.0)
    assert caught.value.missing is True
