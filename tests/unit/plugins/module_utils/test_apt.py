# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt, dpkg and dkms print, and the cause that is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._apt import (
    classify,
    failure,
    fetch_failed,
    parse_simulation,
    space_needed,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed

CHECKOUT = Path(os.environ.get("FLEETOPS_CHECKOUT", Path(__file__).resolve().parents[4]))
CORPUS = CHECKOUT.parent / "shared" / "corpus" / "packages"
DKMS = """\
Loading new amdgpu-6.12.12-1.24.04 DKMS files...
Error! Bad return status for module build on kernel: 6.14.0-24-generic (x86_64)
Consult /var/lib/dkms/amdgpu/6.12.12-1.24.04/build/make.log for more information.
dpkg: error processing package amdgpu-dkms (--configure):
E: Sub-process /usr/bin/dpkg returned an error code (1)
"""
SANITY = """\
Loading new amdgpu-5.1-2 DKMS files...
Error! Module version ABC for amdgpu.ko
is not newer than what is already found in kernel 4.13.0-36-generic (DEF).
"""
STALE = """\
Error! Could not locate dkms.conf file.
File: /var/lib/dkms/amdgpu/6.8.5-9.24.04/source/dkms.conf does not exist.
"""
CONFLICT = """\
dpkg: error processing archive /var/cache/apt/archives/libnew_1%3a17.0_amd64.deb (--unpack):
 trying to overwrite '/opt/amdgpu/lib/libLLVM.so', which is also in package libold:amd64 1:16.0-1
E: Sub-process /usr/bin/dpkg returned an error code (1)
"""
UNMET = """\
The following packages have unmet dependencies:
 rocm-dev : Depends: rocm-cmake (= 0.14.0.70204-93~24.04) but 6.0.0-1 is to be installed
            Depends: hipcc (= 1.1) but 5.7.1-3 is to be installed
E: Unable to correct problems, you have held broken packages.
"""
FRONTEND = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\n"
BOOT_FULL = "zstd: error 70 : Write error : cannot write block : No space left on device \n"
CAUSES = [
    (DKMS, "dkms_build_failed", "driver 6.12.12-1.24.04", "does not build for kernel 6.14.0-24-generic"),
    (SANITY, "dkms_build_failed", "driver 5.1-2", "does not build for kernel 4.13.0-36-generic"),
    (STALE, "dkms_build_failed", "/var/lib/dkms/amdgpu/6.8.5-9.24.04/source/dkms.conf", "stops every dkms command"),
    (CONFLICT, "file_conflict", "/opt/amdgpu/lib/libLLVM.so", "libold:amd64 1:16.0-1 owns it"),
    (UNMET, "unmet_dependencies", "rocm-dev", "but 6.0.0-1 is to be installed"),
    (FRONTEND, "package_manager_locked", "/var/lib/dpkg/lock-frontend", "held by process 4711 (unattended-upgr)"),
    (
        "E: Could not get lock /var/lib/apt/lists/lock - open (11: Resource temporarily unavailable)\n",
        "package_manager_locked",
        "/var/lib/apt/lists/lock",
        "held by another process",
    ),
    (
        "dpkg: error: dpkg frontend lock was locked by another process with pid 77\n",
        "package_manager_locked",
        "dpkg's lock",
        "held by process 77",
    ),
    (BOOT_FULL, "disk_full", "disk", "No space left on device"),
    (
        "E: You don't have enough free space in /var/cache/apt/archives/.\n",
        "disk_full",
        "/var/cache/apt/archives/",
        "free space",
    ),
    (
        " cannot copy extracted data for './opt/x' to '/opt/x.dpkg-new': failed to write (No space left on device)\n",
        "disk_full",
        "/opt/x.dpkg-new",
        "failed to write",
    ),
    (
        "Err:7 https://mirror.example/rocm/apt/6.4.0 jammy Release\n  404  Not Found\n",
        "repository_unreachable",
        "https://mirror.example/rocm/apt/6.4.0",
        "404 Not Found",
    ),
    (
        "W: Failed to fetch http://m.example/dists/jammy/InRelease  Could not connect to m.example:80\n",
        "repository_unreachable",
        "http://m.example/dists/jammy/InRelease",
        "Could not connect",
    ),
    (
        "W: GPG error: http://m.example jammy InRelease: NO_PUBKEY 9386B48A1A693C5C\n",
        "repository_untrusted",
        "repository",
        "NO_PUBKEY 9386B48A1A693C5C",
    ),
    (
        "E: Failed to fetch http://m.example/Packages.gz  Hash Sum mismatch\n",
        "repository_untrusted",
        "repository",
        "Hash Sum",
    ),
    ("E: Version '9.9.9' for 'rocm' was not found\n", "version_unavailable", "rocm", "version 9.9.9 is not offered"),
    ("E: Unable to locate package rocm\n", "version_unavailable", "rocm", "not offered"),
    ("E: something new\n", "unknown", "apt", "E: something new"),
    ("", "unknown", "apt", "failed without saying why"),
]


