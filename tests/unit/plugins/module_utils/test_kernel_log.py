# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel log in any of its forms becomes the same records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import lost, parse, starts_with_boot
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import count

TEXT = "amdgpu 0000:63:00.0: amdgpu: GPU reset begin!"
FORMS = {
    "kmsg": (f"3,2210,4053154882,-;{TEXT}", 4053.154882),
    "kmsg with a caller": (f"3,2210,4053154882,-,caller=T812;{TEXT}", 4053.154882),
    "dmesg": (f"[ 4053.154882] {TEXT}", 4053.154882),
    "dmesg with levels": (f"<3>[ 4053.154882] {TEXT}", 4053.154882),
    "dmesg of a kernel that names the caller": (f"[ 4053.154882][  T812] {TEXT}", 4053.154882),
    "dmesg -d": (f"[ 4053.154882 <    0.000012>] {TEXT}", 4053.154882),
    "dmesg -T": (f"[Mon Dec 18 08:34:36 2023] {TEXT}", None),
    "dmesg -x": (f"kern  :err   : [ 4053.154882] {TEXT}", 4053.154882),
    "dmesg -x of another level": (f"kern  :emerg : [ 4053.154882] {TEXT}", 4053.154882),
    "dmesg -x --time-format iso": (f"kern  :err   : 2026-01-07T10:00:00,123456-06:00 {TEXT}", None),
    "dmesg --time-format iso": (f"2026-01-07T10:00:00,123456-06:00 {TEXT}", None),
    "journalctl": (f"May 26 18:09:55 node01 kernel: {TEXT}", None),
    "journalctl -o short-iso": (f"2026-01-07T10:00:00-0600 node01 kernel: {TEXT}", None),
    "journalctl -o short-monotonic": (f"[ 4053.154882] node01 kernel: {TEXT}", 4053.154882),
    "syslog": (f"May  6 18:09:55 node01 kernel: [ 4053.154882] {TEXT}", 4053.154882),
    "rsyslog": (f"2026-01-07T10:00:00.123456+00:00 node01 kernel: {TEXT}", None),
    "clock time": (f"16:32:32 {TEXT}", None),
    "bare": (TEXT, None),
    "journalctl -o json": (
        json.dumps({"MESSAGE": TEXT, "_SOURCE_MONOTONIC_TIMESTAMP": "4053154882", "__MONOTONIC_TIMESTAMP": "9"}),
        4053.154882,
    ),
    "journalctl -o json, bytes": (
        json.dumps({"MESSAGE": list(TEXT.encode()), "__MONOTONIC_TIMESTAMP": "4053154882"}),
        4053.154882,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_text_and_the_time_are_the_same_in_every_form(form):
    line, seconds = FORMS[form]
    (record,) = parse(f"{line}\r\n" if form == "dmesg" else f"{line}\n")
    assert (record.time, record.text, record.kernel) == (seconds, TEXT, True)


def test_lines_with_the_properties_of_a_record_are_part_of_it():
    log = "6,0,0,-;first\n SUBSYSTEM=pci\n DEVICE=+pci:0000:63:00.0\n6,1,5,-;second\n"
    assert [(record.text, record.device) for record in parse(log)] == [("first", "0000:63:00.0"), ("second", None)]


def test_an_escaped_character_is_that_character():
    assert parse("6,0,0,-;a\\x5cb\\x09c\\x20d")[0].text == "a\\b\tc d"


@pytest.mark.parametrize("line", ["12,0,0,-;", "user  :info  : [ 1.000000] ", "daemon:warn  : "])
def test_what_a_program_wrote_into_the_log_is_not_the_kernels_word(line):
    tally = count(parse(f"{line}{TEXT}"))
    assert (len(parse(f"{line}{TEXT}")), tally.rows) == (1, {})


@pytest.mark.parametrize(
    ("numbers", "missing"), [([0, 1, 2], (0, 0)), ([512, 513], (512, 0)), ([0, 1, 7], (0, 5)), ([3, 9], (3, 5))]
)
def test_the_numbers_of_the_records_tell_what_is_lost(numbers, missing):
    assert lost(parse("".join(f"6,{number},0,-;x\n" for number in numbers))) == missing


def test_a_log_without_numbers_tells_by_its_first_lines_whether_it_is_whole():
    assert starts_with_boot(parse("[    0.000000] Linux version 6.8.0\n[    0.1] x"))
    assert not starts_with_boot(parse("[    9.000000] usb 1-1: new device"))
    assert lost(parse("[    0.000000] x")) == (0, 0)


def test_a_message_the_journal_leaves_out_is_an_empty_one():
    assert [record.text for record in parse('{"MESSAGE": null, "__MONOTONIC_TIMESTAMP": "x"}')] == [""]


PIECES = st.one_of(
    st.binary(max_size=200),
    st.sampled_from([line.encode() + b"\n" for line, _time in FORMS.values()]),
    st.sampled_from([
        b"\n", b" DEVICE=+pci:", b"3,1,1,-;", b"{1}[Hardware Error]:  event severity: fatal\n", b"[Hardware Error]: ",
        b"amdgpu 0000:63:00.0: amdgpu: GPU reset(1) succeeded!\n", b'{"MESSAGE": [300, -1, null, 65], "a": ',
        b"{1}[Hardware Error]:   device_id: 0000:20:03.1\n", b"RAS records:9999999999999999999999 exceed threshold:1\n",
    ]),
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map(b"".join))
def test_any_bytes_are_a_log_with_no_more_of_anything_than_lines(content):
    records = parse(content.decode("utf-8", "replace"))
    tally = count(records)
    lines = content.count(b"\n") + 1
    assert len(records) <= lines
    assert all(row.open <= row.count <= lines and len(row.sample) <= 200 for row in tally.rows.values())
