# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine out of a map, and the map of a machine: what was read of a node, to be read again elsewhere.

The map is plain JSON:

* ``files`` {path: content}; content is text, ``{"base64": "..."}``, ``{"error": "EIO"}`` where it cannot be read,
  ``{"series": [content, ...]}`` where it changes from reading to reading, or ``{"parts": {"0:64": base64}, "size": n}``
  where only ranges were read;
* ``links`` {path: target}, ``folders`` [path of an empty folder];
* ``commands`` {"argv joined by blanks": [rc, out, err] or {"error": "why it did not end"}};
* ``free_bytes`` {folder: bytes}, ``sizes`` {path: bytes} and ``modified`` {path: seconds since 1970} where they matter.
"""

from __future__ import annotations

import base64
import builtins
import posixpath
from typing import Any, Mapping

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host, Stat

_MISSING = "FileNotFoundError: No such file or directory"


class Recording(Host):
    """Reads from the map, and knows only the commands that the map has an answer for; it cannot be written to."""

    def __init__(self, machine: Mapping[str, Any]) -> None:
        self.files: dict = dict(machine.get("files", {}))
        self.links: dict = dict(machine.get("links", {}))
        self.commands: dict = dict(machine.get("commands", {}))
        self.free: dict = dict(machine.get("free_bytes", {}))
        self.sizes: dict = dict(machine.get("sizes", {}))
        self.modified: dict = dict(machine.get("modified", {}))
        self.empty = frozenset(machine.get("folders", ()))
        self.modes: dict = {}
        self.ran: builtins.list[builtins.list[str]] = []
        self.slept = 0.0
        self._resolved: dict[str, str] = {}
        self._readings: dict[str, int] = {}
        self._folders: dict[str, set[str]] | None = None

    def realpath(self, path: str) -> str:
        if path not in self._resolved:
            self._resolved[path] = self._resolve(path)
        return self._resolved[path]

    def _resolve(self, path: str) -> str:
        resolved = "/"
        for part in [piece for piece in posixpath.normpath(path).split("/") if piece]:
            resolved = posixpath.join(resolved, part)
            if resolved in self.links:
                resolved = self.realpath(posixpath.join(posixpath.dirname(resolved), self.links[resolved]))
        return resolved

    def read_bytes(self, path: str) -> bytes:
        return self._content(path, self.files.get(self.realpath(path)), 0)

    def read_again(self, path: str) -> str:
        place = self.realpath(path)
        self._readings[place] = self._readings.get(place, 0) + 1
        return self._content(path, self.files.get(place), self._readings[place]).decode("utf-8", "replace")

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        content = self.files.get(self.realpath(path))
        if isinstance(content, dict) and "parts" in content:
            part = content["parts"].get(f"{offset}:{size}")
            if part is None:
                raise Unreadable(path, "this range was not recorded")
            return base64.b64decode(part)
        whole = self.read_bytes(path)
        start = offset if offset >= 0 else max(0, len(whole) + offset)
        return whole[start : start + size]

    def read_records(self, path: str, limit: int, seconds: float) -> bytes:
        return self.read_bytes(path)[:limit]

    def exists(self, path: str) -> bool:
        place = self.realpath(path)
        return place in self.files or place in self.empty or place in self._tree()

    def list(self, path: str) -> builtins.list[str]:
        place = self.realpath(path)
        names = self._tree().get(place)
        if not names and place in self.empty:
            return []
        if not names:
            raise Unreadable(path, _MISSING, missing=True)
        return sorted(names)

    def readlink(self, path: str) -> str:
        parent = self.realpath(posixpath.dirname(path))
        target = self.links.get(posixpath.join(parent, posixpath.basename(path)))
        if target is None:
            raise Unreadable(path, _MISSING, missing=True)
        return target

    def stat(self, path: str) -> Stat:
        place = self.realpath(path)
        content = self.files.get(place)
        known = self.sizes.get(place, self.sizes.get(path))
        if known is None and isinstance(content, dict) and "parts" in content:
            known = content["size"]
        size = len(self.read_bytes(path)) if known is None else known
        return Stat(size, self.modes.get(place, 0o644), self.modified.get(place, self.modified.get(path)))

    def free_bytes(self, path: str) -> int:
        if path not in self.free:
            raise Unreadable(path, _MISSING, missing=True)
        return self.free[path]

    def run(
        self, argv: builtins.list[str], timeout: float = 60.0, stdin: str = "", env: dict[str, str] | None = None
    ) -> Completed:
        self.ran.append(argv)
        answer = self.commands.get(" ".join(argv))
        if isinstance(answer, dict):
            raise CommandFailed(argv[0], answer.get("error", "not recorded"), "an end")
        if answer is None:
            raise CommandFailed(argv[0], "cannot be started: No such file or directory")
        return Completed(*answer)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def _content(self, path: str, content: Any, reading: int) -> bytes:
        if content is None:
            raise Unreadable(path, _MISSING, missing=True)
        if isinstance(content, str):
            return content.encode("utf-8")
        if isinstance(content, bytes):
            return content
        if "series" in content:
            return self._content(path, content["series"][min(reading, len(content["series"]) - 1)], 0)
        if "base64" in content:
            return base64.b64decode(content["base64"])
        reason = str(content.get("error", "only parts of it were recorded"))
        raise Unreadable(path, reason if ": " in reason else f"OSError: {reason}")

    def _tree(self) -> dict[str, set[str]]:
        if self._folders is None:
            self._folders = {}
            for name in [*self.files, *self.links]:
                while name != "/":
                    parent, _slash, child = name.rpartition("/")
                    self._folders.setdefault(parent or "/", set()).add(child)
                    name = parent or "/"
        return self._folders
