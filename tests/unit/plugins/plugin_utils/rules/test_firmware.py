# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware of the GPUs against AMD's list, block by block, and against that of the other GPUs."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import FirmwarePair
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.firmware import _fits
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import MI325X, bundle, old, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import CATALOG, record_of, said

OTHER = seen(*bundle("01.25.04.01"), **MI325X)
MI100 = {"product": "MI100", "node": {"device_id": "738c", "speed": 16.0}}
TEN = {"rocm": "10.0.0", "driver": "31.50.0"}


def vbios(part):
    return seen(*[(f"gpus.{number}.vbios", part) for number in range(8)], **MI100)


def test_a_bundle_that_amd_does_not_list_is_a_step_by_hand(tmp_path):
    record = record_of(OTHER, tmp_path)
    (row,) = said(record, "firmware.pair")
    assert (row["verdict"], record["class"], record["verdict"]["transition"]) == ("fail", "blocked", "manual")
    assert record["before"] == ["bring pldm_bundle of the GPUs to 01.25.06.08 or 01.25.04.02"]


@pytest.mark.parametrize(("version", "kind"), [("01.25.06.08", "may_move"), ("01.25.04.00", "blocked")])
def test_a_bundle_that_the_target_brings_in_is_no_step_by_hand(tmp_path, version, kind):
    wants = {**OTHER.wants, "firmware": [bmcs.row("gpu_bundle", version)]}
    told = bmcs.told(bmcs.entry("gpu_bundle", "01.25.04.01"))
    record = record_of(OTHER._replace(wants=wants, changes=(*OTHER.changes, ("bmc", told))), tmp_path)
    assert record["class"] == kind
    assert (said(record, "firmware.pair")[0]["verdict"] == "warn") is (kind == "may_move")


def test_where_nothing_is_to_be_moved_it_is_told(tmp_path):
    record = record_of(OTHER, tmp_path, rocm="7.0.2", driver="30.10.2")
    assert {row["verdict"] for row in said(record, "firmware.pair")} <= {"warn"}
    assert (record["class"], record["before"]) == ("at_target", [])


def test_gpus_with_the_same_answer_are_told_once_and_others_by_name(tmp_path):
    case = seen(*bundle("01.25.06.08"), ("gpus.2.firmware.pldm_bundle.value", "01.25.04.01"), **MI325X)
    (row,) = said(record_of(case, tmp_path), "firmware.pair")
    assert (row["subject"], row["observed"]) == ("0000:33:00.0", "pldm_bundle 01.25.04.01")


@pytest.mark.parametrize(
    "smi, hint, kind",
    [((), "gather the subset smi", "may_move"), ({"tool": "amd-smi 24.5"}, "a newer release", "unknown")],
)
def test_a_number_on_another_axis_does_not_stand_for_the_one_that_is_listed_b38(tmp_path, smi, hint, kind):
    asked = [(f"gpus.{number}.smi", smi) for number in range(8)] if smi else []
    record = record_of(seen(*asked, **MI325X), tmp_path)
    (row,) = said(record, "firmware.known")
    assert (row["verdict"], record["class"]) == ("unknown", kind)
    assert hint in row["fix"]


def test_firmware_that_was_asked_for_and_is_not_told_is_no_better_than_wrong_firmware(tmp_path):
    smi = [(f"gpus.{number}.smi", {"tool": "amd-smi", "bad_page_threshold_exceeded": False}) for number in range(8)]
    wrong = seen(*smi, *bundle("01.25.04.01"), **MI325X)
    dark = wrong._replace(changes=(*wrong.changes, ("gpus.2.firmware.pldm_bundle.value", None)))
    assert record_of(wrong, tmp_path)["class"] == "blocked"
    assert record_of(dark, tmp_path)["class"] == "unknown"


def test_the_policy_may_make_unknown_firmware_decide(tmp_path):
    case = seen(**MI325X)._replace(policy={"require_listed_firmware": True})
    assert record_of(case, tmp_path)["class"] == "unknown"


