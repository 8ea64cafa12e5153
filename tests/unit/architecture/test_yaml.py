# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML chooses and Python decides; names say where a variable belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import ROOT, name_of, yaml_files

ROLES = sorted(path for path in (ROOT / "roles").glob("*") if path.is_dir())
PLAYS = yaml_files("roles/*/tasks/**/*.yml", "roles/*/handlers/*.yml", "playbooks/**/*.yml")
LOGIC = re.compile(
    r"\bversion\(|\bversion_compare\b|\bregex_\w+|\bis (match|search|regex)\(|\bfrom_(json|yaml)\b|\bsplit\("
)


def tasks(node: object) -> Iterator[dict]:
    """Every task of a document, inside blocks and plays too."""
    for item in node if isinstance(node, list) else []:
        yield item
        for part in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers"):
            yield from tasks(item.get(part))


def load(path: Path) -> object:
    """A YAML document; an empty one is an empty list."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) or []


@pytest.mark.parametrize("path", PLAYS, ids=name_of)
def test_yaml_compares_no_versions_and_parses_no_text(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in lines if LOGIC.search(line)] == []


@pytest.mark.parametrize("path", PLAYS, ids=name_of)
def test_no_fact_is_built_in_a_loop(path):
    setters = [task for task in tasks(load(path)) if {"set_fact", "ansible.builtin.set_fact"} & set(task)]
    assert [task for task in setters if "loop" in task or any(key.startswith("with_") for key in task)] == []


@pytest.mark.parametrize("role", ROLES, ids=name_of)
def test_variables_of_a_role_begin_with_its_name(role):
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"].values()
    declared = {name for spec in specs for name in spec.get("options", {})}
    defaults = {name for path in role.glob("defaults/*.yml") for name in dict(load(path))}
    registered = {
        task["register"] for path in role.rglob("tasks/**/*.yml") for task in tasks(load(path)) if "register" in task
    }
    own = (f"{role.name}_", f"__{role.name}_", "fleet_")
    assert sorted(name for name in declared | defaults | registered if not name.startswith(own)) == []


@pytest.mark.parametrize("role", ROLES, ids=name_of)
def test_a_default_is_declared_in_the_argument_spec_too(role):
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"].values()
    declared = {name for spec in specs for name in spec.get("options", {})}
    defaults = {name for path in role.glob("defaults/*.yml") for name in dict(load(path))}
    assert sorted(defaults - declared) == []


@pytest.mark.parametrize("path", yaml_files("playbooks/*.yml"), ids=name_of)
def test_a_playbook_can_be_called_by_its_full_name(path):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)


@pytest.mark.parametrize("folder", ["plugins", "roles", "playbooks"])
def test_the_product_does_not_know_its_simulator(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert [name_of(path) for path in files if "simfleet" in path.read_text(encoding="utf-8", errors="replace")] == []
