# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import first_reason, judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    UNTOLD,
    change,
    facts,
    target_document,
    write_target,
)

CATALOG = load_catalog()


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    wanted = {"rocm": "7.0.2", "driver": "30.10.2"}
    kernel = {"cmdline": ["iommu=pt", "pcie_aspm=off"]}
    document = target_document(MI300X={**wanted, "kernel": kernel}, MI210=wanted, MI300A=wanted, MI355X=wanted)
    return load_target(write_target(tmp_path_factory.mktemp("target"), document), CATALOG)


def record_of(target, sample=None, **kwargs):
    return judge(facts() if sample is None else sample, target, CATALOG, "g01", **kwargs)


def found(record, rule):
    return [finding for finding in record["findings"] if finding["rule"] == rule]


def test_a_healthy_node_on_the_old_release_may_move(target):
    record = record_of(target, rack="r1", run_id="run", gathered_at="2026-12-01T04:30:00Z")
    assert (record["class"], record["steps"], record["rollback"]) == (
        "may_move",
        ["rocm", "reboot"],
        {"ready": True, "why": []},
    )
    assert record["verdict"] == {"compliance": "differs", "transition": "safe", "health": "healthy"}
    assert (record["product"], record["rocm"], record["driver"], record["rack"]) == ("MI300X", "6.4.4", "6.4.4", "r1")


def test_a_healthy_node_on_the_target_is_at_target_and_has_nothing_to_do(target):
    record = record_of(target, facts(versions=NEW))
    assert (record["class"], record["steps"]) == ("at_target", [])
    assert [(row["rule"], row["verdict"]) for row in record["findings"]] == [(rule, "unknown") for rule in UNTOLD]


@pytest.mark.parametrize(
    ("path", "value", "kind", "rule"),
    [
        ("gpus.0.device_id", "7551", "unknown", "product.known"),
        ("gpus.0.device_id", "66a1", "unknown", "product.known"),
        ("gpus.0.device_id", "740f", "unknown", "product.known"),
        ("gpus", None, "unknown", "product.known"),
        ("gpus", [], "unknown", "product.known"),
        ("gpus.3.initialised", False, "unhealthy", "gpu.initialised"),
        ("gpus.3.unique_id", None, "unknown", "gpu.identity"),
        ("gpus.3.ras.umc.ue", 2, "unhealthy", "health.ras"),
        ("gpus.3.ras.umc.ue", None, "unknown", "health.ras"),
        ("gpus.3.ras", {}, "unknown", "health.ras"),
        ("gpus.3.ras", None, "unknown", "health.ras"),
        ("gpus.3.aer.fatal", 1, "unhealthy", "health.aer"),
        ("gpus.3.aer", None, "unknown", "health.aer"),
        ("driver.ready_for_next_boot", False, "unhealthy", "driver.next_boot"),
        ("driver.ready_for_next_boot", None, "unknown", "driver.next_boot"),
        ("driver.packages", None, "unknown", "packages.whole"),
        ("rocm.active", None, "unknown", "rocm.active"),
        ("rocm.active", "7.13.0", "blocked", "path.stream"),
        ("rocm.active", "7.14.0", "blocked", "path.stream"),
        ("rocm.active", "5.7.1", "may_move", "window.now"),
        ("node.free_bytes./opt", 10**8, "blocked", "disk.free"),
        ("node.free_bytes./opt", None, "unknown", "disk.free"),
        ("node.free_bytes./opt", 5 * 10**9, "may_move", "disk.free"),
        ("node.free_bytes./boot", 38_797_312, "blocked", "disk.free"),
        ("node.free_bytes./boot", 190_000_000, "blocked", "disk.free"),
        ("node.free_bytes./boot", 199_000_000, "may_move", "disk.free"),
        ("node.initrd_bytes", None, "unknown", "disk.free"),
        ("node.initrd_bytes", 10**9, "blocked", "disk.free"),
        ("schema", 2, "unknown", "facts.schema"),
        ("holders", [{"pid": 812, "command": "python3", "device": "/dev/kfd"}], "may_move", "gpu.holders"),
        ("gpus.0.bad_pages", 3, "may_move", "health.bad_pages"),
        ("driver.stale_trees", ["6.3.6"], "may_move", "driver.stale_trees"),
        ("rocm.pins", [], "may_move", "packages.held"),
    ],
)
def test_one_fact_decides(target, path, value, kind, rule):
    record = record_of(target, change(facts(), path, value))
    assert record["class"] == kind
    assert found(record, rule)[0]["fix"]


