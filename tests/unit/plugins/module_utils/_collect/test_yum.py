# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repositories, priorities and locks of dnf and zypper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import yum
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

URL = "https://repo.radeon.com/rocm/el9/6.4.1/main"
REPO = f"[rocm-6.4.1]\nname=ROCm\nbaseurl={URL}\nenabled=1\npriority=50\ngpgcheck=1\n"
ROCM, EPEL, CONF = "/etc/yum.repos.d/rocm.repo", "/etc/yum.repos.d/epel.repo", "/etc/dnf/dnf.conf"
LOCK = "/etc/dnf/plugins/versionlock.list"
ZYPP_LOCK = "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: rocm*\n"


def reading(files):
    problems = []
    return Reading(RecordedHost({"files": files}), problems, "rocm"), problems


def of(ask, files, manager="dnf"):
    """What a function of the module answers, and the reasons of the problems."""
    read, problems = reading(files)
    return ask(read, manager), [row["reason"] for row in problems]


def test_a_repository_is_one_line_with_what_limits_it():
    line = f"[rocm-6.4.1] {URL} priority=50 gpgcheck=1"
    assert of(yum.repositories, {ROCM: REPO}) == ([{"file": ROCM, "line": line}], [])


@pytest.mark.parametrize("word", ["0", "no", "False", "off"])
def test_a_repository_that_is_switched_off_is_none(word):
    assert of(yum.repositories, {ROCM: REPO.replace("enabled=1", f"enabled = {word}")}) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + REPO,
        REPO.rstrip("\n"),
        REPO.replace("=", " = "),
        REPO.replace("\n", "\r\n"),
        REPO.replace(f"baseurl={URL}", f"baseurl=\n  {URL}"),
        "[other]\nbaseurl=http://x\n" + REPO,
        REPO + "%(broken)s\n= 1\n[",
        "# [x]\n;y\nstray=1\n" + REPO,
    ],
)
def test_files_are_read_in_every_form_dnf_takes(text):
    assert [row["line"].split()[:2] for row in of(yum.repositories, {ROCM: text})[0]] == [["[rocm-6.4.1]", URL]]


def test_of_two_sections_of_one_name_the_later_option_wins():
    assert of(yum.repositories, {ROCM: REPO + "[rocm-6.4.1]\nenabled=0\n"}) == ([], [])


def test_repositories_of_others_and_files_dnf_passes_over_are_not_listed():
    files = {EPEL: "[epel]\nmetalink=https://mirrors.example/metalink?repo=epel-9\n", ROCM + ".rpmsave": REPO}
    assert of(yum.repositories, files) == ([], [])


def test_a_repository_in_the_main_file_counts():
    assert len(of(yum.repositories, {CONF: "[main]\ngpgcheck=1\n" + REPO})[0]) == 1


@pytest.mark.parametrize("ask", [yum.repositories, yum.pins, yum.locks])
def test_a_file_that_cannot_be_read_makes_the_answer_unknown(ask):
    assert of(ask, {ROCM: {"error": "EIO"}}) == (None, ["OSError: EIO"])


@pytest.mark.parametrize(
    "files, pins",
    [
        ({ROCM: REPO}, [ROCM]),
        ({ROCM: REPO.replace("priority=50", "priority=99")}, []),
        ({ROCM: REPO.replace("priority=50\n", "")}, []),
        ({ROCM: REPO.replace("priority=50", "includepkgs=rocm*,hip*")}, [ROCM]),
        ({ROCM: REPO.replace("enabled=1", "enabled=0")}, []),
        ({EPEL: "[epel]\nbaseurl=http://x/epel\nexcludepkgs=rocm* hip*\n"}, [EPEL]),
        ({EPEL: "[epel]\nbaseurl=http://x/epel\nexcludepkgs=nginx\npriority=10\n"}, []),
    ],
)
def test_what_prefers_amds_packages_is_a_pin(files, pins):
    assert of(yum.pins, files) == (pins, [])


def test_a_priority_that_is_no_number_is_told_and_no_pin():
    assert of(yum.pins, {ROCM: REPO.replace("50", "high")}) == ([], ["not understood: 'high'"])


