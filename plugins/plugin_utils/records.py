# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The store below the fleet directory: one record and one file of facts per node, written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

_NEEDED = ("node", "run_id", "class", "findings", "steps", "rollback")
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*").fullmatch


class RecordError(FleetError):
    """A file of the store cannot be written, or is not what was written there."""


def write_json(path: str | os.PathLike[str], value: Any, durable: bool = True) -> None:
    """Replace a file by a JSON value; see :func:`write_text`."""
    write_text(path, json.dumps(value, ensure_ascii=False, separators=(",", ":")), durable)


def write_text(path: str | os.PathLike[str], text: str, durable: bool = True, mode: int = 0o644) -> None:
    """As :func:`write_bytes`, for text in UTF-8."""
    write_bytes(path, text.encode("utf-8", "surrogatepass"), durable, mode)


def write_bytes(path: str | os.PathLike[str], content: bytes, durable: bool = True, mode: int = 0o644) -> None:
    """Replace a file: a reader sees the old file or the new one, never half of it.

    :param durable: wait until the disk has it; not needed for what the next audit writes anyway.
    :raises RecordError: where it cannot be written.
    """
    folder, temporary = os.path.dirname(os.path.abspath(path)), ""
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".fleetops-", dir=folder)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as problem:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise _unwritable(path, problem) from problem


def check_store(fleet_dir: str | os.PathLike[str]) -> None:
    """Make the fleet directory where there is none, and see that it can be written; nothing is left in it.

    :raises RecordError: where it cannot.
    """
    try:
        os.makedirs(fleet_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=fleet_dir):
            pass
    except OSError as problem:
        raise _unwritable(fleet_dir, problem) from problem


def _unwritable(path: str | os.PathLike[str], problem: OSError) -> RecordError:
    fix = "see who owns it, and df; or give -e fleet_dir=DIR"
    return RecordError(os.fspath(path), f"cannot be written: {problem.strerror}", "a folder with room", fix)


def record_path(fleet_dir: str | os.PathLike[str], node: str) -> str:
    """Where the record of a node is."""
    return os.path.join(fleet_dir, "records", f"{_file_name(node)}.json")


def facts_path(fleet_dir: str | os.PathLike[str], node: str) -> str:
    """Where the facts of a node are."""
    return os.path.join(fleet_dir, "facts", f"{_file_name(node)}.json")


def before_path(directory: str | os.PathLike[str], node: str) -> str:
    """Where a rollout keeps the facts of a node from before the change."""
    return os.path.join(directory, "before", f"{_file_name(node)}.json")


def write_record(fleet_dir: str | os.PathLike[str], record: Mapping[str, Any]) -> str:
    """Store a record under its own node's name; the path."""
    path = record_path(fleet_dir, record["node"])
    write_json(path, record, durable=False)
    return path


def write_facts(fleet_dir: str | os.PathLike[str], node: str, facts: Mapping[str, Any]) -> str:
    """Store the facts of a node; the path."""
    path = facts_path(fleet_dir, node)
    write_json(path, facts, durable=False)
    return path


class StoredFacts(Mapping[str, dict[str, Any]]):
    """The stored facts of these nodes, read one node at a time; a node without any that can be read is not in it."""

    def __init__(self, fleet_dir: str | os.PathLike[str], nodes: Iterable[str]) -> None:
        self._fleet_dir, self._nodes = fleet_dir, dict.fromkeys(nodes)

    def __getitem__(self, node: str) -> dict[str, Any]:
        try:
            facts = json.loads(_content(facts_path(self._fleet_dir, node)) or b"null")
        except (RecordError, ValueError):
            facts = None
        if node not in self._nodes or not isinstance(facts, dict):
            raise KeyError(node)
        return facts

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def read_records(
    fleet_dir: str | os.PathLike[str],
    nodes: Iterable[str],
    run_id: str | None = None,
    keep: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """The stored records of these nodes. A node without one is not in the answer; the caller decides what that means.

    :param run_id: leave out what another run wrote.
    :param keep: what is kept of each record, for a fleet whose whole records would take too much memory.
    :raises RecordError: naming the file that is not a whole record.
    """
    folder, found = os.path.join(fleet_dir, "records"), {}
    for node in nodes:
        path = f"{folder}/{_file_name(node)}.json"
        text = _content(path)
        record = _parsed(text, path, node) if text is not None else None
        if record is not None and run_id in (None, record["run_id"]):
            found[node] = keep(record) if keep else record
    return found


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _broken(path, f"cannot be read: {problem.strerror}") from problem


def _parsed(text: bytes, path: str, node: str) -> dict[str, Any]:
    try:
        record = json.loads(text.decode("utf-8", "surrogatepass"))
    except ValueError as problem:
        raise _broken(path, f"is not JSON: {problem}") from problem
    if not isinstance(record, dict) or record.get("schema") != 1:
        raise _broken(path, "is not a record with schema 1")
    absent = [key for key in _NEEDED if key not in record]
    if absent or record["node"] != node:
        raise _broken(path, f"lacks {', '.join(absent)}" if absent else f"is the record of {record['node']}")
    return record


def _broken(path: str, seen: str) -> RecordError:
    return RecordError(path, seen, "a record as the audit writes it", "delete the file and run the audit again")


def _file_name(node: str) -> str:
    # Inventory names may hold what a file name must not, such as a slash.
    if _PLAIN(node):
        return node
    name = quote(node, safe="-_.~ :@[]()+,=")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def summarise(records: Mapping[str, Mapping[str, Any]], order: Iterable[str]) -> dict[str, Any]:
    """Counts over the fleet: ``nodes``, ``classes``, ``products`` (the same of each), ``by_class`` (names in order).

    :param order: the nodes asked for; one without a record counts as unknown.
    """
    classes: Counter[str] = Counter()
    products: dict[str, Counter[str]] = {}
    by_class: dict[str, list[str]] = {}
    for node in order:
        record = records.get(node) or {}
        kind = record.get("class", "unknown")
        classes[kind] += 1
        products.setdefault(record.get("product") or "unknown", Counter())[kind] += 1
        by_class.setdefault(kind, []).append(node)
    return {
        "nodes": sum(classes.values()),
        "classes": dict(sorted(classes.items())),
        "products": {name: dict(sorted(counts.items())) for name, counts in sorted(products.items())},
        "by_class": dict(sorted(by_class.items())),
        "rollback_not_ready": [node for node in order if not _ready(records.get(node))],
    }


def _ready(record: Mapping[str, Any] | None) -> bool:
    return bool(((record or {}).get("rollback") or {}).get("ready"))
