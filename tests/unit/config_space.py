# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PCI configuration space with a PCI Express capability, built register by register."""

from __future__ import annotations

import struct

CODES = {None: 0, 2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
ENDPOINT, ROOT_PORT, UPSTREAM, DOWNSTREAM, INTEGRATED = 0, 4, 5, 6, 9
ASPM = {"": 0, "l0s": 1, "l1": 2, "l0s l1": 3}
GONE = b"\xff" * 256


def config_space(
    ids=("1002", "74a1"), kind=ENDPOINT, gts=32.0, width=16, max_gts=32.0, max_width=16, aspm="", target=None,
    pinned=False, errors=0, version=2,
):  # fmt: skip
    """256 bytes. Speeds are GT/s, None is a register that says nothing; ``errors`` are the four low bits of DevSta."""
    space, place = bytearray(256), 0x64
    struct.pack_into("<HHHH", space, 0, int(ids[0], 16), int(ids[1], 16), 0x0406, 0x0010)
    space[0x0E], space[0x34] = (0 if kind in (ENDPOINT, INTEGRATED) else 1), 0x48
    # A vendor's own capability comes first, as on the real boards.
    space[0x48:0x4B] = bytes([0x09, place, 8])
    struct.pack_into("<BBH", space, place, 0x10, 0, version | kind << 4)
    struct.pack_into("<H", space, place + 0x0A, errors)
    struct.pack_into("<I", space, place + 0x0C, CODES[max_gts] | (max_width or 0) << 4 | 3 << 10)
    struct.pack_into("<HH", space, place + 0x10, ASPM[aspm], CODES[gts] | (width or 0) << 4)
    struct.pack_into("<H", space, place + 0x30, CODES[target or max_gts] | pinned << 5)
    return bytes(space)
