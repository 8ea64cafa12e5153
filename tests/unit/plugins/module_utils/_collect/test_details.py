# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corners of the collectors that no whole machine is needed for."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils import _dkms
from ansible_collections.fleetops.instinct.plugins.module_utils._collect import registry
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.apt import pins, repositories
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

TREE = "/var/lib/dkms/amdgpu"
OLD, NEW = "6.10.5-2095006.24.04", "6.12.12-2164967.24.04"
GOOD_PIN = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
BROKEN_PIN = "Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\n"
SOURCES = """# comment
Types: deb
URIs: http://mirror.example/rocm/core/packages/ubuntu2404/
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/amdrocm.gpg
"""


def gather(subset, machine):
    return registry.gather(RecordedHost(machine), [subset])


def apt(files):
    problems = []
    reading = Reading(
        RecordedHost({"files": {f"/etc/apt/{name}": text for name, text in files.items()}}), problems, "rocm"
    )
    return reading, problems


def tree(*built, linked=(), modules=()):
    files = {f"{TREE}/{OLD}/source/dkms.conf": "", f"{TREE}/{NEW}/source/dkms.conf": ""}
    files.update({f"{TREE}/{version}/{kernel}/x86_64/module/amdgpu.ko.zst": "" for version, kernel in built})
    files.update({f"/lib/modules/{kernel}/updates/dkms/amdgpu.ko.zst": "" for kernel in modules})
    links = {f"{TREE}/kernel-{kernel}-x86_64": f"{version}/{kernel}/x86_64" for version, kernel in linked}
    return _dkms.read_tree(RecordedHost({"files": files, "links": links}))


def test_several_versions_and_kernels_stand_side_by_side_a04():
    read = tree((NEW, "6.8"), (NEW, "6.17"), linked=[(NEW, "6.8")], modules=["6.8"])
    assert [(build.version, build.kernel, build.state) for build in read.builds] == [
        (OLD, None, "added"), (NEW, "6.17", "built"), (NEW, "6.8", "installed"),
    ]  # fmt: skip


def test_a_build_that_dkms_calls_installed_without_its_module_is_broken():
    assert tree((NEW, "6.8"), linked=[(NEW, "6.8")]).builds[1].state == "broken"


def test_no_dkms_is_an_empty_tree_and_no_error():
    assert _dkms.read_tree(RecordedHost({})) == ([], [])


def test_a_tree_that_cannot_be_read_is_null_with_its_error():
    class Broken(RecordedHost):
        def list(self, path):
            raise FleetError(path, "OSError: EIO")

    facts = registry.gather(Broken({"files": {"/var/lib/dpkg/status": "Package: dpkg\nVersion: 1.21\n"}}), ["driver"])
    assert facts["driver"] is None
    assert facts["problems"][0]["reason"] == "OSError: EIO"


def test_a_commented_source_with_a_placeholder_is_no_repository():
    reading, _ = apt(
        {"sources.list.d/a.list": "#deb https://repo.radeon.com/amdgpu/@AMDGPUVER@/ubuntu jammy proprietary\n"}
    )
    assert repositories(reading) == []


def test_deb822_sources_are_told_in_the_one_line_form():
    reading, _ = apt({"sources.list.d/amdrocm-stable.sources": SOURCES})
    line = (
        "deb [signed-by=/etc/apt/keyrings/amdrocm.gpg] http://mirror.example/rocm/core/packages/ubuntu2404/ stable main"
    )
    assert [row["line"] for row in repositories(reading)] == [line]


def test_a_disabled_source_is_no_repository():
    reading, _ = apt({"sources.list.d/amdrocm-stable.sources": SOURCES + "Enabled: no\n"})
    assert repositories(reading) == []


def test_a_pin_of_one_physical_line_is_told_and_not_taken_for_a_pin():
    reading, problems = apt({"preferences.d/rocm-pin-600": BROKEN_PIN})
    assert pins(reading, []) == []
    assert "does not take it for a pin" in problems[0]["reason"]


