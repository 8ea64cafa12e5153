# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of firmware: what a text means, and which of two is newer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import (
    block_of,
    compare,
    is_absent,
    normalise,
    scheme_of,
    value_of,
)

SCHEMES = ("integer", "hex_bytes", "dotted", "pi", "ifwi", "part_number")
TEXTS = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[0-9A-Fa-f]{1,3}(\.[0-9A-Fa-f]{1,3}){0,6}", fullmatch=True),
    st.from_regex(r"(0x)?[0-9a-f]{1,12}", fullmatch=True),
    st.from_regex(r"(PI|IFWI |113-)?[A-Z0-9-]{1,12}", fullmatch=True),
)
NUMBERS = st.integers(min_value=0, max_value=2**32 - 2)


@pytest.mark.parametrize(
    "block, text, value",
    [
        ("mec", "0x000080b1", "32945"), ("mec", "32945", "32945"), ("rlc", "65", "65"), ("sdma", "0x00000018", "24"),
        ("sos", "0x00360256", "00.36.02.56"), ("sos", "0.36.2.56", "00.36.02.56"), ("asd", "553648359", "21.00.00.E7"),
        ("ta_ras", "0x1B360214", "1B.36.02.14"), ("ta_ras", "1b.36.02.1a", "1B.36.02.1A"),
        ("vcn", "0x09117009", "09.11.70.09"), ("smc", "0x00555B01", "00.85.91.01"), ("smc", "85.91.1", "00.85.91.01"),
        ("smc", "0x04560F6A", "04.86.15.106"), ("smc", "07.85.11.01", "07.85.11.01"),
        ("pldm_bundle", "01.26.00.04", "01.26.00.04"), ("pldm_bundle", "18416396", "01.25.03.12"),
        ("pldm_bundle", "01.25.03.12.76", "01.25.03.12.76"), ("sos", "36.02.56", "00.36.02.56"),
        ("ifwi", "00189939", "00189939"), ("ifwi", "IFWI 75", "75"), ("ifwi", "PRD1000A", "PRD1000A"),
        ("ifwi", "022.040.003.043.000001", "022.040.003.043.000001"), ("a_new_block", "0x2a", "42"),
    ],
)  # fmt: skip
def test_a_version_is_brought_to_the_form_of_its_block(block, text, value):
    assert value_of(block, text) == value


@pytest.mark.parametrize("block", ["mec", "sos", "smc", "ifwi", "a_new_block"])
@pytest.mark.parametrize(
    "text",
    ["", "N/A", "Unknown", "0xffffffff", "4294967295", "18446744073709551615", "-1", "1.2.3.x", "1.5.", "½", "٣"],
)
def test_what_is_no_version_is_null_not_a_number_c09(block, text):
    assert value_of(block, text) is None


def test_a_zero_cut_off_at_the_front_is_not_guessed_back():
    # 0x09117009 by the amd-smi of ROCm 6.2.0.
    assert value_of("vcn", "91.17.00.9") is None


def test_rocm_smi_prints_decimal_bytes_where_amd_smi_prints_hex():
    assert value_of("ta_ras", "27.00.01.60", decimal_bytes=True) == "1B.00.01.3C"
    assert value_of("smc", "00.68.54.00", decimal_bytes=True) == "00.68.54.00"
    assert value_of("sos", "0x0027007f", decimal_bytes=True) == "00.27.00.7F"
    assert value_of("ta_xgmi", "300.0.0.1", decimal_bytes=True) is None


@pytest.mark.parametrize("text, absent", [("0x00000000", True), ("0", True), ("N/A", False), ("1", False), ("", False)])
def test_a_zero_says_that_the_block_is_not_there(text, absent):
    assert is_absent(text) is absent


