# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages out of dpkg's and apt's own files."""

from __future__ import annotations

import contextlib
import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    Package,
    apt_index,
    dpkg_packages,
    is_amd_package,
    is_foreign,
    package_manager,
)
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

LIST = "/var/lib/apt/lists/mirror.example_rocm_apt_7.0.2_dists_jammy_main_binary-amd64_Packages"
OFFERED = (
    "Package: rocm-core\nArchitecture: amd64\nVersion: 7.0.2.70002-56~22.04\n\nPackage: rocm-core\nVersion: 7.0.1\n"
)


def stanza(name, version, status):
    return f"Package: {name}\nStatus: {status}\nDescription: x\n Version: 9\nVersion: {version}\n"


def dpkg(*stanzas):
    return RecordedHost({"files": {"/var/lib/dpkg/status": "\n".join(stanzas)}})


@pytest.mark.parametrize(
    "words, state",
    [
        ("install ok half-configured", "half-configured"),
        ("install ok unpacked", "unpacked"),
        ("install reinstreq half-installed", "half-installed"),
        ("deinstall ok config-files", "config-files"),
        ("unknown ok not-installed", "not-installed"),
        ("install ok triggers-pending", "installed"),
    ],
)
def test_only_installed_is_installed_a18(words, state):
    assert dpkg_packages(dpkg(stanza("rocm-core", "1.0", words)))["rocm-core"].state == state


def test_a_hold_is_the_selection_not_the_state():
    found = dpkg_packages(dpkg(stanza("rocm", "1.0", "hold ok installed"), stanza("rccl", "1", "install ok installed")))
    assert found == {
        "rocm": Package("rocm", "1.0", "installed", True),
        "rccl": Package("rccl", "1", "installed", False),
    }


def test_the_caller_chooses_the_packages():
    host = dpkg(stanza("bash", "5.2", "install ok installed"), stanza("rocm", "1.0", "install ok installed"))
    assert list(dpkg_packages(host, lambda name, version: name == "bash")) == ["bash"]


def test_a_state_dpkg_does_not_have_is_an_error_that_says_what_to_do():
    with pytest.raises(ParseError, match="dpkg --audit"):
        dpkg_packages(dpkg(stanza("rocm", "1.0", "install ok sideways")))


def test_a_database_that_is_not_there_is_no_empty_one():
    with pytest.raises(Unreadable):
        dpkg_packages(RecordedHost({}))


@pytest.mark.parametrize("text", ["", "\n\n", "Status: install ok installed\n"])
def test_a_database_that_names_no_package_is_no_node_without_rocm_f19(text):
    with pytest.raises(ParseError, match="it names no package at all"):
        dpkg_packages(dpkg(text))


@given(st.text(max_size=300))
def test_no_database_upsets_the_reader(text):
    with contextlib.suppress(FleetError):
        dpkg_packages(dpkg(text), lambda name, version: True)


@pytest.mark.parametrize(
    "name, version",
    [("rocm-core", ""), ("hip-runtime-amd", ""), ("amdgpu-dkms", ""), ("amdrocm10.0-gfx942", ""), ("comgr", ""),
     ("half", "1.12.0.60303-74~24.04"), ("rccl", ""), ("libdrm2-amdgpu", "1:2.4.120.60404-129~22.04")],
)  # fmt: skip
def test_packages_of_amd_are_known_by_name_or_version(name, version):
    assert is_amd_package(name, version)


@pytest.mark.parametrize(
    "name, version",
    [
        ("procmail", "3.22"),
        ("libdrm-amdgpu1", "2.4.114-1+b1"),
        ("firmware-amd-graphics", "20230210-5"),
        ("microcode", "1.25012-1"),
        ("hipercontracer", "2.0.8-1"),
    ],
)
def test_packages_of_the_distribution_are_not_amds(name, version):
    assert not is_amd_package(name, version)


