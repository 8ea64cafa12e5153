# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lists of dnf and zypper say is on offer."""

from __future__ import annotations

import contextlib
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._rpm_lists import cache_folder, offered
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

REPOMD = """<repomd><data type="filelists"><location href="repodata/2-filelists.xml.gz"/></data>
<data type="primary">
  <checksum type="sha256">1</checksum>
  <location href="repodata/1-primary.xml.gz"/>
</data></repomd>"""
PRIMARY = """<metadata packages="2"><package type="rpm"><name>rocm-core</name><arch>x86_64</arch>
<version epoch="0" ver="6.4.1.60401" rel="83.el9"/></package>
<package type="rpm"><name>amdgpu-dkms</name><arch>noarch</arch>
<version epoch="1" ver="6.12.12.60401" rel="2164967.el9"/></package></metadata>"""


def lists(primary=PRIMARY, repomd=REPOMD):
    packed = gzip.compress(primary.encode())
    return RecordedHost({"files": {"/c/repodata/repomd.xml": repomd, "/c/repodata/1-primary.xml.gz": packed}})


def test_versions_are_told_as_rpm_tells_what_is_installed():
    assert offered(lists(), "/c") == {
        "rocm-core": {"6.4.1.60401-83.el9"},
        "amdgpu-dkms": {"1:6.12.12.60401-2164967.el9"},
    }


def test_an_empty_repository_offers_nothing():
    assert offered(lists('<metadata packages="0"></metadata>'), "/c") == {}


@pytest.mark.parametrize("host", [lists(repomd="junk"), lists('<package type="rpm"><name>x</name></package>')])
def test_lists_of_another_form_are_refused(host):
    with pytest.raises(ParseError):
        offered(host, "/c")


def test_no_lists_are_an_error_and_not_nothing_on_offer():
    with pytest.raises(Unreadable):
        offered(RecordedHost({}), "/c")


def test_dnf_names_the_folder_after_repository_and_address():
    # dnf takes the first sixteen digits of the address's SHA-256.
    assert cache_folder(RecordedHost({}), "dnf", "rocm", "http://x/") == "/var/cache/dnf/rocm-37844e1d35c3b9ff"


@pytest.mark.parametrize(
    "folders, found",
    [
        (["rocm-0123456789abcdef", "rocm-extra-0123456789abcdef"], True),
        (["rocm-0123456789abcdef", "rocm-fedcba9876543210"], False),
        ([], False),
    ],
)
def test_an_address_with_a_variable_is_found_where_there_is_one_folder(folders, found):
    host = RecordedHost({"files": {f"/var/cache/dnf/{name}/x": "" for name in folders}})
    with contextlib.nullcontext() if found else pytest.raises(Unreadable):
        assert cache_folder(host, "dnf", "rocm", "http://x/$releasever/") == f"/var/cache/dnf/{folders[0]}"


def test_zypper_names_the_folder_after_the_repository():
    assert cache_folder(RecordedHost({}), "zypper", "amdgpu", "http://x/") == "/var/cache/zypp/raw/amdgpu"


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_lists_upset_the_reader_or_make_it_invent_a_version(primary, repomd):
    with contextlib.suppress(FleetError):
        found = offered(lists(primary), "/c")
        assert all(version.split(":")[-1].split("-")[0] in primary for row in found.values() for version in row)
    with contextlib.suppress(FleetError):
        offered(lists(repomd=repomd), "/c")
