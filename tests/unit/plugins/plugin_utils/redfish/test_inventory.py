# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of an inventory: which component, which bank, which version, and what is not known."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import inventory
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError

ROWS = load_catalog().redfish
LIST = "/redfish/v1/UpdateService/FirmwareInventory"


def entry(maker="any", own=(), **resource):
    """The entry of one resource."""
    return inventory.entries_of([resource], maker, own, ROWS["components"], ROWS["banks"])[0]


def reader(pages):
    """A get over a map of paths; what is not in it is not there."""

    def get(path):
        if path not in pages:
            raise BmcError("not_there", "BMC", f"GET {path}")
        return pages[path]

    return get


def ref(*names):
    """References to entries."""
    return [{"@odata.id": f"{LIST}/{name}"} for name in names]


@pytest.mark.parametrize(
    ("resource", "bank"),
    [
        ({"Id": "BMC-Primary", "Version": "1.45", "Status": {"State": "Enabled"}}, "running"),
        ({"Id": "BMC-Backup", "Version": "1.31", "Status": {"State": "OfflineSpare"}}, "spare"),
        (
            {"Id": "Previous-159-1.6.8__BIOS", "Name": "BIOS", "Version": "1.6.8", "Status": {"State": "Enabled"}},
            "previous",
        ),
        ({"Id": "TPM", "Name": "TPM", "Status": {"State": "Absent"}}, "absent"),
        ({"Id": "CPLD", "Version": "0x07"}, "running"),
        ({"Id": "X", "Status": None}, "running"),
        ({"Id": "X", "Status": {"State": "NeverHeardOf"}}, "unavailable"),
        ({"Id": "Golden_BIOS", "Status": {"State": "Enabled"}}, "spare"),
        ({"Id": "HGX_Driver_GPU_0"}, "driver"),
        ({"Id": "10", "Name": "Redundant System ROM", "Version": "A43"}, "spare"),
    ],
)
def test_only_what_runs_is_called_running_b34(resource, bank):
    assert entry(**resource).bank == bank


@pytest.mark.parametrize(
    "value", [None, "", " ", "N/A", "n/a", "undefined", "ff", "0xFF", "0", "0.0.0", "Unknown", "-", 7, {}, "0\x14", []]
)
def test_a_word_for_no_version_is_unknown_b34(value):
    assert entry(Id="OAM3_IFWI", Version=value).version is None


@pytest.mark.parametrize(
    ("resource", "version"),
    [
        ({"Version": "unknown", "Oem": {"AMD": {"VersionID": {"ComponentDetails": "01.25.03.12"}}}}, "01.25.03.12"),
        ({"Version": "1", "Oem": {"VersionID": {"ComponentDetails": "01.25.03.12"}}}, "01.25.03.12"),
        ({"Version": [{"Version": "2.1"}, {"VRVersion": "2.1"}]}, "2.1"),
        ({"Version": [{"Version": "2.1"}, {"Version": "2.2"}]}, None),
        ({"Version": "F2.00.07"}, "F2.00.07"),
        ({"Version": "00.36.02.56"}, "00.36.02.56"),
    ],
)
def test_the_version_is_where_the_maker_puts_it(resource, version):
    assert entry(Id="bundle_active", **resource).version == version


@pytest.mark.parametrize(
    ("maker", "resource", "component"),
    [
        ("Dell", {"Id": "Installed-159-2.2.11", "SoftwareId": "159"}, "bios"),
        ("HPE", {"Id": "1", "Name": "iLO 6"}, "bmc"),
        ("any", {"Id": "Node0.AccVBIOS"}, "gpu_vbios"),
        (
            "any",
            {
                "Id": "5d0869c4",
                "Name": "Software Inventory",
                "RelatedItem": [{"@odata.id": "/redfish/v1/Managers/bmc"}],
            },
            "bmc",
        ),
        ("any", {"Id": "NIC_1"}, None),
        ("OpenBMC", {"Id": "bundle_active"}, "gpu_bundle"),
        ("any", {"Id": "1", "Name": "iLO 6"}, None),
    ],
)
def test_a_component_is_named_by_the_makers_pattern_or_by_what_it_belongs_to(maker, resource, component):
    assert entry(maker, **resource).component == component


def test_the_operators_own_pattern_comes_first():
    own = [{"component": "gpu_bundle", "field": "name", "pattern": "tray.*", "scheme": "dotted"}]
    assert entry("HPE", own, Id="1", Name="Tray bundle").component == "gpu_bundle"


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(FleetError, match="no regular expression"):
        inventory.fits("(", "x")


@pytest.mark.parametrize("value", [None, "yes", 1])
def test_what_does_not_say_whether_it_can_be_updated_is_not_refused(value):
    assert entry(Id="BIOS", Updateable=value).updateable is None


def test_61_entries_on_two_pages_are_61_b02():
    names = [f"e{number}" for number in range(61)]
    pages = {f"{LIST}/{name}": {"Id": name} for name in names}
    pages[LIST] = {"Members": ref(*names[:50]), "Members@odata.count": 61, "Members@odata.nextLink": f"{LIST}?$skip=50"}
    pages[f"{LIST}?$skip=50"] = {"Members": ref(*names[50:]), "Members@odata.count": 61}
    found = inventory.walk(reader(pages), LIST)
    assert ([row["Id"] for row in found.entries], found.problems) == (names, [])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"Members@odata.nextLink": LIST}, "leads back"),
        ({"Members@odata.count": 3}, "the BMC counts 3"),
        ({"error": {"@Message.ExtendedInfo": []}}, "inventory_partial"),
        ({"Members": ref("a", "gone")}, "cannot be read"),
    ],
)
def test_a_list_that_is_not_whole_says_so_and_keeps_what_it_has_b02_b04(more, told):
    pages = {LIST: {"Members": ref("a"), **more}, f"{LIST}/a": {"Id": "a"}}
    found = inventory.walk(reader(pages), LIST)
    assert ([row["Id"] for row in found.entries], [told in problem for problem in found.problems]) == (["a"], [True])


def test_no_inventory_is_told_and_is_no_empty_one():
    with pytest.raises(BmcError, match="no_inventory"):
        inventory.inventory_uri({"Id": "UpdateService"}, "BMC")
