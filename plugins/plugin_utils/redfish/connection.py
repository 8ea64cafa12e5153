# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a BMC is, and sushy's connector made to send each request once. Nothing else imports sushy.

sushy repeats a request whose connection was lost, orders as well as questions. Here nothing is repeated: client.py
repeats a question, and whether an order was carried out is for its caller to find out.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError


@dataclass(frozen=True)
class Door:
    """Where a BMC is, who we are there, and how long we wait; a repr shows neither user nor password.

    :param address: a host, host:port, or https://host:port.
    :param ca: a file or folder of certificates that are trusted; None is what the system trusts.
    :param attempts: so often a question is asked, with ``pause`` seconds between.
    :param patience: it is asked for at least so many seconds; for a BMC that is known to be on its way back.
    """

    address: str
    user: str = field(repr=False)
    password: str = field(repr=False)
    ca: str | None = None
    verify: bool = True
    timeout: float = 60.0
    connect_timeout: float = 10.0
    attempts: int = 5
    pause: float = 3.0
    patience: float = 0.0

    @property
    def url(self) -> str:
        """The address as a URL."""
        return self.address.rstrip("/") if "://" in self.address else f"https://{self.address}"


def library() -> Any:
    """sushy itself.

    :raises BmcError: it is not installed where ansible-playbook runs.
    """
    try:
        import sushy
        import sushy.auth
        import sushy.connector
    except ImportError as problem:
        raise BmcError(
            "library_missing",
            "python library sushy",
            f"cannot be imported on the controller: {problem}",
            "sushy, which speaks Redfish",
            "pip install 'sushy>=5.5' for the Python that runs ansible-playbook",
        ) from problem
    # What it logs would go to the operator's terminal, where every answer of ours is told in our own words.
    logging.getLogger("sushy").propagate = False
    logging.getLogger("sushy").addHandler(logging.NullHandler())
    return sushy


def prepare() -> None:
    """Load it in the process that Ansible starts its workers from; that it is missing is told by who needs it."""
    with contextlib.suppress(BmcError):
        library()


def once(base: Any, check: Callable[..., None]) -> Any:
    """sushy's connector that sends each request once, straight to the BMC, and can send a stream."""

    class Once(base):
        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            # Neither a proxy nor a .netrc of the user: this is the network of the BMCs.
            self._session.trust_env = False
            self._session.headers["Connection"] = "keep-alive"

        def _op(self, method: str, path: str = "", **more: Any) -> Any:
            # A redirect could lead to another host, and the token with it. A 403 makes sushy open a second session,
            # and lose the first.
            more = {**more, "server_side_retries_left": 0, "allow_redirects": False, "allow_reauth": False}
            return super()._op(method, path, **more)

        def stream(self, path: str, content: Any, content_type: str, timeout: float) -> Any:
            url, headers = f"{self._url}{path}", {"Content-Type": content_type, "OData-Version": "4.0"}
            request_timeout = (self._default_request_timeout[0], timeout)
            try:
                response = self._session.post(
                    url,
                    data=content,
                    headers=headers,
                    verify=self._verify,
                    timeout=request_timeout,
                    allow_redirects=False,
                )
            except OSError as problem:  # all of requests' own errors are
                raise library().exceptions.ConnectionError(url=url, error=problem) from problem
            self._response_callback(response)
            check("POST", url, response)
            return response

    return Once
