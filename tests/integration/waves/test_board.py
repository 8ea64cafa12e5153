# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware and BIOS settings as steps of upgrade.yml: their order, one boot for all, and what becomes of a bad node."""

from __future__ import annotations

import pytest
from ansible.release import __version__

from ansible_collections.fleetops.instinct.tests.integration.waves import playbook_lab
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    target_document,
    write_target,
)

# The order of the tasks depends on no release of ansible-core.
pytestmark = pytest.mark.skipif(not __version__.startswith("2.21."), reason="one release of ansible-core is enough")

CYCLE = bmcs.row("cpld", "F2.00.08", activation="ac_cycle")
WANTED = {"firmware": [CYCLE], "bios": {"smt": "Enabled"}}
OLD = {"runs": {"cpld": "F2.00.06"}, "bios": {"SMTControl": "Disabled"}}
SHOWN = {"foresee_flash", "snapshot", "flash", "left_for_later", "change", "stage_bios", "see_bios", "cycle",
         "read_back", "prove_bios", "restore", "refuse_foreign"}  # fmt: skip
BMC = {"fleet_bmc_address": "10.0.0.9", "fleet_bmc_user": "admin"}
WHOLE = {**playbook_lab.POLICY, "growth": {"kind": "fixed", "size": 4}, "failure_budget": 5}


def fleet(lab, *nodes, wanted=WANTED, **bmc):
    """The target's file; every node has a BMC, and what is said of one by name is different there."""
    lab.inventory(list(nodes), **dict.fromkeys(nodes, BMC))
    for node in nodes:
        lab.node(node, bmc={**OLD, **bmc.get(node, {})})
    row = {"rocm": NEW[0], "driver": NEW[1], "kernel": {"cmdline": ["iommu=pt"]}, **wanted}
    return write_target(lab.folder, target_document(MI300X=row))


def course(lab, node):
    """The steps of a node that are about packages and its BMC."""
    return [step for step in lab.steps(node) if step in SHOWN]


def orders(lab):
    """So many reboots were ordered of nodes themselves."""
    return len(lab.query("SELECT id FROM events WHERE json_extract(data, '$.reboot.number') IS NOT NULL"))


ALL = ["foresee_flash", "snapshot", "flash", "left_for_later", "change", "stage_bios"]


@pytest.mark.parametrize(("kind", "end", "own"), [("ac_cycle", "cycle", 0), ("reboot", "read_back", 1)])
def test_one_boot_stands_for_firmware_driver_and_settings_and_a_second_run_does_nothing(lab, kind, end, own):
    target = fleet(lab, "g1", wanted={**WANTED, "firmware": [{**CYCLE, "activation": kind}]})
    lab.node("g1", reboots=True)
    run = lab.play("upgrade", target=target, policy=WHOLE)
    assert (run.rc, orders(lab)) == (0, own), run.output
    assert course(lab, "g1") == [*ALL, end, "prove_bios"]
    again = lab.play("upgrade", target=target, policy=WHOLE)
    assert (again.rc, "left to do: 0 nodes" in again.output, lab.steps("g1").count("flash")) == (0, True, 1)


def test_the_values_from_before_are_read_once_and_before_anything_is_flashed(lab):
    run = lab.play("upgrade", target=fleet(lab, "g1"), policy=WHOLE)
    steps = lab.steps("g1")
    assert "foresee_bios" in steps[: steps.index("snapshot")], run.output
    assert "foresee_bios" not in steps[steps.index("snapshot") : steps.index("stage_bios")]


def test_a_node_that_a_killed_controller_left_without_power_is_seen_through_and_flashed_once(lab):
    target = fleet(lab, "g1", wanted={"firmware": [CYCLE]}, g1={"do": "killed"})
    killed = lab.play("upgrade", target=target, policy=WHOLE)
    assert (killed.rc, lab.steps("g1")[-1]) == (-9, "killed"), killed.output
    plan = str(next((lab.records / "plans").glob("*.json")))
    run = lab.play("upgrade", plan=plan)
    assert run.rc == 0, run.output
    assert (lab.steps("g1").count("flash"), lab.steps("g1").count("cycle")) == (1, 1)
    assert dict(lab.query("SELECT node, state FROM nodes")) == {"g1": "in_service"}


BAD = {"g2": {"do": "lies"}, "g3": {"do": "lost"}, "g5": {"foreign": {"IOMMU": "Disabled"}}}
STATES = {"g1": "in_service", "g2": "quarantined", "g3": "inconclusive", "g4": "restored", "g5": "failed"}


def test_each_way_to_fail_has_its_end_and_firmware_stays(lab):
    target = fleet(lab, *playbook_lab.NODES, wanted={"firmware": [CYCLE]}, **BAD)
    lab.node("g4", faults=[{"step": "change", "do": "fail"}])
    run = lab.play("upgrade", target=target, policy=WHOLE)
    reasons = dict(lab.query("SELECT node, reason FROM nodes"))
    assert dict(lab.query("SELECT node, state FROM nodes")) == STATES, run.output
    assert "flash of cpld failed after the BMC had taken the image" in reasons["g2"]
    assert "firmware stays: cpld F2.00.08, which is staged" in reasons["g4"]
    assert ("foreign_pending" in reasons["g5"], lab.steps("g5")[-1]) == (True, "refuse_foreign")
    assert lab.whose({"restore"}) == "g2 g4"


def test_settings_of_the_bios_go_back_with_the_packages(lab):
    target = fleet(lab, "g1", wanted={"bios": {"smt": "Enabled"}})
    lab.node("g1", reboots=True, faults=[{"step": "look", "from": 3, "do": "sick"}])
    run = lab.play("upgrade", target=target, policy=WHOLE)
    assert course(lab, "g1")[-4:] == ["prove_bios", "restore", "stage_bios", "prove_bios"], run.output
    assert '"bios": {"SMTControl": "Disabled"}' in (lab.nodes / "g1" / "node.json").read_text(encoding="utf-8")


def test_a_target_without_them_looks_once_before_it_is_touched_and_once_before_the_reboot_for_what_others_staged(lab):
    target = fleet(lab, "g1", "g2", wanted={})
    lab.inventory(["g1", "g2"], g1=BMC)
    run = lab.play("upgrade", target=target, policy=WHOLE)
    assert run.rc == 0, run.output
    assert course(lab, "g1") == ["snapshot", "change", "see_bios"]
    assert (lab.steps("g1").count("foresee_bios"), lab.steps("g2").count("foresee_bios")) == (1, 0)
    assert course(lab, "g2") == ["snapshot", "change"]


def test_a_node_without_an_address_is_refused_before_anything_is_touched(lab):
    target = fleet(lab, "g1", "g2")
    lab.inventory(["g1", "g2"], g1=BMC)
    run = lab.play("upgrade", target=target, policy=WHOLE)
    assert (run.rc != 0, "g2 is blocked: bmc.ready g2: no fleet_bmc_address" in run.output) == (True, True), run.output
    assert lab.whose(playbook_lab.TOUCHING | SHOWN) == ""


def test_a_rehearsal_tells_the_steps_and_touches_nothing(lab):
    target = fleet(lab, "g1")
    run = lab.play("upgrade", "--check", "--diff", target=target, policy=WHOLE)
    assert run.rc == 0, run.output
    assert "flashes cpld F2.00.06 -> F2.00.08 (ac_cycle) through the BMC" in " ".join(run.output.split())
    assert {"flash", "cycle", "stage_bios", "change"} & set(lab.steps("g1")) == set()
