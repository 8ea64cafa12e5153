# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a BMC tells of the BIOS settings: what is applied, what is staged, which job waits or runs, what may be set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, link, path_of, words_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_registry import (
    Registry,
    registry_of,
    registry_of_objects,
    same,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board

Get = Callable[[str], Mapping[str, Any]]

# How a problem begins that leaves open what is staged, or which jobs there are, and the code of the refusal.
OPEN = {"staged: ": "staged_unknown", "jobs: ": "jobs_unknown"}
SECRET = "***"
REGISTRIES = "/redfish/v1/Registries"
_TASKS = "/redfish/v1/TaskService/Tasks"
# A flash of the BIOS is none of its settings.
_BIOS = re.compile(r"^(?!.*(update|flash|firmware)).*bios", re.IGNORECASE | re.DOTALL)
_WELL = frozenset(("Completed", "Success", "RebootCompleted"))
_BADLY = ("Exception", "Killed", "Cancelled", "Canceled", "Failed", "Error", "CompletedWithErrors", "RebootFailed")


class Job(NamedTuple):
    """A job that applies BIOS settings. ``end`` is None while it waits or runs, then ``good`` or ``failed``."""

    uri: str
    state: str
    end: str | None
    told: str


class Setup(NamedTuple):
    """The BIOS settings behind a BMC.

    ``applied`` is what holds now; ``staged`` what will hold after the next boot, of the attributes for which that
    differs. ``registry`` is None where the BMC has none. ``settings`` is where a change goes, None where nothing says.
    ``by_job`` says that nothing staged is applied without a job; ``times`` are the apply times that are offered.
    """

    maker: str
    settings: str | None
    applied: Mapping[str, Any]
    staged: Mapping[str, Any]
    registry: Registry | None
    times: tuple[str, ...]
    by_job: bool
    jobs: tuple[Job, ...]
    problems: tuple[str, ...]

    @property
    def waiting(self) -> tuple[Job, ...]:
        """The jobs that have not ended."""
        return tuple(job for job in self.jobs if job.end is None)

    def is_secret(self, name: str) -> bool:
        """Whether an attribute is a password."""
        item = self.registry.items.get(name) if self.registry else None
        return item.secret if item else "password" in name.lower()

    @property
    def coming(self) -> dict[str, Any]:
        """What holds after the next boot, if what is staged is applied."""
        return {**self.applied, **self.staged}


def read(get: Get, board: Board, subject: str, registry: Registry | None = None) -> Setup:
    """Read the settings.

    :param registry: one that was read before; it is large.
    :raises BmcError: no_bios: the BMC tells no BIOS settings.
    """
    uri = link(board.system, "Bios")
    bios = get(uri) if uri else {}
    attributes = bios.get("Attributes")
    if uri is None or not isinstance(attributes, Mapping) or not attributes:
        seen = "; ".join(board.problems) or f"{uri or 'its system'} shows no BIOS attributes"
        raise BmcError("no_bios", subject, seen, "Bios with Attributes", "set this node's BIOS by hand")
    problems: list[str] = []
    known = registry or _registry(get, uri, bios, problems)
    place, later = _settings(get, uri, bios, problems)
    applied = _values(attributes)
    staged = {key: value for key, value in _values(later.get("Attributes")).items() if key in applied}
    staged = {key: value for key, value in staged.items() if not same(value, applied[key])}
    _hide(applied, staged, known)
    by_job = board.maker == "Dell"
    jobs = tuple(_jobs(get, board, later, by_job, problems))
    return Setup(board.maker, place, applied, staged, known, _times(bios, later), by_job, jobs, tuple(problems))


def _values(attributes: Any) -> dict[str, Any]:
    rows = attributes.items() if isinstance(attributes, Mapping) else ()
    return {key: value.get("current_value") if isinstance(value, Mapping) else value for key, value in rows}


def _hide(applied: dict[str, Any], staged: dict[str, Any], registry: Registry | None) -> None:
    """Nothing of a password leaves this file but that another one is staged."""
    secret = {name for name, item in registry.items.items() if item.secret} if registry else set()
    for name in [one for one in applied if one in secret or "password" in one.lower()]:
        applied[name] = SECRET
        if name in staged:
            staged[name] = f"{SECRET} (another)"


def _settings(get: Get, uri: str, bios: Mapping[str, Any], problems: list[str]) -> tuple[str | None, Mapping[str, Any]]:
    named = link(bios, "@Redfish.Settings", "SettingsObject")
    base = uri.rstrip("/")
    # Some BMCs have one and name none.
    for place in [named] if named else [f"{base}/SD", f"{base}/Settings"]:
        try:
            return place, get(place)
        except BmcError as problem:
            if problem.code != "not_there":
                raise
    if named:
        problems.append(f"staged: {named} is named and is not there")
    return named, {}


