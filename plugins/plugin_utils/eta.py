# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a rollout takes: what earlier ones measured, what a plan expects of it, and how far one has come."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import FINISHED_OK, LOST, SPINE, TERMINAL

ENOUGH = 3  # samples below this say nothing
ALWAYS = ("precheck", "drain", "snapshot", "verify")  # what every node goes through besides the steps of its plan
# A step is the time from one state to the next one: what comes after it by itself. The soak is the policy's to say.
_STEPS = {
    ("admitted", "prechecked"): "precheck",
    ("draining", "drained"): "drain",
    ("drained", "snapshotted"): "snapshot",
    ("activating", "booted"): "reboot",
    ("verifying", "soaking"): "verify",
}
_AFTER_CHANGE = ("changing", "activating", "verifying")
# What the reason of an intent begins with.
_CHANGES = {"firmware": "firmware", "kernel settings": "kernel", "ROCm": "rocm", "BIOS settings": "bios"}
_MEASURED, _TYPICAL = "earlier rollouts", "typical"

Plan = Mapping[str, Any]
Event = Mapping[str, Any]
Sample = tuple[str, str, float]
Span = tuple[float, float]


class Measured(NamedTuple):
    """What earlier rollouts took.

    :param spans: of a product (None for any) and step, the median and the 90th percentile in seconds.
    :param nodes: how many nodes were measured. :param unread: the ledgers that could not be read, each with the reason.
    """

    spans: Mapping[tuple[str | None, str], Span] = {}
    nodes: int = 0
    unread: tuple[str, ...] = ()


def samples(plan: Plan, events: Iterable[Event]) -> dict[str, list[Sample]]:
    """Of each node that a rollout brought into service in one go: (product, step, seconds) of each step it needed.

    Who failed, was held or taken up again says nothing: the time between two controllers is no work, and a step that
    was done already is quick. No more do two events with a note on the whole rollout between them, such as of a clock
    that jumped.

    :param events: ``ledger_file.newest()``. :raises ValueError: for a time that is none.
    """
    ways: dict[str, list[tuple[Event, int]]] = {}
    notes = 0
    for event in events:
        if event["node"] is None:
            notes += 1
        elif event["state"] is not None:
            ways.setdefault(event["node"], []).append((event, notes))
    found = {}
    for node, way in ways.items():
        row = plan["nodes"].get(node)
        if row and _in_one_go([event for event, _notes in way]):
            found[node] = [(row["product"], step, time) for step, time in _steps(way, {*ALWAYS, *row["steps"]})]
    return found


def _in_one_go(way: list[Event]) -> bool:
    states = [event["state"] for event in way]
    first = way[0]
    return (
        (states[0], states[-1], first["action"]) == ("admitted", SPINE[-1], None)
        and states.count("admitted") == 1
        and set(states) <= set(SPINE)
        and all(event["epoch"] == first["epoch"] for event in way)
    )


def _steps(way: list[tuple[Event, int]], wanted: set[str]) -> Iterable[tuple[str, float]]:
    for (event, notes), (following, later) in pairwise(way):
        step, time = _step(event, following), _between(event, following)
        if step in wanted and notes == later and time >= 0:
            yield step, time


def _step(event: Event, following: Event) -> str:
    if event["state"] != "changing":
        return _STEPS.get((event["state"], following["state"]), "")
    named = (step for words, step in _CHANGES.items() if str(event["reason"]).startswith(words))
    return next(named, "") if following["state"] in _AFTER_CHANGE else ""


def _between(event: Event, following: Event) -> float:
    return (datetime.fromisoformat(following["at"]) - datetime.fromisoformat(event["at"])).total_seconds()


def measured(rollouts: Iterable[Mapping[str, Sequence[Sample]]], unread: Sequence[str] = ()) -> Measured:
    """The samples of several rollouts in one, by product and over all products; fewer than 3 of a step are dropped."""
    times: dict[tuple[str | None, str], list[float]] = {}
    nodes = 0
    for rollout in rollouts:
        nodes += len(rollout)
        for product, step, time in (sample for told in rollout.values() for sample in told):
            times.setdefault((product, step), []).append(time)
            times.setdefault((None, step), []).append(time)
    spans = {key: _span(sorted(found)) for key, found in times.items() if len(found) >= ENOUGH}
    return Measured(spans, nodes, tuple(unread))


def _span(times: list[float]) -> Span:
    return statistics.median(times), times[math.ceil(len(times) * 0.9) - 1]


def estimate(
    rows: Mapping[str, Mapping[str, Any]],
    waves: Iterable[Mapping[str, Any]],
    typical: Mapping[str, float],
    soak: float,
    learned: Measured | None = None,
) -> dict[str, Any]:
    """How long a plan takes, docs/contracts.md section 5: the sum over its waves.

    The nodes of a wave take each step together (the linear strategy), so a step takes as long as its slowest node.
    That holds while a wave is no larger than the controller's forks; beyond that it takes longer.

    :param rows: of each node, ``product`` and ``steps``. :param typical: seconds of a step that was not measured.
    """
    spans = (learned or Measured()).spans
    used: set[str] = set()

    def span(product: str, step: str) -> Span:
        known = spans.get((product, step)) or spans.get((None, step))
        used.update([_MEASURED] if known else [_TYPICAL] if step in typical else [])
        return known or (typical.get(step, 0.0),) * 2

    each = [_wave_spans(wave["nodes"], rows, span) for wave in waves]
    seconds, worst = (
        ([round(soak + number) for number in column] for column in zip(*each, strict=True)) if each else ([], [])
    )
    source = "both" if len(used) > 1 else next(iter(used), _TYPICAL)
    return {
        "seconds": sum(seconds),
        "p90_seconds": None if source == _TYPICAL else sum(worst),
        "samples": learned.nodes if learned else 0,
        "source": source,
        "waves": seconds,
    }