@pytest.mark.parametrize("text, kind, subject, seen", CAUSES)
def test_a_failure_has_its_cause(text, kind, subject, seen):
    cause = classify(text)
    assert (cause.kind, cause.subject) == (kind, subject)
    assert seen in cause.seen


def test_a01_the_way_out_of_a_failed_build_names_the_log_and_forbids_the_reboot():
    assert classify(DKMS).fix == (
        "do not reboot; read /var/lib/dkms/amdgpu/6.12.12-1.24.04/build/make.log; roll back"
    )  # fmt: skip


def test_a07_a_conflict_names_the_package_to_purge():
    assert "purge libold:amd64" in classify(CONFLICT).fix


def test_a_full_disk_outranks_what_follows_from_it():
    assert classify(DKMS + BOOT_FULL).kind == "disk_full"


def test_the_error_carries_the_whole_output():
    error = failure(Completed(100, "out\n", DKMS), "a driver")
    assert (error.kind, error.output) == ("dkms_build_failed", "out\n\n" + DKMS)


@pytest.mark.parametrize(
    "text, failed",
    [
        ("Hit:1 http://m.example jammy InRelease\nReading package lists...\n", False),
        ("W: Failed to fetch http://m.example/InRelease  Connection refused\nW: Some index files failed\n", True),
        ("W: http://m.example: Key is stored in legacy trusted.gpg keyring\n", False),
    ],
)
def test_an_update_that_exits_with_0_may_have_failed(text, failed):
    assert fetch_failed(text) is failed


def test_the_simulation_names_what_comes_and_goes():
    told = parse_simulation(
        "NOTE: a simulation\nInst rocm [7.1] (7.0 repo.radeon.com:7.0/noble [amd64]) []\n"
        "Inst rocm-core:amd64 (7.0 repo.radeon.com:7.0 [amd64])\nRemv old [1.0]\nConf rocm (7.0 x [amd64])\n"
    )
    assert told.installs == [("rocm", "7.1", "7.0"), ("rocm-core", None, "7.0")]
    assert told.removes == ["old"]


@pytest.mark.parametrize(
    "text, download, after",
    [
        (
            "Need to get 1,234 kB of archives.\nAfter this operation, 2.5 GB of additional disk space will be used.\n",
            1234000,
            2500000000,
        ),
        (
            "Need to get 0 B/12.5 MB of archives.\nAfter this operation, 1,024 B disk space will be freed.\n",
            12500000,
            -1024,
        ),
        ("nothing to do\n", 0, 0),
    ],
)
def test_the_space_is_read_from_apts_own_sum(text, download, after):
    assert space_needed(text) == (download, after)


@given(st.text(max_size=200))
def test_any_text_has_some_cause(text):
    assert classify(text).kind
    parse_simulation(text)
    space_needed(text)


RECORDED = {
    "apt-404-removed-release-3.9.1.txt": "repository_unreachable",
    "apt-update-404-6.4.0.txt": "repository_unreachable",
    "apt-rocm-dkms-gone-4.5.txt": "unmet_dependencies",
    "apt-unmet-deps-device-libs.txt": "unmet_dependencies",
    "dkms-fail-6.14-noble.txt": "dkms_build_failed",
    "dkms-fail-6.8.0-44-kernel-upgrade.txt": "dkms_build_failed",
    "dkms-fail-el8-localised-make.txt": "dkms_build_failed",
    "dkms-fail-kali-delete-then-build.txt": "dkms_build_failed",
    "dkms-fail-rock-4.0-kernel-5.8.txt": "dkms_build_failed",
    "dkms-version-sanity-check.txt": "dkms_build_failed",
    "dkms-ok-two-kernels-3.9.txt": "unknown",
    "apt-hit-lines-multi-rocm.txt": "unknown",
}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded outputs of real machines are not beside this checkout")
@pytest.mark.parametrize("name, kind", RECORDED.items())
def test_recorded_outputs_have_their_cause(name, kind):
    assert classify((CORPUS / name).read_text(encoding="utf-8")).kind == kind
