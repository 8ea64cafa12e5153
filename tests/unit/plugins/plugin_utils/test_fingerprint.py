# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import (
    canonical,
    compare_before_after,
    digest,
    facts_digest,
    restorable_facts,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import NEW, OLD, change, facts

PLANNED = ("rocm", "driver")


def test_the_order_of_keys_does_not_matter_and_that_of_lists_does():
    assert canonical({"b": 1, "a": [2, 1]}) == b'{"a":[2,1],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 2, "b": 1})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_json_value_has_a_digest(value):
    assert digest(value) == digest(copy.deepcopy(value))
    assert digest(value).startswith("sha256:")


MOVES = {
    "node.boot_id": "other",
    "node.uptime_seconds": 1.0,
    "node.free_bytes./": 5,
    "gpus.0.temperatures.junction": 90.0,
    "gpus.0.aer.correctable": 7,
    "gpus.0.ras.umc.ce": 7,
    "gpus.0.link.0.speed_gts": 2.5,
    "holders": [{"pid": 1}],
    "settings.smt_active": True,
    "settings.sysctl": {"vm.swappiness": "10"},
    "settings.idle.partly_disabled": ["C2"],
    "rocm.lock_holder": {"pid": 812, "path": "/var/lib/dpkg/lock"},
    "problems": [{"subset": "x"}],
    "gpus.0.performance_level": "high",
    "gpus.0.bad_pages": 1,
    "driver.next_boot.initramfs.older_than_module": True,
    "driver.next_boot.initramfs.holds_module": True,
    "gpus.0.firmware.pldm_bundle": {"scheme": "dotted", "value": "01.26.00.04", "sources": {"amd-smi": "01.26.00.04"}},
    "gpus.0.firmware.sos.sources": {"sysfs": "0x0036024b", "amd-smi": "00.36.02.4B"},
}
STAYS = {
    "node.machine_id": "other",
    "node.kernel.running": "6.2",
    "node.kernel.next_boot_cmdline": ["x"],
    "gpus.0.unique_id": "other",
    "gpus.0.vbios": "other",
    "gpus.0.firmware.sos.value": "00.36.02.56",
    "gpus.0.link.3.max_width": 8,
    "gpus.0.partition.compute": "CPX",
    "driver.version": "6.8.5",
    "driver.next_boot.srcversion": "other",
    "driver.next_boot.kept_out_by": ["nomodeset"],
    "driver.firmware_files./lib/firmware/amdgpu": 0,
    "driver.packages.amdgpu-dkms.hold": False,
    "rocm.active": "7.0.1",
    "rocm.obtainable.rocm-core": False,
    "platform.bios_version": "2",
    "settings.module_options": {},
    "gpus": [],
}


@pytest.mark.parametrize("path", MOVES)
def test_what_moves_by_itself_is_not_in_the_digest(path):
    assert facts_digest(change(facts(), path, MOVES[path])) == facts_digest(facts())


@pytest.mark.parametrize("path", STAYS)
def test_what_a_plan_rests_on_is_in_the_digest(path):
    assert facts_digest(change(facts(), path, STAYS[path])) != facts_digest(facts())


def after(path, value, boot="other"):
    sample = facts(versions=NEW)
    sample["node"]["boot_id"] = boot
    return compare_before_after(facts(versions=OLD), change(sample, path, value) if path else sample, PLANNED)


def test_a_change_that_was_planned_is_no_finding():
    assert after("", None) == []


def test_nothing_changed_is_no_finding():
    assert compare_before_after(facts(), facts()) == []


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("gpus.0.unique_id", "other", "after.unique_id"),
        ("gpus.0.vbios", "other", "after.vbios"),
        ("gpus.0.partition", {"compute": "CPX", "memory": "NPS4"}, "after.partition"),
        ("gpus.0.memory_bytes", 1, "after.memory_bytes"),
        ("gpus.0.link.3.speed_gts", 16.0, "after.link_speed_gts"),
        ("gpus.0.link.2.width", 8, "after.link_width"),
        ("gpus.0.ras.umc.ue", 1, "after.ras_umc_ue"),
        ("gpus.0.bad_pages", 1, "after.bad_pages"),
        ("gpus.0.aer.fatal", 1, "after.aer_fatal"),
        ("node.kernel.running", "6.9", "after.kernel"),
        ("node.kernel.cmdline", [], "after.cmdline"),
    ],
)
def test_each_thing_that_got_worse_is_a_failure(path, value, rule):
    found = after(path, value)
    assert [(row["rule"], row["verdict"]) for row in found] == [(rule, "fail")]
    assert found[0]["fix"]


