# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the resources of a BMC to components: what runs, what lies beside it, and what is not known. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, link, path_of, words_of

FIELDS = {"id": "Id", "name": "Name", "software_id": "SoftwareId", "description": "Description"}
MOST_PAGES, MOST_ENTRIES, AGAIN = 200, 5000, 3
RUNNING = "running"
# By Status.State, where no pattern of the catalog says otherwise; OfflineSpare is how one maker writes it.
_BANK_OF = {
    "Enabled": RUNNING,
    "Updating": RUNNING,
    "InTest": RUNNING,
    "Starting": RUNNING,
    "Deferring": RUNNING,
    "StandbySpare": "spare",
    "OfflineSpare": "spare",
    "StandbyOffline": "staged",
    "Disabled": "previous",
    "Absent": "absent",
    "UnavailableOffline": "unavailable",
}
_NO_VERSION = re.compile(r"(n/?a|none|null|undefined|unknown|not available|(0x)?f{2,8}|0x0+|[0.]+|-+)?", re.IGNORECASE)

Get = Callable[[str], Mapping[str, Any]]
Patterns = Iterable[Mapping[str, Any]]


class Entry(NamedTuple):
    """One entry of an inventory. ``version`` and ``updateable`` are None where the BMC does not say.

    ``bank`` is running, spare, previous, staged, absent, unavailable or driver; ``component`` None for one that no
    pattern names; ``scheme`` is how its versions compare.
    """

    uri: str
    id: str
    name: str
    software_id: str | None
    version: str | None
    bank: str
    state: str | None
    health: str | None
    updateable: bool | None
    lowest: str | None
    component: str | None
    scheme: str

    def as_dict(self) -> dict[str, Any]:
        """For the result of a task."""
        return dict(self._asdict())


class Walk(NamedTuple):
    """Entries of a collection, and why there may be more than these: what is not seen is then unknown, not absent."""

    entries: list[Mapping[str, Any]]
    problems: list[str]

    @property
    def complete(self) -> bool:
        """True where the BMC told everything."""
        return not self.problems


def walk(get: Get, path: str) -> Walk:
    """Every member of a collection, page by page; each is asked for where it is not there as a whole.

    :raises BmcError: the collection itself cannot be read.
    """
    members, problems = _pages(get, path)
    entries = []
    for member in members[:MOST_ENTRIES]:
        uri = member.get("@odata.id")
        try:
            whole = len(member) > 2 or not isinstance(uri, str)
            entries.append(member if whole else {"@odata.id": uri, **get(path_of(str(uri)))})
        except BmcError as problem:
            problems.append(f"{uri} is named and cannot be read: {problem.seen}")
    return Walk(entries, problems)


def _pages(get: Get, path: str) -> tuple[list[Mapping[str, Any]], list[str]]:
    members: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    seen, page, count = {path_of(path)}, _page(get, path, problems), None
    for _number in range(MOST_PAGES):
        count = page.get("Members@odata.count", count)
        for member in page.get("Members") or []:
            if isinstance(member, Mapping):
                members.setdefault(str(member.get("@odata.id", len(members))), member)
        following = page.get("Members@odata.nextLink")
        following = following.get("@odata.id") if isinstance(following, Mapping) else following
        if not isinstance(following, str) or not following:
            break
        if path_of(following) in seen:
            problems.append(f"inventory_incomplete: the page {following} leads back to one that was read")
            break
        seen.add(path_of(following))
        page = _page(get, path_of(following), problems)
    if isinstance(count, int) and count != len(members):
        problems.append(f"inventory_incomplete: {len(members)} entries were read, the BMC counts {count}")
    return list(members.values()), problems


def _page(get: Get, path: str, problems: list[str]) -> Mapping[str, Any]:
    """A page; one that carries an error beside its members is asked for again, and then told as partial."""
    page: Mapping[str, Any] = {}
    for _attempt in range(AGAIN):
        page = get(path)
        if "error" not in page:
            return page
    problems.append(f"inventory_partial: {path} holds an error beside its members: {'; '.join(words_of(page))}")
    return page


def inventory_uri(service: Mapping[str, Any], subject: str) -> str:
    """Where the firmware inventory lies; an old service has all software in one.

    :raises BmcError: no_inventory.
    """
    uri = link(service, "FirmwareInventory") or link(service, "SoftwareInventory")
    if uri is None:
        raise no_inventory(subject, "its update service names no firmware inventory")
    return uri


