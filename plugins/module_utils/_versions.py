# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions: of releases, of AMD's packages, and the orders that dpkg and rpm put versions in."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError

_RELEASE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_ENCODED = re.compile(
    r"(?:[0-9]+:)?(?P<own>[0-9][0-9A-Za-z.+~]*)\.(?P<code>[0-9]{5,8})(?:-(?P<build>[0-9A-Za-z.+~^_]+))?"
)
_DEBIAN = re.compile(
    r"(?:(?P<epoch>[0-9]{1,9}):)?(?P<upstream>[0-9A-Za-z][0-9A-Za-z.+~:-]*?)(?:-(?P<revision>[0-9A-Za-z.+~]+))?"
)
_PARTS = re.compile(r"([^0-9]*)([0-9]*)")
_RPM = re.compile(r"(?:(?P<epoch>[0-9]{1,9}):)?(?P<version>[!-,.-9;-~]+)(?:-(?P<release>[!-,.-9;-~]+))?")
_RPM_PARTS = re.compile(r"[0-9]+|[A-Za-z]+|[~^]")
# In the order of rpm a text that ends stands between its two special marks.
_MARKS = {"~": (0,), "^": (2,)}
_END = (1,)


def parse_version(text: str) -> tuple[int, ...]:
    """The numbers of a dotted release: ``"7.14"`` is ``(7, 14)``.

    :raises ParseError: for anything but digits and single dots.
    """
    stripped = str(text).strip()
    if not _RELEASE.fullmatch(stripped):
        raise ParseError("version", f"{text!r}", "numbers joined by dots, such as 7.0.2")
    return tuple(int(part) for part in stripped.split("."))


def compare(a: str, b: str) -> int:
    """-1, 0 or 1 as release ``a`` is older than, the same as or newer than ``b``; ``7.1`` and ``7.1.0`` are the same.

    :raises ParseError: where either is not a dotted release.
    """
    left, right = parse_version(a), parse_version(b)
    length = max(len(left), len(right))
    return _sign(left + (0,) * (length - len(left)), right + (0,) * (length - len(right)))


def release_of_rocm_package(version: str) -> str | None:
    """The ROCm release in a user-space package's version: ``0.14.0.60303-74`` is ``6.3.3``; or None."""
    code = _code(version)
    return _five_digits(code) if code and len(code) <= 6 else None


def release_of_driver_package(version: str) -> str | None:
    """The driver release in an amdgpu-dkms version; None where there is none.

    Up to 6.4 the driver was numbered like ROCm (``60404``); from then on it has its own (``30100200`` is 30.10.2).
    """
    code = _code(version)
    if code is None:
        return None
    return _five_digits(code) if len(code) <= 6 else _eight_digits(code)


def module_of_driver_package(version: str) -> tuple[str, str] | None:
    """Module version and build of an amdgpu-dkms package, which dkms joins: ``("6.14.14", "2226257.22.04")``."""
    match = _ENCODED.fullmatch(str(version).strip())
    if match is None or match["build"] is None or release_of_driver_package(version) is None:
        return None
    return match["own"], match["build"]


def compare_debian(a: str, b: str) -> int:
    """-1, 0 or 1 in the order of dpkg: epoch, upstream version, revision; a tilde sorts before the end of the text.

    :raises ParseError: where either is not a version dpkg would take.
    """
    left, right = _split_debian(a), _split_debian(b)
    if left[0] != right[0]:
        return _sign(left[0], right[0])
    return _compare_part(left[1], right[1]) or _compare_part(left[2], right[2])


def compare_rpm(a: str, b: str) -> int:
    """-1, 0 or 1 in the order of rpm: epoch, version, release; ``~`` sorts before the end of the text, ``^`` after it.

    A missing epoch is 0, a missing release sorts before every other.

    :raises ParseError: where either is not [epoch:]version[-release].
    """
    return _sign(_split_rpm(a), _split_rpm(b))


def _sign(a: Any, b: Any) -> int:
    return (a > b) - (a < b)


def _code(version: str) -> str | None:
    match = _ENCODED.fullmatch(str(version).strip())
    return match["code"] if match else None


def _five_digits(code: str) -> str | None:
    major, minor, patch = int(code[:-4]), int(code[-4:-2]), int(code[-2:])
    return f"{major}.{minor}.{patch}" if 3 <= major < 30 and code[0] != "0" else None


def _eight_digits(code: str) -> str | None:
    major, minor, patch = int(code[:-6]), int(code[-6:-4]), int(code[-4:-2])
    return f"{major}.{minor}.{patch}" if len(code) == 8 and major >= 30 else None


def _split_debian(text: str) -> tuple[int, str, str]:
    match = _DEBIAN.fullmatch(str(text).strip())
    if match is None or (match["epoch"] is None and ":" in match["upstream"]):
        raise ParseError("package version", f"{text!r}", "[epoch:]version[-revision]")
    return int(match["epoch"] or 0), match["upstream"], match["revision"] or ""


def _split_rpm(text: str) -> tuple[int, list[tuple], list[tuple]]:
    match = _RPM.fullmatch(str(text).strip())
    if match is None:
        raise ParseError("package version", f"{text!r}", "[epoch:]version[-release]")
    return int(match["epoch"] or 0), _rpm_order(match["version"]), _rpm_order(match["release"] or "")


def _rpm_order(part: str) -> list[tuple]:
    return [*(_rpm_weight(piece) for piece in _RPM_PARTS.findall(part)), _END]


def _rpm_weight(piece: str) -> tuple:
    if piece in _MARKS:
        return _MARKS[piece]
    # Numbers may be longer than int() takes, so they are ordered by length, then as text.
    digits = piece.lstrip("0")
    return (4, len(digits), digits) if piece[0].isdigit() else (3, piece)


def _compare_part(a: str, b: str) -> int:
    pairs = zip_longest(_sortable(a), _sortable(b), fillvalue=([0], 0))
    return next((_sign(left, right) for left, right in pairs if left != right), 0)


def _sortable(part: str) -> list[tuple[list[int], int]]:
    pieces = [(match[1], match[2]) for match in _PARTS.finditer(part)]
    return [([_weight(char) for char in letters] + [0], int(digits or 0)) for letters, digits in pieces]


def _weight(char: str) -> int:
    if char == "~":
        return -1
    return ord(char) if char.isalpha() else ord(char) + 256
