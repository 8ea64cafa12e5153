# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that loses its power at a step of a rollout, and what may have become of it when the rollout is run again."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.tests.integration.crash.crash_lab import (
    Death,
    End,
    Lab,
    Write,
    differences,
)

HISTORY = "did "  # one that went back and came again has had its packages changed three times
RESTORED = ("package ", "held ", "text ")
ORDERS = {"failed": "retry", "inconclusive": "retry", "restored": "retry", "quarantined": "release"}


class Cut(NamedTuple):
    """A node's power is cut right after a write about it; ``cycle`` brings it back at once, ``off`` after the run."""

    write: Write
    what: str
    late: float  # seconds after the write: some steps are long

    def __str__(self) -> str:
        return f"power {self.what} {self.late:g} s after {self.write}"


def cuts(writes: list[Write], node: str = "g02") -> list[Cut]:
    """Each step of one node, and the middle of the long ones."""
    found = []
    for write in writes:
        if write.node == node:
            late = (0.0, 2.0) if write.kind == "intent" and write.state == "changing" else (0.0,)
            found += [Cut(write, what, seconds) for seconds in late for what in ("cycle", "off")]
    return found


def sample(writes: list[Write]) -> Cut:
    """The one that hurts most: amid a change of packages."""
    return next(cut for cut in reversed(cuts(writes)) if cut.late and cut.what == "cycle")


def faults_after_a_cut(lab: Lab, cut: Cut, before: End, undisturbed: End) -> list[str]:
    """Run the rollout with the cut, and again; what is wrong then. A fleet must be up.

    Right is the undisturbed end, or a node that is lost with a reason and that the order for it brings to that end.
    """
    plan = lab.plan()
    runs = [lab.run(plan, Death(cut.write, "after", _later(lab.power(cut.write.node, cut.what), cut.late)))]
    if cut.what == "off":
        lab.simfleet("power", cut.write.node, "on")
        lab.until_answers(cut.write.node)
    runs.append(lab.run(plan))
    found = _faults_of_nodes(lab, before, undisturbed)
    for order, names in _orders(lab.states()).items():
        runs.append(lab.play(order, "--limit", ",".join(names), reason="its power is back"))
        runs.append(lab.run(plan))
    ends = [f"{name} is {state} in the end: {lab.reasons()[name]}" for name, state in lab.states().items()
            if state != "in_service"]  # fmt: skip
    said = [f"said Traceback: {run.text[-1500:]}" for run in runs if "Traceback" in run.text]
    return found + ends + said + lab.faults_of_the_story(first_boots=False) + _faults_of_nodes(lab, before, undisturbed)


def _orders(states: dict[str, str]) -> dict[str, list[str]]:
    """Which order brings which lost nodes on, by docs/states.md."""
    found: dict[str, list[str]] = {}
    for name, state in states.items():
        if state in ORDERS:
            found.setdefault(ORDERS[state], []).append(name)
    return found


def _later(command: list[str], seconds: float) -> list[str]:
    if not seconds:
        return command
    return ["sh", "-c", f'(sleep {seconds:g}; exec "$@") >/dev/null 2>&1 &', "later", *command]


def _faults_of_nodes(lab: Lab, before: End, undisturbed: End) -> list[str]:
    end, reasons, found = lab.end(), lab.reasons(), []
    for name, state in end.states.items():
        if state == "in_service":
            found += _unlike(_but(undisturbed, HISTORY), _but(end, HISTORY), name)
        elif state in ("planned", "restored"):
            found += _unlike(_settings(before), _settings(end), name)
        elif state not in ("failed", "inconclusive", "quarantined"):
            found.append(f"{name} is {state}: neither at an end nor lost")
        if state not in ("in_service", "planned") and not reasons[name]:
            found.append(f"{name} is {state} without a reason")
    return found


def _unlike(wanted: End, end: End, name: str) -> list[str]:
    """How a node differs from one that is where it should be; how often it booted is told by its cut."""
    alike = wanted._replace(boots=end.boots, states=end.states)
    return differences(alike, end, {name: (end.snapshots[name] or {}).get("boot_id", "")}, [name])


def _but(end: End, word: str) -> End:
    kept = {name: frozenset(line for line in lines if word not in line) for name, lines in end.lines.items()}
    return end._replace(lines=kept)


def _settings(end: End) -> End:
    """What a way back restores: packages, holds and the text of settings, not all that a package manager keeps."""
    kept = {name: frozenset(line for line in lines if line.startswith(RESTORED)) for name, lines in end.lines.items()}
    return end._replace(lines=kept, snapshots=dict.fromkeys(end.snapshots))
