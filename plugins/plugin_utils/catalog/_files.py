# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalog's files: read as bytes at once for the digest, parsed one by one when a question needs them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import parse_own

NAMES = ("products", "rocm_releases", "systems", "firmware", "known_bad", "settings", "log_signatures")
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class CatalogError(FleetError):
    """A file of the catalog, or one that a site lays over it, is missing or broken."""


class Files:
    """Rows of the catalog's files by file and section; ``digest`` changes with any byte of any file.

    A row's ``source`` is what the file's ``sources`` say under the names the row gives, in words.
    """

    def __init__(self) -> None:
        self._bytes = {name: _read(name) for name in NAMES}
        self._documents: dict[str, dict] = {}
        self._rows: dict[tuple[str, str], list[dict]] = {}
        made = hashlib.sha256()
        for name, content in self._bytes.items():
            made.update(name.encode() + b"\0" + content + b"\0")
        self.digest = f"sha256:{made.hexdigest()}"

    def rows(self, name: str, section: str) -> list[dict]:
        """The rows of a section, as maps; the same ones each time, so that nobody may change them."""
        if (name, section) not in self._rows:
            document = self.document(name)
            made = as_maps(document, section)
            for row in made:
                row["source"] = in_words(row["source"], document["sources"])
            self._rows[name, section] = made
        return self._rows[name, section]

    def document(self, name: str) -> dict:
        """The whole content of a file.

        :raises CatalogError: where it is not what it was shipped as.
        """
        if name not in self._documents:
            self._documents[name] = parse_own(self._bytes[name], path_of(name), CatalogError)
        return self._documents[name]


def path_of(name: str) -> str:
    """Where a file of the catalog lies."""
    return os.path.join(_FOLDER, f"{name}.yml")


def as_maps(document: Mapping[str, Any], section: str) -> list[dict]:
    """The rows of a section as they are written, each as a map of its own."""
    columns = document.get("columns", {}).get(section)
    rows = document[section]
    return [dict(zip(columns, row, strict=True)) for row in rows] if columns else [dict(row) for row in rows]


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
