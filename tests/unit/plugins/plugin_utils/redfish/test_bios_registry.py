# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What locks an attribute, and what one sets beside itself, by the registry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_registry import (
    registry_of,
    registry_of_objects,
    same,
)

LEAVES = st.none() | st.booleans() | st.integers() | st.text()
KEYS = ("AttributeName", "Dependency", "MapFrom", "MapToAttribute", "Value", "ValueName")


def rule(target, what, value, *tests):
    """A dependency; a test is (name, condition, value) and may have a term."""
    keys = ("MapFromAttribute", "MapFromCondition", "MapFromValue", "MapTerms")
    when = [{"MapFromProperty": "CurrentValue", **dict(zip(keys, test, strict=False))} for test in tests]
    how = {"MapFrom": when, "MapToAttribute": target, "MapToProperty": what, "MapToValue": value}
    return {"DependencyFor": target, "Type": "Map", "Dependency": how}


def registry(*rules, **flags):
    """A registry of A, B and C; flags are those of C."""
    rows = [{"AttributeName": name, "Type": "Enumeration"} for name in "ABC"]
    rows[2] |= flags
    return registry_of({"RegistryEntries": {"Attributes": rows, "Dependencies": list(rules)}})


@pytest.mark.parametrize(
    ("tests", "values", "locked"),
    [
        ([("A", "EQU", "On")], {"A": "On"}, True),
        ([("A", "EQU", "On")], {"A": "Off"}, False),
        ([("A", "NEQ", "On")], {"A": "Off"}, True),
        ([("A", "NEQ", "On")], {}, False),
        ([("A", "EQU", 1)], {"A": "1"}, True),
        ([("A", "GTR", 3)], {"A": 4}, True),
        ([("A", "GEQ", 3)], {"A": 3}, True),
        ([("A", "LSS", 3)], {"A": "x"}, False),
        ([("A", "LEQ", 3)], {"A": 4}, False),
        # A maker lists several values of one attribute without a term: they are alternatives.
        ([("A", "EQU", "x"), ("A", "EQU", "y")], {"A": "y"}, True),
        ([("A", "EQU", "x"), ("B", "EQU", "y")], {"A": "x", "B": "n"}, False),
        ([("A", "EQU", "x"), ("B", "EQU", "y", "OR")], {"A": "x", "B": "n"}, True),
        ([("A", "EQU", "x"), ("B", "EQU", "y", "AND")], {"A": "x", "B": "y"}, True),
    ],
)
def test_a_dependency_locks_where_its_condition_holds(tests, values, locked):
    assert bool(registry(rule("C", "ReadOnly", True, *tests)).locked("C", values)) == locked


@pytest.mark.parametrize("what", ["ReadOnly", "GrayOut", "Hidden"])
@pytest.mark.parametrize("yes", [True, "true", "True"])
def test_each_lock_is_told_with_what_makes_it_b29(what, yes):
    told = registry(rule("C", what, yes, ("A", "NEQ", "Custom"))).locked("C", {"A": "Auto"})
    assert told == f"it is {what} while A is not Custom"


def test_a_dependency_outweighs_the_flag_that_held_when_the_registry_was_written():
    seen = registry(rule("C", "ReadOnly", True, ("A", "NEQ", "Custom")), ReadOnly=True, GrayOut=True)
    assert (seen.locked("C", {"A": "Custom"}), bool(seen.locked("C", {"A": "Auto"}))) == (None, True)


@pytest.mark.parametrize("flag", ["ReadOnly", "GrayOut", "Hidden", "Immutable"])
def test_a_flag_alone_locks(flag):
    assert registry(**{flag: True}).locked("C", {}) == f"it is {flag}"
    assert registry(rule("C", "CurrentValue", "x", ("A", "EQU", "y")), **{flag: True}).locked("C", {"A": "n"})


def test_what_a_value_sets_beside_itself_is_known():
    seen = registry(rule("C", "CurrentValue", "NoCStates", ("A", "EQU", "HPC")))
    assert seen.effects({"A": "HPC"}, {"A": "HPC"}) == {"C": ("NoCStates", "while A is HPC")}
    assert seen.effects({"A": "HPC"}, {"B": "x"}) == {}


@pytest.mark.parametrize(
    "body",
    [{}, {"RegistryEntries": []}, {"RegistryEntries": {"Attributes": None}}, {"Location": []}],
)
def test_what_is_no_registry_is_none(body):
    assert registry_of(body) is None


def test_a_password_is_secret_by_kind_or_by_name():
    rows = [{"AttributeName": "SETUP001", "Type": "Password"}, {"AttributeName": "OldPassword", "Type": "String"}]
    items = registry_of({"RegistryEntries": {"Attributes": rows}}).items
    assert [item.secret for item in items.values()] == [True, True]


def test_attributes_that_are_objects_are_a_registry_of_their_own():
    seen = registry_of_objects({"SMT": {"current_value": "On", "AllowableValues": ["On", "Off"]}, "x": "y"})
    assert [item.allowed for item in seen.items.values()] == [(("On", ""), ("Off", ""))]


@given(st.recursive(LEAVES, lambda kids: st.lists(kids) | st.dictionaries(st.sampled_from(KEYS), kids)))
def test_a_registry_of_any_form_does_no_harm(odd):
    rows = odd if isinstance(odd, list) else [odd]
    seen = registry_of({"RegistryEntries": {"Attributes": [{"AttributeName": "A"}, *rows], "Dependencies": rows}})
    assert seen.locked("A", {"A": 1}) is None


@given(st.one_of(st.booleans(), st.integers(), st.text()))
def test_a_value_is_the_same_as_its_text(value):
    assert same(value, str(value))
