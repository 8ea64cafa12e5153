# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions against what a row of the catalog says of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"[0-9]{1,9}(?:[.-][0-9]{1,9})*")
_SPEC = re.compile(r"(?P<sign><=|>=|<|>)?(?P<low>[0-9]+(?:[.-][0-9]+)*)(?:\.\.(?P<high>[0-9]+(?:[.-][0-9]+)*))?")


def numbers(text: str | None) -> tuple[int, ...] | None:
    """The numbers a version begins with: ``"6.8.0-45-generic"`` is ``(6, 8, 0, 45)``; None where there are none."""
    match = _NUMBERS.match(text) if isinstance(text, str) else None
    return _parts(match[0]) if match else None


def is_spec(text: str) -> bool:
    """Whether a text is one that :func:`covers` understands."""
    match = _SPEC.fullmatch(text)
    return match is not None and not (match["sign"] and match["high"])


def covers(spec: str, version: tuple[int, ...]) -> bool:
    """Whether a version is one of those a row means.

    ``6.2`` means every version that begins so, ``<6.4``, ``<=6.3``, ``>6.2.1`` and ``>=7.14`` what they say, and
    ``6.2.0..6.2.1`` both and all between. Only as many numbers as the row gives are compared: 6.3.3 is ``<=6.3``.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        return False
    low = _same_length(version, match["low"])
    if match["high"]:
        high = _same_length(version, match["high"])
        return low[0] >= low[1] and high[0] <= high[1]
    signs: dict[str | None, bool] = {
        "<": low[0] < low[1],
        "<=": low[0] <= low[1],
        ">": low[0] > low[1],
        ">=": low[0] >= low[1],
    }
    return signs.get(match["sign"], low[0] == low[1])


def covered(specs: Iterable[str], text: str | None) -> bool | None:
    """Whether any of the specs covers the version; None where the version is not known."""
    version = numbers(text)
    return None if version is None else any(covers(spec, version) for spec in specs)


def _same_length(version: tuple[int, ...], text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    wanted = _parts(text)
    return (version + (0,) * len(wanted))[: len(wanted)], wanted


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.split(r"[.-]", text))
