# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of lspci, as old and new versions print it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._lspci import parse_device, parse_lspci

TEXT = """\
0000:63:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]
\tCapabilities: [64] Express (v2) Endpoint, MSI 00
\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <64ns, L1 <1us
\t\t\tClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
\t\tLnkCtl2: Target Link Speed: 32GT/s, EnterCompliance- SpeedDis+
\tKernel driver in use: amdgpu

0000:62:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:1500]
\tCapabilities: <access denied>
"""
GPU = "0000:63:00.0"
NUMBERS = ("speed_gts", "width", "max_speed_gts", "max_width")


def numbers(text):
    seen = parse_device(text)
    return [seen[key] for key in NUMBERS]


def test_every_line_about_a_link_is_read():
    seen = parse_lspci(TEXT)[GPU]
    assert [seen[key] for key in NUMBERS] == [16.0, 8, 32.0, 16]
    assert seen["aspm"] == {"l0s": False, "l1": True, "supported": ["l0s", "l1"]}
    assert (seen["target_speed_gts"], seen["autonomous_speed"]) == (32.0, False)
    assert (seen["device_errors"], seen["answers"], seen["reason"]) == (["correctable", "unsupported"], True, None)
    assert (seen["vendor_id"], seen["device_id"], seen["class"]) == ("1002", "74a1", "1200")


def test_a_paste_with_blanks_for_tabs_reads_the_same():
    assert parse_lspci(TEXT.replace("\t", "        ")) == parse_lspci(TEXT)


def test_only_the_devices_that_are_asked_for_are_looked_at():
    assert list(parse_lspci(TEXT, [GPU, "0000:99:00.0"])) == [GPU]


def test_an_address_without_a_domain_is_in_the_first_one():
    assert list(parse_lspci(TEXT.replace("0000:63", "63"))) == [GPU, "0000:62:00.0"]


@pytest.mark.parametrize(
    "line, seen",
    [
        ("LnkSta: Speed 16GT/s (ok), Width x16 (ok)", [16.0, 16]),
        ("LnkSta:\tSpeed 2.5GT/s, Width x1, TrErr- Train- SlotClk+", [2.5, 1]),
        ("LnkSta:\tSpeed 5GT/s (downgraded), Width x1 (ok)", [5.0, 1]),
        ("LnkSta:\tSpeed unknown, Width x16", [None, 16]),
        ("LnkSta:\tSpeed unknown, Width x0", [None, None]),
        ("LnkSta:\tSpeed 15GT/s, Width x63", [None, None]),
        ("LnkSta:", [None, None]),
    ],
)
def test_marks_mean_nothing_and_numbers_of_no_link_are_null_c14(line, seen):
    assert numbers(f"\t\t{line}\n")[:2] == seen


def test_three_answers_for_one_card_are_three_numbers_c03():
    card = "LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <1us\nLnkSta: Speed 32GT/s, Width x16\n"
    assert numbers(card) == [32.0, 16, 32.0, 16]


@pytest.mark.parametrize(
    "control, l0s, l1",
    [
        ("ASPM L1 Enabled; RCB 64 bytes", False, True),
        ("ASPM L0s L1 Enabled; Disabled-", True, True),
        ("ASPM Disabled; RCB 64 bytes", False, False),
        ("ASPM ???", None, None),
        ("", None, None),
    ],
)
def test_aspm_is_what_the_control_register_has_on_c12(control, l0s, l1):
    aspm = parse_device(f"\t\tLnkCap: Speed 8GT/s, Width x16, ASPM L0s L1\n\t\tLnkCtl: {control}\n")["aspm"]
    assert (aspm["l0s"], aspm["l1"]) == (l0s, l1)


def test_a_retimer_that_could_be_there_is_no_fact_c13():
    assert not any("etimer" in str(value) for value in parse_lspci(TEXT)[GPU].values())


@pytest.mark.parametrize(
    "text, answers, reason",
    [
        ("02:00.0 Network controller: X (rev ff)\n\t!!! Unknown header type 7f\n", False, "does not answer"),
        (
            "02:00.0 X (rev 02)\n\t!!! Unknown header type 7f\n\tRegion 0: Memory at 80510000\n",
            False,
            "does not answer",
        ),
        ("02:00.0 X\n\tCapabilities: <access denied>\n", True, "to root only"),
        ("02:00.0 X (rev ff)\n\tFlags: fast devsel\n", True, "no state of a link"),
    ],
)
def test_gone_hidden_and_silent_are_told_apart_c14(text, answers, reason):
    seen = parse_lspci(text)["0000:02:00.0"]
    assert (seen["answers"], seen["speed_gts"]) == (answers, None)
    assert reason in seen["reason"]


def test_the_lowest_target_speed_is_printed_for_nothing_as_well():
    assert parse_device("LnkCtl2: Target Link Speed: 2.5GT/s, EnterCompliance- SpeedDis-")["target_speed_gts"] is None


ODD = ["\n", "\n\t", "Speed 255GT/s,", "Width x255", "!!!", "\0"]
WORDS = st.sampled_from([*TEXT.replace("\t", "\t ").split(" "), *ODD])


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=60).map(" ".join)))
def test_no_text_upsets_the_parser_or_gives_a_number_no_link_has(text):
    for seen in [parse_device(text), *parse_lspci(text).values()]:
        assert {seen["speed_gts"], seen["max_speed_gts"], seen["target_speed_gts"]} <= {
            None,
            2.5,
            8.0,
            16.0,
            32.0,
            5.0,
            64.0,
        }
        assert {seen["width"], seen["max_width"]} <= {None, 1, 2, 4, 8, 12, 16, 32}
