# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kernel_settings: a declared set of drop-ins, with a grub that reads them."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed
from ansible_collections.fleetops.instinct.plugins.module_utils._kernel import (
    DROP_IN,
    MODPROBE,
    OWN_FILES,
    SYSCTL,
    evaluate,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._snapshot import take
from ansible_collections.fleetops.instinct.plugins.modules import kernel_settings
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import settled_node
from ansible_collections.fleetops.instinct.tests.unit.run_module import Runner

LIVE = "/proc/sys/kernel/numa_balancing"
GRUB = "/etc/default/grub"
WANTED = {"cmdline": ["pci=realloc=off", "iommu=pt"], "sysctl": {"kernel.numa_balancing": 0}}
OPTIONS = {"module_options": {"amdgpu": {"ras_enable": 1, "runpm": False}}}


def update_grub(host):
    """What grub-mkconfig makes of the files: a first entry with both variables."""
    paths = [GRUB, *sorted(path for path in host.files if path.startswith("/etc/default/grub.d/"))]
    values = evaluate([host.read(path) for path in paths])
    line = f"{values['GRUB_CMDLINE_LINUX']} {values['GRUB_CMDLINE_LINUX_DEFAULT']}"
    entry = f"menuentry 'Debian' {{\n\tlinux /boot/vmlinuz-6.1.0-40-amd64 root=/dev/vda1 {line}\n}}\n"
    host.files["/boot/grub/grub.cfg"] = f'set default="0"\n{entry}'
    return Completed(0, "", "")


@pytest.fixture
def run(monkeypatch, capsys):
    runner = Runner(monkeypatch, capsys)
    return lambda host, check=False, diff=False, **options: runner(kernel_settings, host, check, diff, **options)


@pytest.fixture
def host():
    node = settled_node()
    node.files.update({GRUB: 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n', "/usr/sbin/update-grub": "", LIVE: "1\n"})
    node.run = lambda argv, **_ignored: (node.ran.append(argv), node.commands[argv[0]](node))[1]
    node.commands = {"update-grub": update_grub, "update-initramfs": lambda _host: Completed(0, "", "")}
    update_grub(node)
    return node


def boot(node):
    """The next boot's command line runs, and the memory of this boot is gone."""
    line = next(row for row in node.read("/boot/grub/grub.cfg").splitlines() if "linux" in row)
    node.files["/proc/cmdline"] = line.split(None, 2)[2] + "\n"
    node.files["/proc/sys/kernel/random/boot_id"] = "boot-2\n"


def test_check_run_check_run(run, host):
    told = [run(host, check, **WANTED) for check in (True, False, True, False)]
    assert [one["changed"] for one in told] == [True, True, False, False]
    assert [one["reboot_required"] for one in told] == [True, True, True, True]
    assert host.ran == [["update-grub"]]


def test_the_next_boot_carries_every_argument_and_then_no_reboot_is_left(run, host):
    run(host, **WANTED)
    boot(host)
    told = run(host, **WANTED)
    assert (told["changed"], told["reboot_required"]) == (False, False)
    assert host.files["/proc/cmdline"].split()[-2:] == WANTED["cmdline"]


def test_i06_check_mode_touches_nothing_and_says_what_the_run_does(run, host):
    before = (copy.deepcopy(host.files), list(host.ran))
    foreseen = run(host, check=True, diff=True, **WANTED, **OPTIONS)
    assert (host.files, host.ran) == before
    done = run(host, diff=True, **WANTED, **OPTIONS)
    assert {**foreseen, "invocation": 0} == {**done, "invocation": 0}


def test_an_argument_that_another_file_gives_is_left_to_it(run, host):
    told = run(host, cmdline=["quiet"])
    assert (told["changed"], DROP_IN in host.files) == (False, False)


def test_i04_another_value_of_the_same_name_is_put_after_the_old_one(run, host):
    host.files[GRUB] = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet processor.max_cstate=5"\n'
    run(host, cmdline=["processor.max_cstate=1"])
    assert host.read(DROP_IN).endswith('"$GRUB_CMDLINE_LINUX_DEFAULT processor.max_cstate=1"\n')
    assert "max_cstate=5 processor.max_cstate=1" in host.files["/boot/grub/grub.cfg"]


def test_i03_an_image_makers_earlier_file_is_added_to(run, host):
    host.files["/etc/default/grub.d/50-cloudimg-settings.cfg"] = (
        'GRUB_CMDLINE_LINUX_DEFAULT="console=tty1 console=ttyS0"\n'
    )
    run(host, cmdline=["pcie_aspm=off"])
    assert "console=tty1 console=ttyS0 pcie_aspm=off" in host.files["/boot/grub/grub.cfg"]


def test_i03_a_later_file_that_overrides_is_named_before_anything_is_changed(run, host):
    host.files["/etc/default/grub.d/z99-hetzner.cfg"] = 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty1"\n'
    before = dict(host.files)
    told = run(host, **WANTED)
    assert told["msg"].startswith("/etc/default/grub.d/z99-hetzner.cfg: undoes pci=realloc=off iommu=pt")
    assert (host.files, host.ran) == (before, [])


def test_a_grub_cfg_that_does_not_carry_the_argument_fails_and_the_next_run_tries_again(run, host):
    host.commands["update-grub"] = lambda _host: Completed(0, "", "")
    told = [run(host, cmdline=["iommu=pt"]) for _again in range(2)]
    assert [one["failed"] for one in told] == [True, True]
    assert "/boot/grub/grub.cfg: the next boot would not carry iommu=pt" in told[1]["msg"]


def test_a_run_that_was_killed_before_update_grub_is_finished_by_the_next(run, host):
    run(host, **WANTED)
    host.files["/boot/grub/grub.cfg"] = 'set default="0"\nmenuentry "x" {\n\tlinux /boot/vmlinuz-6.1 quiet\n}\n'
    assert [run(host, **WANTED)["changed"] for _again in range(2)] == [True, False]


def test_an_empty_set_takes_the_drop_ins_away_and_gives_the_live_value_back(run, host):
    run(host, **WANTED, **OPTIONS)
    assert [run(host, check)["changed"] for check in (True, False, True, False)] == [True, True, False, False]
    assert not {*OWN_FILES} & {*host.files}
    assert host.files[LIVE] == "1\n"


def test_what_was_taken_out_still_runs_until_the_next_boot(run, host):
    run(host, cmdline=["iommu=pt"])
    boot(host)
    assert [run(host)["reboot_required"] for _again in range(2)] == [True, True]
    boot(host)
    assert run(host)["reboot_required"] is False


def test_taken_out_before_it_ever_ran_needs_no_reboot(run, host):
    run(host, cmdline=["iommu=pt"])
    assert run(host)["reboot_required"] is False


def test_a_setting_whose_earlier_value_is_not_known_needs_a_reboot(run, host):
    run(host, **WANTED)
    boot(host)
    told = [run(host, cmdline=WANTED["cmdline"])["reboot_required"] for _again in range(2)]
    assert (told, host.files[LIVE]) == ([True, True], "0\n")


def test_a23_module_options_go_into_a_new_initramfs(run, host):
    run(host, **OPTIONS)
    assert host.read(MODPROBE).endswith("options amdgpu ras_enable=1 runpm=0\n")
    assert host.ran == [["update-initramfs", "-u", "-k", "all"]]


@pytest.mark.parametrize("live, pending", [("1\n", False), ("0\n", True), ("Y\n", False), ("N\n", True)])
def test_a_loaded_module_with_other_options_needs_a_reboot(run, host, live, pending):
    host.files["/sys/module/amdgpu/parameters/ras_enable"] = live
    assert run(host, module_options={"amdgpu": {"ras_enable": 1}})["reboot_required"] is pending


@pytest.mark.parametrize("check", [True, False])
def test_a09_a_boot_partition_without_room_for_an_initramfs_stops_before_any_change(run, host, check):
    host.files["/boot/initrd.img-6.1"], host.sizes["/boot/initrd.img-6.1"] = "", 181_403_648
    host.free["/boot"] = 38_797_312
    before = dict(host.files)
    told = run(host, check, module_options={"amdgpu": {"noretry": 1}})
    assert told["msg"].startswith("/boot: 39 MB are free; wanted: 200 MB for an initrd beside the present one")
    assert (told["kind"], host.files, host.ran) == ("disk_full", before, [])


def test_a09_an_initramfs_that_does_not_fit_fails_by_kind_and_leaves_no_options(run, host):
    full = "zstd: error 70 : Write error : cannot write block : No space left on device\n"
    host.commands["update-initramfs"] = lambda _host: Completed(1, "", full)
    told = run(host, **OPTIONS)
    assert (told["kind"], MODPROBE in host.files) == ("disk_full", False)
    assert "do not reboot" in told["msg"]


def test_the_snapshots_drop_ins_come_back_or_go(run, host):
    run(host, cmdline=["iommu=pt"])
    snapshot = take(host, "r1")
    run(host, **WANTED)
    assert [run(host, check, snapshot=snapshot)["changed"] for check in (True, False, True)] == [True, True, False]
    assert (host.read(DROP_IN).endswith('DEFAULT iommu=pt"\n'), SYSCTL in host.files) == (True, False)


def test_a_node_without_grub_is_refused_only_where_arguments_are_wanted(run, host):
    del host.files["/usr/sbin/update-grub"]
    assert run(host, sysctl={"kernel.numa_balancing": 0})["changed"] is True
    assert run(host, **WANTED)["msg"].startswith("boot loader: no /etc/default/grub or no /usr/sbin/update-grub")


@pytest.mark.parametrize(
    "options, told",
    [
        ({"cmdline": ['x"; reboot; "']}, "cmdline: 'x\"; reboot; \"'"),
        ({"cmdline": ["$(reboot)"]}, "cmdline: '$(reboot)'"),
        ({"module_options": {"amdgpu": {"x": "1\ninstall amdgpu /bin/sh"}}}, "module_options, x"),
        ({"module_options": {"a b": {"x": 1}}}, "module_options: 'a b'"),
        ({"sysctl": {"kernel": 1}}, "sysctl: 'kernel'"),
        ({"sysctl": {"../../etc/passwd": 1}}, "sysctl: '../../etc/passwd'"),
        ({"sysctl": {"kernel.no_such": 1}}, "sysctl kernel.no_such: the kernel has no /proc/sys/kernel/no_such"),
        ({"snapshot": {}}, "snapshot: KeyError"),
        ({"snapshot": {}, "cmdline": []}, "parameters are mutually exclusive"),
    ],
)
def test_what_does_not_fit_fails_by_name_and_changes_nothing(run, host, options, told):
    before = dict(host.files)
    answer = run(host, **options)
    assert answer["msg"].startswith(told)
    assert (host.files, host.ran) == (before, [])


def test_the_documentation_names_every_option():
    assert sorted(yaml.safe_load(kernel_settings.DOCUMENTATION)["options"]) == sorted(kernel_settings.SPEC)
