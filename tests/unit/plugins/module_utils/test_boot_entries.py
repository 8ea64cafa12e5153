# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What boots next, by each boot loader, and what none of them tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import (
    grub_next_entry,
    in_every_entry,
    new_kernels_cmdline,
    next_boot_kernel,
    read_menu,
    rows,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._grub import compare_versions
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

ENTRY = "menuentry 'Debian' --class os {\n\tinsmod gzio\n\tlinux\t/boot/vmlinuz-6.1.0-40-amd64 %s\n\tinitrd x\n}\n"
OLDER = "submenu 'More' {\n\tmenuentry 'Old' {\n\t\tlinux /boot/vmlinuz-5.10.0-9-amd64 root=/dev/sda1\n\t}\n}\n"
UBUNTU = """\
if [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="DEFAULT"
fi
function gfxmode {
	set gfxpayload="${1}"
	if [ "${1}" = "keep" ]; then
		set vt_handoff=vt.handoff=7
	fi
}
menuentry 'Ubuntu' --class ubuntu --class os $menuentry_id_option 'gnulinux-simple-1b2c' {
	recordfail
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	linux	/boot/vmlinuz-6.8.0-41-generic root=UUID=1b2c ro quiet $vt_handoff
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-1b2c' {
	menuentry 'Ubuntu, with Linux 6.8.0-41-generic' --class os $menuentry_id_option 'gnulinux-6.8.0-41-advanced-1b2c' {
		linux	/boot/vmlinuz-6.8.0-41-generic root=UUID=1b2c ro quiet $vt_handoff
	}
	menuentry 'Ubuntu, with Linux 6.8.0-41-generic (recovery mode)' $menuentry_id_option 'gnulinux-recovery-1b2c' {
		linux	/boot/vmlinuz-6.8.0-41-generic root=UUID=1b2c ro recovery nomodeset
	}
	menuentry 'Ubuntu, with Linux 6.8.0-31-generic' --class os $menuentry_id_option 'gnulinux-6.8.0-31-advanced-1b2c' {
		linux	/boot/vmlinuz-6.8.0-31-generic root=UUID=1b2c ro
	}
}
if [ "$grub_platform" = "efi" ]; then
	menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
		fwsetup
	}
fi
"""
RHEL = """\
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="${saved_entry}"
fi
if [ -z "${kernelopts}" ]; then
  set kernelopts="root=/dev/mapper/rhel-root ro fallback "
fi
set tuned_params="skew_tick=1"
insmod blscfg
blscfg
if [ "$grub_platform" = "efi" ]; then
	menuentry 'UEFI Firmware Settings' {
		fwsetup
	}
fi
"""
SYSTEMD_BOOT = "/sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
WORDS = st.sampled_from(
    [
        "menuentry 'a' {",
        "submenu 'b' {",
        "}",
        "linux /vmlinuz-6.1 ro",
        "set default=1",
        "blscfg",
        "if [ x ]; then",
        "fi",
    ]
)


def grub(text, **more):
    return RecordedHost({"files": {"/boot/grub/grub.cfg": text, **more}})


def ubuntu(default="0", environment=""):
    grubenv = {"/boot/grub/grubenv": f"# GRUB Environment Block\n{environment}\n####"}
    return read_menu(grub(UBUNTU.replace("DEFAULT", default), **grubenv))


def entry(kernel, options="root=/dev/mapper/rhel-root ro", **more):
    fields = {"title": f"Red Hat Enterprise Linux ({kernel})", "version": kernel, "linux": f"/vmlinuz-{kernel}"}
    return "".join(f"{key} {value}\n" for key, value in {**fields, "options": options, **more}.items())


def rhel(entries, environment="", **more):
    files = {f"/boot/loader/entries/ab12-{kernel}.conf": text for kernel, text in entries.items()}
    grubenv = {"/boot/grub2/grubenv": f"# GRUB Environment Block\n{environment}\n"}
    return read_menu(RecordedHost({"files": {"/boot/grub2/grub.cfg": RHEL, **files, **grubenv, **more}}))


