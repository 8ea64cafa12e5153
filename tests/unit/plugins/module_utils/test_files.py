# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files as part of a declared set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import (
    THIS_BOOT,
    differing,
    from_record,
    put,
    read_optional,
    remember_for_this_boot,
    remembered,
    render,
    to_record,
)
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@given(st.one_of(st.none(), st.binary(max_size=64), st.text(max_size=64).map(str.encode)))
def test_any_content_comes_back_from_its_record(content):
    assert from_record("/x", to_record(content)) == content


@pytest.mark.parametrize("record", [3, {}, {"text": 3}, {"base64": "%"}, {"base64": None}, [], "x"])
def test_a_record_of_another_form_is_refused_by_path(record):
    with pytest.raises(ParseError, match=r"snapshot, file /x"):
        from_record("/x", record)


def test_no_file_is_none_and_an_unreadable_one_an_error():
    host = RecordedHost({"files": {"/a": "x", "/b": {"error": "EIO"}}})
    assert (read_optional(host, "/a"), read_optional(host, "/c")) == (b"x", None)
    with pytest.raises(Unreadable):
        read_optional(host, "/b")


def test_only_what_differs_is_written_and_none_removes():
    host = RecordedHost({"files": {"/a": b"1", "/b": b"1"}})
    changes = differing({"/a": b"1", "/b": b"1"}, {"/a": b"1", "/b": None, "/c": b"2", "/d": None})
    put(host, changes)
    assert (changes, host.files) == ({"/b": None, "/c": b"2"}, {"/a": b"1", "/c": b"2"})


def test_a_diff_shows_neither_credentials_nor_keys():
    text = render(
        {
            "/etc/apt/x.list": b"deb https://me:secret@m.example/rocm x main",
            "/etc/apt/keyrings/k.asc": b"KEY",
            "/n": None,
        }
    )
    assert "deb https://***@m.example/rocm x main\n" in text
    assert "secret" not in text
    assert "KEY" not in text
    assert "/n" not in text


def test_what_is_kept_for_this_boot_is_the_first_and_ends_with_it():
    host = RecordedHost({"files": {BOOT_ID: "b1\n"}})
    for value in ("first", "second"):
        remember_for_this_boot(host, "driver", value)
    assert (remembered(host, "driver"), remembered(host, "other")) == ("first", None)
    host.files[BOOT_ID] = "b2\n"
    assert remembered(host, "driver") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot_id": "b1"}', '{"boot_id": "b1", "kept": 3}'])
def test_a_damaged_memory_is_none(text):
    host = RecordedHost({"files": {BOOT_ID: "b1\n", THIS_BOOT: text}})
    assert remembered(host, "driver") is None
    remember_for_this_boot(host, "driver", "x")
    assert remembered(host, "driver") == "x"
