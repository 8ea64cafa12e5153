# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From an image to another version: how each maker takes it, and what goes wrong on the way, by report."""

from __future__ import annotations

from typing import Any

import pytest

from simfleet.bmc.image import BadImage, make_image, read_image

BIOS = make_image("bios", "3.5", size=64)
GPU = make_image("gpu", "01.25.05.01", size=64, vbios="113-M3000100-103")
PUSHING = ("ami", "idrac", "openbmc")


def test_an_image_says_what_it_is_and_a_damaged_one_is_none() -> None:
    image = make_image("cpld", "08", product="MI300X", size=100)
    assert {"component": "cpld", "version": "08", "product": "MI300X"}.items() <= read_image(image).items()
    for bad in (b"", b"MZ", image[:-1], image[:40]):
        with pytest.raises(BadImage):
            read_image(bad)


@pytest.mark.parametrize("profile", PUSHING)
def test_a_push_is_a_task_that_runs_and_ends(desk: Any, profile: str) -> None:
    bmc = desk(profile)
    response = bmc.push(GPU, oem=profile == "ami")
    assert (response.status, bmc.task(response)["TaskState"]) == (202, "New")
    bmc.run(5)
    assert bmc.ask("GET", response.headers["Location"]).status == 202
    assert 0 < bmc.task(response)["PercentComplete"] < 100
    bmc.run(6)
    done = bmc.task(response)
    assert (done["TaskState"], done["TaskStatus"], done["PercentComplete"]) == ("Completed", "OK", 100)


def _flashed(bmc: Any, image: bytes) -> Any:
    response = bmc.push(image, oem=bmc.bmc.spec.profile == "ami")
    assert response.status == 202, response.body
    bmc.run(11)
    return response


def test_what_is_staged_runs_after_its_activation_and_not_before(desk: Any) -> None:
    bmc = desk("openbmc")
    _flashed(bmc, GPU)
    assert (bmc.version("gpu"), bmc.bmc.components["gpu"].staged["version"]) == ("01.25.03.12", "01.25.05.01")
    bmc.reset("ForceRestart")
    assert bmc.version("gpu") == "01.25.03.12"
    bmc.reset("PowerCycle")
    assert bmc.version("gpu") == "01.25.05.01"
    assert bmc.bmc.view()["vbios"] == "113-M3000100-103"
    assert bmc.bmc.components["gpu"].flashes == 1


def test_an_ac_cycle_takes_the_bmc_along(desk: Any) -> None:
    bmc = desk("ami")
    _flashed(bmc, GPU)
    bmc.reset("PowerCycle")
    assert bmc.version("gpu") == "01.25.03.12"
    bmc.reset("FullPowerCycle")
    bmc.run(21)
    assert [up for _, up in bmc.reachable_at] == [False, True]
    assert bmc.version("gpu") == "01.25.05.01"


@pytest.mark.parametrize("profile, keeps", [("ami", False), ("openbmc", False), ("idrac", True)])
def test_a_bmc_that_flashed_itself_restarts_and_some_makers_lose_their_tasks(
    desk: Any, profile: str, keeps: bool
) -> None:
    bmc = desk(profile)
    response = _flashed(bmc, make_image("bmc", "99.1", size=64))
    bmc.run(30)
    assert bmc.version("bmc") == "99.1"
    assert (bmc.ask("GET", response.headers["Location"]).status == 200) is keeps


def test_a_job_waits_for_the_boot_and_runs_then(desk: Any) -> None:
    bmc = desk("idrac")
    response = _flashed(bmc, BIOS)
    jobs = bmc.get(bmc.bmc.uri("manager") + "/Oem/Dell/Jobs")["Members"]
    assert [(job["JobType"], job["JobState"], job["EndTime"]) for job in jobs] == [
        ("FirmwareUpdate", "Scheduled", "TIME_NA")
    ]
    bmc.reset("GracefulRestart")
    assert bmc.version("bios") == "3.5"
    assert bmc.task(response)["TaskState"] == "Completed"
    assert bmc.get("/redfish/v1/UpdateService/FirmwareInventory/Previous-159-3.2__BIOS.Setup.1-1")["Version"] == "3.2"


def test_an_immediate_job_restarts_the_host_by_itself(desk: Any) -> None:
    bmc = desk("idrac")
    bmc.push(BIOS, **{"@Redfish.OperationApplyTime": "Immediate"})
    bmc.run(3)
    assert (bmc.bmc.boots, bmc.version("bios")) == (1, "3.5")


