# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded kernel logs: each says what its right answer says, and no more."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import parse
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import count
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import corpus, members, names, text
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

SIGNATURES = load_catalog().signatures
ARCHIVE = "dmesg/node-scraper-unit-logs.tar.gz"
# What is a fault, and what deserves a look, as "signature" or "signature function"; and why a GPU does not serve.
RIGHT = {
    "aer-apei-ghes-corrected-mi100": ("", "aer_apei 0000:00:01.1, apei_pcie_corrected 0000:20:03.1", ""),
    "aer-corrected-then-init-fail": (
        "ring_test_failed 0000:03:00.0, ip_block_failed 0000:03:00.0, init_fatal 0000:03:00.0",
        "aer_corrected 0000:01:00.0, aer_corrected 0000:00:01.0", "0000:03:00.0 ring mes_kiq_3.1.0 test failed (-110)"),
    "aer-fatal-malformed-tlp-old-format": (
        "aer_fatal 0000:00:1c.4, aer_recovery_failed 0000:00:1c.4", "aer_message_uncorrected 0000:00:1c.4", ""),
    "bar-assign-fail-riser": ("", "bar_unassigned 0000:0d:00.0", ""),
    "fw-load-fail-optional-ta": ("", "", ""),
    "fw-load-fail-psp-toc": (
        "firmware_refused 0000:04:00.0, ip_block_failed 0000:04:00.0, init_fatal 0000:04:00.0",
        "firmware_missing 0000:04:00.0", "0000:04:00.0 psp_13_0_8_toc.bin failed with error -2"),
    "gfx12-smu-if-version-mismatch": ("", "", ""),
    "gfxhub-page-fault": ("", "page_fault 0000:83:00.0", ""),
    "gpu-reset-1-failed-psp-62": (
        "psp_init_failed, ip_block_failed, reset_failed 0000:0b:00.0, queue_hang 0000:0b:00.0, "
        "device_inaccessible 0000:0b:00.1", "vram_lost", ""),
    "healthy-init-navi31-new-prefix": ("", "", ""),
    "mes-hang-journal": (
        "mes_hang, mes_hang 0000:03:00.0, queue_hang 0000:03:00.0, ip_hung 0000:03:00.0, reset_incomplete 0000:03:00.0",
        "page_fault 0000:03:00.0", ""),
    "mes-hang-new-wording": (
        "mes_hang 0000:c5:00.0, queue_hang 0000:c5:00.0, reset_incomplete 0000:c5:00.0", "", ""),
    "mi100-gpu-post-error": (
        "post_error 0000:e3:00.0, init_fatal 0000:e3:00.0, probe_failed 0000:e3:00.0", "",
        "0000:e3:00.0 gpu post error!"),
    "mi210-arm-bars-and-class": ("", "", ""),
    "mi210-bar-assignment-supermicro": ("", "vf_bar_unplaced 0000:c5:00.0, vf_bar_unassigned 0000:08:00.0", ""),
    "mi210-xgmi-psp-ring-fail": ("psp_init_failed 0000:c7:00.0", "", "0000:c7:00.0 PSP create ring failed!"),
    "mi300a-psp-perfmon-fail": ("", "psp_command_failed 0000:c1:00.0", ""),
    "mi300x-athub-aca": ("ras_athub 0000:1c:00.0", "aca_logged 0000:42:00.0, aca_logged 0000:55:00.0", ""),
    "mi300x-boot-head-6.10.5-intel": ("", "", ""),
    "mi300x-packed-sos-reinit-fail-after-reboot": (
        "psp_sos_too_large 0000:1b:00.0, ip_block_failed 0000:1b:00.0, init_fatal 0000:1b:00.0", "",
        "0000:1b:00.0 packed SOS count exceeds maximum limit"),
    "mi50-umc-ecc-baco-psp-fail-summary": (
        "ras_athub 0000:08:00.0, ras_uncorrectable 0000:08:00.0, psp_init_failed 0000:08:00.0, "
        "reset_failed 0000:08:00.0",
        "ras_corrected 0000:08:00.0", ""),
    "navi-invalid-ip-discovery-journal": (
        "ip_discovery 0000:03:00.0, init_fatal 0000:03:00.0, probe_failed 0000:03:00.0", "",
        "0000:03:00.0 get invalid ip discovery binary signature from vram"),
    "node-scraper-dmesg_sample": (
        "ras_poison_consumed 0000:01:00.0, bad_page_threshold_exceeded 0000:02:00.0, "
        "apei_pcie_recoverable 0000:11:01.0",
        "bar_unassigned 0000:00:01.0, io_page_fault 0000:00:14.0, ras_poison_created 0000:01:00.0, "
        "aca_logged 0000:03:00.0", ""),
    "node-scraper-mce-lines": ("mce_uncorrected, ras_uncorrectable 0000:de:ad.0", "mce_corrected", ""),
    "pcie-bandwidth-limited-gen3-slot": (
        "", "pcie_limited 0000:0c:00.0, pcie_limited 0000:0b:00.0, pcie_limited 0000:01:00.0", ""),
    "ras-negative-and-soft-recovered-lines": ("ras_uncorrectable 0000:c3:00.0", "", ""),
    "renoir-mode2-reset-ok": ("", "reset_resuming 0000:03:00.0", ""),
    "ring-reset-then-mode1-ok": (
        "", "ring_reset_failed 0000:03:00.0, reset_resuming 0000:03:00.0, vram_lost 0000:03:00.0, "
        "reset_succeeded 0000:03:00.0", ""),
    "ring-timeout-old-wording": ("smu_hang 0000:0d:00.0, ring_timeout 0000:0d:00.0", "", ""),
    "vega20-qcm-fence-timeout-baco": ("", "unload_failed 0000:67:00.0, reset_resuming 0000:67:00.0", ""),
}  # fmt: skip
# AMD's own names for what its analyser is to find, and the signature; None: it is about no GPU, and not looked for.
CLASSES = {
    "ACA Error": "aca_logged",
    "Bad page threshold exceeded": "bad_page_threshold_exceeded",
    "Error Address": "ras_error_address",
    "Failed to disallow cf state": "unload_failed",
    "Fatal error during GPU init": "init_fatal",
    "Out of memory error": None,
    "QCM fence timeout": "queue_hang",
    "RAS Hardware Error": "apei_pcie_recoverable",
    "RAS Poison Consumed": "ras_poison_consumed",
    "RAS Poison created": "ras_poison_created",
    "Unknown dmesg error": None,
    "amdgpu Page Fault": "page_fault",
}
# Texts for which the analyser's test asks something else than the class; what is in them stands here.
OTHERS = {
    "combined_ras_errors": {"ras_poison_consumed", "ras_poison_created", "bad_page_threshold_exceeded",
                            "apei_host_recoverable", "ras_error_address"},
    "dmesg_sample_ignore_match_rules": {"mce_corrected"},
    "dmesg_sample_with_collapsing": {"io_page_fault"},
    "exclude_category": {"queue_hang", "init_fatal", "ras_corrected", "unload_failed"},
    "filtered_window_orphan_mce_tail_not_unknown": {"mce_corrected"},
    "hardware_error_block_not_reported_as_unknown": {"mce_corrected"},
    "hardware_error_block_reports_mce_without_ignore": {"mce_corrected"},
    "ignore_match_rules_mce_bank_range": {"mce_corrected"},
    "ignore_match_rules_mce_banks_and_threshold": {"mce_corrected"},
    "mce_ce_uc_and_ras_corrected_warning_priorities": {"mce_corrected", "mce_uncorrected", "ras_corrected",
                                                       "apei_pcie_corrected"},
    "mce_interleave_pattern_suppresses_block_with_ignored_banks": {"mce_corrected"},
    "mce_match_content_is_single_status_line": {"mce_corrected"},
    "mce_threshold_not_triggered_below_limit": {"mce_corrected"},
    "mce_threshold_raises_error_for_cpu_colon_status": {"mce_corrected"},
    "mce_threshold_raises_error_for_status_lines": {"mce_corrected"},
    "orphan_mce_detail_lines_not_reported_as_unknown": set(),
    "priority_override_no_change_keeps_original": {"ras_corrected"},
    "priority_override_rules_in_analyze_data": {"ras_corrected", "io_page_fault"},
}  # fmt: skip
FILES = names("dmesg")


