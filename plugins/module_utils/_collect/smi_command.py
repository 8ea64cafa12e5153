# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find amd-smi or rocm-smi on a node and ask it for rows, until it stops answering."""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils import _smi, _smi_tools
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host

_SECONDS = 60.0
# The tool shall load the library and the modules of its own release, and leave nothing behind. An empty variable is
# one that is not set, to Python as to the loader.
_ENVIRONMENT = {
    "PYTHONPATH": "",
    "PYTHONHOME": "",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LD_LIBRARY_PATH": "",
}
Rows = Callable[[_smi.Decoded, str], list]


def locate(host: Host, name: str) -> str | None:
    """Path of a program of ROCm: of the active release, else of the newest one, else the distribution's; or None."""
    folders = ["/opt/rocm", *_newest_first(host, "/opt", "rocm-"), *_newest_first(host, "/opt/rocm", "core-"), "/usr"]
    return next((path for path in (f"{folder}/bin/{name}" for folder in folders) if host.exists(path)), None)


class Tool:
    """A program that is asked over and over, until it does not answer or cannot start as it is installed.

    ``timed_out`` tells that it did not answer, ``name`` is that of the program.
    """

    def __init__(self, host: Host, reading: Reading, path: str) -> None:
        self.name = path.rpartition("/")[2]
        self.timed_out = False
        self._ended = False
        self._host = host
        self._reading = reading
        self._path = path

    def ask(self, rows_of: Rows, *alternatives: tuple[str, ...]) -> list:
        """Rows of the first of several command lines that gives some; none, with a problem that says why, elsewise."""
        for arguments in alternatives:
            done = None if self._ended else self._run(arguments)
            if done is None:
                return []
            decoded = _smi.decode(done.out)
            rows = rows_of(decoded, done.out)
            last = arguments is alternatives[-1]
            self._tell(arguments[0], done, decoded if rows else None, last)
            if rows:
                return rows
        return []

    def _run(self, arguments: tuple[str, ...]) -> Completed | None:
        try:
            return self._host.run([self._path, *arguments, "--json"], timeout=_SECONDS, env=_ENVIRONMENT)
        except CommandFailed as error:
            # A GPU that hangs one command hangs the next as well.
            self._ended = True
            self.timed_out = not error.seen.startswith("cannot be started")
            self._reading.problem(f"{self.name} {arguments[0]}", f"{error.seen}; it was not asked again")
            return None

    def _tell(self, command: str, done: Completed, decoded: _smi.Decoded | None, last: bool) -> None:
        mixed = _smi.mixed_versions(f"{done.out}\n{done.err}")
        if mixed is not None:
            self._ended = True
            self._reading.problem(self.name, f"amd_smi_mixed_versions: {mixed}")
        elif decoded is None and last:
            reason = _smi_tools.failure(done.out, done.err)
            self._reading.problem(f"{self.name} {command}", f"no data, exit status {done.rc}: {reason}")
        elif decoded is not None and decoded.documents and decoded.notes:
            self._reading.problem(self.name, f"said beside its data: {'; '.join(decoded.notes[:2])}")
        elif decoded is not None and done.rc != 0:
            self._reading.problem(f"{self.name} {command}", f"exit status {done.rc} beside its data")


def _newest_first(host: Host, folder: str, prefix: str) -> list[str]:
    try:
        names = [name for name in host.list(folder) if name.startswith(prefix)]
    except Unreadable:
        return []
    return [f"{folder}/{name}" for name in sorted(names, key=_release, reverse=True)]


def _release(name: str) -> Any:
    return [int(part) for part in re.findall("[0-9]{1,6}", name)]