WRONG = {
    "no image": b"MZ...",
    "another product": make_image("gpu", "01.25.05.01", product="MI210", size=64),
    "another part number": make_image("gpu", "01.25.05.01", part_number="113-D3431500-101", size=64),
    "below the lowest": make_image("gpu", "01.23.00.00", size=64),
    "too far ahead": make_image("gpu", "01.26.00.00", min_from="01.25.04.00", size=64),
    "a component that is not there": make_image("retimer", "1", size=64),
}


@pytest.mark.parametrize("why", WRONG)
def test_a_wrong_image_ends_the_task_in_an_exception(desk: Any, why: str) -> None:
    bmc = desk("openbmc")
    response = _flashed(bmc, WRONG[why])
    done = bmc.task(response)
    assert (done["TaskState"], done["TaskStatus"]) == ("Exception", "Critical")
    assert "Verification of the image failed" in done["Messages"][-1]["Message"]
    assert bmc.bmc.components["gpu"].flashes == 0


def test_a_wrong_image_is_refused_at_the_door_by_another_maker(desk: Any) -> None:
    bmc = desk("ilo")
    assert bmc.ask("POST", "/cgi-bin/uploadFile", b"MZ", content_type="application/octet-stream").status == 400


def test_the_target_must_be_the_images(desk: Any) -> None:
    bmc = desk("openbmc")
    other = bmc.push(GPU, Targets=["/redfish/v1/UpdateService/FirmwareInventory/bios_active"])
    bmc.run(11)
    assert bmc.task(other)["TaskState"] == "Exception"
    assert bmc.push(GPU, Targets=["/redfish/v1/UpdateService/FirmwareInventory/bundle_active"]).status == 202


SIMPLE = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"


@pytest.mark.parametrize("body", [{"ImageURI": "http://x/y"}, {"ImageURI": "x/y", "TransferProtocol": "HTTP"}])
def test_simple_update_gets_the_image_itself(desk: Any, monkeypatch: pytest.MonkeyPatch, body: dict[str, str]) -> None:
    monkeypatch.setattr("simfleet.bmc.uploads.fetch", {"http://x/y": GPU}.__getitem__)
    bmc = desk("ilo")
    response = bmc.ask("POST", SIMPLE, body)
    bmc.run(11)
    assert (response.status, bmc.task(response)["TaskState"]) == (202, "Completed")


@pytest.mark.parametrize(
    "body", [{}, {"ImageURI": "x/y"}, {"ImageURI": "http://127.0.0.1:9/x"}, {"ImageURI": "file:///x"}]
)
def test_simple_update_refuses_what_it_cannot_get(desk: Any, body: dict[str, str]) -> None:
    assert desk("ilo").ask("POST", SIMPLE, body).status == 400
    assert desk("openbmc").ask("POST", SIMPLE, body).status == 404


def test_one_update_at_a_time(desk: Any) -> None:
    bmc = desk("openbmc")
    bmc.push(GPU)
    assert bmc.push(BIOS).status == 503


# -- by report ------------------------------------------------------------------------------------------------------


def test_a_push_uri_alone_and_a_small_largest_image_b01(desk: Any) -> None:
    bmc = desk("idrac", {"http_push_only": {"max_bytes": 200}})
    service = bmc.get("/redfish/v1/UpdateService")
    assert "MultipartHttpPushUri" not in service
    assert "Actions" not in service
    assert service["HttpPushUriOptions"]["HttpPushUriApplyTime"]["ApplyTime"] == "Immediate"
    plain = {"content_type": "application/octet-stream"}
    assert bmc.ask("POST", service["HttpPushUri"], make_image("gpu", "01.26", size=300), **plain).status == 413
    assert desk("openbmc").ask("POST", "/redfish/v1/UpdateService/update", GPU, **plain).status == 202


def test_an_if_match_on_an_action_is_refused_b07(desk: Any) -> None:
    bmc = desk("idrac", "if_match_refused_on_action")
    assert bmc.ask("POST", SIMPLE, {"ImageURI": "http://x/y"}, if_match='"gen-7"').status == 412


@pytest.mark.parametrize(
    "quirk, state, status, job",
    [
        ("hundred_percent_critical", "Completed", "Critical", "Failed"),
        ("completed_with_errors", "Completed", "Critical", "CompletedWithErrors"),
        ("success_without_change", "Completed", "OK", "Completed"),
    ],
)
def test_an_end_that_changed_nothing_b08_b14(desk: Any, quirk: str, state: str, status: str, job: str) -> None:
    bmc = desk("idrac", quirk)
    response = _flashed(bmc, GPU)
    done = bmc.task(response)
    assert (done["TaskState"], done["TaskStatus"], done["PercentComplete"]) == (state, status, 100)
    assert bmc.get(bmc.bmc.uri("manager") + "/Oem/Dell/Jobs")["Members"][0]["JobState"] == job
    bmc.reset("FullPowerCycle")
    bmc.run(21)
    assert bmc.version("gpu") == "01.25.03.12"


