# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a BMC answers: one form of it, what its error bodies say, where an accepted order can be followed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

LOST = 0
_LONGEST = 300
_LICENCE = re.compile(r"not licensed|licen[cs]es? .*need|OemLicenseNotPassed|license (is )?(required|missing)", re.I)
_SLOTS = re.compile(r"RAC0218|maximum number of (user )?sessions|SessionLimitExceeded|session limit", re.I)
_TASK = re.compile(r"/redfish/v1/\S*(?:Tasks|TaskMonitors?|Jobs)/[^/\s]+/?", re.I)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))


class BmcError(FleetError):
    """A BMC that cannot be used, or an order of ours that it refused.

    :param code: a stable word, also in brackets at the end of what was seen; docs/firmware.md lists them.
    """

    def __init__(self, code: str, subject: str, seen: str, wanted: str = "", fix: str = "") -> None:
        self.code = code
        super().__init__(subject, f"{seen} [{code}]", wanted, fix)


class Answer(NamedTuple):
    """One answer. ``status`` is LOST where the connection gave none; ``body`` None where it is no JSON object."""

    status: int
    body: dict[str, Any] | None = None
    headers: Mapping[str, str] = {}
    why: str = ""

    @property
    def good(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    @property
    def passing(self) -> bool:
        """True for what may be another answer a moment later: none at all, 5xx, too many requests."""
        return self.status == LOST or self.status == 429 or self.status >= 500

    @property
    def moved(self) -> str | None:
        """Where the resource is instead, for a redirect."""
        return self.header("Location") if self.status in _REDIRECTS else None

    def header(self, name: str) -> str | None:
        """A header by its name in any case."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), None)

    @property
    def said(self) -> str:
        """What the answer says went wrong, in the BMC's words."""
        told = "; ".join(words_of(self.body)) or self.why
        status = f"HTTP {self.status}" if self.status else "no answer"
        return masked(f"{status}: {told}" if told else status)[:_LONGEST]


def path_of(uri: str) -> str:
    """Path and query of a URI: a BMC may name itself by a name that is not the address we know it by."""
    parts = urlsplit(uri)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def link(body: Mapping[str, Any] | None, *keys: str) -> str | None:
    """The URI below these keys of a resource, None where it has none."""
    for key in keys:
        body = (body or {}).get(key)
        if not isinstance(body, Mapping):
            return None
    uri = (body or {}).get("@odata.id")
    return path_of(uri) if isinstance(uri, str) and uri else None


def infos_of(body: Any) -> list[Mapping[str, Any]]:
    """The messages of an answer or of a task, whatever they lie in; some makers write one in place of a list."""
    if not isinstance(body, Mapping):
        return []
    inner = [body.get(key) for key in ("error", "Accepted", "Success")]
    places = [*(one for one in inner if isinstance(one, Mapping)), body]
    found = [place.get(key) for place in places for key in ("@Message.ExtendedInfo", "Messages")]
    rows = [row for part in found for row in (part if isinstance(part, list) else [part])]
    return [row for row in rows if isinstance(row, Mapping)]


def words_of(body: Any) -> list[str]:
    """The texts of the messages, each with its id, each once."""
    rows = [f"{row.get('Message') or ''} ({message_id(row)})".strip() for row in infos_of(body)]
    if not rows and isinstance(body, Mapping):
        error = body.get("error")
        text = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
        rows = [str(text)] if text else []
    return list(dict.fromkeys(rows))


def message_id(row: Mapping[str, Any]) -> str:
    """The id of a message; old iLOs write MessageID."""
    return str(row.get("MessageId") or row.get("MessageID") or "no id")


def lacks_licence(answer: Answer) -> bool:
    """Whether a 403 is for want of a licence; login and rights are in order then."""
    return answer.status == 403 and bool(_LICENCE.search(" ".join(words_of(answer.body))))


def slots_are_full(answer: Answer) -> bool:
    """Whether a login was refused because others hold all sessions."""
    return answer.passing and bool(_SLOTS.search(" ".join(words_of(answer.body))))


def refused(answer: Answer, subject: str, what: str) -> BmcError:
    """The error for an answer that is none of what was hoped for."""
    if lacks_licence(answer):
        fix = "buy or enter the maker's licence for updates out of band; login and password are in order"
        return BmcError("license_missing", subject, f"{what}: {answer.said}", "a licensed BMC", fix)
    if answer.status == 401:
        return BmcError(
            "bad_credentials",
            subject,
            f"{what}: {answer.said}",
            "a user that may log in",
            "correct fleet_bmc_user and fleet_bmc_password",
        )
    if answer.status == 403:
        return BmcError(
            "not_allowed",
            subject,
            f"{what}: {answer.said}",
            "a user with the right to do this",
            "give the user the role Administrator, or see what the BMC says",
        )
    if answer.status == 404:
        return BmcError("not_there", subject, f"{what}: {answer.said}", "a resource that the BMC offers", "")
    if answer.status in (412, 428):
        return BmcError(
            "precondition_refused",
            subject,
            f"{what}: {answer.said}",
            "an ETag that the BMC takes",
            "suspect the firmware of the BMC, and update it first",
        )
    if answer.passing:
        return BmcError(
            "bmc_unreachable",
            subject,
            f"{what}: {answer.said}",
            "a BMC that answers",
            "see that it is on the network, and reset it where it hangs",
        )
    return BmcError("refused", subject, f"{what}: {answer.said}", "", "see what the BMC says")


def task_uri(answer: Answer) -> str | None:
    """Where an accepted order can be followed: a header, the task as the body, or named in a message; None for none."""
    for text in _places(answer):
        match = _TASK.search(path_of(text) if "://" in text else text)
        if match:
            return match[0].rstrip("/")
        if text.startswith("/") and answer.status == 202:
            return path_of(text)  # a monitor may lie anywhere, /taskmon/545 for one
    return None


def _places(answer: Answer) -> Iterator[str]:
    header = answer.header("Location")
    if header:
        yield header
    body = answer.body or {}
    if "TaskState" in body or "JobState" in body or "Task" in str(body.get("@odata.type", "")):
        yield from (str(body[key]) for key in ("@odata.id", "TaskMonitor") if body.get(key))
    for row in infos_of(body):
        arguments = row.get("MessageArgs")
        yield from (str(one) for one in (arguments if isinstance(arguments, list) else []))
    if "Members" not in body and "@odata.id" in body:
        yield str(body["@odata.id"])


def last_part(uri: str) -> str:
    """The last part of a path: what a task and its monitor have in common."""
    return uri.rstrip("/").rpartition("/")[2]


def is_of(uri: str, uris: Iterable[str]) -> bool:
    """Whether a task or its monitor is one of those tasks."""
    return last_part(uri) in {last_part(one) for one in uris}