def test_a_node_without_rocm_differs_and_one_whose_rocm_cannot_be_read_is_unknown(target):
    sample = facts()
    sample["rocm"].update(active=None, active_path=None, installed=[], packages={}, obtainable={"amdgpu-dkms": True})
    empty = record_of(target, sample)
    assert (empty["class"], empty["steps"], found(empty, "rocm.active")[0]["observed"]) == (
        "may_move",
        ["rocm", "reboot"],
        "none",
    )
    assert record_of(target, change(sample, "rocm.packages", None))["class"] == "unknown"
    assert record_of(target, change(sample, "rocm.installed", None))["class"] == "unknown"


def test_h03_a_gpu_on_the_bus_that_the_driver_could_not_start_is_named(target):
    record = record_of(target, change(facts(), "gpus.4.initialised", False))
    assert [finding["subject"] for finding in found(record, "gpu.initialised")] == ["0000:53:00.0"]
    assert record["class"] == "unhealthy"


def test_seven_gpus_of_eight_are_unhealthy(target):
    record = record_of(target, facts(count=7))
    assert (record["gpu_count"], record["expected_gpu_count"], record["class"]) == (7, 8, "unhealthy")


def test_a18_half_configured_packages_are_unhealthy(target):
    sample = change(facts(), "driver.packages.amdgpu-dkms.state", "half-configured")
    sample = change(
        change(sample, "driver.installed", None),
        "rocm.packages.rocm",
        {"version": "1", "state": "unpacked", "hold": False},
    )
    record = record_of(target, sample)
    assert record["class"] == "unhealthy"
    assert found(record, "packages.whole")[0]["observed"] == "amdgpu-dkms is half-configured, rocm is unpacked"


def test_a18_left_over_configuration_files_are_not_a_broken_package(target):
    sample = change(facts(), "rocm.packages.rocm-llvm", {"version": "1", "state": "config-files", "hold": False})
    assert found(record_of(target, sample), "packages.whole") == []


def test_a19_a_user_space_without_a_driver_is_never_at_target(target):
    sample = facts(versions=NEW)
    sample["driver"].update(loaded=False, version=None, origin=None, installed=None, packages={})
    record = record_of(target, sample)
    assert record["class"] != "at_target"
    assert found(record, "driver.loaded")[0]["observed"] == "no driver is loaded"


def test_a_driver_that_is_installed_and_not_loaded_needs_a_reboot_only(target):
    record = record_of(target, change(facts(versions=NEW), "driver.version", "6.12.12"))
    assert (record["class"], record["steps"], record["verdict"]["transition"]) == ("may_move", ["reboot"], "needs_step")


def test_the_kernels_own_driver_differs_and_says_why(target):
    sample = facts(versions=NEW)
    sample["driver"].update(version=None, origin="in-tree")
    record = record_of(target, sample)
    assert (record["class"], record["steps"]) == ("may_move", ["reboot"])
    assert "AMD's 30.10.2 is installed and not loaded" in found(record, "driver.loaded")[0]["observed"]


def test_d06_zeros_of_a_gpu_without_identity_are_not_believed(target):
    sample = facts(versions=NEW)
    for gpu in sample["gpus"]:
        gpu.update(unique_id="", serial="")
    assert record_of(target, sample)["class"] == "unknown"


def test_a_node_too_old_for_one_jump_is_blocked_and_told_the_way(target):
    sample = facts()
    sample["rocm"]["active"] = "5.7.1"
    sample["driver"]["installed"]["release"] = "5.7.1"
    record = record_of(target, sample)
    assert record["class"] == "blocked"
    assert "by way of" in found(record, "path.window")[0]["fix"]


def test_what_a_product_cannot_run_is_blocked(tmp_path):
    target = load_target(write_target(tmp_path, target_document(MI355X={"rocm": "6.4.4", "driver": "6.4.4"})), CATALOG)
    record = record_of(target, facts(device_id="75a3"))
    assert found(record, "product.min_rocm")[0]["observed"] == "6.4.4"
    assert record["class"] == "blocked"


