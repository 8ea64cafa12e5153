# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that writes down all that is read through it, in the form of _recording.py."""

from __future__ import annotations

import base64
import builtins
import posixpath
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host, Stat

# The kernel follows no more than this either.
_MOST_LINKS = 40


class Recorder(Host):
    """Passes every reading on to another host and keeps the answer; :meth:`machine` is what was seen."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._files: dict[str, Any] = {}
        self._links: dict[str, str] = {}
        self._commands: dict[str, Any] = {}
        self._free: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._modified: dict[str, float] = {}
        self._seen: set[str] = set()
        self._empty: set[str] = set()

    def machine(self) -> dict[str, Any]:
        """The map; a name that was listed and never looked into is an empty file in it."""
        holding = {parent for path in [*self._files, *self._links] for parent in _parents(path)}
        names = {path: "" for path in self._seen if path not in holding and path not in self._links}
        return {
            "files": {**names, **self._files},
            "links": self._links,
            "folders": sorted(self._empty),
            "commands": self._commands,
            "free_bytes": self._free,
            "sizes": self._sizes,
            "modified": self._modified,
        }

    def read_bytes(self, path: str) -> bytes:
        content = self._asked(path, lambda: self._host.read_bytes(path))
        self._files[self._place(path)] = _plain(content)
        return content

    def read_again(self, path: str) -> str:
        text = self._asked(path, lambda: self._host.read_again(path))
        place = self._place(path)
        earlier = self._files.get(place)
        if not (isinstance(earlier, dict) and "series" in earlier):
            earlier = {"series": [text if earlier is None else earlier]}
        self._files[place] = {"series": [*earlier["series"], text]}
        return text

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        content = self._asked(path, lambda: self._host.read_range(path, offset, size))
        entry = self._files.setdefault(self._place(path), {"parts": {}, "size": self._host.stat(path).size})
        if isinstance(entry, dict) and "parts" in entry:
            entry["parts"][f"{offset}:{size}"] = base64.b64encode(content).decode("ascii")
        return content

    def read_records(self, path: str, limit: int, seconds: float) -> bytes:
        content = self._asked(path, lambda: self._host.read_records(path, limit, seconds))
        self._files[self._place(path)] = _plain(content)
        return content

    def exists(self, path: str) -> bool:
        found = self._host.exists(path)
        place = self._place(path)
        if found:
            self._seen.add(place)
        return found

    def list(self, path: str) -> builtins.list[str]:
        names = self._asked(path, lambda: self._host.list(path))
        place = self._place(path)
        for name in names:
            self._seen.add(self._place(f"{place}/{name}"))
        if not names:
            self._empty.add(place)
        return names

    def readlink(self, path: str) -> str:
        target = self._host.readlink(path)
        self._links[posixpath.join(self._place(posixpath.dirname(path)), posixpath.basename(path))] = target
        return target

    def realpath(self, path: str) -> str:
        return self._place(path)

    def stat(self, path: str) -> Stat:
        found = self._asked(path, lambda: self._host.stat(path))
        place = self._place(path)
        self._seen.add(place)
        self._sizes[place] = found.size
        if found.modified is not None:
            self._modified[place] = found.modified
        return found

    def free_bytes(self, path: str) -> int:
        self._free[path] = self._host.free_bytes(path)
        return self._free[path]

    def run(
        self, argv: builtins.list[str], timeout: float = 60.0, stdin: str = "", env: dict[str, str] | None = None
    ) -> Completed:
        key = " ".join(argv)
        try:
            done = self._host.run(argv, timeout, stdin, env)
        except CommandFailed as error:
            if not error.seen.startswith("cannot be started"):
                self._commands[key] = {"error": error.seen}
            raise
        self._commands[key] = [done.rc, done.out, done.err]
        return done

    def sleep(self, seconds: float) -> None:
        self._host.sleep(seconds)

    def _asked(self, path: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except Unreadable as error:
            if not error.missing:
                # Where a link leads to what cannot be read, the error is all that is kept of both.
                place = posixpath.join(self._place(posixpath.dirname(path)), posixpath.basename(path))
                self._links.pop(place, None)
                self._files[place] = {"error": error.seen}
            raise

    def _place(self, path: str, depth: int = 0) -> str:
        """The path with every link resolved, and each link on the way written down; a circle of links ends."""
        place = "/"
        for part in [piece for piece in posixpath.normpath(path).split("/") if piece]:
            place = posixpath.join(place, part)
            try:
                target = self._host.readlink(place)
            except Unreadable:
                continue
            self._links[place] = target
            if depth < _MOST_LINKS:
                place = self._place(posixpath.join(posixpath.dirname(place), target), depth + 1)
        return place


def _plain(content: bytes) -> Any:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def _parents(path: str) -> builtins.list[str]:
    pieces = path.split("/")
    return ["/".join(pieces[:count]) for count in range(2, len(pieces))]
