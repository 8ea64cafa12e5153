# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of amd-smi and rocm-smi: documents among warnings, rows, and values in all their spellings."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils import _smi

WARNING = "WARNING: User is missing the following required groups: render, video. Please add user to these groups.\n"
MIXED = """Traceback (most recent call last):
  File "/usr/bin/amd-smi", line 53, in <module>
    from amdsmi_init import *
  File "/opt/rocm-7.1.1/libexec/amdsmi_cli/amdsmi_init.py", line 38, in <module>
    from amdsmi import amdsmi_interface, amdsmi_exception
  File "/usr/local/lib/python3.9/site-packages/amdsmi/amdsmi_wrapper.py", line 2639, in <module>
    amdsmi_get_gpu_partition_metrics_info = _libraries['libamd_smi.so'].amdsmi_get_gpu_partition_metrics_info
AttributeError: /opt/rocm-7.0.1/lib/libamd_smi.so: undefined symbol: amdsmi_get_gpu_partition_metrics_info
"""
UNTOLD = [
    None, "", "N/A", "n/a", "N/A (Secondary die)", "None", "unknown", "Unsupported", [], {},
    {"value": "N/A", "unit": "W"}, "get_volt_metric, Not supported on the given system",
    "[AMDSMI_STATUS_NOT_SUPPORTED]", -1, "-1",
    65535, "65535", 4294967295, "4294967295", 18446744073709551615, "18446744073709551615",
    {"value": 4294967295, "unit": "Mb/s"},
]  # fmt: skip
JUNK = st.one_of(
    st.text(max_size=200),
    st.text(alphabet='[]{}",:0123456789 \n\tGPUgpu_-.x', max_size=200),
    st.lists(
        st.sampled_from(["GPU: 0", "    A:", "        B: 1", "[", '[{"gpu": 0}]', "GPU[1] : x: 2", "Legend:"])
    ).map("\n".join),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "unit", "x"]), inner),
)


