# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of apt's files name AMD, and what is left of them when AMD is taken out."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._sources import (
    KEY,
    PIN,
    SOURCES,
    Repository,
    amd_files,
    list_prefixes,
    names_amd,
    read,
    wanted_files,
    without_amd,
)
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import KEY as ARMORED
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

LIST, DEB822, PREF = "/etc/apt/sources.list.d/a.list", "/etc/apt/sources.list.d/a.sources", "/etc/apt/preferences.d/a"
UBUNTU = "deb http://archive.ubuntu.com/ubuntu noble main"
AMD = "deb [signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.4.4 noble main"
STANZA = "Types: deb\nURIs: {}\nSuites: noble\nComponents: main"
PIN_AMD = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600"
PIN_OTHER = "Package: nginx\nPin: origin nginx.org\nPin-Priority: 900"


def repository(**more):
    return Repository(**{"rocm": "http://m.example/rocm/apt/7.0.2", "driver": "http://m.example/amdgpu/30.10.2/ubuntu",
                         "suite": "jammy", "key": ARMORED, **more})  # fmt: skip


@pytest.mark.parametrize(
    "path, text, named",
    [
        (LIST, AMD, True),
        (LIST, "deb http://mirror.example/amdgpu/30.10.2/ubuntu jammy main", True),
        (LIST, "deb http://mirror.example/rocm/apt/7.0.2/ jammy main", True),
        (LIST, f"# {AMD}", False),
        (LIST, UBUNTU, False),
        (LIST, "deb http://mirror.example/rocm-docs/apt jammy main", False),
        (LIST, "deb http://mirror.example/mirrors/rocm jammy main", True),
        (DEB822, STANZA.format("\n# http://repo.radeon.com/rocm/apt\n http://archive.ubuntu.com/ubuntu"), False),
        (DEB822, STANZA.format("http://x.example/a\n http://x.example/amdgpu/6.4"), True),
        (DEB822, STANZA.format("https://stable.repo.amd.com/rocm/core/packages/ubuntu2404/"), True),
        (DEB822, STANZA.format("http://archive.ubuntu.com/ubuntu"), False),
        (PREF, PIN_AMD, True),
        (PREF, PIN_OTHER, False),
        (PREF, PIN_AMD.replace("\n", "\\n"), False),
    ],
)
def test_a_file_names_amd_by_its_active_lines(path, text, named):
    assert names_amd(path, text) is named


@pytest.mark.parametrize(
    "path, before, after",
    [
        (LIST, f"{UBUNTU}\n{AMD}\n", f"{UBUNTU}\n"),
        (LIST, f"# by hand\n{AMD}\n", None),
        (DEB822, f"{STANZA.format('http://x.example/ubuntu')}\n\n{STANZA.format('http://x.example/amdgpu/6.4/ubuntu')}\n",
         f"{STANZA.format('http://x.example/ubuntu')}\n"),
        (PREF, f"{PIN_AMD}\n\n{PIN_OTHER}\n", f"{PIN_OTHER}\n"),
        (PREF, f"{PIN_AMD}\n", None),
    ],
)  # fmt: skip
def test_only_amds_part_of_a_file_is_taken_out(path, before, after):
    assert without_amd({path: before.encode()}, set()) == {path: after.encode() if after else None}


def test_files_that_stay_and_files_without_amd_are_left_alone():
    assert without_amd({LIST: AMD.encode(), "/etc/apt/sources.list": UBUNTU.encode()}, {LIST}) == {}


def test_the_pin_goes_by_the_repositorys_own_name():
    pin = wanted_files(repository(origin="mirror.corp"))[PIN]
    assert pin == b"Package: *\nPin: release o=mirror.corp\nPin-Priority: 1001\n"
    assert names_amd(PREF, pin.decode(), "mirror.corp") is True


def test_both_repositories_are_signed_by_the_given_key():
    files = wanted_files(repository())
    assert files[KEY].startswith(b"-----BEGIN PGP PUBLIC KEY BLOCK-----")
    assert files[SOURCES].decode().count(f"deb [arch=amd64 signed-by={KEY}] http://m.example/") == 2


@pytest.mark.parametrize(
    "change", [{"rocm": "http://x/ [trusted=yes]"}, {"suite": "jammy\ndeb"}, {"origin": ""}, {"key": "x"}]
)
def test_what_could_not_stand_in_a_source_line_is_refused(change):
    with pytest.raises(ParseError):
        wanted_files(repository(**change))


@pytest.mark.parametrize(
    "path, text, prefixes",
    [
        (LIST, AMD, {"repo.radeon.com_rocm_apt_6.4.4_"}),
        (LIST, "deb http://me:secret@127.0.0.1:8080/amdgpu/6.4/ubuntu/ x main", {"127.0.0.1:8080_amdgpu_6.4_ubuntu_"}),
        (LIST, UBUNTU, set()),
        (PREF, PIN_AMD, set()),
    ],
)
def test_the_lists_of_a_source_are_known_by_their_beginning(path, text, prefixes):
    assert list_prefixes(path, text) == prefixes


@pytest.mark.parametrize("name", ["a.list.save", "a.sources.bak", "a.list.dpkg-old", "a b.list", "a"])
def test_a_file_that_apt_passes_over_is_left_alone(name):
    files = {f"/etc/apt/sources.list.d/{name}": f"{AMD}\n", "/etc/apt/preferences.d/a.bak": PIN_AMD}
    host = RecordedHost({"files": files})
    assert read(host) == {}


def test_a_way_back_needs_the_keyrings_that_the_sources_name():
    host = RecordedHost(
        {"files": {LIST: f"{AMD}\n", "/etc/apt/keyrings/rocm.gpg": "k", "/etc/apt/sources.list": UBUNTU}}
    )
    assert amd_files(host) == {
        LIST: f"{AMD}\n".encode(),
        "/etc/apt/keyrings/rocm.gpg": b"k",
        KEY: None,
        SOURCES: None,
        PIN: None,
    }
