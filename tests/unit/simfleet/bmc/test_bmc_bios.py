# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BIOS settings: staged, asked for, applied at a boot, and read back; with the reported ways to get it wrong."""

from __future__ import annotations

from typing import Any

import pytest

SMT = {"ami": ("Rome0059", "Auto"), "ilo": ("ProcSMT", "Enabled"), "openbmc": ("SMTControl", "Enabled")}


@pytest.mark.parametrize("profile", SMT)
def test_a_setting_is_pending_until_the_boot(desk: Any, profile: str) -> None:
    bmc, (name, value) = desk(profile), SMT[profile]
    before = bmc.attributes()[name]
    assert bmc.stage({name: value}).status == 200
    assert (bmc.attributes()[name], bmc.get(bmc.settings())["Attributes"][name]) == (before, value)
    assert "smt" in bmc.bmc.view()["off"]
    bmc.reset("ForceRestart")
    assert bmc.attributes()[name] == value
    assert "smt" not in bmc.bmc.view()["off"]


def test_a_dell_needs_a_job_b18(desk: Any) -> None:
    bmc = desk("idrac")
    assert bmc.stage({"ProcCStates": "Disabled"}).status == 200
    assert bmc.get(bmc.settings())["Attributes"] == {"ProcCStates": "Disabled"}
    bmc.reset("ForceRestart")
    assert bmc.attributes()["ProcCStates"] == "Enabled"
    job = bmc.ask("POST", bmc.bmc.uri("manager") + "/Oem/Dell/Jobs", {"TargetSettingsURI": bmc.settings()})
    assert bmc.task(job)["TaskState"] == "Pending"
    bmc.reset("ForceRestart")
    bmc.run(6)
    assert (bmc.attributes()["ProcCStates"], bmc.task(job)["TaskState"]) == ("Disabled", "Completed")


def test_an_apply_time_makes_the_job_and_closes_the_door(desk: Any) -> None:
    bmc = desk("idrac")
    assert bmc.stage({"ProcCStates": "Disabled"}, "OnReset").status == 202
    assert bmc.stage({"ProcCStates": "Enabled"}, "OnReset").body["error"]["code"] == "IDRAC.2.8.SYS011"
    queue = bmc.bmc.uri("manager") + "/Oem/Dell/Jobs"
    identity = bmc.get(queue)["Members"][0]["Id"]
    assert bmc.ask("DELETE", f"{queue}/{identity}").status == 200
    assert bmc.get(bmc.settings())["Attributes"] == {}


def test_staged_values_wait_for_ever_without_an_apply_time_b18(desk: Any) -> None:
    bmc = desk("openbmc", "staged_without_job")
    bmc.stage({"SMTControl": "Enabled"})
    bmc.reset("ForceRestart")
    assert bmc.attributes()["SMTControl"] == "Disabled"
    bmc.stage({"SMTControl": "Enabled"}, "OnReset")
    bmc.reset("ForceRestart")
    assert bmc.attributes()["SMTControl"] == "Enabled"


def test_somebody_elses_value_is_applied_unless_it_is_cleared_b19(desk: Any) -> None:
    bmc = desk("openbmc", "pending_settings_of_somebody_else")
    assert bmc.get(bmc.settings())["Attributes"]["ASPMSupport"] == "Auto"
    bmc.reset("ForceRestart")
    assert bmc.attributes()["ASPMSupport"] == "Auto"
    other = desk("openbmc", "pending_settings_of_somebody_else")
    assert other.ask("DELETE", other.settings()).status == 204
    other.reset("ForceRestart")
    assert other.attributes()["ASPMSupport"] == "Disabled"


def test_the_values_show_before_the_job_has_failed_b27(desk: Any) -> None:
    bmc = desk("idrac", "bios_job_fails")
    job = bmc.stage({"ProcCStates": "Disabled"}, "OnReset")
    bmc.reset("ForceRestart")
    assert (bmc.attributes()["ProcCStates"], bmc.task(job)["TaskState"]) == ("Disabled", "Running")
    bmc.run(6)
    assert (bmc.attributes()["ProcCStates"], bmc.task(job)["TaskState"]) == ("Enabled", "Exception")