def _times(bios: Mapping[str, Any], later: Mapping[str, Any]) -> tuple[str, ...]:
    future, when = bios.get("@Redfish.Settings"), later.get("@Redfish.SettingsApplyTime")
    found = future.get("SupportedApplyTimes") if isinstance(future, Mapping) else None
    found = found or (when.get("ApplyTime@Redfish.AllowableValues") if isinstance(when, Mapping) else None)
    return tuple(str(one) for one in found) if isinstance(found, list) else ()


# -- the registry -----------------------------------------------------------------------------------------------------


def _registry(get: Get, uri: str, bios: Mapping[str, Any], problems: list[str]) -> Registry | None:
    attributes = bios["Attributes"]
    if any(isinstance(value, Mapping) for value in attributes.values()):
        return registry_of_objects(attributes)
    name = str(bios.get("AttributeRegistry") or "BiosAttributeRegistry")
    for place in _places(get, name, uri):
        try:
            found = _followed(get, place)
        except BmcError as problem:
            if problem.code != "not_there":
                raise
            continue
        if found is not None:
            return found
    problems.append(f"registry: {name} is not there, so that nobody can say which values are allowed")
    return None


def _places(get: Get, name: str, uri: str) -> Iterator[str]:
    yield f"{REGISTRIES}/{name}"
    try:
        members = get(REGISTRIES).get("Members")
    except BmcError:
        members = None
    rows = [row.get("@odata.id") for row in members or [] if isinstance(row, Mapping)]
    found = [path_of(one) for one in rows if isinstance(one, str) and "attributeregistry" in one.lower()]
    yield from (one for one in found if "bios" in one.lower())
    yield f"{uri.rstrip('/')}/BiosRegistry"


def _followed(get: Get, place: str) -> Registry | None:
    body = get(place)
    found = registry_of(body)
    where = body.get("Location")
    rows = [row for row in (where if isinstance(where, list) else []) if isinstance(row, Mapping) and row.get("Uri")]
    rows.sort(key=lambda row: not str(row.get("Language")).startswith("en"))
    if found is None and rows:
        uri = rows[0]["Uri"]
        # One maker writes a link there.
        uri = uri.get("extref") or uri.get("@odata.id") if isinstance(uri, Mapping) else uri
        found = registry_of(get(path_of(str(uri))))
    return found


# -- jobs -------------------------------------------------------------------------------------------------------------


def _jobs(get: Get, board: Board, later: Mapping[str, Any], by_job: bool, problems: list[str]) -> Iterator[Job]:
    manager = str(board.manager.get("@odata.id") or "").rstrip("/")
    queue = link(later, "Oem", "Dell", "Jobs") or (f"{manager}/Oem/Dell/Jobs" if by_job and manager else None)
    for place in [queue] if queue else [_TASKS]:
        try:
            yield from _queue(get, place)
        except BmcError as problem:
            # A BMC without such a service has no such jobs; one that does not answer may have.
            if by_job or problem.code != "not_there":
                problems.append(f"jobs: {problem.seen}")


def _queue(get: Get, place: str) -> Iterator[Job]:
    members = get(place).get("Members")
    for row in members if isinstance(members, list) else []:
        if not isinstance(row, Mapping):
            continue
        uri = path_of(str(row.get("@odata.id") or ""))
        try:
            job = job_of(uri, row if len(row) > 2 else get(uri))
        except BmcError as problem:
            if problem.code != "not_there":
                raise
            continue  # it has gone meanwhile
        if job is not None:
            yield job


def job_of(uri: str, body: Mapping[str, Any]) -> Job | None:
    """A task or job as far as it is about BIOS settings; None for any other."""
    kind = body.get("JobType")
    if kind != "BIOSConfiguration" and (kind or not _BIOS.search(str(body.get("Name") or ""))):
        return None
    return ended(uri, body)


def ended(uri: str, body: Mapping[str, Any]) -> Job:
    """A task or job that is known to be about BIOS settings."""
    state = str(body.get("JobState") or body.get("TaskState") or "unknown")
    status = body.get("TaskStatus") or body.get("JobStatus") or "OK"
    told = "; ".join(words_of(body)) or str(body.get("Message") or "")
    good = state in _WELL and status in ("OK", "Warning")
    return Job(uri, state, None if state not in (*_WELL, *_BADLY) else "good" if good else "failed", told)
