# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam on a real file system."""

from __future__ import annotations

import os

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import TransactionFailed, Unreadable
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
