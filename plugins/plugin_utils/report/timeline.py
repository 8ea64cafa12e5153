# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times out of events: how long a node was in each state, and its story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import paint, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    WIDTH,
    clean,
    duration,
    next_step,
    tone,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import ACTIVE, WORK

Event = Mapping[str, Any]
HEAD = ("time (UTC)", "after", "state", "what")


def seconds_between(first: str, last: str) -> float:
    """Seconds from one ISO time to another; never less than 0, because clocks are put back."""
    return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())


def moves(events: Sequence[Event]) -> list[Event]:
    """The events that moved the node: outcomes, and intents of work."""
    return [e for e in events if e["kind"] == "outcome" or (e["kind"] == "intent" and e["state"] in WORK)]


def phases(events: Sequence[Event]) -> dict[str, float]:
    """Seconds of one node in each state, in the order in which it first came there; not the state it is in now."""
    found: dict[str, float] = {}
    moved = moves(events)
    for event, following in pairwise(moved):
        found[event["state"]] = found.get(event["state"], 0.0) + seconds_between(event["at"], following["at"])
    return found


def cause(events: Sequence[Event]) -> str:
    """Why the node was given up in its last try; else what was written last; empty without events."""
    tried = max((number for number, event in enumerate(events) if event["state"] == "admitted"), default=0)
    reasons = {e["state"]: clean(e["reason"]) for e in events[tried:] if e["reason"]}
    given_up = next((reasons[s] for s in ("failed", "inconclusive", "quarantined") if s in reasons), "")
    moved = moves(events)
    return given_up or (f"the last word was {moved[-1]['state']}, at {_clock(moved[-1])} UTC" if moved else "")


def _clock(event: Event) -> str:
    return str(event["at"])[:19].replace("T", " ")


def total(events: Sequence[Event]) -> float | None:
    """Seconds from the first to the last event; None without events."""
    return seconds_between(events[0]["at"], events[-1]["at"]) if events else None


def by_nodes(events: Sequence[Event]) -> dict[str, list[Event]]:
    """The events of each node, in order; what is about the whole rollout is under the empty name."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event["node"] or "", []).append(event)
    return found


def refusals(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Every wave that the gate refused, as ``{at, wave, code, reason, lost}`` (gate.CODES), the latest last."""
    notes = (event for event in events if event["kind"] == "note" and "code" in (event.get("data") or {}))
    return [
        {"at": note["at"], "reason": note["reason"], **{key: note["data"].get(key) for key in ("wave", "code", "lost")}}
        for note in notes
    ]


def story_rows(events: Sequence[Event]) -> list[dict[str, str]]:
    """One row per event: ``at``, ``after`` (since the event before), ``state``, ``tone``, ``what``."""
    rows, before = [], None
    for event in events:
        state = clean(event["state"]) if event["state"] else "note"
        rows.append({
            "at": _clock(event),
            "after": "" if before is None else duration(seconds_between(before, event["at"])),
            "state": state, "tone": tone(state), "what": _what(event, first=before is None),
        })
        before = event["at"]
    return rows


def _what(event: Event, first: bool) -> str:
    action = event.get("action")
    by = f"asked for: {action}" if action and not (first and action == "resume") else ""
    known = {k: v for k, v in (event.get("data") or {}).items() if isinstance(v, (str, int, float, bool))}
    data = ", ".join(f"{key}={value}" for key, value in known.items())
    begins = "begins" if event["kind"] == "intent" else ""
    return clean("; ".join(part for part in (begins, by, event["reason"], data) if part))


def story(events: Sequence[Event], colour: bool = False, width: int = WIDTH) -> str:
    """The story of one node in the order of time, with the time between the events, and what to do next.

    :param events: ``Ledger.events(node)``.
    """
    if not events:
        return "No events: nothing has happened here yet.\n"
    moved = moves(events)
    state = moved[-1]["state"] if moved else "planned"
    node = clean(events[-1]["node"] or "the rollout")
    rows = story_rows(events)
    lines = [f"Story of {node}: {paint(state, tone(state), colour)} after {duration(total(events))}", "",
             table(HEAD, [[row[key] for key in ("at", "after", "state", "what")] for row in rows],
                   width, colour, [row["tone"] for row in rows], toned=2)]
    spent = ", ".join(f"{name} {duration(time)}" for name, time in phases(events).items() if name in WORK)
    lines += ["", f"Time spent: {spent}"] if spent else []
    lines += _ending(events, state)
    return "\n".join(lines) + "\n"


def _ending(events: Sequence[Event], state: str) -> list[str]:
    open_end = events[-1]["kind"] == "intent" or state in ACTIVE
    lines = ["", f"It is still {state}, or the controller stopped here: no outcome was written."] if open_end else []
    return lines + (["", f"What to do: {next_step(state)}."] if next_step(state) else [])