def test_a_part_number_of_a_server_maker_is_no_mismatch_b22(tmp_path):
    record = record_of(vbios("113-D3431500-100"), tmp_path, **TEN)
    (row,) = said(record, "firmware.pair")
    assert (row["verdict"], row["observed"]) == ("warn", "vbios 113-D3431500-100")
    assert "never flash AMD's image" in row["fix"]


@pytest.mark.parametrize("part, verdicts", [("113-D3430401-037", []), ("113-D3430401-030", ["fail"])])
def test_the_prefix_is_no_part_of_the_comparison_and_the_part_after_the_dash_is_b22_b36(tmp_path, part, verdicts):
    assert [row["verdict"] for row in said(record_of(vbios(part), tmp_path, **TEN), "firmware.pair")] == verdicts


@pytest.mark.parametrize(
    "scheme, least, exact, seen_, fits",
    [
        ("dotted", "01.26.00.04", ("01.25.06.05",), "01.26.00.04", True),
        ("dotted", "01.26.00.04", ("01.25.06.05",), "01.26.01.00", True),
        ("dotted", "01.26.00.04", ("01.25.06.05",), "01.25.06.05", True),
        ("dotted", "01.26.00.04", ("01.25.06.05",), "01.25.07.00", False),
        ("dotted", None, ("01.25.06.08", "01.25.04.02"), "01.25.05.00", False),
        ("dotted", None, ("01.25.06.08", "01.25.04.02"), "01.26.00.00", None),
        ("ifwi", "75", (), "74", False),
        ("ifwi", "75", (), "00189939", None),
        ("ifwi", "PRD1000A", ("00189939",), "PRD1000B", None),
        ("pi", None, ("PI100D", "PI100C"), "PI100C", True),
        ("pi", None, ("PI100D", "PI100C"), "PI100B", False),
        ("dotted", "01.26.00.04", (), "nonsense", None),
    ],
)
def test_a_version_fits_a_row_or_not_or_has_no_place_in_it(scheme, least, exact, seen_, fits):
    assert _fits(FirmwarePair("x", scheme, least, exact, "verified", ""), seen_) is fits


def test_what_the_catalog_did_not_verify_neither_fails_nor_passes(tmp_path):
    class Unsure:
        def __getattr__(self, name):
            return getattr(CATALOG, name)

        def firmware_for(self, product, rocm):
            return [FirmwarePair("pldm_bundle", "dotted", "01.26.00.00", (), "unverified", "a forum")]

    older, newer = (record_of(old(*bundle(value)), tmp_path, Unsure()) for value in ("01.25.06.08", "01.26.00.01"))
    assert [row["verdict"] for row in said(older, "firmware.pair")] == ["warn"]
    assert [row["verdict"] for row in said(newer, "firmware.known")] == ["unknown"]
    assert {older["class"], newer["class"]} == {"may_move"}


def test_a_gpu_with_another_firmware_than_its_neighbours_is_told_by_block(tmp_path):
    case = seen(("gpus.2.firmware.sos.value", "00.36.02.56"))
    (row,) = said(record_of(case, tmp_path), "firmware.uniform")
    assert row["observed"] == "sos 00.36.02.4B on 7, 00.36.02.56 on 1"


NONE = {"/lib/firmware/amdgpu": 0, "/lib/firmware/updates/amdgpu": 0}


def test_firmware_files_that_went_with_a_package_stop_the_reboot_a12(tmp_path):
    record = record_of(seen(("driver.firmware_files", NONE)), tmp_path)
    (row,) = said(record, "firmware.files")
    assert (row["verdict"], record["class"]) == ("fail", "unhealthy")
    assert "linux-firmware" in row["fix"]


def test_one_of_the_two_folders_is_enough(tmp_path):
    record = record_of(seen(("driver.firmware_files", {**NONE, "/lib/firmware/amdgpu": 612})), tmp_path)
    assert said(record, "firmware.files") == []
