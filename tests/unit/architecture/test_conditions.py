# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions are booleans, and what is done once is not done once for each wave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
import yaml
from jinja2 import nodes

from ansible_collections.fleetops.instinct.tests.unit.architecture.sources import name_of, yaml_files

FILES = yaml_files("roles/*/tasks/**/*.yml", "playbooks/**/*.yml", "extensions/molecule/**/*.yml")
KEYS = ("when", "until", "failed_when", "changed_when", "that", "check_mode")
# Names that are booleans by what gives them: core, an action, the contract of a module, or a variable that is a test.
BOOLEANS = (
    "ansible_check_mode",
    "fleet_node.activating",
    "fleet_node.begun",
    "fleet_node.declares_kernel",
    "fleet_node.goes_back",
    "fleet_node.has_bmc",
    "fleet_node.rebooting",
    "fleet_node.stopped",
    "fleet_has_begun",
    ".deferred",
    ".reboot_required",
)
PARSER = jinja2.Environment(autoescape=True)


def mappings(node: object) -> Iterator[dict]:
    """Every mapping of a document."""
    for item in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from mappings(item)
    if isinstance(node, dict):
        yield node


def conditions(path: Path) -> Iterator[str]:
    """Every condition of a file, as text."""
    for row in mappings(yaml.safe_load(path.read_text(encoding="utf-8"))):
        for key in KEYS:
            given = row.get(key, [])
            yield from (str(text) for text in (given if isinstance(given, list) else [given]))


def loose(text: str) -> list[str]:
    """The parts of a condition that need not be a boolean: names, texts and lists as they are."""
    return list(_loose(PARSER.parse("{{ " + text + " }}").body[0].nodes[0]))


def _loose(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, (nodes.And, nodes.Or)):
        yield from (*_loose(node.left), *_loose(node.right))
    elif isinstance(node, nodes.Not):
        yield from _loose(node.node)
    elif not isinstance(node, (nodes.Compare, nodes.Test)) and not _is_boolean(node):
        yield _dotted(node) or type(node).__name__


def _is_boolean(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter):
        return node.name == "bool"
    return (isinstance(node, nodes.Const) and isinstance(node.value, bool)) or _dotted(node).endswith(BOOLEANS)


def _dotted(node: nodes.Node) -> str:
    if isinstance(node, nodes.Name):
        return node.name
    return f"{_dotted(node.node)}.{node.attr}" if isinstance(node, nodes.Getattr) else ""


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_condition_is_a_boolean_f10(path):
    assert {text: found for text in conditions(path) if (found := loose(text))} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpus", ["gpus"]),
        ("hosts and version == '5'", ["hosts"]),
        ("not (a.b or c is defined)", ["a.b"]),
        ("'yes'", ["Const"]),
        ("names | length", ["Filter"]),
        ("names | length > 0", []),
        ("wanted | bool and True", []),
    ],
)
def test_a_list_a_text_and_a_result_are_told_from_a_boolean_f10(text, found):
    assert loose(text) == found


@pytest.mark.parametrize("path", yaml_files("playbooks/*.yml", "playbooks/plays/*.yml"), ids=name_of)
def test_what_is_done_once_stands_in_no_play_of_waves_f21(path):
    plays = [play for play in yaml.safe_load(path.read_text(encoding="utf-8")) if "serial" in play]
    assert [row for play in plays for row in mappings(play) if row.get("run_once")] == []
