# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every BMC keeps of the protocol: who comes in, what is found, ETags, errors, the power button, the quirks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simfleet.bmc.profile import PROFILES
from simfleet.bmc.quirks import NOT_HERE, QUIRKS, by_report, parse_quirks
from simfleet.errors import FleetFileError

SESSIONS = "/redfish/v1/SessionService/Sessions"
INVENTORY = "/redfish/v1/UpdateService/FirmwareInventory"
LOGIN = {"UserName": "admin", "Password": "secret"}
every = pytest.mark.parametrize("profile", PROFILES)


def _walk(bmc: Any, path: str, seen: dict[str, Any]) -> dict[str, Any]:
    """Everything that can be reached by references from `path`."""
    if path in seen:
        return seen
    seen[path] = bmc.get(path)
    todo = [seen[path]]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
            if "@odata.id" in value:
                _walk(bmc, value["@odata.id"], seen)
        elif isinstance(value, list):
            todo += value
    return seen


@every
def test_every_reference_leads_somewhere_and_every_resource_says_what_it_is(desk: Any, profile: str) -> None:
    seen = _walk(desk(profile), "/redfish/v1", {})
    assert len(seen) > 25
    assert all(body["@odata.id"] == path and body["@odata.type"].startswith("#") for path, body in seen.items())


@every
def test_the_root_is_open_and_nothing_else(desk: Any, profile: str) -> None:
    bmc = desk(profile)
    stranger = {"authorization": "none"}
    assert bmc.ask("GET", "/redfish/v1/", **stranger).status == 200
    refused = bmc.ask("GET", "/redfish/v1/Systems", **stranger)
    assert (refused.status, "error" in refused.body) == (401, True)
    assert bmc.ask("GET", "/redfish/v1/Systems/none").status == 404
    assert bmc.ask("DELETE", "/redfish/v1/Systems").status == 405


def test_a_session_opens_with_a_token_and_ends_when_it_is_deleted(desk: Any) -> None:
    bmc = desk()
    opened = bmc.ask("POST", SESSIONS, LOGIN)
    token = {"x_auth_token": opened.headers["X-Auth-Token"]}
    assert bmc.ask("GET", "/redfish/v1/Systems", **token).status == 200
    assert bmc.bmc.status()["sessions"] == {"open": 1, "most": 1, "opened": 1}
    assert bmc.ask("DELETE", opened.headers["Location"], **token).status == 204
    assert bmc.ask("GET", "/redfish/v1/Systems", **token).status == 401
    assert bmc.bmc.status()["sessions"]["open"] == 0


def test_a_wrong_password_is_401_and_a_full_house_503_b16(desk: Any) -> None:
    bmc = desk("idrac", {"session_leak_limit": {"free": 1}})
    assert bmc.ask("POST", SESSIONS, {**LOGIN, "Password": "x"}).status == 401
    assert bmc.ask("POST", SESSIONS, LOGIN).status == 201
    full = bmc.ask("POST", SESSIONS, LOGIN)
    assert (full.status, full.body["error"]["code"]) == (503, "IDRAC.2.4.RAC0218")


def test_a_password_is_never_shown(desk: Any) -> None:
    assert "secret" not in str(_walk(desk(), "/redfish/v1", {}))


def test_an_account_comes_and_goes(desk: Any) -> None:
    bmc = desk()
    accounts = "/redfish/v1/AccountService/Accounts"
    made = bmc.ask("POST", accounts, {"UserName": "second", "Password": "long-enough", "RoleId": "ReadOnly"})
    assert bmc.ask("PATCH", made.headers["Location"], {"RoleId": "Operator"}).body["RoleId"] == "Operator"
    assert bmc.ask("POST", SESSIONS, {"UserName": "second", "Password": "long-enough"}).status == 201
    assert bmc.ask("DELETE", made.headers["Location"]).status == 204
    assert bmc.ask("DELETE", f"{accounts}/1").status == 405


# -- inventory ------------------------------------------------------------------------------------------------------


def _ids(bmc: Any, path: str = INVENTORY) -> list[str]:
    return [member["@odata.id"].rpartition("/")[2] for member in bmc.get(path)["Members"]]


def test_the_inventory_comes_in_pages_b02(desk: Any) -> None:
    bmc = desk("openbmc", {"paged_inventory": {"page": 3}})
    first = bmc.get(INVENTORY)
    assert (len(first["Members"]), first["Members@odata.count"]) == (3, 4)
    assert _ids(bmc, first["Members@odata.nextLink"]) == ["MB_CPLD_0"]
    assert "Members@odata.nextLink" not in bmc.get(first["Members@odata.nextLink"])


def test_a_next_link_may_lead_back_and_a_count_be_wrong_b02(desk: Any) -> None:
    bmc = desk("openbmc", {"paged_inventory": {"page": 2, "loop": True, "count_off": 3}})
    second = bmc.get(bmc.get(INVENTORY)["Members@odata.nextLink"])
    assert second["Members@odata.nextLink"] == f"{INVENTORY}?$skip=0"
    assert second["Members@odata.count"] == 7


def test_members_and_an_error_in_one_answer_b04(desk: Any) -> None:
    bmc = desk("openbmc", {"inventory_error_member": {"times": 1}})
    first = bmc.get(INVENTORY)
    assert (len(first["Members"]), "error" in first) == (2, True)
    assert len(_ids(bmc)) == 4


