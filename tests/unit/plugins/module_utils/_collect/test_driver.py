# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver that is loaded, the one that is installed, and the one that the next boot loads."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.tests.unit.kernel_module import archive, module
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

KERNEL, OLDER = "6.1.0-40-amd64", "6.1.0-39-amd64"
VERSION, TREE = "6.14.14-2226257.22.04", "/var/lib/dkms/amdgpu"
BUILT = f"/lib/modules/{KERNEL}/updates/dkms/amdgpu.ko"
IN_TREE = f"/lib/modules/{KERNEL}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
INITRD = f"/boot/initrd.img-{KERNEL}"
LOADED, ANOTHER = "7D2D2C9F63988A81945CAAB", "0C502C9F63988A81945CAAB"
PACKAGE = "Package: amdgpu-dkms\nStatus: hold ok installed\nVersion: 1:6.14.14.30100200-2226257.22.04\n"


def machine(files=None, links=None, cmdline="root=/dev/sda1 ro", **more):
    """A node whose installed driver is loaded and boots next."""
    base = {
        "/var/lib/dpkg/status": PACKAGE,
        "/proc/sys/kernel/osrelease": f"{KERNEL}\n",
        "/boot/grub/grub.cfg": f"menuentry 'a' {{\n\tlinux /boot/vmlinuz-{KERNEL} {cmdline}\n}}\n",
        f"{TREE}/{VERSION}/source/dkms.conf": "",
        f"{TREE}/{VERSION}/{KERNEL}/x86_64/module/amdgpu.ko": "",
        BUILT: module(version="6.14.14", srcversion=LOADED),
        INITRD: "",
        "/sys/module/amdgpu/version": "6.14.14\n",
        "/sys/module/amdgpu/srcversion": f"{LOADED}\n",
        "/sys/module/amdgpu/taint": "OE\n",
    }
    kept = {path: content for path, content in {**base, **(files or {})}.items() if content is not None}
    built = {f"{TREE}/kernel-{KERNEL}-x86_64": f"{VERSION}/{KERNEL}/x86_64"}
    times = {BUILT: 1000.0, INITRD: 2000.0}
    return {"files": kept, "links": {**built, **(links or {})}, "modified": times, **more}


def driver(*args, subsets=("driver",), **more):
    return gather(RecordedHost(machine(*args, **more)), list(subsets))["driver"]


def reasons(*args, subject, **more):
    rows = gather(RecordedHost(machine(*args, **more)), ["driver"])["problems"]
    return [row["reason"] for row in rows if subject in row["subject"]]


def test_the_next_boot_of_a_settled_node_is_told_whole():
    facts = driver()
    assert facts["next_boot"] == {
        "kernel": KERNEL, "module_file": BUILT, "origin": "dkms", "version": "6.14.14", "srcversion": LOADED,
        "signed": False, "kept_out_by": [],
        "initramfs": {"path": INITRD, "older_than_module": False, "holds_module": None, "holds_blacklist": None},
    }  # fmt: skip
    assert (facts["loaded_is_installed"], facts["ready_for_next_boot"], facts["taint"]) == (True, True, "OE")


def test_two_releases_that_share_the_version_of_their_module_are_told_apart():
    facts = driver({BUILT: module(version="6.14.14", srcversion=ANOTHER)})
    assert (facts["version"], facts["installed"]["release"]) == ("6.14.14", "30.10.2")
    assert facts["loaded_is_installed"] is False


@pytest.mark.parametrize(
    "files, told",
    [
        ({BUILT: gzip.compress(module(srcversion=LOADED))}, None),
        ({"/sys/module/amdgpu/srcversion": None}, None),
        ({f"/sys/module/amdgpu/{name}": None for name in ("version", "srcversion", "taint")}, None),
        ({"/var/lib/dpkg/status": PACKAGE.replace("ok installed", "ok half-configured")}, None),
        ({BUILT: None}, False),
        ({"/var/lib/dpkg/status": PACKAGE.replace("6.14.14.30100200", "6.16.6.30200000")}, False),
    ],
    ids=["compressed", "no digest", "not loaded", "half-configured", "module gone", "another package"],
)
def test_the_loaded_module_is_the_installed_one_only_where_that_is_seen(files, told):
    assert driver(files)["loaded_is_installed"] is told


def test_a_compressed_module_is_null_with_the_reason():
    packed = {BUILT: None, f"{BUILT}.xz": b"\xfd7zXZ\0" + bytes(60)}
    assert driver(packed)["next_boot"]["module_file"] == f"{BUILT}.xz"
    assert driver(packed)["next_boot"]["signed"] is None
    assert "compressed with xz" in reasons(packed, subject="amdgpu.ko.xz")[0]


