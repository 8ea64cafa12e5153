# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speeds and widths as sysfs prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import (
    describe,
    generation,
    narrowest,
    parse_levels,
    parse_speed,
    parse_width,
    partner,
    speed_of_code,
    width_of_code,
)

SPEEDS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)


@pytest.mark.parametrize(
    "text, speed", [("32.0 GT/s PCIe\n", 32.0), ("8 GT/s", 8.0), ("2.5 GT/s", 2.5), ("16.0 GT/s PCIe", 16.0)]
)
def test_both_spellings_of_the_kernel_are_read(text, speed):
    assert parse_speed(text) == speed


@pytest.mark.parametrize(
    "text", ["Unknown", "", "15 GT/s", "255 GT/s PCIe", "0 GT/s", "32.0", "GT/s", "32.0 MT/s", "-8 GT/s"]
)
def test_a_speed_that_no_link_has_is_none_and_never_fast_enough_c14(text):
    assert parse_speed(text) is None


@pytest.mark.parametrize("text", ["0", "255", "63", "", "x16", "-16", "16.0", "Unknown", "³"])
def test_a_width_that_no_link_has_is_none_c09(text):
    assert parse_width(text) is None


def test_widths_are_lanes():
    assert [parse_width(f"{lanes}\n") for lanes in (1, 2, 4, 8, 16)] == [1, 2, 4, 8, 16]


def test_eight_gigatransfers_are_the_third_generation():
    assert [generation(speed) for speed in SPEEDS] == [1, 2, 3, 4, 5, 6]
    assert generation(15.0) is None
    assert generation(None) is None


def test_a_speed_is_told_with_its_generation():
    assert describe(32.0) == "32.0 GT/s (Gen5)"
    assert describe(None) == "unknown"


@given(st.sampled_from(SPEEDS), st.sampled_from(["", " PCIe"]))
def test_what_the_kernel_prints_comes_back(speed, suffix):
    assert parse_speed(f"{speed} GT/s{suffix}") == speed


@given(st.text(max_size=30))
def test_no_text_upsets_the_parsers(text):
    assert parse_speed(text) in (None, *SPEEDS)
    assert parse_width(text) in (None, 1, 2, 4, 8, 12, 16, 32)


def test_the_narrowest_hop_is_the_one_that_carries_least_c01():
    hops = [{"speed_gts": 32.0, "width": 16}, {"speed_gts": 16.0, "width": 8}, {"speed_gts": 16.0, "width": 16}]
    assert narrowest(hops) is hops[1]


def test_half_the_lanes_at_twice_the_speed_are_no_narrower():
    assert narrowest([{"speed_gts": 16.0, "width": 16}, {"speed_gts": 32.0, "width": 8}])["speed_gts"] == 16.0


def test_hops_that_cannot_be_read_are_passed_over():
    unread = {"speed_gts": None, "width": 16}
    assert narrowest([unread, {"speed_gts": 32.0, "width": 16}])["speed_gts"] == 32.0
    assert narrowest([unread]) is None
    assert narrowest([]) is None


def levels(text):
    return [(level["speed_gts"], level["width"], level["active"]) for level in parse_levels(text) or []]


@pytest.mark.parametrize(
    "text, seen",
    [
        ("0: 2.5GT/s, x8 250Mhz\n1: 16.0GT/s, x8 1143Mhz *\n", [(2.5, 8, False), (16.0, 8, True)]),
        ("0: 2.5GT/s, x1 310Mhz *  \n1: 8.0GT/s, x16 619Mhz\n", [(2.5, 1, True), (8.0, 16, False)]),
        ("0: 8.0GT/s, x16 *\n1: 8.0GT/s, x16 *\n", [(8.0, 16, True), (8.0, 16, True)]),
        ("0: 2.5GB, x8 \n1: 8.0GB, x16 *\n", [(2.5, 8, False), (8.0, 16, True)]),
        ("0: 32.0GT/s, x16 619Mhz *\n" + "\0" * 40, [(32.0, 16, True)]),
    ],
)
def test_levels_of_the_links_power_saving_are_read_with_the_active_ones_c04(text, seen):
    assert levels(text) == seen


@pytest.mark.parametrize("text", ["", "\n", "\0", "0: 0.0GT/s, x0 *\n", "0: 2.5GT/s, x8\nwhat else\n", "S: 19Mhz *\n"])
def test_levels_that_are_not_all_understood_are_none_c04(text):
    assert parse_levels(text) is None


def test_the_ends_of_a_link_come_in_pairs_and_the_hop_above_stands_in_for_a_missing_one():
    assert [partner([{}] * 4, index) for index in range(4)] == [1, 0, 3, 2]
    assert [partner([{}] * 3, index) for index in range(3)] == [1, 2, 2]


def test_codes_of_registers_outside_the_tables_are_none_c14():
    assert [speed_of_code(code) for code in range(16)] == [None, *SPEEDS, *[None] * 9]
    assert [code for code in range(64) if width_of_code(code)] == [1, 2, 4, 8, 12, 16, 32]


@given(st.text(max_size=80))
def test_no_text_upsets_the_parser_of_levels(text):
    assert all(speed in SPEEDS and width <= 32 for speed, width, _active in levels(text))
