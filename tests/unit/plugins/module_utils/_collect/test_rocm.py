# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ROCm on a node: folders, versions, packages and sources of three package managers."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import registry
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.rocm import release_in
from ansible_collections.fleetops.instinct.plugins.module_utils._rpm import QUERY
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import release_of_rocm_package
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

AMD = "Advanced Micro Devices, Inc."
ROCKY = {"/etc/dnf/dnf.conf": "[main]\n", "/etc/os-release": 'ID="rocky"\nID_LIKE="rhel fedora"\nVERSION_ID="9.4"\n'}
REPO = "[rocm]\nbaseurl=https://repo.radeon.com/rocm/el8/6.4.1/main\nenabled=1\npriority=50\n"
LEFT = f"rocm-smi-lib\t0:7.5.0.60401-83.el9\tx86_64\t{AMD}\n"


def gather(files, links=None, rpm=None, subsets=("rocm",)):
    commands = {} if rpm is None else {" ".join(QUERY): [0, rpm, ""]}
    return registry.gather(RecordedHost({"files": files, "links": links or {}, "commands": commands}), list(subsets))


def dpkg(*rows):
    """dpkg's database of (name, version, maintainer)."""
    form = "Package: {}\nStatus: install ok installed\nMaintainer: {}\nVersion: {}\n"
    return {"/var/lib/dpkg/status": "\n".join(form.format(name, maker, version) for name, version, maker in rows)}


def reasons(facts, subject):
    return [row["reason"] for row in facts["problems"] if row["subject"] == subject]


@pytest.mark.parametrize(
    "text, release",
    [("6.2.4-139\n", "6.2.4"), ("6.4.0-47", "6.4.0"), ("6.4-47", "6.4.0"), ("6.4", "6.4.0"), ("10.0.1\n", "10.0.1"),
     ("1.9.211", "1.9.211"), ("7.14.0-2~22.04", "7.14.0")],
)  # fmt: skip
def test_a_version_file_names_a_release_of_three_numbers(text, release):
    assert release_in(text) == release


@pytest.mark.parametrize("text", ["", "\n", "rocm", "-47", "6..4", "v6.4", "6.4.x"])
def test_a_version_file_without_a_release_gives_none(text):
    assert release_in(text) is None


@given(st.text(max_size=40))
def test_no_version_file_makes_a_number_that_is_not_in_it(text):
    release = release_in(text)
    assert release is None or release.removesuffix(".0") in text


def test_releases_stand_side_by_side_and_the_link_tells_the_active_one():
    files = {f"/opt/rocm-{release}/.info/version": f"{release}-1" for release in ("6.4.4", "7.0.2", "5.7.1")}
    links = {"/opt/rocm": "/etc/alternatives/rocm", "/etc/alternatives/rocm": "/opt/rocm-6.4.4"}
    rocm = gather(files, links)["rocm"]
    assert (rocm["active"], rocm["active_path"]) == ("6.4.4", "/opt/rocm-6.4.4")
    assert (rocm["installed"], rocm["layout"]) == (["5.7.1", "6.4.4", "7.0.2"], "legacy")


def test_both_layouts_together_are_mixed():
    files = {"/opt/rocm/core-7.14/.info/version": "7.14.0\n", "/opt/rocm-7.2.4/.info/version": "7.2.4-93\n"}
    rocm = gather(files, {"/opt/rocm/bin": "/opt/rocm/core-7.14/bin"})["rocm"]
    assert (rocm["layout"], rocm["installed"], rocm["active"]) == ("mixed", ["7.2.4", "7.14.0"], "7.14.0")


@pytest.mark.parametrize("links", [{}, {"/opt/rocm": "/srv/rocm"}])
def test_a_release_in_a_folder_of_another_name_counts(links):
    place = links.get("/opt/rocm", "/opt/rocm")
    rocm = gather({f"{place}/.info/version": "3.3.0-19\n", "/opt/x/y": ""}, links)["rocm"]
    assert (rocm["active_path"], rocm["installed"], rocm["layout"]) == (place, ["3.3.0"], "legacy")


