# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's dkms tree, and whether a boot is left to do."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils import _driver
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import TREE
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import TransactionFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import KERNEL, MODULE, NEW, OLD, settled_node
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

OLD_DRIVER, NEW_DRIVER = OLD["amdgpu-dkms"], NEW["amdgpu-dkms"]
GRUB = 'set default="0"\nmenuentry "x" {{\n\tlinux /boot/vmlinuz-{} ro\n}}\n'


def machine(files=None, links=None):
    boot = {"/proc/sys/kernel/random/boot_id": "b1\n", "/proc/sys/kernel/osrelease": f"{KERNEL}\n"}
    return RecordedHost({"files": {**boot, **(files or {})}, "links": links or {}})


def driver(version):
    return {"amdgpu-dkms": Package("amdgpu-dkms", version, "installed", True)} if version else {}


def test_a03_only_a_folder_whose_source_is_gone_is_stale():
    host = machine(
        {
            f"{TREE}/6.8.5-1.24.04/build/x": "",
            f"{TREE}/6.10.5-2.24.04/source/dkms.conf": "",
            f"{TREE}/original_module/x": "",
        }
    )
    assert _driver.stale_trees(host, set()) == [f"{TREE}/6.8.5-1.24.04"]


def test_the_folder_of_the_installed_driver_is_never_stale():
    host = machine({f"{TREE}/6.12.12-2202139.22.04/build/x": ""})
    assert _driver.stale_trees(host, {OLD_DRIVER}) == []


@pytest.mark.parametrize(
    "path", [TREE, f"{TREE}/", f"{TREE}/../x-1", f"{TREE}/6.8.5-1/build", "/var/lib/dkms/i915/1.0-1"]
)
def test_a03_nothing_but_one_versions_folder_is_removed(path):
    host = machine({f"{TREE}/6.8.5-1/build/x": "", "/var/lib/dkms/i915/1.0-1/x": "", "/var/lib/dkms/x-1/x": ""})
    before = dict(host.files)
    _driver.remove_stale(host, [path])
    assert host.files == before


def test_a_link_in_its_place_is_not_followed():
    host = machine({"/srv/data/x": ""}, {f"{TREE}/6.8.5-1": "/srv/data"})
    _driver.remove_stale(host, [f"{TREE}/6.8.5-1"])
    assert "/srv/data/x" in host.files


@pytest.mark.parametrize("kernel, built", [(KERNEL, True), ("6.1.0-41-amd64", False)])
def test_built_means_for_the_kernel_that_boots_next(kernel, built):
    host = settled_node()
    host.files["/boot/grub/grub.cfg"] = GRUB.format(kernel)
    assert _driver.built(host, OLD_DRIVER) is built
    assert _driver.built(host, NEW_DRIVER) is False


def test_a_module_that_is_gone_from_the_kernels_tree_is_not_built_whatever_dkms_says():
    host = settled_node()
    del host.files[MODULE]
    assert _driver.built(host, OLD_DRIVER) is False
    _driver.build(host, OLD_DRIVER, 10.0)
    assert _driver.built(host, OLD_DRIVER) is True
    assert host.ran == [["dkms", "install", "amdgpu/6.12.12-2202139.22.04", "-k", KERNEL, "--force"]]


def test_dkms_that_says_yes_and_leaves_no_module_has_failed():
    host = machine()
    host.commands[f"dkms install amdgpu/6.12.12-2202139.22.04 -k {KERNEL}"] = [0, "", ""]
    with pytest.raises(TransactionFailed, match=r"does not build for kernel 6\.1\.0-40-amd64") as error:
        _driver.build(host, OLD_DRIVER, 10.0)
    assert error.value.kind == "dkms_build_failed"


@pytest.mark.parametrize(
    "loaded, installed, required",
    [
        ("6.12.12\n", OLD_DRIVER, False),
        ("6.12.12\n", NEW_DRIVER, True),
        (None, OLD_DRIVER, True),
        (None, None, False),
        ("6.12.12\n", None, True),
    ],
)
def test_a21_the_loaded_module_must_be_the_installed_one(loaded, installed, required):
    host = machine({_driver.LOADED: loaded} if loaded else {})
    assert _driver.reboot_required(host, driver(installed), driver(installed)) is required


def test_a_module_of_the_same_version_from_another_package_is_another_one():
    host, later = machine({_driver.LOADED: "6.14.14\n"}), NEW_DRIVER.replace("30100200", "30100300")
    _driver.remember_driver(host, driver(NEW_DRIVER))
    assert _driver.reboot_required(host, driver(later), driver(later)) is True
    host.files["/proc/sys/kernel/random/boot_id"] = "b2\n"
    assert _driver.reboot_required(host, driver(later), driver(later)) is False


def test_a_module_version_that_cannot_be_read_is_an_error():
    with pytest.raises(Unreadable):
        _driver.reboot_required(machine({_driver.LOADED: {"error": "EIO"}}), driver(OLD_DRIVER), driver(OLD_DRIVER))
