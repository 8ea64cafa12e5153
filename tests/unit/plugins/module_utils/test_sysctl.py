# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of sysctl set, in the order in which they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._sysctl import configured, dotted, files, pairs
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

KEY = "kernel.numa_balancing"


def asked(texts, links=None):
    return configured(RecordedHost({"files": texts, "links": links or {}}), (KEY,)).get(KEY)


@pytest.mark.parametrize(
    "paths, winner",
    [
        (["/etc/sysctl.d/10-a.conf", "/usr/lib/sysctl.d/50-b.conf"], "/usr/lib/sysctl.d/50-b.conf"),
        (["/etc/sysctl.d/50-a.conf", "/usr/lib/sysctl.d/50-a.conf"], "/etc/sysctl.d/50-a.conf"),
        (["/run/sysctl.d/50-a.conf", "/usr/lib/sysctl.d/50-a.conf"], "/run/sysctl.d/50-a.conf"),
        (["/etc/sysctl.d/99-a.conf", "/etc/sysctl.conf"], "/etc/sysctl.conf"),
        (["/etc/sysctl.d/10-a.conf", "/etc/sysctl.d/90-a.conf.rpmsave"], "/etc/sysctl.d/10-a.conf"),
    ],
)
def test_the_file_that_is_read_last_wins_and_a_name_is_read_once(paths, winner):
    assert asked(dict.fromkeys(paths, f"{KEY} = 0\n")) == (winner, "0")


def test_a_file_linked_to_nothing_hides_the_one_below_it():
    texts = {"/usr/lib/sysctl.d/50-a.conf": f"{KEY}=1\n", "/dev/null": ""}
    assert asked(texts, {"/etc/sysctl.d/50-a.conf": "/dev/null"}) is None


@pytest.mark.parametrize(
    "text, found",
    [("kernel/numa_balancing=0", [(KEY, "0")]), ("-kernel.numa_balancing = 1 ", [(KEY, "1")]), ("# a=1\n;b=2\nc\n", []),
     ("net.ipv4.tcp_rmem = 4096\t87380 6291456", [("net.ipv4.tcp_rmem", "4096 87380 6291456")])],
)  # fmt: skip
def test_lines_are_read_as_sysctl_reads_them(text, found):
    assert pairs(text) == found


def test_a_dot_in_a_name_survives_the_form_with_slashes():
    assert dotted("net/ipv4/conf/eth0.1/forwarding") == "net.ipv4.conf.eth0/1.forwarding"


def test_a_file_that_is_there_and_cannot_be_read_is_an_error():
    with pytest.raises(Unreadable):
        asked({"/etc/sysctl.d/a.conf": {"error": "EIO"}})


def test_no_files_at_all_set_nothing():
    assert (files(RecordedHost({})), asked({"/etc/hostname": ""})) == ([], None)


@given(st.text(max_size=100))
def test_no_text_upsets_the_reader_or_makes_it_invent_a_value(text):
    assert all(value in " ".join(text.split()) for _key, value in pairs(text))