def test_a_version_that_is_not_understood_is_no_leftover_and_no_release():
    facts = gather({"/opt/rocm-6.4.1/.info/version": "six\n"})
    assert (facts["rocm"]["installed"], facts["rocm"]["leftovers"]) == ([], [])
    assert reasons(facts, "/opt/rocm-6.4.1/.info/version") == ["not understood: 'six'"]


def test_what_an_uninstall_left_behind_is_listed_a10():
    rocm = gather({**ROCKY, "/opt/rocm-6.4.1/lib/librocm_smi64.so.7": ""}, rpm=LEFT)["rocm"]
    assert rocm["packages"] == {"rocm-smi-lib": {"version": "7.5.0.60401-83.el9", "state": "installed", "hold": False}}
    assert release_of_rocm_package(rocm["packages"]["rocm-smi-lib"]["version"]) == "6.4.1"
    assert (rocm["leftovers"], rocm["installed"]) == (["/opt/rocm-6.4.1"], [])


def test_nothing_is_read_of_an_installer_script_a13():
    host = RecordedHost({"files": {"/opt/rocm-5.4.3/.info/version": "5.4.3-121", **dpkg()}})
    assert registry.gather(host, ["driver", "rocm"])["rocm"]["installed"] == ["5.4.3"]
    assert host.ran == []


def test_packages_and_states_come_from_the_database_not_from_words_a16():
    files = dpkg(("rocm-core", "5.1.3.50103-66", "ROCm <x@amd.com>"))
    files["/var/lib/dpkg/status"] += "Description: základní balík\n ディレクトリ\n"
    assert gather(files)["rocm"]["packages"]["rocm-core"]["state"] == "installed"


def test_rpm_is_asked_once_for_all_subsets_and_nothing_else_is_started():
    host = RecordedHost({"files": dict(ROCKY), "commands": {" ".join(QUERY): [0, LEFT, ""]}})
    registry.gather(host, ["driver", "rocm"])
    assert host.ran == [QUERY]


def test_a_node_of_dnf_tells_manager_repositories_pins_and_locks():
    files = {**ROCKY, "/etc/yum.repos.d/rocm.repo": REPO, "/etc/dnf/plugins/versionlock.list": "rocm-smi-lib-0:7.5*\n"}
    rocm = gather(files, rpm=LEFT)["rocm"]
    assert (rocm["manager"], rocm["holds"]) == ("dnf", ["rocm-smi-lib"])
    assert rocm["packages"]["rocm-smi-lib"]["hold"] is True
    assert rocm["pins"] == ["/etc/yum.repos.d/rocm.repo"]
    assert rocm["repositories"][0]["mismatch"] == "8, the node runs 9"


def test_a_file_of_locks_that_cannot_be_read_leaves_holds_unknown():
    facts = gather({**ROCKY, "/etc/dnf/plugins/versionlock.list": {"error": "EIO"}}, rpm=LEFT)
    assert facts["rocm"]["packages"]["rocm-smi-lib"]["hold"] is None
    assert facts["rocm"]["holds"] is None
    assert reasons(facts, "/etc/dnf/plugins/versionlock.list") == ["OSError: EIO"]


URL = "https://repo.radeon.com/rocm/el8/6.4.1/main"
LISTED = """<package type="rpm">
  <name>rocm-smi-lib</name>
  <arch>x86_64</arch>
  <version epoch="0" ver="{}" rel="83.el9"/>
</package>"""


def cache(version, address=URL, suffix=""):
    """The lists of the repository as dnf keeps them."""
    folder = f"/var/cache/dnf/rocm-{hashlib.sha256(address.encode()).hexdigest()[:16]}"
    index = f'<data type="primary"><location href="repodata/1-primary.xml{suffix}"/></data>'
    return {f"{folder}/repodata/repomd.xml": index, f"{folder}/repodata/1-primary.xml{suffix}": LISTED.format(version)}