def no_inventory(subject: str, why: str) -> BmcError:
    """The error for a BMC that tells no firmware."""
    return BmcError(
        "no_inventory", subject, why, "a firmware inventory over Redfish", "read the versions with the maker's own tool"
    )


def entries_of(
    resources: Iterable[Mapping[str, Any]], maker: str, own: Patterns, components: Patterns, banks: Patterns
) -> list[Entry]:
    """What the resources of an inventory say, by patterns of the operator, then of the maker, then of everybody.

    :param own: rows {component, field, pattern, scheme} of the operator.
    :param components: rows of the catalog; ``banks`` as well.
    """
    rows = [*own, *_for(maker, components)]
    shelves = list(_for(maker, banks))
    return [_entry(resource, rows, shelves) for resource in resources]


def _for(maker: str, rows: Patterns) -> Iterator[Mapping[str, Any]]:
    rows = list(rows)
    yield from (row for row in rows if row["maker"] == maker)
    yield from (row for row in rows if row["maker"] == "any")


def _entry(resource: Mapping[str, Any], rows: Patterns, shelves: Patterns) -> Entry:
    status = resource.get("Status")
    status = status if isinstance(status, Mapping) else {}
    state, updateable = _text(status.get("State")), resource.get("Updateable")
    named = _first(rows, resource)
    component, scheme = (named["component"], named["scheme"]) if named else (_related(resource), "maker")
    shelf = _first(shelves, resource)
    bank = shelf["bank"] if shelf else _BANK_OF.get(state or "Enabled", "unavailable")
    return Entry(
        path_of(str(resource.get("@odata.id", ""))),
        str(resource.get("Id") or ""),
        str(resource.get("Name") or ""),
        _text(resource.get("SoftwareId")),
        version_of(resource),
        bank,
        state,
        _text(status.get("Health")),
        updateable if isinstance(updateable, bool) else None,
        known_version(resource.get("LowestSupportedVersion")),
        component,
        scheme,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first(rows: Patterns, resource: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((row for row in rows if fits(row["pattern"], resource.get(FIELDS[row["field"]]))), None)


def fits(pattern: str, value: Any) -> bool:
    """Whether a pattern fits a whole text.

    :raises FleetError: for a pattern that is none.
    """
    try:
        return isinstance(value, str) and re.fullmatch(pattern, value.strip(), re.IGNORECASE) is not None
    except re.error as problem:
        raise FleetError(
            f"pattern {pattern!r}", f"is no regular expression: {problem}", "one that Python's re takes", "correct it"
        ) from problem


def _related(resource: Mapping[str, Any]) -> str | None:
    """An image of the manager is the BMC's, whatever it is called; a hash for one."""
    items = resource.get("RelatedItem")
    paths = [str(item.get("@odata.id", "")) for item in items or [] if isinstance(item, Mapping)]
    return "bmc" if paths and all("/Managers/" in path for path in paths) else None


def version_of(resource: Mapping[str, Any]) -> str | None:
    """The version that an entry shows; None for one that is absent, null, empty, or a word for no version.

    The bundle of an MI3xx board has its own below Oem, and one maker writes a list.
    """
    oem = resource.get("Oem")
    places = (oem, oem.get("AMD")) if isinstance(oem, Mapping) else ()
    for place in places:
        details = (place.get("VersionID") or {}).get("ComponentDetails") if isinstance(place, Mapping) else None
        if known_version(details):
            return known_version(details)
    value = resource.get("Version")
    if isinstance(value, list):
        found = [known_version(row.get("Version") or row.get("VRVersion")) for row in value if isinstance(row, Mapping)]
        return found[0] if len(set(found)) == 1 else None
    return known_version(value)


def known_version(value: Any) -> str | None:
    """A version as it is written; None where it says that there is none, or holds what no version does."""
    text = value.strip() if isinstance(value, str) else ""
    return text if text.isprintable() and _NO_VERSION.fullmatch(text) is None else None


def running(entries: Iterable[Entry], component: str) -> list[Entry]:
    """The running entries of a component."""
    return [entry for entry in entries if entry.component == component and entry.bank == RUNNING]


def staged(entries: Iterable[Entry], component: str) -> list[Entry]:
    """The entries of a component that wait for their activation."""
    return [entry for entry in entries if entry.component == component and entry.bank == "staged"]