def test_a_warning_before_the_json_is_kept_beside_it_e01():
    decoded = _smi.decode(WARNING + '[\n    {"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"}}\n]\nbye\n')
    assert _smi.gpu_rows(decoded.documents) == [{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"}}]
    assert decoded.notes == [WARNING.strip(), "bye"]


def test_several_documents_and_a_legend_are_read_one_after_another():
    text = '[{"gpu": 0}]\n[{"gpu": 1}][{"gpu_id": "N/A"}]\n\nLegend:\n  * = Current mode\n'
    decoded = _smi.decode(text)
    assert decoded.documents == [[{"gpu": 0}], [{"gpu": 1}], [{"gpu_id": "N/A"}]]
    assert decoded.notes == ["Legend:", "* = Current mode"]


@pytest.mark.parametrize("text, rows", [("", 0), ("[]", 0), ("WARNING: only on the primary partition\n[]", 0)])
def test_nothing_to_report_is_no_row_in_each_of_its_forms_e03(text, rows):
    assert len(_smi.gpu_rows(_smi.decode(text).documents)) == rows


@pytest.mark.parametrize(
    "document, numbers",
    [
        ([{"gpu": 0, "clock": {"mem": {}}}], [0]),
        ({"gpu_data": [{"gpu": 0, "board": {"product_name": "AMD Instinct MI355X"}}]}, [0]),
        ({"other": [{"gpu": 0}]}, []),
        ({"gpu": 0}, []),
        ([{"gpu_id": 0}, 5, None], []),
    ],
)
def test_rows_are_a_list_or_under_gpu_data_and_not_guessed_elsewhere_e11(document, numbers):
    rows = _smi.gpu_rows(_smi.decode(json.dumps(document)).documents)
    assert [row["gpu"] for row in rows] == numbers


def test_half_a_document_is_no_document():
    assert _smi.decode('[\n{"gpu": 0,\n "asic": {"vendor_id":').documents == []


def test_spellings_of_keys_are_one():
    document = _smi.decode('{"Current Level": 1, "GPU-Board": {"fclk clock speed:": 2}}').documents[0]
    assert document == {"current_level": 1, "gpu_board": {"fclk_clock_speed": 2}}


def test_the_form_for_people_gives_the_same_rows():
    text = "$ amd-smi static\nCPU: 0\n    SMU: 1\nGPU: 1\n    ASIC:\n        DEVICE_ID: 0x74A1\n    RETIRED:\n"
    text += "        PAGE_ADDRESS: 1\n        PAGE_SIZE: 4096\n        PAGE_ADDRESS: 2\n---- snipped ----\nGPU: 3\n"
    assert _smi.text_rows(text) == [
        {"gpu": "1", "asic": {"device_id": "0x74A1"}, "retired": {"page_address": ["1", "2"], "page_size": "4096"}},
        {"gpu": "3"},
    ]


def test_lines_of_rocm_smi_are_keyed_by_their_number_not_by_their_order_e10():
    lines = [f"GPU[{number}]      : VBIOS version: 113-D1631711-QA-1{number}" for number in (3, 1, 4, 2)]
    text = "\n".join([*lines, "Traceback (most recent call last):", "TypeError: must be str, not NoneType"])
    cards = _smi.card_rows(_smi.decode(text), text)
    assert {card["gpu"]: card["vbios_version"] for card in cards}["4"] == "113-D1631711-QA-14"
    assert [card["gpu"] for card in cards] == ["3", "1", "4", "2"]


def test_a_card_without_ids_keeps_those_it_has_e04():
    text = "GPU[1]\t\t: Device Name: \t\tAMD Instinct MI300X\nGPU[1]\t\t: Device ID: \t\tN/A\nGPU[1]\t\t: GUID: 6834\n"
    (card,) = _smi.card_rows(_smi.decode(text), text)
    assert (card["device_name"], _smi.hex_id(card["device_id"])) == ("AMD Instinct MI300X", None)


@pytest.mark.parametrize("value", UNTOLD)
@pytest.mark.parametrize("read", [_smi.told, _smi.number, _smi.count, _smi.text_of, _smi.speed_gts, _smi.lanes])
def test_every_way_to_say_nothing_is_null_c07(read, value):
    assert read(value) is None


@pytest.mark.parametrize(
    "read, value, expected",
    [
        (_smi.speed_gts, 16000, 16.0), (_smi.speed_gts, "32 GT/s", 32.0), (_smi.speed_gts, "2.5 GT/s", 2.5),
        (_smi.speed_gts, {"value": 32, "unit": "GT/s"}, 32.0), (_smi.speed_gts, 0, None), (_smi.speed_gts, 255, None),
        (_smi.lanes, 16, 16), (_smi.lanes, "x16", None), (_smi.lanes, "16", 16), (_smi.lanes, 0, None),
        (_smi.number, "7.222", 7.222), (_smi.number, "0", 0), (_smi.number, True, None), (_smi.number, "0%", 0),
        (_smi.count, "12", 12), (_smi.count, "1.5", None), (_smi.count, 3.0, None),
        (_smi.hex_id, "0x74A1", "74a1"), (_smi.hex_id, 29857, "74a1"), (_smi.hex_id, "0xffff", None),
        (_smi.hex_id, "0x0", None), (_smi.hex_id, "74a1", None), (_smi.hex_id, True, None),
        (_smi.bdf_of, "0000:C4:00.0", "0000:c4:00.0"), (_smi.bdf_of, "c4:00.0", "0000:c4:00.0"), (_smi.bdf_of, 5, None),
        (_smi.flag, "True", True), (_smi.flag, False, False), (_smi.flag, "N/A", None), (_smi.flag, "maybe", None),
        (_smi.text_of, 32945, "32945"), (_smi.text_of, " x ", "x"),
    ],
)  # fmt: skip
def test_values_in_the_spellings_of_the_releases_c07(read, value, expected):
    assert (read(value), type(read(value))) == (expected, type(expected))


def test_parts_of_different_releases_are_named_e13():
    told = _smi.mixed_versions(MIXED)
    assert "command 7.1.1 (/opt/rocm-7.1.1/libexec/amdsmi_cli/amdsmi_init.py)" in told
    assert "library 7.0.1 (/opt/rocm-7.0.1/lib/libamd_smi.so)" in told
    assert "module /usr/local/lib/python3.9/site-packages/amdsmi" in told


@pytest.mark.parametrize("text", ["", "boom", MIXED.replace("7.0.1", "7.1.1").replace("/usr/local", "/opt/rocm-7.1.1")])
def test_a_traceback_within_one_release_is_no_mixture(text):
    assert _smi.mixed_versions(text) is None


@given(text=JUNK)
def test_any_text_is_decoded_without_an_error(text):
    decoded = _smi.decode(text)
    _smi.gpu_rows(decoded.documents), _smi.text_rows(text), _smi.card_rows(decoded, text)
    _smi.mixed_versions(f"Traceback {text}"), _smi.last_line(text)
    assert len(decoded.notes) <= 20
    assert all(0 < len(note) <= 200 for note in decoded.notes)


@pytest.mark.parametrize("text", ["[" * 100000, '{"a":' * 50000, "[\n" * 50000, "\n[{" * 50000])
def test_a_document_without_an_end_costs_little(text):
    assert _smi.decode(text).documents == []


@given(value=VALUES)
def test_no_number_comes_out_that_did_not_go_in(value):
    written = json.dumps(value)
    number, width, speed = _smi.number(value), _smi.lanes(value), _smi.speed_gts(value)
    assert width is None or re.search(rf"\b{width}\b", written)
    assert speed is None or f"{speed:g}" in written or f"{speed * 1000:g}" in written
    inner = value.get("value") if isinstance(value, dict) else value
    assert number is None or number == inner or str(inner).strip().startswith(("0", str(number)))


@given(value=VALUES)
def test_any_value_is_read_without_an_error(value):
    for read in (_smi.told, _smi.count, _smi.text_of, _smi.flag, _smi.hex_id, _smi.bdf_of):
        read(value)
