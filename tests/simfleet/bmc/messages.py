# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Requests and answers of the Redfish protocol, apart from any socket."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TEXTS = yaml.safe_load((Path(__file__).parent / "messages.yml").read_text(encoding="utf-8"))


@dataclass
class Request:
    """What came in: `path` without query, header names in small letters."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: str | None = None

    def json(self) -> dict[str, Any]:
        """The body as an object; raises Refused when it is none."""
        try:
            value = json.loads(self.body or b"{}")
        except ValueError as error:
            raise Refused(400, "MalformedJSON") from error
        if not isinstance(value, dict):
            raise Refused(400, "MalformedJSON")
        return value


@dataclass
class Response:
    """What goes out. A `drop` cuts the connection in place of an answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False

    def data(self) -> bytes:
        """The bytes of the body."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body, indent=1).encode() + b"\n"


def message(name: str, *words: str, text: str | None = None, severity: str | None = None) -> dict[str, Any]:
    """One entry of @Message.ExtendedInfo; a name with a dot is a maker's own and brings its text."""
    known = TEXTS.get(name, (text or name, "Critical"))
    said = text or known[0]
    for number, word in enumerate(words, start=1):
        said = said.replace(f"%{number}", word)
    identity = name if "." in name else f"Base.1.18.{name}"
    return {
        "@odata.type": "#Message.v1_1_2.Message", "MessageId": identity, "Message": said, "MessageArgs": list(words),
        "MessageSeverity": severity or known[1], "Severity": severity or known[1], "Resolution": "None.",
    }  # fmt: skip


def error_body(*infos: dict[str, Any]) -> dict[str, Any]:
    """The error object of Redfish."""
    first = infos[0]
    return {"error": {"code": first["MessageId"], "message": first["Message"], "@Message.ExtendedInfo": list(infos)}}


class Refused(Exception):
    """The request is refused with this status and message."""

    def __init__(self, status: int, name: str, *words: str, text: str | None = None, headers: Any = None) -> None:
        super().__init__(name)
        self.response = Response(status, error_body(message(name, *words, text=text)), dict(headers or {}))


def etag_of(body: Any) -> str:
    """The strong ETag of a representation."""
    plain = {key: value for key, value in body.items() if key != "@odata.etag"} if isinstance(body, dict) else body
    return '"' + hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16] + '"'
