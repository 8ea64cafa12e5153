# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recognised in a line, and what only several lines tell."""

from __future__ import annotations

import time

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import parse
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import count
from ansible_collections.fleetops.instinct.plugins.module_utils._signatures import NOTHING, recognise

GPU = "amdgpu 0000:63:00.0: amdgpu:"
AER = "pcieport 0000:60:01.1: PCIe Bus Error: severity="


def rows(*lines):
    """Signatures as {(id, BDF): row}."""
    return count(parse("\n".join(lines))).rows


def ids(*lines):
    return [name for name, _bdf in rows(*lines)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{AER}Corrected, type=Physical Layer", f"{AER}Correctable, type=Physical Layer"),
        (f"{AER}Uncorrected (Non-Fatal), type=x", f"{AER}Uncorrectable (Non-Fatal), type=x"),
        (f"{AER}Uncorrected (Fatal), type=x", f"{AER}Uncorrectable (Fatal), type=x"),
        (f"{GPU} GPU reset begin!", "amdgpu 0000:63:00.0: GPU reset begin!. Source:  3"),
        (f"{GPU} MES failed to response msg=3", f"{GPU} MES failed to respond to msg=REMOVE_QUEUE"),
        (f"{GPU} Poison is created", "amdgpu 0000:63:00.0: {15}Poison is created"),
        (f"{GPU} 3 uncorrectable hardware errors detected in umc block",
         "amdgpu 0000:63:00.0: {7}socket: 0, die: 0, 3 new uncorrectable hardware errors detected in umc block"),
        ("amdgpu: probe of 0000:63:00.0 failed with error -22",
         "amdgpu 0000:63:00.0: probe with driver amdgpu failed with error -22"),
        ("pcieport 0000:60:01.1: AER: Multiple Corrected error received: 0000:63:00.0",
         "pcieport 0000:60:01.1: AER: Multiple Correctable error message received from 0000:63:00.0"),
        ("AMD-Vi: Event logged [IO_PAGE_FAULT device=63:00.0 domain=0x0000]",
         "amdgpu 0000:63:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0000]"),
        (f"{GPU} Saved bad pages 33 reaches threshold value 32", f"{GPU} RAS records:33 exceed threshold:32"),
    ],
)  # fmt: skip
def test_old_and_new_words_are_one_signature_at_one_function(old, new):
    seen = [recognise(line) for line in (old, new.replace("{7}", "").replace("{15}", ""))]
    assert seen[0].id is not None
    assert (seen[0].id, seen[0].bdf, seen[0].details) == (seen[1].id, seen[1].bdf, seen[1].details)


@pytest.mark.parametrize(
    "line",
    [
        f"{GPU} no uncorrectable hardware errors detected in umc block",
        f"{GPU} 0 uncorrectable hardware errors detected in umc block",
        f"{GPU} ring comp_1.0.1 timeout, but soft recovered",
        f"{GPU} SMU is initialized successfully!",
        f"{GPU} smu driver if version = 0x0000003d, smu fw if version = 0x00000041, smu fw program = 0",
        f"{GPU} RAS: optional ras ta ucode is not available",
        "amdgpu 0000:1b:00.0: ROM [??? 0x00000000 flags 0x20000000]: can't assign; bogus alignment",
        "pci 0000:05:00.0: BAR 0 [mem 0x00000000-0xfffffffff 64bit pref]",
        "pcieport 0000:60:01.1: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+",
        "pcieport 0000:60:01.1: AER: enabled with IRQ 33",
        "Modules linked in: amdgpu drm_ttm_helper ttm drm_kms_helper",
        "amdgpu 0000:42:00.0: [Hardware Error]: aca entry[00].STATUS=0x98000800003e0000",
        "amdgpu 0000:42:00.0: [Hardware Error]: aca entry[00].STATUS=0xffffffffffffffff",
    ],
)  # fmt: skip
def test_a_line_that_looks_like_a_fault_and_is_none(line):
    assert recognise(line).id is None


@pytest.mark.parametrize("line", ["HBM Memory Timeout", "CUDA incompatible", "GPU fell off the bus"])
def test_what_folklore_tells_of_is_no_signature(line):
    assert recognise(f"{GPU} {line}").id is None
    assert recognise(line) is NOTHING


