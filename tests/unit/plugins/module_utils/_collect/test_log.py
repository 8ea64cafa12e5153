# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subsets log and previous_log on recorded machines."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import log
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._log_tally import Row
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

DEVICES = "/sys/bus/pci/devices"
PATH = ("0000:60:01.1", "0000:61:00.0", "0000:62:00.0", "0000:63:00.0")
OTHER = ("0000:10:01.1", "0000:11:00.0", "0000:12:00.0", "0000:13:00.0")
GPU = PATH[-1]
FATAL = f"amdgpu {GPU}: amdgpu: Fatal error during GPU init"
COMMAND = (
    "journalctl -k -b -1 -o json --no-pager --output-fields=MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP,__MONOTONIC_TIMESTAMP"
)


def machine(*lines, first=0, serves=False, **more):
    """Two GPUs behind switches, and a ring buffer with these lines."""
    files, links = {}, {}
    for path in (PATH, OTHER):
        folder = f"/sys/devices/pci{path[0][:7]}/" + "/".join(path)
        links[f"{DEVICES}/{path[-1]}"] = folder
        files.update({f"{folder}/class": "0x120000\n", f"{folder}/vendor": "0x1002\n"})
        if serves:
            links[f"{folder}/driver"] = "../../../bus/pci/drivers/amdgpu"
            files[f"{folder}/drm/renderD128/dev"] = "226:128\n"
    records = "".join(f"3,{first + number},{number * 1000000},-;{line}\n" for number, line in enumerate(lines))
    return {"files": {**files, "/dev/kmsg": records, **more.pop("files", {})}, "links": links, **more}


def facts_of(recorded, *subsets):
    return gather(RecordedHost(recorded), list(subsets or ["log"]))


def rows(facts):
    return {(row["id"], row["bdf"]): row for row in facts["log"]["signatures"]}


def reasons(facts):
    return [row["reason"] for row in facts["problems"]]


def test_a_log_is_read_whole():
    facts = facts_of(machine("Linux version 6.8.0", "x"))
    assert facts["log"] == {"source": "kmsg", "complete": True, "lines": 2, "signatures": [], "previous": None}
    assert facts["problems"] == []


@pytest.mark.parametrize("bdf", PATH)
def test_an_error_anywhere_on_the_path_is_about_the_gpu_below_c10(bdf):
    facts = facts_of(machine(f"pcieport {bdf}: PCIe Bus Error: severity=Corrected, type=Physical Layer"))
    assert rows(facts)["aer_corrected", bdf]["gpus"] == [GPU]


@pytest.mark.parametrize(
    ("device", "bus", "gpus"),
    [
        ("0000:20:03.1", "2d", []),
        ("0000:20:03.1", "61", [GPU]),
        ("0000:60:01.1", "2d", [GPU]),
        ("0001:20:03.1", "61", []),
    ],
)
def test_a_record_of_the_firmware_is_about_the_gpus_below_its_device_or_bus_c10(device, bus, gpus):
    lines = ["event severity: corrected", "  section_type: PCIe error", f"  device_id: {device}"]
    lines.append(f"  secondary_bus: 0x{bus}")
    facts = facts_of(machine(*(f"{{359}}[Hardware Error]: {line}" for line in lines)))
    row = rows(facts)["apei_pcie_corrected", device]
    assert (row["gpus"], row["details"]) == (gpus, {"sequence": 359, "secondary_bus": bus})


def test_another_function_of_the_card_is_about_its_gpu():
    line = "snd_hda_intel 0000:63:00.1: Unable to change power state from D3hot to D0, device inaccessible"
    assert rows(facts_of(machine(line)))["device_inaccessible", "0000:63:00.1"]["gpus"] == [GPU]


def test_a_ring_buffer_that_lost_its_start_says_where_more_is():
    facts = facts_of(machine("x", first=512))
    assert (facts["log"]["complete"], facts["log"]["lines"]) == (False, 1)
    assert "lost the first 512 records" in reasons(facts)[0]
    assert "journalctl" in reasons(facts)[0]
    assert "previous_log" in reasons(facts)[0]


@pytest.mark.parametrize("content", [{"error": "PermissionError"}, "", "\n\n"])
def test_a_log_that_cannot_be_read_is_null_with_a_reason(content):
    facts = facts_of(machine(files={"/dev/kmsg": content}))
    assert (facts["log"], [gpu["init_error"] for gpu in facts["gpus"]]) == (None, [None, None])
    assert [row["subject"] for row in facts["problems"]] == ["/dev/kmsg"]


def test_a_log_without_a_bus_is_a_log_all_the_same():
    facts = facts_of({"files": {"/dev/kmsg": f"3,0,0,-;{FATAL}\n"}})
    assert (facts["gpus"], rows(facts)["init_fatal", GPU]["gpus"]) == (None, None)
    assert [row["subject"] for row in facts["problems"]] == [DEVICES]


def test_the_line_that_says_why_joins_the_row_of_its_gpu_h03():
    line = f"amdgpu {GPU}: amdgpu: get invalid ip discovery binary signature"
    gpus = facts_of(machine(line, FATAL), "gpu", "log")["gpus"]
    assert [(gpu["bdf"], gpu["initialised"], gpu["init_error"]) for gpu in gpus] == [
        (OTHER[-1], False, None), (GPU, False, line),
    ]  # fmt: skip


