# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the recorded machines: what must hold for every one, and what each was recorded for."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import package_manager
from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import narrowest
from ansible_collections.fleetops.instinct.plugins.module_utils._rpm import QUERY
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES, RecordedHost

NAMES = sorted(path.stem for path in MACHINES.glob("*.json"))
ALL = select(["all"])
# Where null says that there is none.
ANSWERS = [("driver",), ("init_error",), ("physical_function",)]


class CountingHost(RecordedHost):
    """Remembers what was read."""

    def __init__(self, machine):
        super().__init__(machine)
        self.reads = []

    def read_bytes(self, path):
        self.reads.append(path)
        return super().read_bytes(path)

    def read_range(self, path, offset, size):
        before = len(self.reads)
        content = super().read_range(path, offset, size)
        self.reads[before:] = [(path, offset, size)]
        return content


def facts_of(name):
    return gather(RecordedHost.load(name), ALL)


def nulls(value, path=()):
    """Paths of all nulls in a value."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in nulls(inner, (*path, key))]
    if isinstance(value, list):
        return [found for index, inner in enumerate(value) for found in nulls(inner, (*path, index))]
    return [path] if value is None else []


def told(facts, subset, subject=""):
    """Reasons of the problems of a subset whose subject begins so."""
    rows = facts["problems"]
    return [row["reason"] for row in rows if row["subset"] == subset and row["subject"].startswith(subject)]


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_plain_json_in_the_shape_of_the_contract(name):
    facts = json.loads(json.dumps(facts_of(name)))
    parts = ["schema", "node", "platform", "gpus", "driver", "rocm", "settings", "holders", "log", "problems"]
    assert sorted(facts) == sorted(parts)
    assert all(set(row) == {"subset", "subject", "reason"} and all(row.values()) for row in facts["problems"])


@pytest.mark.parametrize("name", NAMES)
def test_facts_start_no_program_but_rpm_once_and_read_no_file_twice(name):
    host = CountingHost(json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8")))
    gather(host, ALL)
    assert host.ran == ([] if package_manager(host) == "apt" else [QUERY])
    assert len(host.reads) == len(set(host.reads))


@pytest.mark.parametrize("name", NAMES)
def test_every_null_of_a_gpu_has_a_reason(name):
    for gpu in facts_of(name)["gpus"]:
        reasons = [row for row in facts_of(name)["problems"] if row["subject"].startswith(gpu["bdf"])]
        assert [path for path in nulls(gpu) if path not in ANSWERS] == [] or reasons


@pytest.mark.parametrize("name", NAMES)
def test_gathering_one_subset_gives_the_same_as_gathering_all(name):
    alone = gather(RecordedHost.load(name), ["driver"])
    assert alone["driver"] == facts_of(name)["driver"]
    assert set(alone) == {"schema", "driver", "problems"}


def test_a_healthy_node_is_read_whole():
    facts = facts_of("mi300x-8gpu-healthy")
    assert [gpu["initialised"] for gpu in facts["gpus"]] == [True] * 8
    assert {gpu["kind"] for gpu in facts["gpus"]} == {"pf"}
    assert facts["gpus"][0]["aer"] == {"correctable": 0, "nonfatal": 0, "fatal": 0}
    assert facts["gpus"][0]["ras"]["umc"] == {"ue": 0, "ce": 0}
    assert facts["gpus"][0]["bad_pages"] == 0
    assert facts["holders"] == [{"pid": 812, "command": "python3", "device": "/dev/kfd", "container": None}]


def test_driver_and_rocm_of_a_healthy_node_are_decoded():
    facts = facts_of("mi300x-8gpu-healthy")
    assert facts["driver"]["installed"]["release"] == "30.10.2"
    assert (facts["driver"]["origin"], facts["driver"]["ready_for_next_boot"]) == ("dkms", True)
    assert (facts["rocm"]["active"], facts["rocm"]["active_path"]) == ("7.0.2", "/opt/rocm-7.0.2")
    assert facts["rocm"]["holds"] == ["rocm", "rocm-cmake", "rocm-core"]
    assert set(facts["rocm"]["obtainable"].values()) == {True}


def test_a_link_runs_from_the_gpu_through_the_board_switch_to_the_root_port():
    hops = facts_of("mi300x-8gpu-healthy")["gpus"][5]["link"]
    assert [hop["role"] for hop in hops] == ["gpu", "board_switch", "board_switch", "root_port"]
    assert [hop["bdf"] for hop in hops] == ["0000:63:00.0", "0000:62:00.0", "0000:61:00.0", "0000:60:01.1"]


def test_a_full_link_at_the_gpu_does_not_hide_a_slow_slot_c01():
    hops = facts_of("mi300x-slot-at-gen4")["gpus"][1]["link"]
    assert (hops[0]["speed_gts"], hops[0]["width"]) == (32.0, 16)
    assert (narrowest(hops)["bdf"], narrowest(hops)["speed_gts"], narrowest(hops)["width"]) == ("0000:21:00.0", 16.0, 8)


def test_a_gpu_on_the_bus_that_did_not_start_is_listed_as_such_h03():
    gpus = facts_of("mi300x-7of8")["gpus"]
    assert [gpu["bdf"] for gpu in gpus if not gpu["initialised"]] == ["0000:83:00.0"]
    assert (gpus[7]["driver"], gpus[7]["vbios"], gpus[7]["device_id"]) == (None, None, "74a1")


def test_what_a_missing_driver_would_tell_is_one_row_per_gpu_not_twenty():
    facts = facts_of("mi210-unbound")
    assert [len(told(facts, "gpu", gpu["bdf"])) for gpu in facts["gpus"]] == [1, 1]
    assert told(facts, "gpu")[0].startswith("not known while no driver is bound: serial_number")


def test_counters_that_are_not_there_are_null_not_zero_d06():
    gpu = facts_of("mi210-unbound")["gpus"][0]
    assert (gpu["ras"], gpu["bad_pages"], gpu["temperatures"]) == (None, None, None)
    assert gpu["aer"]["fatal"] == 0


def test_a_port_that_answers_no_read_is_null_with_the_error():
    facts = facts_of("mi300x-unreadable")
    assert facts["gpus"][0]["link"][1]["speed_gts"] is None
    assert told(facts, "link", "0000:13:00.0 hop 0000:12:00.0 current_link_speed") == ["OSError: EIO"]


def test_unknown_zero_and_255_are_null_c09():
    facts = facts_of("mi300x-unreadable")
    hop = facts["gpus"][1]["link"][0]
    assert [hop[key] for key in ("speed_gts", "width", "max_speed_gts", "max_width")] == [None] * 4
    assert "not understood: 'Unknown'" in told(facts, "link", "0000:23:00.0 current_link_speed")


def test_counters_busy_with_a_reset_are_null():
    facts = facts_of("mi300x-unreadable")
    assert facts["gpus"][2]["ras"]["umc"] is None
    assert told(facts, "ras", "0000:33:00.0 ras umc") == ["not understood: 'Query currently inaccessible'"]


def test_four_oams_are_eight_gpus_with_the_kernels_own_driver():
    facts = facts_of("mi250-4oam")
    assert [gpu["device_id"] for gpu in facts["gpus"]] == ["740c"] * 8
    assert (facts["driver"]["origin"], facts["driver"]["version"]) == ("in-tree", None)
    assert facts["driver"]["ready_for_next_boot"] is True
    assert {hop["role"] for gpu in facts["gpus"] for hop in gpu["link"][1:3]} == {"board_switch"}


def test_half_configured_is_not_installed_a18():
    facts = facts_of("half-configured-dkms")
    assert facts["driver"]["packages"]["amdgpu-dkms"]["state"] == "half-configured"
    assert facts["driver"]["installed"] is None
    assert facts["driver"]["ready_for_next_boot"] is False
    assert {name: row["state"] for name, row in facts["rocm"]["packages"].items()} == {
        "rocm": "unpacked", "rocm-core": "config-files",
    }  # fmt: skip


def test_a_leftover_dkms_folder_is_told_apart_from_a_build_a03():
    driver = facts_of("half-configured-dkms")["driver"]
    assert driver["stale_trees"] == ["6.8.5-2041575.24.04"]
    (build,) = driver["dkms"]
    assert (build["version"], build["kernel"], build["state"]) == ("6.12.12-2164967.24.04", None, "added")


def test_an_installed_package_without_a_loaded_module_is_not_a_missing_gpu_a21():
    facts = facts_of("mi210-unbound")
    assert (facts["driver"]["loaded"], facts["driver"]["installed"]["release"]) == (False, "6.4.4")
    assert len(facts["gpus"]) == 2


def test_a_node_without_gpus_has_none_and_says_no_more():
    facts = facts_of("no-gpu")
    assert facts["gpus"] == []
    assert [row["subject"] for row in facts["problems"]] == ["/opt/rocm", "/dev/kmsg"]


def test_a_bus_that_cannot_be_listed_is_null_not_no_gpus():
    facts = gather(RecordedHost({}), select(["gpu", "link"]))
    assert facts["gpus"] is None
    assert told(facts, "gpu", "/sys/bus/pci/devices")


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_that_answers_nothing_but_errors_gives_no_traceback(name):
    host = RecordedHost.load(name)
    host.files, host.commands = {path: {"error": "EIO"} for path in host.files}, {}
    facts = gather(host, ALL)
    assert facts["gpus"] in (None, [])
    assert facts["driver"]["packages"] is None


@pytest.mark.parametrize("junk", ["", "\n", "\x00\xff", "garbage", "-1", "99999999999999999999999999", "a: b\n\n:::\n"])
def test_a_machine_that_answers_junk_gives_no_traceback(junk):
    host = RecordedHost.load("mi300x-8gpu-healthy")
    keep = ("/class", "/vendor")
    host.files = {path: text if path.endswith(keep) else junk for path, text in host.files.items()}
    facts = gather(host, ALL)
    assert len(facts["gpus"]) == 8
    assert facts["gpus"][0]["link"][0]["speed_gts"] is None
    assert facts["rocm"]["active"] is None


def test_names_choose_subsets_in_the_order_of_gathering():
    assert select(["rocm", "gpu"]) == ["gpu", "rocm"]
    assert select(["!activity", "!node"]) == [name for name in ALL if name not in ("activity", "node")]
    assert select(["all", "!gpu"]) == [name for name in ALL if name != "gpu"]
