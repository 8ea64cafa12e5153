# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine out of a map of files, links, commands and free bytes.

``files`` {path: text or {"error": "EIO"}}, ``links`` {path: target}, ``commands`` {"argv joined": [rc, out, err]},
``sizes`` {path: bytes} of files whose text is not the whole of them.
"""

from __future__ import annotations

import json
import os
import posixpath
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host, Stat

MACHINES = Path(__file__).parent.parent / "fixtures" / "machines"


class RecordedHost(Host):
    """Reads from the map, writes into it, and runs only the commands the map knows."""

    def __init__(self, machine: dict) -> None:
        self.files: dict = dict(machine.get("files", {}))
        self.links: dict = dict(machine.get("links", {}))
        self.commands: dict = dict(machine.get("commands", {}))
        self.free: dict = dict(machine.get("free_bytes", {}))
        self.sizes: dict = dict(machine.get("sizes", {}))
        self.modes: dict = {}
        self.ran: list[list[str]] = []
        self.slept = 0.0

    @classmethod
    def load(cls, name: str) -> "RecordedHost":
        return cls(json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8")))

    def realpath(self, path: str) -> str:
        resolved = "/"
        for part in [piece for piece in posixpath.normpath(path).split("/") if piece]:
            resolved = posixpath.join(resolved, part)
            if resolved in self.links:
                resolved = self.realpath(posixpath.join(posixpath.dirname(resolved), self.links[resolved]))
        return resolved

    def read_bytes(self, path: str) -> bytes:
        content = self.files.get(self.realpath(path))
        if content is None:
            raise Unreadable(path, "FileNotFoundError: No such file or directory", missing=True)
        if isinstance(content, dict):
            raise Unreadable(path, f"OSError: {content['error']}")
        return content.encode("utf-8") if isinstance(content, str) else content

    def exists(self, path: str) -> bool:
        return self.realpath(path) in self.files or bool(self._children(path))

    def list(self, path: str) -> list[str]:
        children = self._children(path)
        if not children:
            raise Unreadable(path, "FileNotFoundError: No such file or directory", missing=True)
        return sorted(children)

    def readlink(self, path: str) -> str:
        parent = self.realpath(posixpath.dirname(path))
        target = self.links.get(posixpath.join(parent, posixpath.basename(path)))
        if target is None:
            raise Unreadable(path, "FileNotFoundError: No such file or directory", missing=True)
        return target

    def stat(self, path: str) -> Stat:
        size = self.sizes.get(path)
        return Stat(len(self.read_bytes(path)) if size is None else size, self.modes.get(path, 0o644))

    def free_bytes(self, path: str) -> int:
        if path not in self.free:
            raise Unreadable(path, "FileNotFoundError: No such file or directory", missing=True)
        return self.free[path]

    def run(self, argv, timeout=60.0, stdin="", env=None) -> Completed:
        self.ran.append(argv)
        answer = self.commands.get(" ".join(argv))
        if answer is None:
            raise CommandFailed(argv[0], "cannot be started: No such file or directory")
        if callable(answer):
            return answer(self)
        return Completed(*answer)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        self.files[self.realpath(path)] = text
        self.modes[self.realpath(path)] = mode

    def write_bytes(self, path: str, content: bytes, mode: int | None = None) -> None:
        place = self.realpath(path)
        self.modes[place] = mode if mode is not None else self.modes.get(place, 0o644)
        self.files[place] = content

    def make_private_folder(self, path: str) -> None:
        """Folders are only in the names of the files here."""

    def write_in_place(self, path: str, text: str) -> None:
        self.read_bytes(path)
        self.files[self.realpath(path)] = text

    def remove(self, path: str) -> None:
        self.files.pop(self.realpath(path), None)
        self.modes.pop(self.realpath(path), None)

    def remove_tree(self, path: str) -> None:
        inside = path.rstrip("/") + "/"
        self.files = {name: text for name, text in self.files.items() if not name.startswith(inside)}
        self.links = {name: target for name, target in self.links.items() if not name.startswith(inside)}

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def _children(self, path: str) -> set[str]:
        prefix = self.realpath(path).rstrip("/") + os.sep
        return {name[len(prefix):].split("/")[0] for name in [*self.files, *self.links] if name.startswith(prefix)}