def firmware(name, *more):
    """What the kernel says of a firmware file of the GPU that is not there."""
    return (f"amdgpu {GPU}: Direct firmware load for amdgpu/{name} failed with error -2", *more)


def init_error(recorded):
    """Why the driver did not start the GPU."""
    return next(gpu["init_error"] for gpu in facts_of(recorded)["gpus"] if gpu["bdf"] == GPU)


def test_a_firmware_file_without_which_the_driver_gives_up_is_why_b24():
    ends = (f"amdgpu {GPU}: amdgpu: finishing device.", f"amdgpu: probe of {GPU} failed with error -2")
    wanted = f'amdgpu {GPU}: Failed to load gpu_info firmware "amdgpu/arcturus_gpu_info.bin"'
    recorded = machine(*firmware("arcturus_gpu_info.bin", wanted, FATAL, *ends))
    assert ("firmware_missing", GPU) in rows(facts_of(recorded))
    assert "amdgpu/arcturus_gpu_info.bin" in init_error(recorded)


def test_a_firmware_file_that_the_driver_goes_on_without_is_not_b25():
    harmless = f'amdgpu {GPU}: psp v11.0: Failed to load firmware "amdgpu/vega20_ta.bin"'
    built = [f"W: Possible missing firmware /lib/firmware/amdgpu/{name}.bin for module amdgpu" for name in ("a", "b")]
    recorded = machine(*firmware("vega20_ta.bin", harmless), *built, serves=True)
    assert list(rows(facts_of(recorded))) == [("firmware_optional_missing", GPU)]
    assert init_error(recorded) is None


def test_a_gpu_that_serves_has_no_init_error():
    assert [gpu["init_error"] for gpu in facts_of(machine(FATAL, serves=True))["gpus"]] == [None, None]


def test_a_gpu_that_only_compute_does_not_have_says_why():
    lines = [f"amdgpu {GPU}: amdgpu: ATOM BIOS: x", "kfd kfd: amdgpu: device 1002:74a1 NOT added due to errors"]
    started = f"[drm] Initialized amdgpu 3.63.0 for {GPU} on minor 1"
    assert facts_of(machine(*lines, started, serves=True))["gpus"][1]["init_error"] == lines[1]


def test_no_driver_leaves_a_gpu_without_a_reason_in_the_log_a21():
    facts = facts_of(machine("edac_mce_amd: loaded", "kvm_amd: x"), "gpu", "log")
    assert [(gpu["driver"], gpu["init_error"]) for gpu in facts["gpus"]] == [(None, None)] * 2
    assert facts["log"]["signatures"] == []


def test_more_rows_than_the_facts_hold_are_told():
    lines = [f"pcieport 0000:{number:02x}:01.1: PCIe Bus Error: severity=Corrected, type=x" for number in range(250)]
    facts = facts_of(machine(*lines, FATAL))
    assert len(facts["log"]["signatures"]) == 200
    assert ("init_fatal", GPU) in rows(facts)
    assert "51 more" in reasons(facts)[0]


def test_where_rows_are_left_out_every_signature_keeps_its_first():
    many = [Row("a", str(number), "", 0.0) for number in range(5)] + [Row("b", "0", "", 0.0)]
    assert [(row.id, row.bdf) for row in log.bounded(many, 3)] == [("a", "0"), ("a", "1"), ("b", "0")]


def journal(*messages):
    rows = [{"MESSAGE": text, "_SOURCE_MONOTONIC_TIMESTAMP": str(n * 1000000)} for n, text in enumerate(messages)]
    return "\n".join(json.dumps(row) for row in rows)


def test_the_boot_before_is_read_from_the_journal_by_name_only():
    recorded = machine(
        "Linux version 6.8.0", commands={COMMAND: [0, journal("Linux version 6.8.0", list(FATAL.encode())), ""]}
    )
    before = facts_of(recorded, *select(["log", "previous_log"]))["log"]["previous"]
    assert (before["source"], before["complete"], before["lines"]) == ("journal", True, 2)
    assert [(row["id"], row["gpus"], row["last"]) for row in before["signatures"]] == [("init_fatal", [GPU], 1.0)]
    assert "previous_log" not in select(["all"])


@pytest.mark.parametrize("answer", [
    [1, "", "Data from the specified boot (-1) is not available: No such boot ID in journal\n"],
    [0, "-- No entries --\n", ""],
    [0, "", ""],
    {"error": "timeout"},
    None,
])  # fmt: skip
def test_no_boot_before_is_null_with_a_reason(answer):
    commands = {} if answer is None else {COMMAND: answer}
    facts = facts_of(machine("Linux version 6.8.0", commands=commands), "log", "previous_log")
    assert facts["log"]["previous"] is None
    assert [row["subset"] for row in facts["problems"]] == ["previous_log"]


def test_the_boot_before_is_told_where_this_one_cannot_be_read():
    recorded = machine(files={"/dev/kmsg": {"error": "EPERM"}}, commands={COMMAND: [0, journal("x"), ""]})
    assert facts_of(recorded, "log", "previous_log")["log"]["previous"]["lines"] == 1


def test_reading_the_log_starts_no_program():
    host = RecordedHost(machine(FATAL))
    gather(host, ["log"])
    assert host.ran == []
