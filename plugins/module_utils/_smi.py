# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode what amd-smi and rocm-smi print. The shapes change with nearly every release, and warnings stand among data.

No function here raises for any text. None means: not told. Keys come out in lower case with ``_`` between words.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

# On a line of its own, or right behind the document before.
_START = re.compile(r"(?:^|(?<=[\]}]))[ \t]*(?=[\[{])", re.MULTILINE)
_ATTEMPTS, _DEPTH, _NOTES, _LENGTH = 50, 8, 20, 200
_TEXT_LINE = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][A-Za-z0-9_ ()/-]{0,60}):(?: (?P<value>.*))?")
_CARD_LINE = re.compile(r"GPU\[(?P<number>[0-9]{1,3})\]\s*:\s*(?P<key>[^:]{1,60}?)\s*:\s*(?P<value>.*)")
_CARD = re.compile(r"card[0-9]{1,3}")
_AMOUNT = re.compile(r"(-?[0-9]{1,20}(?:\.[0-9]{1,9})?)(?: ?[A-Za-z/%°]{1,8})?")
_HEX_ID = re.compile(r"0x([0-9a-f]{1,8})")
_BDF = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_UNTOLD = re.compile(
    r"|n/?a(\b.*)?|none|null|unknown|unsupported|.*\bnot supported\b.*|\[?amdsmi_status_.*"
    r"|-1|65535|4294967295|18446744073709551615",
    re.IGNORECASE,
)
_ALL_ONES = (2**16 - 1, 2**32 - 1, 2**64 - 1)
_SPEEDS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0)
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
_ROCM_PATH = re.compile(r"/opt/rocm(?:-|/core-)([0-9]+(?:\.[0-9]+)+)/[^\s\"',:]*")
_FOREIGN_MODULE = re.compile(r"\"(/[^\"]*/(?:site|dist)-packages/amdsmi)/")


class Decoded(NamedTuple):
    """The JSON documents in an output, in order, and the lines around them: at most 20, cut to 200 characters."""

    documents: list[Any]
    notes: list[str]


def decode(text: str) -> Decoded:
    """Find every JSON document that begins on a line of its own; all else is notes."""
    decoder = json.JSONDecoder(parse_constant=lambda _name: None)
    documents, around, position, failed = [], [], 0, 0
    while failed < _ATTEMPTS:
        match = _START.search(text, position)
        if match is None:
            break
        around.append(text[position : match.end()])
        try:
            document, position = decoder.raw_decode(text, match.end())
            documents.append(_plain(document, _DEPTH))
        except (ValueError, RecursionError):
            failed += 1
            position = match.end() + 1
            around[-1] += text[match.end()]
    around.append(text[position:])
    return Decoded(documents, _lines("".join(around))[:_NOTES])


def gpu_rows(documents: list[Any]) -> list[dict]:
    """Rows about GPUs: of a list, or of the list under ``gpu_data``. A list under any other key is not guessed at."""
    lists = [document.get("gpu_data") if isinstance(document, dict) else document for document in documents]
    return [row for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, dict) and "gpu" in row]


def text_rows(text: str) -> list[dict]:
    """The same rows from the form for people, told by indentation; a key that repeats has a list of values."""
    rows: list[dict] = []
    inside: list[tuple[int, dict]] = []
    for line in text.split("\n"):
        match = _TEXT_LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        key, value, indent = _name(match["key"]), match["value"], len(match["indent"])
        inside = [(depth, node) for depth, node in inside if depth < indent]
        if key == "gpu" and value and not inside:
            rows.append({"gpu": value.strip()})
            inside = [(indent, rows[-1])]
        elif inside and len(inside) < _DEPTH:
            inside.append((indent, _put(inside[-1][1], key, value)))
    return rows


def card_rows(decoded: Decoded, text: str) -> list[dict]:
    """Rows of rocm-smi, one per ``cardN`` of its JSON or per ``GPU[N]`` of its text; ``gpu`` is the N."""
    cards = [
        {**card, "gpu": name[4:]}
        for document in decoded.documents
        if isinstance(document, dict)
        for name, card in document.items()
        if _CARD.fullmatch(name) and isinstance(card, dict)
    ]
    return cards or _card_lines(text)


