# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be written into a BIOS, whose staged values lie there already, and what became of ours. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_names import (
    Names,
    attributes_of,
    found,
    neutral,
    value_for,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_reading import OPEN, Job, Setup
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_registry import same
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target_parts import GLOBAL_CSTATE, is_off

FOREIGN = ("refuse", "discard", "keep")


class Row(NamedTuple):
    """A wished attribute. ``staged`` is None where nothing is staged for it; ``status`` is that of its name."""

    key: str
    attribute: str
    applied: Any
    staged: Any
    wanted: Any
    status: str

    @property
    def do(self) -> str:
        """``nothing``, ``boot`` where it is staged as wanted, or ``stage``."""
        if not same(self.applied if self.staged is None else self.staged, self.wanted):
            return "stage"
        return "nothing" if self.staged is None else "boot"

    def as_dict(self) -> dict[str, Any]:
        """For the result of a task."""
        return {**self._asdict(), "do": self.do}


class Plan(NamedTuple):
    """What is to be done.

    ``writes`` are the values of the PATCH; ``cancel`` the jobs that are to go before it; ``foreign`` the staged values
    of others, as pairs of applied and staged; ``notes`` what the operator has to be told.
    """

    rows: list[Row]
    writes: dict[str, Any]
    cancel: list[Job]
    foreign: dict[str, tuple[Any, Any]]
    notes: list[str]

    @property
    def changes(self) -> bool:
        """Whether something is sent."""
        return bool(self.writes or self.cancel)

    @property
    def boot_needed(self) -> bool:
        """Whether a boot is needed for what is, or is about to be, staged of ours."""
        return any(not same(row.applied, row.wanted) for row in self.rows)


class Verdict(NamedTuple):
    """``what`` is applied, wait or failed."""

    what: str
    why: str


def rows_of(setup: Setup, wishes: Mapping[str, Any], names: Names, subject: str) -> list[Row]:
    """The wished attributes with their values as this BIOS writes them.

    :raises BmcError: a key or a value is not known, two keys want different values of one attribute, or a value would
        switch the global C-states off.
    """
    rows: dict[str, Row] = {}
    awake = _cstates(setup, names)
    for key, wish in wishes.items():
        attributes, by = attributes_of(setup, names, key, subject)
        for attribute in attributes:
            wanted = value_for(setup, names, key, attribute, wish, subject)
            if attribute in awake and is_off(str(wanted)):
                raise _boost(f"{subject} BIOS {key}", f"{attribute} {wanted}")
            other = rows.get(attribute)
            if other and not same(other.wanted, wanted):
                seen = f"{other.key} wants {attribute} {other.wanted}, {key} wants {wanted}"
                raise BmcError("contradiction", f"{subject} BIOS {key}", seen, "one value", "take one of the two out")
            status = by.get("status", "yours") if by else "yours"
            staged = setup.staged.get(attribute)
            rows[attribute] = Row(key, attribute, setup.applied[attribute], staged, wanted, status)
    return list(rows.values())


def plan(setup: Setup, wishes: Mapping[str, Any], names: Names, subject: str, foreign: str = "refuse") -> Plan:
    """What is to be sent, so that the wished values hold after the next boot and nobody else's do.

    :param foreign: what to do about staged values of others: one of FOREIGN.
    :raises BmcError: something is wrong with a wish, it cannot be set, or values of others are staged.
    """
    refuse_unknown(setup, subject)
    rows = rows_of(setup, wishes, names, subject)
    wanted = {row.attribute: row.wanted for row in rows}
    others = _others(setup, wanted)
    coming = {key: value for key, value in setup.coming.items() if key not in others or foreign != "discard"}
    final = {**setup.applied, **coming, **wanted}
    if others and foreign == "refuse":
        raise _foreign(subject, others)
    waiting = list(setup.waiting)
    # Where a job applies what is staged, what is staged without one is never applied.
    stuck = setup.by_job and not waiting
    writes = {row.attribute: row.wanted for row in rows if row.do == "stage" or (row.do == "boot" and stuck)}
    _refuse_locked(setup, [row for row in rows if row.attribute in writes], final, subject)
    _refuse_effects(setup, writes, wanted, final, names, subject)
    if foreign == "discard":
        writes |= _taken_back(setup, others, subject)
    if writes and setup.settings is None:
        raise BmcError(
            "no_settings_object", subject, "its Bios names no settings to stage", "@Redfish.Settings", "use the menu"
        )
    if writes and waiting and foreign != "discard":
        raise _scheduled(subject, waiting)
    return Plan(rows, writes, waiting if writes else [], others, _notes(rows, others, foreign))


def views(setup: Setup, names: Names) -> dict[str, dict[str, Any]]:
    """Each neutral key that is found: attribute, applied and staged value, the applied one in neutral words, status."""
    told = {}
    for key in sorted(names.keys):
        try:
            attributes, row = found(setup, names, key)
        except BmcError:
            continue  # only who wants to set it has to be told that it is several
        values = [setup.applied[one] for one in attributes]
        if row is not None:
            words = sorted({neutral(names, setup.maker, key, one) for one in values})
            staged = {one: setup.staged[one] for one in attributes if one in setup.staged}
            kept = {"attributes": dict(zip(attributes, values, strict=True)), "staged": staged}
            told[key] = {**kept, "value": words[0] if len(words) == 1 else None, "status": row.get("status", "yours")}
    return told


def readable(setup: Setup) -> dict[str, Any]:
    """Every applied attribute but passwords."""
    return {name: value for name, value in setup.applied.items() if not setup.is_secret(name)}


