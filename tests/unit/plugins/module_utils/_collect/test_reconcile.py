# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two sources about one GPU: what is joined, and what is told where they disagree."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reconcile import reconcile

BDF = "0000:05:00.0"
SOS = {"scheme": "hex_bytes", "value": "00.36.02.56", "sources": {"sysfs": "0x00360256"}}


def hop(speed=32.0, width=16, **more):
    return {"speed_gts": speed, "width": width, "max_speed_gts": 32.0, "max_width": 16, **more}


def gpu(smi=None, **more):
    known = {"bdf": BDF, "device_id": "74a1", "vbios": "113-M3000100-102", "firmware": {"sos": SOS}, "link": [hop()]}
    return {**known, "smi": {"tool": "amd-smi 26.0.2", **(smi or {})}, **more}


def told(row):
    """What the problems say, by their subject without the address."""
    return {problem["subject"][len(BDF) + 1 :]: problem["reason"] for problem in reconcile([row])[1]}


def firmware(row):
    return reconcile([row])[0][0]["firmware"]


def test_firmware_of_the_tool_stands_beside_the_kernels():
    rows = firmware(gpu({"firmware": {"PSP_SOSDRV": "0.36.2.56", "PLDM_BUNDLE": "18416396"}, "ifwi": "00159017"}))
    assert rows["sos"] == {**SOS, "sources": {"sysfs": "0x00360256", "amd-smi": "0.36.2.56"}}
    bundle = {"scheme": "dotted", "value": "01.25.03.12", "sources": {"amd-smi": "18416396"}}
    assert rows["pldm_bundle"] == bundle
    assert rows["ifwi"] == {"scheme": "ifwi", "value": "00159017", "sources": {"amd-smi": "00159017"}}
    assert told(gpu({"firmware": {"PSP_SOSDRV": "0.36.2.56"}})) == {}


def test_the_kernels_version_wins_and_the_other_is_told():
    row = gpu({"firmware": {"PSP_SOSDRV": "00.36.02.55"}})
    assert firmware(row)["sos"]["value"] == "00.36.02.56"
    assert told(row) == {"firmware sos": "sysfs says 00.36.02.56, amd-smi says 00.36.02.55"}


def test_a_version_that_only_the_tool_can_read_is_the_value():
    unread = {"scheme": "hex_bytes", "value": None, "sources": {}}
    row = gpu({"firmware": {"PSP_SOSDRV": "00.36.02.56"}}, firmware={"sos": unread})
    assert firmware(row)["sos"]["value"] == "00.36.02.56"
    assert firmware(gpu({"firmware": {"TA_RAS": "1B.36.02.14"}}, firmware=None))["ta_ras"]["value"] == "1B.36.02.14"
    assert firmware(gpu({"firmware": None}, firmware=None)) is None


def test_a_version_of_the_tool_that_is_not_understood_is_null_with_a_reason():
    row = gpu({"firmware": {"PLDM_BUNDLE": "x"}})
    assert firmware(row)["pldm_bundle"]["value"] is None
    assert told(row) == {"firmware pldm_bundle": "not understood: 'x'"}


def test_rocm_smi_counts_in_its_own_way():
    row = gpu({"tool": "rocm-smi", "firmware": {"ta_ras": "27.00.01.60", "ce": "0"}}, firmware={})
    assert list(firmware(row)) == ["ta_ras"]
    assert firmware(row)["ta_ras"]["value"] == "1B.00.01.3C"


@pytest.mark.parametrize(
    "smi, subject, reason",
    [
        ({"device_id": "74b5"}, "device_id", "sysfs says 74a1, amd-smi says 74b5"),
        ({"vbios": "113-M3000100-101"}, "vbios", "sysfs says 113-M3000100-102, amd-smi says 113-M3000100-101"),
        ({"speed_gts": 16.0}, "link speed in GT/s", "sysfs says 32, amd-smi says 16"),
        ({"max_width": 8}, "possible link width", "sysfs says 16, amd-smi says 8"),
        ({"bad_pages": 2}, "bad_pages", "sysfs says 1, amd-smi says 2"),
        ({"ecc": {"ue": 0, "ce": 9, "de": None}}, "ecc ce", "sysfs says 5, amd-smi says 9"),
    ],
)
def test_each_disagreement_is_told_once_and_nothing_is_changed(smi, subject, reason):
    row = gpu(smi, bad_pages=1, ras={"umc": {"ue": 0, "ce": 4}, "gfx": {"ue": 0, "ce": 1, "de": 0}})
    before = copy.deepcopy(row)
    assert told(row) == {subject: reason}
    assert reconcile([row])[0] == [before]
    assert row == before


def test_another_width_of_the_tool_is_recorded_and_the_link_stays_c03():
    hops = [hop(), hop(speed=16.0), hop(speed=16.0)]
    row = gpu({"speed_gts": 16.0, "width": 2}, link=hops)
    assert told(row) == {"link width": "sysfs says 16, amd-smi says 2"}
    assert reconcile([row])[0][0]["link"] == hops


@pytest.mark.parametrize(
    "smi, more",
    [
        ({"device_id": None}, {}), ({"device_id": "74a1"}, {"device_id": None}),
        ({"speed_gts": 2.5}, {"link": [hop(samples_gts=[2.5, 32.0])]}), ({"width": 8}, {"link": []}),
        ({"width": 8}, {"link": None}), ({"ecc": {"ue": 1}}, {"ras": None}), ({"ecc": {"ue": 1}}, {}),
        ({"ecc": {"ue": 1}}, {"ras": {"umc": None}}), ({"bad_pages": None}, {"bad_pages": 3}),
    ],
)  # fmt: skip
def test_what_one_source_does_not_tell_is_no_disagreement_e04(smi, more):
    assert told(gpu(smi, **more)) == {}


@pytest.mark.parametrize("gpus", [None, [], [{"bdf": BDF}], [{"bdf": BDF, "smi": None, "firmware": None}]])
def test_gpus_of_one_source_stay_as_they_are(gpus):
    assert reconcile(gpus) == (gpus, [])


def test_without_the_subset_firmware_there_is_no_key_of_it():
    row = gpu({"firmware": {"PM": "07.85.11.01"}})
    del row["firmware"]
    assert reconcile([row]) == ([row], [])