def test_the_kernels_own_module_boots_next_where_dkms_has_none():
    bare = {"/var/lib/dpkg/status": "Package: dpkg\nVersion: 1.21\n", BUILT: None}
    facts = driver({**bare, IN_TREE: module(True, srcversion=LOADED)})
    following = facts["next_boot"]
    assert (following["module_file"], following["origin"], following["version"]) == (IN_TREE, "in-tree", None)
    assert (following["signed"], facts["ready_for_next_boot"], facts["loaded_is_installed"]) == (True, True, True)


def test_the_driver_of_another_kernel_is_not_the_one_that_boots_next_a04():
    entry = f"menuentry 'a' {{\n linux /boot/vmlinuz-{OLDER} ro\n}}\n"
    facts = driver({"/boot/grub/grub.cfg": entry})
    assert (facts["next_boot"]["kernel"], facts["next_boot"]["module_file"]) == (OLDER, None)
    assert (facts["ready_for_next_boot"], facts["loaded_is_installed"]) == (False, True)


def test_where_it_is_not_known_what_boots_next_nothing_is_told_of_it():
    facts = driver({"/boot/grub/grub.cfg": "set default=gone\n"})
    assert (facts["next_boot"], facts["ready_for_next_boot"]) == (None, None)
    assert reasons({"/boot/grub/grub.cfg": "set default=gone\n"}, subject="next_boot")


@pytest.mark.parametrize(
    "cmdline, kept", [("ro nomodeset", ["nomodeset"]), ("module_blacklist=amdgpu", ["module_blacklist=amdgpu"])]
)
def test_an_argument_that_keeps_the_driver_out_is_named(cmdline, kept):
    assert driver(cmdline=cmdline)["next_boot"]["kept_out_by"] == kept


def test_a_blacklist_waits_for_the_next_initramfs_while_the_driver_is_loaded_a23():
    file, initrd = "/etc/modprobe.d/blacklist-amdgpu.conf", gzip.compress(archive({"bin/sh": b""}))
    facts = driver({file: "blacklist amdgpu\n", INITRD: initrd}, subsets=["driver", "initramfs"])
    assert (facts["loaded"], facts["blacklists"]) == (True, [{"file": file, "line": "blacklist amdgpu"}])
    assert facts["next_boot"]["kept_out_by"] == [f"{file}: blacklist amdgpu"]
    assert facts["next_boot"]["initramfs"]["holds_blacklist"] is False


def test_a_blacklist_that_cannot_be_read_is_not_none():
    file = "/etc/modprobe.d/a.conf"
    facts = driver({file: {"error": "EIO"}})
    assert (facts["blacklists"], facts["next_boot"]["kept_out_by"]) == (None, None)
    assert reasons({file: {"error": "EIO"}}, subject=file) == ["OSError: EIO"]


def test_firmware_that_went_with_the_package_is_none_a12():
    folder = "/lib/firmware/amdgpu"
    assert driver()["firmware_files"] == {folder: 0, "/lib/firmware/updates/amdgpu": 0}
    files = {f"{folder}/aldebaran_{name}.bin": "" for name in ("mec", "rlc")}
    assert driver(files)["firmware_files"][folder] == 2


@pytest.mark.parametrize("there", [True, False])
def test_the_compute_device_is_told_whatever_the_user_space_a19(there):
    assert driver({"/dev/kfd": "" if there else None})["compute_device"] is there


def test_only_the_module_itself_counts_as_loaded_a21():
    names = ("amdgpu/version", "amdgpu/srcversion", "amdgpu/taint")
    others = {f"/sys/module/{name}/initstate": "live\n" for name in ("edac_mce_amd", "kvm_amd", "snd_sof_amd_renoir")}
    facts = driver({**others, **{f"/sys/module/{name}": None for name in names}})
    assert (facts["loaded"], facts["origin"], facts["taint"]) == (False, None, None)
    assert facts["installed"]["release"] == "30.10.2"


def test_dkms_is_asked_where_its_tree_cannot_be_read_a03():
    stale = {f"{TREE}/6.8.5-2041575.24.04": {"error": "EIO"}}

    class Unreadable(RecordedHost):
        def list(self, path):
            return super().list("/nowhere") if path != TREE else self.read_bytes(f"{TREE}/6.8.5-2041575.24.04")

    status = f"amdgpu/{VERSION}, {KERNEL}, x86_64: installed\n"
    facts = gather(Unreadable(machine(stale, commands={"dkms status -m amdgpu": [0, status, ""]})), ["driver"])
    assert [row["state"] for row in facts["driver"]["dkms"]] == ["installed"]
    gave_up = f"Error! Could not locate dkms.conf file.\nFile: {TREE}/6.8.5-1.24.04/source/dkms.conf does not exist.\n"
    facts = gather(Unreadable(machine(stale, commands={"dkms status -m amdgpu": [4, "", gave_up]})), ["driver"])
    assert (facts["driver"]["dkms"], facts["driver"]["installed"]["release"]) == (None, "30.10.2")


