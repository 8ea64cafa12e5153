# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How collectors read: once per file, and never a value without a reason when there is none."""

from __future__ import annotations

import builtins
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host, Stat


class OnePass(Host):
    """A host that is read and asked at most once for each thing: all collectors see the same moment."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen: dict[tuple[str, Any], Any] = {}

    def read_bytes(self, path: str) -> bytes:
        return self._once("read_bytes", path)

    def list(self, path: str) -> list[str]:
        return self._once("list", path)

    def readlink(self, path: str) -> str:
        return self._once("readlink", path)

    def realpath(self, path: str) -> str:
        return self._once("realpath", path)

    def exists(self, path: str) -> bool:
        return self._once("exists", path)

    def stat(self, path: str) -> Stat:
        return self._once("stat", path)

    def free_bytes(self, path: str) -> int:
        return self._once("free_bytes", path)

    def made(self, make: Callable[[Host], Any]) -> Any:
        key = ("made", make)
        if key not in self._seen:
            self._seen[key] = make(self)
        return self._seen[key]

    def read_again(self, path: str) -> str:
        return self._host.read_again(path)

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        return self._host.read_range(path, offset, size)

    def read_records(self, path: str, limit: int, seconds: float) -> bytes:
        return self._host.read_records(path, limit, seconds)

    def sleep(self, seconds: float) -> None:
        self._host.sleep(seconds)

    def run(
        self, argv: builtins.list[str], timeout: float = 60.0, stdin: str = "", env: dict[str, str] | None = None
    ) -> Completed:
        key = ("run", repr((argv, stdin, env)))
        if key not in self._seen:
            try:
                self._seen[key] = self._host.run(argv, timeout, stdin, env)
            except CommandFailed as error:
                self._seen[key] = error
        if isinstance(self._seen[key], CommandFailed):
            raise self._seen[key]
        return self._seen[key]

    def _once(self, method: str, path: str) -> Any:
        key = (method, path)
        if key not in self._seen:
            try:
                self._seen[key] = getattr(self._host, method)(path)
            except Unreadable as error:
                self._seen[key] = error
        if isinstance(self._seen[key], Unreadable):
            raise self._seen[key]
        return self._seen[key]


class Reading:
    """Reads values about one subject; what cannot be had is None and a row in ``problems``.

    Files that are not there make one row together, by :meth:`tell_absent`; files that are there and cannot be read or
    understood make one row each.

    :param problems: rows are appended to it: ``{"subset", "subject", "reason"}``.
    :param subject: what the values are about; empty for the node itself, whose rows name the file.
    """

    def __init__(self, host: Host, problems: list[dict], subset: str, subject: str = "") -> None:
        self.host = host
        self._problems = problems
        self._subset = subset
        self._subject = subject
        self._absent: list[str] = []

    def text(self, path: str, name: str = "") -> str | None:
        """Stripped text of a file; None where it cannot be had, or there is none in it."""
        return self.parsed(path, lambda content: content.strip() or None, name)

    def parsed(self, path: str, parse: Callable[[str], Any], name: str = "") -> Any:
        """What ``parse`` makes of a file's text; a parser that returns None has not understood it."""
        content = self.raw(path, name)
        if content is None:
            return None
        value = parse(content)
        if value is None:
            self.problem(name or path, f"not understood: {content.strip()[:60]!r}")
        return value

    def raw(self, path: str, name: str = "") -> str | None:
        """Whole text of a file; None where it cannot be had."""
        return self._attempt(self.host.read, path, name)

    def names(self, path: str, name: str = "") -> list[str] | None:
        """Names in a folder; None where it cannot be had."""
        return self._attempt(self.host.list, path, name)

    def problem(self, what: str, reason: str) -> None:
        """Add a row about ``what`` of the subject."""
        subject = f"{self._subject} {what}".strip()
        self._problems.append({"subset": self._subset, "subject": subject, "reason": reason})

    def tell_absent(self, why: str) -> None:
        """One row for all files that were not there; nothing where there were none."""
        names = ", ".join(dict.fromkeys(self._absent))
        if names and self._subject:
            self.problem("", f"{why}: {names}")
        elif names:
            self.problem(names, why)
        self._absent = []

    def _attempt(self, read: Callable[[str], Any], path: str, name: str) -> Any:
        try:
            return read(path)
        except Unreadable as error:
            if error.missing:
                self._absent.append(name or path)
            else:
                self.problem(name or path, error.seen)
            return None


def whole_number(text: str) -> int | None:
    """The number, or None where the text is not one."""
    stripped = text.rstrip("\0 \n").strip()
    digits = stripped[1:] if stripped.startswith("-") else stripped
    return int(stripped) if digits.isdecimal() and digits.isascii() and len(digits) < 25 else None


def bracketed(text: str) -> str | None:
    """The active one of ``always [madvise] never``; None where none is marked."""
    marked = [word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")]
    return marked[0] if len(marked) == 1 and marked[0] else None


def hexadecimal(text: str) -> str | None:
    """``0x74a1`` as ``74a1``; None where it is not a hexadecimal number."""
    # Some kernels hand out a whole page: the text, and NULs up to its end.
    digits = text.rstrip("\0 \n").strip().lower()
    digits = digits[2:] if digits.startswith("0x") else digits
    return digits if digits and not digits.strip("0123456789abcdef") else None