def verdict(rows: Iterable[Row], waiting: Iterable[Job], ours: Job | None) -> Verdict:
    """What became of the wished values after the boot; the caller asks again where it says wait.

    A value alone proves nothing while a job runs: one maker shows it before the job has ended.

    :param ours: the job that was to apply them; None where there was none, or it is gone.
    """
    active = [job for job in (*waiting, *([ours] if ours else [])) if job.end is None]
    if active:
        return Verdict("wait", f"job {active[0].uri} is {active[0].state} still")
    missing = [row for row in rows if not same(row.applied, row.wanted)]
    if not missing:
        return Verdict("applied", "")
    told = "; ".join(f"{row.attribute} is {row.applied}, not {row.wanted}" for row in missing)
    if ours and ours.end == "failed":
        return Verdict("failed", f"{told}: job {ours.uri} ended as {ours.state}: {ours.told}")
    if any(row.staged is not None for row in missing):
        return Verdict("wait", f"{told}: it is staged still, and nothing has applied it")
    return Verdict("wait", f"{told}: it was staged and is no more, so that the BIOS has dropped it")


def not_staged(setup: Setup, writes: Mapping[str, Any]) -> list[str]:
    """The attributes of a PATCH that the settings do not show afterwards."""
    return [key for key, value in writes.items() if not same(setup.coming[key], value)]


def refuse_unknown(setup: Setup, subject: str) -> None:
    """Pass where it is known what is staged and which jobs there are.

    :raises BmcError: staged_unknown, jobs_unknown.
    """
    for problem in setup.problems:
        for begin, code in OPEN.items():
            if problem.startswith(begin):
                raise BmcError(
                    code, f"{subject} BIOS", problem, "what is staged, and which jobs wait", "see why it is so"
                )


def _cstates(setup: Setup, names: Names) -> list[str]:
    try:
        return found(setup, names, GLOBAL_CSTATE)[0]
    except BmcError:
        return []


def _others(setup: Setup, wanted: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The staged values that are neither wished nor what a wished one sets beside itself."""
    beside = setup.registry.effects({**setup.coming, **wanted}, wanted) if setup.registry else {}
    return {
        key: (setup.applied[key], value)
        for key, value in setup.staged.items()
        if key not in wanted and not (key in beside and same(beside[key][0], value))
    }


def _taken_back(setup: Setup, others: Mapping[str, tuple[Any, Any]], subject: str) -> dict[str, Any]:
    secret = next((key for key in others if setup.is_secret(key)), None)
    if secret:
        seen = f"a password is staged ({secret}), and what it was cannot be read"
        raise BmcError("secret_attribute", f"{subject} BIOS", seen, "no staged password", "clear it by hand")
    return {key: applied for key, (applied, _staged) in others.items()}


def _refuse_locked(setup: Setup, rows: Iterable[Row], final: Mapping[str, Any], subject: str) -> None:
    for row in rows:
        why = setup.registry.locked(row.attribute, final) if setup.registry else None
        if why is not None:
            raise BmcError(
                "attribute_not_settable",
                f"{subject} BIOS {row.key}",
                f"{row.attribute} cannot be set: {why}",
                "an attribute that can be",
                "wish for the other setting as well, or take this one out",
            )


def _refuse_effects(
    setup: Setup,
    writes: Mapping[str, Any],
    wanted: Mapping[str, Any],
    final: Mapping[str, Any],
    names: Names,
    subject: str,
) -> None:
    beside = setup.registry.effects(final, writes) if setup.registry else {}
    awake = _cstates(setup, names)
    for name, (value, why) in beside.items():
        if name in wanted and not same(value, wanted[name]):
            seen = f"the BIOS sets it to {value} {why}"
            raise BmcError("dependency", f"{subject} BIOS {name}", seen, str(wanted[name]), "take one of the two out")
        if name in awake and is_off(str(value)):
            raise _boost(f"{subject} BIOS {name}", f"the BIOS sets it to {value} {why}")


def _boost(place: str, seen: str) -> BmcError:
    return BmcError(
        "global_cstate",
        place,
        f"{seen} would switch the global C-states off",
        "global C-states that are on: AMD's boost needs idle cores in C2",
        "leave it out; df_cstates is another item",
    )


def _foreign(subject: str, others: Mapping[str, tuple[Any, Any]]) -> BmcError:
    told = ", ".join(f"{key} {staged} (now {applied})" for key, (applied, staged) in others.items())
    return BmcError(
        "foreign_pending",
        f"{subject} BIOS",
        f"values that nobody asked for here are staged, and the next boot would apply them: {told}",
        "no staged values but ours",
        "find out whose they are; foreign: discard takes them back, foreign: keep lets them be applied",
    )


def _scheduled(subject: str, waiting: list[Job]) -> BmcError:
    return BmcError(
        "job_scheduled",
        f"{subject} BIOS",
        f"job {waiting[0].uri} is {waiting[0].state}, and nothing can be staged beside it",
        "no job for BIOS settings",
        "reboot the node so that it runs, or delete it; foreign: discard deletes it",
    )


def _notes(rows: Iterable[Row], others: Mapping[str, tuple[Any, Any]], foreign: str) -> list[str]:
    notes = [
        f"{row.attribute}: {row.staged}, staged by an earlier run or by somebody else, is replaced by {row.wanted}"
        for row in rows
        if row.do == "stage" and row.staged is not None
    ]
    notes += [
        f"{row.key}: that {row.attribute} is this setting was found in no maker's own document"
        for row in rows
        if row.status == "unverified" and row.do != "nothing"
    ]
    how = {"discard": "is taken back", "keep": "is applied at the next boot as well"}.get(foreign)
    return notes + [f"{key}: {staged}, staged by somebody else, {how}" for key, (_applied, staged) in others.items()]
