# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof of the table of states: every way that a node can take is walked, with what it has behind it.

A state alone does not tell whether a node was verified since it was last changed. So a place in the search is a state
together with a Memory, and every place that can be reached is looked at; there are some hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import SPINE, TABLE, Edge, Table

KINDS = ("forward", "no_reboot", "exit", "rollback", "resume", "named")
GUARDS = ("snapshot",)
ORDER = {name: number for number, name in enumerate(SPINE)}
WAY_BACK = ("rolling_back", "verifying_old")
# What a state is, whatever the table says: a lost node holds no slot, and an intent alone proves nothing.
GROUPS = {
    "waiting": {"planned", "requeued"},
    "done": {"in_service"},
    "held": {"paused"},
    "left_out": {"skipped"},
    "lost": {"inconclusive", "failed", *WAY_BACK, "restored", "quarantined"},
}
WORK = {"draining", "changing", "activating", "verifying", "soaking", *WAY_BACK}
TERMINAL = {"in_service", "skipped", "restored", "quarantined"}


class Memory(NamedTuple):
    """What a node has behind it.

    :param passed: states of the way forward since it was last admitted; of the way back since that began.
    :param snapshot: there is one to go back to.
    :param changed: it may be something else than it was before the rollout.
    :param cordon: this rollout has taken it away from its users.
    """

    passed: frozenset[str] = frozenset()
    snapshot: bool = False
    changed: bool = False
    cordon: bool = False


class Place(NamedTuple):
    """Where a node can be: a state, and how it came there."""

    state: str
    memory: Memory


# What a node must have passed to be in a state, by the order of the work: a change asks for a new look, and so on.
NEEDS: dict[str, Callable[[Memory], bool]] = {
    "prechecked": lambda m: "admitted" in m.passed,
    "draining": lambda m: "prechecked" in m.passed,
    "drained": lambda m: "draining" in m.passed and m.cordon,
    "snapshotted": lambda m: "drained" in m.passed,
    "changing": lambda m: "snapshotted" in m.passed and m.snapshot,
    "activating": lambda m: "changing" in m.passed,
    "booted": lambda m: "activating" in m.passed,
    "verifying": lambda m: "changing" in m.passed and ("activating" not in m.passed or "booted" in m.passed),
    "soaking": lambda m: "verifying" in m.passed,
    "in_service": lambda m: "soaking" in m.passed and not m.cordon,
    "rolling_back": lambda m: m.snapshot,
    "restored": lambda m: "verifying_old" in m.passed,
    "skipped": lambda m: m == Memory(),
}


def remember(memory: Memory, edge: Edge) -> Memory:
    """The memory of a node that has taken a step."""
    state, passed = edge.target, frozenset[str]()
    if state in ORDER:  # whatever came later on the way forward has to be done anew
        passed = frozenset(name for name in memory.passed if ORDER.get(name, -1) < ORDER[state] != ORDER["admitted"])
    snapshot = (memory.snapshot or state == "snapshotted") and state != "restored"
    changed = (memory.changed or state in ("changing", "rolling_back")) and state != "restored"
    cordon = (memory.cordon or state == "draining") and not edge.lifts
    mark = frozenset([state]) if state in ORDER or state == "verifying_old" else frozenset[str]()
    if state == "restored":
        passed = memory.passed
    return Memory(passed | mark, snapshot, changed, cordon)


class Search:
    """A table with everything that can be reached in it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.states = {s.name: s for s in table.states}
        self.leaving: dict[str, list[Edge]] = {name: [] for name in self.states}
        for edge in table.edges:
            self.leaving[edge.source].append(edge)

    def group(self, *names: str) -> list[str]:
        """The states of some groups."""
        return [s.name for s in self.table.states if s.group in names]

    @cached_property
    def steps(self) -> list[tuple[Place, Edge, Place]]:
        """Every step from every place that a node can come to; a step whose guard does not hold is none."""
        start = Place("planned", Memory())
        seen, todo, found = {start}, [start], []
        while todo:
            here = todo.pop()
            for edge in self.leaving[here.state]:
                if edge.guard != "snapshot" or here.memory.snapshot:
                    there = Place(edge.target, remember(here.memory, edge))
                    found.append((here, edge, there))
                    if there not in seen:
                        seen.add(there)
                        todo.append(there)
        return found

    @cached_property
    def places(self) -> set[Place]:
        """Every place that a node can come to."""
        return {Place("planned", Memory()), *(there for _here, _edge, there in self.steps)}

    @cached_property
    def by_itself(self) -> dict[Place, list[Place]]:
        """Where a node can go without anybody's order, place by place."""
        ways: dict[Place, list[Place]] = {place: [] for place in self.places}
        for here, edge, there in self.steps:
            if edge.action is None:
                ways[here].append(there)
        return ways

    def ahead(self, place: Place, without: Collection[str] = ()) -> set[Place]:
        """The places that a node can come to by itself from here, this one left out unless it comes back to it."""
        seen: set[Place] = set()
        todo = list(self.by_itself[place])
        while todo:
            there = todo.pop()
            if there not in seen and there.state not in without:
                seen.add(there)
                todo += self.by_itself[there]
        return seen


