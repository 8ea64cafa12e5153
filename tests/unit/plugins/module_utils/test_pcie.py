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
    parse_speed,
    parse_width,
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