def test_a_dependent_setting_is_read_only_and_the_registry_says_so_b29(desk: Any) -> None:
    bmc = desk("idrac")
    registry = bmc.get("/redfish/v1/Registries/BiosAttributeRegistry.v1_0_0/BiosAttributeRegistry.v1_0_0.json")
    rows = {row["AttributeName"]: row for row in registry["RegistryEntries"]["Attributes"]}
    assert rows["WorkloadProfile"]["ReadOnly"] is True
    assert bmc.stage({"WorkloadProfile": "HpcProfile"}).body["error"]["code"].endswith("PropertyNotWritable")
    assert bmc.stage({"SysProfile": "Custom", "WorkloadProfile": "HpcProfile"}).status == 200


def test_a_dependent_setting_may_be_dropped_without_a_word_b29(desk: Any) -> None:
    bmc = desk("idrac", "attribute_read_only")
    assert bmc.stage({"SysProfile": "PerfOptimized", "WorkloadProfile": "VtOptimizedProfile"}).status == 200
    assert bmc.get(bmc.settings())["Attributes"] == {"SysProfile": "PerfOptimized"}


def test_a_reset_may_change_nothing_b33(desk: Any) -> None:
    bmc = desk("ilo", "settings_ignored")
    answer = bmc.stage({"ThermalConfig": "IncreasedCooling"})
    assert answer.body["Messages"] == [{"MessageID": "iLO.0.10.SystemResetRequired"}]
    bmc.reset("ForceRestart")
    assert bmc.attributes()["ThermalConfig"] == "OptimalCooling"


def test_a_patch_needs_the_etag_b05(desk: Any) -> None:
    bmc = desk("ami")
    body = {"Attributes": {"Rome0059": "Auto"}}
    assert bmc.ask("PATCH", bmc.settings(), body).status == 428
    assert bmc.ask("PATCH", bmc.settings(), body, if_match='"old"').status == 412
    assert bmc.stage({"Rome0059": "Auto"}).status == 200


def test_some_firmware_takes_no_etag_at_all_b05(desk: Any) -> None:
    bmc = desk("ami", "etag_never_right")
    body = {"Attributes": {"Rome0059": "Auto"}}
    tag = bmc.ask("GET", bmc.settings()).headers["ETag"]
    assert tag.startswith("W/")
    assert bmc.ask("PATCH", bmc.settings(), body, if_match=tag).status == 428
    assert bmc.ask("PATCH", bmc.settings(), body, if_match=tag[2:]).status == 412


@pytest.mark.parametrize("values, code", [({"None": "x"}, "PropertyUnknown"), ({"IOMMU": "x"}, "NotInList")])
def test_what_cannot_be_is_refused(desk: Any, values: dict[str, str], code: str) -> None:
    assert desk("openbmc").stage(values).body["error"]["code"].endswith(code)


def test_names_may_end_in_hex_and_values_be_objects(desk: Any) -> None:
    bmc = desk("openbmc", "attribute_renamed")
    assert bmc.stage({"SMTControl_0037": "Enabled"}).status == 200
    assert "SMTControl_0037" in bmc.attributes()
    assert desk("openbmc", "attributes_are_objects").attributes()["IOMMU"]["current_value"] == "Enabled"


def test_defaults_are_staged_too(desk: Any) -> None:
    bmc = desk("openbmc")
    bmc.stage({"SMTControl": "Enabled"})
    bmc.reset("ForceRestart")
    assert bmc.ask("POST", bmc.bmc.uri("system") + "/Bios/Actions/Bios.ResetBios").status == 200
    bmc.reset("ForceRestart")
    assert bmc.attributes()["SMTControl"] == "Disabled"
