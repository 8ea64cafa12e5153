# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of ``lspci -vvv``, of old and new pciutils. Pure.

Words like ``(ok)`` and ``(downgraded)`` are passed over: newer versions print the first no more, and the second only at
one end of a link. What counts is the numbers.
"""

from __future__ import annotations

import re
from typing import Any, Iterable

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import known_speed, parse_width

_HEADER = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_CLASS = re.compile(r" ?\[([0-9a-f]{4})\]:")
_SPEED = re.compile(r"Speed ([0-9]{1,3}(?:\.[0-9])?) ?G[Tb]/s")
_WIDTH = re.compile(r"Width x([0-9]{1,3})\b")
_ENABLED = re.compile(r"ASPM ((?:L0s ?)?(?:L1 ?)?)Enabled")
_SUPPORTED = re.compile(r"ASPM (L0s L1|L0s|L1|not supported)(?=,|$|\s)")
_TARGET = re.compile(r"Target Link Speed: ([0-9]{1,3}(?:\.[0-9])?)GT/s")
# Older versions spell two of the bits differently.
_BITS = {
    "correctable": ("CorrErr",),
    "nonfatal": ("NonFatalErr", "UncorrErr"),
    "fatal": ("FatalErr",),
    "unsupported": ("UnsupReq", "UnsuppReq"),
}
_GONE = "!!! Unknown header type 7f"
_HIDDEN = "<access denied>"


def parse_lspci(text: str, wanted: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Devices by full BDF, in the form of :func:`parse_device`.

    :param wanted: BDFs to look at; all where there are none.
    """
    blocks: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        match = _HEADER.match(line)
        if match:
            bdf = match[1] if match[1].count(":") == 2 else f"0000:{match[1]}"
            lines = blocks.setdefault(bdf, [])
        if lines is not None:
            lines.append(line)
    names = blocks if wanted is None else [bdf for bdf in wanted if bdf in blocks]
    return {bdf: parse_device("\n".join(blocks[bdf])) for bdf in names}


def parse_device(text: str) -> dict[str, Any]:
    """What the text about one device says; keys as in the hops of ``link`` (docs/contracts.md), all of them there.

    A value that the text does not have is None. ``reason`` says why there is none about the link.
    """
    identity = _identity(text.split("\n", 1)[0])
    if _GONE in text:
        return {**identity, **_nothing(), "answers": False, "reason": "the device does not answer: header type 7f"}
    lines = _labelled(text)
    facts: dict[str, Any] = {**_nothing(), **identity, "answers": True}
    facts["speed_gts"], facts["width"] = _speed(lines.get("LnkSta")), _width(lines.get("LnkSta"))
    facts["max_speed_gts"], facts["max_width"] = _speed(lines.get("LnkCap")), _width(lines.get("LnkCap"))
    facts["aspm"] = _aspm(lines)
    facts["target_speed_gts"] = _target(lines.get("LnkCtl2", ""))
    facts["autonomous_speed"] = _flag(lines.get("LnkCtl2"), ("SpeedDis",), wanted="-")
    facts["device_errors"] = _errors(lines.get("DevSta"))
    if "LnkSta" not in lines:
        hidden = "capabilities are shown to root only" if _HIDDEN in text else "no state of a link in it"
        facts["reason"] = hidden
    return facts


def _nothing() -> dict[str, Any]:
    keys = ("speed_gts", "width", "max_speed_gts", "max_width", "target_speed_gts", "autonomous_speed", "device_errors")
    aspm = {"l0s": None, "l1": None, "supported": None}
    return {**dict.fromkeys(keys), "answers": None, "aspm": aspm, "reason": None}


def _identity(header: str) -> dict[str, str | None]:
    ids, kind = _IDS.findall(header), _CLASS.search(header)
    return {
        "vendor_id": ids[-1][0] if ids else None,
        "device_id": ids[-1][1] if ids else None,
        "class": kind[1] if kind else None,
    }


def _labelled(text: str) -> dict[str, str]:
    """The first line of each label, with the lines that go on below it."""
    found: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        words = line.split(None, 1)
        name = words[0] if words else ""
        if name.endswith(":") and name[:-1] in ("LnkCap", "LnkCtl", "LnkSta", "LnkCtl2", "DevSta"):
            label = name[:-1] if name[:-1] not in found else ""
            if label:
                found[label] = words[1].strip() if len(words) > 1 else ""
        elif name.endswith(":") or name.startswith("Capabilities"):
            label = ""
        elif label:
            found[label] += " " + line.strip()
    return found


def _speed(line: str | None) -> float | None:
    match = _SPEED.search(line or "")
    return known_speed(match[1]) if match else None


def _width(line: str | None) -> int | None:
    match = _WIDTH.search(line or "")
    return parse_width(match[1]) if match else None


def _target(line: str) -> float | None:
    match = _TARGET.search(line)
    # The lowest speed is printed for a register that says nothing as well.
    return known_speed(match[1]) if match and match[1] != "2.5" else None


def _aspm(lines: dict[str, str]) -> dict[str, Any]:
    control, capable = lines.get("LnkCtl", ""), lines.get("LnkCap", "")
    on = _ENABLED.search(control)
    # A device inside the root complex has no link, and none of its registers means anything.
    known = (bool(on and on[1]) or control.startswith("ASPM Disabled")) and "Width x0" not in capable
    states = {state.lower(): (bool(on and state in on[1]) if known else None) for state in ("L0s", "L1")}
    able = _SUPPORTED.search(capable)
    supported = [state.lower() for state in ("L0s", "L1") if state in able[1]] if able else None
    return {**states, "supported": supported}


def _errors(line: str | None) -> list[str] | None:
    bits = {name: _flag(line, spellings, wanted="+") for name, spellings in _BITS.items()}
    return None if None in bits.values() else [name for name, bit in bits.items() if bit]


def _flag(line: str | None, names: tuple[str, ...], wanted: str) -> bool | None:
    match = re.search(rf"\b(?:{'|'.join(names)})([+-])", line or "")
    return match[1] == wanted if match else None
