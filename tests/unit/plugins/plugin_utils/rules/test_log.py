# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules make of a kernel log, through the judge."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import parse
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import count
from ansible_collections.fleetops.instinct.plugins.module_utils._signatures import (
    APEI,
    IDS,
    INCOMPLETE,
    SERVES,
    SIGNATURES,
    recognise,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    UNTOLD,
    change,
    facts,
    write_target,
)

CATALOG = load_catalog()
BDF = "0000:33:00.0"
GPU = f"[  100.000000] amdgpu {BDF}: amdgpu:"
PORT = "0000:30:01.1"


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    return load_target(write_target(tmp_path_factory.mktemp("log")), CATALOG)


def signature(name, bdf=BDF, gpus=(BDF,), **more):
    row = {"id": name, "bdf": bdf, "named": True, "gpus": list(gpus), "count": 1, "open": 1, "first": 1.0, "last": 1.0}
    return {**row, "sample": "the line", "details": {}, **more}


def signatures(text, gpus=(BDF,)):
    """The rows of a log all of whose functions are on the path of the GPUs."""
    return [
        signature(row.id, row.bdf, gpus, count=row.count, open=row.open, first=row.first, last=row.last,
                  sample=row.sample, details=row.details)
        for row in count(parse(text)).rows.values()
    ]  # fmt: skip


def log_of(target, rows, **log):
    """The log findings of a node by rule, and its class."""
    sample = facts(versions=NEW)
    record = judge({**sample, "log": {**sample["log"], "signatures": rows, **log}}, target, CATALOG, "g01")
    return {row["rule"]: row for row in record["findings"] if row["rule"].startswith("log.")}, record["class"]


def test_every_signature_has_its_meaning_in_the_catalog_and_the_other_way_round():
    assert set(CATALOG.signatures) == set(IDS)
    assert {row.id for row in SIGNATURES} - {SERVES} == set(IDS) - set(APEI) - {INCOMPLETE}


@pytest.mark.parametrize("name", [name for name in IDS if name not in (*APEI, INCOMPLETE)])
def test_the_line_in_the_catalog_is_what_it_is_an_example_of(name):
    assert recognise(CATALOG.signatures[name]["example"]).id == name


@pytest.mark.parametrize("name", IDS)
def test_a_row_of_the_catalog_says_what_the_rules_ask(name):
    row = CATALOG.signatures[name]
    assert row["severity"] in ("fail", "warn", "info")
    assert row["scope"] in ("gpu", "path", "host")
    assert all(row[key] for key in ("meaning", "action", "source", "example"))
    assert row["severity"] == "warn" or "per_minute" not in row


@pytest.mark.parametrize("name", IDS)
def test_how_grave_a_line_is_the_catalog_says(target, name):
    severity = CATALOG.signatures[name]["severity"]
    found, kind = log_of(target, [signature(name)])
    rule = {"fail": "log.fatal", "warn": "log.warnings", "info": ""}[severity]
    assert [row["verdict"] for row in found.values()] == ([severity] if rule else [])
    assert (list(found), kind) == ([rule] if rule else [], "unhealthy" if severity == "fail" else "at_target")


def test_a_silent_log_is_no_finding(target):
    assert log_of(target, []) == ({}, "at_target")


@pytest.mark.parametrize("log", [None, "absent"])
def test_a_log_nobody_read_is_told_and_decides_nothing(target, log):
    sample = facts(versions=NEW)
    sample = change(sample, "log", None) if log is None else {k: v for k, v in sample.items() if k != "log"}
    record = judge(sample, target, CATALOG, "g01")
    said = [(row["rule"], row["verdict"]) for row in record["findings"] if row["rule"] not in UNTOLD]
    assert said == [("log.read", "unknown")]
    assert record["class"] == "at_target"


@pytest.mark.parametrize("rows", [None, [signature("of a later release")]])
def test_what_a_log_says_and_nobody_understands_is_unknown(target, rows):
    assert log_of(target, rows)[1] == "unknown"


def test_a_log_without_its_start_is_told(target):
    found, kind = log_of(target, [], complete=False)
    assert (found["log.read"]["verdict"], kind) == ("warn", "at_target")


def test_too_many_bad_pages_fail_a_gpu_that_runs_d09(target):
    text = f"{GPU} RAS records:33 exceed threshold:32\n{GPU} GPU will be initialized due to bad_page_threshold = -1."
    found, kind = log_of(target, signatures(text))
    assert "bad_page_threshold_exceeded: 1 at 0000:33:00.0 (records 33, threshold 32)" in found["log.fatal"]["observed"]
    assert (found["log.fatal"]["subject"], kind) == (BDF, "unhealthy")


def test_a_gpu_that_memory_errors_stopped_is_a_fault_of_hardware_d01(target):
    text = f"{GPU} RAS records:48 exceed threshold:32, GPU will not be initialized.\n{GPU} Fatal error during GPU init"
    found, kind = log_of(target, signatures(text)[:1])
    assert ("no other driver mends it" in found["log.fatal"]["fix"], kind) == (True, "unhealthy")


