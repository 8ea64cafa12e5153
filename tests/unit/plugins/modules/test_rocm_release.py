# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rocm_release: a node's way to a release and back, over an apt that keeps its books in memory."""

from __future__ import annotations

import copy
import errno

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils import _converge
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import TREE
from ansible_collections.fleetops.instinct.plugins.module_utils._host import unwritable
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import dpkg_packages
from ansible_collections.fleetops.instinct.plugins.module_utils._snapshot import take
from ansible_collections.fleetops.instinct.plugins.modules import rocm_release
from ansible_collections.fleetops.instinct.tests.unit import fake_apt
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import NEW, OLD, parameters, settled_node, versions
from ansible_collections.fleetops.instinct.tests.unit.run_module import Runner

SOURCES = "/etc/apt/sources.list.d/rocm.list"
LOCKED = (100, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\n")


@pytest.fixture
def run(monkeypatch, capsys):
    runner = Runner(monkeypatch, capsys)

    def one(host, check=False, diff=False, **options):
        monkeypatch.setattr(_converge, "Room", lambda: fake_apt.Room(host))
        return runner(rocm_release, host, check, diff, **options)

    return one


def holds(host):
    return {name: package.hold for name, package in dpkg_packages(host).items()}


def test_check_run_check_run(run):
    host = settled_node()
    changed = [run(host, check, **parameters())["changed"] for check in (True, False, True, False)]
    assert changed == [True, True, False, False]
    assert versions(host) == NEW


def test_a_node_at_the_release_is_told_without_a_fork(run):
    host = settled_node()
    told = run(host, **parameters("6.4.4", "6.4.4"))
    assert (told["changed"], told["reboot_required"], host.ran) == (False, False, [])


def test_check_mode_says_what_the_run_then_does(run):
    host = settled_node()
    foreseen, done = (run(host, check, diff=True, **parameters()) for check in (True, False))
    assert foreseen["diff"] == done["diff"]
    assert foreseen["release"] == done["release"]
    assert foreseen["reboot_required"] is done["reboot_required"] is True


def test_check_mode_touches_nothing(run):
    host = settled_node()
    before = (copy.deepcopy(host.files), copy.deepcopy(host.links))
    assert run(host, check=True, **parameters())["changed"] is True
    assert (host.files, host.links) == before


def test_f12_a_held_package_is_moved_and_held_again(run):
    host = settled_node()
    run(host, **parameters())
    assert holds(host) == dict.fromkeys(NEW, True)


def test_a_lost_hold_is_set_again_without_a_rehearsal(run):
    host = settled_node()
    host.set_package("rocm", OLD["rocm"], hold=False)
    assert run(host, **parameters("6.4.4", "6.4.4"))["changed"] is True
    assert host.ran == [["apt-mark", "hold", "rocm"]]


def test_packages_are_freed_where_no_hold_is_wanted(run):
    host = settled_node()
    assert run(host, hold=False, **parameters("6.4.4", "6.4.4"))["changed"] is True
    assert holds(host) == dict.fromkeys(OLD, False)


def test_a01_a_driver_that_does_not_build_fails_by_kernel_and_log_with_the_holds_on(run):
    host = settled_node()
    host.fail_to_build(NEW["amdgpu-dkms"])
    told = run(host, **parameters())
    assert (told["failed"], told["kind"]) == (True, "dkms_build_failed")
    assert "does not build for kernel 6.1.0-40-amd64" in told["msg"]
    assert "/var/lib/dkms/amdgpu/6.14.14-2226257.22.04/build/make.log" in told["msg"]
    assert holds(host) == dict.fromkeys(NEW, True)


def test_a18_a_half_configured_driver_goes_back_to_the_snapshot(run):
    host = settled_node()
    snapshot = take(host, "r1")
    host.fail_to_build(NEW["amdgpu-dkms"])
    run(host, **parameters())
    told = run(host, snapshot=snapshot)
    assert told["changed"] is True
    assert (versions(host), holds(host)) == (OLD, dict.fromkeys(OLD, True))
    assert [argv[-1] for argv in host.ran if "--remove" in argv] == ["amdgpu-dkms"]


def test_the_way_back_restores_files_versions_and_holds_and_then_rests(run):
    host = settled_node()
    host.set_package("rocm", OLD["rocm"], hold=False)
    before, snapshot = dict(host.files), take(host, "r1")
    run(host, **parameters())
    assert [run(host, check, snapshot=snapshot)["changed"] for check in (True, False, True, False)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert {path: host.files.get(path) for path in before if path.startswith("/etc/apt")} == {
        path: content for path, content in before.items() if path.startswith("/etc/apt")
    }
    assert (versions(host), holds(host)["rocm"]) == (OLD, False)


def test_the_way_back_removes_what_the_snapshot_does_not_have(run):
    host = settled_node()
    snapshot = take(host, "r1")
    run(host, **parameters())
    host.set_package("rocm-extra", "1.0.70002-56~22.04")
    told = run(host, snapshot=snapshot)
    assert told["release"]["packages"]["rocm-extra"]["after"] is None
    assert "rocm-extra" not in versions(host)


def test_back_before_a_reboot_needs_none(run):
    host = settled_node()
    snapshot = take(host, "r1")
    assert run(host, **parameters())["reboot_required"] is True
    assert run(host, snapshot=snapshot)["reboot_required"] is False


def test_a_driver_with_the_same_module_version_needs_a_reboot_too(run):
    host = settled_node()
    later = {**OLD, "amdgpu-dkms": "1:6.12.12.60405-2202140.22.04"}
    host.repositories[f"{fake_apt.MIRROR}/amdgpu/6.4.5/ubuntu"] = {
        **later,
        "amdgpu-dkms-firmware": "1:6.12.12.60405-2202140.22.04",
    }
    options = parameters("6.4.4", "6.4.5")
    assert [run(host, check, **options)["reboot_required"] for check in (True, False, False)] == [True, True, True]


def test_f16_a_busy_lock_names_its_holder_and_leaves_apt_as_it_was(run):
    host = settled_node()
    before = dict(host.files)
    host.answers["install"] = LOCKED
    told = run(host, lock_timeout=10, **parameters())
    assert (told["kind"], "process 4711 (unattended-upgr)" in told["msg"]) == ("package_manager_locked", True)
    lasting = {path: content for path, content in host.files.items() if not path.startswith("/run/")}
    assert lasting == before
    assert host.slept == 0.0  # apt-get has waited for this lock by itself


def test_f16_the_lock_on_the_lists_is_waited_for(run):
    host, answers = settled_node(), []
    busy = (100, "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)\n", "")

    def update(node, argv):
        answers.append(argv)
        return busy if len(answers) == 2 else node._update(argv)

    host.answers["update"] = update
    assert run(host, **parameters())["changed"] is True
    assert host.slept == 5.0


def test_a_version_that_is_gone_stops_before_any_change(run):
    host = settled_node()
    host.repositories[f"{fake_apt.MIRROR}/rocm/apt/7.0.2"] = {"rocm-core": NEW["rocm-core"]}
    before = dict(host.files)
    told = run(host, **parameters())
    assert (told["kind"], host.files) == ("version_unavailable", before)


def test_a19_a_rehearsal_that_would_remove_a_bystander_stops_before_any_change(run):
    host = settled_node()
    before, real = dict(host.files), host._simulated
    host._simulated = lambda argv: real(argv) + "Remv pytorch-rocm [2.1]\n"
    told = run(host, **parameters())
    assert told["msg"].startswith("pytorch-rocm: apt would remove it")
    assert host.files == before


def test_the_rehearsal_sees_the_distributions_lists_and_no_old_ones_of_amd(run, monkeypatch):
    host, linked = settled_node(), []
    other = "archive.ubuntu.com_ubuntu_dists_jammy_main_binary-amd64_Packages"
    host.files[f"/var/lib/apt/lists/{other}"] = "Package: libc6\nVersion: 2.36\n"
    host.files["/var/lib/apt/lists/lock"] = ""
    monkeypatch.setattr(fake_apt.Room, "link", lambda _room, target, path: linked.append((target, path)))
    assert run(host, check=True, **parameters())["changed"] is True
    assert linked == [(f"/var/lib/apt/lists/{other}", f"/room/lists/{other}")]


def test_a_repository_that_is_gone_stops_before_any_change(run):
    host = settled_node()
    del host.repositories[f"{fake_apt.MIRROR}/amdgpu/30.10.2/ubuntu"]
    before = dict(host.files)
    told = run(host, **parameters())
    assert (told["kind"], host.files) == ("repository_unreachable", before)


def test_too_little_space_stops_before_any_change(run):
    host = settled_node()
    host.free["/"] = 280_000_000
    told = run(host, **parameters())
    assert told["kind"] == "disk_full"
    assert "280 MB are free; wanted: 288 MB" in told["msg"]
    assert versions(host) == OLD


def test_space_is_counted_by_file_system(run):
    host = settled_node()
    host.free = {"/": 282_000_000, "/opt": 5_600_000, "/var/cache/apt/archives": 1_200_000}
    assert run(host, check=True, **parameters())["changed"] is True
    host.free["/opt"] = 5_400_000
    assert run(host, check=True, **parameters())["msg"].startswith("/opt: 5 MB are free; wanted: 6 MB")


def boot_with(host, free, initrd=183_500_800):
    for name, size in (("initrd.img-6.12.48", 181_403_648), ("initrd.img-6.12.57", initrd)):
        host.files[f"/boot/{name}"], host.sizes[f"/boot/{name}"] = "", size
    host.files["/boot/vmlinuz-6.12.57"], host.sizes["/boot/vmlinuz-6.12.57"] = "", 10**12
    host.free["/boot"] = free
    return dict(host.files)


def test_a09_a_boot_partition_without_room_for_another_initrd_stops_before_any_change(run):
    host = settled_node()
    before = boot_with(host, 38_797_312)
    for check in (True, False):
        told = run(host, check, **parameters())
        assert (told["kind"], host.files) == ("disk_full", before)
        assert told["msg"].startswith("/boot: 39 MB are free; wanted: 202 MB for an initrd beside the present one")


def test_a09_the_initrd_counts_where_boot_is_no_file_system_of_its_own(run):
    host = settled_node()
    boot_with(host, 400_000_000)
    host.free["/"] = 400_000_000
    wanted = "490 MB for the packages, their archives, the build of the driver, an initrd beside the present one"
    assert wanted in run(host, **parameters())["msg"]


def test_a_boot_partition_with_room_for_another_initrd_is_enough(run):
    host = settled_node()
    boot_with(host, 202_000_000)
    assert run(host, **parameters())["changed"] is True


def test_a_change_without_the_driver_needs_no_room_for_an_initrd(run):
    host = settled_node()
    boot_with(host, 1_000)
    told = run(host, check=True, **parameters("7.0.2", "6.4.4"))
    assert [name for name in told["release"]["packages"] if "dkms" in name] == []
    assert told["changed"] is True


def test_a_boot_folder_that_cannot_be_measured_stops_before_any_change(run, monkeypatch):
    host = settled_node()
    before = boot_with(host, 10**12)
    host.files["/boot/initrd.img-6.12.48"] = {"error": "EIO"}
    host.sizes.clear()
    assert run(host, **parameters())["msg"].startswith("/boot/initrd.img-6.12.48: ")
    assert versions(host) == OLD
    assert set(host.files) == set(before)


def test_the_cause_is_not_hidden_by_what_fails_after_it(run):
    host = settled_node()
    host.fail_to_build(NEW["amdgpu-dkms"])
    host.answers["hold"] = (1, "dpkg: error: dpkg frontend lock was locked by another process with pid 9\n")
    told = run(host, lock_timeout=0, **parameters())
    assert told["kind"] == "dkms_build_failed"
    assert "and the holds could not be set again: dpkg's lock: held by process 9" in told["msg"]


def test_a_disk_that_is_full_when_files_are_written_is_a_full_disk(run, monkeypatch):
    host = settled_node()

    def write_bytes(path, content, mode=0o644):
        raise unwritable(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(host, "write_bytes", write_bytes)
    assert run(host, **parameters())["kind"] == "disk_full"


def test_an_interrupted_dpkg_is_settled_and_the_transaction_made_again(run):
    host, tries = settled_node(), []

    def install(node, argv):
        tries.append(argv)
        if len(tries) == 1:
            return (
                100,
                "",
                "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.\n",
            )
        node._install(argv)
        return 0, "", ""

    host.answers["install"] = install
    assert run(host, **parameters())["changed"] is True
    assert [argv[-2:] for argv in host.ran if argv[0] == "dpkg"] == [["--configure", "-a"]]


def test_a02_the_leftover_folder_of_an_older_driver_goes_and_no_other(run):
    host = settled_node()
    host.files[f"{TREE}/original_module/x"] = "x"
    before = dict(host.files)
    host.files[f"{TREE}/6.8.5-2041575.24.04/build/make.log"] = "x"
    told = run(host, **parameters("6.4.4", "6.4.4"))
    assert told["release"]["leftovers"] == [f"{TREE}/6.8.5-2041575.24.04"]
    assert host.files == before


def test_other_sources_and_pins_of_amd_are_taken_out(run):
    host = settled_node()
    host.files["/etc/apt/sources.list.d/amdgpu.list"] = f"deb {fake_apt.MIRROR}/amdgpu/6.4.4/ubuntu jammy main\n"
    host.files["/etc/apt/preferences.d/rocm-pin-600"] = (
        "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
    )
    told = run(host, **parameters("6.4.4", "6.4.4"))
    assert told["release"]["files"] == ["/etc/apt/preferences.d/rocm-pin-600", "/etc/apt/sources.list.d/amdgpu.list"]
    assert not {*told["release"]["files"]} & {*host.files}


def test_a_driver_not_built_for_the_next_kernel_is_built(run):
    host = settled_node()
    host.links.clear()
    assert [run(host, **parameters("6.4.4", "6.4.4"))["changed"] for _again in range(2)] == [True, False]
    assert host.ran == [["dkms", "install", "amdgpu/6.12.12-2202139.22.04", "-k", "6.1.0-40-amd64"]]


def test_a_module_that_is_gone_from_the_kernels_tree_is_installed_again(run):
    host = settled_node()
    del host.files[fake_apt.MODULE]
    options = parameters("6.4.4", "6.4.4")
    changed = [run(host, check, **options)["changed"] for check in (True, False, True, False)]
    assert (changed, fake_apt.MODULE in host.files) == ([True, True, False, False], True)


def test_the_lists_of_repositories_left_behind_are_forgotten(run):
    host = settled_node()
    run(host, **parameters())
    assert [path for path in host.files if path.startswith("/var/lib/apt/lists/") and "6.4.4" in path] == []


def test_a_dependency_stays_marked_as_one(run):
    host = settled_node()
    host.files["/var/lib/apt/extended_states"] = "Package: rocm-core\nAuto-Installed: 1\n"

    def install(node, argv):
        node._install(argv)
        del node.files["/var/lib/apt/extended_states"]
        return 0, "", ""

    host.answers["install"] = install
    run(host, **parameters())
    assert host.auto == {"rocm-core"}


def test_a_node_without_apt_is_refused(run):
    host = settled_node()
    host.files = {"/etc/dnf/dnf.conf": "[main]\n"}
    told = run(host, **parameters())
    assert told["msg"].startswith("package manager: dnf; wanted: apt")


@pytest.mark.parametrize(
    "options",
    [{"release": "7.0.2"}, {"snapshot": {}, "release": "7.0.2"}, {}, {**parameters(), "key": "no key"},
     {**parameters(), "release": "seven"}, {"snapshot": {"packages": 3}}],
)  # fmt: skip
def test_options_that_do_not_fit_fail_and_run_nothing(run, options):
    host = settled_node()
    told = run(host, **options)
    assert (told["failed"], host.ran) == (True, [])


def test_the_documentation_names_every_option():
    documented = yaml.safe_load(rocm_release.DOCUMENTATION)["options"]
    assert sorted(documented) == sorted(rocm_release.SPEC)
    assert sorted(documented["repository"]["suboptions"]) == sorted(rocm_release.REPOSITORY)


def test_the_pin_and_the_sources_are_those_of_the_release(run):
    host = settled_node()
    run(host, **parameters())
    assert b"rocm/apt/7.0.2 jammy main" in host.files[SOURCES]
    assert b"amdgpu/30.10.2/ubuntu jammy main" in host.files[SOURCES]
    assert b"Pin-Priority: 1001" in host.files["/etc/apt/preferences.d/rocm-pin"]