def test_numbers_that_matter_are_kept_and_the_greatest_stays():
    found = rows(
        f"{GPU} 2 new uncorrectable hardware errors detected in umc block",
        f"{GPU} 5 uncorrectable hardware errors detected in total in umc block",
        f"{GPU} 1 new uncorrectable hardware errors detected in gfx block",
    )
    assert [(row.count, row.details) for row in found.values()] == [(3, {"umc": 5, "gfx": 1})]


@pytest.mark.parametrize("line", [
    "amdgpu 0000:65:00.0: amdgpu: RAS records:33 exceed threshold:32, GPU will not be initialized. Replace this GPU",
    "amdgpu 0000:65:00.0: amdgpu: RAS records:33 exceed threshold:32",
])  # fmt: skip
def test_old_and_new_driver_tell_of_too_many_bad_pages_d09(line):
    row = rows(line)["bad_page_threshold_exceeded", "0000:65:00.0"]
    assert row.details == {"records": 33, "threshold": 32}


def test_a_gpu_that_starts_in_spite_of_its_bad_pages_has_no_init_error_d09():
    tally = count(parse(
        "amdgpu 0000:65:00.0: amdgpu: RAS records:33 exceed threshold:32\n"
        "amdgpu 0000:65:00.0: amdgpu: GPU will be initialized due to bad_page_threshold = -1.\n"
        "[drm] Initialized amdgpu 3.63.0 for 0000:65:00.0 on minor 1\n"
    ))  # fmt: skip
    assert tally.init_errors == {}
    assert [name for name, _bdf in tally.rows] == ["bad_page_threshold_exceeded", "bad_page_threshold_ignored"]


D01 = """amdgpu 0000:43:00.0: amdgpu: RAS records:48 exceed threshold:32, GPU will not be initialized. Replace this GPU
amdgpu 0000:43:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!
amdgpu 0000:43:00.0: amdgpu: Fatal error during GPU init
amdgpu: probe of 0000:43:00.0 failed with error -22
"""


def test_the_cause_of_a_start_that_failed_is_the_first_line_that_decides_d01():
    assert "RAS records:48 exceed threshold:32" in count(parse(D01)).init_errors["0000:43:00.0"]


H03 = """[  356.920249] amdgpu 0000:05:00.0: amdgpu: get invalid ip discovery binary signature
[  361.717929] [drm:amdgpu_discovery_set_ip_blocks [amdgpu]] *ERROR* amdgpu_discovery_init failed
[  361.718375] amdgpu 0000:05:00.0: amdgpu: Fatal error during GPU init
[  361.718710] amdgpu: probe of 0000:05:00.0 failed with error -22
"""


def test_a_line_without_an_address_is_about_the_gpu_named_before_h03():
    tally = count(parse(H03))
    assert list(tally.rows) == [(name, "0000:05:00.0") for name in ("ip_discovery", "init_fatal", "probe_failed")]
    assert tally.rows["ip_discovery", "0000:05:00.0"].count == 2
    assert "invalid ip discovery" in tally.init_errors["0000:05:00.0"]


@pytest.mark.parametrize("between", ["\n".join(["x"] * 30), "[  900.000000] x"])
def test_a_line_long_after_the_gpu_was_named_is_about_none(between):
    log = f"[  1.000000] {GPU} ATOM BIOS\n{between}\n[  900.500000] [drm] VRAM is lost due to GPU reset!"
    assert list(rows(log)) == [("vram_lost", None)]


def test_a_start_that_went_well_afterwards_leaves_no_init_error():
    assert count(parse(H03 + "[drm] Initialized amdgpu 3.63.0 for 0000:05:00.0 on minor 1")).init_errors == {}


@pytest.mark.parametrize(
    "end", [[], ["amdgpu 0000:1b:00.0: amdgpu: GPU reset(1) succeeded!"], [f"{GPU} ring x uses VM"]]
)
def test_a_reset_without_an_end_is_incomplete_d04(end):
    found = rows("amdgpu 0000:c6:00.0: amdgpu: GPU reset begin!", *end)
    assert ("reset_incomplete", "0000:c6:00.0") in found


@pytest.mark.parametrize(
    "end",
    [
        "GPU reset(1) succeeded!",
        "GPU reset succeeded, trying to resume",
        "GPU reset(3) failed",
        "GPU reset end with ret = -5",
    ],
)
def test_a_reset_with_an_end_is_complete_d04(end):
    assert "reset_incomplete" not in ids(f"{GPU} GPU reset begin!", f"{GPU} {end}")


