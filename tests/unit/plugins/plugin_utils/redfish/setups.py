# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BIOS settings for tests, of a BIOS with few attributes."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios_names
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_reading import Job, Setup
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_registry import registry_of

SWITCH = ("Enabled", "Disabled", "Auto")
# name: (display, kind, applied, allowed)
ATTRIBUTES = {
    "Rome0059": ("SMT Control", "Enumeration", "Disable", ("Disable", "Auto")),
    "Rome0162": ("IOMMU", "Enumeration", "Enabled", SWITCH),
    "Rome0032": ("Global C-state Control", "Enumeration", "Auto", SWITCH),
    "Rome0075": ("NUMA nodes per socket", "Enumeration", "NPS4", ("NPS0", "NPS1", "NPS2", "NPS4", "Auto")),
    "Rome0178": ("Determinism Control", "Enumeration", "Auto", ("Manual", "Auto")),
    "Rome0179": ("Determinism Slider", "Enumeration", "Auto", ("Auto", "Power", "Performance")),
    "Rome0364": ("cTDP", "Integer", 0, ()),
    "Boot001": ("Quiet Boot", "Boolean", True, ()),
    "SETUP001": ("Administrator Password", "Password", "***", ()),
    "SlotA_00B1": ("Slot A ASPM", "Enumeration", "Auto", SWITCH),
}
LOCK = {
    "Dependency": {
        "MapFrom": [{"MapFromAttribute": "Rome0178", "MapFromCondition": "NEQ", "MapFromValue": "Manual"}],
        "MapToAttribute": "Rome0179",
        "MapToProperty": "ReadOnly",
        "MapToValue": True,
    }
}
QUIET = {
    "Dependency": {
        "MapFrom": [{"MapFromAttribute": "Rome0059", "MapFromCondition": "EQU", "MapFromValue": "Auto"}],
        "MapToAttribute": "Rome0075",
        "MapToProperty": "CurrentValue",
        "MapToValue": "NPS1",
    }
}


def registry(*rules):
    """The registry of these attributes."""
    rows = []
    for name, (display, kind, _applied, allowed) in ATTRIBUTES.items():
        values = [{"ValueName": one, "ValueDisplayName": one} for one in allowed]
        bounds = {"LowerBound": 0, "UpperBound": 600} if kind == "Integer" else {}
        rows.append({"AttributeName": name, "DisplayName": display, "Type": kind, "Value": values, **bounds})
    return registry_of({"RegistryEntries": {"Attributes": rows, "Dependencies": list(rules)}})


def setup(staged=(), maker="AMI", rules=(LOCK,), jobs=(), **other):
    """Settings as they are read."""
    words = {
        "maker": maker,
        "settings": "/redfish/v1/Systems/1/Bios/SD",
        "applied": {name: row[2] for name, row in ATTRIBUTES.items()},
        "staged": dict(staged),
        "registry": registry(*rules),
        "times": (),
        "by_job": maker == "Dell",
        "jobs": tuple(jobs),
        "problems": (),
        **other,
    }
    return Setup(**words)


def job(end=None, state="Scheduled"):
    """A job for BIOS settings."""
    return Job("/redfish/v1/TaskService/Tasks/1", state, end, "Unable to complete the job.")


def names(*own):
    """The catalog's names, and rows of the operator."""
    rows = [load_catalog().rows("bios_attributes", section) for section in ("attributes", "values")]
    return bios_names.names_of(own, *rows)
