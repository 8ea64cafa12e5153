# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials in addresses are found in whatever text they stand in, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import found, found_in, masked, masked_in

WORD = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/"), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "text, seen",
    [
        ("deb https://me:pw@m.example/rocm jammy main", "deb https://***@m.example/rocm jammy main"),
        ("https://token@m.example", "https://***@m.example"),
        ("https://token:@m.example/x", "https://***@m.example/x"),
        ("URIs: http://a:b@m/x https://c:d@n/y", "URIs: http://***@m/x https://***@n/y"),
        ("Err:1 http://me:p@ss@m.example:8080/x Release", "Err:1 http://***@m.example:8080/x Release"),
        ("https://me:pa/ss@m.example/x", "https://***@m.example/x"),
        ("ftp+x://me:%40%2f@m/", "ftp+x://***@m/"),
        ("https://***@m.example/x", "https://***@m.example/x"),
    ],
)
def test_credentials_are_masked(text, seen):
    assert (masked(text), masked(seen), found(seen)) == (seen, seen, [])


@pytest.mark.parametrize(
    "text",
    ["", "https://m.example/rocm", "http://m.example:8080/a@b/x", "http://m.example/a@b", "me@host:/path", "a://b"],
)
def test_what_has_none_stays_as_it_is(text):
    assert (masked(text), found(text)) == (text, [])


@given(WORD, WORD)
def test_no_user_and_no_password_gets_through(user, password):
    text = masked(f"deb [arch=amd64] https://{user}:{password}@mirror.invalid/rocm jammy main")
    assert text == "deb [arch=amd64] https://***@mirror.invalid/rocm jammy main"


def test_all_texts_of_plain_data_are_looked_at():
    data = {"a": ["https://u:p@m", 3, None, ("x", "https://v:q@m")], "https://w:r@m": True}
    assert masked_in(data) == {"a": ["https://***@m", 3, None, ["x", "https://***@m"]], "https://***@m": True}
    assert sorted(found_in(data)) == ["u:p", "v:q", "w:r"]
