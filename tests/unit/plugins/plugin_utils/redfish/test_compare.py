# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as BMCs write them: what is the same, older or newer, and where there is no order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.compare import SCHEMES, normal, order, same_part

SAME = [
    ("3.2", "v3.2"),
    ("3.2", "003.002"),
    ("3.2", "3.2 (11/13/2024)"),
    ("1.66", "1.66 Dec 13 2024"),
    ("0x07", "07"),
    ("50.0.1-0639", "50.0.1-0639"),
    ("A43 v2.52 (10/29/2021)", "A43 v2.52"),
    ("2.1b", "2.1B"),
    ("F2.00.07", "f2.0.7"),
]
OLDER = [
    ("50.0.1-0639", "50.0.1-0701"),
    ("00.01.12 Rev A", "00.01.12 Rev B"),
    ("3.2", "3.10"),
    ("C26", "C27"),
    ("A43 v2.40 (02/23/2021)", "A43 v2.52 (10/29/2021)"),
    ("0x0D", "0x0F"),
    ("2.1a", "2.1b"),
]
# The first is the beginning of the second, of another family, or written by other rules.
NO_ORDER = [
    ("50.0.1", "50.0.1-0639"),
    ("A43 v2.52", "U58 v2.44"),
    ("3.2", "0x0302"),
    ("3.2", "3.2 Rev A"),
    ("abc", "def"),
    ("ff", ""),
    ("nc.1.6.16-arm", "nc.1.6.16-x86"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_dates_zeros_case_and_a_leading_v_do_not_count_b36(one, other):
    assert (order("maker", one, other), order("maker", other, one)) == (0, 0)


@pytest.mark.parametrize(("one", "other"), OLDER)
def test_numbers_and_then_letters_tell_the_older_one_b36(one, other):
    assert (order("maker", one, other), order("maker", other, one)) == (-1, 1)


@pytest.mark.parametrize(("one", "other"), NO_ORDER)
def test_no_order_is_made_up(one, other):
    assert (order("maker", one, other), order("maker", other, one)) == (None, None)


@pytest.mark.parametrize(
    ("scheme", "one", "other", "told"),
    [
        ("dotted", "01.25.03.12.76", "01.25.03.12", 0),
        ("dotted", "01.25.03.12", "01.26.00.04", -1),
        ("dotted", "113-M3000100-102", "01.25.03.12", None),
        ("ifwi", "00106507", "00154951", -1),
        ("part_number", "113-D3431500-100", "D3430401-037", None),
        ("part_number", "113-M3000100-102", "M3000100-102", 0),
        ("part_number", "113-M3000100-102", "113-M3000100-103", -1),
    ],
)
def test_other_schemes_have_orders_of_their_own_b22_b38(scheme, one, other, told):
    assert order(scheme, one, other) == told


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [("113-D3431500-100", "D3431500-101", True), ("113-D3431500-100", "D3430401-037", False), ("x", "y", False)],
)
def test_a_part_is_told_by_all_but_its_last_group_b22(one, other, told):
    assert same_part(one, other) is told


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(SCHEMES))
def test_any_two_texts_compare_both_ways_alike(one, other, scheme):
    there, back = order(scheme, one, other), order(scheme, other, one)
    assert back == (None if there is None else -there)
    assert normal(scheme, one) is None or order(scheme, one, one) == 0
