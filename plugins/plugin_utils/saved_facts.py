# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts that were saved somewhere: a folder of NAME.json, each facts, or a recorded machine to gather them from.

Files come from elsewhere, so nothing in them is trusted: what is not usable is told with its reason, node by node.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import SCHEMA, gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording

LARGEST = 64 << 20  # bytes; the facts of a node have some 100 kB, a recording some MB
_SOUGHT = "the facts of a node (docs/contracts.md, section 1) or a recorded machine"


class Saved(NamedTuple):
    """What a file holds: the facts, or None and why there are none; and when it was written, ISO 8601 in UTC."""

    facts: dict[str, Any] | None
    why: str
    written_at: str


class SavedFactsError(FleetError):
    """A folder that facts should be in is not one, or has none."""


class _Unusable(ValueError):
    """Why a file gives no facts, in words."""


def files(folder: str) -> dict[str, str]:
    """The path of each file by the name of its node, in order of the names; a name is written as the audit writes it.

    :raises SavedFactsError: where the folder cannot be read, or has no such file.
    """
    try:
        found = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError as problem:
        _refuse(folder, f"cannot be read: {problem.strerror}", "give the path of a folder that is there")
    if os.path.isdir(os.path.join(folder, "facts")):
        _refuse(folder, "is a fleet directory", f"give the folder of facts in it, {os.path.join(folder, 'facts')}")
    if not found:
        _refuse(folder, "has no file NAME.json", "put one in it for each node, named after the node")
    return {unquote(name.removesuffix(".json")): os.path.join(folder, name) for name in found}


def _refuse(folder: str, seen: str, fix: str) -> NoReturn:
    raise SavedFactsError(f"fleet_facts_from {folder}", seen, "a folder of saved facts or recorded machines", fix)


def read(path: str) -> Saved:
    """What a file holds; it never raises for what is in the file."""
    written = ""
    try:
        about = os.stat(path)
        written = datetime.fromtimestamp(about.st_mtime, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if about.st_size > LARGEST:
            raise _Unusable(f"has {about.st_size} bytes, more than any facts")
        with open(path, "rb") as stream:
            content = stream.read()
        return Saved(facts_in(_parsed(content)), "", written)
    except OSError as problem:
        return Saved(None, f"{path}: cannot be read: {problem.strerror}", written)
    except _Unusable as problem:
        return Saved(None, f"{path}: {problem}", written)
    except FleetError as problem:
        return Saved(None, f"{path}: {problem}", written)
    except Exception as problem:  # a recording may hold anything under any key
        return Saved(None, f"{path}: cannot be used: {type(problem).__name__}: {problem}", written)


def facts_in(document: Any) -> dict[str, Any]:
    """The facts in a document: as they are, as a task or a cache of facts has them, or gathered from a recording.

    :raises ValueError: with the reason.
    """
    if not isinstance(document, dict):
        raise _Unusable(f"is a JSON {_kind(document)}, not {_SOUGHT}")
    inner = document.get("ansible_facts", document)
    document = inner["instinct"] if isinstance(inner, dict) and isinstance(inner.get("instinct"), dict) else document
    recorded = "files" in document and "gpus" not in document
    # A recording that somebody made by hand need not say of which schema it is.
    if document.get("schema", SCHEMA if recorded else None) != SCHEMA:
        raise _Unusable(f"has schema {json.dumps(document.get('schema'))}, not {SCHEMA}: not {_SOUGHT}")
    if recorded:
        return _gathered(document)
    absent = [key for key in ("gpus", "problems") if key not in document]
    if absent:
        raise _Unusable(f"lacks {' and '.join(absent)}: not {_SOUGHT}")
    _check_shape(document)
    return document


def _gathered(machine: Mapping[str, Any]) -> dict[str, Any]:
    wrong = [key for key in ("files", "links", "commands") if not isinstance(machine.get(key, {}), dict)]
    if wrong:
        raise _Unusable(f"is a recording whose {', '.join(wrong)} is not a map")
    subsets = machine.get("subsets") or ["all"]
    return gather(Recording(machine), select([str(name) for name in subsets]))


def _check_shape(facts: Mapping[str, Any]) -> None:
    gpus, problems = facts["gpus"], facts["problems"]
    if gpus is not None and not (isinstance(gpus, list) and all(isinstance(gpu, dict) for gpu in gpus)):
        raise _Unusable("has gpus that are not a list of maps")
    if not (isinstance(problems, list) and all(isinstance(row, dict) for row in problems)):
        raise _Unusable("has problems that are not a list of maps")


def _parsed(content: bytes) -> Any:
    if not content.strip():
        raise _Unusable("is empty")
    try:
        return json.loads(content, parse_constant=_no_number)
    except RecursionError as problem:
        raise _Unusable("is nested too deeply") from problem
    except ValueError as problem:
        raise _Unusable(f"is not JSON: {problem}") from problem


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _kind(value: Any) -> str:
    return {list: "list", str: "text", type(None): "null", bool: "boolean"}.get(type(value), "number")
