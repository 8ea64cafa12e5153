# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalog's files: read as bytes at once for the digest, parsed one by one when a question needs them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._compiled import compiled
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import parse_own

Rows = dict[tuple, dict]
NAMES = (
    "products", "rocm_releases", "systems", "firmware", "known_bad", "settings", "log_signatures", "redfish",
    "bios_attributes",
)  # fmt: skip
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class CatalogError(FleetError):
    """A file of the catalog, or one that a site lays over it, is missing or broken."""


class Files:
    """Rows of the catalog's files by file and section; ``digest`` changes with any byte of any file.

    With an overlay, rows are those of the files with the overlay's over them. A row's ``source`` is what ``sources``
    say under the names the row gives, in words.
    """

    def __init__(self) -> None:
        self._bytes = {name: _read(name) for name in NAMES}
        self._documents: dict[str, dict] = {}
        self._rows: dict[tuple[str, str], list[dict]] = {}
        self._overlay: Mapping[str, Any] = {}
        made = hashlib.sha256()
        for name, content in self._bytes.items():
            made.update(name.encode() + b"\0" + content + b"\0")
        self.digest = f"sha256:{made.hexdigest()}"

    def rows(self, name: str, section: str) -> list[dict]:
        """The rows of a section, as maps; the same ones each time, so that nobody may change them."""
        if (name, section) not in self._rows:
            part = self._overlay.get(name, {"sources": {}, "rows": {}})
            sources = {**self.document(name)["sources"], **part["sources"]}
            made = merged(self.table(name, section), part["rows"].get(section, []), FORMS[name][section].key)
            for row in made:
                row["source"] = in_words(row["source"], sources)
            self._rows[name, section] = made
        return self._rows[name, section]

    def table(self, name: str, section: str) -> Rows:
        """The rows of a section as they were shipped, by what names them."""
        key = FORMS[name][section].key
        return {key_of(row, key): row for row in as_maps(self.document(name), section)}

    def with_overlay(self, overlay: Mapping[str, Any]) -> Files:
        """These files with what :func:`read_overlay` found over them; these stay as they are."""
        other = Files.__new__(Files)
        other._bytes, other._documents, other._rows, other._overlay = self._bytes, self._documents, {}, overlay
        text = json.dumps(overlay, sort_keys=True)
        other.digest = f"sha256:{hashlib.sha256(f'{self.digest} {text}'.encode()).hexdigest()}"
        return other

    def document(self, name: str) -> dict:
        """The whole content of a file.

        :raises CatalogError: where it is not what it was shipped as.
        """
        if name not in self._documents:
            content, path = self._bytes[name], path_of(name)
            self._documents[name] = compiled(content, path, lambda: parse_own(content, path, CatalogError))
        return self._documents[name]


def path_of(name: str) -> str:
    """Where a file of the catalog lies."""
    return os.path.join(_FOLDER, f"{name}.yml")


def as_maps(document: Mapping[str, Any], section: str) -> list[dict]:
    """The rows of a section as they are written, each as a map of its own."""
    columns = document.get("columns", {}).get(section)
    rows = document[section]
    return [dict(zip(columns, row, strict=True)) for row in rows] if columns else [dict(row) for row in rows]


def key_of(row: Mapping[str, Any], key: Iterable[str]) -> tuple:
    """What names a row: the values of those fields, lists as text."""
    return tuple(", ".join(row[part]) if isinstance(row[part], list) else row[part] for part in key)


def merged(before: Rows, over: Iterable[Mapping[str, Any]], key: Iterable[str]) -> list[dict]:
    """The rows with those of an overlay over them: changed in their place, removed, or added at the end."""
    rows = {name: dict(row) for name, row in before.items()}
    for row in over:
        name = key_of(row, key)
        if row.get("remove"):
            rows.pop(name, None)
        else:
            rows[name] = {**rows.get(name, {}), **row}
    return list(rows.values())


def in_words(names: str, sources: Mapping[str, Any]) -> str:
    """The sources of a row, given by their names with commas between, as a reader can look them up."""
    return "; ".join(_words(sources[name.strip()]) for name in names.split(","))


def _words(source: Any) -> str:
    return source if isinstance(source, str) else f"{source['words']} ({source['as_of']})"


def _read(name: str) -> bytes:
    try:
        with open(path_of(name), "rb") as handle:
            return handle.read()
    except OSError as problem:
        raise CatalogError(
            path_of(name), f"cannot be read: {problem.strerror}", "a file of this collection", "install it again"
        ) from problem