@pytest.mark.parametrize(
    "scheme, one, other, order",
    [
        ("dotted", "01.26.00.04", "01.25.06.05", 1), ("dotted", "04.86.15.106", "04.86.16.03", -1),
        ("dotted", "01.25.03.12", "01.25.03.12.76", 0), ("dotted", "01.25.03.11", "01.25.03.12.76", -1),
        ("dotted", "1.26.0.4", "01.26.00.04", 0), ("dotted", "01.26", "01.26.00.04", None),
        ("hex_bytes", "1B.36.02.1A", "1B.36.02.14", 1), ("hex_bytes", "0.36.2.56", "00.36.02.56", 0),
        ("integer", "32945", "0x000080b1", 0), ("integer", "9", "10", -1),
        ("pi", "PI100C", "PI100D", -1), ("pi", "PI99Z", "PI100A", -1), ("pi", "pi100d", "PI100D", 0),
        ("ifwi", "IFWI 75", "74", 1), ("ifwi", "00189938", "00189939", -1), ("ifwi", "IFWI 75", "00106507", None),
        ("ifwi", "PRD1000A", "PRD1000A", 0), ("ifwi", "PRD1000A", "PRD1000B", None),
        ("ifwi", "022.040.003.043.000001", "00159017", None),
        ("part_number", "113-M3000100-102", "113-M3000100-102", 0),
        ("part_number", "D3430401-037", "D3430401-036", None),
        ("part_number", "113-D3430401-037", "D3430401-037", 0),
    ],
)  # fmt: skip
def test_versions_of_a_scheme_are_ordered_or_have_no_order(scheme, one, other, order):
    assert compare(scheme, one, other) == order
    assert compare(scheme, other, one) == (None if order is None else -order)


@pytest.mark.parametrize("one, other", [("N/A", "01.26.00.04"), ("01.26.00.04", "PI100D")])
def test_what_is_no_version_is_refused_not_compared(one, other):
    with pytest.raises(ParseError, match="not a firmware version; wanted: one of the scheme dotted"):
        compare("dotted", one, other)


def test_a_scheme_that_is_not_known_is_refused():
    with pytest.raises(ParseError, match="semver: no scheme"):
        normalise("semver", "1.2.3")


@given(scheme=st.sampled_from(SCHEMES), text=TEXTS)
def test_a_canonical_form_is_its_own_canonical_form(scheme, text):
    value = normalise(scheme, text)
    assert value is None or normalise(scheme, value) == value


@given(text=TEXTS)
def test_no_number_comes_out_that_did_not_go_in(text):
    dotted, number = normalise("dotted", text), normalise("integer", text)
    if dotted is not None and "." in text:
        assert [int(group) for group in dotted.split(".")] == [int(group) for group in text.split(".")]
    if number is not None:
        assert int(number) == int(text, 16 if re.search("[xX]", text) else 10)


@given(block=st.sampled_from(["mec", "sos", "smc", "vcn", "ta_ras", "pldm_bundle"]), number=NUMBERS)
def test_a_number_is_the_same_version_however_it_is_printed(block, number):
    assert value_of(block, f"0x{number:08x}") == value_of(block, str(number))
    assert value_of(block, value_of(block, str(number))) == value_of(block, str(number))


@given(scheme=st.sampled_from(["integer", "hex_bytes", "dotted"]), numbers=st.tuples(NUMBERS, NUMBERS))
def test_the_order_is_that_of_the_numbers(scheme, numbers):
    one, other = numbers
    assert compare(scheme, str(one), str(other)) == (one > other) - (one < other)


def test_blocks_have_the_scheme_that_amd_smi_prints_them_in():
    names = ("mec", "sdma2", "sos", "ta_xgmi", "vcn", "smc", "pldm_bundle", "ifwi")
    assert [scheme_of(name) for name in names] == [
        "integer", "integer", "hex_bytes", "hex_bytes", "hex_bytes", "dotted", "dotted", "ifwi",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name, block",
    [
        ("CP_MEC1", "mec"), ("CP_MEC2", "mec2"), ("PM", "smc"), ("PSP_SOSDRV", "sos"), ("TA_RAS", "ta_ras"),
        ("RLC_RESTORE_LIST_SRM_MEM", "rlc_srls"), ("SDMA0", "sdma"), ("SDMA1", "sdma2"), ("PLDM_BUNDLE", "pldm_bundle"),
        ("RLC SRLG", "rlc_srlg"), ("PSP_SPL", "psp_spl"),
    ],
)  # fmt: skip
def test_blocks_have_the_kernels_name_or_their_own(name, block):
    assert block_of(name) == block
