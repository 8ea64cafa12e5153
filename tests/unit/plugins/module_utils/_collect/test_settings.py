# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel settings: over all processors, by name and not by number, and layer by layer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import registry
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.cpu import cpu_numbers
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.layers import said
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

CPU = "/sys/devices/system/cpu"
EPYC = (("POLL", "0"), ("C1", "1"), ("C2", "100"))
XEON = (("POLL", "0"), ("C1", "1"), ("C1E", "4"), ("C6", "170"))
GPU = "/sys/bus/pci/devices/0000:05:00.0"
GRUB = "menuentry 'Debian' {{\n\tlinux /boot/vmlinuz-6.1.0-40-amd64 {}\n}}\n"


def settings(files, links=None):
    return registry.gather(RecordedHost({"files": files, "links": links or {}}), ["settings"])


def processors(count=2, states=EPYC, driver="acpi_idle", off=()):
    """Files of some processors with these idle states; ``off`` holds the (processor, state) that are disabled."""
    files = {f"{CPU}/online": f"0-{count - 1}\n", f"{CPU}/cpuidle/current_driver": f"{driver}\n"}
    for cpu in range(count):
        for number, (name, latency) in enumerate(states):
            folder = f"{CPU}/cpu{cpu}/cpuidle/state{number}"
            files[f"{folder}/disable"] = f"{int((cpu, name) in off)}\n"
            files.update({f"{folder}/name": f"{name}\n", f"{folder}/latency": f"{latency}\n"} if cpu == 0 else {})
    return files


def idle(files):
    return settings(files)["settings"]["idle"]


def reasons(facts, subject):
    return [row["reason"] for row in facts["problems"] if row["subject"] == subject]


@pytest.mark.parametrize("states, deep", [(EPYC, ["C2"]), (XEON, ["C6"])])
def test_states_are_told_by_name_and_latency_not_by_number_i09(states, deep):
    seen = idle(processors(states=states))
    assert [name for name in seen["states"] if seen["latency_us"][name] > 10] == deep
    assert seen["disabled"] == []


def test_what_is_off_is_read_of_every_processor_i09():
    files = processors(4, off={(cpu, "C2") for cpu in range(4)} | {(3, "C1")})
    assert (idle(files)["disabled"], idle(files)["partly_disabled"]) == (["C2"], ["C1"])


def test_a_parameter_of_another_idle_driver_is_told_beside_the_driver_i10():
    files = {**processors(), "/proc/cmdline": "ro intel_idle.max_cstate=1\n"}
    seen = settings(files)["settings"]
    assert (seen["idle"]["driver"], seen["idle"]["states"]) == ("acpi_idle", ["POLL", "C1", "C2"])
    assert seen["layers"]["idle"]["cmdline"] == "intel_idle.max_cstate=1"
    assert seen["layers"]["idle"]["live"] == "acpi_idle: POLL, C1, C2"


def test_no_idle_driver_is_no_states_and_no_problem_i10():
    facts = settings({f"{CPU}/online": "0\n", f"{CPU}/cpuidle/current_driver": "none\n"})
    empty = {"states": [], "disabled": [], "latency_us": {}, "partly_disabled": []}
    assert facts["settings"]["idle"] == {"driver": "none", **empty}
    assert not [row for row in facts["problems"] if "cpuidle" in row["subject"]]


def test_a_limit_that_works_leaves_no_deep_state_i10():
    seen = settings({**processors(states=EPYC[:2]), "/proc/cmdline": "processor.max_cstate=1\n"})["settings"]
    assert (seen["idle"]["states"], seen["layers"]["idle"]["cmdline"]) == (["POLL", "C1"], "processor.max_cstate=1")


def test_processors_that_are_offline_or_just_gone_do_not_count():
    files = processors(4, off={(0, "C2"), (1, "C2")})
    files[f"{CPU}/online"] = "0-1,7\n"
    assert (idle(files)["disabled"], idle(files)["partly_disabled"]) == (["C2"], [])


def test_a_kernel_without_a_list_of_processors_has_all_of_them_on():
    files = processors(2, off={(1, "C2")})
    del files[f"{CPU}/online"]
    assert (idle(files)["disabled"], idle(files)["partly_disabled"]) == ([], ["C2"])


