# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an initramfs holds of a module: its archives are walked in a stream, and never held as a whole."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Any, Callable, Iterator, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import blacklisting

_CHUNK = 1 << 20
# An initramfs that unpacks to more than this, or holds more files, is none.
_MOST_BYTES, _MOST_FILES = 4 << 30, 200_000
_LONGEST_NAME, _LONGEST_TEXT = 4096, 1 << 18
_MEMORY = 256 << 20
_CPIO = (b"070701", b"070702")
_HEADER = 110
_TRAILER = "TRAILER!!!"
_UNREADABLE = {b"\x28\xb5\x2f\xfd": "zstd", b"\x02\x21\x4c\x18": "lz4", b"\x04\x22\x4d\x18": "lz4", b"\x89LZO": "lzo"}


class Contents(NamedTuple):
    """What was found: the module's file, a line that blacklists it, and how many of its firmware files.

    ``unread`` is why a part could not be read; what was not found may then be in it.
    """

    module: bool
    blacklist: bool
    firmware: int
    unread: str


class _Stream:
    """Bytes of a generator of chunks, taken from the front; no more than a chunk and what is asked for is held."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        while len(self._held) - self._at < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self.give_back(b"", chunk)
        return self._held[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        content = self.peek(size)
        self._at += len(content)
        return content

    def skip(self, size: int) -> None:
        while size > 0 and self.peek(1):
            step = min(size, len(self._held) - self._at)
            self._at += step
            size -= step

    def skip_zeros(self) -> None:
        while self.peek(1) == b"\0":
            self._held, self._at = self._held[self._at :].lstrip(b"\0"), 0

    def rest(self) -> Iterator[bytes]:
        """What is left, chunk by chunk."""
        while self.peek(1):
            content, self._held, self._at = self._held[self._at :], b"", 0
            yield content

    def give_back(self, before: bytes, after: bytes = b"") -> None:
        self._held, self._at = before + self._held[self._at :] + after, 0


class _Search:
    """Notes what is looked for among the files that pass by."""

    def __init__(self, module: str) -> None:
        self._module = module
        self.found, self.blacklist, self.firmware, self.files = False, False, 0, 0

    def note(self, name: str) -> bool:
        """Look at a file's name; true where its content is wanted."""
        self.files += 1
        base = name.rpartition("/")[2]
        self.found = self.found or base == f"{self._module}.ko" or base.startswith(f"{self._module}.ko.")
        self.firmware += f"firmware/{self._module}/" in name or f"firmware/updates/{self._module}/" in name
        return "modprobe.d/" in name and name.endswith(".conf")

    def read(self, content: bytes) -> None:
        text = content.decode("utf-8", "replace")
        self.blacklist = self.blacklist or bool(blacklisting(text, self._module))


def look_into(host: Host, path: str, module: str) -> Contents:
    """Walk an initramfs: archives (newc) one after the other, plain or packed with gzip, xz, lzma or bzip2.

    :raises Unreadable: where the file cannot be read.
    """
    search = _Search(module)
    try:
        _walk(_Stream(_chunks(host, path)), search, packed=False)
        unread = ""
    except ParseError as error:
        unread = error.seen
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, MemoryError) as error:
        unread = f"{type(error).__name__}: {error}"
    return Contents(search.found, search.blacklist, search.firmware, unread)


def _chunks(host: Host, path: str) -> Iterator[bytes]:
    offset = 0
    while True:
        content = host.read_range(path, offset, _CHUNK)
        if not content:
            return
        yield content
        offset += len(content)


def _walk(stream: _Stream, search: _Search, packed: bool) -> None:
    while True:
        stream.skip_zeros()
        start = stream.peek(6)
        if not start:
            return
        if start in _CPIO:
            _archive(stream, search)
        elif packed:
            raise ParseError("initramfs", f"not understood after {search.files} files: {start!r}", "an archive")
        else:
            _walk(_Stream(_unpacked(stream, start)), search, packed=True)


def _archive(stream: _Stream, search: _Search) -> None:
    while True:
        header = stream.take(_HEADER)
        if len(header) < _HEADER or header[:6] not in _CPIO:
            raise ParseError("initramfs", f"cut off after {search.files} files", "a whole archive")
        # In hexadecimal, eight digits each: the seventh field is the size, the twelfth the length of the name.
        size, length = int(header[54:62], 16), int(header[94:102], 16)
        if not 0 < length <= _LONGEST_NAME or size < 0 or search.files > _MOST_FILES:
            raise ParseError("initramfs", f"no archive after {search.files} files", "names and sizes")
        # Name and content end at a multiple of four from the header on.
        name = stream.take(length + (-(_HEADER + length)) % 4).rstrip(b"\0").decode("utf-8", "replace")
        if name == _TRAILER:
            return
        if search.note(name) and size <= _LONGEST_TEXT:
            search.read(stream.take(size))
            stream.skip(-size % 4)
        else:
            stream.skip(size + -size % 4)


def _unpacked(stream: _Stream, start: bytes) -> Iterator[bytes]:
    for magic, name in _UNREADABLE.items():
        if start.startswith(magic):
            raise ParseError("initramfs", f"packed with {name}, which this does not unpack", "gzip, xz, lzma or bzip2")
    if start.startswith(b"\x1f\x8b"):
        return _inflated(stream)
    if start.startswith(b"BZh"):
        return _decompressed(stream, bz2.BZ2Decompressor)
    if start.startswith((b"\xfd7zXZ", b"\x5d\0\0")):
        return _decompressed(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_MEMORY))
    raise ParseError("initramfs", f"not understood: {start!r}", "an archive, plain or packed")


def _inflated(stream: _Stream) -> Iterator[bytes]:
    unpacker, total = zlib.decompressobj(31), 0
    for chunk in stream.rest():
        full = True
        while (chunk or full) and not unpacker.eof:
            content = unpacker.decompress(chunk, _CHUNK)
            chunk, full, total = unpacker.unconsumed_tail, len(content) == _CHUNK, _counted(total, content)
            if content:
                yield content
        if unpacker.eof:
            stream.give_back(unpacker.unused_data)
            return
    raise EOFError("the packed part is cut off")


def _decompressed(stream: _Stream, make: Callable[[], Any]) -> Iterator[bytes]:
    unpacker, total = make(), 0
    for chunk in stream.rest():
        content = unpacker.decompress(chunk, _CHUNK)
        while content:
            total = _counted(total, content)
            yield content
            content = b"" if unpacker.eof or unpacker.needs_input else unpacker.decompress(b"", _CHUNK)
        if unpacker.eof:
            stream.give_back(unpacker.unused_data)
            return
    raise EOFError("the packed part is cut off")


def _counted(total: int, content: bytes) -> int:
    if total + len(content) > _MOST_BYTES:
        raise ParseError("initramfs", f"unpacks to more than {_MOST_BYTES} bytes", "an initramfs")
    return total + len(content)
