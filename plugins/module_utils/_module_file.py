# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kernel module's file says of itself, by a few ranged reads of it: it is tens of megabytes long."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

_MAGIC = b"~Module signature appended~\n"
_COMPRESSED = {b"\xfd7zXZ": "xz", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_HEADER, _ROW = 64, 64
# A table of sections, of their names, or of the module's own fields that is longer than this is none.
_LONGEST = 4 << 20
_SECTION = ".modinfo"


class ModuleFile(NamedTuple):
    """Fields of a module, None where it has none of that name; ``signed`` is whether a signature is appended."""

    version: str | None
    srcversion: str | None
    signed: bool


def read_module(host: Host, path: str) -> ModuleFile:
    """The fields of a module's file.

    :raises Unreadable: where it cannot be read.
    :raises ParseError: where it is compressed, or no kernel module of 64 bits.
    """
    header = host.read_range(path, 0, _HEADER)
    _refuse_compressed(path, header)
    if header[:5] != b"\x7fELF\x02" or header[5:6] not in (b"\x01", b"\x02") or len(header) < _HEADER:
        raise ParseError(path, f"begins with {header[:6]!r}", "a kernel module (ELF, 64 bits)")
    order = "<" if header[5] == 1 else ">"
    fields = _fields(_modinfo(host, path, header, order))
    signed = host.read_range(path, -len(_MAGIC), len(_MAGIC)) == _MAGIC
    return ModuleFile(fields.get("version"), fields.get("srcversion"), signed)


def _refuse_compressed(path: str, header: bytes) -> None:
    for magic, name in _COMPRESSED.items():
        if header.startswith(magic):
            raise ParseError(path, f"compressed with {name}, and not unpacked only to be looked at", "a plain module")


def _modinfo(host: Host, path: str, header: bytes, order: str) -> bytes:
    (table,) = struct.unpack_from(f"{order}Q", header, 0x28)
    size, count, names_at = struct.unpack_from(f"{order}HHH", header, 0x3A)
    if size != _ROW or names_at >= count:
        raise ParseError(path, f"{count} sections of {size} bytes, names in {names_at}", "a table of sections")
    rows = _exactly(host, path, table, count * _ROW)
    sections = [struct.unpack_from(f"{order}IIQQQQ", rows, number * _ROW) for number in range(count)]
    names = _exactly(host, path, *sections[names_at][4:6])
    wanted = f"{_SECTION}\0".encode()
    for name, _kind, _flags, _address, offset, length in sections:
        if names[name : name + len(wanted)] == wanted:
            return _exactly(host, path, offset, length)
    raise ParseError(path, "no section .modinfo", "a kernel module")


def _exactly(host: Host, path: str, offset: int, size: int) -> bytes:
    content = host.read_range(path, offset, size) if size <= _LONGEST and offset < 1 << 40 else b""
    if len(content) != size:
        raise ParseError(path, f"{size} bytes at {offset} are not there", "a whole file")
    return content


def _fields(section: bytes) -> dict[str, str]:
    texts = (text.decode("utf-8", "replace").partition("=") for text in section.split(b"\0") if b"=" in text[:16])
    return {name: value for name, _equal, value in texts}