def systemd_boot(files, **variables):
    held = {SYSTEMD_BOOT % name: b"\x07\0\0\0" + f"{text}\0".encode("utf-16-le") for name, text in variables.items()}
    return read_menu(RecordedHost({"files": {**files, **held}}))


def test_the_first_entry_boots_next():
    found = grub_next_entry(grub(ENTRY % "root=/dev/sda1 ro iommu=pt $vt_handoff" + OLDER))
    assert found == ("6.1.0-40-amd64", ["root=/dev/sda1", "ro", "iommu=pt"])


def test_the_usual_preamble_of_grub_is_no_other_default():
    preamble = 'if [ "${next_entry}" ] ; then\n  set default="${next_entry}"\nelse\n  set default="0"\nfi\n'
    preamble += 'if [ x"${feature_menuentry_id}" = xy ]; then\n  menuentry_id_option="--id"\nfi\n'
    assert grub_next_entry(grub(preamble + ENTRY % "ro")).cmdline == ["ro"]


@pytest.mark.parametrize("default", ['"2"', "'Debian>Old'", "More", "1", '"${chosen_by_hand}"'])
def test_a_default_that_leads_to_no_kernel_is_not_guessed_at(default):
    host = grub(f"set default={default}\n" + ENTRY % "ro" + OLDER)
    with pytest.raises(ParseError, match=r"default is|is a submenu"):
        grub_next_entry(host)


def test_a_one_time_choice_is_not_what_a_change_may_rest_on():
    host = grub(
        "if next_entry\n" + ENTRY % "ro" + OLDER,
        **{"/boot/grub/grubenv": "# GRUB Environment Block\nnext_entry=More>Old\n####"},
    )
    with pytest.raises(ParseError, match=r"next_entry=More>Old"):
        grub_next_entry(host)
    assert (read_menu(host).next.kernel, read_menu(host).once) == ("5.10.0-9-amd64", True)
    assert next_boot_kernel(host) == "5.10.0-9-amd64"


@pytest.mark.parametrize("files", [{}, {"/boot/grub/grub.cfg": "set timeout=5\n"}], ids=["no loader", "no kernel"])
def test_a_machine_that_does_not_tell_what_boots_next_has_no_next_kernel(files):
    assert next_boot_kernel(RecordedHost({"files": files})) is None


def test_an_empty_environment_block_is_no_choice():
    host = grub(UBUNTU, **{"/boot/grub/grubenv": "# GRUB Environment Block\nnext_entry=\n####"})
    assert read_menu(host).once is False


def test_a_menu_without_a_kernel_is_refused():
    with pytest.raises(ParseError, match="starts no Linux kernel"):
        grub_next_entry(grub("set timeout=5\nmenuentry 'UEFI' {\n\tfwsetup\n}\n"))


def test_a_machine_without_a_boot_loader_says_so():
    with pytest.raises(Unreadable, match=r"grub\.cfg") as error:
        grub_next_entry(RecordedHost({}))
    assert error.value.missing


@pytest.mark.parametrize(
    "default, environment, kernel",
    [
        ("0", "", "6.8.0-41-generic"),
        ("Ubuntu", "", "6.8.0-41-generic"),
        ("gnulinux-advanced-1b2c>gnulinux-6.8.0-31-advanced-1b2c", "", "6.8.0-31-generic"),
        ("Advanced options for Ubuntu>Ubuntu, with Linux 6.8.0-31-generic", "", "6.8.0-31-generic"),
        ("1>2", "", "6.8.0-31-generic"),
        ("${saved_entry}", "saved_entry=1>2", "6.8.0-31-generic"),
        ("${saved_entry}", "saved_entry=0\nprev_saved_entry=1>2", "6.8.0-31-generic"),
        ("${saved_entry}", "", "6.8.0-41-generic"),
        ("0", "next_entry=1>2", "6.8.0-31-generic"),
    ],
)
def test_a_default_inside_a_submenu_is_found(default, environment, kernel):
    assert ubuntu(default, environment).next.kernel == kernel


