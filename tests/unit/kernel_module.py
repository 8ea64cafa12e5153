# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of kernel modules and initramfs archives, small enough for a test."""

from __future__ import annotations

import struct


def module(signed=False, order="<", **fields) -> bytes:
    """An ELF file of 64 bits with these fields in its section .modinfo."""
    modinfo = b"".join(f"{name}={value}\0".encode() for name, value in {"license": "GPL", **fields}.items())
    names = b"\0.modinfo\0.shstrtab\0"
    ident = b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + b"\x01" + bytes(9)
    table = 64 + len(modinfo) + len(names)
    header = ident + struct.pack(f"{order}HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    rows = bytes(64) + _section(order, 1, 64, len(modinfo)) + _section(order, 10, 64 + len(modinfo), len(names))
    return header + modinfo + names + rows + (b"pkcs7~Module signature appended~\n" if signed else b"")


def archive(files) -> bytes:
    """A cpio archive (newc) of these files."""
    return b"".join(_member(name, content) for name, content in [*files.items(), ("TRAILER!!!", b"")])


def _section(order, name, offset, size):
    return struct.pack(f"{order}IIQQQQIIQQ", name, 1, 0, 0, offset, size, 0, 0, 1, 0)


def _member(name, content):
    path = name.encode() + b"\0"
    numbers = (1, 0o100644, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % number for number in numbers)
    return _padded(header + path) + _padded(content)


def _padded(content):
    return content + bytes(-len(content) % 4)
