# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rollout over nodes that go wrong each in its own way, and the whole fleet taken back at once.

The canary is well; then comes one wave with everybody else, told afterwards by node. Nothing here is lost on a healthy
node, and whatever was lost is named with its cause.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

SECRET = "canary-secret-123"
HOLDER = "pgrep -f /dev/kfd | head -1"
APT = "cd /etc/apt && find . -type f | sort | xargs sha256sum; dpkg-query -W | sha256sum"


@pytest.fixture(scope="module")
def secret(operator: Any) -> Any:
    """The fleet's inventory, with a password in it."""
    path = operator.folder / "secret.yml"
    groups = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))
    groups["fleet"]["vars"]["ansible_become_password"] = SECRET
    path.write_text(yaml.safe_dump(groups), encoding="utf-8")
    return path


def _upgrade_with_a_lock(operator: Any, seen: SimpleNamespace, until: Callable[..., None], inventory: Any) -> Any:
    controller = operator.start("upgrade", "-vvv", plan=seen.plan, inventory=inventory)
    until(lambda: operator.states()["locked"] == "snapshotted")
    operator.simfleet("fault", "locked", "package_manager_locked", "seconds=20")
    until(lambda: operator.reasons()["locked"].startswith("ROCm"))
    seen.lock = operator.shell("locked", "fuser /var/lib/dpkg/lock-frontend 2>/dev/null")
    return controller.finish()


@pytest.fixture(scope="module")
def seen(operator: Any, until: Callable[..., None], secret: Any) -> SimpleNamespace:
    seen = SimpleNamespace()
    seen.plan = operator.plan(
        failure_budget=9, failure_domain="none", growth=100, capacity_floor_percent=0, reboot_timeout_seconds=30
    )
    seen.limited = operator.play("upgrade", "--limit", "well", plan=seen.plan)
    seen.limited_states = operator.states()
    operator.simfleet("fault", "busy", "kfd_busy", "command=train.py")
    operator.simfleet("fault", "full", "disk_full", "leave_kb=20000")
    seen.held_by, seen.apt = operator.shell("busy", HOLDER), operator.shell("full", APT)
    seen.busy = operator.fingerprint("busy")
    seen.upgrade = _upgrade_with_a_lock(operator, seen, until, secret)
    seen.states, seen.failures, seen.boots = operator.states(), operator.failures(), operator.boots()
    return seen


# -- the wave ------------------------------------------------------------------------------------------------------


def test_a_limit_does_not_skip_the_canary(seen: Any) -> None:
    assert seen.limited.status == 2
    assert "no canary has shown yet that the target works (ahead planned)" in seen.limited.errors()[0]
    assert set(seen.limited_states.values()) == {"planned"}


def test_the_healthy_nodes_of_a_bad_wave_are_in_service_and_the_run_does_not_end_well(seen: Any) -> None:
    assert (seen.states["ahead"], seen.states["well"]) == ("in_service", "in_service")
    assert seen.upgrade.status == 2
    assert "Traceback" not in seen.upgrade.text


def test_a_node_whose_sshd_comes_and_goes_after_the_boot_is_upgraded_all_the_same(seen: Any) -> None:
    assert (seen.states["flaps"], seen.boots["flaps"]) == ("in_service", 2)


def test_a_package_manager_that_is_locked_for_a_while_is_waited_for(seen: Any) -> None:
    assert seen.lock.isdigit()
    assert (seen.states["locked"], seen.boots["locked"]) == ("in_service", 2)


def test_a_busy_node_fails_by_the_name_of_the_process_and_is_not_touched(seen: Any, operator: Any) -> None:
    assert seen.states["busy"] == "failed"
    assert f"train.py (pid {seen.held_by}, /dev/kfd)" in seen.failures["busy"]
    assert operator.shell("busy", HOLDER) == seen.held_by
    assert operator.fingerprint("busy") == seen.busy


def test_a_node_without_room_is_not_changed(seen: Any, operator: Any) -> None:
    assert seen.states["full"] == "failed"
    assert "(precheck): disk.free: full /boot: 0.0 GiB free" in seen.failures["full"]
    assert seen.boots["full"] == 1
    assert operator.shell("full", APT) == seen.apt


def test_a_node_that_ignores_its_reboot_is_rolled_back(seen: Any, operator: Any) -> None:
    assert "the reboot was ignored" in seen.failures["deaf"]
    assert (seen.states["deaf"], seen.boots["deaf"]) == ("restored", 1)
    assert operator.node("deaf")["packages"]["rocm-core"].startswith("6.4.4.60404")


def test_a_node_that_boots_the_old_driver_is_found_out_and_restored(seen: Any, operator: Any) -> None:
    assert (
        "driver.loaded: stale: module 6.12.12 is loaded, 30.10.2 (module 6.14.14) is installed"
        in seen.failures["stale"]
    )
    assert seen.states["stale"] == "restored"
    assert operator.node("stale")["packages"]["rocm-core"].startswith("6.4.4.60404")


def test_a_node_that_loses_a_gpu_in_the_reboot_never_comes_into_service(seen: Any, operator: Any) -> None:
    assert seen.states["gone"] == "restored"
    assert "gpu.count: gone: 7 GPUs, wanted 8 GPUs" in seen.failures["gone"]
    assert ("in_service",) not in operator.query("SELECT state FROM events WHERE node = 'gone'")


def test_a_node_that_cannot_be_brought_back_is_quarantined(seen: Any, operator: Any) -> None:
    assert seen.states["dead"] == "quarantined"
    assert "gpu.count: dead: 7 GPUs, wanted 8 GPUs" in seen.failures["dead"]
    assert "(verify_old): after.gpu_lost" in operator.reasons()["dead"]
    assert ("in_service",) not in operator.query("SELECT state FROM events WHERE node = 'dead'")


# -- what is told --------------------------------------------------------------------------------------------------


def test_the_story_of_a_node_tells_what_happened_in_order(seen: Any, operator: Any) -> None:
    told = operator.play("status", node="gone")
    assert told.status == 0
    words = ["admitted", "snapshotted", "changing", "activating", "booted", "verifying", "failed", "rolling_back"]
    places = [told.text.find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)


def test_a_password_of_the_inventory_is_in_no_file_and_in_no_output(seen: Any, operator: Any) -> None:
    assert SECRET not in seen.upgrade.text
    files = [path for path in operator.records.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


# -- all of it back ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def incident(seen: Any, operator: Any, until: Callable[..., None]) -> Any:
    operator.simfleet("clear", "dead")  # somebody repaired the quarantined node
    operator.simfleet("power", "dead", "cycle")
    until(lambda: operator.boots()["dead"] > seen.boots["dead"])
    operator.until_answers("dead")
    return operator.play("rollback", fleet_incident="true")


def test_in_an_incident_everything_goes_back_at_once_a_repaired_node_too(incident: Any, operator: Any) -> None:
    assert "left to do: 5 nodes, 1 waves" in incident.text
    assert incident.status == 0, incident.text
    back = [name for name in ("ahead", "well", "flaps", "locked", "dead") if operator.states()[name] == "restored"]
    assert len(back) == 5
    assert {operator.node(name)["driver"] for name in back} == {"6.12.12"}
