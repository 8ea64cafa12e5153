# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated BMCs before others' tools (DMTF's checkers, OpenStack's client), and as one machine with their nodes.

The service validator judges by schemas. Those of the standard cannot be had offline and come in no package; without
REDFISH_SCHEMAS, a directory of the standard's CSDL files, it uses those that `simfleet.bmc.csdl` makes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from simfleet import sockets
from simfleet.bmc import csdl
from simfleet.bmc.image import make_image

TESTS = Path(__file__).resolve().parents[1]
PROFILES = {"idrac": 101, "ilo": 102, "openbmc": 103, "ami": 104}
CHECKS = ("AccountManagement", "PowerControl", "BootOverride", "ManagerEthernetInterfaces", "QueryParameters")
every = pytest.mark.parametrize("profile", PROFILES)


def needs(package: str) -> Any:
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed beside this Python")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state directory of one BMC of each maker without nodes."""
    state = tmp_path_factory.mktemp("bmcs")
    words = ["--state", str(state), "--base", "58", "--first", "101", "--count", "4"]
    ours = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "simfleet.bmc", *words]
    with subprocess.Popen(command, env=ours, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield state
        process.kill()


def credentials(state: Path) -> dict[str, str]:
    return dict(yaml.safe_load((state / "bmc-credentials.yml").read_text(encoding="ascii")))


def status(state: Path, profile: str) -> dict[str, Any]:
    return sockets.ask(state / "bmc", {"op": "status", "node": f"n{PROFILES[profile]}"}, "the BMCs")


# -- DMTF's tools ---------------------------------------------------------------------------------------------------


def begin(package: str, state: Path, profile: str, *words: str) -> subprocess.Popen[str]:
    """Start one of the tools against the BMC of a maker."""
    given = credentials(state)
    code = f"from {package}.console_scripts import main; import sys; sys.exit(main())"
    place = ["-r", f"https://127.1.58.{PROFILES[profile]}", "-u", given["user"], "-p", given["password"]]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code, *place, *words], stdout=pipe, stderr=subprocess.STDOUT, text=True, cwd=state,
    )  # fmt: skip


def tally(process: subprocess.Popen[str]) -> dict[str, int]:
    """How many things passed, warned and failed, from the table that both tools print."""
    text, _ = process.communicate(timeout=400)
    found = re.search(r"PASS .*?FAIL .*?\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)", text, re.S)
    assert found, text
    return dict(zip(("passed", "warned", "failed", "untested"), map(int, found.groups()), strict=True))


@needs("redfish_service_validator")
@every
def test_what_a_bmc_says_holds_before_the_service_validator(alone: Path, profile: str) -> None:
    schemas = Path(os.environ.get("REDFISH_SCHEMAS") or alone / "schemas")
    if "REDFISH_SCHEMAS" not in os.environ:
        csdl.write(schemas)
    logs = ["--logdir", str(alone / f"validator-{profile}")]
    seen = tally(
        begin("redfish_service_validator", alone, profile, "--schema_directory", str(schemas), "--skipschema", *logs)
    )
    # Dell's own job queue has no schema of the standard.
    assert (seen["failed"], seen["warned"] <= (2 if profile == "idrac" else 0)) == (0, True), seen
    assert seen["passed"] > 400


@needs("redfish_use_case_checkers")
def test_every_maker_holds_before_the_use_case_checkers(alone: Path) -> None:
    """Ethernet interfaces and query parameters are not offered; those two are left out by the tool itself."""
    started = {
        profile: begin(
            "redfish_use_case_checkers", alone, profile, "--report-dir", str(alone / profile), "--test-list", *CHECKS
        )
        for profile in PROFILES
    }
    seen = {profile: tally(process) for profile, process in started.items()}
    assert {profile: row["failed"] + row["warned"] for profile, row in seen.items()} == dict.fromkeys(PROFILES, 0), seen
    assert min(row["passed"] for row in seen.values()) > 20


# -- OpenStack's client ---------------------------------------------------------------------------------------------


