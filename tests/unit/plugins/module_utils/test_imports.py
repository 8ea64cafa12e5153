# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports of our own files: each compiled once, and everything else left to Python and Ansible."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils import _imports

UTILS = Path(_imports.__file__).parent
PREFIX = "ansible_collections.fleetops.instinct.plugins.module_utils"
# Counts compilations by file, then imports in the archive as a node does.
RUN = """
import collections, sys
sys.path.insert(0, sys.argv[1])
counts = collections.Counter()
def watch(event, args):
    if event == "compile" and args[1] and str(args[1]).endswith("_pcie.py"):
        counts["_pcie"] += 1
if sys.argv[2] == "once":
    import ansible_collections.fleetops.instinct.plugins.module_utils._imports
sys.addaudithook(watch)
import ansible_collections.fleetops.instinct.plugins.module_utils._pcie as found
print(counts["_pcie"], found.parse_speed("32.0 GT/s PCIe"), found.__file__.endswith("_pcie.py"))
"""


@pytest.fixture
def archive(tmp_path):
    """The two files in an archive like the one Ansible sends."""
    path = tmp_path / "payload.zip"
    with zipfile.ZipFile(path, "w") as target:
        parts = PREFIX.split(".")
        for depth in range(1, len(parts) + 1):
            target.writestr("/".join([*parts[:depth], "__init__.py"]), "")
        for name in ("_imports.py", "_pcie.py"):
            target.write(UTILS / name, f"{PREFIX.replace('.', '/')}/{name}")
    return path


def imported(archive, how):
    done = subprocess.run([sys.executable, "-c", RUN, str(archive), how], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_file_of_ours_is_compiled_once(archive):
    assert imported(archive, "once") == ["1", "32.0", "True"]


def test_python_alone_compiles_it_twice(archive):
    assert imported(archive, "not")[0] == "2"


def test_a_file_in_a_folder_is_loaded_as_python_loads_it_and_keeps_its_compiled_form():
    found = _imports._Finder().find_spec(f"{PREFIX}._pcie", [str(UTILS)])
    assert isinstance(found.loader, SourceFileLoader)
    assert found.cached.endswith(".pyc")


def test_what_is_not_ours_or_not_there_and_a_package_is_left_to_python(archive):
    finder = _imports._Finder()
    assert finder.find_spec("json", None) is None
    assert finder.find_spec(f"{PREFIX}._collect", [str(UTILS)]) is None
    assert finder.find_spec(f"{PREFIX}._pcie", ["/nowhere"]) is None
    assert finder.find_spec(f"{PREFIX}._absent", [f"{archive}/{PREFIX.replace('.', '/')}"]) is None
