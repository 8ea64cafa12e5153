# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of wanted firmware, in their turn: foretold, or flashed and activated as far as the BMC can do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import activate, inventory, update, waking
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Outcome, Site
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.wishes import ACTIVATIONS, is_wanted

Wish = Mapping[str, Any]


class Round(NamedTuple):
    """What became of the rows, and the activation that the caller has to see to before the rest is done.

    ``cycled`` is whether the host lost its power on the way, ``driver_away`` whether something would be flashed that
    wants the driver of the GPUs out of its way. ``deferred`` is whether ``activation`` is all that is left, and was
    left for later because the caller asked for that.
    """

    outcomes: list[Outcome]
    activation: str
    cycled: bool = False
    driver_away: bool = False
    deferred: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For the result of a task."""
        rows = [one.as_dict() for one in self.outcomes]
        return {
            **{key: getattr(self, key) for key in ("activation", "cycled", "driver_away", "deferred")},
            "changed": any(one.outcome != "unchanged" for one in self.outcomes),
            "diff": {key: "".join(f"{row['component']}: {row[key]}\n" for row in rows) for key in ("before", "after")},
            "components": rows,
        }


def foretell(site: Site, wanted: Sequence[Wish], sizes: Sequence[int | None]) -> Round:
    """What a run would do; nothing is sent. A component that has several rows is judged by its first.

    :raises BmcError: a row must not be flashed.
    """
    outcomes: list[Outcome] = []
    for wish, size in zip(wanted, sizes, strict=True):
        earlier = next((one for one in reversed(outcomes) if one.component == wish["component"]), None)
        done = _overtaken(site, wanted[len(outcomes) :])
        if done or earlier is None or earlier.outcome == "unchanged":
            outcomes.append(done or update.predict(site, wish, size))
        else:
            why = "the row before it comes first"
            outcomes.append(
                Outcome(earlier.component, "would_update", earlier.wanted, wish["version"], wish["version"], why)
            )
    moves = [one.outcome != "unchanged" for one in outcomes]
    kinds = (wish["activation"] for wish, moved in zip(wanted, moves, strict=True) if moved)
    flashes = (one.outcome == "would_update" for one in outcomes)
    away = any(flash and wish["driver_away"] for wish, flash in zip(wanted, flashes, strict=True))
    return Round(outcomes, activate.strongest(kinds), driver_away=away)


def carry_out(
    site: Site,
    wanted: Sequence[Wish],
    sizes: Sequence[int | None],
    activated: str,
    run: Callable[[], str],
    later: bool = False,
) -> Round:
    """Flash and activate, row after row; it ends at an activation that is the caller's.

    :param activated: what the caller has done since the last round, for what was staged then.
    :param run: runs the operator's AC cycle.
    :param later: an activation that takes the host down is left for another run, where nothing comes after it.
    :raises BmcError: a row must not be flashed, or failed. Unproven: nobody can say what became of it.
    """
    foretell(site, wanted, sizes)
    outcomes: list[Outcome] = []
    group: list[tuple[Wish, Outcome]] = []
    cycled = False
    for number, (wish, size) in enumerate(zip(wanted, sizes, strict=True)):
        outcome = _overtaken(site, wanted[number:])
        if outcome is None:
            begun = waking.begun(site, wish)
            outcome = update.flash(site, wish, size)
            if outcome.outcome == "updated" and begun != "none":
                waking.see_through(site, begun)
                cycled = cycled or begun in activate.POWER
        if outcome.outcome != "unchanged":
            site.seen = None
        outcomes.append(outcome)
        group += [(wish, outcome)] if outcome.outcome == "staged" else []
        if wish["with_next"] or not group:
            continue
        # A job that waits for a boot of the host is not activated by nothing, whatever the row says.
        kind = activate.strongest(row["activation"] for row, _outcome in group)
        kind = "reboot" if kind == "none" else kind
        if ACTIVATIONS.index(activated) < ACTIVATIONS.index(kind):
            if later and kind in activate.TAKES_HOST and _is_last(site, wanted[number + 1 :]):
                return Round(outcomes, kind, cycled, deferred=True)
            if kind in activate.BY_CALLER:
                return Round(outcomes, kind, cycled)
            waking.wake(site, kind, [row for row, _outcome in group], run)
            cycled = cycled or kind in activate.POWER
        proven = {one.component: one for one in waking.prove(site, group)}
        outcomes = [proven[one.component] if one.outcome == "staged" else one for one in outcomes]
        group, activated, site.seen = [], "none", None
    return Round(outcomes, "none", cycled)


def _is_last(site: Site, rows: Sequence[Wish]) -> bool:
    """Whether nothing of what comes after is to be flashed any more."""
    return all(is_wanted(row, inventory.running(site.reading().entries, row["component"])) for row in rows)


def _overtaken(site: Site, rows: Sequence[Wish]) -> Outcome | None:
    """A row is done where a later row of its component, to which it was only a step, runs already."""
    wish, entries = rows[0], site.reading().entries
    found = inventory.running(entries, wish["component"])
    later = [row for row in rows[1:] if row["component"] == wish["component"]]
    if not any(is_wanted(row, found) for row in later):
        return None
    seen = found[0].version
    return Outcome(wish["component"], "unchanged", seen, seen, wish["version"], "a later row of the component runs")
