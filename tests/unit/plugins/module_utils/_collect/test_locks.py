# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds a lock of the package manager."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.locks import lock_holder, pids
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

LOCKS = """1: POSIX  ADVISORY  WRITE 812 08:01:1835012 0 EOF
1: -> POSIX  ADVISORY  WRITE 913 08:01:1835012 0 EOF
2: POSIX  ADVISORY  READ  700 08:01:77 128 128
3: FLOCK  ADVISORY  WRITE 600 00:19:41 0 EOF
"""
DPKG, APT = "/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock"


def ask(locks, open_files):
    problems = []
    links = {f"/proc/{pid}/fd/{number}": path for number, (pid, path) in enumerate(open_files)}
    host = RecordedHost({"files": {"/proc/locks": locks} if locks is not None else {}, "links": links})
    return lock_holder(Reading(host, problems, "rocm")), problems


def test_the_holder_is_the_process_with_a_lock_and_the_file_open():
    assert ask(LOCKS, [(812, "/dev/null"), (812, DPKG)]) == ({"pid": 812, "path": DPKG}, [])


def test_of_several_locks_that_of_dpkg_is_told():
    assert ask(LOCKS, [(600, APT), (812, DPKG)])[0] == {"pid": 812, "path": DPKG}


@pytest.mark.parametrize("open_files", [[(913, DPKG)], [(700, DPKG)], [(55, DPKG)], [(812, "/srv/lock")], []])
def test_who_waits_reads_or_locks_another_file_holds_nothing(open_files):
    assert ask(LOCKS, open_files) == (None, [])


def test_locks_that_cannot_be_read_have_a_row_and_no_list_at_all_has_none():
    assert [row["reason"] for row in ask({"error": "EACCES"}, [])[1]] == ["OSError: EACCES"]
    assert ask(None, [(812, DPKG)]) == (None, [])


@given(st.text(max_size=80))
def test_no_list_of_locks_makes_up_a_process(text):
    assert all(str(pid) in text for pid in pids(text))