def test_a_minimum_nobody_verified_is_a_warning(target):
    record = record_of(target, facts(device_id="740f", speed=16.0))
    assert found(record, "product.min_rocm")[0]["verdict"] == "warn"


def test_every_node_of_a_mixed_fleet_is_held_against_the_row_of_its_own_product(tmp_path):
    rows = {"MI300X": {"rocm": "7.0.2", "driver": "30.10.2"}, "MI355X": {"rocm": "7.1.1", "driver": "30.20.1"}}
    mixed = load_target(write_target(tmp_path, target_document(**rows)), CATALOG)
    records = [record_of(mixed, facts(versions=NEW, device_id=number)) for number in ("74a1", "75a3", "75a0")]
    assert [(row["product"], row["target"]["driver"], row["class"]) for row in records] == [
        ("MI300X", "30.10.2", "at_target"),
        ("MI355X", "30.20.1", "may_move"),
        ("MI350X", None, "blocked"),
    ]


def test_a_product_the_target_does_not_name_is_blocked(target):
    record = record_of(target, facts(device_id="75a0"))
    assert (record["class"], record["product"], record["target"]) == (
        "blocked",
        "MI350X",
        {"rocm": None, "driver": None},
    )


def test_an_unverified_device_id_is_a_virtual_function_and_unknown(target):
    assert record_of(target, facts(device_id="74bd"))["class"] == "unknown"


def test_virtual_functions_beside_their_gpus_are_not_counted(target):
    sample = facts(versions=NEW)
    sample["gpus"].append(
        {**copy.deepcopy(sample["gpus"][0]), "kind": "vf", "device_id": "74b5", "bdf": "0000:13:02.0"}
    )
    assert record_of(target, sample)["gpu_count"] == 8


def test_rollback_is_ready_only_where_every_old_package_can_be_had(target):
    lost = record_of(target, change(facts(), "rocm.obtainable.rocm-core", False))
    dark = record_of(target, change(facts(), "rocm.obtainable", None))
    assert lost["rollback"] == {"ready": False, "why": ["rocm-core 6.4.4.60404-129~22.04 is offered by no repository"]}
    assert dark["rollback"]["ready"] is False


def test_a_node_that_cannot_be_reached_is_unknown():
    record = unreachable_record("g01", "ssh: no route to host", rack="r1", run_id="run")
    assert (record["class"], record["reachable"], record["rack"]) == ("unknown", False, "r1")
    assert "no route to host" in first_reason(record)


def waiver(**changes):
    return {
        "rule": "health.ras",
        "nodes": ["g0*"],
        "owner": "ops",
        "expires": "2027-01-01",
        "reason": "known",
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "today", "kind"),
    [
        ({}, "2026-12-01T04:30:00Z", "at_target"),
        ({}, "2027-01-02T00:00:00Z", "unhealthy"),
        ({}, "", "unhealthy"),
        ({"nodes": ["g1*"]}, "2026-12-01T04:30:00Z", "unhealthy"),
        ({"rule": "health.aer"}, "2026-12-01T04:30:00Z", "unhealthy"),
    ],
)
def test_a_waiver_holds_for_its_rule_its_nodes_and_its_time(target, changes, today, kind):
    sample = change(facts(versions=NEW), "gpus.0.ras.umc.ue", 1)
    record = record_of(target, sample, gathered_at=today, policy={"waivers": [waiver(**changes)]})
    assert record["class"] == kind
    assert found(record, "health.ras")[0]["verdict"] == ("waived" if kind == "at_target" else "fail")


def test_a_waiver_cannot_make_a_node_without_product_move(target):
    sample = change(facts(), "gpus", [])
    assert (
        record_of(target, sample, gathered_at="2026-12-01", policy={"waivers": [waiver(rule="product.known")]})["class"]
        == "unknown"
    )


def test_the_first_reason_is_one_that_decided(target):
    record = record_of(target, change(facts(), "gpus.3.ras.umc.ue", 2))
    assert first_reason(record).startswith("health.ras 0000:43:00.0: umc 2")


def test_the_old_release_is_what_the_samples_call_old():
    assert facts(versions=OLD)["rocm"]["active"] == "6.4.4"