def test_a_list_of_processors_that_is_not_understood_leaves_the_answer_unknown():
    facts = settings({**processors(2), f"{CPU}/online": "all\n"})
    assert (facts["settings"]["idle"]["states"], facts["settings"]["idle"]["disabled"]) == (["POLL", "C1", "C2"], None)
    assert reasons(facts, f"{CPU}/online") == ["not understood: 'all'"]


def test_the_first_processor_that_has_idle_states_names_them():
    files = {name.replace("/cpu0/", "/cpu2/"): text for name, text in processors(1).items()}
    assert idle({**files, f"{CPU}/online": "0,2\n"})["states"] == ["POLL", "C1", "C2"]


def test_a_processor_that_gives_no_answer_is_no_proof_that_a_state_is_off():
    files = processors(2, off={(0, "C2"), (1, "C2")})
    facts = settings({**files, f"{CPU}/cpu1/cpuidle/state2/disable": {"error": "EIO"}})
    assert (facts["settings"]["idle"]["disabled"], facts["settings"]["idle"]["partly_disabled"]) == ([], ["C2"])
    assert reasons(facts, "state2/disable") == ["cannot be read on 1 of 2 processors"]


def test_a_state_that_no_processor_tells_of_leaves_the_answer_unknown():
    facts = settings({**processors(1), f"{CPU}/cpu0/cpuidle/state1/disable": "x"})
    assert facts["settings"]["idle"]["disabled"] is None
    assert facts["settings"]["layers"]["idle"]["live"] is None
    assert len(reasons(facts, "state1/disable")) == 1


def test_of_each_processor_only_the_switches_are_read():
    host = RecordedHost({"files": processors(64)})
    read = []
    host.read_bytes = lambda path: read.append(path) or RecordedHost.read_bytes(host, path)
    registry.gather(host, ["settings"])
    assert len([path for path in read if "/cpuidle/state" in path]) == 64 * 3 + 2 * 3


@pytest.mark.parametrize(
    "text, numbers",
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("0", [0]), ("", None), ("a-b", None), ("3-1", None), ("0-99999999999", None),
     ("-1", None)],
)  # fmt: skip
def test_a_list_of_processors_is_read_or_refused(text, numbers):
    assert cpu_numbers(text) == numbers


def test_governors_are_counted_and_boost_is_a_switch():
    files = {f"{CPU}/cpufreq/policy{n}/scaling_governor": "performance\n" for n in range(3)}
    files.update({f"{CPU}/cpufreq/policy9/scaling_governor": "schedutil\n", f"{CPU}/cpufreq/boost": "0\n"})
    seen = settings(files)["settings"]
    assert (seen["governors"], seen["boost"]) == ({"performance": 3, "schedutil": 1}, False)


@pytest.mark.parametrize("text, boost", [("0", True), ("1", False), ("", None)])
def test_the_switch_of_intel_is_the_other_way_round(text, boost):
    assert settings({f"{CPU}/intel_pstate/no_turbo": text})["settings"]["boost"] is boost


def test_a_kernel_that_scales_no_frequency_has_no_governors():
    assert settings({f"{CPU}/online": "0"})["settings"]["governors"] == {}


def test_a_governor_that_cannot_be_read_leaves_the_count_unknown():
    files = {f"{CPU}/cpufreq/policy0/scaling_governor": {"error": "EIO"}}
    assert settings(files)["settings"]["governors"] is None


def test_passthrough_is_what_the_groups_of_the_gpus_say():
    files = {f"{GPU}/class": "0x120000", f"{GPU}/vendor": "0x1002", f"{GPU}/iommu_group/type": "DMA-FQ\n",
             "/sys/class/iommu/ivhd0/x": "", "/proc/cmdline": "iommu=pt"}  # fmt: skip
    seen = settings(files)["settings"]
    assert seen["iommu"] == {"passthrough": False, "group_types": {"DMA-FQ": 1}, "present": True}
    assert seen["layers"]["iommu"] == {"live": "DMA-FQ", "cmdline": "iommu=pt", "next_boot": None, "config": None}


def test_no_iommu_is_a_known_answer():
    assert settings({"/proc/cmdline": "ro"})["settings"]["iommu"]["present"] is False


