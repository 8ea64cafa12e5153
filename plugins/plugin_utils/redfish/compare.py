# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as BMCs write them, compared by scheme; None wherever there is no order that one could rest on. Pure."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils import _firmware

MAKER = "maker"
SCHEMES = (MAKER, "dotted", "integer", "hex_bytes", "pi", "ifwi", "part_number")
_DATE = re.compile(r"\s*\((\d{1,2}/\d{1,2}/\d{4}|\d{4}-\d\d-\d\d)\)$|\s+[A-Z][a-z]{2} \d{1,2} \d{4}$")
_FAMILY = re.compile(r"(?P<family>[A-Z]\d{2})\s+v(?P<rest>\d.*)", re.IGNORECASE)
_HEX = re.compile(r"0x[0-9a-f]{1,16}", re.IGNORECASE)
_TOKEN = re.compile(r"\d+|[a-z]+", re.IGNORECASE)
_REVISION = frozenset(("rev", "revision", "build"))


def normal(scheme: str, text: str) -> str | None:
    """The canonical form of a version; None where the text is none of the scheme."""
    if scheme != MAKER:
        return _firmware.normalise(scheme, text)
    family, tokens = _tokens(text)
    return " ".join([*([family] if family else []), *map(str, tokens)]) if tokens else None


def order(scheme: str, one: str, other: str) -> int | None:
    """-1, 0 or 1 as the first is older than, the same as or newer than the other; None where there is no order.

    Versions of makers: dates and a leading v do not count, zeros in front of a number do not, everything else does; a
    letter counts after the numbers before it. One that is the beginning of the other is neither older nor the same:
    a maker may write the same version in more words.
    """
    if normal(scheme, one) is None or normal(scheme, other) is None:
        return None
    if scheme == "part_number":
        return _of_parts(one, other)
    if scheme != MAKER:
        return _firmware.compare(scheme, one, other)
    (family, first), (other_family, second) = _tokens(one), _tokens(other)
    if family != other_family or _is_hex(one) != _is_hex(other) and len(first) != len(second):
        return None
    for number, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return _of_tokens(a, b, first[:number])
    return 0 if len(first) == len(second) else None


def _of_tokens(a: int | str, b: int | str, before: list[int | str]) -> int | None:
    if isinstance(a, int) and isinstance(b, int):
        return -1 if a < b else 1
    letters = isinstance(a, str) and isinstance(b, str) and len(a) == len(b) == 1
    if letters and any(isinstance(token, int) for token in before):
        return -1 if str(a) < str(b) else 1
    return None


def _of_parts(one: str, other: str) -> int | None:
    """Of one part the last group counts the releases; there is no order between parts."""
    first, second = (text.strip().upper().removeprefix("113-") for text in (one, other))
    if first == second:
        return 0
    (base, _dash, last), (other_base, _dash, other_last) = first.rpartition("-"), second.rpartition("-")
    if base != other_base or not (last.isdecimal() and other_last.isdecimal()):
        return None
    return -1 if int(last) < int(other_last) else 1


def same_part(one: str, other: str) -> bool:
    """Whether two part numbers are of one part, whatever their release."""
    bases = {text.strip().upper().removeprefix("113-").rpartition("-")[0] for text in (one, other)}
    return len(bases) == 1 and bases != {""}


def _is_hex(text: str) -> bool:
    return _HEX.fullmatch(text.strip()) is not None


def _tokens(text: str) -> tuple[str, list[int | str]]:
    text = _DATE.sub("", text.strip())
    if _is_hex(text):
        return "", [int(text, 16)]
    match = _FAMILY.fullmatch(text)
    family, rest = (match["family"].upper(), match["rest"]) if match else ("", text)
    rest = rest[1:] if re.match(r"v\d", rest, re.IGNORECASE) else rest
    words = [token.lower() for token in _TOKEN.findall(rest)]
    return family, [int(word) if word.isdecimal() else word for word in words if word not in _REVISION]
