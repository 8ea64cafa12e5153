# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings about dkms, modules and command lines: read as their right answers say, or with a reason why not."""

from __future__ import annotations

import re
from pathlib import PurePath

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._apt import classify
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import TREE, parse_dkms_status, read_tree
from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import keeping_out
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import names, text
from ansible_collections.fleetops.instinct.tests.unit.kernel_module import module
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

PREFIXES = (
    "dkms-", "modinfo", "modprobe", "grub", "cmdline", "proc-cmdline", "initramfs", "mokutil", "secure", "kernel",
)  # fmt: skip
STATUS, MODINFO = "packages/dkms-status-formats.txt", "packages/modinfo-amdgpu-dkms-el7.txt"
CMDLINES, LSMOD = "packages/proc-cmdline-samples.txt", "packages/lsmod-and-module-version-6.12.12.txt"
TWO_KERNELS, SANITY = "packages/dkms-ok-two-kernels-3.9.txt", "packages/dkms-version-sanity-check.txt"
# Output of a failed change: version and kernel that it leaves without a module, and what the change is failed by.
FAILED = {
    "packages/dkms-fail-6.14-noble.txt": ("6.12.12-2164967.24.04", "6.14.0-24-generic"),
    "packages/dkms-fail-6.8.0-44-kernel-upgrade.txt": ("6.7.0-1787201.22.04", "6.8.0-44-generic"),
    "packages/dkms-fail-kali-delete-then-build.txt": ("5.9.20.104-1247438", "5.10.0-kali8-amd64"),
    "packages/dkms-fail-rock-4.0-kernel-5.8.txt": ("4.0-23", "5.8.0-43-generic"),
}
NOT_READ = {
    "packages/dkms-fail-el8-localised-make.txt": "make.log is for people; facts rest on the files of the tree, "
    "and programs are run in the C locale",
}


def tree_of(version, kernel=None, linked=False):
    """Files and links as dkms leaves them for a version, with or without a build for a kernel."""
    files = {f"{TREE}/{version}/source/dkms.conf": "", f"{TREE}/{version}/build/make.log": "make: *** Error 2\n"}
    if kernel:
        files[f"{TREE}/{version}/{kernel}/x86_64/module/amdgpu.ko"] = ""
    return {"files": files, "links": {f"{TREE}/kernel-{kernel}-x86_64": f"{version}/{kernel}/x86_64"} if linked else {}}


def test_every_recording_is_read_or_stands_here_with_a_reason():
    known = {STATUS, MODINFO, CMDLINES, TWO_KERNELS, SANITY, *FAILED, *NOT_READ}
    found = {name for name in names("packages") if PurePath(name).name.startswith(PREFIXES)}
    assert found == known or not names("packages")


def test_both_forms_of_dkms_status_give_version_kernel_and_state():
    old, two, new, _other = re.split(r"###.*\n", text(STATUS))[1:]
    assert parse_dkms_status(old).builds == [("1.9-211.el7", "3.10.0-862.11.6.el7.x86_64", "x86_64", "installed", None)]
    assert [(row.version, row.kernel, row.state) for row in parse_dkms_status(two).builds] == [
        ("18.50-756341.el7", None, "added"),
        ("2.3-14.el7", "5.0.8-1.el7.elrepo.x86_64", "installed"),
    ]
    assert [row.kernel for row in parse_dkms_status(new).builds] == ["5.15.0-117-generic", "5.15.0-91-generic"]


def test_a_module_that_is_not_what_was_built_does_not_count_as_installed():
    rows = parse_dkms_status(text(STATUS), "i915-sriov-dkms").builds
    assert [row.state for row in rows] == ["installed", "differs"]


@pytest.mark.parametrize("name", FAILED)
def test_a_failed_build_is_known_by_its_output_and_leaves_the_version_added(name):
    version, kernel = FAILED[name]
    output = text(name)
    assert version.split("-")[0] in output
    assert kernel in output
    tree = read_tree(RecordedHost(tree_of(version)))
    assert ([row.state for row in tree.builds], tree.installed(version, kernel)) == (["added"], False)
    assert classify(output).kind == "dkms_build_failed"


def test_a_module_that_is_built_and_refused_is_not_installed():
    kernel = "4.13.0-36-generic"
    assert kernel in text(SANITY)
    machine = tree_of("1.7.60", kernel)
    machine["files"][f"/lib/modules/{kernel}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"] = ""
    assert [row.state for row in read_tree(RecordedHost(machine)).builds] == ["built"]


def test_a_module_in_updates_goes_before_the_kernels_own():
    found = re.search(r"Found (\S+)\n[^$]*Installing to (\S+)/\n?", text(TWO_KERNELS))
    machine = tree_of("3.9-19", "5.4.0-54-generic", linked=True)
    machine["files"].update({found[1]: module(), f"{found[2]}/amdgpu.ko": module(version="5.6.0.19.50")})
    machine["files"]["/boot/grub/grub.cfg"] = "menuentry 'a' {\n linux /boot/vmlinuz-5.4.0-54-generic ro\n}\n"
    following = gather(RecordedHost(machine), ["driver"])["driver"]["next_boot"]
    assert (following["module_file"], following["origin"]) == (f"{found[2]}/amdgpu.ko", "dkms")


def test_a_module_in_extra_is_amds_own_with_its_version():
    fields = dict(line.split(None, 1) for line in text(MODINFO).splitlines() if ":" in line)
    path, version = fields["filename:"].strip(), fields["version:"].strip()
    machine = {path: module(version=version), "/boot/grub2/grub.cfg": "blscfg\n"}
    machine["/boot/loader/entries/a-1-1.conf"] = f"linux /vmlinuz-{path.split('/')[3]}\noptions ro\n"
    following = gather(RecordedHost({"files": machine}), ["driver"])["driver"]["next_boot"]
    assert (following["module_file"], following["version"], following["origin"]) == (path, "5.0.19.20.6", "dkms")


def test_modules_that_only_amds_build_brings_tell_its_origin():
    loaded = re.findall(r"^(\w+) +\d+ +\d+", text(LSMOD), re.MULTILINE)
    version = text(LSMOD).splitlines()[-1]
    files = {f"/sys/module/{name}/initstate": "live\n" for name in loaded}
    facts = gather(RecordedHost({"files": {**files, "/sys/module/amdgpu/version": f"{version}\n"}}), ["driver"])
    assert (facts["driver"]["origin"], facts["driver"]["version"]) == ("dkms", "6.12.12")
    without = gather(RecordedHost({"files": files}), ["driver"])
    assert without["driver"]["origin"] == "dkms"


def test_command_lines_are_judged_as_their_answers_say():
    wanted = ["pci=realloc=off", "pci=bfsort", "iommu=pt"]
    lines = [tokens(line) for line in text(CMDLINES).splitlines()]
    assert [missing(wanted, line) for line in lines] == [[], wanted, ["pci=bfsort", "iommu=pt"], []]
    assert [keeping_out(line, "amdgpu") for line in lines] == [["modprobe.blacklist=amdgpu"], ["nomodeset"], [], []]
    assert missing(["pcie_aspm=off", "processor.max_cstate=0"], lines[3]) == []
