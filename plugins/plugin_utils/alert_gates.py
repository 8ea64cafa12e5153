# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alert gates of a policy: what may stand there, and what an answer means. Asking is the work of ``alerts``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check

MOST, SHOWN, WIDTH = 8, 5, 200
_BOTH: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "timeout_seconds": {"type": "int", "default": 30},
}
_PROMETHEUS: dict[str, dict[str, Any]] = {
    "prometheus": {"type": "str", "required": True},
    "query": {"type": "str", "required": True},
    "ca": {"type": "str"},
    "token_file": {"type": "str"},
}
_COMMAND: dict[str, dict[str, Any]] = {"command": {"type": "list", "elements": "str", "required": True}}

Gate = Mapping[str, Any]
Error = type[FleetError]


class Verdict(NamedTuple):
    """What a gate answered: ``passes``, ``firing`` or ``unknown``, and what was seen, in words of whoever was asked."""

    is_: str
    seen: str = ""


def checked(value: Sequence[Any], key: str, file: str, error: Error) -> list[dict[str, Any]]:
    """The alert gates of a policy with their defaults.

    :raises error: for an unknown key, a gate that is neither or both, a name twice, an impossible number, an address
        or a path that cannot be meant, more than 8 gates.
    """
    gates = [_gate(row, (file, f"{key}[{number}]"), error) for number, row in enumerate(value)]
    names = [gate["name"] for gate in gates]
    for number, name in enumerate(names):
        if name in names[:number]:
            subject = f"{file}: {key}[{number}].name"
            raise error(subject, f"is {name!r} a second time", "each name once", "rename one")
    if len(gates) > MOST:
        raise error(f"{file}: {key}", f"has {len(gates)} gates", f"at most {MOST}", "take some out")
    return gates


def _gate(value: Any, place: tuple[str, str], error: Error) -> dict[str, Any]:
    kinds = [name for name in ("prometheus", "command") if isinstance(value, Mapping) and name in value]
    if len(kinds) == 2:
        subject = f"{place[0]}: {place[1]}"
        raise error(subject, "has prometheus and command", "one of the two", "make two gates of it")
    if not kinds:
        check({key: {"type": "raw"} for key in (*_BOTH, *_PROMETHEUS, *_COMMAND)}, value, place, error)
        subject = f"{place[0]}: {place[1]}"
        raise error(subject, "has nothing to ask", "prometheus with a query, or a command", "add one of the two")
    gate = check({**_BOTH, **(_COMMAND if kinds == ["command"] else _PROMETHEUS)}, value, place, error)
    for key, wrong, wanted in _faults(gate):
        raise error(f"{place[0]}: {place[1]}.{key}", wrong, wanted, "correct it")
    return {key: inner for key, inner in gate.items() if inner is not None}


def _faults(gate: Gate) -> list[tuple[str, str, str]]:
    """What is wrong with the values of a gate: key, what was seen, what is wanted."""
    empty = [key for key in ("name", "query") if not str(gate.get(key, "x")).strip()]
    found = [(key, "is empty", "text") for key in empty]
    if not 1 <= gate["timeout_seconds"] <= 300:
        found.append(("timeout_seconds", f"is {gate['timeout_seconds']}", "1 to 300"))
    if not gate.get("command", ["x"]) or not gate.get("command", ["x"])[0].strip():
        found.append(("command", "is empty", "a program and its arguments"))
    if "prometheus" in gate:
        found += _address_faults(gate)
    for key in ("ca", "token_file"):
        path = gate.get(key)
        if path is not None and not path.startswith(("/", "~")):
            found.append((key, f"is {path!r}", "a path that begins with / or ~: the next run may begin elsewhere"))
    return found


def _address_faults(gate: Gate) -> list[tuple[str, str, str]]:
    wanted, address = "an address such as https://prometheus.example:9090", gate["prometheus"]
    try:
        parts = urlsplit(address)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return [("prometheus", f"is {address!r}", wanted)]
    if not whole or not address.isprintable() or " " in address:
        return [("prometheus", f"is {address!r}", wanted)]
    if "@" in parts.netloc:
        return [("prometheus", "holds credentials", "an address without them; a token_file for what needs one")]
    if parts.query or parts.fragment:
        return [("prometheus", f"has more than a path: {address!r}", wanted)]
    if gate.get("token_file") and parts.scheme == "http":
        return [("prometheus", f"is {address!r}, and a token would go there in the clear", "https beside a token_file")]
    return []


def of_prometheus(status: int, body: bytes) -> Verdict:
    """What the answer to an instant query means: an empty vector passes, a sample is an alert, the rest is unknown."""
    answer = _parsed(body)
    if status != 200:
        return Verdict("unknown", _and(f"it answers with HTTP {status}", answer.get("error")))
    if answer.get("status") != "success":
        return Verdict("unknown", _and("its answer is no success", answer.get("error") or "no JSON of a query"))
    if answer.get("warnings"):
        return Verdict("unknown", _and("its answer is a partial one", answer["warnings"]))
    data = answer["data"] if isinstance(answer.get("data"), dict) else {}
    if data.get("resultType") != "vector" or not isinstance(data.get("result"), list):
        return Verdict("unknown", f"it answers with a {data.get('resultType')}, and only a vector says yes or no")
    firing = [_sample(row) for row in data["result"]]
    more = f" and {len(firing) - SHOWN} more" if len(firing) > SHOWN else ""
    return Verdict("firing", ", ".join(firing[:SHOWN]) + more) if firing else Verdict("passes")


def of_command(status: int, output: bytes) -> Verdict:
    """What a command means: 0 passes, 1 is an alert, which the first lines of its output name, the rest is unknown."""
    if status not in (0, 1):
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return Verdict("unknown", f"the command {how}")
    lines = [_short(line) for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return Verdict("firing", "; ".join(lines[:SHOWN]) or "the command names none") if status else Verdict("passes")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _and(what: str, more: Any) -> str:
    return f"{what} ({_short(more)})" if more else what


def _sample(row: Any) -> str:
    labels = dict(row["metric"]) if isinstance(row, dict) and isinstance(row.get("metric"), dict) else {}
    name = labels.pop("alertname", None) or labels.pop("__name__", "a sample")
    told = ", ".join(f"{key}={labels[key]}" for key in sorted(labels) if key not in ("__name__", "alertstate"))
    return _short(f"{name}{{{told}}}" if told else name)


def _short(text: Any) -> str:
    one = " ".join(str(text).split())
    return one if len(one) <= WIDTH else f"{one[:WIDTH]}..."
