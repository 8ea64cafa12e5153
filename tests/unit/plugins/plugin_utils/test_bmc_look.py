# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look asks the BMC where the target wants what only a BMC tells, once, and never where it wants nothing of it."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import bmc_look
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.look import Basis
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import facts

FIRMWARE, BIOS = {"firmware": [bmcs.row(*bmcs.BMC)]}, {"bios": {"smt": "Enabled"}}
BOTH = {**FIRMWARE, **BIOS}
HOST = {"inventory_hostname": "g01", "fleet_bmc_address": "10.0.0.9"}
INFO = {"components": [bmcs.entry(*bmcs.BMC)], "machine": {"products": ["a model"], "part_numbers": []}, "problems": []}
ANSWERS = {"redfish_firmware_info": INFO, "redfish_bios": {"rows": [bmcs.item("Enabled", "Enabled")]}}


class Host:
    """What a look asks of another action, and what it is told."""

    def __init__(self, answers=None, variables=None, phase="audit"):
        self.asked, self.answers = [], answers or ANSWERS
        args = {"phase": phase, "catalog": None, "fleet_dir": "records"}
        self.bmc = bmc_look.Bmc(args, variables or HOST, lambda text: text, self.ask)

    def ask(self, name, options, _variables):
        self.asked.append((name, options))
        return self.answers[name]

    def told(self, product="MI300X", **wanted):
        by = Basis({"products": {product: wanted}}, {}, load_catalog())
        return self.bmc.joined(facts("g01"), by).get("bmc")


def names(host):
    return [name for name, _options in host.asked]


def test_a_target_without_firmware_and_settings_asks_no_bmc():
    host = Host()
    assert (host.told(rocm="7.0.2"), names(host)) == (None, [])


def test_the_firmware_of_another_product_asks_no_bmc():
    host = Host()
    assert (host.told("MI250X", **BOTH), names(host)) == (None, [])


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (FIRMWARE, ["redfish_firmware_info"]),
        (BIOS, ["redfish_bios"]),
        (BOTH, ["redfish_firmware_info", "redfish_bios"]),
    ],
)
def test_only_what_the_target_wants_is_asked_for(wanted, asked):
    host = Host()
    host.told(**wanted)
    assert names(host) == asked


def test_a_bmc_is_asked_once_in_a_task_that_looks_again_and_again():
    host = Host()
    assert host.told(**BOTH) == host.told(**BOTH)
    assert len(host.asked) == 2


def test_a_way_back_asks_no_bmc():
    host = Host(phase="verify_old")
    assert (host.told(**BOTH), names(host)) == (None, [])


def test_without_an_address_nobody_is_asked_and_that_is_told():
    host = Host(variables={"inventory_hostname": "g01"})
    assert (host.told(**BOTH), names(host)) == ({"address": False}, [])


def test_the_operators_patterns_and_his_word_on_foreign_values_go_along():
    rows = [{"component": "fans", "pattern": "FAN"}]
    host = Host(variables={**HOST, "fleet_firmware_patterns": rows, "fleet_bios_foreign": "keep"})
    host.told(**BOTH)
    assert [host.asked[0][1]["patterns"], host.asked[1][1]["foreign"]] == [rows, "keep"]


def test_what_an_image_is_for_is_known_by_the_facts_of_this_very_look():
    machine = Host().told(**FIRMWARE)["firmware"]["machine"]
    assert machine == {"products": ["a model", "MI300X"], "part_numbers": ["113-M3000100-102"]}


def test_a_bmc_that_does_not_answer_is_told_with_its_code():
    lost = {"failed": True, "msg": "BMC 10.0.0.9: no answer", "code": "bmc_unreachable"}
    told = Host({"redfish_firmware_info": lost, "redfish_bios": {"failed": True, "msg": "no variables"}}).told(**BOTH)
    assert told["firmware"] == {"code": "bmc_unreachable", "why": "BMC 10.0.0.9: no answer"}
    assert told["bios"] == {"code": "", "why": "no variables"}


def test_a_bmc_without_an_inventory_is_told_with_its_code():
    none = {"available": False, "components": [], "problems": ["no inventory"], "code": "no_inventory"}
    assert Host({"redfish_firmware_info": none}).told(**FIRMWARE)["firmware"]["code"] == "no_inventory"