def log(name):
    return text(f"dmesg/{name}.log")


def rows(content):
    return count(parse(content)).rows.values()


def listed(words):
    return {part.strip() for part in words.split(",") if part.strip()}


def said(content, severity):
    """What a log holds of one severity; what a reset has mended is left out."""
    mended = [row.id for row in rows(content) if SIGNATURES[row.id].get("until_reset") and not row.open]
    found = [row for row in rows(content) if SIGNATURES[row.id]["severity"] == severity and row.id not in mended]
    return {f"{row.id} {row.bdf}" if row.bdf else row.id for row in found}


def archived():
    contents = members(ARCHIVE) if FILES else {}
    return {path.rsplit("/", 1)[-1]: content.decode() for path, content in contents.items()}


def test_every_recorded_log_has_its_answer_here():
    corpus()
    assert set(FILES) == {*(f"dmesg/{name}.log" for name in RIGHT), ARCHIVE}


@pytest.mark.parametrize("name", RIGHT)
def test_a_recorded_log_says_what_it_should(name):
    content, (faults, looks, _why) = log(name), RIGHT[name]
    assert said(content, "fail") == listed(faults)
    assert said(content, "warn") == listed(looks)


@pytest.mark.parametrize("name", RIGHT)
def test_a_recorded_log_tells_why_a_gpu_does_not_serve(name):
    found = count(parse(log(name))).init_errors
    bdf, _blank, reason = RIGHT[name][2].partition(" ")
    assert set(found) == ({bdf} if bdf else set())
    assert reason in found.get(bdf, "")