def _wave_spans(
    nodes: Iterable[str], rows: Mapping[str, Mapping[str, Any]], span: Callable[[str, str], Span]
) -> tuple[float, float]:
    kinds = {(rows[node]["product"], *rows[node]["steps"]) for node in nodes}
    slowest: dict[str, Span] = {}
    for product, step in {(product, step) for product, *steps in kinds for step in (*ALWAYS, *steps)}:
        median, worst = span(product, step)
        before = slowest.get(step, (0.0, 0.0))
        slowest[step] = max(before[0], median), max(before[1], worst)
    return sum(median for median, _worst in slowest.values()), sum(worst for _median, worst in slowest.values())


def is_whole(eta: Any) -> bool:
    """True for what :func:`estimate` gives, and for the None of a plan from before it."""
    if not isinstance(eta, dict):
        return eta is None
    waves, worst = eta.get("waves"), eta.get("p90_seconds")
    counts = [eta.get("seconds"), eta.get("samples"), *(waves if isinstance(waves, list) else [None])]
    counts += [] if worst is None else [worst]
    return isinstance(eta.get("source"), str) and all(_is_count(count) for count in counts)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def progress(
    plan: Plan, nodes: Mapping[str, Mapping[str, Any]], events: Sequence[Event], now: str
) -> dict[str, Any] | None:
    """How far a rollout has come; None where nothing was written yet.

    :param nodes: ``Ledger.nodes()``. :param now: this moment, ISO 8601.
    :returns: ``in_service`` and ``nodes``, ``waves_done`` and ``waves``; ``begun_seconds`` since it began; ``factor``,
        how many times the plan's estimate the waves so far took, None before one went through in one go;
        ``left_seconds``, of work: the estimate of the waves to come times the factor.
    """
    if not events:
        return None
    ways = _by_node(events)
    told = list(zip(plan["waves"], _expected(plan), strict=True))
    whole = [(_wall(wave["nodes"], ways), expected) for wave, expected in told if _all(wave, nodes, FINISHED_OK)]
    done = [(seconds, expected) for seconds, expected in whole if seconds is not None and expected]
    factor = sum(time for time, _expected in done) / sum(expected for _time, expected in done) if done else None
    left = [(wave, expected * (factor or 1)) for wave, expected in told if not _all(wave, nodes, TERMINAL | LOST)]
    states = [row["state"] for node, row in nodes.items() if node in plan["nodes"]]
    return {
        "in_service": sum(state in FINISHED_OK for state in states),
        "nodes": len(plan["nodes"]),
        "waves_done": len(told) - len(left),
        "waves": len(told),
        "begun_seconds": max(0.0, _between(events[0], {"at": now})),
        "factor": factor,
        "left_seconds": round(sum(max(0.0, time - _spent(wave["nodes"], ways)) for wave, time in left)),
    }


def _by_node(events: Iterable[Event]) -> dict[str, list[Event]]:
    ways: dict[str, list[Event]] = {}
    for event in events:
        if event["node"] is not None and event["state"] is not None:
            ways.setdefault(event["node"], []).append(event)
    return ways


def _expected(plan: Plan) -> list[float]:
    """Of each wave what the plan expects; a plan that was made before it said so gives each wave the same."""
    waves = (plan.get("eta") or {}).get("waves")
    count = len(plan["waves"])
    return list(waves) if waves and len(waves) == count else [plan.get("eta_seconds", 0) / max(1, count)] * count


def _all(wave: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], states: frozenset[str]) -> bool:
    return all(nodes.get(node, {}).get("state") in states for node in wave["nodes"])


def _wall(members: Iterable[str], ways: Mapping[str, list[Event]]) -> float | None:
    """Seconds from the first to the last event of a wave, None where it was not done in one go."""
    told = [ways.get(node, []) for node in members]
    if not all(way and _in_one_go(way) for way in told) or len({way[0]["epoch"] for way in told}) > 1:
        return None
    first, last = min(way[0]["at"] for way in told), max(way[-1]["at"] for way in told)
    return max(0.0, _between({"at": first}, {"at": last}))


def _spent(members: Iterable[str], ways: Mapping[str, list[Event]]) -> float:
    """Seconds that the last run has put into a wave; 0 for one that has not begun."""
    told = [event for node in members for event in ways.get(node, [])]
    newest = max((event["epoch"] for event in told), default=0)
    latest = [event["at"] for event in told if event["epoch"] == newest]
    return max(0.0, _between({"at": min(latest)}, {"at": max(latest)})) if latest else 0.0
