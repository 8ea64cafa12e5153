# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recorded output of a package manager: what the facts tell of the node that it came from."""

from __future__ import annotations

import re

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._apt import classify
from ansible_collections.fleetops.instinct.plugins.module_utils._collect import registry
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package, is_foreign
from ansible_collections.fleetops.instinct.plugins.module_utils._rpm import QUERY
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    compare_debian,
    compare_rpm,
    module_of_driver_package,
    release_of_driver_package,
    release_of_rocm_package,
)
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import names, text
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

KIND = "packages"
# Builds of the driver, its module, and what boots: test_dkms.py has them.
OF_THE_DRIVER = ("dkms-", "modinfo-", "lsmod-", "proc-cmdline-")
NOT_READ = {
    "apt-amdgpu-InRelease-noble-latest.txt": "the Release file of a repository; a release is told from packages",
    "apt-policy-rocm-6.2.2-jammy.txt": "apt-cache is not started; that a pin works is told from its file",
    "rpm-dkms-hard-version-dep.md": "a report in words; what a package depends on is left to dnf",
}
JAMMY = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\nUBUNTU_CODENAME=jammy\n"
# What apt failed of, by the words it printed.
FAILURES = {
    "apt-404-removed-release-3.9.1.txt": "repository_unreachable",
    "apt-update-404-6.4.0.txt": "repository_unreachable",
    "apt-rocm-dkms-gone-4.5.txt": "unmet_dependencies",
    "apt-unmet-deps-device-libs.txt": "unmet_dependencies",
    # No verdict rests on words in another language.
    "apt-install-5.1.3-localised-cs.txt": "unknown",
}
_DPKG = re.compile(r"^([ihur])([inFUc])  +(\S+) +(\S+)", re.MULTILINE)
_SELECTIONS = {"i": "install", "h": "hold", "u": "unknown", "r": "deinstall"}
_STATES = {"i": "installed", "n": "not-installed", "F": "half-configured", "U": "unpacked", "c": "config-files"}
_NEVRA = re.compile(r"^(\S+)-([^-\s]+-[^-\s]+)\.(x86_64|noarch)$", re.MULTILINE)
_AMD = "Advanced Micro Devices, Inc."


def read(name):
    return text(f"{KIND}/{name}")


def dpkg_node(listing, **files):
    """The facts of a node whose dpkg lists these packages."""
    form = "Package: {2}\nStatus: {0} ok {1}\nVersion: {3}\n"
    rows = [(_SELECTIONS[want], _STATES[state], name, version) for want, state, name, version in _DPKG.findall(listing)]
    machine = {"/var/lib/dpkg/status": "\n".join(form.format(*row) for row in rows), **files}
    return registry.gather(RecordedHost({"files": machine}), ["driver", "rocm"])


def rpm_node(listing, **files):
    """The facts of a node whose rpm lists these packages, all of AMD."""
    rows = [f"{name}\t0:{version}\t{arch}\t{_AMD}" for name, version, arch in _NEVRA.findall(listing)]
    commands = {" ".join(QUERY): [0, "\n".join(rows), ""]}
    machine = {"files": {"/etc/dnf/dnf.conf": "[main]\n", **files}, "commands": commands}
    return registry.gather(RecordedHost(machine), ["driver", "rocm"])


def pins_of(name):
    files = {"/etc/apt/preferences.d/rocm-pin-600": read(name)}
    facts = dpkg_node("", **files)
    return facts["rocm"]["pins"], [row["reason"] for row in facts["problems"] if "rocm-pin" in row["subject"]]


def test_every_recording_is_read_here_or_named_with_the_reason():
    mine = {name.split("/", 1)[1] for name in names(KIND)}
    mine = {name for name in mine if not name.startswith(OF_THE_DRIVER)}
    assert mine - {*NOT_READ, *FAILURES, *READ} == set()


@pytest.mark.parametrize("name", FAILURES)
def test_what_apt_failed_of_is_told(name):
    assert classify(read(name)).kind == FAILURES[name]


