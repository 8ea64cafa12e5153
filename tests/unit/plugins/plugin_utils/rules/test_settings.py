# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    change,
    facts,
    target_document,
    write_target,
)

CATALOG = load_catalog()
KERNEL = {
    "cmdline": ["iommu=pt"],
    "module_options": {"amdgpu": {"noretry": 0}},
    "sysctl": {"kernel.numa_balancing": False, "vm.compaction_proactiveness": 20, "vm.nr_hugepages": 8},
}


@pytest.fixture(name="judged", scope="module")
def _judged(tmp_path_factory):
    document = target_document(MI300X={"rocm": "7.0.2", "driver": "30.10.2", "kernel": KERNEL})
    target = load_target(write_target(tmp_path_factory.mktemp("settings"), document), CATALOG)
    sample = change(facts(versions=NEW), "settings.module_options.amdgpu", {"noretry": "0"})

    def of(*changes):
        changed = sample
        for path, value in zip(changes[::2], changes[1::2], strict=True):
            changed = change(changed, path, value)
        record = judge(changed, target, CATALOG, "g01")
        return {row["rule"]: row for row in record["findings"]}, record

    return of


def test_settings_as_wanted_leave_the_node_at_target(judged):
    found, record = judged()
    assert record["class"] == "at_target"
    assert found["sysctl"]["observed"] == "not read by the audit"


@pytest.mark.parametrize(
    ("path", "value", "rule", "steps"),
    [
        ("node.kernel.cmdline", ["quiet"], "cmdline.live", ["reboot"]),
        ("node.kernel.next_boot_cmdline", ["iommu=pt", "iommu.strict=1", "quiet"], None, []),
        ("node.kernel.next_boot_cmdline", ["iommu=off"], "cmdline.next_boot", ["kernel", "reboot"]),
        ("settings.module_options", {}, "module.options", ["kernel", "reboot"]),
        ("settings.module_options.amdgpu.noretry", "1", "module.options", ["kernel", "reboot"]),
        ("settings.sysctl", {"kernel.numa_balancing": "1"}, "sysctl", ["kernel"]),
        ("settings.sysctl", {"vm.compaction_proactiveness": "0"}, "sysctl", ["kernel"]),
        ("settings.sysctl", {"vm.compaction_proactiveness": " 20 "}, None, []),
    ],
)
def test_a_setting_that_differs_names_the_steps_that_mend_it(judged, path, value, rule, steps):
    _found, record = judged(path, value)
    assert record["steps"] == steps
    assert [row["rule"] for row in record["findings"] if row["verdict"] == "fail"] == ([rule] if rule else [])
    assert record["class"] == ("may_move" if rule else "at_target")


@pytest.mark.parametrize(
    "path",
    ["node.kernel.cmdline", "node.kernel.next_boot_cmdline", "settings.module_options", "settings.sysctl"],
)
def test_a_setting_that_cannot_be_read_is_unknown(judged, path):
    assert judged(path, None)[1]["class"] == "unknown"


def test_a_sysctl_that_has_no_value_is_unknown(judged):
    assert judged("settings.sysctl", {"vm.compaction_proactiveness": None})[1]["class"] == "unknown"


def test_aspm_left_on_by_the_bios_is_the_bioss_to_switch_off(judged):
    found, record = judged("gpus.0.link.2.aspm", {"l0s": False, "l1": True})
    assert "BIOS" in found["aspm"]["fix"]
    assert "no kernel setting" in found["aspm"]["fix"]
    assert (found["aspm"]["verdict"], record["class"]) == ("warn", "at_target")


def test_aspm_that_the_kernel_does_not_show_is_unknown_and_decides_nothing(judged):
    found, record = judged("gpus.0.link.2.aspm", {"l0s": None, "l1": None})
    assert (found["aspm"]["verdict"], record["class"]) == ("unknown", "at_target")


@pytest.mark.parametrize(
    ("idle", "verdict"),
    [
        ({"states": ["POLL", "C1"], "disabled": []}, "warn"),
        ({"states": [], "disabled": []}, "warn"),
        ({"states": ["POLL", "C1", "C2"], "disabled": ["C2"]}, "warn"),
        ({"states": ["POLL", "C1", "C1E", "C6"], "disabled": []}, None),
        ({"states": None, "disabled": None}, "unknown"),
        ({"states": ["POLL", None], "disabled": []}, "unknown"),
    ],
)
def test_i09_idle_states_are_told_by_name_and_must_go_deeper_than_c1(judged, idle, verdict):
    found, record = judged("settings.idle", {"driver": "acpi_idle", **idle})
    assert found.get("idle.states", {}).get("verdict") == verdict
    assert record["class"] == "at_target"


@pytest.mark.parametrize("token", ["processor.max_cstate=0", "mitigations=off", "nokaslr", "amd_pstate=active"])
def test_a_token_amd_warns_of_is_told(judged, token):
    found, record = judged("node.kernel.cmdline", ["iommu=pt", token])
    assert token in found["cmdline.advice"]["observed"]
    assert record["class"] == "at_target"


@pytest.mark.parametrize(
    ("capable", "tokens", "verdict"),
    [(False, [], "warn"), (False, ["pci=realloc=off"], None), (True, [], None), (None, [], "unknown")],
)
def test_without_sr_iov_the_kernel_must_not_move_bars(judged, capable, tokens, verdict):
    cmdline = ["iommu=pt", *tokens]
    found, record = judged("settings.sriov_capable", capable, "node.kernel.cmdline", cmdline)
    assert found.get("cmdline.realloc", {}).get("verdict") == verdict
    assert record["class"] == "at_target"


@pytest.mark.parametrize(("virtual", "verdicts"), [(True, []), (False, ["warn"]), (None, ["warn"])])
def test_a_guest_without_an_idle_driver_is_not_asked_for_idle_states_i10(judged, virtual, verdicts):
    idle = {"driver": "none", "states": [], "disabled": [], "latency_us": {}, "partly_disabled": []}
    _found, record = judged("settings.idle", idle, "platform.virtual_machine", virtual)
    assert [row["verdict"] for row in record["findings"] if row["rule"] == "idle.states"] == verdicts
