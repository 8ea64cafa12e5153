# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of a node in a rollout, as data. What the data must promise is proven by ``state_checks``."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError


class StateError(FleetError):
    """A step that the state machine does not have."""


class State(NamedTuple):
    """One state.

    :param group: waiting | active | held | lost | done | left_out. An active node is worked on and holds a slot of its
        wave; a waiting one is taken up by the gate of a wave; a held one waits for an operator.
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

    :param kind: forward | no_reboot | exit | rollback (by itself, after a failure) | resume (by a controller that comes
        after one that died) | named (ordered by an operator, with a reason).
    :param action: the action that must be named for a resume or named edge, else None.
    :param guard: what must be true of the node besides: ``snapshot``, there is one to go back to. None for nothing.
    :param lifts: true where the step gives the node back to its users: it takes away the cordon of this rollout.
    """

    source: str
    target: str
    kind: str
    action: str | None = None
    guard: str | None = None
    lifts: bool = False


class Table(NamedTuple):
    """A whole state machine: what ``state_checks`` judges and ``render_table`` shows."""

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
    State("paused", "held", False, False, "an operator stopped it between two steps; stays as it is"),
    State("requeued", "waiting", False, False, "an operator gave it back to the rollout: its wave takes it up again"),
    State("skipped", "left_out", False, True, "an operator left it out before it was touched"),
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
HELD = frozenset(s.name for s in STATES if s.group == "held")
FINISHED_OK = frozenset(s.name for s in STATES if s.group == "done")
LEFT_OUT = frozenset(s.name for s in STATES if s.group == "left_out")
SLOT = frozenset(ACTIVE)
WORK = frozenset(s.name for s in STATES if s.work)

# The orders of an operator: (action, states from which it may be given, state it leads to).
ORDERS = (
    ("pause", ACTIVE, "paused"),
    ("resume", ("paused",), "requeued"),
    ("skip", ("planned",), "skipped"),
    ("retry", ("skipped",), "planned"),
    ("retry", ("failed", "inconclusive", "restored"), "requeued"),
    ("release", ("quarantined",), "requeued"),
    ("quarantine", ("paused", "requeued", "inconclusive"), "quarantined"),
    # Also from before the snapshot: a node that was taken up again has an older one.
    ("rollback", tuple(s.name for s in STATES if s.name not in ("planned", "skipped", "restored")), "rolling_back"),
)
ACTIONS = tuple(dict.fromkeys(action for action, _sources, _target in ORDERS))

EDGES = (
    *(Edge(a, b, "forward", lifts=b == "in_service") for a, b in pairwise(SPINE)),
    Edge("requeued", "admitted", "forward"),
    Edge("changing", "verifying", "no_reboot"),
    *(Edge(state, exit_, "exit") for state in ACTIVE for exit_ in ("failed", "inconclusive")),
    *(Edge(state, "failed", "exit") for state in ("paused", "inconclusive")),
    *(Edge(state, "quarantined", "exit") for state in ("failed", "rolling_back", "verifying_old")),
    Edge("failed", "rolling_back", "rollback", guard="snapshot"),
    Edge("failed", "verifying_old", "rollback"),  # failed before anything was changed: prove that it is what it was
    Edge("rolling_back", "verifying_old", "rollback"),
    Edge("verifying_old", "restored", "rollback"),
    *(Edge(state, "admitted", "resume", "resume") for state in ACTIVE),
    *(Edge(state, "rolling_back", "resume", "resume", "snapshot") for state in ("rolling_back", "verifying_old")),
    *(
        Edge(source, target, "named", action, "snapshot" if action == "rollback" else None)
        for action, sources, target in ORDERS
        for source in sources
    ),
)

TABLE = Table(STATES, EDGES)
_BY_NAME = {s.name: s for s in STATES}
_ALLOWED = {(e.source, e.target, e.action): e for e in EDGES}
_STAYING = frozenset(s.name for s in STATES if s.group in ("active", "held", "lost") and not s.terminal)


def advance(current: str, new: str, action: str | None = None) -> Edge | None:
    """The step from ``current`` to ``new``, where ``action`` names what an operator or a resume asked for.

    Staying in a state is allowed (the next step of the same work; there is no edge for it, so None), but not in one
    that is waiting or terminal. What the edge's guard asks is for the caller to find out.

    :raises StateError: an unknown state, or a step that the table does not have.
    """
    for name in (current, new):
        if name not in _BY_NAME:
            raise StateError(f"state {name}", "no such state", "one of " + ", ".join(_BY_NAME))
    if current == new and action is None and current in _STAYING:
        return None
    if (current, new, action) in _ALLOWED:
        return _ALLOWED[current, new, action]
    raise StateError(
        f"state {current}",
        f"no step to {new}" + (f" by the action {action}" if action else ""),
        _ways(current),
        "look at the node's story (status.yml); a node that was given up needs a named action, not another try",
    )


def orders_for(current: str) -> dict[str, str]:
    """What an operator may order for a node in a state: the actions, each with the state it leads to."""
    return {str(e.action): e.target for e in EDGES if e.source == current and e.kind == "named"}


def _ways(current: str) -> str:
    ways = [e.target + (f" (action {e.action})" if e.action else "") for e in EDGES if e.source == current]
    return "one of " + ", ".join(ways)


def render_table(table: Table = TABLE) -> str:
    """The state machine as a page of Markdown: docs/states.md."""
    traits = {
        "active": "holds a slot",
        "lost": "uses up the failure budget",
        "held": "waits for an operator",
        "done": "finished",
        "left_out": "left out",
    }
    lines = [
        "# The states of a node in a rollout",
        "",
        "Generated from `plugins/plugin_utils/states.py`; a test fails when this page is not current.",
        "",
        "| state | meaning | counts as | left by |",
        "|---|---|---|---|",
    ]
    for state in table.states:
        words = [traits.get(state.group, "waits for its wave"), "terminal" if state.terminal else ""]
        counts = ", ".join(w for w in words if w)
        left = "an order only" if state.terminal else "the next step"
        lines.append(f"| {state.name} | {state.meaning} | {counts} | {left} |")
    work = ", ".join(s.name for s in table.states if s.work)
    lines += [
        "",
        f"The intent alone moves a node into a work state ({work}).",
        "The other states are results: an intent leaves the node where it is.",
        "",
        "| order | for a node that is | leads to |",
        "|---|---|---|",
    ]
    lines += [f"| {action} | {', '.join(sources)} | {target} |" for action, sources, target in ORDERS]
    lines += [
        "",
        "An order names its action and gives a reason; the ledger keeps both. Each has a playbook of its name, with",
        "`--limit NODES` (docs/rollout.md). Orders alone leave a terminal state. A resume is also what a controller",
        "does with a node that one before it left on its way when it died.",
        "Only the step that lifts takes away the cordon that this rollout placed.",
        "",
        "| from | to | kind | action to name | only where | lifts |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {e.source} | {e.target} | {e.kind} | {e.action or ''} | {_needs(e)} | {'yes' if e.lifts else ''} |"
        for e in table.edges
    ]
    return "\n".join(lines) + "\n"


def _needs(edge: Edge) -> str:
    return {"snapshot": "it has a snapshot"}.get(str(edge.guard), edge.guard or "")