@pytest.mark.parametrize(
    "default, environment, reason",
    [
        ("1>7", "", "names no entry"),
        ("gone", "", "names no entry"),
        ("1", "", "is a submenu"),
        ("2", "", "up to grub"),
        ("uefi-firmware", "", "starts no Linux kernel"),
        ("${saved_entry}", "saved_entry=1>2\nenv_block=512+1", "outside of the file"),
        ("0", "next_entry=gone", "next_entry=gone"),
    ],
)
def test_a_choice_that_cannot_be_followed_is_null_with_the_reason(default, environment, reason):
    menu = ubuntu(default, environment)
    assert menu.next is None
    assert reason in menu.reason
    assert {row["default"] for row in rows(menu)} == {None}


def test_entries_of_submenus_are_offered_as_well_and_recovery_is_told_apart():
    menu = ubuntu("1>2")
    assert menu.loader == "grub"
    assert [(row["kernel"], row["default"], row["rescue"]) for row in rows(menu)] == [
        ("6.8.0-41-generic", False, False), ("6.8.0-41-generic", False, False),
        ("6.8.0-41-generic", False, True), ("6.8.0-31-generic", True, False),
    ]  # fmt: skip
    assert rows(menu)[0]["cmdline"] == ["root=UUID=1b2c", "ro", "quiet"]


