# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines: the running one and the one of the next boot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import (
    grub_next_cmdline,
    grub_next_entry,
    key_of,
    missing,
    tokens,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

ENTRY = "menuentry 'Debian' --class os {\n\tinsmod gzio\n\tlinux\t/boot/vmlinuz-6.1.0-40-amd64 %s\n\tinitrd x\n}\n"
OLDER = "submenu 'More' {\n\tmenuentry 'Old' {\n\t\tlinux /boot/vmlinuz-5.10.0-9-amd64 root=/dev/sda1\n\t}\n}\n"
WORD = st.from_regex(r"[a-z][a-z0-9_.]{0,8}(=[a-z0-9,]{1,8})?", fullmatch=True)


def grub(text, **more):
    return RecordedHost({"files": {"/boot/grub/grub.cfg": text, **more}})


def test_blanks_inside_quotes_do_not_split():
    assert tokens('ro dyndbg="file a.c +p" quiet\n') == ["ro", 'dyndbg="file a.c +p"', "quiet"]


@given(st.lists(WORD, max_size=8))
def test_a_command_line_survives_the_round_trip(words):
    assert tokens(" ".join(words)) == words
    assert missing(sorted(set(words)), sorted(set(words))) == [] or len({key_of(word) for word in words}) < len(
        set(words)
    )


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_upsets_the_command_line(wanted, present):
    assert set(missing(tokens(wanted), tokens(present))) <= set(tokens(wanted))


def test_dash_and_underscore_are_the_same_in_a_name():
    assert key_of("transparent-hugepage=always") == key_of("transparent_hugepage=never")


@pytest.mark.parametrize("present", ["pci=realloc=off,bfsort iommu=pt", "pci=bfsort iommu=pt pci=realloc=off"])
def test_lists_of_pci_options_add_up(present):
    assert missing(["pci=realloc=off", "pci=bfsort", "iommu=pt"], tokens(present)) == []


@pytest.mark.parametrize(
    "present", ["pcie_aspm=off pcie_aspm=force", "pci=realloc=off pci=realloc=on pcie_aspm=off", "quiet", ""]
)
def test_an_argument_that_a_later_one_undoes_is_missing(present):
    assert missing(["pcie_aspm=off", "pci=realloc=off"], tokens(present)) != []


def test_a_name_that_only_begins_the_same_does_not_count():
    assert missing(["iommu=pt"], tokens("amd_iommu=pt iommu=ptx xiommu=pt")) == ["iommu=pt"]


def test_the_first_entry_boots_next():
    entry = grub_next_entry(grub(ENTRY % "root=/dev/sda1 ro iommu=pt $vt_handoff" + OLDER))
    assert entry == ("6.1.0-40-amd64", ["root=/dev/sda1", "ro", "iommu=pt"])


def test_the_usual_preamble_of_grub_is_no_other_default():
    preamble = 'if [ "${next_entry}" ] ; then\n  set default="${next_entry}"\nelse\n  set default="0"\nfi\n'
    preamble += 'if [ x"${feature_menuentry_id}" = xy ]; then\n  menuentry_id_option="--id"\nfi\n'
    assert grub_next_cmdline(grub(preamble + ENTRY % "ro")) == ["ro"]


@pytest.mark.parametrize("default", ['"2"', '"${saved_entry}"', "'Debian>Old'"])
def test_another_default_is_not_guessed_at(default):
    host = grub(f"set default={default}\n" + ENTRY % "ro" + OLDER)
    with pytest.raises(ParseError, match="default is"):
        grub_next_entry(host)
    assert grub_next_cmdline(host) is None


def test_a_one_time_choice_is_not_guessed_at():
    host = grub(ENTRY % "ro", **{"/boot/grub/grubenv": "# GRUB Environment Block\nnext_entry=Old\n####"})
    with pytest.raises(ParseError, match="next_entry=Old"):
        grub_next_entry(host)


def test_an_empty_environment_block_is_no_choice():
    host = grub(ENTRY % "ro", **{"/boot/grub/grubenv": "# GRUB Environment Block\nnext_entry=\n####"})
    assert grub_next_cmdline(host) == ["ro"]


def test_a_menu_without_a_kernel_is_refused():
    with pytest.raises(ParseError, match="no first entry"):
        grub_next_entry(grub("set timeout=5\nmenuentry 'UEFI' {\n\tfwsetup\n}\n"))


def test_a_machine_without_grub_says_so():
    with pytest.raises(Unreadable, match=r"grub\.cfg"):
        grub_next_entry(RecordedHost({}))


@given(st.text(max_size=200))
def test_no_grub_cfg_upsets_the_reader(text):
    assert grub_next_cmdline(grub(text)) is None or "menuentry" in text
