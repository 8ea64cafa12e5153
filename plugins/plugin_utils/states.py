# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of a node in a rollout, as data, with a checker that proves what the data must promise."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError


class StateError(FleetError):
    """A step that the state machine does not have."""


class State(NamedTuple):
    """One state.

    :param group: waiting | active | held | lost | done. An active node is being worked on and holds a slot of its wave.
    :param work: true where being in the state is work under way, so that the intent already moves the node there; the
        other states are results, reached by an outcome only.
    :param terminal: nothing leaves it but a named action.
    """

    name: str
    group: str
    work: bool
    terminal: bool
    meaning: str


class Edge(NamedTuple):
    """One allowed step.

    :param kind: forward | no_reboot | exit | rollback (by itself, after a failure) | resume | named.
    :param action: the action that must be named for a resume or named edge, else None.
    """

    source: str
    target: str
    kind: str
    action: str | None = None


class Table(NamedTuple):
    """A whole state machine: what ``check_table`` judges and ``render_table`` shows."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]


STATES = (
    State("planned", "waiting", False, False, "part of the plan, not touched"),
    State("admitted", "active", False, False, "its wave may run; still in service"),
    State("prechecked", "active", False, False, "looked at again, just before it is touched: it may be moved"),
    State("draining", "active", True, False, "takes no new jobs; waiting for the running ones"),
    State("drained", "active", False, False, "no jobs, nobody holds a GPU"),
    State("snapshotted", "active", False, False, "what a rollback needs is kept"),
    State("changing", "active", True, False, "a step of the plan is changing it"),
    State("activating", "active", True, False, "being rebooted into what was changed"),
    State("booted", "active", False, False, "a new boot is proven: boot id, uptime, kernel"),
    State("verifying", "active", True, False, "looked at: is it at the target, healthy, and otherwise unchanged?"),
    State("soaking", "active", True, False, "health must hold for the soak time"),
    State("in_service", "done", False, True, "at the target and given back"),
    State("paused", "held", False, False, "an operator stopped it; stays drained"),
    State("inconclusive", "lost", False, False, "no answer that counts: a person has to look"),
    State("failed", "lost", False, False, "a step failed"),
    State("rolling_back", "lost", True, False, "being put back to what the snapshot says"),
    State("verifying_old", "lost", True, False, "looked at: is it what it was before?"),
    State("restored", "lost", False, True, "proven to be what it was before; the upgrade did not happen"),
    State("quarantined", "lost", False, True, "kept out of service until an operator acts"),
)

SPINE = tuple(s.name for s in STATES[: [s.name for s in STATES].index("in_service") + 1])
ACTIVE = tuple(s.name for s in STATES if s.group == "active")
TERMINAL = frozenset(s.name for s in STATES if s.terminal)
LOST = frozenset(s.name for s in STATES if s.group == "lost")
FINISHED_OK = frozenset(s.name for s in STATES if s.group == "done")
SLOT = frozenset(ACTIVE)
WORK = frozenset(s.name for s in STATES if s.work)

EDGES = (
    *(Edge(a, b, "forward") for a, b in pairwise(SPINE)),
    Edge("changing", "verifying", "no_reboot"),
    *(Edge(state, exit_, "exit") for state in ACTIVE for exit_ in ("failed", "inconclusive", "paused")),
    Edge("paused", "failed", "exit"),
    Edge("inconclusive", "failed", "exit"),
    Edge("inconclusive", "quarantined", "exit"),
    Edge("failed", "quarantined", "exit"),
    Edge("rolling_back", "quarantined", "exit"),
    Edge("verifying_old", "quarantined", "exit"),
    Edge("failed", "rolling_back", "rollback"),
    Edge("failed", "verifying_old", "rollback"),  # failed before anything was changed: prove that it is what it was
    Edge("rolling_back", "verifying_old", "rollback"),
    Edge("verifying_old", "restored", "rollback"),
    *(Edge(s.name, "admitted", "resume", "resume") for s in STATES if not s.terminal),
    # Ordered by an operator. Also from before the snapshot: a node that was taken up again has an older one.
    *(Edge(s.name, "rolling_back", "named", "rollback") for s in STATES if s.name not in ("planned", "restored")),
    *(Edge(state, "admitted", "named", "retry") for state in ("restored", "quarantined")),
)

TABLE = Table(STATES, EDGES)
_BY_NAME = {s.name: s for s in STATES}
_ALLOWED = {(e.source, e.target, e.action) for e in EDGES}

# (state, what every way to it must pass through): the order of work, whatever edges the table has.
OBLIGATIONS = (
    *((b, a) for a, b in pairwise(SPINE) if a != "planned" and b != "verifying"),
    ("verifying", "changing"),
    ("restored", "verifying_old"),
)
# The same from wherever a node is now, but for the states that have the proof behind them: it is made anew each time.
PROOFS = (
    ("in_service", "verifying", {"verifying", "soaking"}),
    ("in_service", "soaking", {"soaking"}),
    ("restored", "verifying_old", {"verifying_old"}),
)
# What a node that is held or lost must be able to do.
WAYS_OUT = (
    ("paused", "failed"), ("inconclusive", "failed"), ("inconclusive", "quarantined"), ("failed", "quarantined"),
    ("failed", "rolling_back"), ("failed", "verifying_old"), ("rolling_back", "verifying_old"),
    ("rolling_back", "quarantined"), ("verifying_old", "quarantined"),
)


def advance(current: str, new: str, action: str | None = None) -> None:
    """Pass if a node may go from ``current`` to ``new``, where ``action`` names what an operator or a resume asked for.

    Staying in a state is allowed (the next step of the same work) but not in ``planned`` or a terminal state.

    :raises StateError: an unknown state, or a step that the table does not have.
    """
    for name in (current, new):
        if name not in _BY_NAME:
            raise StateError(f"state {name}", "no such state", "one of " + ", ".join(_BY_NAME))
    if current == new and action is None and current not in TERMINAL | {"planned"}:
        return
    if (current, new, action) not in _ALLOWED:
        raise StateError(
            f"state {current}",
            f"no step to {new}" + (f" by the action {action}" if action else ""),
            _ways(current),
            "look at the node's story (status.yml); a node that was given up needs a named action, not another try",
        )


def _ways(current: str) -> str:
    ways = [e.target + (f" (action {e.action})" if e.action else "") for e in EDGES if e.source == current]
    return "one of " + ", ".join(ways)


def check_table(table: Table = TABLE) -> list[str]:
    """What is wrong with a state machine, one sentence per fault; empty for a sound one."""
    faults = _check_form(table)
    if faults:
        return faults
    checks = (_check_exits, _check_order, _check_slots, _check_timeouts, _check_rollback, _check_operator,
              _check_resume)
    return [fault for check in checks for fault in check(table)]


def _check_form(table: Table) -> list[str]:
    names = [s.name for s in table.states]
    kinds = {"forward", "no_reboot", "exit", "rollback", "resume", "named"}
    faults = [f"{e.source} to {e.target}: no such state" for e in table.edges if not {e.source, e.target} <= set(names)]
    faults += [f"{e.source} to {e.target}: unknown kind {e.kind}" for e in table.edges if e.kind not in kinds]
    faults += [f"{e.source} to {e.target}: {e.kind} edges and only those name an action"
               for e in table.edges if (e.kind in ("resume", "named")) != bool(e.action)]
    keys = [(e.source, e.target, e.action) for e in table.edges]
    return faults + [f"{k[0]} to {k[1]}: declared twice" for k in sorted(set(keys), key=str) if keys.count(k) > 1]


def _reach(edges: Iterable[Edge], start: str, without: Iterable[str] = ()) -> set[str]:
    """States that can be reached from ``start``, itself included, never entering one of ``without``."""
    edges, banned = list(edges), set(without)
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        fresh = {e.target for e in edges if e.source == here} - seen - banned
        seen |= fresh
        todo += fresh
    return seen


def _by_itself(table: Table) -> list[Edge]:
    return [e for e in table.edges if e.action is None]


def _check_exits(table: Table) -> list[str]:
    own, terminal = _by_itself(table), {s.name for s in table.states if s.terminal}
    faults = [f"{s.name}: cannot be reached" for s in table.states if s.name not in _reach(own, "planned")]
    faults += [f"{e.source} to {e.target}: goes back by itself, so a rollout need not end"
               for e in own if e.source in _reach(own, e.target)]
    faults += [f"{s.name}: has no exit to a terminal state" for s in table.states if not _reach(own, s.name) & terminal]
    return faults + [f"{e.source}: is terminal but is left for {e.target} without a named action"
                     for e in table.edges if e.source in terminal and e.kind != "named"]


def _check_order(table: Table) -> list[str]:
    faults = [f"{state}: can be reached without {must}" for state, must in OBLIGATIONS
              if state in _reach(table.edges, "planned", {must})]
    faults += [f"{s.name}: reaches {goal} without {proof}" for goal, proof, proven in PROOFS for s in table.states
               if s.name not in proven | {goal} and goal in _reach(table.edges, s.name, {proof})]
    if "verifying" in _reach(_by_itself(table), "activating", {"booted"}):
        faults.append("activating: reaches verifying without a proven boot")
    forward = {(e.source, e.target) for e in table.edges if e.kind == "forward"}
    faults += [f"{a}: does not go on to {b}" for a, b in pairwise(SPINE) if (a, b) not in forward]
    skips = [(e.source, e.target) for e in table.edges if e.kind == "no_reboot"]
    wrong = [] if skips == [("changing", "verifying")] else ["changing: no way on without a reboot, or a wrong one"]
    return faults + wrong


def _check_slots(table: Table) -> list[str]:
    active = {s.name for s in table.states if s.group == "active"}
    lost = {s.name for s in table.states if s.group == "lost"}
    faults = [f"{name}: a lost node holds a slot" for name in sorted(LOST) if name in active or name not in lost]
    return faults + [f"{e.source}: a lost node takes a slot ({e.target}) by itself"
                     for e in table.edges if e.source in lost and e.target not in lost and e.action is None]


def _check_timeouts(table: Table) -> list[str]:
    have = {(e.source, e.target) for e in _by_itself(table)}
    active = [s.name for s in table.states if s.group == "active"]
    return [f"{name}: no exit to {exit_}" for name in active for exit_ in ("failed", "inconclusive", "paused")
            if (name, exit_) not in have]


def _check_rollback(table: Table) -> list[str]:
    """From each state that may have changed the node a rollback can be had, without upgrading it further first."""
    upgrading = {s.name for s in table.states if s.group in ("active", "done")}
    start = SPINE.index("snapshotted")
    faults = [f"{name}: rollback cannot be reached" for name in SPINE[start:-1]
              if "rolling_back" not in _reach(_by_itself(table), name, upgrading)]
    have = {(e.source, e.target) for e in _by_itself(table)}
    return faults + [f"{a}: cannot go on to {b}" for a, b in WAYS_OUT if (a, b) not in have]


def _check_operator(table: Table) -> list[str]:
    named = {(e.source, e.target, e.action) for e in table.edges if e.kind == "named"}
    orders = [(s.name, "rolling_back", "rollback") for s in table.states if s.name not in ("planned", "restored")]
    orders += [(state, "admitted", "retry") for state in ("restored", "quarantined")]
    faults = [f"{a}: the action {name} does not lead to {b}" for a, b, name in orders if (a, b, name) not in named]
    return faults + [f"{a}: the action {name} leads to {b}, which nobody asked for"
                     for a, b, name in sorted(named - set(orders))]


def _check_resume(table: Table) -> list[str]:
    terminal = {s.name for s in table.states if s.terminal}
    resume = {(e.source, e.target) for e in table.edges if e.kind == "resume"}
    wanted = {(s.name, "admitted") for s in table.states if s.name not in terminal}
    faults = [f"{a}: cannot be resumed ({b})" for a, b in sorted(wanted - resume)]
    return faults + [f"{a}: resumes at {b}" for a, b in sorted(resume - wanted)]


def render_table(table: Table = TABLE) -> str:
    """The state machine as a page of Markdown: docs/states.md."""
    traits = {"active": "holds a slot", "lost": "uses up the failure budget", "held": "waits for an operator",
              "done": "finished"}
    lines = ["# The states of a node in a rollout", "",
             "Generated from `plugins/plugin_utils/states.py`; a test fails when this page is not current.", "",
             "| state | meaning | counts as | left by |", "|---|---|---|---|"]
    for state in table.states:
        words = [traits.get(state.group, "not started"), "terminal" if state.terminal else ""]
        counts = ", ".join(w for w in words if w)
        left = "a named action only" if state.terminal else "the next step"
        lines.append(f"| {state.name} | {state.meaning} | {counts} | {left} |")
    work = ", ".join(s.name for s in table.states if s.work)
    lines += ["", f"The intent alone moves a node into a work state ({work}).",
              "The other states are results: an intent leaves the node where it is.", "",
              "| from | to | kind | action to name |", "|---|---|---|---|"]
    lines += [f"| {e.source} | {e.target} | {e.kind} | {e.action or ''} |" for e in table.edges]
    return "\n".join(lines) + "\n"