def check_table(table: Table = TABLE) -> list[str]:
    """What is wrong with a state machine, one sentence per fault; empty for a sound one."""
    return list(dict.fromkeys(faults(table)))


def faults(table: Table) -> Iterator[str]:
    """The same one by one, the cheap questions first: the first one tells whether there is any."""
    malformed = list(_form(table))
    yield from malformed
    if malformed:
        return
    search = Search(table)
    for check in (_exits, _slots, _resume, _orders, _spine, _reached, _order_of_work, _ends, _way_back, _rollbacks):
        yield from check(search)


def _form(table: Table) -> Iterator[str]:
    names = [s.name for s in table.states]
    for e in table.edges:
        if not {e.source, e.target} <= set(names):
            yield f"{e.source} to {e.target}: no such state"
        if e.kind not in KINDS or e.guard not in (None, *GUARDS):
            yield f"{e.source} to {e.target}: unknown kind {e.kind} or guard {e.guard}"
        if (e.kind in ("resume", "named")) != bool(e.action):
            yield f"{e.source} to {e.target}: {e.kind} edges and only those name an action"
        if (e.guard == "snapshot") != (e.target == "rolling_back"):
            yield f"{e.source} to {e.target}: the way to a snapshot and only that asks for one"
        if e.lifts != (e.target == "in_service"):
            yield f"{e.source} to {e.target}: going into service and only that lifts the cordon"
    keys = [(e.source, e.target, e.action) for e in table.edges]
    yield from (f"{k[0]} to {k[1]}: declared twice" for k in sorted(set(keys), key=str) if keys.count(k) > 1)


def _exits(search: Search) -> Iterator[str]:
    """A failure and a time-out have a way out of every state, and it never leads on."""
    wanted = {(name, out) for name in search.group("active") for out in ("failed", "inconclusive")}
    wanted |= {(name, "failed") for name in (*search.group("held"), "inconclusive")}
    wanted |= {(name, "quarantined") for name in ("failed", *WAY_BACK)}
    yield from _same("exit", wanted, {(e.source, e.target) for e in search.table.edges if e.kind == "exit"})
    yield from _same("terminal state", TERMINAL, [s.name for s in search.table.states if s.terminal])
    yield from _same("state of work", WORK, [s.name for s in search.table.states if s.work])
    for state in search.table.states:
        if state.terminal and any(e.kind != "named" for e in search.leaving[state.name]):
            yield f"{state.name}: is terminal but is left without an order"


def _slots(search: Search) -> Iterator[str]:
    """A node that is lost or held has no slot, and none is given to it but by the gate of a wave."""
    for group, names in GROUPS.items():
        yield from (f"{name}: a {group} node holds a slot" for name in names & {*search.group("active")})
        yield from _same(f"{group} state", names, search.group(group))
    for e in search.table.edges:
        here, there = search.states[e.source].group, search.states[e.target].group
        if here == "lost" and there != "lost" and (e.kind != "named" or there != "waiting"):
            yield f"{e.source}: a lost node goes on to {e.target}"
        if (
            here in ("waiting", "held")
            and there == "active"
            and (here, e.target, e.kind) != ("waiting", "admitted", "forward")
        ):
            yield f"{e.source}: takes a slot ({e.target}) without the gate"


def _edges(search: Search, kind: str) -> set[tuple[str, str, str | None]]:
    return {(e.source, e.target, e.action) for e in search.table.edges if e.kind == kind}