@pytest.mark.parametrize(
    "path, text, names",
    [
        (LOCK, "# comment\nrocm-core-0:6.4.1.60401-83.el9.*\n", ["rocm-core"]),
        (LOCK, "amdgpu-dkms-1:6.10.5.60301-2095006.el9.*\nrocm*\n", ["amdgpu-dkms", "rocm*"]),
        (LOCK, "!rocm-core-0:7.0.2.70002-56.el9.*\n", []),
        ("/etc/yum/pluginconf.d/versionlock.list", "0:rocm-core-6.4.1.60401-83.el9.*\n", ["rocm-core"]),
        (LOCK, "hip-runtime-amd-0:6.4.43483.60401-83.el9.x86_64\nrocm-llvm-19.0*\n", ["hip-runtime-amd", "rocm-llvm"]),
        ("/etc/dnf/versionlock.toml", 'version = "1.0"\n[[packages]]\nname = "rocm-core"\n', ["rocm-core"]),
        (CONF, "[main]\nexclude=rocm* amdgpu-dkms\n", ["rocm*", "amdgpu-dkms"]),
        (ROCM, REPO + "excludepkgs=rocm-llvm.x86_64\n", ["rocm-llvm"]),
    ],
)
def test_locks_are_told_by_name(path, text, names):
    assert of(yum.locks, {path: text}) == (names, [])


DNF5 = """version = "1.0"
[[packages]]
name = "rocm-core"
[[packages.conditions]]
key = "evr"
comparator = "{}"
value = "6.4.1.60401-83.el9"
"""


@pytest.mark.parametrize(
    "path, text, names",
    [
        (LOCK, "rocm-core-0:6.4.1.60401-83.el9.*\n!rocm-core-0:6.4.2*\n", ["rocm-core"]),
        ("/etc/dnf/versionlock.toml", DNF5.format("="), ["rocm-core"]),
        (LOCK, "!rocm-core-0:6.4.2*\n", []),
        ("/etc/dnf/versionlock.toml", DNF5.format("!="), []),
    ],
)
def test_the_locks_of_dnf4_and_dnf5_are_told_alike_and_one_kept_out_version_is_no_lock_f13(path, text, names):
    assert of(yum.locks, {path: text}) == (names, [])


def test_locks_of_a_plugin_that_is_switched_off_hold_nothing():
    files = {LOCK: "rocm-core-0:6.4.1.60401-83.el9.*\n", LOCK.replace(".list", ".conf"): "[main]\nenabled = 0\n"}
    assert of(yum.locks, files) == ([], [])


@pytest.mark.parametrize(
    "text, names", [(ZYPP_LOCK, ["rocm*"]), (ZYPP_LOCK.replace("package", "pattern"), []), ("", []), ("junk", [])]
)
def test_locks_of_zypper_are_those_on_packages(text, names):
    assert of(yum.locks, {"/etc/zypp/locks": text}, "zypper") == (names, [])


def test_zypper_has_its_own_folder_of_repositories():
    path = "/etc/zypp/repos.d/amdgpu.repo"
    text = "[amdgpu]\nenabled=1\nbaseurl=https://repo.radeon.com/amdgpu/6.4.1/sle/15.6/main/x86_64\npriority=98\n"
    assert of(yum.pins, {path: text, ROCM: REPO}, "zypper") == ([path], [])


def test_a_lock_on_what_is_not_installed_stands_as_written():
    assert yum.held_names(["rocm-core", "rccl"], ["rocm-*", "amdgpu*", "nginx"]) == ["amdgpu*", "rocm-core"]


@given(st.text(max_size=80), st.sampled_from([ROCM, CONF, LOCK, "/etc/dnf/versionlock.toml", "/etc/zypp/locks"]))
def test_no_file_upsets_the_reader_or_makes_it_invent_a_name(text, path):
    for manager in ("dnf", "zypper"):
        locked, _reasons = of(yum.locks, {path: text}, manager)
        assert all(name in text or " " in name for name in locked or [])
        assert isinstance(yum.is_locked("rocm-core", locked or []), bool)
        assert of(yum.repositories, {path: text}, manager)[0] is not None
