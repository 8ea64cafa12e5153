# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the file of a kernel module says of itself."""

from __future__ import annotations

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._module_file import ModuleFile, read_module
from ansible_collections.fleetops.instinct.tests.unit.kernel_module import module
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

PATH = "/lib/modules/6.1.0-40-amd64/updates/dkms/amdgpu.ko"
FIELDS = {"version": "6.14.14", "srcversion": "7D2D2C9F63988A81945CAAB", "vermagic": "6.1.0-40-amd64 SMP mod_unload"}


class Counting(RecordedHost):
    """Counts the bytes that were read."""

    read = 0

    def read_range(self, path, offset, size):
        content = super().read_range(path, offset, size)
        self.read += len(content)
        return content


def read(content):
    return read_module(RecordedHost({"files": {PATH: content}}), PATH)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("signed", [False, True])
def test_fields_and_signature_are_read(order, signed):
    assert read(module(signed, order, **FIELDS)) == ModuleFile(FIELDS["version"], FIELDS["srcversion"], signed)


def test_a_module_of_the_kernel_has_no_version():
    found = read(module(srcversion="ABC"))
    assert (found.version, found.srcversion, found.signed) == (None, "ABC", False)


def test_of_a_large_module_little_is_read():
    content = module(**FIELDS)
    host = Counting({"files": {PATH: content + bytes(30 << 20)}})
    assert read_module(host, PATH).version == "6.14.14"
    assert host.read < len(content) + 100


@pytest.mark.parametrize(
    "content, seen",
    [
        (gzip.compress(module()), "compressed with gzip"),
        (lzma.compress(module()), "compressed with xz"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "compressed with zstd"),
        (b"", "begins with b''"),
        (module()[:40], "begins with"),
        (module()[:-10], "are not there"),
        (b"\x7fELF\x01\x01" + bytes(100), "begins with"),
        (module().replace(b".modinfo", b".xmodinf"), r"no section \.modinfo"),
    ],
)
def test_what_is_no_plain_module_is_refused_with_the_reason(content, seen):
    with pytest.raises(ParseError, match=seen):
        read(content)


def test_a_file_that_is_not_there_is_missing():
    with pytest.raises(Unreadable) as error:
        read_module(RecordedHost({}), PATH)
    assert error.value.missing


@given(st.binary(max_size=80), st.integers(0, 200), st.booleans())
def test_no_bytes_upset_the_reader(noise, place, short):
    whole = module(True, **FIELDS)
    content = whole[:place] + noise + (b"" if short else whole[place + len(noise) :])
    try:
        assert read(content).signed in (True, False)
    except FleetError:
        pass
