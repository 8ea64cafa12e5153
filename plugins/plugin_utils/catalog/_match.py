# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions against what a row of the catalog says of them. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError

_NUMBERS = re.compile(r"[0-9]{1,9}(?:[.-][0-9]{1,9})*")
_SPEC = re.compile(r"(?P<sign><=|>=|<|>)?(?P<low>[0-9]+(?:[.-][0-9]+)*)(?:\.\.(?P<high>[0-9]+(?:[.-][0-9]+)*))?")


def numbers(text: str | None) -> tuple[int, ...] | None:
    """The numbers a version begins with: ``"6.8.0-45-generic"`` is ``(6, 8, 0, 45)``; None where there are none."""
    return _numbers(text) if isinstance(text, str) else None


def is_spec(text: str) -> bool:
    """Whether a text is one that :func:`covers` understands."""
    match = _SPEC.fullmatch(text)
    return match is not None and not (match["sign"] and match["high"])


def covers(spec: str, version: tuple[int, ...]) -> bool:
    """Whether a version is one of those a row means.

    ``6.2`` means every version that begins so, ``<6.4``, ``<=6.3``, ``>6.2.1`` and ``>=7.14`` what they say, and
    ``6.2.0..6.2.1`` both and all between. Only as many numbers as the row gives are compared: 6.3.3 is ``<=6.3``.
    """
    sign, low, high = _read(spec)
    if high is not None:
        return _begin(version, low) >= low and _begin(version, high) <= high
    begin = _begin(version, low)
    signs = {"": begin == low, "<": begin < low, "<=": begin <= low, ">": begin > low, ">=": begin >= low}
    return signs[sign]


def covered(specs: Iterable[str], text: str | None) -> bool | None:
    """Whether any of the specs covers the version; None where the version is not known."""
    version = numbers(text)
    return None if version is None else any(covers(spec, version) for spec in specs)


# A fleet has few versions, and every question to the catalog compares them with every row.
@functools.lru_cache(maxsize=4096)
def _numbers(text: str) -> tuple[int, ...] | None:
    match = _NUMBERS.match(text)
    return _parts(match[0]) if match else None


@functools.lru_cache(maxsize=4096)
def _read(spec: str) -> tuple[str, tuple[int, ...], tuple[int, ...] | None]:
    match = _SPEC.fullmatch(spec)
    if match is None or (match["sign"] and match["high"]):
        raise ParseError("versions", repr(spec), "how they begin, a bound (<6.4) or a span (6.2.0..6.2.1)")
    return match["sign"] or "", _parts(match["low"]), _parts(match["high"]) if match["high"] else None


def _begin(version: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    return (version + (0,) * len(wanted))[: len(wanted)]


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.split(r"[.-]", text))
