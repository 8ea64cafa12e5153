# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second source: amd-smi and rocm-smi of a machine, found, asked and keyed by PCI address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import smi
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.smi_command import locate
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

SCHEMAS = Path(__file__).parents[5] / "docs" / "schemas"
PATH = "/opt/rocm/bin/amd-smi"
STATIC = "static --asic --bus --vbios --board --driver --ras"
METRIC = "metric --pcie --ecc"
CARDS = "--showid --showbus --showfwinfo --showvbios --showdriverversion --loglevel error"
BUSES = ("05", "26", "46", "65")
NONE = "No bad pages found."
VERSION = [{"tool": "AMDSMI Tool", "version": "26.0.2+39589fda", "rocm_version": "7.0.2"}]


def bdf(bus):
    return f"0000:{bus}:00.0"


def static(number, place, **more):
    return {
        "gpu": number,
        "asic": {"market_name": "AMD Instinct MI300X", "device_id": "0x74a1", "asic_serial": f"0x{number:016X}"},
        "bus": {"bdf": place, "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
        "ifwi": {"part_number": "113-M3000100-102", "version": "00159017"},
        "board": {"product_serial": f"692{number}", "product_name": "x"},
        "ras": {"bad_page_threshold_exceeded": False},
        **more,
    }


def answers(places=None):
    """What amd-smi 26.0.2 answers, by command, for GPUs at these places or on all the buses."""
    places = places or [bdf(bus) for bus in BUSES]
    ecc = {"total_correctable_count": 3, "total_uncorrectable_count": 0, "total_deferred_count": 0}
    firmware = [{"fw_id": "CP_MEC1", "fw_version": "32945"}, {"fw_id": "PLDM_BUNDLE", "fw_version": "01.25.03.12"}]
    pcie = {"width": 16, "speed": {"value": 32, "unit": "GT/s"}}
    numbers = range(len(places))
    return {
        "version": VERSION,
        STATIC: {"gpu_data": [static(number, place) for number, place in enumerate(places)]},
        "firmware": [{"gpu": number, "fw_list": firmware} for number in numbers],
        METRIC: {"gpu_data": [{"gpu": number, "pcie": pcie, "ecc": ecc} for number in numbers]},
        "bad-pages": [{"gpu": number, "retired": NONE, "pending": NONE, "un_res": NONE} for number in numbers],
    }


def machine(said, buses=BUSES, path=PATH, files=None):
    """A node with GPUs on these buses, whose tool says this: data, text, [rc, out, err], or None where it hangs."""
    known = {path: "", **(files or {})}
    for bus in buses:
        device = f"/sys/bus/pci/devices/{bdf(bus)}"
        known.update({f"{device}/class": "0x120000", f"{device}/vendor": "0x1002"})
    commands = {f"{path} {arguments} --json": _answer(data) for arguments, data in said.items()}
    return RecordedHost({"files": known, "commands": commands})


def _answer(data):
    if data is None:
        return {"error": "no end after 60 s"}
    triple = isinstance(data, list) and len(data) == 3 and isinstance(data[0], int)
    return data if triple else [0, data if isinstance(data, str) else json.dumps(data), ""]


def collected(host):
    problems = []
    gpus = smi.collect(host, problems)["gpus"]
    return {gpu["bdf"]: gpu["smi"] for gpu in gpus}, [(row["subject"], row["reason"]) for row in problems]


def test_a_node_that_answers_everything_is_read_whole():
    gpus, problems = collected(machine(answers()))
    assert gpus[bdf("26")] == {
        "tool": "amd-smi 26.0.2", "product_name": "AMD Instinct MI300X", "serial": "6921", "device_id": "74a1",
        "unique_id": "0x0000000000000001", "vbios": "113-M3000100-102", "ifwi": "00159017",
        "speed_gts": 32.0, "width": 16, "max_speed_gts": 32.0, "max_width": 16, "ecc": {"ue": 0, "ce": 3, "de": 0},
        "bad_pages": 0, "bad_page_threshold_exceeded": False,
        "firmware": {"CP_MEC1": "32945", "PLDM_BUNDLE": "01.25.03.12"},
    }  # fmt: skip
    assert problems == []


def test_rows_are_keyed_by_address_and_another_order_makes_no_difference_h04():
    there = collected(machine(answers()))[0]
    turned = answers([bdf(bus) for bus in reversed(BUSES)])
    back = collected(machine(turned))[0]
    assert [back[bdf(bus)]["serial"] for bus in BUSES] == ["6923", "6922", "6921", "6920"]
    assert [there[bdf(bus)]["serial"] for bus in BUSES] == ["6920", "6921", "6922", "6923"]


def test_a_gpu_on_the_bus_that_the_tool_does_not_know_is_named_h03():
    gpus, problems = collected(machine(answers([bdf(bus) for bus in BUSES[1:]])))
    assert gpus[bdf("05")] is None
    assert problems == [(bdf("05"), "on the bus and not known to amd-smi 26.0.2, which knows 3 GPUs")]


def test_partitions_are_the_gpu_at_function_0():
    places = [f"0000:05:00.{function}" for function in (1, 0, 2)] + [bdf("26")]
    gpus, _problems = collected(machine(answers(places), buses=("05", "26")))
    assert (gpus[bdf("05")]["serial"], gpus[bdf("26")]["serial"]) == ("6921", "6923")


def test_a_function_that_is_a_gpu_of_its_own_is_no_partition():
    host = machine(answers(("0000:05:00.0", "0000:05:00.1")), buses=("05",))
    device = "/sys/bus/pci/devices/0000:05:00.1"
    host.files.update({f"{device}/class": "0x120000", f"{device}/vendor": "0x1002"})
    assert collected(host)[0]["0000:05:00.1"]["serial"] == "6921"


def test_a_warning_before_the_json_is_told_and_does_not_spoil_it_e01():
    said = answers()
    said[STATIC] = "WARNING: User is missing the following required groups: render\n" + json.dumps(said[STATIC])
    gpus, problems = collected(machine(said))
    assert gpus[bdf("05")]["device_id"] == "74a1"
    assert problems == [
        ("amd-smi", "said beside its data: WARNING: User is missing the following required groups: render")
    ]


@pytest.mark.parametrize("nothing", ["", "[]", "WARNING: No JSON data to report\n", '{"other": [{"gpu": 0}]}'])
def test_no_gpu_listed_is_not_no_gpu_e03(nothing):
    said = {"version": VERSION, STATIC: nothing, "static": nothing, "list": nothing}
    gpus, problems = collected(machine(said))
    assert set(gpus.values()) == {None}
    assert ("amd-smi", "named no GPU of those on the bus, which does not mean that there is none") in problems
    assert "amd-smi list" in [subject for subject, _reason in problems]


def test_ids_that_the_tool_does_not_know_are_null_and_no_other_gpu_e04():
    said = answers()
    said[STATIC]["gpu_data"][1]["asic"].update(device_id="N/A", asic_serial="N/A")
    gpus, problems = collected(machine(said))
    assert [gpus[bdf(bus)]["device_id"] for bus in BUSES] == ["74a1", None, "74a1", "74a1"]
    assert {gpu["product_name"] for gpu in gpus.values()} == {"AMD Instinct MI300X"}
    assert problems == [(f"{bdf('26')} smi", "not told by amd-smi 26.0.2: unique_id, device_id")]


def test_an_exit_status_beside_good_data_is_told_and_the_data_is_used_e06():
    said = answers()
    said[METRIC] = [2, json.dumps(said[METRIC]), "ERROR: 2 GPU[0]: ras: RSMI_STATUS_NOT_SUPPORTED"]
    gpus, problems = collected(machine(said))
    assert gpus[bdf("05")]["width"] == 16
    assert problems == [("amd-smi metric", "exit status 2 beside its data")]


def test_a_good_exit_status_without_data_is_an_error_e06():
    said = {**answers(), "firmware": [0, "", "AmdSmiLibraryException: Error code: 10 | AMDSMI_STATUS_NO_PERM\n"]}
    gpus, problems = collected(machine(said))
    assert gpus[bdf("05")]["firmware"] is None
    reason = "no data, exit status 0: AmdSmiLibraryException: Error code: 10 | AMDSMI_STATUS_NO_PERM"
    assert problems[0] == ("amd-smi firmware", reason)


def test_counters_of_a_gpu_without_a_name_are_not_believed_d06():
    said = answers()
    said[STATIC]["gpu_data"][0].update(asic={"market_name": ""}, board={"product_serial": ""})
    gpus, problems = collected(machine(said))
    assert (gpus[bdf("05")]["ecc"], gpus[bdf("05")]["bad_pages"]) == ({"ue": None, "ce": None, "de": None}, None)
    assert gpus[bdf("26")]["ecc"]["ce"] == 3
    assert problems[0][1].endswith("does not say what the GPU is, so its counters are not believed")


def test_a_threshold_that_was_passed_is_told_d03():
    said = answers()
    said[STATIC]["gpu_data"][2]["ras"] = {"bad_page_threshold": 8, "bad_page_threshold_exceeded": True}
    gpus, _problems = collected(machine(said))
    assert [gpus[bdf(bus)]["bad_page_threshold_exceeded"] for bus in BUSES] == [False, False, True, False]


def test_a_tool_that_hangs_is_not_asked_again_and_neither_is_the_other_e07():
    host = machine({**answers(), STATIC: None}, files={"/opt/rocm/bin/rocm-smi": ""})
    gpus, problems = collected(host)
    assert set(gpus.values()) == {None}
    assert problems == [("amd-smi static", "no end after 60 s; it was not asked again")]
    assert [command[1] for command in host.ran] == ["version", "static"]


def test_what_was_told_before_it_hung_stays():
    gpus, problems = collected(machine({**answers(), METRIC: None}))
    assert (gpus[bdf("05")]["device_id"], gpus[bdf("05")]["width"]) == ("74a1", None)
    assert problems[0] == ("amd-smi metric", "no end after 60 s; it was not asked again")


def test_only_what_it_prints_is_read_never_a_file_from_before_e09():
    old = {"/tmp/static.json": json.dumps(answers()[STATIC])}
    host = machine({"version": VERSION, STATIC: "", "static": "", "list": ""}, files=old)
    assert set(collected(host)[0].values()) == {None}
    assert not any("--file" in argument for command in host.ran for argument in command)


@pytest.mark.parametrize("text", ["N/A", "", None])
def test_a_gpu_without_a_vbios_does_not_end_the_others_e10(text):
    said = answers()
    said[STATIC]["gpu_data"][0]["ifwi"] = {"part_number": text, "version": text}
    gpus, problems = collected(machine(said))
    assert [gpus[bdf(bus)]["vbios"] for bus in BUSES] == [None, *["113-M3000100-102"] * 3]
    assert problems == [(f"{bdf('05')} smi", "not told by amd-smi 26.0.2: vbios, ifwi")]


def test_a_bare_list_is_read_as_well_e11():
    said = answers()
    said[STATIC] = said[STATIC]["gpu_data"]
    assert collected(machine(said)) == collected(machine(answers()))


def test_parts_of_two_releases_are_named_and_the_tool_is_left_alone_e13():
    trace = 'Traceback (most recent call last):\n  File "/opt/rocm-7.1.1/libexec/amdsmi_cli/amdsmi_init.py", line 38\n'
    trace += "AttributeError: /opt/rocm-7.0.1/lib/libamd_smi.so: undefined symbol: amdsmi_get\n"
    host = machine({"version": [1, "", trace]})
    gpus, problems = collected(host)
    assert list(gpus) == [bdf(bus) for bus in BUSES]
    assert problems[0][1].startswith("amd_smi_mixed_versions: command 7.1.1 (")
    assert "library 7.0.1 (/opt/rocm-7.0.1/lib/libamd_smi.so)" in problems[0][1]
    assert len(host.ran) == 1


def test_the_tool_runs_by_its_path_without_the_users_modules_e13():
    class Watched(RecordedHost):
        def run(self, argv, timeout=60.0, stdin="", env=None):
            assert argv[0] == PATH
            assert (env["PYTHONPATH"], env["PYTHONNOUSERSITE"], env["LD_LIBRARY_PATH"]) == ("", "1", "")
            return super().run(argv, timeout, stdin, env)

    host = machine(answers())
    watched = Watched({"files": host.files, "commands": host.commands})
    assert collected(watched)[0][bdf("05")]["device_id"] == "74a1"


def test_options_that_a_release_does_not_know_are_left_out():
    said = answers()
    said["static"], said[STATIC] = said[STATIC], [2, "", "amd-smi: error: unrecognized arguments: --ras"]
    gpus, problems = collected(machine(said))
    assert (gpus[bdf("05")]["device_id"], problems) == ("74a1", [])


def test_addresses_come_from_the_list_where_static_has_none():
    said = answers()
    said["list"] = [{"gpu": number, "bdf": bdf(bus)} for number, bus in enumerate(BUSES)]
    for row in said[STATIC]["gpu_data"]:
        row["bus"] = "N/A"
    assert collected(machine(said))[0][bdf("65")]["serial"] == "6923"


def test_rocm_smi_is_asked_where_amd_smi_is_not_there():
    card = {"Device Name": "AMD Instinct MI210", "Device ID": "0x740f", "PCI Bus": "0000:26:00.0", "Unique ID": "0x1"}
    card.update({"VBIOS version": "113-D67301-059", "SOS firmware version": "0x00270080", "CE firmware version": "0"})
    said = {CARDS: {"card0": {**card, "PCI Bus": "0000:05:00.0"}, "card1": card, "system": {"Driver version": "6"}}}
    gpus, problems = collected(machine(said, buses=("05", "26"), path="/opt/rocm/bin/rocm-smi"))
    assert (gpus[bdf("26")]["tool"], gpus[bdf("26")]["device_id"]) == ("rocm-smi", "740f")
    assert gpus[bdf("26")]["firmware"] == {"sos": "0x00270080", "ce": "0"}
    assert problems[0] == ("amd-smi", "not there: looked for in /opt/rocm, /opt/rocm-*, /opt/rocm/core-* and /usr")
    assert gpus[bdf("26")]["ecc"] == {"ue": None, "ce": None, "de": None}


def test_errors_that_no_tool_tells_are_null_d07():
    gpus, problems = collected(machine({CARDS: "WARNING: No JSON data to report\n"}, path="/opt/rocm/bin/rocm-smi"))
    assert set(gpus.values()) == {None}
    assert ("rocm-smi --showid", "no data, exit status 0: WARNING: No JSON data to report") in problems


def test_without_a_tool_nothing_is_known_and_the_node_is_not_without_gpus():
    gpus, problems = collected(machine({}, path="/usr/share/other"))
    assert gpus == dict.fromkeys([bdf(bus) for bus in BUSES])
    assert [subject for subject, _reason in problems] == ["amd-smi", "rocm-smi"]


def test_a_node_without_gpus_is_asked_nothing():
    host = machine(answers(), buses=())
    host.files["/sys/bus/pci/devices/0000:00:00.0/class"] = "0x060000"
    assert (collected(host), host.ran) == (({}, []), [])


@pytest.mark.parametrize(
    "there, found",
    [
        (["/opt/rocm-7.0.2/bin/x", "/opt/rocm/bin/x", "/usr/bin/x"], "/opt/rocm/bin/x"),
        (["/opt/rocm-6.4.4/bin/x", "/opt/rocm-7.0.2/bin/x", "/opt/rocm-10.0.0/bin/y"], "/opt/rocm-7.0.2/bin/x"),
        (["/opt/rocm-9.0.0/bin/x", "/opt/rocm-10.0.0/bin/x"], "/opt/rocm-10.0.0/bin/x"),
        (["/opt/rocm/core-7.14/bin/x", "/opt/rocm/core-7.13/bin/x", "/usr/bin/x"], "/opt/rocm/core-7.14/bin/x"),
        (["/usr/bin/x"], "/usr/bin/x"), (["/opt/other"], None), ([], None),
    ],
)  # fmt: skip
def test_the_active_release_is_asked_first_then_the_newest(there, found):
    assert locate(RecordedHost({"files": dict.fromkeys(there, "")}), "x") == found


@given(text=st.text(alphabet='[]{}",:0123 \ngpu_datbf"', max_size=80), command=st.sampled_from(sorted(answers())))
def test_any_answer_gives_rows_and_no_traceback(text, command):
    gpus, problems = collected(machine({**answers(), command: text}))
    assert list(gpus) == [bdf(bus) for bus in BUSES]
    assert all(reason for _subject, reason in problems)


def test_it_is_gathered_by_name_only_and_joined_with_the_kernels_firmware():
    assert smi.SUBSET not in select(["all"])
    host = machine(answers(), files={f"/sys/bus/pci/devices/{bdf('05')}/fw_version/mec_fw_version": "0x000080b0\n"})
    facts = gather(host, select(["firmware", "smi"]))
    rows = facts["gpus"][0]["firmware"]
    assert (rows["mec"]["value"], rows["pldm_bundle"]["value"], rows["ifwi"]["value"]) == (
        "32944", "01.25.03.12", "00159017",
    )  # fmt: skip
    told = {"subset": "smi", "subject": f"{bdf('05')} firmware mec", "reason": "sysfs says 32944, amd-smi says 32945"}
    assert told in facts["problems"]


def test_what_comes_out_is_of_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "facts.json").read_text(encoding="utf-8"))
    rows = schema["properties"]["gpus"]["items"]["properties"]["smi"]
    gpus, _problems = collected(
        machine({**answers([bdf(bus) for bus in BUSES[1:]]), "bad-pages": "", "firmware": "[]"})
    )
    for row in gpus.values():
        jsonschema.validate(row, rows)
