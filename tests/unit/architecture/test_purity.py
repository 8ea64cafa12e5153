# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Direction and purity: what decides is pure, and what is shipped to a node stands alone."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import (
    PLUGINS,
    SEAMS,
    allowed,
    imports,
    name_of,
    python_files,
    touches,
)

SHIPPED = python_files("module_utils")
PURE = python_files("module_utils", "plugin_utils")
OWN = "ansible_collections.fleetops.instinct.plugins"


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_a_pure_file_touches_neither_ansible_nor_the_machine(path):
    assert touches(path.read_text(encoding="utf-8")) - allowed(path) == set()


@pytest.mark.parametrize("name", SEAMS)
def test_an_exception_is_only_granted_to_a_file_that_needs_it(name):
    assert touches((PLUGINS / name).read_text(encoding="utf-8")) == SEAMS[name]


@pytest.mark.parametrize("path", SHIPPED, ids=name_of)
def test_a_shipped_file_needs_only_the_standard_library_and_its_own_kind(path):
    foreign = [
        name
        for name in imports(path.read_text(encoding="utf-8"))
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(f"{OWN}.module_utils.")
    ]
    assert [name for name in foreign if name.split(".")[0] not in allowed(path)] == []


@pytest.mark.parametrize("path", SHIPPED, ids=name_of)
def test_a_shipped_file_is_private_by_name(path):
    assert any(part.startswith("_") for part in path.relative_to(PLUGINS / "module_utils").parts)


@pytest.mark.parametrize("path", python_files("modules", "module_utils"), ids=name_of)
def test_what_runs_on_a_node_imports_nothing_of_the_controller(path):
    names = imports(path.read_text(encoding="utf-8"))
    assert [name for name in names if name.startswith(OWN) and not name.startswith(f"{OWN}.module_utils")] == []


@pytest.mark.parametrize("path", python_files("plugin_utils"), ids=name_of)
def test_controller_code_imports_no_plugin(path):
    layers = (f"{OWN}.module_utils", f"{OWN}.plugin_utils")
    assert [
        name
        for name in imports(path.read_text(encoding="utf-8"))
        if name.startswith(OWN) and not name.startswith(layers)
    ] == []


@pytest.mark.parametrize("path", python_files("."), ids=name_of)
def test_imports_are_absolute(path):
    assert [name for name in imports(path.read_text(encoding="utf-8")) if name.startswith(".")] == []


@pytest.mark.parametrize("path", python_files("."), ids=name_of)
def test_no_file_stands_beside_a_folder_of_its_name(path):
    """Ansible's loader takes the folder, and the file can no longer be imported."""
    assert not path.with_suffix("").is_dir()


@pytest.mark.parametrize(
    "source, seen",
    [
        ("import subprocess", {"subprocess"}),
        ("def f():\n    from os import environ", {"os.environ"}),
        ("import os\nos.environ['A']", {"os.environ"}),
        ("from time import sleep", {"time.sleep"}),
        ("import time\ntime.sleep(1)", {"time.sleep"}),
        ("from ansible.errors import AnsibleError", {"ansible"}),
        ("from ansible_collections.a.b import c\nimport os\nos.path.join('a')", set()),
    ],
)
def test_the_check_itself_sees_what_it_must(source, seen):
    assert touches(source) == seen