def test_spare_banks_stand_beside_the_running_ones_b34(desk: Any) -> None:
    bmc = desk("openbmc", "backup_banks", "status_absent", "version_absent")
    states = {name: bmc.get(f"{INVENTORY}/{name}") for name in _ids(bmc)}
    assert states["BMC-Backup"]["Status"]["State"] == "StandbySpare"
    assert states["TPM"]["Status"]["State"] == "Absent"
    assert "Status" not in states["MB_CPLD_0"]
    assert "Version" not in states["bundle_active"]


@pytest.mark.parametrize(
    "form, seen",
    [
        ("leading_v", "v3.2"), ("zero_padded", "003.002"), ("dated", "3.2 (11/13/2024)"), ("hex", "0x0302"),
        ("suffix", "3.2-0639"), ("extra_field", "3.2.76"), ("revision", "3.2 Rev A"),
    ],
)  # fmt: skip
def test_a_version_has_many_forms_b36(desk: Any, form: str, seen: str) -> None:
    assert desk("openbmc", {"version_with_other_format": {"form": form}}).version("bios") == seen


def test_a_part_number_is_no_bundle_and_may_be_the_makers_own_b22_b38(desk: Any) -> None:
    assert desk("openbmc", "second_version_axis").version("gpu") == "113-M3000100-102"
    assert desk("openbmc", "oem_part_number").bmc.view()["vbios"] == "113-D3431500-100"
    assert [desk("openbmc", name).version("gpu") for name in ("version_null", "version_empty")] == [None, ""]


# -- power ----------------------------------------------------------------------------------------------------------


@every
def test_the_host_goes_off_and_on_and_tests_itself(desk: Any, profile: str) -> None:
    bmc = desk(profile)
    bmc.reset("ForceOff")
    assert bmc.get(bmc.bmc.uri("system"))["PowerState"] == "Off"
    bmc.reset("On")
    system = bmc.get(bmc.bmc.uri("system"))
    assert (system["PowerState"], system["BootProgress"]["LastState"]) == ("On", "SystemHardwareInitializationComplete")
    bmc.run(6)
    assert bmc.get(bmc.bmc.uri("system"))["BootProgress"]["LastState"] == "OSRunning"


def test_what_is_not_offered_is_refused(desk: Any) -> None:
    bmc = desk("ilo")
    refused = bmc.ask("POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", {"ResetType": "FullPowerCycle"})
    assert refused.body["error"]["code"].endswith("PropertyValueNotInList")


def test_a_manager_that_is_reset_is_away_for_a_while(desk: Any) -> None:
    bmc = desk()
    assert (
        bmc.ask("POST", bmc.bmc.uri("manager") + "/Actions/Manager.Reset", {"ResetType": "ForceRestart"}).status == 204
    )
    bmc.run(30)
    assert [up for _, up in bmc.reachable_at] == [False, True]
    assert bmc.reachable_at[1][0] - bmc.reachable_at[0][0] == pytest.approx(20, abs=0.5)


# -- troubles of an exchange ----------------------------------------------------------------------------------------


def test_a_burst_of_errors_ends(desk: Any) -> None:
    bmc = desk("openbmc", {"5xx_burst": {"times": 2, "after": 1}})
    assert [bmc.ask("GET", "/redfish/v1/Systems").status for _ in range(4)] == [200, 503, 503, 200]


def test_an_answer_is_lost_and_the_work_is_done(desk: Any) -> None:
    bmc = desk("openbmc", {"connection_drops": {"every": 1, "method": "POST"}})
    lost = bmc.ask("POST", bmc.bmc.uri("system") + "/Actions/ComputerSystem.Reset", {"ResetType": "ForceOff"})
    bmc.run(1)
    assert (lost.drop, bmc.bmc.host_power) == (True, "Off")
    assert bmc.bmc.exchanges[-1][2] == 0


def test_every_exchange_is_numbered_and_noted(desk: Any, tmp_path: Path) -> None:
    bmc = desk()
    with open(tmp_path / "log", "w", encoding="utf-8") as bmc.bmc.log:
        bmc.ask("GET", f"{INVENTORY}?$skip=1")
        bmc.ask("GET", "/redfish/v1/none")
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert lines == [f"1 GET {INVENTORY}?$skip=1 200", "2 GET /redfish/v1/none 404"]


# -- quirks as data -------------------------------------------------------------------------------------------------

CLASS_B = "01 02 04 05 07 08 10 11 13 14 16 18 19 21 22 24 25 27 29 30 32 33 34 36 38"


def test_every_open_report_of_firmware_has_its_quirk() -> None:
    assert set(by_report()) | set(NOT_HERE) == {f"B{number}" for number in CLASS_B.split()}


def test_every_quirk_stands_on_the_page_of_the_simulated_fleet() -> None:
    page = (Path(__file__).parents[3] / "simfleet/README.md").read_text(encoding="utf-8")
    assert [
        name for name, quirk in QUIRKS.items() if f"| `{name}` | {', '.join(quirk.reports) or '-'} |" not in page
    ] == []


@pytest.mark.parametrize("quirk", QUIRKS)
def test_every_quirk_can_be_switched_on_at_every_maker(desk: Any, quirk: str) -> None:
    for profile in PROFILES:
        assert quirk in desk(profile, quirk).bmc.status()["quirks"]


@pytest.mark.parametrize(
    "items, words",
    [
        ("slow_task", "wanted a list"),
        (["slow"], "saw 'slow'; known are"),
        ([{"slow_task": {"by": 3}}], "slow_task.by: unknown; allowed are factor"),
    ],
)
def test_a_mistake_in_a_quirk_is_named(items: Any, words: str) -> None:
    with pytest.raises(FleetFileError, match=words):
        parse_quirks("quirks", items)
