# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an initramfs holds, however it is packed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._initramfs import look_into
from ansible_collections.fleetops.instinct.tests.unit.kernel_module import archive
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

PATH = "/boot/initrd.img-6.1.0-40-amd64"
MICROCODE = {"kernel/x86/microcode/AuthenticAMD.bin": b"\1" * 70001}
MODULE = {"usr/lib/modules/6.1.0-40-amd64/updates/dkms/amdgpu.ko": os.urandom((1 << 20) + 5)}
OTHERS = {"bin/busybox": b"x" * 5000, "usr/lib/modules/6.1.0-40-amd64/kernel/drivers/amdgpu/amdgpu_notes.txt": b"no"}
BLACKLIST = {"etc/modprobe.d/blacklist-amdgpu.conf": b"# by the operator\nblacklist amdgpu\n"}
FIRMWARE = {"lib/firmware/amdgpu/aldebaran_mec.bin": b"", "lib/firmware/updates/amdgpu/aldebaran_rlc.bin": b""}
PACKERS = {
    "none": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda content: lzma.compress(content, check=lzma.CHECK_CRC32),
    "lzma": lambda content: lzma.compress(content, lzma.FORMAT_ALONE),
}


def look(content):
    return look_into(RecordedHost({"files": {PATH: content}}), PATH, "amdgpu")


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("early", [b"", archive(MICROCODE) + bytes(512)], ids=["plain", "microcode"])
def test_a_module_is_found_however_it_is_packed(pack, early):
    found = look(early + pack(archive({**OTHERS, **MODULE, **FIRMWARE, **BLACKLIST})) + bytes(300))
    assert found == (True, True, 2, "")


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_what_only_looks_like_the_module_is_not_it(pack):
    assert look(pack(archive({**OTHERS, "etc/modprobe.d/radeon.conf": b"blacklist radeon\n"}))) == (False, False, 0, "")


@pytest.mark.parametrize("suffix", ["", ".xz", ".zst"])
def test_a_packed_module_counts_as_well(suffix):
    assert look(archive({f"lib/modules/6.1/extra/amdgpu.ko{suffix}": b"x"})).module is True


@pytest.mark.parametrize("magic, name", [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4")])
def test_what_cannot_be_unpacked_is_told_and_what_stands_before_it_counts(magic, name):
    found = look(archive(MICROCODE) + bytes(512) + magic + bytes(100))
    assert (found.module, name in found.unread) == (False, True)
    assert look(archive(MODULE) + magic + bytes(100)).module is True


def test_two_packed_archives_may_follow_each_other():
    assert look(gzip.compress(archive(OTHERS)) + gzip.compress(archive(MODULE)) + bytes(9)).module is True


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("part", [0.3, 0.9])
def test_one_that_is_cut_off_is_not_known_whole(pack, part):
    whole = pack(archive({**OTHERS, **MODULE}))
    assert look(whole[: int(len(whole) * part)]).unread


def test_much_that_is_packed_small_is_not_held_at_once():
    content = gzip.compress(archive({"var/zeros": bytes(64 << 20), **MODULE}), 1)
    assert look(content).module is True


@given(st.binary(max_size=300), st.sampled_from(list(PACKERS.values())), st.integers(0, 400))
def test_no_bytes_upset_the_reader(noise, pack, place):
    whole = archive({**BLACKLIST, **FIRMWARE})
    for content in (noise, pack(noise), pack(whole[:place] + noise + whole[place:]), whole[:place] + pack(noise)):
        assert look(content).firmware >= 0
