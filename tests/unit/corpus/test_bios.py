# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded BMCs: what their BIOS settings are, in neutral words, and what may be set."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import answers, bios, bios_names, bios_reading
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import host_board
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import corpus, names, text
from ansible_collections.fleetops.instinct.tests.unit.corpus.recorded_bmc import getter

NAMES = bios_names.names_of([], *(load_catalog().rows("bios_attributes", one) for one in ("attributes", "values")))
HPE = {"iommu": "Enabled", "global_cstate": "Disabled", "df_cstates": "Disabled", "smt": "Enabled"}
# Where a change goes, how many attributes there are and how many may be set by a registry, and some in neutral words.
MOCKUPS = {
    "bmctoolbox-hpegen10": ("/redfish/v1/systems/1/bios/settings/", 190, 327, {"sriov": "Enabled"}),
    "ctl-dell-xr8620t-idrac9": (
        "/redfish/v1/Systems/System.Embedded.1/Bios/Settings",
        7,
        3,
        {"global_cstate": "Disabled"},
    ),
    "ctl-hpe-dl360-ilo": ("/redfish/v1/systems/1/bios/settings/", 300, 0, {"sriov": "Enabled"}),
    "ctl-supermicro-gb300": ("/redfish/v1/Systems/System_0/Bios/Settings", 360, 360, {"above_4g": "Enabled"}),
    "rie-DL325": ("/redfish/v1/systems/1/bios/settings/", 236, 339, {}),
    "rie-EX235a": (None, 16, 16, {"df_cstates": "Disabled", "smt": "Enabled", "nps": "NPS4", "determinism": "Power"}),
    "rie-EX235n": (None, 18, 18, {"boost": "Enabled"}),
    "rie-Gigabyte": (None, 550, 549, {"above_4g": "Enabled"}),
    "rie-Intel": ("/redfish/v1/Systems/QSBP74100021/Bios/Settings", 864, 0, {}),
    "rie-XL675d_A100": ("/redfish/v1/systems/1/bios/settings/", 299, 564, {"aspm": "Disabled", **HPE}),
}
NONE = {
    "bmctoolbox-quantaD42A-2U": "the list of its systems was not recorded",
    "bmctoolbox-idrac9": "its Bios was recorded with an empty list of attributes",
    "rie-OpenBMC-stock": "its Bios has no attributes",
    "ctl-supermicro-x10": "no Bios was recorded",
}
SYSTEMS = {"rie-EX235a": "Node0", "rie-EX235n": "Node0"}
ELSEWHERE = ("bmclib-fixtures", "sushy-json-samples", "ctl-supermicro-x10-119", "ctl-write-captures")


def read(name):
    """The settings of a recorded BMC."""
    get = getter(name)
    return bios_reading.read(get, host_board(get, SYSTEMS.get(name)), "BMC")


@pytest.mark.parametrize("name", MOCKUPS)
def test_settings_and_what_may_be_set_are_read(name):
    corpus()
    seen, (place, attributes, items, wanted) = read(name), MOCKUPS[name]
    told = bios.views(seen, NAMES)
    assert (seen.settings, len(seen.applied), len(seen.registry.items) if seen.registry else 0) == (
        place,
        attributes,
        items,
    )
    assert {key: told[key]["value"] for key in wanted if key in told} == wanted


@pytest.mark.parametrize("name", NONE)
def test_a_bios_without_attributes_is_told_as_such(name):
    corpus()
    with pytest.raises(answers.BmcError) as caught:
        read(name)
    assert caught.value.code in ("no_bios", "not_there")


def test_a_workload_profile_that_parks_no_core_is_refused_for_what_it_sets_beside_itself():
    corpus()
    seen = read("rie-DL325")
    with pytest.raises(answers.BmcError, match="MinProcIdlePower"):
        bios.plan(seen, {"profile": "HighPerformanceCompute(HPC)"}, NAMES, "BMC")


def test_what_a_workload_profile_locks_is_refused_with_the_profile_b29():
    corpus()
    seen = read("rie-XL675d_A100")
    with pytest.raises(answers.BmcError, match="WorkloadProfile is HighPerformanceCompute") as caught:
        bios.plan(seen, {"df_cstates": "Auto"}, NAMES, "BMC")
    assert caught.value.code == "attribute_not_settable"


def test_a_settings_object_that_is_named_alone_is_found():
    page = json.loads(text("redfish/quirks/sushy-settings-nokia.json"))
    assert answers.link(page, "@Redfish.Settings", "SettingsObject") == "/redfish/v1/Systems/Self/SD"


def test_every_recorded_bmc_is_read_or_has_a_reason():
    corpus()
    archives = {
        name.rpartition("/")[2].removesuffix(".tar.gz") for name in names("redfish") if name.endswith(".tar.gz")
    }
    assert archives == {*MOCKUPS, *NONE, *ELSEWHERE}