def _resume(search: Search) -> Iterator[str]:
    """Where a controller can die over its work the next one takes the node up: from the start, or further back."""
    wanted = {(name, "admitted", "resume") for name in search.group("active")}
    wanted |= {(s.name, "rolling_back", "resume") for s in search.table.states if s.group == "lost" and s.work}
    yield from _same("resume", wanted, _edges(search, "resume"))


def _orders(search: Search) -> Iterator[str]:
    """Each order leads where an operator expects it, from the states for which it means something and no others."""
    lost = [s.name for s in search.table.states if s.group == "lost" and not s.work and s.name != "quarantined"]
    wanted = {(name, "paused", "pause") for name in search.group("active")}
    wanted |= {(name, "requeued", "resume") for name in search.group("held")}
    wanted |= {(name, "requeued", "retry") for name in lost} | {("skipped", "planned", "retry")}
    wanted |= {("planned", "skipped", "skip"), ("quarantined", "requeued", "release")}
    wanted |= {(name, "quarantined", "quarantine") for name in ("paused", "requeued", "inconclusive")}
    yield from _same("order", wanted, {row for row in _edges(search, "named") if row[1] != "rolling_back"})


def _rollbacks(search: Search) -> Iterator[str]:
    """A rollback can be ordered wherever a node can be that has a snapshot."""
    wanted = {(place.state, "rolling_back", "rollback") for place in search.places if place.memory.snapshot}
    yield from _same("order", wanted, {row for row in _edges(search, "named") if row[1] == "rolling_back"})


def _spine(search: Search) -> Iterator[str]:
    """One way forward, a shorter one for a node that needs no reboot, the gate for one that waits; and the way back."""
    forward = set(pairwise(SPINE)) | {("requeued", "admitted")}
    have = {kind: {(e.source, e.target) for e in search.table.edges if e.kind == kind} for kind in KINDS}
    yield from _same("way forward", forward, have["forward"])
    yield from _same("way without a reboot", {("changing", "verifying")}, have["no_reboot"])
    back = {("failed", "rolling_back"), ("failed", "verifying_old"), WAY_BACK, ("verifying_old", "restored")}
    yield from _same("way back", back, have["rollback"])


def _reached(search: Search) -> Iterator[str]:
    reached = {place.state for place in search.places}
    yield from (f"{name}: cannot be reached" for name in search.states if name not in reached)
    taken = {edge for _here, edge, _there in search.steps}
    yield from (f"{e.source} to {e.target}: can never be taken" for e in search.table.edges if e not in taken)


def _order_of_work(search: Search) -> Iterator[str]:
    """No state is reached without what must come before it, whichever way a node came."""
    for here, edge, there in search.steps:
        if edge.target in NEEDS and not NEEDS[edge.target](there.memory):
            yield f"{here.state} to {edge.target}: without what must come before"


def _ends(search: Search) -> Iterator[str]:
    """Left to itself every node comes to an end, and does not go round."""
    for place in search.places:
        ahead = search.ahead(place)
        if place in ahead:
            yield f"{place.state}: goes round by itself, so a rollout need not end"
        if not search.states[place.state].terminal and not any(search.states[p.state].terminal for p in ahead):
            yield f"{place.state}: has no exit to a terminal state"


def _way_back(search: Search) -> Iterator[str]:
    """What was changed can be brought back without more of the upgrade; what was not, be proven to be as before."""
    active, upgrade = search.group("active"), search.group("active", "done", "waiting")
    for place in search.places:
        name, memory = place
        states = {p.state for p in search.ahead(place, upgrade)}
        if name in (*active, "failed", "inconclusive", "paused") and memory.changed and "rolling_back" not in states:
            yield f"{name}: rollback cannot be reached"
        if name in ("failed", "inconclusive") and "restored" not in states:
            yield f"{name}: cannot be proven to be what it was"


def _same(what: str, wanted: Iterable[object], found: Iterable[object]) -> Iterator[str]:
    """Sentences for what is missing of one set, and for what is too much."""
    rows = [(row, "is missing") for row in {*wanted} - {*found}]
    rows += [(row, "is not asked for") for row in {*found} - {*wanted}]
    for row, fault in sorted(rows, key=str):
        yield f"{what} {' to '.join(str(part) for part in row) if isinstance(row, tuple) else row}: {fault}"