def told(value: Any) -> Any:
    """The value itself, without its unit; None for each of the ways to say that there is none."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str):
        return None if _UNTOLD.fullmatch(value.strip()) else value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if value in _ALL_ONES or value < 0 or math.isnan(value) else value
    return value if isinstance(value, bool) else None


def number(value: Any) -> int | float | None:
    """A number that is not negative, with or without a unit behind it."""
    known = told(value)
    if isinstance(known, str):
        match = _AMOUNT.fullmatch(known)
        return told(float(match[1]) if "." in match[1] else int(match[1])) if match else None
    return None if isinstance(known, bool) else known


def count(value: Any) -> int | None:
    """A whole number that is not negative."""
    known = number(value)
    return known if isinstance(known, int) else None


def text_of(value: Any) -> str | None:
    """A text, at most 200 characters of it."""
    known = told(value)
    return None if known is None or isinstance(known, bool) else str(known)[:_LENGTH]


def flag(value: Any) -> bool | None:
    """True or False, as JSON or as text."""
    known = told(value)
    words = {"true": True, "yes": True, "false": False, "no": False}
    return known if isinstance(known, bool) else words.get(known.lower()) if isinstance(known, str) else None


def hex_id(value: Any) -> str | None:
    """A PCI id as four hex digits: ``0x74A1`` as ``74a1``; None for ``0xffff``."""
    known = told(value)
    match = _HEX_ID.fullmatch(known.lower()) if isinstance(known, str) else None
    identity = int(match[1], 16) if match else known
    fits = isinstance(identity, int) and not isinstance(identity, bool) and 0 < identity < _ALL_ONES[0]
    return f"{identity:04x}" if fits else None


def bdf_of(value: Any) -> str | None:
    """A PCI address with its domain, in lower case."""
    known = told(value)
    match = _BDF.fullmatch(known.lower()) if isinstance(known, str) else None
    return f"{match[1] or '0000'}:{match[2]}" if match else None


def speed_gts(value: Any) -> float | None:
    """A speed of PCI Express in GT/s; releases differ in whether they count in GT/s or in MT/s."""
    known = number(value)
    speed = None if known is None else known / 1000 if known >= 1000 else float(known)
    return speed if speed in _SPEEDS else None


def lanes(value: Any) -> int | None:
    """A width of PCI Express."""
    known = number(value)
    return int(known) if known in _WIDTHS else None


def mixed_versions(text: str) -> str | None:
    """What the parts of different releases are, where a traceback tells that they were loaded together; else None."""
    if "Traceback" not in text and "undefined symbol" not in text:
        return None
    paths = {match[0]: match[1] for match in _ROCM_PATH.finditer(text)}
    releases = sorted(set(paths.values()))
    modules = sorted({match[1] for match in _FOREIGN_MODULE.finditer(text) if not match[1].startswith("/opt/rocm")})
    if len(releases) + len(modules) < 2:
        return None
    kinds = [("library" if ".so" in path else "command", release, path) for path, release in paths.items()]
    parts = [f"{kind} {release} ({path})" for kind, release, path in kinds] + [f"module {path}" for path in modules]
    return ", ".join(dict.fromkeys(parts))[: 3 * _LENGTH]


def last_line(text: str) -> str:
    """The last line with something on it, cut: of a traceback the one that says what happened."""
    lines = [line for line in _lines(text[-10 * _LENGTH :]) if not line.startswith("===")]
    return lines[-1] if lines else ""


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {_name(key): _plain(inner, depth - 1) for key, inner in value.items()}
    return [_plain(inner, depth - 1) for inner in value] if isinstance(value, list) else value


def _name(key: str) -> str:
    return "_".join(key.lower().replace("-", " ").replace(":", " ").split())


def _lines(text: str) -> list[str]:
    return [line.strip()[:_LENGTH] for line in text.splitlines() if line.strip().strip("[]{}, \t")]


def _put(node: dict, key: str, value: str | None) -> dict:
    """Add a key to a node and give what is below it: a new node where the key has no value."""
    below: dict = {}
    new = value.strip() if value and value.strip() else below
    if key not in node:
        node[key] = new
    elif isinstance(node[key], list):
        node[key].append(new)
    else:
        node[key] = [node[key], new]
    return below


def _card_lines(text: str) -> list[dict]:
    cards: dict[str, dict] = {}
    for line in text.split("\n"):
        match = _CARD_LINE.fullmatch(line.strip())
        if match:
            cards.setdefault(match["number"], {"gpu": match["number"]}).setdefault(_name(match["key"]), match["value"])
    return list(cards.values())