def test_the_index_tells_every_version_on_offer():
    assert apt_index(RecordedHost({"files": {LIST: OFFERED}})) == {"rocm-core": {"7.0.2.70002-56~22.04", "7.0.1"}}


def test_lists_of_other_repositories_do_not_count():
    other = LIST.replace("_rocm_apt_7.0.2", "_debian")
    assert apt_index(RecordedHost({"files": {other: OFFERED}})) == {}


@pytest.mark.parametrize("suffix, pack", [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_lists_are_read(suffix, pack):
    assert "rocm-core" in apt_index(RecordedHost({"files": {LIST + suffix: pack(OFFERED.encode())}}))


@pytest.mark.parametrize("path, content", [(LIST + ".lz4", OFFERED), (LIST + ".gz", "junk"), (LIST, {"error": "EIO"})])
def test_a_list_that_cannot_be_read_makes_the_index_unknown(path, content):
    assert apt_index(RecordedHost({"files": {path: content}})) is None


def test_no_folder_of_lists_is_unknown_not_empty():
    assert apt_index(RecordedHost({})) is None


@pytest.mark.parametrize(
    "path, manager",
    [
        ("/var/lib/dpkg/status", "apt"),
        ("/etc/dnf/dnf.conf", "dnf"),
        ("/etc/zypp/zypp.conf", "zypper"),
        ("/etc/x", None),
    ],
)
def test_the_package_manager_is_told_by_its_files(path, manager):
    assert package_manager(RecordedHost({"files": {path: ""}})) == manager


@pytest.mark.parametrize(
    "files, os_release, manager",
    [
        (["/var/lib/dpkg/status", "/etc/dnf/dnf.conf"], 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf"),
        (["/var/lib/dpkg/status", "/etc/dnf/dnf.conf"], "ID=debian\n", "apt"),
        (["/etc/zypp/zypp.conf", "/etc/dnf/dnf.conf"], "ID=fedora\n", "dnf"),
        (["/etc/zypp/zypp.conf", "/etc/dnf/dnf.conf"], 'ID="sles"\nID_LIKE="suse"\n', "zypper"),
        (["/var/lib/dpkg/status", "/etc/dnf/dnf.conf"], "ID=other\n", "apt"),
    ],
)
def test_of_several_package_managers_the_operating_systems_own_is_meant(files, os_release, manager):
    host = RecordedHost({"files": {**dict.fromkeys(files, ""), "/etc/os-release": os_release}})
    assert package_manager(host) == manager


@pytest.mark.parametrize(
    "name, version, maker",
    [
        ("rocminfo", "5.7.1-3", ""),
        ("rocm-cmake", "6.0.0-1", "Ubuntu Developers <x@lists.example>"),
        ("hipcc", "5.7.1-3", "Debian ROCm Team <x@lists.example>"),
        ("rocm-smi", "6.4.1-1.fc42", "Fedora Project"),
    ],
)
def test_a_package_of_the_distribution_under_a_name_of_amds_is_foreign_a05(name, version, maker):
    assert is_foreign(Package(name, version, "installed", False, maker))


@pytest.mark.parametrize(
    "name, version, maker",
    [
        ("rocm-cmake", "0.14.0.60303-74~24.04", ""),
        ("rocm-device-libs", "1.0.0.637-rocm-rel-4.0-23-db8c0c3", ""),
        ("rocm-dev", "2.1.96-1", "Advanced Micro Devices, Inc."),
        ("rocminfo", "1.0.0-1", "ROCm Support <rocminfo.support@amd.com>"),
        ("rock-dkms", "1:4.3-59", ""),
        ("amdrocm10.0-gfx942", "10.0.1-7", ""),
        ("libamdhip64-5", "5.7.1-3", "Debian ROCm Team <x@lists.example>"),
        ("procmail", "3.22", ""),
    ],
)
def test_packages_of_amd_and_names_amd_does_not_give_are_not_foreign(name, version, maker):
    assert not is_foreign(Package(name, version, "installed", False, maker))