@pytest.fixture
def client(alone: Path, profile: str) -> Iterator[SimpleNamespace]:
    """sushy with a session of its own, its certificate checked."""
    import sushy
    from sushy.auth import SessionAuth

    given = credentials(alone)
    before = status(alone, profile)["sessions"]["open"]
    login = SessionAuth(given["user"], given["password"])
    root = sushy.Sushy(f"https://127.1.58.{PROFILES[profile]}", auth=login, verify=str(alone / "bmc-ca.pem"))
    yield SimpleNamespace(root=root, system=root.get_system_collection().get_members()[0], sushy=sushy)
    login.close()
    assert status(alone, profile)["sessions"]["open"] == before


@needs("sushy")
@every
def test_sushy_reads_machine_and_inventory(client: Any, alone: Path, profile: str) -> None:
    from sushy.resources.updateservice.softwareinventory import SoftwareInventoryCollection

    versions = {key: row["version"] for key, row in status(alone, profile)["components"].items()}
    # sushy's own UpdateService wants Actions, which an OpenBMC has not: the inventory is walked by itself.
    inventory = SoftwareInventoryCollection(client.root._conn, "/redfish/v1/UpdateService/FirmwareInventory")
    assert sorted(item.version for item in inventory.get_members()) == sorted(versions.values())
    assert client.system.bios_version == versions["bios"]
    assert client.root.get_manager_collection().get_members()[0].firmware_version == versions["bmc"]


@needs("sushy")
@every
def test_sushy_switches_the_power(client: Any, profile: str, until: Any) -> None:
    client.system.reset_system(client.sushy.ResetType.FORCE_OFF)
    until(lambda: _power(client) == client.sushy.PowerState.OFF)
    client.system.reset_system(client.sushy.ResetType.ON)
    until(lambda: _power(client) == client.sushy.PowerState.ON)


def _power(client: Any) -> Any:
    client.system.refresh(force=True)
    return client.system.power_state


@needs("sushy")
@every
def test_sushy_sets_the_bios_and_reads_its_registry(client: Any, profile: str, until: Any) -> None:
    bios = client.system.bios
    entries = bios.get_attribute_registry().registry_entries.attributes
    wanted = next(row for row in entries if "Boost" in row.display_name or "Turbo" in row.display_name)
    name, before = wanted.name, bios.attributes[wanted.name]
    other = next(value["ValueName"] for value in wanted.allowable_values if value["ValueName"] != before)
    when = client.sushy.ApplyTime.ON_RESET if bios.supported_apply_times else None
    bios.set_attribute(name, other, apply_time=when)
    assert (bios.attributes[name], bios.pending_attributes[name]) == (before, other)
    client.system.reset_system(client.sushy.ResetType.FORCE_RESTART)
    until(lambda: bios.refresh(force=True) or bios.attributes[name] == other)


@needs("sushy")
@pytest.mark.parametrize("profile", ["ami", "idrac", "openbmc"])
def test_a_push_over_sushys_connector_is_followed_to_its_end(
    client: Any, profile: str, alone: Path, until: Any
) -> None:
    from sushy.taskmonitor import TaskMonitor

    service = client.root._conn.get("/redfish/v1/UpdateService").json()
    parts = [("UpdateParameters", (None, "{}", "application/json"))]
    parts += [("OemParameters", (None, '{"ImageType": "CPLD"}', "application/json"))] if profile == "ami" else []
    parts += [("UpdateFile", ("cpld.bin", make_image("cpld", "9.9"), "application/octet-stream"))]
    answer = client.root._conn.post(service["MultipartHttpPushUri"], files=parts)
    monitor = TaskMonitor(client.root._conn, answer.headers["Location"])
    # Its own wait() cannot sleep for a Retry-After in seconds: it takes the header's text for a number.
    until(lambda: not monitor.check_is_processing)
    assert monitor.response.json()["TaskState"] == "Completed"
    assert status(alone, profile)["components"]["cpld"]["staged"] == "9.9"


# -- one machine with the node --------------------------------------------------------------------------------------


def bmc(operator: Any, node: str, *words: str) -> dict[str, Any]:
    return dict(json.loads(operator.simfleet("bmc", node, *words) or "{}"))


