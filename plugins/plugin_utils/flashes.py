# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a ledger knows of a node's firmware and BIOS settings: what no snapshot takes back, and what can be set back.

Pure; its input are the events of one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]
# The BMC had the image: whatever failed then, another version may lie in the flash.
_TAKEN = frozenset(("accepted", "staged", "activating", "done"))
WAITS = ("staged", "activating")  # the image lies there, and another one runs


def _courses(events: Iterable[Event]) -> dict[str, list[Mapping[str, Any]]]:
    """Of each component, the events of its last flash in this rollout."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        row = (event["data"] or {}).get("firmware")
        if row and row["event"] == "intent":
            found[row["component"]] = [row]
        elif row:
            found.setdefault(row["component"], []).append(row)
    return found


def was_flashed(events: Iterable[Event]) -> bool:
    """Whether an image was sent to the node's BMC in this rollout, however that ended."""
    return bool(_courses(events))


def is_activating(events: Iterable[Event]) -> bool:
    """Whether a controller died while it activated firmware: the node may be off, and nobody else switches it on."""
    return any(rows[-1]["event"] == "activating" for rows in _courses(events).values())


def stays(events: Iterable[Event]) -> str:
    """In words, what a way back leaves as it is; an empty text for nothing."""
    told = []
    for component, rows in _courses(events).items():
        version = next((row["version"] for row in rows if row.get("version")), "of another version")
        if rows[-1]["event"] == "done":
            told.append(f"{component} {version}")
        elif rows[-1]["event"] in WAITS:
            told.append(f"{component} {version}, which is staged and runs after the next activation")
    return f"firmware stays: {'; '.join(told)}" if told else ""


def under_way(events: Iterable[Event]) -> str:
    """The components that may be written just now, or by the boot that is under way; an empty text for none."""
    ends = {component: rows[-1]["event"] for component, rows in _courses(events).items()}
    return ", ".join(component for component, end in ends.items() if end not in ("done", "failed"))


def unfit(events: Iterable[Event]) -> str:
    """Why a node must not go back into service though its packages are what they were: a flash that failed half-way.

    One that the BMC refused changed nothing, and is no reason.
    """
    told = [
        f"the flash of {component} failed after the BMC had taken the image ({rows[-1]['reason']})"
        for component, rows in _courses(events).items()
        if rows[-1]["event"] == "failed" and any(row["event"] in _TAKEN for row in rows)
    ]
    return "; ".join(told)


def bios_before(events: Iterable[Event]) -> dict[str, Any]:
    """The BIOS settings from before this rollout staged others, by attribute; what was written down first counts."""
    found: dict[str, Any] = {}
    for event in events:
        found = {**dict((event["data"] or {}).get("bios_before") or ()), **found}
    return found