def only(name, signature):
    (row,) = [row for row in rows(log(name)) if row.id == signature]
    return row


def test_the_number_of_a_firmware_record_is_how_many_there_were_c10():
    row = only("aer-apei-ghes-corrected-mi100", "apei_pcie_corrected")
    assert row.details == {"sequence": 359, "secondary_bus": "2d"}


def test_errors_of_the_cards_own_switch_are_about_the_gpu_behind_it_c10():
    path = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0"
    files = {f"{path}/class": "0x120000", f"{path}/vendor": "0x1002", "/dev/kmsg": log("aer-corrected-then-init-fail")}
    facts = gather(RecordedHost({"files": files, "links": {"/sys/bus/pci/devices/0000:03:00.0": path}}), ["log"])
    assert {tuple(row["gpus"]) for row in facts["log"]["signatures"]} == {("0000:03:00.0",)}
    assert "test failed" in facts["gpus"][0]["init_error"]


def test_limits_of_slots_are_read_with_their_place():
    seen = [row.details for row in rows(log("pcie-bandwidth-limited-gen3-slot"))]
    assert [(row["limit"], row["limited_at"], row["capable"]) for row in seen] == [
        ("8.0 GT/s PCIe x16", "0000:00:03.1", "16.0 GT/s PCIe x16"),
        ("8.0 GT/s PCIe x16", "0000:00:03.1", "16.0 GT/s PCIe x16"),
        ("8.0 GT/s PCIe x1", "0000:00:00.0", "8.0 GT/s PCIe x16"),
    ]


@pytest.mark.parametrize(("name", "signature", "details"), [
    ("node-scraper-dmesg_sample", "bad_page_threshold_exceeded", {"records": 150, "threshold": 128}),
    ("ras-negative-and-soft-recovered-lines", "ras_uncorrectable", {"umc": 2}),
    ("gfxhub-page-fault", "page_fault", {"process": "rocm-bandwidth-"}),
    ("gpu-reset-1-failed-psp-62", "reset_failed", {"reset": 1}),
])  # fmt: skip
def test_numbers_and_names_in_a_recorded_line_are_kept(name, signature, details):
    assert only(name, signature).details == details


@pytest.mark.parametrize("name", sorted(name for name in archived() if name.endswith(".log")))
def test_what_amds_own_analyser_is_to_find_is_found(name):
    content, expected = archived()[name], json.loads(archived()["expected.json"]).get(name)
    found = {row.id for row in rows(content)}
    assert found == (OTHERS[name[:-4]] if expected is None else {CLASSES[word] for word in expected} - {None})


def test_one_block_of_a_page_fault_is_one_event():
    content = members(ARCHIVE)["node-scraper-unit/page_fault.log"].decode()
    assert {row.bdf: row.count for row in rows(content)} == {"0000:03:00.0": 2, "0003:02:00.0": 1, "0000:f5:00.0": 1}
