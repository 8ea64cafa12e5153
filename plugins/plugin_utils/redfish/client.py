# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session with a BMC: sushy's connector and login, with a patience of ours.

A question is repeated where no answer came, or one that may be another a moment later. An order is never repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    LOST,
    Answer,
    BmcError,
    path_of,
    refused,
    slots_are_full,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.connection import Door, library, once

ROOT = "/redfish/v1/"
_MISTRUST = "CERTIFICATE_VERIFY_FAILED"
_WHOLE = ("Vendor", "Systems", "Chassis", "Managers", "UpdateService")
_NO_SESSIONS = frozenset((404, 405, 501))


class Client:
    """A session with one BMC, to be used with ``with``: it is closed at the end, whatever happened.

    :param sleep: waits so many seconds.
    """

    def __init__(self, door: Door, sleep: Callable[[float], None]) -> None:
        self.door, self.sleep = door, sleep
        self._sushy = library()
        self._last: Any = None
        self._connector: Any = None
        self._auth: Any = None
        self._root: Any = None
        self._told: dict[str, Any] | None = None
        self.tags: list[str] = []  # of the last PATCH, in their turn

    @property
    def subject(self) -> str:
        """How errors name this BMC."""
        return f"BMC {self.door.address}"

    def __enter__(self) -> Client:
        self.open()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def open(self) -> None:
        """Log in.

        :raises BmcError: bmc_unreachable, untrusted_certificate, bad_credentials, session_limit or not_redfish.
        """
        if not self.door.url.startswith("https://"):
            raise BmcError("not_https", self.subject, "is not an https address", "https", "correct fleet_bmc_address")
        if self.door.ca and not os.path.exists(self.door.ca):
            raise BmcError(
                "no_ca",
                self.door.ca,
                "there is no such file or folder",
                "certificates of your CA",
                "correct fleet_bmc_ca",
            )
        answer = self._patiently(self._login)
        if slots_are_full(answer):
            raise BmcError(
                "session_limit",
                self.subject,
                f"login: {answer.said}",
                "a free session",
                "end sessions that nobody uses any more, or wait until they time out; none was ended from here",
            )
        if not answer.good:
            raise refused(answer, self.subject, "login")
        # The root was asked for before the login, when a BMC may keep something back.
        told = self._root.json
        self._told = dict(told) if told and all(told.get(key) for key in _WHOLE) else None

    def close(self) -> None:
        """Give the session back; a BMC that is away ends it by itself."""
        auth, self._auth = self._auth, None
        if auth is not None:
            self._connector.set_auth(None)  # a session that is gone is not opened again to be closed
            # Only the session of our own is ended: on the others somebody's work may hang.
            if auth.can_refresh_session():
                self._ask(self._connector.delete, path_of(auth.get_session_resource_id()))
                auth.reset_session_attrs()
        if self._connector is not None:
            self._connector.close()

    def look(self, path: str) -> Answer:
        """One GET, once: an answer of any kind."""
        return self._as_us(self._connector.get, path_of(path))

    def patiently(self, path: str) -> Answer:
        """One GET, repeated through lost connections and 5xx: an answer of any kind."""
        return self._patiently(lambda: self._following(path))

    def get(self, path: str) -> dict[str, Any]:
        """The resource at a path, asked for through lost connections and 5xx.

        :raises BmcError: it cannot be had.
        """
        if path == ROOT and self._told:
            told, self._told = self._told, None  # once: it was asked for a moment ago, to log in
            return told
        return self._read(path)[0]

    def tagged(self, path: str) -> tuple[dict[str, Any], str | None]:
        """A resource and its ETag, as the BMC writes it: the header's, else the one in the body."""
        body, answer = self._read(path)
        return body, answer.header("ETag") or body.get("@odata.etag")

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """One POST, never repeated, never with If-Match: an action has no ETag, and some BMCs refuse one."""
        return self._as_us(self._connector.post, path_of(path), data=dict(body))

    def push(self, path: str, content: Any, content_type: str, timeout: float) -> Answer:
        """One POST of a stream (``push.Stream``), never repeated: ask something first, so that the session is fresh.

        :param timeout: seconds without a byte.
        """
        return self._as_us(self._connector.stream, path_of(path), content, content_type, timeout)

    def patch(self, path: str, body: Mapping[str, Any]) -> Answer:
        """One PATCH with the ETag that the resource has just now; after a 412 once more with a fresh one."""
        answer, self.tags = Answer(LOST), []
        for _attempt in range(2):
            _resource, tag = self.tagged(path)
            self.tags.append(tag or "none")
            # Not as sushy's ``etag``: it would try without one in the end, and overwrite somebody's change.
            headers = {"If-Match": tag} if tag else None
            answer = self._as_us(self._connector.patch, path_of(path), data=dict(body), headers=headers)
            if answer.status != 412:
                break
        return answer

    def delete(self, path: str) -> Answer:
        """One DELETE, never repeated."""
        return self._as_us(self._connector.delete, path_of(path))

    def _read(self, path: str) -> tuple[dict[str, Any], Answer]:
        answer = self.patiently(path)
        if not answer.good or answer.body is None:
            raise refused(answer, self.subject, f"GET {path}")
        return answer.body, answer

    def _patiently(self, act: Callable[[], Answer]) -> Answer:
        """The first answer that will not be another a moment later, or the last one."""
        answer, asked, end = act(), 1, time.monotonic() + self.door.patience
        while answer.passing and (asked < self.door.attempts or time.monotonic() < end):
            self.sleep(self.door.pause)
            answer, asked = act(), asked + 1
        return answer

    def _following(self, path: str) -> Answer:
        answer = self.look(path)
        for _hop in range(3):
            if answer.moved is None:
                break
            answer = self.look(answer.moved)
        return answer

    def _login(self) -> Answer:
        self.close()
        made = once(self._sushy.connector.Connector, self._sushy.exceptions.raise_for_response)
        self._connector = made(
            self.door.url,
            verify=(self.door.ca or True) if self.door.verify else False,
            response_callback=self._seen,
            server_side_retries=1,
            default_request_timeout=(self.door.connect_timeout, self.door.timeout),
        )
        answer = self._ask(self._enter, self._sushy.auth.SessionAuth)
        # Where there is no service for sessions, and there alone, each request carries the password.
        return self._ask(self._enter, self._sushy.auth.BasicAuth) if answer.status in _NO_SESSIONS else answer

    def _enter(self, kind: Any) -> Any:
        self._auth = kind(self.door.user, self.door.password)
        # The root has to live as long as the session: sushy ends the session with it.
        self._root = self._sushy.Sushy(self.door.url, auth=self._auth, connector=self._connector, root_prefix=ROOT)
        return self._last

    def _seen(self, response: Any) -> None:
        self._last = response

    def _ask(self, act: Callable[..., Any], *words: Any, **more: Any) -> Answer:
        known = self._sushy.exceptions
        self._last = None
        try:
            return _answer(act(*words, **more))
        except known.HTTPError:
            return _answer(self._last)
        except known.ConnectionError as problem:
            if _MISTRUST in str(problem):
                raise self._untrusted(problem) from None
            return Answer(LOST, why=_reason(problem))
        except known.MissingAttributeError as problem:
            raise self._no_redfish(problem) from None
        except (AttributeError, TypeError, ValueError) as problem:
            # sushy stumbles over an error body that is a bare text, a number or a list, and over what is no JSON.
            if self._last is None:
                raise
            if self._last.status_code < 400:
                raise self._no_redfish(problem) from None
            return _answer(self._last)

    def _as_us(self, act: Callable[..., Any], *words: Any, **more: Any) -> Answer:
        """A request of our session. What was refused for want of one was not carried out: log in anew, ask again."""
        answer = self._ask(act, *words, **more)
        if answer.status != 401 or not isinstance(self._auth, self._sushy.auth.SessionAuth):
            return answer
        login = self._ask(self._enter_again)
        return self._ask(act, *words, **more) if login.good else login

    def _enter_again(self) -> Any:
        self._auth.refresh_session()
        return self._last

    def _untrusted(self, problem: Exception) -> BmcError:
        return BmcError(
            "untrusted_certificate",
            self.subject,
            f"its certificate is not trusted: {_reason(problem)}",
            "a certificate that a trusted CA signed for this address",
            "give the CA with fleet_bmc_ca; fleet_bmc_validate_certs: false trusts whoever answers at this address",
        )

    def _no_redfish(self, problem: Exception) -> BmcError:
        return BmcError(
            "not_redfish",
            self.subject,
            f"answers, but not as a Redfish service: {type(problem).__name__}",
            f"a Redfish service at {ROOT}",
            "correct fleet_bmc_address",
        )


def _answer(response: Any) -> Answer:
    try:
        body = response.json()
    except ValueError:
        body = None
    if body is not None and not isinstance(body, dict):
        return Answer(response.status_code, None, dict(response.headers), why=str(body)[:100])
    return Answer(response.status_code, body, dict(response.headers), why=response.reason or "")


def _reason(problem: Exception) -> str:
    """Why a connection failed, without the three layers around it."""
    text = str(getattr(problem, "message", None) or problem)
    inner = text.rpartition("(Caused by ")[2].rstrip("')\" ") if "(Caused by " in text else text
    return " ".join(inner.split())[-200:]