def test_what_another_file_of_grubs_overrides_is_not_in_the_next_boot_i03():
    text = ENTRY % "root=PARTUUID=x ro console=tty1 console=ttyS0"
    host = grub(text, **{"/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash pcie_aspm=off"\n'})
    assert in_every_entry(rows(read_menu(host)), "pcie_aspm=off") is False
    assert in_every_entry(rows(read_menu(host)), "console=ttyS0") is True


def test_a_loader_entry_counts_not_the_defaults_file_i01():
    kernel = "5.14.0-427.el9.x86_64"
    defaults = 'GRUB_CMDLINE_LINUX="crashkernel=1G-4G:192M iommu=pt processor.max_cstate=1"\nGRUB_ENABLE_BLSCFG=true\n'
    line = "root=/dev/mapper/rhel-root ro crashkernel=1G-4G:192M"
    menu = rhel({kernel: entry(kernel, line)}, **{"/etc/default/grub": defaults})
    assert (menu.loader, menu.next.kernel, menu.next.cmdline) == ("grub-bls", kernel, line.split())
    assert in_every_entry(rows(menu), "iommu=pt") is False


def test_an_argument_counts_only_where_every_entry_but_the_rescue_has_it_i06():
    new, old, rescue = "5.14.0-503.el9.x86_64", "5.14.0-427.el9.x86_64", "0-rescue"
    menu = rhel({
        new: entry(new, "ro iommu=pt"), old: entry(old, "ro"), rescue: entry("0-rescue-ab12cd", "ro"),
    })  # fmt: skip
    assert [(row["kernel"], row["rescue"]) for row in rows(menu)] == [
        (new, False), (old, False), ("0-rescue-ab12cd", True),
    ]  # fmt: skip
    assert in_every_entry(rows(menu), "iommu=pt") is False
    assert in_every_entry(rows(menu)[::2], "iommu=pt") is True


def test_a_kernel_installed_later_has_not_what_the_older_entries_were_given_i07():
    new, old = "5.14.0-503.el9.x86_64", "5.14.0-427.el9.x86_64"
    host_file = {"/etc/kernel/cmdline": "# of kernel-install\nroot=/dev/mapper/rhel-root ro\n"}
    menu = rhel({old: entry(old, "root=/dev/mapper/rhel-root ro iommu=pt"), new: entry(new)}, **host_file)
    assert (menu.next.kernel, in_every_entry(rows(menu), "iommu=pt")) == (new, False)
    assert new_kernels_cmdline(RecordedHost({"files": host_file})) == ["root=/dev/mapper/rhel-root", "ro"]
    assert new_kernels_cmdline(RecordedHost({})) is None


@pytest.mark.parametrize(
    "saved, kernel",
    [
        ("", "5.14.0-503.el9.x86_64"),
        ("ab12-5.14.0-70.el9.x86_64", "5.14.0-70.el9.x86_64"),
        ("1", "5.14.0-427.el9.x86_64"),
        ("Red Hat Enterprise Linux (5.14.0-427.el9.x86_64)", "5.14.0-427.el9.x86_64"),
    ],
)
def test_the_saved_entry_boots_next_and_else_the_highest_version(saved, kernel):
    kernels = ["5.14.0-70.el9.x86_64", "5.14.0-503.el9.x86_64", "5.14.0-427.el9.x86_64"]
    assert rhel({name: entry(name) for name in kernels}, f"saved_entry={saved}").next.kernel == kernel


def test_variables_that_the_environment_block_holds_are_filled_in():
    kernel = "4.18.0-553.el8.x86_64"
    text = entry(kernel, "$kernelopts $tuned_params ${unknown_to_us} quiet")
    line = ["root=/dev/sda3", "ro", "iommu=pt", "skew_tick=1", "quiet"]
    assert rhel({kernel: text}, "kernelopts=root=/dev/sda3 ro iommu=pt").next.cmdline == line
    assert "fallback" in rhel({kernel: text}).next.cmdline


def test_arguments_that_rest_on_a_variable_that_is_nowhere_are_null():
    files = {"/boot/grub2/grub.cfg": "blscfg\n", "/boot/loader/entries/a-6.1-1.conf": entry("6.1-1", "$kernelopts")}
    host = RecordedHost({"files": files})
    assert (read_menu(host).next.kernel, read_menu(host).next.cmdline) == ("6.1-1", None)
    assert in_every_entry(rows(read_menu(host)), "ro") is None
    with pytest.raises(ParseError):
        grub_next_entry(host)


def test_suse_boots_the_title_that_is_saved():
    text = (
        'set default="${saved_entry}"\n' + ENTRY.replace("Debian", "SLES 15-SP6") % "ro ${extra_cmdline} splash=silent"
    )
    files = {"/boot/grub2/grub.cfg": OLDER + text, "/boot/grub2/grubenv": "saved_entry=SLES 15-SP6\n"}
    assert grub_next_entry(RecordedHost({"files": files})).cmdline == ["ro", "splash=silent"]


@pytest.mark.parametrize(
    "block, kernel, once",
    [
        (bytes(512), "6.1.0-40-amd64", False),
        (b"# GRUB Environment Block\nnext_entry=Old\n####".ljust(512, b"#"), "5.10.0-9-amd64", True),
        (b"something else".ljust(512, b"x"), None, False),
        (b"", None, False),
    ],
)
def test_suse_keeps_a_one_time_choice_in_sectors_of_its_file_system(block, kernel, once):
    older = "menuentry 'Old' {\n linux /boot/vmlinuz-5.10.0-9-amd64 ro\n}\n"
    files = {
        "/boot/grub2/grub.cfg": 'set default="${next_entry}"\nset default="${saved_entry}"\n' + ENTRY % "ro" + older,
        "/boot/grub2/grubenv": "# GRUB Environment Block\nsaved_entry=Debian\nenv_block=512+1\n",
        "/proc/self/mounts": "/dev/sda2 / btrfs rw,subvol=/@ 0 0\n/dev/sda1 /boot/efi vfat rw 0 0\n",
        "/dev/sda2": bytes(512 * 512) + block,
    }
    menu = read_menu(RecordedHost({"files": files}))
    assert (menu.next and menu.next.kernel, menu.once) == (kernel, once)
    assert kernel or "env_block" in menu.reason


def test_entries_of_a_custom_file_come_last():
    text = f"set default=Mine\n{ENTRY % 'ro'}source ${{config_directory}}/custom.cfg\n"
    custom = "menuentry 'Mine' {\n linux /boot/vmlinuz-6.9.1 ro mine\n}\n"
    assert grub_next_entry(grub(text, **{"/boot/grub/custom.cfg": custom})).cmdline == ["ro", "mine"]


ARCH = {
    "/boot/efi/loader/entries/a.conf": entry("6.6.1", "root=/dev/vda2 rw", **{"sort-key": "os"}),
    "/boot/efi/loader/entries/b.conf": entry("6.10.2", "root=/dev/vda2 rw iommu=pt", **{"sort-key": "os"}),
    "/boot/efi/loader/entries/c+0-3.conf": entry("6.11.0", "root=/dev/vda2 rw", **{"sort-key": "os"}),
}


@pytest.mark.parametrize(
    "config, variables, kernel, once",
    [
        ("timeout 3\n", {}, "6.10.2", False),
        ("default a.conf\n", {}, "6.6.1", False),
        ("default A*\n", {}, "6.6.1", False),
        ("default gone-*\n", {}, "6.10.2", False),
        ("default @saved\n", {}, None, False),
        ("default a.conf\n", {"LoaderEntryDefault": "b.conf"}, "6.10.2", False),
        ("default a.conf\n", {"LoaderEntryOneShot": "b.conf"}, "6.10.2", True),
    ],
)
def test_systemd_boot_goes_by_its_variables_its_pattern_and_the_version(config, variables, kernel, once):
    menu = systemd_boot({**ARCH, "/boot/efi/loader/loader.conf": config}, **variables)
    assert (menu.loader, menu.next and menu.next.kernel, menu.once) == ("systemd-boot", kernel, once)
    assert bool(menu.reason) == (once or kernel is None)


def test_unified_images_beside_the_entries_leave_the_next_boot_open():
    menu = systemd_boot({**ARCH, "/boot/efi/EFI/Linux/os-6.12.efi": ""})
    assert menu.next is None
    assert "os-6.12.efi" in menu.reason


@pytest.mark.parametrize("info, loader", [("systemd-boot 255.4", "systemd-boot"), ("GRUB 2.12", "grub")])
def test_of_two_loaders_the_one_that_started_the_machine_counts(info, loader):
    assert systemd_boot({**ARCH, "/boot/grub/grub.cfg": ENTRY % "ro"}, LoaderInfo=info).loader == loader


@pytest.mark.parametrize(
    "left, right, order",
    [("5.14.0", "5.9.0", 1), ("1.0~rc1", "1.0", -1), ("1.0", "1.0", 0), ("1.0.1", "1.0", 1), ("1.a", "1.1", -1)],
)
def test_versions_are_ordered_as_rpm_orders_them(left, right, order):
    assert compare_versions(left, right) == order == -compare_versions(right, left)


@given(st.one_of(st.binary(max_size=300), st.lists(WORDS, max_size=30).map(lambda words: "\n".join(words).encode())))
def test_no_bytes_upset_the_reader_of_any_boot_loader(content):
    for paths in (
        ("/boot/grub/grub.cfg", "/boot/grub/grubenv"),
        ("/boot/grub2/grub.cfg", "/boot/loader/entries/a.conf", "/boot/grub2/grubenv"),
        ("/efi/loader/loader.conf", "/efi/loader/entries/b+1.conf", SYSTEMD_BOOT % "LoaderEntryDefault"),
    ):
        try:
            rows(read_menu(RecordedHost({"files": dict.fromkeys(paths, content)})))
        except FleetError:
            pass
