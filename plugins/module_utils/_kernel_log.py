# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log as records: /dev/kmsg, dmesg in all its forms, the journal. Pure.

A log is whatever a machine or a user sends, so no line is an error here: one that is not understood is a line as well.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LINE = 4096  # A record of the kernel is never longer than twice this; a line of a strange file may be.
_KERNEL = 8  # The facility of the kernel is 0: priorities from here on are messages of programs.
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
_DATES = (
    r"\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] |\[\w{3}\d\d \d\d:\d\d\] |\w{3} +\d+ [\d:]{8} |\d\d:\d\d:\d\d |"
    r"\d{4}-\d\d-\d\dT[\d:.,]{8,18}(?:[+-]\d\d:?\d\d|Z)? "
)
_PREFIX = re.compile(
    r"(?:<\d{1,4}>)?"
    r"(?:(?P<facility>[a-z][a-z0-9]{1,9}) *:[a-z]+ *: )?"
    rf"(?:{_DATES})?"
    r"(?:(?:[\w.-]{1,64} )?kernel: )?"
    r"(?:\[ *(?P<seconds>\d{1,12}\.\d{1,9})(?: <[^>\]]{0,20}>)?\](?:\[ *[TC]\d+\])? ?(?:[\w.-]{1,64} kernel: )?)?"
)


class Record:
    """One message. ``time`` is in seconds since boot, None where the text does not say; ``device`` the PCI function.

    ``sequence`` is that of /dev/kmsg; ``kernel`` is false for messages that a program wrote into the log.
    """

    # A plain class: a log has many of them, and the node would load dataclasses for nothing else.
    __slots__ = ("device", "kernel", "sequence", "text", "time")

    def __init__(self, time: float | None, text: str, sequence: int | None = None, kernel: bool = True) -> None:
        self.time, self.text, self.sequence, self.kernel = time, text, sequence, kernel
        self.device: str | None = None


def parse(text: str) -> list[Record]:
    """The records of a log, whatever form it has, one for each line but those that carry a record's properties."""
    records: list[Record] = []
    for line in text.split("\n"):
        if line.startswith(" ") and records and records[-1].sequence is not None:
            if line.startswith(" DEVICE=+pci:"):
                records[-1].device = line[13:].strip()
        elif line and not line.isspace():
            records.append(_kmsg(line) or _journal(line) or _plain(line))
    return records


def lost(records: list[Record]) -> tuple[int, int]:
    """How many records of /dev/kmsg are missing before the first, and after it; (0, 0) for other forms of a log."""
    numbers = [record.sequence for record in records if record.sequence is not None]
    return (numbers[0], max(0, numbers[-1] - numbers[0] + 1 - len(numbers))) if numbers else (0, 0)


def starts_with_boot(records: list[Record]) -> bool:
    """Whether the first lines of a boot are there."""
    return any("Linux version " in record.text or "Booting Linux on" in record.text for record in records[:10])


def _kmsg(line: str) -> Record | None:
    head, found, text = line.partition(";")
    fields = head.split(",", 3)
    if not found or len(fields) < 4 or not all(part.isdecimal() and len(part) < 20 for part in fields[:3]):
        return None
    if "\\x" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return Record(int(fields[2]) / 1e6, text[:_LINE], int(fields[1]), int(fields[0]) < _KERNEL)


def _journal(line: str) -> Record | None:
    if not line.startswith("{") or '"' not in line:
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return Record(_monotonic(entry), _message(entry.get("MESSAGE"))[:_LINE])


def _message(value: Any) -> str:
    # The journal writes a text that is not UTF-8 as the list of its bytes.
    if isinstance(value, list):
        return bytes(part for part in value if isinstance(part, int) and 0 <= part < 256).decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _monotonic(entry: dict) -> float | None:
    for name in ("_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP"):
        text = entry.get(name)
        if isinstance(text, str) and text.isdecimal() and len(text) < 20:
            return int(text) / 1e6
    return None


def _plain(line: str) -> Record:
    line = line[:_LINE].rstrip("\r")
    found = _PREFIX.match(line)
    if found is None:
        return Record(None, line)
    seconds = found["seconds"]
    return Record(float(seconds) if seconds else None, line[found.end() :], kernel=found["facility"] in (None, "kern"))
