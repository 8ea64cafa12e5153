# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BIOS settings through a client: staged in one PATCH that is read back, and proven after the boot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios, bios_reading
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    Answer,
    BmcError,
    refused,
    task_uri,
    words_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_names import Names
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_reading import Job, Setup
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board, host_board
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client

AT_BOOT = "OnReset"
# So often in a row the wished values have to be seen: one maker shows them before its job has begun.
_LOOKS = 2


@dataclass
class Desk:
    """What the settings of one node are changed with.

    :param may_act: passes if this controller may act now.
    :param poll: seconds between two looks; ``wait`` until the wished values have to show.
    """

    client: Client
    names: Names
    system: str | None
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    may_act: Callable[[], None] = lambda: None
    poll: float = 5.0
    wait: float = 300.0
    board: Board | None = None
    setup: Setup | None = None

    @property
    def subject(self) -> str:
        """How errors name the BMC."""
        return self.client.subject

    def read(self) -> Setup:
        """The settings as they are now; what does not change is read once."""
        self.board = self.board or host_board(self.client.get, self.system)
        known = self.setup.registry if self.setup else None
        self.setup = bios_reading.read(self.client.get, self.board, self.subject, known)
        return self.setup


def stage(desk: Desk, wishes: Mapping[str, Any], foreign: str) -> tuple[bios.Plan, str | None]:
    """Stage what is wished; the plan that was carried out, and the job that is to apply it, where there is one.

    :raises BmcError: it must not, or could not, be staged. The code says why.
    """
    plan = bios.plan(desk.read(), wishes, desk.names, desk.subject, foreign)
    if not plan.changes:
        waiting = desk.setup.waiting if desk.setup else ()
        return plan, waiting[0].uri if waiting and plan.boot_needed else None
    carried = plan
    for job in plan.cancel:
        desk.may_act()
        answer = desk.client.delete(job.uri)
        if not answer.good and answer.status != 404:
            raise refused(answer, desk.subject, f"deletion of job {job.uri}")
    if plan.cancel:
        plan = bios.plan(desk.read(), wishes, desk.names, desk.subject, foreign)
    return carried, _write(desk, plan) if plan.writes else None


def _write(desk: Desk, plan: bios.Plan) -> str | None:
    setup = desk.setup
    if setup is None or setup.settings is None:  # a plan with writes has a place for them
        raise FleetError(f"{desk.subject} BIOS", "has no place for staged values", "a settings object", "read it again")
    body: dict[str, Any] = {"Attributes": plan.writes}
    if AT_BOOT in setup.times and plan.boot_needed:
        body["@Redfish.SettingsApplyTime"] = {"ApplyTime": AT_BOOT}
    desk.may_act()
    answer = desk.client.patch(setup.settings, body)
    # An order whose answer was lost may have been carried out: the settings themselves tell.
    if not answer.good and not answer.passing:
        what = f"PATCH {setup.settings} with If-Match {' and '.join(desk.client.tags)}"
        raise refused(answer, f"{desk.subject} BIOS, of which nothing was staged", what)
    seen = desk.read()
    missing = bios.not_staged(seen, plan.writes)
    if missing and not answer.good:
        raise refused(answer, f"{desk.subject} BIOS", f"PATCH {setup.settings}")
    if missing:
        raise _dropped(desk, missing, answer)
    job = task_uri(answer) or next((job.uri for job in seen.waiting), None)
    if seen.by_job and plan.boot_needed and job is None:
        raise BmcError(
            "staged_without_job",
            f"{desk.subject} BIOS",
            "the values are staged, and no job is there that would apply them",
            "a job for the next boot",
            "see the BMC's job queue; it offers the apply times " + (", ".join(seen.times) or "none"),
        )
    return job


def _dropped(desk: Desk, missing: list[str], answer: Answer) -> BmcError:
    told = "; ".join(words_of(answer.body)) or answer.said
    return BmcError(
        "attribute_not_settable",
        f"{desk.subject} BIOS {missing[0]}",
        f"the BMC took the order and did not stage {', '.join(missing)}: {told}",
        "a staged value",
        "look for what locks it in the menu; whatever else was staged with it is so still",
    )


def prove(desk: Desk, wishes: Mapping[str, Any], job: str | None) -> list[bios.Row]:
    """Wait until the wished values are applied and no job is at work any more.

    :param job: the one that was to apply them.
    :raises BmcError: not_applied: they are not, and the message says what became of them.
    """
    end, looks = desk.clock() + desk.wait, 0
    while True:
        rows, seen = _seen(desk, wishes, job)
        looks = looks + 1 if seen.what == "applied" else 0
        if looks >= _LOOKS:
            return rows
        if seen.what == "failed" or (seen.what == "wait" and desk.clock() > end):
            raise BmcError(
                "not_applied",
                f"{desk.subject} BIOS",
                seen.why,
                "the wished values, read back after the boot",
                "look at the log of BMC and BIOS; nothing was changed by looking",
            )
        desk.sleep(desk.poll)


def looked(desk: Desk, wishes: Mapping[str, Any]) -> list[bios.Row]:
    """The wished attributes as they are, whatever they are."""
    return bios.rows_of(desk.read(), wishes, desk.names, desk.subject)


def told(plan: bios.Plan, job: str | None) -> dict[str, Any]:
    """A plan for the result of a task."""
    before = {row.attribute: row.applied if row.staged is None else row.staged for row in plan.rows}
    before |= {key: staged for key, (_applied, staged) in plan.foreign.items()}
    lines = {
        "before": "".join(f"{key}: {before[key]}\n" for key in plan.writes),
        "after": "".join(f"{key}: {value}\n" for key, value in plan.writes.items()),
    }
    return {
        "changed": plan.changes,
        "rows": [row.as_dict() for row in plan.rows],
        "foreign": {key: list(pair) for key, pair in plan.foreign.items()},
        "boot_needed": plan.boot_needed,
        "job": job,
        "diff": lines,
        "warnings": plan.notes,
    }


def shown(desk: Desk) -> dict[str, Any]:
    """Everything that is read, for the result of a task."""
    setup = desk.read()
    return {
        "maker": setup.maker,
        "settings": bios.views(setup, desk.names),
        "attributes": bios.readable(setup),
        "staged": {key: [setup.applied[key], value] for key, value in setup.staged.items()},
        "jobs": [job._asdict() for job in setup.waiting],
        "problems": list(setup.problems),
        "warnings": list(setup.problems),
    }


def _seen(desk: Desk, wishes: Mapping[str, Any], job: str | None) -> tuple[list[bios.Row], bios.Verdict]:
    """One look after the boot; a BMC that is not there yet is waited for."""
    try:
        setup = desk.read()
    except BmcError as problem:
        if problem.code != "bmc_unreachable":
            raise
        return [], bios.Verdict("wait", problem.seen)
    bios.refuse_unknown(setup, desk.subject)
    rows = bios.rows_of(setup, wishes, desk.names, desk.subject)
    return rows, bios.verdict(rows, setup.waiting, _job(desk, job))


def _job(desk: Desk, uri: str | None) -> Job | None:
    answer = desk.client.look(uri) if uri else Answer(404)
    return bios_reading.ended(str(uri), answer.body) if answer.good and answer.body else None