def test_parameters_are_those_of_the_loaded_module():
    base = "/sys/module/amdgpu/parameters"
    files = {f"{base}/aspm": "-1\n", f"{base}/lockup_timeout": "\n", f"{base}/vm_size": "-1\n"}
    assert settings(files)["settings"]["module_parameters"] == {"amdgpu": {"aspm": "-1", "lockup_timeout": ""}}
    assert settings({})["settings"]["module_parameters"] == {}
    assert settings({"/sys/module/amdgpu/version": "6"})["settings"]["module_parameters"] == {"amdgpu": None}


def test_sysctl_values_are_text_and_null_where_the_kernel_has_none():
    facts = settings({"/proc/sys/kernel/numa_balancing": "2\n", "/proc/sys/vm/swappiness": "60\n"})
    seen = facts["settings"]["sysctl"]
    assert (seen["kernel.numa_balancing"], seen["vm.swappiness"]) == ("2", "60")
    assert (seen["vm.compaction_proactiveness"], facts["settings"]["numa_balancing"]) == (None, 2)


def test_each_layer_says_its_own():
    files = {
        "/proc/sys/kernel/numa_balancing": "0\n", "/proc/cmdline": "ro numa_balancing=enable\n",
        "/boot/grub/grub.cfg": GRUB.format("ro numa_balancing=disable"),
        "/etc/sysctl.d/90-x.conf": "kernel.numa_balancing = 0\n",
    }  # fmt: skip
    assert settings(files)["settings"]["layers"]["numa_balancing"] == {
        "live": "0", "cmdline": "numa_balancing=enable", "next_boot": "numa_balancing=disable",
        "config": "/etc/sysctl.d/90-x.conf: 0",
    }  # fmt: skip


@pytest.mark.parametrize(
    "setting, cmdline, text",
    [
        ("aspm", ["pcie_aspm=off", "pcie_aspm.policy=performance"], "pcie_aspm=off pcie_aspm.policy=performance"),
        ("aspm", ["pcie-aspm=off"], "pcie-aspm=off"),
        ("aspm", ["pcie_aspm_x=off"], None),
        ("smt", ["nosmt=force", "mitigations=off"], "nosmt=force"),
        ("smt", ["mitigations=auto,nosmt"], "mitigations=auto,nosmt"),
        ("iommu", ["iommu=pt", "amd_iommu=on", "iommu.strict=1"], "iommu=pt amd_iommu=on"),
        ("thp", ["transparent_hugepage=always"], "transparent_hugepage=always"),
        ("idle", ["quiet"], None),
        ("idle", None, None),
    ],
)
def test_arguments_are_told_by_their_whole_name(setting, cmdline, text):
    assert said(setting, cmdline) == text


def test_the_policy_of_aspm_is_not_taken_for_aspm_being_off():
    seen = settings({"/proc/cmdline": "pcie_aspm.policy=performance"})["settings"]
    assert seen["aspm"]["cmdline_off"] is False
    assert seen["layers"]["aspm"]["cmdline"] == "pcie_aspm.policy=performance"


def test_a_file_of_sysctl_that_cannot_be_read_has_a_row():
    facts = settings({"/etc/sysctl.d/90-x.conf": {"error": "EIO"}})
    assert facts["settings"]["layers"]["numa_balancing"]["config"] is None
    assert reasons(facts, "/etc/sysctl.d/90-x.conf") == ["OSError: EIO"]


def test_a_next_boot_that_cannot_be_told_has_a_row():
    assert reasons(settings({"/boot/grub/grub.cfg": "set default=7\n"}), "next boot")


NAMES = sorted(
    [
        *processors(),
        f"{CPU}/smt/control",
        f"{CPU}/cpufreq/boost",
        "/proc/cmdline",
        "/etc/modprobe.d/a.conf",
        "/proc/sys/kernel/numa_balancing",
        "/etc/sysctl.d/a.conf",
        "/sys/module/amdgpu/parameters/aspm",
    ]
)


@given(st.dictionaries(st.sampled_from(NAMES), st.text(st.characters(exclude_categories=("Nd", "Cs")), max_size=40)))
def test_no_text_upsets_the_collector_or_becomes_a_number(changes):
    seen = settings({**dict.fromkeys(NAMES, ""), **changes})["settings"]
    assert seen["numa_balancing"] is None
    assert seen["boost"] is None
    assert not any((seen["idle"]["latency_us"] or {}).values())