class Plain:
    """A few requests to the BMC of a node, without a Redfish library."""

    def __init__(self, operator: Any, node: str) -> None:
        requests = pytest.importorskip("requests")
        hosts = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))["fleet"]["hosts"]
        given = credentials(operator.state)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.auth, self.session.verify = (given["user"], given["password"]), str(operator.state / "bmc-ca.pem")
        self.root = f"https://{hosts[node]['fleet_bmc_address']}"

    def ask(self, path: str, method: str = "GET", **words: Any) -> Any:
        answer = self.session.request(method, self.root + path, **words)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def push(self, image: bytes) -> None:
        uri = self.ask("/redfish/v1/UpdateService")["MultipartHttpPushUri"]
        parts = [("UpdateParameters", (None, "{}", "application/json"))]
        parts += [("UpdateFile", ("image.bin", image, "application/octet-stream"))]
        self.ask(uri, "POST", files=parts)

    def reset(self, system: str, kind: str) -> None:
        self.ask(f"/redfish/v1/Systems/{system}/Actions/ComputerSystem.Reset", "POST", json={"ResetType": kind})


def booted(operator: Any, until: Any, node: str, act: Callable[[], Any]) -> None:
    """Do what makes a node boot, and wait until it has."""
    boots = operator.node(node)["boots"]
    act()
    until(lambda: operator.node(node)["boots"] > boots and operator.node(node)["ssh"])


def test_a_flashed_bios_and_bundle_show_in_the_node_after_their_boots(operator: Any, until: Any) -> None:
    plain = Plain(operator, "open")
    read = "cat /sys/class/dmi/id/bios_version /sys/class/drm/card1/device/vbios_version"
    plain.push(make_image("bios", "3.5", bios_date="02/02/2025"))
    until(lambda: bmc(operator, "open")["components"]["bios"]["staged"] == "3.5")
    plain.push(make_image("gpu", "01.25.05.01", vbios="113-M3000100-103"))
    until(lambda: bmc(operator, "open")["components"]["gpu"]["staged"] == "01.25.05.01")
    operator.simfleet("power", "open", "restart")
    assert operator.shell("open", read).split() == ["3.5", "113-M3000100-102"]
    booted(operator, until, "open", lambda: plain.reset("system", "PowerCycle"))
    assert operator.shell("open", read).split() == ["3.5", "113-M3000100-103"]


def test_a_setting_of_the_bios_shows_in_the_kernel_after_a_reboot_from_inside(operator: Any, until: Any) -> None:
    smt = "cat /sys/devices/system/cpu/smt/control"
    body = {"Attributes": {"LogicalProc": "Enabled"}, "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}
    Plain(operator, "dell").ask("/redfish/v1/Systems/System.Embedded.1/Bios/Settings", "PATCH", json=body)
    assert operator.shell("dell", smt) == "off"
    booted(operator, until, "dell", lambda: operator.shell("dell", "systemctl reboot"))
    assert operator.shell("dell", smt) == "on"


def test_the_pdu_takes_the_bmc_down_with_the_node(operator: Any, until: Any) -> None:
    restarts = bmc(operator, "open")["restarts"]
    booted(operator, until, "open", lambda: operator.simfleet("power", "open", "ac"))
    assert bmc(operator, "open")["restarts"] == restarts + 1


def test_the_power_of_a_node_is_what_its_bmc_says(operator: Any, until: Any) -> None:
    operator.simfleet("power", "dell", "off")
    assert bmc(operator, "dell")["host"] == "Off"
    Plain(operator, "dell").reset("System.Embedded.1", "On")
    until(lambda: operator.node("dell")["ssh"] and bmc(operator, "dell")["host"] == "On")


def test_quirks_go_on_and_off_and_exchanges_are_logged(operator: Any) -> None:
    assert list(bmc(operator, "dell")["quirks"]) == ["version_with_other_format"]
    bmc(operator, "dell", "on", "slow_task", "factor=3")
    assert bmc(operator, "dell")["quirks"]["slow_task"] == {"factor": 3}
    bmc(operator, "dell", "off")
    assert bmc(operator, "dell")["quirks"] == {}
    Plain(operator, "dell").ask("/redfish/v1/Chassis")
    assert operator.simfleet("bmc", "dell", "log").splitlines()[-1].endswith(" GET /redfish/v1/Chassis 200")


def test_a_node_may_have_no_bmc(operator: Any) -> None:
    hosts = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))["fleet"]["hosts"]
    assert ["fleet_bmc_address" in hosts[name] for name in ("open", "dell", "bare")] == [True, True, False]
    assert operator.node("bare")["state"] == "up"