@pytest.mark.parametrize(
    "path",
    ["gpus.0.link.3.speed_gts", "gpus.0.ras.umc.ue", "gpus.0.unique_id", "gpus.0.memory_bytes", "gpus.0.aer.fatal"],
)
def test_what_can_no_longer_be_read_is_unknown(path):
    assert [row["verdict"] for row in after(path, None)] == ["unknown"]


def test_a_lost_gpu_and_a_new_one_are_named():
    sample = facts()
    sample["gpus"][2]["bdf"] = "0000:ff:00.0"
    found = compare_before_after(facts(), sample)
    assert [(row["rule"], row["subject"]) for row in found] == [
        ("after.gpu_lost", "0000:33:00.0"),
        ("after.gpu_new", "0000:ff:00.0"),
    ]


def test_what_was_not_planned_is_a_failure():
    rules = [row["rule"] for row in compare_before_after(facts(versions=OLD), facts(versions=NEW))]
    assert rules == ["after.rocm", "after.driver"]


def test_counters_start_again_at_a_reboot_so_old_errors_excuse_no_new_ones():
    before = change(facts(), "gpus.0.ras.umc.ue", 5)
    same = compare_before_after(before, before)
    rebooted = compare_before_after(before, change(change(before, "gpus.0.ras.umc.ue", 3), "node.boot_id", "other"))
    assert (same, [row["rule"] for row in rebooted]) == ([], ["after.ras_umc_ue"])


def test_a_faster_link_is_no_finding():
    before = change(facts(), "gpus.0.link.3.speed_gts", 16.0)
    assert compare_before_after(before, facts()) == []


def pending_kernel():
    """A node with another kernel and another command line waiting for its next boot."""
    before = change(facts(), "node.kernel.next_boot", "6.1.0-41-amd64")
    return change(before, "node.kernel.next_boot_cmdline", ["iommu=pt", "quiet"])


def test_a_kernel_that_waited_for_the_reboot_is_no_finding_and_any_other_is():
    before = pending_kernel()
    booted = change(change(before, "node.boot_id", "other"), "node.kernel.running", "6.1.0-41-amd64")
    booted["node"]["kernel"]["cmdline"] = ["iommu=pt", "quiet"]
    assert compare_before_after(before, booted) == []
    stayed = change(before, "node.boot_id", "other")
    assert [row["rule"] for row in compare_before_after(before, stayed)] == ["after.kernel", "after.cmdline"]


def firmware_row(value, source="sysfs"):
    return {"scheme": "integer", "value": value, "sources": {source: value}}


def test_of_a_firmware_table_only_what_differs_is_told():
    before = change(facts(), "gpus.0.firmware", {"mec": firmware_row("1"), "rlc": firmware_row("2")})
    (row,) = compare_before_after(before, change(before, "gpus.0.firmware.rlc", firmware_row("3")))
    assert (row["rule"], row["expected"], row["observed"]) == ("after.firmware", '{"rlc": "2"}', '{"rlc": "3"}')
    assert compare_before_after(before, change(before, "gpus.0.firmware.rlc", firmware_row("3")), ["firmware"]) == []


@pytest.mark.parametrize(("was", "now", "verdicts"), [("1", None, ["unknown"]), (None, "1", []), ("1", "2", ["fail"])])
def test_firmware_that_cannot_be_read_any_more_is_unknown(was, now, verdicts):
    before = change(facts(), "gpus.0.firmware.sos.value", was)
    found = compare_before_after(before, change(before, "gpus.0.firmware.sos.value", now))
    assert [row["verdict"] for row in found] == verdicts


def test_firmware_that_only_amd_smi_tells_is_not_missed_where_it_was_not_asked():
    before = change(facts(), "gpus.0.firmware.pldm_bundle", firmware_row("1", "amd-smi"))
    assert compare_before_after(before, facts()) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("rocm.obtainable", None),
        ("driver.stale_trees", ["6.8.5"]),
        ("driver.firmware_files", {"/lib/firmware/amdgpu": 3}),
        ("driver.next_boot.initramfs.older_than_module", None),
        ("driver.dkms", [*facts()["driver"]["dkms"], {"version": "6.8.5", "kernel": "6.1.0-39", "state": "built"}]),
        ("rocm.packages.rocm-new", {"version": "7", "state": "config-files", "hold": False}),
    ],
)
def test_what_a_way_back_does_not_restore_is_not_asked_of_it(path, value):
    assert restorable_facts(change(facts(), path, value)) == restorable_facts(facts())


@pytest.mark.parametrize("path", ["rocm.leftovers", "driver.stale_trees"])
def test_a_leftover_of_a_change_is_no_difference_after_the_way_back(path):
    assert restorable_facts(change(facts(), path, ["x"])) == restorable_facts(facts())
