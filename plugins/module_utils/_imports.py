# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports of this collection's files, each compiled once.

On a node: Python's own importer for archives compiles every file twice, the first time only to learn its path, and
compiling is most of what gathering facts costs. A node keeps nothing compiled, since nothing is written there. To
import this file before the others is all it takes.
On the controller: Ansible's importer compiles every file in each run. After ``start()`` Python keeps what it has
compiled beside the file, where it may write there, as it does with the plugins that Ansible itself loads. The callback
of the playbooks calls it; to import this file changes nothing there.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.util
import os
import pkgutil
import sys
import zipimport
from importlib.machinery import ModuleSpec
from typing import Any, Sequence

_OURS = __name__.rpartition(".")[0].rpartition(".")[0] + "."


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
    """Finds this collection's own files; all others, and packages, are left to Python and Ansible."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(_OURS) or not path:
            return None
        place = f"{path[0]}/{fullname.rpartition('.')[2]}.py"
        if os.path.isdir(path[0]):
            return importlib.util.spec_from_file_location(fullname, place) if os.path.isfile(place) else None
        archive = pkgutil.get_importer(path[0])
        if not isinstance(archive, zipimport.zipimporter) or _is_package(archive, fullname):
            return None
        return importlib.util.spec_from_file_location(fullname, place, loader=_Source(archive, place))


def _is_package(archive: zipimport.zipimporter, fullname: str) -> bool:
    """True for a package, and for a name that is not in the archive: neither is ours to load."""
    try:
        return archive.is_package(fullname)
    except zipimport.ZipImportError:
        return True


class Later:
    """A file that is loaded when something in it is first asked for: most machines need only one of two.

    What Ansible is to ship has to be imported under ``TYPE_CHECKING`` beside it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def load(name: str) -> Any:
    """The file of this dotted name."""
    return importlib.import_module(name)


def start() -> None:
    """From now on the files of this collection are imported by the finder of this one."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    # What Ansible has loaded by now stays until the end, and is large: the collector need not look through it again
    # and again while files are compiled, neither here nor in the workers that are forked from here.
    gc.freeze()


if isinstance(globals().get("__loader__"), (zipimport.zipimporter, _Source)):
    start()