def test_a_held_package_is_installed_and_held():
    facts = dpkg_node(read("apt-hold-downgrade-session.txt"))
    assert facts["rocm"]["holds"] == ["rocm", "rocminfo"]
    assert {row["state"] for row in facts["rocm"]["packages"].values()} == {"installed"}
    assert facts["driver"]["packages"]["amdgpu-dkms"]["hold"] is True
    assert facts["driver"]["installed"]["release"] == "30.20.0"


def test_a_repository_for_another_release_of_ubuntu_is_flagged():
    hits = re.findall(r"^Hit:\d+ (\S+) (\S+) InRelease", read("apt-hit-lines-multi-rocm.txt"), re.MULTILINE)
    sources = "".join(f"deb {address} {suite} main\n" for address, suite in hits)
    facts = dpkg_node("", **{"/etc/apt/sources.list": sources, "/etc/os-release": JAMMY})
    assert [row["mismatch"] for row in facts["rocm"]["repositories"]] == ["focal, the node runs jammy"] * 2


def test_a_good_pin_is_one_and_the_broken_one_is_told():
    assert pins_of("apt-pin-rocm-good.pref") == (["/etc/apt/preferences.d/rocm-pin-600"], [])
    pins, reasons = pins_of("apt-pin-rocm-BROKEN-literal-backslash-n.pref")
    assert (pins, len(reasons)) == ([], 1)


def test_the_candidate_of_apt_without_a_pin_is_known_for_the_distributions_own():
    table = re.findall(r"^     (\S+) 500$", read("apt-policy-four-pin-states.txt"), re.MULTILINE)
    assert table[:2] == ["5.7.1-3", "1.0.0.70101-38~24.04"]
    assert compare_debian(*table[:2]) == 1
    assert [is_foreign(Package("rocminfo", version, "installed", False)) for version in table[:2]] == [True, False]


def test_a_package_of_the_distribution_that_blocks_amds_is_newer_by_its_number():
    found = re.search(r"rocm-device-libs \(= (\S+)\) but (\S+) is", read("apt-unmet-deps-device-libs.txt"))
    assert (release_of_rocm_package(found[1]), release_of_rocm_package(found[2])) == ("5.6.0", None)
    assert compare_debian(found[2], found[1]) == 1


def test_a_release_is_the_code_in_the_version_not_the_module():
    known = dict(re.findall(r"^(amdgpu-\S+): (\S+)$", read("driver-release-vs-module-version.txt"), re.MULTILINE))
    assert release_of_driver_package(known["amdgpu-dkms"]) == "31.20.0"
    assert module_of_driver_package(known["amdgpu-dkms"]) == ("6.19.0", "2307534.24.04")
    assert release_of_driver_package(known["amdgpu-dkms-firmware"]) == "31.20.0"


def test_a_version_is_the_same_in_every_language_a16():
    version = re.search(r"amdgpu-dkms \((\S+)\)", read("apt-install-5.1.3-localised-cs.txt"))[1]
    assert (release_of_driver_package(version), module_of_driver_package(version)[0]) == ("5.1.3", "5.13.20.22.10")


def test_the_version_of_dnf_holds_epoch_module_release_and_build():
    rows = re.findall(r"^ (amdgpu-dkms\S*) +noarch +(\S+)", read("dnf-install-amdgpu-dkms-el9.txt"), re.MULTILINE)
    assert [name for name, _version in rows] == ["amdgpu-dkms", "amdgpu-dkms-firmware"]
    assert release_of_driver_package(rows[0][1]) == "6.3.1"
    assert module_of_driver_package(rows[0][1]) == ("6.10.5", "2095006.el9")


