# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the alert gates of a policy, from the controller, over HTTPS or by a command; ``alert_gates`` judges."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote

from ansible.module_utils import urls

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import alert_gates
from ansible_collections.fleetops.instinct.plugins.plugin_utils.alert_gates import Verdict
from ansible_collections.fleetops.instinct.plugins.plugin_utils.gate import Refusal
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import clean

MOST_BYTES = 4_000_000  # no list of alerts is longer
_TOKEN_MODE = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP  # the rights that nobody may have on a token


class _Unknown(FleetError):
    """A gate that could not be asked."""


def ask(policy: Mapping[str, Any]) -> Refusal | None:
    """Ask each alert gate of a policy: None where all of them pass, else why the first that does not refuses a wave.

    Nothing is raised: what cannot be asked is unknown, and refuses as well.
    """
    for gate in policy.get("alert_gates") or ():
        verdict = _verdict(gate)
        seen = clean(verdict.seen)
        if verdict.is_ == "firing":
            return (
                "alert_firing",
                f"alert gate {gate['name']} is firing: {seen}",
                "no alert at this gate",
                "see to it, then run the same command again; what is done stays done",
            )
        if verdict.is_ != "passes":
            return (
                "alert_unknown",
                f"alert gate {gate['name']} cannot be told: {seen}",
                "an answer: silence is no proof that nothing is wrong",
                "mend the gate, or make a new plan without it; what is done stays done",
            )
    return None


def _verdict(gate: Mapping[str, Any]) -> Verdict:
    try:
        return _command(gate) if "command" in gate else _prometheus(gate)
    except _Unknown as problem:
        return Verdict("unknown", problem.seen)


def _prometheus(gate: Mapping[str, Any]) -> Verdict:
    token = _token(gate["token_file"]) if "token_file" in gate else ""
    address = f"{gate['prometheus'].rstrip('/')}/api/v1/query?query={quote(gate['query'])}"
    try:
        verdict = alert_gates.of_prometheus(*_fetch(gate, address, token))
    except (OSError, HTTPException, ValueError, urls.ConnectionError) as problem:
        verdict = Verdict("unknown", f"{gate['prometheus']}: {_reason(problem, gate)}")
    # A server may well say what it was sent.
    return verdict._replace(seen=verdict.seen.replace(token, "***")) if token else verdict


def _fetch(gate: Mapping[str, Any], address: str, token: str) -> tuple[int, bytes]:
    end = time.monotonic() + gate["timeout_seconds"]
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    ca = os.path.expanduser(gate["ca"]) if "ca" in gate else None
    try:
        # No redirect: a token must not be carried elsewhere. No .netrc: it would stand in for the token.
        with urls.open_url(
            address, method="GET", headers=headers, timeout=gate["timeout_seconds"], validate_certs=True, ca_path=ca,
            follow_redirects="none", use_netrc=False, decompress=False, http_agent="fleetops.instinct",
        ) as response:  # fmt: skip
            return response.status, _read(response, end)
    except HTTPError as problem:
        with problem:
            return problem.code, _read(problem, end)


def _read(response: Any, end: float) -> bytes:
    """The body, in pieces: a time-out of the connection alone would let a slow server take for ever."""
    body = b""
    while piece := response.read1(65536):
        body += piece
        if len(body) > MOST_BYTES:
            raise ValueError(f"the answer is longer than {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    return body


def _reason(problem: Exception, gate: Mapping[str, Any]) -> str:
    inner = problem.reason if isinstance(problem, URLError) else problem
    if isinstance(inner, TimeoutError):
        return f"no answer within {gate['timeout_seconds']} s"
    return str(getattr(inner, "verify_message", None) or getattr(inner, "strerror", None) or inner)


def _token(path: str) -> str:
    """The token in a file that others may not read."""
    try:
        with open(os.path.expanduser(path), encoding="ascii") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            text = stream.read(65536).strip()
    except (OSError, ValueError) as problem:
        # A decoder's message holds what it could not decode.
        why = getattr(problem, "strerror", None) or "it is not ASCII"
        raise _Unknown(path, f"its token cannot be read from {path}: {why}") from None
    if not stat.S_ISREG(mode) or mode & _TOKEN_MODE:
        raise _Unknown(path, f"its token lies in {path} with mode {stat.S_IMODE(mode):04o}, which others may use")
    if not text or not text.isprintable() or " " in text:
        raise _Unknown(path, f"{path} holds no token")
    return text


def _command(gate: Mapping[str, Any]) -> Verdict:
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                gate["command"], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise _Unknown(gate["name"], f"{gate['command'][0]} cannot be run: {why}") from problem
        try:
            status = process.wait(gate["timeout_seconds"])
        except subprocess.TimeoutExpired as problem:
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it has started
            process.wait()
            raise _Unknown(gate["name"], f"the command took longer than {gate['timeout_seconds']} s") from problem
        output.seek(0)
        return alert_gates.of_command(status, output.read(4096))
