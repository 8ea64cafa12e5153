# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registers of the configuration space, and what damaged or silent ones say: nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._pci_config import parse_config
from ansible_collections.fleetops.instinct.tests.unit.config_space import (
    GONE,
    INTEGRATED,
    ROOT_PORT,
    config_space,
)

SPEEDS, WIDTHS = (None, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0), (None, 1, 2, 4, 8, 12, 16, 32)


def with_bytes(place, values, **registers):
    space = bytearray(config_space(**registers))
    space[place : place + len(values)] = values
    return bytes(space)


def test_the_registers_of_a_port_are_read():
    space = parse_config(config_space(("1022", "14ab"), ROOT_PORT, 16.0, 8, 32.0, 16, aspm="l1", errors=0b1001))
    assert (space.answers, space.vendor_id, space.device_id, space.reason) == (True, "1022", "14ab", None)
    express = space.express
    assert (express.port, express.speed_gts, express.width) == ("root_port", 16.0, 8)
    assert (express.max_speed_gts, express.max_width, express.target_speed_gts) == (32.0, 16, 32.0)
    assert (express.aspm, express.aspm_supported) == (("l1",), ("l0s", "l1"))
    assert (express.errors, express.autonomous) == (("correctable", "unsupported"), True)


def test_a_link_that_may_not_change_its_speed_by_itself_is_told_c06():
    express = parse_config(config_space(gts=5.0, pinned=True)).express
    assert (express.speed_gts, express.target_speed_gts, express.autonomous) == (5.0, 32.0, False)


@pytest.mark.parametrize("code", [0, 7, 15])
def test_a_speed_code_outside_the_table_is_null_c14(code):
    assert parse_config(with_bytes(0x64 + 0x12, [0x00 | code, 0x01])).express.speed_gts is None


@pytest.mark.parametrize("lanes", [0, 3, 63])
def test_a_width_outside_the_table_is_null_c14(lanes):
    state = lanes << 4 | 5
    assert parse_config(with_bytes(0x64 + 0x12, [state & 0xFF, state >> 8])).express.width is None


def test_all_ones_in_one_register_are_no_reading_of_it_c14():
    express = parse_config(with_bytes(0x64 + 0x0A, b"\xff" * 10)).express
    assert (express.speed_gts, express.width, express.max_speed_gts, express.aspm, express.errors) == (None,) * 5


def test_a_device_that_is_gone_does_not_answer_c14():
    space = parse_config(GONE)
    assert (space.answers, space.vendor_id) == (False, None)
    assert "does not answer" in space.reason


def test_a_virtual_function_without_a_vendor_of_its_own_does_answer():
    space = parse_config(with_bytes(0, b"\xff\xff\xff\xff"))
    assert (space.answers, space.vendor_id, space.express.speed_gts) == (True, None, 32.0)


@pytest.mark.parametrize(
    ("data", "answers", "reason"),
    [
        (config_space()[:64], True, "by root only"),
        (b"\xff" * 64, False, "does not answer"),
        (config_space()[:20], None, "ends after 20 bytes"),
        (b"", None, "ends after 0 bytes"),
        (bytes(256), None, "all zeros"),
        (with_bytes(0x06, b"\x00\x00"), True, "no list of capabilities"),
        (with_bytes(0x49, b"\x00"), True, "no PCI Express capability"),
    ],
)
def test_why_a_space_tells_nothing_of_the_link_is_told_apart(data, answers, reason):
    space = parse_config(data)
    assert (space.answers, space.express.speed_gts) == (answers, None)
    assert reason in space.reason


def test_a_list_that_runs_in_a_circle_comes_to_an_end():
    assert "damaged" in parse_config(with_bytes(0x49, b"\x48")).reason


def test_a_capability_at_the_very_end_tells_what_still_lies_inside():
    space = bytearray(with_bytes(0x49, b"\xec"))
    space[0xEC:0x100] = space[0x64:0x78]
    express = parse_config(bytes(space)).express
    assert (express.speed_gts, express.target_speed_gts, express.autonomous) == (32.0, None, None)


def test_a_device_inside_the_root_complex_has_no_link_c09():
    express = parse_config(config_space(kind=INTEGRATED, errors=4)).express
    assert (express.port, express.max_speed_gts, express.errors) == ("integrated_endpoint", None, ("fatal",))


def test_the_first_version_of_the_capability_has_no_target_speed():
    express = parse_config(config_space(version=1, max_gts=2.5, gts=2.5)).express
    assert (express.speed_gts, express.target_speed_gts, express.autonomous) == (2.5, None, None)


@given(st.binary(max_size=300), st.integers(0, 255), st.booleans())
def test_no_bytes_upset_the_parser_or_give_a_number_outside_the_table(junk, place, inside):
    data = with_bytes(place, junk[: 256 - place]) if inside else junk
    express = parse_config(data).express
    assert {express.speed_gts, express.max_speed_gts, express.target_speed_gts} <= set(SPEEDS)
    assert {express.width, express.max_width} <= set(WIDTHS)