def test_a_node_of_dnf_is_read_whole():
    session = read("dnf4-upgrade-downgrade-history.txt")
    lock = re.search(r"Adding versionlock on: (\S+)", session)[1]
    facts = rpm_node(session.split("$ rpm -qa")[1], **{"/etc/dnf/plugins/versionlock.list": f"{lock}\n"})
    assert facts["driver"]["installed"]["release"] == "30.10.2"
    assert facts["rocm"]["holds"] == ["rocm"]
    versions = {name: release_of_rocm_package(row["version"]) for name, row in facts["rocm"]["packages"].items()}
    assert versions == {"rocm": "7.1.1", "rocm-smi-lib": "7.0.2"}


def test_versions_that_dnf_lists_are_in_the_order_of_rpm():
    listed = re.findall(r"^rocm\.noarch +(\S+) ", read("dnf4-upgrade-downgrade-history.txt"), re.MULTILINE)
    assert compare_rpm("7.0.2.70002-56.el9", "7.1.1.70101-38.el9") == -1
    assert {"7.0.2.70002-56.el9", "7.1.1.70101-38.el9"} == set(listed)


def test_the_epoch_that_rpm_does_not_print_by_itself_changes_no_release():
    assert release_of_driver_package("6.14.14.30100200-2226257.el9") == "30.10.2"
    assert compare_rpm("1:6.14.14.30100200-2226257.el9", "6.14.14.30100200-2226257.el9") == 1


def test_an_installed_driver_package_is_not_a_driver_that_runs():
    listing = read("dpkg-l-rock-4.3-module-missing.txt")
    facts = dpkg_node(listing, **{"/sys/module/amdgpu/srcversion": "BCE1AB3C9F63988A81945CA\n"})
    assert facts["driver"]["packages"]["rock-dkms"] == {"version": "1:4.3-59", "state": "installed", "hold": False}
    assert (facts["driver"]["origin"], facts["driver"]["dkms"]) == ("in-tree", [])


def test_packages_of_before_todays_code_are_amds_and_procmail_is_not():
    rocm = dpkg_node(read("dpkg-l-rocm-4.0.txt"))["rocm"]
    assert "procmail" not in rocm["packages"]
    assert release_of_rocm_package(rocm["packages"]["rocm-dev"]["version"]) == "4.0.0"
    assert (rocm["shadowing"], len(rocm["packages"])) == ([], 6)


def test_a_release_is_read_from_each_of_its_packages():
    packages = dpkg_node(read("dpkg-l-rocm-6.3.3-noble.txt"))["rocm"]["packages"]
    assert {release_of_rocm_package(row["version"]) for row in packages.values()} == {"6.3.3"}
    assert len(packages) == 25


def test_old_packages_of_rpm_tell_no_release():
    rocm = rpm_node(read("rpm-qa-rocm-2.1-el7.txt"))["rocm"]
    assert (len(rocm["packages"]), "procmail" in rocm["packages"]) == (9, False)
    assert {release_of_rocm_package(row["version"]) for row in rocm["packages"].values()} == {None}
    assert rocm["shadowing"] == []


def test_a_commented_source_with_a_placeholder_is_no_repository():
    path = "/etc/apt/sources.list.d/amdgpu-proprietary.list"
    facts = dpkg_node("", **{path: read("sources-list-amdgpu-placeholder.list")})
    assert facts["rocm"]["repositories"] == []


# The recordings that the tests above read.
READ = {
    "apt-hit-lines-multi-rocm.txt", "apt-hold-downgrade-session.txt", "apt-pin-rocm-BROKEN-literal-backslash-n.pref",
    "apt-pin-rocm-good.pref", "apt-policy-four-pin-states.txt", "dnf-install-amdgpu-dkms-el9.txt",
    "dnf4-upgrade-downgrade-history.txt", "dpkg-l-rock-4.3-module-missing.txt", "dpkg-l-rocm-4.0.txt",
    "dpkg-l-rocm-6.3.3-noble.txt", "driver-release-vs-module-version.txt", "rpm-qa-rocm-2.1-el7.txt",
    "sources-list-amdgpu-placeholder.list",
}  # fmt: skip
