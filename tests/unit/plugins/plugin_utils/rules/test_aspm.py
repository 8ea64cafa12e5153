# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ASPM: which layer wins, and what is to be changed where."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.aspm import Layers, rule_on
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import old, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

ANYTHING = (True, False, None)
CLOSED, OPEN = ["root=/dev/sda1", "iommu=pt", "pcie_aspm=off"], ["root=/dev/sda1", "iommu=pt"]


def aspm(folder, *changes, node=seen, **more):
    return said(record_of(node(*changes, **more), folder), "aspm")


@pytest.mark.parametrize(
    ("live", "running", "coming", "bios", "wins", "as_wanted", "todo"),
    [
        ("on", True, True, None, "bios", False, ("bios",)),
        ("on", True, False, None, "bios", False, ("bios",)),
        ("on", True, None, "Disabled", "bios", False, ("bios",)),
        ("on", False, False, None, None, False, ("bios", "cmdline")),
        ("on", False, True, None, None, False, ("bios", "reboot")),
        ("on", None, None, None, None, False, ("bios", "cmdline")),
        ("on", False, False, "Disabled", "kernel", False, ("cmdline",)),
        ("on", False, True, "Disabled", "kernel", False, ("reboot",)),
        ("off", True, True, None, "bios", True, ()),
        ("off", False, False, None, "kernel", True, ()),
        ("off", True, True, "Enabled", "bios", True, ("bios",)),
        ("off", False, False, "Disabled", "kernel", True, ()),
        ("unknown", True, True, "Disabled", None, None, ()),
        ("unknown", False, False, None, None, None, ()),
    ],
)
def test_the_truth_table(live, running, coming, bios, wins, as_wanted, todo):
    assert rule_on(Layers(live, running, coming, bios)) == (wins, as_wanted, todo)


@pytest.mark.parametrize("layers", itertools.product(ANYTHING, ANYTHING, ("Enabled", "Disabled", None)))
def test_neither_the_command_line_nor_an_attribute_proves_that_a_link_is_off(layers):
    assert rule_on(Layers("unknown", *layers)).as_wanted is None
    assert rule_on(Layers("on", *layers)).as_wanted is False
    assert rule_on(Layers("on", *layers)).todo


@pytest.mark.parametrize("policy", ["performance", "default", "powersave", None])
def test_c12_one_end_with_l1_is_on_whatever_the_policy_says(tmp_path, policy):
    changes = [("gpus.2.link.3.aspm.l1", True), ("settings.aspm.policy", policy)]
    (row,) = aspm(tmp_path, *changes)
    assert (row["verdict"], row["observed"]) == ("warn", "on at 0000:33:00.0 hop 0000:30:01.1 L1")


def test_an_argument_that_is_there_makes_it_the_bioss_and_one_that_is_not_is_advised(tmp_path):
    on = ("gpus.2.link.0.aspm.l0s", True)
    (there,) = aspm(tmp_path, on)
    (absent,) = aspm(tmp_path, on, ("node.kernel.cmdline", OPEN), ("node.kernel.next_boot_cmdline", OPEN))
    (coming,) = aspm(tmp_path, on, ("node.kernel.cmdline", OPEN))
    bios = "switch ASPM off in the BIOS: no kernel setting can do it where the BIOS left it on"
    assert there["fix"] == bios
    assert absent["fix"].startswith(f"{bios}; then boot with pcie_aspm=off")
    assert coming["fix"] == f"{bios}; then reboot"


def test_a_link_that_has_no_such_state_is_not_unknown(tmp_path):
    without = {"l0s": None, "l1": None, "supported": [], "source": "config"}
    dark = {**without, "supported": None}
    assert aspm(tmp_path, ("gpus.2.link.3.aspm", without)) == []
    assert [row["verdict"] for row in aspm(tmp_path, ("gpus.2.link.3.aspm", dark))] == ["unknown"]


def test_links_that_nobody_can_see_are_unknown(tmp_path):
    changes = [(f"gpus.{number}.link", []) for number in range(8)]
    assert [row["verdict"] for row in aspm(tmp_path, *changes, node=old)] == ["unknown"]


def test_a_port_above_several_gpus_is_told_once(tmp_path):
    port = {"bdf": "0000:10:01.1", "role": "root_port", "aspm": {"l0s": False, "l1": True}}
    changes = [(f"gpus.{number}.link.3.{key}", value) for number in (0, 1) for key, value in port.items()]
    (row,) = aspm(tmp_path, *changes)
    assert row["observed"].count("0000:10:01.1") == 1


ON = ("gpus.2.link.0.aspm.l1", True)
BY_KERNEL = [("node.kernel.cmdline", OPEN), ("node.kernel.next_boot_cmdline", OPEN)]


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (["Disabled"], "boot with"),
        (["Disable", "Off"], "boot with"),
        (["Auto"], "switch ASPM off in the BIOS"),
        (["Disabled", "Auto"], "switch ASPM off in the BIOS"),
        (["AspmL1Enabled"], "switch ASPM off in the BIOS"),
        ([None], "switch ASPM off in the BIOS"),
        ([], "switch ASPM off in the BIOS"),
    ],
)
def test_a_bios_that_the_bmc_shows_as_off_is_not_what_switched_it_on(tmp_path, values, first):
    told = [{**bmcs.item(value, "Disabled"), "key": "aspm", "attribute": f"P{n}"} for n, value in enumerate(values)]
    (row,) = aspm(tmp_path, ON, *BY_KERNEL, ("bmc", bmcs.settings(*told)))
    assert row["fix"].startswith(first)


def test_a_bios_that_the_bmc_shows_as_on_is_told_before_its_next_boot(tmp_path):
    told = bmcs.settings({**bmcs.item("Enabled", "Disabled"), "key": "aspm"})
    assert [row["fix"] for row in aspm(tmp_path, ("bmc", told))] == [
        "switch ASPM off in the BIOS: no kernel setting can do it where the BIOS left it on"
    ]
    assert aspm(tmp_path, ("bmc", bmcs.settings({**bmcs.item("Disabled", "Disabled"), "key": "aspm"}))) == []


def test_what_the_bios_says_of_links_that_nobody_sees_proves_nothing(tmp_path):
    dark = ("gpus.2.link.3.aspm", {"l0s": None, "l1": None, "supported": None, "source": "config"})
    told = bmcs.settings({**bmcs.item("Disabled", "Disabled"), "key": "aspm"})
    assert [row["verdict"] for row in aspm(tmp_path, dark, ("bmc", told))] == ["unknown"]