@pytest.mark.parametrize(
    "pin",
    [GOOD_PIN, "Explanation: ours\nPackage: amdrocm*\nPin: version 10.0*\nPin-Priority: 1001\n",
     "Package: *\nPin: origin mirror.example\nPin-Priority: 1001\n"],
)  # fmt: skip
def test_pins_on_amds_packages_and_places_are_found(pin):
    reading, problems = apt({"preferences.d/rocm-pin": pin})
    assert pins(reading, [{"line": "deb http://mirror.example/rocm/apt/7.0.2 jammy main"}]) == [
        "/etc/apt/preferences.d/rocm-pin"
    ]
    assert problems == []


def test_pins_on_other_things_and_files_apt_passes_over_are_not_listed():
    other = "Package: nginx\nPin: release o=Debian\nPin-Priority: 600\n"
    reading, _ = apt({"preferences.d/nginx": other, "preferences.d/rocm.pref.bak": GOOD_PIN})
    assert pins(reading, []) == []


def test_a_release_from_the_new_layout_is_found_behind_its_links():
    facts = gather("rocm", {
        "files": {"/opt/rocm/core-10.0/.info/version": "10.0.1\n", "/opt/rocm/core-10.0/bin/amd-smi": ""},
        "links": {"/opt/rocm/bin": "/etc/alternatives/rocm", "/etc/alternatives/rocm": "/opt/rocm/core-10.0/bin"},
    })["rocm"]  # fmt: skip
    assert (facts["active"], facts["installed"], facts["layout"]) == ("10.0.1", ["10.0.1"], "core")
    assert facts["active_path"] == "/opt/rocm/core-10.0"


def test_a_folder_without_a_version_file_is_a_leftover_not_a_release():
    facts = gather("rocm", {"files": {"/opt/rocm-5.7.0/lib/x": ""}})
    assert (facts["rocm"]["installed"], facts["rocm"]["leftovers"]) == ([], ["/opt/rocm-5.7.0"])


def test_no_opt_at_all_means_nothing_installed():
    assert gather("rocm", {"files": {"/etc/hostname": "g01"}})["rocm"]["installed"] == []


def test_a_link_to_nowhere_is_told_with_its_target():
    facts = gather("rocm", {"files": {"/opt/x": ""}, "links": {"/opt/rocm": "/opt/rocm-7.0.2"}})
    assert facts["rocm"]["active"] is None
    assert {
        "subset": "rocm",
        "subject": "/opt/rocm",
        "reason": "leads to /opt/rocm-7.0.2, which is not there",
    } in facts["problems"]


def test_versions_that_the_lists_no_longer_offer_are_not_obtainable():
    status = "Package: rocm-core\nStatus: install ok installed\nVersion: 7.0.1.70001-42\n"
    offered = {
        "/var/lib/apt/lists/mirror.example_rocm_apt_7.0.2_dists_jammy_Packages": "Package: rocm-core\nVersion: 7.0.2\n"
    }
    assert gather("rocm", {"files": {"/var/lib/dpkg/status": status, **offered}})["rocm"]["obtainable"] == {
        "rocm-core": False
    }


def test_packages_of_another_package_manager_are_null_with_a_reason():
    facts = gather("driver", {"files": {"/etc/dnf/dnf.conf": ""}})
    assert facts["driver"]["packages"] is None
    assert facts["driver"]["ready_for_next_boot"] is None


def test_a_virtual_function_is_told_by_its_link_not_by_its_name():
    device = "/sys/bus/pci/devices/0000:05:02.0"
    machine = {
        "files": {f"{device}/class": "0x120000", f"{device}/vendor": "0x1002", "/sys/pf/vendor": "0x1002"},
        "links": {f"{device}/physfn": "/sys/pf"},
    }
    assert gather("gpu", machine)["gpus"][0]["kind"] == "vf"