def test_a_reset_that_went_well_answers_for_what_came_before_it_and_not_after():
    hang = f"{GPU} MES failed to respond to msg=REMOVE_QUEUE"
    found = rows(hang, hang, f"{GPU} GPU reset begin!", f"{GPU} GPU reset(1) succeeded!", hang)
    row = found["mes_hang", "0000:63:00.0"]
    assert (row.count, row.open) == (3, 1)


def test_a_reset_that_went_well_answers_for_lines_without_a_gpu_unless_another_is_under_way():
    hang, begun = "amdgpu: qcm fence wait loop timeout expired", f"{GPU} GPU reset begin!"
    other = "amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!"
    well = f"{GPU} GPU reset(1) succeeded!"
    assert rows(hang, begun, well)["queue_hang", None].open == 0
    assert rows(hang, begun, other, well)["queue_hang", None].open == 1


def test_a_start_of_the_driver_ends_what_a_reset_had_left():
    found = rows(f"{GPU} GPU reset begin!", "[drm] Initialized amdgpu 3.63.0 for 0000:63:00.0 on minor 1")
    assert [(row.id, row.open) for row in found.values()] == [("reset_begun", 0)]


def test_a_reset_of_one_gpu_answers_for_no_other():
    other = "amdgpu 0000:1b:00.0: amdgpu: IP block:gfx_v9_4_3 is hung!"
    found = rows(other, f"{GPU} GPU reset begin!", f"{GPU} GPU reset(1) succeeded!")
    assert found["ip_hung", "0000:1b:00.0"].open == 1


C10 = """[ 2478.486780] pcieport 0000:00:01.1: AER: aer_layer=Data Link Layer, aer_agent=Receiver ID
[ 2484.374025] {359}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 512
[ 2484.374028] {359}[Hardware Error]: event severity: corrected
[ 2484.374031] {359}[Hardware Error]:   section_type: PCIe error
[ 2484.374031] {359}[Hardware Error]:   port_type: 4, root port
[ 2484.374033] {359}[Hardware Error]:   device_id: 0000:20:03.1
[ 2484.374034] {359}[Hardware Error]:   secondary_bus: 0x2d
"""


def test_lines_of_one_record_of_the_firmware_count_once_c10():
    row = rows(C10, C10.replace("{359}", "{360}"))["apei_pcie_corrected", "0000:20:03.1"]
    assert (row.count, row.details) == (2, {"sequence": 360, "secondary_bus": "2d"})


@pytest.mark.parametrize(("how", "name"), [("fatal", "apei_host_fatal"), ("recoverable", "apei_host_recoverable")])
def test_a_record_about_memory_is_the_hosts(how, name):
    head = "{3}[Hardware Error]: "
    assert ids(f"{head}event severity: {how}", f"{head}  section_type: memory error") == [name]


@pytest.mark.parametrize("body", ["event severity: info", "  device_id: 0000:20:03.1", "  cache level: L3/GEN"])
def test_a_record_of_the_firmware_that_says_nothing_grave_is_none(body):
    assert ids(f"{{3}}[Hardware Error]: {body}") == []


def test_credentials_in_a_line_are_masked():
    row = rows(f"{GPU} GPU reset begin! see https://me:secret@mirror.example/x")["reset_begun", "0000:63:00.0"]
    assert "secret" not in row.sample


def flood(number):
    texts = [
        f"{AER}Corrected, type=Data Link Layer, (Transmitter ID)",
        "pcieport 0000:60:01.1:    [12] Timeout               ",
    ]
    lines = (f"4,{n},{n * 1000},-;{texts[n % 2]}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:60:01.1" for n in range(number))
    return "\n".join(lines)


def test_a_flood_is_one_row_c10():
    (row,) = count(parse(flood(100_000))).rows.values()
    assert (row.id, row.bdf, row.count, row.first, row.last) == ("aer_corrected", "0000:60:01.1", 50_000, 0.0, 99.998)


def test_a_flood_costs_as_much_as_its_lines_and_no_more_c10():
    def cost(number):
        text = flood(number)
        started = time.process_time()
        count(parse(text))
        return time.process_time() - started

    assert min(cost(40_000) for _try in range(3)) < 20 * min(cost(4_000) for _try in range(3))
