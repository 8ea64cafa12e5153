# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible and its users look up in the collection is there, and says the same everywhere."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import PLUGINS, ROOT, name_of, python_files

ACTIONS = {path.stem for path in python_files("action")}
MODULES = {path.stem for path in (PLUGINS / "modules").glob("*") if path.suffix in {".py", ".yml"}}


def runtime() -> dict:
    """meta/runtime.yml."""
    return yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))


def test_the_action_group_lists_every_module_and_action_once():
    assert runtime()["action_groups"]["instinct"] == [f"fleetops.instinct.{name}" for name in sorted(MODULES | ACTIONS)]


def test_every_action_is_documented():
    assert sorted(ACTIONS - MODULES) == []


@pytest.mark.parametrize("path", python_files("."), ids=name_of)
def test_a_python_file_says_its_licence(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not lines or "# SPDX-License-Identifier: GPL-3.0-or-later" in lines[:5]


@pytest.mark.parametrize("path", python_files("module_utils", "plugin_utils", "action", "filter"), ids=name_of)
def test_a_python_file_puts_off_its_annotations(path):
    source = path.read_text(encoding="utf-8")
    assert "from __future__ import annotations\n" in source or not source.strip()


def test_galaxy_metadata_names_the_collection_and_depends_on_nothing():
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    assert (galaxy["namespace"], galaxy["name"], galaxy["dependencies"]) == ("fleetops", "instinct", {})