@pytest.mark.parametrize(
    "pci_class, vendor, found",
    [("0x038000", "0x1002", 1), ("0x120000", "0x1002", 1), ("0x030000", "0x1002", 0), ("0x120000", "0x10de", 0),
     ("0x060400", "0x1002", 0)],
)  # fmt: skip
def test_gpus_are_known_by_class_and_maker(pci_class, vendor, found):
    device = "/sys/bus/pci/devices/0000:05:00.0"
    facts = gather("gpu", {"files": {f"{device}/class": pci_class, f"{device}/vendor": vendor}})
    assert len(facts["gpus"]) == found


@pytest.mark.parametrize(
    "nodes, initialised", [({"2": 0x500}, True), ({"2": 0x501, "3": 0x500}, True), ({"2": 0x600}, False)]
)
def test_a_gpu_works_only_where_the_compute_driver_lists_it(nodes, initialised):
    device = "/sys/bus/pci/devices/0000:05:00.0"
    files = {f"{device}/class": "0x120000", f"{device}/vendor": "0x1002", f"{device}/drm/renderD128/dev": ""}
    kfd = "/sys/class/kfd/kfd/topology/nodes"
    files.update(
        {
            f"{kfd}/{node}/properties": f"vendor_id 4098\nlocation_id {place}\ndomain 0\n"
            for node, place in nodes.items()
        }
    )
    facts = gather("gpu", {"files": files, "links": {f"{device}/driver": "../../bus/pci/drivers/amdgpu"}})
    assert facts["gpus"][0]["initialised"] is initialised


def test_an_empty_text_is_no_text():
    device = "/sys/bus/pci/devices/0000:05:00.0"
    files = {f"{device}/class": "0x120000", f"{device}/vendor": "0x1002", f"{device}/vbios_version": "\n"}
    facts = gather("firmware", {"files": files})
    assert facts["gpus"][0]["vbios"] is None
    assert {"subset": "firmware", "subject": "0000:05:00.0 vbios_version", "reason": "not understood: ''"} in facts[
        "problems"
    ]


def test_retired_pages_are_counted_and_half_a_line_is_not_understood():
    device = "/sys/bus/pci/devices/0000:05:00.0"
    files = {
        f"{device}/class": "0x120000",
        f"{device}/vendor": "0x1002",
        f"{device}/ras/umc_err_count": "ue: 1\nce: 4\nde: 0\n",
    }
    page = "0x00000001 : 0x00001000 : R\n"
    assert (
        gather("ras", {"files": {**files, f"{device}/ras/gpu_vram_bad_pages": page * 2}})["gpus"][0]["bad_pages"] == 2
    )
    assert (
        gather("ras", {"files": {**files, f"{device}/ras/gpu_vram_bad_pages": page + "0x"}})["gpus"][0]["bad_pages"]
        is None
    )


def test_module_options_are_read_as_modprobe_reads_them():
    files = {
        "/etc/modprobe.d/a.conf": "# x\noptions amdgpu noretry=0 ras-mask=1\n",
        "/etc/modprobe.d/b.conf": "options amdgpu noretry=1\n",
    }
    options = gather("settings", {"files": files})["settings"]["module_options"]
    assert options == {"amdgpu": {"noretry": "1", "ras_mask": "1"}}


def test_processes_that_cannot_be_looked_into_make_nobody_unknown():
    class Guarded(RecordedHost):
        def readlink(self, path):
            from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable

            raise Unreadable(path, "PermissionError: Permission denied")

    facts = registry.gather(
        Guarded({"files": {"/proc/7/comm": "x"}, "links": {"/proc/7/fd/0": "/dev/null"}}), ["activity"]
    )
    assert facts["holders"] is None
    assert facts["problems"][0]["reason"] == "1 processes cannot be looked into"


def test_an_unknown_subset_is_refused_with_the_known_ones():
    with pytest.raises(FleetError, match="frimware; wanted: all, or any of node, platform"):
        registry.select(["frimware", "!gpu"])