def obtainable(lists):
    facts = gather({**ROCKY, "/etc/yum.repos.d/rocm.repo": REPO, **lists}, rpm=LEFT)
    return facts["rocm"]["obtainable"]["rocm-smi-lib"], reasons(facts, "lists of [rocm]")


@pytest.mark.parametrize("version, answer", [("7.5.0.60401", True), ("7.8.0.70002", False)])
def test_the_lists_of_dnf_tell_whether_a_version_is_still_offered(version, answer):
    assert obtainable(cache(version)) == (answer, [])


def test_lists_of_an_earlier_address_are_not_taken_for_this_ones():
    answer, told = obtainable(cache("7.5.0.60401", URL.replace("6.4.1", "6.4.0")))
    assert (answer, len(told)) == (None, 1)


def test_lists_packed_in_a_way_python_cannot_read_leave_the_answer_unknown():
    answer, told = obtainable(cache("7.5.0.60401", suffix=".zst"))
    assert (answer, "packed in a way" in told[0]) == (None, True)


def test_a_node_without_a_repository_of_amds_is_offered_nothing():
    assert gather(ROCKY, rpm=LEFT)["rocm"]["obtainable"] == {"rocm-smi-lib": False}


def test_no_answer_of_rpm_is_null_with_a_reason_never_an_empty_list():
    facts = gather(ROCKY)
    parts = [facts["rocm"][key] for key in ("packages", "holds", "shadowing", "obtainable")]
    assert parts == [None] * 4
    assert reasons(facts, "rpm") == ["cannot be started: No such file or directory"]


def test_an_unknown_package_manager_is_null_with_a_reason():
    facts = gather({"/etc/hostname": "g01"})
    assert [facts["rocm"][key] for key in ("manager", "packages", "repositories", "pins")] == [None] * 4
    assert reasons(facts, "packages") == ["neither dpkg, dnf nor zypper is on the node"]


def test_a_package_in_two_versions_is_told():
    facts = gather(ROCKY, rpm=LEFT + LEFT.replace("7.5.0.60401-83", "7.8.0.70002-56"))
    assert facts["rocm"]["packages"]["rocm-smi-lib"]["state"] == "half-installed"
    assert reasons(facts, "rocm-smi-lib") == ["installed in two versions: a transaction broke off"]


def test_the_distributions_own_rocm_packages_are_told_a05():
    rows = [("rocm-cmake", "6.0.0-1", "Ubuntu Developers"), ("rocm-core", "7.2.4.70204-93~24.04", "x@amd.com")]
    rocm = gather(dpkg(*rows, ("hipcc", "5.7.1-3", "")))["rocm"]
    assert rocm["shadowing"] == [
        {"name": "hipcc", "version": "5.7.1-3", "why": "not AMD's, but of the distribution"},
        {"name": "rocm-cmake", "version": "6.0.0-1", "why": "not AMD's, but of Ubuntu Developers"},
    ]
    assert rocm["pins"] == []


def test_a_package_of_which_only_configuration_is_left_shadows_nothing():
    files = dpkg(("rocm-cmake", "6.0.0-1", "Ubuntu Developers"))
    files["/var/lib/dpkg/status"] = files["/var/lib/dpkg/status"].replace(
        "install ok installed", "deinstall ok config-files"
    )
    assert gather(files)["rocm"]["shadowing"] == []


@given(st.text(max_size=60))
def test_no_file_of_the_node_upsets_the_collector(text):
    names = ["/opt/rocm-6.4/.info/version", "/etc/os-release", "/etc/yum.repos.d/a.repo", "/etc/zypp/locks",
             "/etc/apt/sources.list", "/etc/apt/preferences", "/etc/dnf/plugins/versionlock.list"]  # fmt: skip
    for marker in ("/var/lib/dpkg/status", "/etc/dnf/dnf.conf", "/etc/zypp/zypp.conf"):
        facts = gather({**dict.fromkeys(names, text), marker: text}, rpm=text, subsets=("driver", "rocm"))
        assert facts["rocm"] is not None
        assert facts["rocm"]["active"] is None
