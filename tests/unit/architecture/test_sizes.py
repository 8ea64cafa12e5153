# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes: a file that outgrows its kind is two things."""

from __future__ import annotations

import ast

import pytest

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import name_of, python_files, yaml_files

LIMITS = [
    (250, python_files("modules")),
    (300, python_files("module_utils", "plugin_utils")),
    (80, python_files("action")),
    (70, yaml_files("roles/*/tasks/**/*.yml", "playbooks/tasks/*.yml")),
    (120, yaml_files("playbooks/*.yml")),
]
# An action's module file is its documentation and nothing else.
ACTIONS = {path.name for path in python_files("action")}
CASES = [pytest.param(path, limit, id=name_of(path)) for limit, paths in LIMITS for path in paths]


@pytest.mark.parametrize("path, limit", CASES)
def test_a_file_is_no_longer_than_its_kind_may_be(path, limit):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


@pytest.mark.parametrize("path", python_files("modules"), ids=name_of)
def test_main_of_a_module_only_wires(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    mains = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    assert [main.end_lineno - main.lineno + 1 for main in mains if main.end_lineno - main.lineno >= 40] == []
    assert len(mains) == (0 if path.name in ACTIONS else 1)
