# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded machine that can be written to as well; commands may be functions of the machine."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording

MACHINES = Path(__file__).parent.parent / "fixtures" / "machines"


class Watched(dict):
    """A map that tells its machine when names come and go, since tests change files behind its back."""

    def __init__(self, items, changed):
        super().__init__(items)
        self._changed = changed

    def __setitem__(self, key, value):
        if key not in self or value != self[key]:
            self._changed()
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self._changed()
        super().__delitem__(key)

    def update(self, *more, **named):
        self._changed()
        super().update(*more, **named)

    def pop(self, *words):
        self._changed()
        return super().pop(*words)


class RecordedHost(Recording):
    """Reads from the map, writes into it, and runs only the commands the map knows."""

    def __setattr__(self, name, value):
        if name in ("files", "links"):
            self._forget()
            value = Watched(value, self._forget)
        super().__setattr__(name, value)

    def _forget(self) -> None:
        self.__dict__.update(_folders=None, _resolved={})

    @classmethod
    def load(cls, name: str) -> "RecordedHost":
        return cls(json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8")))

    def run(self, argv, timeout=60.0, stdin="", env=None) -> Completed:
        answer = self.commands.get(" ".join(argv))
        if callable(answer):
            self.ran.append(argv)
            return answer(self)
        return super().run(argv, timeout, stdin, env)

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
