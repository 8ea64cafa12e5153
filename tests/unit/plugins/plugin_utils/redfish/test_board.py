# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands behind a BMC, and where it and the node itself disagree."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import (
    board,
    disagreements,
    machine_of,
    maker_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry

ROOT = {"UpdateService": {"@odata.id": "/u"}, "Systems": {"@odata.id": "/s"}, "Managers": {"@odata.id": "/m"}}
PAGES = {
    "/redfish/v1/": ROOT,
    "/u": {"Id": "UpdateService"},
    "/m": {"Members": [{"@odata.id": "/m/1"}]},
    "/m/1": {"Id": "1"},
}


def get_of(*systems, **more):
    """A get over a BMC with these systems."""
    pages = {**PAGES, "/s": {"Members": [{"@odata.id": f"/s/{name}"} for name in systems]}, **more}
    pages |= {f"/s/{name}": {"Id": name, "Model": name} for name in systems}

    def get(path):
        if path not in pages:
            raise BmcError("not_there", "BMC", path)
        return pages[path]

    return get


@pytest.mark.parametrize(
    ("systems", "wanted", "found"),
    [
        (["Self"], None, "Self"),
        (["system", "UBB"], None, "system"),
        (["Node0", "Node1"], None, None),
        (["Node0", "Node1"], "Node1", "Node1"),
        ([], None, None),
    ],
)
def test_the_host_is_the_one_system_that_is_no_gpu_board(systems, wanted, found):
    seen = board(get_of(*systems), "BMC", wanted)
    assert (seen.system.get("Id"), bool(seen.problems)) == (found, found is None)


def test_a_bmc_without_an_update_service_is_told():
    with pytest.raises(BmcError, match="no_update_service"):
        board(get_of("a", **{"/redfish/v1/": {}}), "BMC")


@pytest.mark.parametrize(
    ("root", "manager", "maker"),
    [
        ({"Vendor": "Dell"}, {}, "Dell"),
        ({"Oem": {"Hpe": {}}}, {}, "HPE"),
        ({"Oem": {"Ami": {}}}, {}, "AMI"),
        ({}, {"Model": "iLO 5"}, "HPE"),
        ({}, {"Name": "OpenBmc Manager"}, "OpenBMC"),
        ({}, {}, "any"),
    ],
)
def test_the_maker_is_told_by_root_or_manager(root, manager, maker):
    assert maker_of(root, {}, manager) == maker


FACTS = {
    "platform": {"bios_version": "3.2"},
    "gpus": [
        {"device_id": "74a1", "vbios": "113-M3000100-102", "firmware": {"pldm_bundle": {"value": "01.25.03.12"}}},
        {"vbios": None, "firmware": None},
    ],
}


def entry(component, version, scheme):
    """A running entry."""
    return Entry("/x", "X", "", None, version, "running", None, None, None, None, component, scheme)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("gpu_bundle", "01.25.03.12.76", "dotted"), 0),
        (("gpu_bundle", "01.26.00.04", "dotted"), 1),
        (("bios", "3.2 (11/13/2024)", "maker"), 0),
        (("bios", "3.4", "maker"), 1),
        (("bios", None, "maker"), 0),
        (("gpu_vbios", "M3000100-102", "part_number"), 0),
        (("bmc", "9", "maker"), 0),
    ],
)
def test_bmc_and_node_disagree_only_where_both_say_something(row, told):
    assert len(disagreements([entry(*row)], FACTS)) == told
    assert disagreements([entry(*row)], None) == []


def test_an_image_may_be_named_for_the_model_or_the_catalogs_product():
    seen = machine_of(board(get_of("AS-1"), "BMC"), FACTS, {"74a1": {"name": "MI300X"}, None: None}.get)
    assert seen == {"products": ["AS-1", "MI300X"], "part_numbers": ["113-M3000100-102"]}