@pytest.mark.parametrize(
    "initrd, module_time, older", [(2000.0, 1000.0, False), (1000.0, 2000.0, True), (None, 1000.0, None)]
)
def test_an_initramfs_older_than_the_module_is_told(initrd, module_time, older):
    times = {path: time for path, time in ((INITRD, initrd), (BUILT, module_time)) if time is not None}
    facts = gather(RecordedHost({**machine(), "modified": times}), ["driver"])["driver"]
    assert facts["next_boot"]["initramfs"]["older_than_module"] is older


@pytest.mark.parametrize("held, told", [({"lib/modules/x/amdgpu.ko.xz": b"x"}, True), ({"bin/sh": b""}, False)])
def test_what_the_initramfs_holds_joins_the_facts_of_the_driver(held, told):
    facts = driver({INITRD: gzip.compress(archive(held))}, subsets=select(["initramfs"]))
    assert facts["next_boot"]["initramfs"]["holds_module"] is told
    assert facts["next_boot"]["initramfs"]["path"] == INITRD


@pytest.mark.parametrize("content", [b"\x28\xb5\x2f\xfd" + bytes(50), {"error": "EIO"}])
def test_an_initramfs_that_cannot_be_unpacked_is_null_with_the_reason(content):
    facts = gather(RecordedHost(machine({INITRD: content})), ["driver", "initramfs"])
    assert facts["driver"]["next_boot"]["initramfs"]["holds_module"] is None
    assert [row["subset"] for row in facts["problems"] if row["subject"] == INITRD][-1:] == ["initramfs"]


def test_the_initramfs_is_looked_into_by_name_only_and_with_the_driver():
    assert "initramfs" not in select(["all"])
    assert select(["initramfs"]) == ["driver", "initramfs"]
    assert select(["initramfs", "node", "!driver"]) == ["node"]


def test_a_kernel_that_uses_the_module_of_another_is_ready_with_it():
    kernels = "5.14.0-503.el9.x86_64", "5.14.0-427.el9.x86_64"
    weak, origin = f"/lib/modules/{kernels[0]}/weak-updates/amdgpu.ko", f"/lib/modules/{kernels[1]}/extra/amdgpu.ko"
    files = {
        "/boot/grub/grub.cfg": f"menuentry 'a' {{\n linux /vmlinuz-{kernels[0]} ro\n}}\n",
        f"{TREE}/{VERSION}/{kernels[1]}/x86_64/module/amdgpu.ko": "",
        origin: module(version="6.14.14", srcversion=LOADED),
    }
    facts = driver(files, {weak: origin, f"{TREE}/kernel-{kernels[1]}-x86_64": f"{VERSION}/{kernels[1]}/x86_64"})
    assert (facts["ready_for_next_boot"], facts["next_boot"]["module_file"]) == (True, weak)
    assert [row["built_for"] for row in facts["dkms"] if row["kernel"] == kernels[0]] == [kernels[1]]
    assert facts["next_boot"]["version"] == "6.14.14"


def test_a_driver_that_could_not_be_read_is_null_whatever_the_initramfs_holds():
    class Broken(RecordedHost):
        def readlink(self, path):
            raise FleetError(path, "OSError: EIO")

    files = {INITRD: gzip.compress(archive({"lib/modules/x/amdgpu.ko": b"x"}))}
    assert gather(Broken(machine(files)), ["driver", "initramfs"])["driver"] is None


ODD = st.one_of(st.binary(max_size=120), st.just({"error": "EIO"}))
PLACES = st.sampled_from([
    "/boot/grub/grub.cfg", "/boot/grub/grubenv", "/boot/loader/entries/a.conf", "/etc/kernel/cmdline", BUILT, INITRD,
    "/etc/modprobe.d/a.conf", "/sys/module/amdgpu/srcversion", "/sys/module/amdgpu/taint", "/proc/sys/kernel/osrelease",
])  # fmt: skip


@given(st.dictionaries(PLACES, ODD, max_size=4))
def test_odd_content_anywhere_gives_facts_and_reasons_never_an_error(odd):
    facts = gather(RecordedHost(machine(odd)), ["node", "driver", "initramfs"])
    assert facts["driver"]["installed"]["release"] == "30.10.2"
    assert facts["driver"]["next_boot"] is not None or facts["problems"]