def test_a_reset_without_an_end_is_unhealthy_though_all_gpus_are_there_d04(target):
    found, kind = log_of(target, signatures(f"{GPU} GPU reset begin!"))
    assert ("reset_incomplete: 1" in found["log.fatal"]["observed"], kind) == (True, "unhealthy")
    assert "reboot the node" in found["log.fatal"]["fix"]


@pytest.mark.parametrize("end", ["GPU reset(1) succeeded!", "GPU reset succeeded, trying to resume"])
def test_a_reset_that_went_well_leaves_warnings(target, end):
    text = f"{GPU} MES failed to respond to msg=3\n{GPU} GPU reset begin!\n{GPU} {end}"
    found, kind = log_of(target, signatures(text))
    assert ({row["verdict"] for row in found.values()}, kind) == ({"warn"}, "at_target")
    assert "a reset or a start of the GPU that went well followed" in found["log.fatal"]["why"]


def test_a_start_that_failed_at_first_and_went_well_then_leaves_a_warning(target):
    text = f"{GPU} Fatal error during GPU init\n[  200.000000] [drm] Initialized amdgpu 3.63.0 for {BDF} on minor 1"
    found, kind = log_of(target, signatures(text))
    assert (found["log.fatal"]["verdict"], kind) == ("warn", "at_target")


def test_a_hang_after_the_reset_is_a_fault_again(target):
    hang = f"{GPU} MES failed to respond to msg=3"
    text = "\n".join([hang, f"{GPU} GPU reset begin!", f"{GPU} GPU reset(1) succeeded!", hang])
    assert log_of(target, signatures(text))[1] == "unhealthy"


def test_a_reset_mends_no_memory(target):
    text = f"{GPU} 2 uncorrectable hardware errors detected in umc block\n{GPU} GPU reset(1) succeeded!"
    assert log_of(target, signatures(text))[1] == "unhealthy"


@pytest.mark.parametrize(
    ("count", "seconds", "verdict", "kind"),
    [(359, 3600, "warn", "at_target"), (99, 2, "warn", "at_target"), (600, 60, "fail", "unhealthy"),
     (400, 2, "fail", "unhealthy"), (100_000, 1000, "fail", "unhealthy")],
)  # fmt: skip
def test_corrected_errors_above_the_gpu_warn_and_a_flood_fails_c10(target, count, seconds, verdict, kind):
    rows = [signature("apei_pcie_corrected", PORT, count=count, first=100.0, last=100.0 + seconds)]
    found, seen = log_of(target, rows)
    (finding,) = found.values()
    assert (finding["verdict"], seen) == (verdict, kind)
    assert finding["subject"] == (BDF if verdict == "fail" else "g01")


def test_a_flood_that_nobody_timed_is_unknown_c10(target):
    assert log_of(target, [signature("aer_corrected", PORT, count=9, first=None, last=None)])[1] == "unknown"


@pytest.mark.parametrize("name", ["aer_fatal", "ip_discovery", "pcie_link_down", "aer_corrected", "bar_unassigned"])
def test_lines_about_other_devices_are_no_finding(target, name):
    assert log_of(target, [signature(name, "0000:c1:00.0", [])]) == ({}, "at_target")


def test_a_path_the_collector_missed_is_still_a_gpus(target):
    assert log_of(target, [signature("aer_fatal", PORT, [])])[1] == "unhealthy"


@pytest.mark.parametrize(("name", "kind"), [("psp_init_failed", "unhealthy"), ("aer_fatal", "at_target"),
                                            ("mce_uncorrected", "unhealthy")])  # fmt: skip
def test_a_line_that_names_nobody_counts_where_it_must_be_about_the_node(target, name, kind):
    assert log_of(target, [signature(name, None, [])])[1] == kind


def test_many_devices_make_one_warning(target):
    rows = [signature("page_fault", f"0000:{number}3:00.0", [f"0000:{number}3:00.0"]) for number in range(1, 9)]
    found, _kind = log_of(target, rows)
    assert "page_fault: 8 at 0000:13:00.0, 0000:23:00.0, 0000:33:00.0 and 5 more" in found["log.warnings"]["observed"]


def test_the_boot_before_is_told_and_decides_nothing(target):
    before = {"source": "journal", "complete": True, "lines": 9, "signatures": [signature("device_lost")]}
    found, kind = log_of(target, [], previous=before)
    assert (found["log.previous"]["verdict"], kind) == ("warn", "at_target")
    assert found["log.previous"]["observed"].endswith("in the boot before")


def test_no_driver_leaves_nothing_in_the_log_a21(target):
    text = "[    1.000000] EDAC amd64: F19h detected\n[    2.000000] kvm_amd: TSC scaling supported\n"
    assert signatures(text) == []
