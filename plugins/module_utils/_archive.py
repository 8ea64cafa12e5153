# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports out of the archive that Ansible sends to a node, each file compiled once.

Python's own importer for archives compiles every file twice, the first time only to learn its path. Compiling is most
of what gathering facts costs, and a node keeps nothing compiled, since nothing is written there.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import pkgutil
import sys
import zipimport
from importlib.machinery import ModuleSpec
from typing import Any, Sequence

_OURS = __name__.rpartition(".")[0] + "."


class _Source(importlib.abc.SourceLoader):
    """One file of an archive."""

    def __init__(self, archive: zipimport.zipimporter, path: str) -> None:
        self._archive = archive
        self._path = path

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str) -> bytes:
        return self._archive.get_data(path)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds this collection's own files in an archive; all others are left to Python."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(_OURS) or not path:
            return None
        archive, place = pkgutil.get_importer(path[0]), f"{path[0]}/{fullname.rpartition('.')[2]}"
        if not isinstance(archive, zipimport.zipimporter) or _is_package(archive, fullname):
            return None
        return importlib.util.spec_from_file_location(fullname, f"{place}.py", loader=_Source(archive, f"{place}.py"))


def compile_once() -> None:
    """From now on, import this collection's files out of an archive by one compilation each."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _is_package(archive: zipimport.zipimporter, fullname: str) -> bool:
    """True for a package, and for a name that is not in the archive: neither is ours to load."""
    try:
        return archive.is_package(fullname)
    except zipimport.ZipImportError:
        return True
