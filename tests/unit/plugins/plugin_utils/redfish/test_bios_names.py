# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which attribute a neutral key is, and which of its values a neutral one is."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios_names
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.redfish.setups import names, setup

OWN = {"key": "slot_aspm", "pattern": "Slot[AB]"}


def code(act, *words):
    """What comes of it, or the code of the refusal."""
    try:
        return act(*words)
    except BmcError as problem:
        return problem.code


@pytest.mark.parametrize(
    ("key", "attributes"),
    [
        ("smt", ["Rome0059"]),
        ("Rome0059", ["Rome0059"]),
        ("slot_aspm", ["SlotA_00B1"]),
        ("SlotA", ["SlotA_00B1"]),
        ("gmi_folding", "attribute_unknown"),
        ("sriov", "attribute_unknown"),
        ("IOMUU", "attribute_unknown"),
    ],
)
def test_a_key_is_a_neutral_one_or_a_makers_own_name(key, attributes):
    found = code(bios_names.attributes_of, setup(), names(OWN), key, "BMC")
    assert (found if isinstance(found, str) else found[0]) == attributes


def test_the_operators_patterns_come_before_the_catalogs():
    own = {"key": "smt", "field": "display", "pattern": "IOMMU"}
    assert bios_names.attributes_of(setup(), names(own), "smt", "BMC")[0] == ["Rome0162"]


@pytest.mark.parametrize(("matches", "end"), [("one", "attribute_ambiguous"), ("all", ["Rome0178", "Rome0179"])])
def test_several_attributes_are_a_key_only_where_that_is_said(matches, end):
    own = {"key": "determinism", "field": "display", "pattern": "Determinism .*", "matches": matches}
    found = code(bios_names.attributes_of, setup(), names(own), "determinism", "BMC")
    assert (found if isinstance(found, str) else found[0]) == end


def test_a_name_that_is_nearly_right_is_told():
    with pytest.raises(BmcError, match="Rome0162"):
        bios_names.attributes_of(setup(), names(), "Rome0161", "BMC")


def test_a_pattern_that_is_none_is_refused():
    assert code(names, {"key": "smt", "field": "colour", "pattern": "x"}) == "bad_pattern"


@pytest.mark.parametrize(
    ("key", "attribute", "wish", "value"),
    [
        ("smt", "Rome0059", "Disabled", "Disable"),
        ("smt", "Rome0059", False, "Disable"),
        ("smt", "Rome0059", "auto", "Auto"),
        ("smt", "Rome0059", "Enabled", "value_not_allowed"),
        ("iommu", "Rome0162", True, "Enabled"),
        ("nps", "Rome0075", "NPS1", "NPS1"),
        ("nps", "Rome0075", "1", "value_not_allowed"),
        ("ctdp", "Rome0364", "400", 400),
        ("ctdp", "Rome0364", 601, "value_not_allowed"),
        ("ctdp", "Rome0364", "4e2", "value_not_allowed"),
        ("Boot001", "Boot001", "Disabled", False),
        ("Boot001", "Boot001", "perhaps", "value_not_allowed"),
        ("SETUP001", "SETUP001", "x", "secret_attribute"),
    ],
)
def test_a_value_is_one_that_the_registry_allows(key, attribute, wish, value):
    assert code(bios_names.value_for, setup(), names(), key, attribute, wish, "BMC") == value


def test_a_refusal_names_the_allowed_values():
    with pytest.raises(BmcError, match="wanted: one of Disable, Auto"):
        bios_names.value_for(setup(), names(), "smt", "Rome0059", "Enabled", "BMC")


def test_nothing_is_written_that_no_registry_allows():
    assert code(bios_names.value_for, setup(registry=None), names(), "smt", "Rome0059", "Auto", "BMC") == "no_registry"


@pytest.mark.parametrize(
    ("maker", "key", "value", "word"),
    [
        ("HPE", "global_cstate", "NoCStates", "Disabled"),
        ("HPE", "nps", "OneMemoryDomainPerSocket", "NPS1"),
        ("Dell", "nps", "1", "NPS1"),
        ("OpenBMC", "aspm", "L1", "Enabled"),
        ("AMI", "smt", "Disable", "Disabled"),
        ("AMI", "nps", "NPS0", "NPS0"),
        ("HPE", "apbdis", "P0", "1"),
    ],
)
def test_a_makers_value_is_told_in_neutral_words(maker, key, value, word):
    assert bios_names.neutral(names(), maker, key, value) == word


def test_every_key_of_amds_advice_has_a_name_or_is_known_to_have_none():
    catalog = load_catalog()
    missing = {row["key"] for row in catalog.bios} - names().keys
    assert missing == {"gmi_folding"}
