# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware of the GPUs as the kernel prints it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

BDF = "0000:05:00.0"
DEVICE = f"/sys/bus/pci/devices/{BDF}"


def facts_of(**files):
    """Facts of one GPU whose files of firmware (mec="0x1") or its own (vbios_version="x") have this content."""
    known = {f"{DEVICE}/class": "0x120000", f"{DEVICE}/vendor": "0x1002"}
    for name, text in files.items():
        known[f"{DEVICE}/{name}" if name.endswith("version") else f"{DEVICE}/fw_version/{name}_fw_version"] = text
    return gather(RecordedHost({"files": known}), ["firmware"])


def test_each_block_is_a_typed_row():
    rows = facts_of(sos="0x00360256\n", mec="0x000080b1\n", smc="0x00555B01\n")["gpus"][0]["firmware"]
    assert rows == {
        "sos": {"scheme": "hex_bytes", "value": "00.36.02.56", "sources": {"sysfs": "0x00360256"}},
        "mec": {"scheme": "integer", "value": "32945", "sources": {"sysfs": "0x000080b1"}},
        "smc": {"scheme": "dotted", "value": "00.85.91.01", "sources": {"sysfs": "0x00555B01"}},
    }


def test_a_zero_is_a_block_that_is_not_there():
    assert list(facts_of(vce="0x00000000\n", mec="0x00000001\n")["gpus"][0]["firmware"]) == ["mec"]


@pytest.mark.parametrize("text", ["", "Unknown", "0xffffffff", {"error": "EIO"}])
def test_what_is_no_version_is_null_with_a_reason_and_the_row_stays(text):
    facts = facts_of(sos=text, mec="0x1")
    assert facts["gpus"][0]["firmware"]["sos"]["value"] is None
    assert [row["subject"] for row in facts["problems"] if "sos" in row["subject"]] == [f"{BDF} sos_fw_version"]


@pytest.mark.parametrize("text", ["N/A", "\n", "unknown"])
def test_a_gpu_without_a_vbios_text_has_none_e10(text):
    facts = facts_of(vbios_version=text)
    assert facts["gpus"][0]["vbios"] is None
    assert any(row["subject"] == f"{BDF} vbios_version" for row in facts["problems"])


@given(text=st.text(max_size=30))
def test_any_text_gives_a_row_and_no_traceback(text):
    facts = facts_of(ta_ras=text)
    rows = facts["gpus"][0]["firmware"]
    assert rows == {} or rows["ta_ras"]["value"] or any("ta_ras" in row["subject"] for row in facts["problems"])
