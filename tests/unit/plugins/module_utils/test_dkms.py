# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""dkms by its tree of files, and by what the program prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import (
    TREE,
    parse_dkms_status,
    read_tree,
    weak_module_file,
)
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

VERSION = "6.16.6-2255209.24.04"
A04 = f"""\
amdgpu, 3.9-19, 5.4.0-54-generic, x86_64: installed (original_module exists)
amdgpu, 3.10-27, 5.4.0-54-generic, x86_64: built
amdgpu/{VERSION}, 6.17.0-5-generic, x86_64: installed (Original modules exist)
amdgpu/{VERSION}, 6.17.0-8-generic, x86_64: installed (Original modules exist)
amdgpu/6.12.12-2164967.24.04: added
nvidia/570.1, 6.17.0-8-generic, x86_64: installed
"""
WORDS = st.sampled_from(["amdgpu", "/", ", ", ": ", "6.1-2", "x86_64", "installed", "broken", "Error! ", " (", "\n"])
DIFFERS = "installed (WARNING! Diff between built and installed module!)"


def test_rows_of_both_forms_are_read_and_other_modules_left_out_a04():
    assert parse_dkms_status(A04).builds == [
        ("3.9-19", "5.4.0-54-generic", "x86_64", "installed", None),
        ("3.10-27", "5.4.0-54-generic", "x86_64", "built", None),
        (VERSION, "6.17.0-5-generic", "x86_64", "installed", None),
        (VERSION, "6.17.0-8-generic", "x86_64", "installed", None),
        ("6.12.12-2164967.24.04", None, None, "added", None),
    ]


def test_a_program_that_gave_up_has_not_said_that_nothing_is_there_a03():
    complaint = (
        f"Error! Could not locate dkms.conf file.\nFile: {TREE}/6.8.5-2041575.24.04/source/dkms.conf does not exist.\n"
    )
    status = parse_dkms_status(complaint)
    assert (status.builds, status.stale) == (None, ["6.8.5-2041575.24.04"])
    assert status.error == "Error! Could not locate dkms.conf file."
    assert parse_dkms_status(complaint.replace("/amdgpu/", "/../etc/")).stale == []


def test_nothing_at_all_is_no_builds():
    assert parse_dkms_status("") == ([], [], "")


@pytest.mark.parametrize(
    "line, state, built_for",
    [
        (f"amdgpu/{VERSION}, 6.8, x86_64: {DIFFERS}", "differs", None),
        (f"amdgpu/{VERSION}, 4.18.0-553, x86_64: installed-weak from 4.18.0-513", "installed", "4.18.0-513"),
        (f"amdgpu/{VERSION}, 6.8, x86_64: broken", "broken", None),
    ],
)
def test_states_besides_the_usual(line, state, built_for):
    (row,) = parse_dkms_status(line).builds
    assert (row.state, row.built_for) == (state, built_for)


def test_dkms_3_calls_a_version_without_source_broken():
    rows = f"amdgpu/6.8.5-2041575.24.04: broken\namdgpu/{VERSION}: added\n"
    status = parse_dkms_status(f"{rows}Error! amdgpu/6.8.5: Missing the module source directory\n")
    assert ([row.version for row in status.builds], status.stale) == ([VERSION], ["6.8.5-2041575.24.04"])


def test_a_build_of_which_only_other_modules_are_left_is_broken():
    files = {f"{TREE}/{VERSION}/source/dkms.conf": "", f"{TREE}/{VERSION}/6.8/x86_64/module/amdttm.ko": ""}
    assert [row.state for row in read_tree(RecordedHost({"files": files})).builds] == ["broken"]


def test_a_weak_link_to_a_module_that_is_gone_does_not_count():
    files = {
        f"{TREE}/{VERSION}/source/dkms.conf": "",
        f"{TREE}/{VERSION}/4.18-1/x86_64/module/amdgpu.ko": "",
        "/lib/modules/4.18-1/extra/amdgpu.ko": "",
    }
    links = {f"{TREE}/kernel-4.18-1-x86_64": f"{VERSION}/4.18-1/x86_64"}
    for kernel, origin in (("4.18-2", "4.18-1"), ("4.18-3", "4.18-0")):
        links[f"/lib/modules/{kernel}/weak-updates/amdgpu.ko"] = f"/lib/modules/{origin}/extra/amdgpu.ko"
    tree = read_tree(RecordedHost({"files": files, "links": links}))
    assert [(row.kernel, row.built_for) for row in tree.builds] == [("4.18-1", None), ("4.18-2", "4.18-1")]
    assert (tree.installed(VERSION, "4.18-2"), tree.installed(VERSION, "4.18-3")) == (True, False)


@pytest.mark.parametrize(
    "listed, used",
    [
        ("weak-updates/amdgpu.ko: x.ko\n", True),
        ("kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko:\n", False),
        (None, False),
    ],
)
def test_a_weak_link_beside_the_kernels_own_module_counts_where_depmod_chose_it(listed, used):
    folder = "/lib/modules/4.18-2"
    own, weak = f"{folder}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko", f"{folder}/weak-updates/amdgpu.ko"
    files = {own: "", "/lib/modules/4.18-1/extra/amdgpu.ko": "", f"{folder}/modules.dep": listed}
    host = RecordedHost({
        "files": {path: text for path, text in files.items() if text is not None},
        "links": {weak: "/lib/modules/4.18-1/extra/amdgpu.ko"},
    })  # fmt: skip
    assert weak_module_file(host, "4.18-2") == (weak if used else None)


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=30).map("".join)))
def test_no_text_upsets_the_parser(text):
    status = parse_dkms_status(text)
    assert status.builds is None or len(status.builds) <= len(text.splitlines())
