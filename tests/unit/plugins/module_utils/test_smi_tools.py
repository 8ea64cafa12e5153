# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each command of amd-smi and rocm-smi says about a GPU."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils import _smi, _smi_tools

PAGE = {"page_address": 134162972, "page_size": 4096, "status": "RESERVED"}
NONE = "No bad pages found."
SECTIONS = (
    "asic",
    "bus",
    "board",
    "ras",
    "ifwi",
    "pcie",
    "ecc",
    "retired",
    "pending",
    "fw_list",
    "device_id",
    "version",
)
KEYS = (
    "value",
    "device_id",
    "version",
    "width",
    "speed",
    "fw_id",
    "fw_version",
    "page_address",
    "total_deferred_count",
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from([NONE, "N/A", "0x1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@pytest.mark.parametrize(
    "asic, board, product",
    [
        ("AMD Radeon Graphics", "AMD Instinct MI355X", "AMD Instinct MI355X"), ("MI308X", "other", "MI308X"),
        ("0x7408", "N/A", "0x7408"), ("N/A", "Aqua Vanjaram [Instinct MI300A]", "Aqua Vanjaram [Instinct MI300A]"),
        ("N/A", None, None),
    ],
)  # fmt: skip
def test_a_generic_market_name_gives_way_to_the_product_e11(asic, board, product):
    row = {"gpu": 0, "asic": {"market_name": asic}, "board": {"product_name": board}}
    assert _smi_tools.static(row)["product_name"] == product


@pytest.mark.parametrize("heading", ["vbios", "ifwi"])
def test_the_vbios_is_read_under_both_headings(heading):
    row = {heading: {"part_number": "113-M3000100-102", "version": "00111111 (New format)"}}
    assert (_smi_tools.static(row)["vbios"], _smi_tools.static(row)["ifwi"]) == ("113-M3000100-102", "00111111")


@pytest.mark.parametrize(
    "value, exceeded", [(True, True), ("True", True), ("False", False), ("N/A", None), (None, None)]
)
def test_a_threshold_that_was_passed_is_told_and_an_unread_one_is_not_a_no_d03(value, exceeded):
    row = {"ras": {"eeprom_version": "0x10000", "bad_page_threshold": 8, "bad_page_threshold_exceeded": value}}
    assert _smi_tools.static(row)["bad_page_threshold_exceeded"] is exceeded


def test_speeds_of_both_units_are_gts_c07():
    static = _smi_tools.static({"bus": {"max_pcie_width": 16, "max_pcie_speed": 16000}})
    metric = _smi_tools.metric({"pcie": {"width": 16, "speed": "32 GT/s", "bandwidth": 4294967295}})
    assert (static["max_speed_gts"], static["max_width"], metric["speed_gts"], metric["width"]) == (16.0, 16, 32.0, 16)


@pytest.mark.parametrize(
    "lists, pages",
    [
        ({"retired": NONE, "pending": NONE, "un_res": NONE}, 0),
        ({"retired": PAGE, "pending": NONE, "un_res": NONE}, 1),
        ({"retired": [PAGE, PAGE], "pending": PAGE, "un_res": NONE}, 3),
        ({"retired": {"page_address": ["1", "2"]}, "pending": NONE}, 2),
        ({"retired": "N/A", "pending": "N/A", "un_res": "N/A"}, None),
        ({"retired": NONE, "pending": "N/A", "un_res": NONE}, None),
        ({"retired": {"value": "x"}}, None), ({"retired": ["x"]}, None), ({"pending": NONE}, None), ({}, None),
    ],
)  # fmt: skip
def test_bad_pages_are_a_text_a_page_or_a_list_and_never_zero_unread_d06(lists, pages):
    assert _smi_tools.bad_pages(lists) == pages


@pytest.mark.parametrize("ecc", [{}, {"total_uncorrectable_count": "N/A"}, "N/A", None])
def test_counters_that_are_not_told_are_null_d06(ecc):
    assert _smi_tools.metric({"ecc": ecc})["ecc"] == {"ue": None, "ce": None, "de": None}


@pytest.mark.parametrize("key", ["fw_id", "fw_name"])
def test_versions_are_texts_by_the_tools_own_name(key):
    row = {"fw_list": [{key: "CP_MEC1", "fw_version": 32945}, {key: "TA_RAS", "fw_version": "N/A"}, {}, 3]}
    assert _smi_tools.firmware(row) == {"CP_MEC1": "32945"}


@pytest.mark.parametrize("listed", [None, "N/A", {}, [], {"fw_0": "x"}])
def test_no_list_of_firmware_is_none_of_it(listed):
    assert _smi_tools.firmware({"fw_list": listed}) == {}


@pytest.mark.parametrize(
    "text, version",
    [
        ('[{"tool": "AMDSMI Tool", "version": "26.0.2+39589fda", "rocm_version": "7.0.2"}]', "26.0.2"),
        ('{"version": "26.2.0"}', "26.2.0"), ("AMDSMI Tool: 24.7.1+b446d6c-dirty | ROCm version: N/A", "24.7.1"),
        ("", None), ('[{"version": "N/A"}]', None), ("[1, null]", None),
    ],
)  # fmt: skip
def test_the_version_is_without_its_build(text, version):
    assert _smi_tools.version(_smi.decode(text).documents, text) == version


def test_defaults_of_a_dead_gpu_are_nothing_e07():
    text = (
        'Expected integer value from monitor, but got ""\n{"card0": {"Device ID": "None", "VBIOS version": "unknown"}}'
    )
    card = _smi_tools.card(_smi.card_rows(_smi.decode(text), text)[0])
    assert card.pop("firmware") == {}
    assert set(card.values()) == {None}


def test_rocm_smi_without_json_tells_no_errors_and_raises_none_d07():
    text = "WARNING: No JSON data to report\n"
    assert _smi.card_rows(_smi.decode(text), text) == []
    assert _smi_tools.failure(text, "") == "WARNING: No JSON data to report"


@given(row=st.dictionaries(st.sampled_from(SECTIONS), VALUES))
def test_any_row_is_read_without_an_error_and_without_a_count_that_is_not_in_it(row):
    _smi_tools.static(row), _smi_tools.firmware(row), _smi_tools.card(row), _smi_tools.version([row, [row]], "")
    counts = set(_smi_tools.metric(row)["ecc"].values()) - {None}
    assert counts <= {int(digits) for digits in re.findall("[0-9]+", str(row))}
    assert "retired" in row or _smi_tools.bad_pages(row) is None