@pytest.mark.parametrize("succeeds", [False, True])
def test_a_task_that_vanishes_tells_nothing_of_its_end_b10(desk: Any, succeeds: bool) -> None:
    bmc = desk("openbmc", {"task_vanishes": {"succeeds": succeeds}})
    response = _flashed(bmc, make_image("cpld", "F2.00.09", size=64))
    assert bmc.ask("GET", response.headers["Location"]).status == 404
    assert (bmc.bmc.components["cpld"].staged is not None) is succeeds
    assert bmc.reachable_at == []


def test_a_restart_in_the_middle_takes_session_and_task_and_the_update_goes_on_b11(desk: Any) -> None:
    bmc = desk("openbmc", "bmc_restarts_mid_update")
    token = bmc.ask("POST", "/redfish/v1/SessionService/Sessions", {"UserName": "admin", "Password": "secret"})
    response = _flashed(bmc, GPU)
    bmc.run(20)
    assert [up for _, up in bmc.reachable_at] == [False, True]
    old = {"x_auth_token": token.headers["X-Auth-Token"]}
    assert bmc.ask("GET", "/redfish/v1/Systems", **old).status == 401
    assert bmc.ask("GET", response.headers["Location"]).status == 404
    assert bmc.bmc.components["gpu"].staged["version"] == "01.25.05.01"


def test_fields_may_be_absent_b13(desk: Any) -> None:
    bmc = desk("openbmc", "no_percent")
    task = bmc.task(bmc.push(GPU))
    assert "PercentComplete" not in task
    assert task["EndTime"] == "TIME_NA"


def test_an_ami_wants_its_own_part_and_no_apply_time_b21(desk: Any) -> None:
    bmc = desk("ami")
    assert bmc.push(GPU).status == 400
    refused = bmc.push(GPU, oem=True, **{"@Redfish.OperationApplyTime": "Immediate"})
    assert refused.body["error"]["code"].endswith("PropertyUnknown")
    assert bmc.push(GPU, oem=True).status == 202


def test_without_a_licence_nothing_is_updated_and_nothing_said_of_credentials_b30(desk: Any) -> None:
    bmc = desk("openbmc", "license_missing")
    refused = bmc.ask("GET", "/redfish/v1/UpdateService/FirmwareInventory")
    assert refused.status == 403
    assert "DCMS" in refused.body["error"]["message"]
    assert bmc.ask("GET", "/redfish/v1/Systems").status == 200


def test_a_bios_flash_may_reset_settings_and_boot_order_b32(desk: Any) -> None:
    bmc = desk("openbmc", "flash_resets_settings")
    before = bmc.attributes(), bmc.get(bmc.bmc.uri("system"))["Boot"]["BootOrder"]
    _flashed(bmc, BIOS)
    bmc.reset("ForceRestart")
    assert bmc.attributes() != before[0]
    assert bmc.get(bmc.bmc.uri("system"))["Boot"]["BootOrder"] != before[1]


def test_a_bmc_that_dies_stays_away_until_its_power_is_cut(desk: Any) -> None:
    bmc = desk("openbmc", "bmc_dies_half_way")
    _flashed(bmc, GPU)
    bmc.run(600)
    assert (bmc.bmc.reachable, bmc.bmc.components["gpu"].staged) == (False, None)
    bmc.bmc.ac_cycle()
    bmc.run(21)
    assert (bmc.bmc.reachable, bmc.version("gpu")) == (True, "01.25.03.12")
    _flashed(bmc, GPU)
    assert bmc.bmc.components["gpu"].staged["version"] == "01.25.05.01"


def test_no_task_a_foreign_task_and_a_slow_one(desk: Any) -> None:
    none = desk("openbmc", "no_task").push(GPU)
    assert (none.status, "Location" in none.headers) == (200, False)
    bmc = desk("openbmc", "wrong_job_reported")
    assert bmc.task(bmc.push(GPU))["Name"] == "OSDeployment"
    slow = desk("openbmc", "slow_task")
    response = _flashed(slow, GPU)
    assert slow.task(response)["TaskState"] == "Running"


def test_everything_may_wait_for_an_ac_cycle(desk: Any) -> None:
    bmc = desk("idrac", "staged_only")
    _flashed(bmc, BIOS)
    bmc.reset("ForceRestart")
    assert bmc.version("bios") == "3.2"
    bmc.reset("FullPowerCycle")
    bmc.run(21)
    assert bmc.version("bios") == "3.5"
