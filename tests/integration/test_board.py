# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""upgrade.yml over nodes and their BMCs: bundle, BIOS setting and ROCm in one go, and under one cut of the power."""

from __future__ import annotations

import hashlib

import pytest
import yaml

from ansible_collections.fleetops.instinct.tests.integration import bmc_bench
from simfleet.bmc.image import make_image

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

POLICY = {"soak_seconds": 1, "reboot_timeout_seconds": 120, "capacity_floor_percent": 0, "drain_timeout_seconds": 2}
SMALL = {"poll": 0.2, "pending": 1, "settle": 5, "silence": 60, "update_timeout": 60, "off_seconds": 0.2}
QUICK = {**{f"firmware_{key}": value for key, value in SMALL.items()}, "bios_poll": 0.2, "bios_wait": 30}
VERSION = "01.26.00.04"
SMT = "cat /sys/devices/system/cpu/smt/active"
NODES = ("open", "dell")


class Bench(bmc_bench.Bench):
    """The operator with a target that wants firmware and BIOS settings besides ROCm."""

    def __init__(self, operator):
        super().__init__(operator)
        image = make_image("gpu", VERSION)
        (operator.state / "bundle.pldm").write_bytes(image)
        row = {"component": "gpu_bundle", "version": VERSION, "image": "bundle.pldm", "activation": "ac_cycle"}
        row["sha256"] = hashlib.sha256(image).hexdigest()
        target = yaml.safe_load(operator.target.read_text(encoding="utf-8"))
        target["products"]["MI300X"] |= {"gpus_per_node": 2, "firmware": [row], "bios": {"smt": "Enabled"}}
        operator.target = operator.state / "board.yml"
        operator.target.write_text(yaml.safe_dump(target), encoding="utf-8")

    def play(self, name, *words, **variables):
        """Run a playbook of the collection."""
        given = {"inventory": self.inventory, "fleet_bmc_pause": 0.2, **QUICK, **variables}
        return self.operator.play(name, *words, **given)

    def upgrade(self, *words):
        """Upgrade to the target."""
        return self.play("upgrade", *words, target=self.operator.target, policy=POLICY)

    def shows(self):
        """Of each node: bundle and flashes by its BMC, driver and SMT by itself, and boots."""
        gpus, boots = [self.bmc(node)["components"]["gpu"] for node in NODES], self.operator.boots()
        seen = [(self.operator.node(node)["driver"], self.operator.shell(node, SMT)) for node in NODES]
        return [
            (gpu["version"], gpu["flashes"], *one, boots[node])
            for node, gpu, one in zip(NODES, gpus, seen, strict=True)
        ]


@pytest.fixture(name="bench", scope="module")
def _bench(operator):
    return Bench(operator)


def test_a_rehearsal_says_what_is_flashed_and_set_and_that_firmware_stays(bench):
    before = bench.shows()
    done = bench.upgrade("--check", "--diff")
    text = " ".join(done.text.split())
    assert done.status == 0, done.text[-4000:]
    assert f"gpu_bundle 01.25.03.12 -> {VERSION} (ac_cycle) through the BMC" in text
    assert ("no snapshot takes firmware back" in text, "LogicalProc Disabled -> Enabled" in text) == (True, True)
    assert bench.shows() == before


def test_a_bundle_a_setting_and_rocm_come_in_one_go_and_one_boot(bench):
    done = bench.upgrade()
    assert done.status == 0, done.text[-4000:]
    assert bench.shows() == [(VERSION, 1, "6.14.14", "1", 2)] * 2
    assert bench.operator.states() == dict.fromkeys(NODES, "in_service")
    ordered = bench.operator.query("SELECT node FROM events WHERE json_extract(data, '$.reboot.number') IS NOT NULL")
    assert sorted(node for (node,) in ordered) == ["dell", "open"]


def test_a_second_run_changes_nothing(bench):
    before = bench.shows()
    done = bench.upgrade()
    assert (done.status, "left to do: 0 nodes" in done.text, bench.shows()) == (0, True, before), done.text[-4000:]


def test_a_way_back_takes_packages_and_settings_back_and_says_that_firmware_stays(bench):
    done = bench.play("rollback")
    assert bench.shows() == [(VERSION, 1, "6.12.12", "0", 3)] * 2, done.text[-4000:]
    assert all(f"firmware stays: gpu_bundle {VERSION}" in reason for reason in bench.operator.reasons().values())


def test_no_session_is_left_behind_and_the_password_is_nowhere(bench):
    assert [bench.bmc(node)["sessions"]["open"] for node in NODES] == [0, 0]
    kept = [path for path in bench.operator.records.rglob("*") if path.is_file()]
    assert [str(path) for path in kept if bench.credentials["password"].encode() in path.read_bytes()] == []
