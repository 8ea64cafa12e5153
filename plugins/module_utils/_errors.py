# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one family of errors that an operator may see."""

from __future__ import annotations


class FleetError(Exception):
    """Something an operator can act on: the subject, what was seen, what was wanted and what to do.

    :param subject: what it is about: a file, a node, a key.
    :param seen: what was found there.
    :param wanted: what would have been right; optional.
    :param fix: what to do about it; optional.
    """

    def __init__(self, subject: str, seen: str, wanted: str = "", fix: str = "") -> None:
        self.subject = subject
        self.seen = seen
        self.wanted = wanted
        self.fix = fix
        super().__init__(self._sentence())

    def add(self, note: str) -> None:
        """Add what went wrong besides to what was seen."""
        self.seen = f"{self.seen}; and {note}"
        self.args = (self._sentence(),)

    def _sentence(self) -> str:
        parts = [f"{self.subject}: {self.seen}"]
        if self.wanted:
            parts.append(f"wanted: {self.wanted}")
        if self.fix:
            parts.append(f"fix: {self.fix}")
        return "; ".join(parts)


class ParseError(FleetError):
    """A text that is not of the form it should have."""


class Unreadable(FleetError):
    """A file or link of the node that is there but cannot be read, or is not there at all.

    :param missing: true only where the file does not exist; an I/O or permission error is not "missing".
    """

    def __init__(self, subject: str, seen: str, missing: bool = False) -> None:
        self.missing = missing
        super().__init__(subject, seen)


class UnsupportedPlatform(FleetError):
    """A node whose operating system or boot loader this part cannot change."""


class CommandFailed(FleetError):
    """A program on the node that did not do what it was asked; carries its output."""

    def __init__(self, subject: str, seen: str, wanted: str = "", fix: str = "", output: str = "") -> None:
        self.output = output
        super().__init__(subject, seen, wanted, fix)


class TransactionFailed(CommandFailed):
    """A change of packages or settings that failed; ``kind`` names the cause for the ledger.

    :param kind: package_manager_locked, dkms_build_failed, disk_full, file_conflict, repository_unreachable,
        repository_untrusted, version_unavailable, unmet_dependencies or unknown.
    """

    def __init__(self, kind: str, subject: str, seen: str, wanted: str = "", fix: str = "", output: str = "") -> None:
        self.kind = kind
        super().__init__(subject, seen, wanted, fix, output)
