# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware and BIOS settings of the target: who is moved, by which steps, who is refused, and what is never claimed."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import behind, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

BMC, BUNDLE = bmcs.row(*bmcs.BMC), bmcs.row(*bmcs.BUNDLE, activation="ac_cycle")
OLD = bmcs.told(bmcs.entry("bmc", "2.14.0", lowest="2.10.0"))


def judged(folder, bmc, *rows, **wants):
    """The record of a healthy node at target but for what the BMC says."""
    return record_of(behind(bmc, firmware=list(rows), **wants), folder)


def test_a_node_whose_bmc_shows_the_wanted_versions_is_at_target(tmp_path):
    told = bmcs.told(bmcs.entry("bmc", "v2.16.0"), bmcs.entry(*bmcs.BUNDLE))
    record = judged(tmp_path, told, BMC, BUNDLE)
    assert (record["class"], record["steps"], record["firmware"]) == ("at_target", [], [])


@pytest.mark.parametrize(("row", "steps"), [(BMC, ["firmware"]), (BUNDLE, ["firmware", "reboot"])])
def test_another_version_is_a_step_of_the_rollout_and_its_activation_may_be_a_boot(tmp_path, row, steps):
    told = bmcs.told(bmcs.entry("bmc", "2.14.0"), bmcs.entry("gpu_bundle", "01.25.03.12"))
    record = judged(tmp_path, told, row)
    assert (record["class"], record["steps"]) == ("may_move", steps)


def test_what_only_the_bmc_tells_is_never_at_target_and_never_unknown_for_ever(tmp_path):
    record = judged(tmp_path, None, BMC)
    assert (record["class"], record["steps"]) == ("may_move", ["firmware"])
    assert "only the BMC can tell" in said(record, "firmware.target")[0]["why"]


def test_what_the_node_itself_shows_needs_no_bmc(tmp_path):
    assert judged(tmp_path, None, bmcs.row("bios", "1.2"))["class"] == "at_target"
    assert judged(tmp_path, None, bmcs.row("bios", "1.3"))["firmware"][0]["from"] == "1.2"


def test_a_bmc_that_shows_what_the_node_does_not_run_proves_nothing(tmp_path):
    told = bmcs.told(bmcs.entry("bios", "1.3"))
    record = judged(tmp_path, told, bmcs.row("bios", "1.3"))
    assert (record["class"], record["firmware"][0]["from"]) == ("may_move", "1.2")


@pytest.mark.parametrize("wants", [{"firmware": [BMC]}, {"bios": {"smt": "Enabled"}}])
def test_a_node_without_an_address_of_its_bmc_is_refused_before_it_is_touched(tmp_path, wants):
    record = record_of(behind({"address": False}, **wants), tmp_path)
    assert record["class"] == "blocked"
    assert "fleet_bmc_address" in said(record, "bmc.ready")[0]["fix"]


def test_an_address_is_not_asked_for_where_the_node_shows_that_nothing_is_to_be_done(tmp_path):
    assert judged(tmp_path, {"address": False}, bmcs.row("bios", "1.2"))["class"] == "at_target"


@pytest.mark.parametrize("code", ["bmc_unreachable", "bad_credentials", "library_missing", "untrusted_certificate"])
def test_a_bmc_that_cannot_be_asked_makes_the_node_unknown(tmp_path, code):
    record = judged(tmp_path, bmcs.silent(code), BMC)
    assert (record["class"], code in said(record, "bmc.ready")[0]["observed"]) == ("unknown", True)


@pytest.mark.parametrize("code", ["no_update_service", "no_inventory", "license_missing"])
def test_a_bmc_that_has_no_firmware_to_tell_of_blocks_the_node(tmp_path, code):
    assert judged(tmp_path, bmcs.silent(code), BMC)["class"] == "blocked"


def test_what_must_not_be_flashed_blocks_the_node_and_says_why(tmp_path):
    record = judged(tmp_path, bmcs.told(bmcs.entry("bmc", "2.20.0")), BMC)
    assert (record["class"], record["steps"]) == ("blocked", [])
    assert "[downgrade]" in said(record, "bmc.ready")[0]["observed"]


def test_a_version_that_the_bmc_does_not_tell_is_unknown(tmp_path):
    assert judged(tmp_path, bmcs.told(bmcs.entry("bmc", None)), BMC)["class"] == "unknown"


def test_a_step_between_is_judged_by_its_first_row_and_told_as_one_component(tmp_path):
    rows = [bmcs.row("cpld", "F2.00.06"), bmcs.row("cpld", "F2.00.08", minimum_from="F2.00.06")]
    record = judged(tmp_path, bmcs.told(bmcs.entry("cpld", "F2.00.04")), *rows)
    assert [(row["from"], row["to"]) for row in record["firmware"]] == [("F2.00.04", "F2.00.08")]
    assert judged(tmp_path, bmcs.told(bmcs.entry("cpld", "F2.00.08")), *rows)["class"] == "at_target"


@pytest.mark.parametrize(("lowest", "back"), [("2.10.0", True), ("2.15.0", False), (None, None)])
def test_whether_the_old_version_could_be_flashed_again_is_told_beforehand(tmp_path, lowest, back):
    record = judged(tmp_path, bmcs.told(bmcs.entry("bmc", "2.14.0", lowest=lowest)), BMC)
    assert (record["firmware"][0]["lowest"], record["firmware"][0]["back"]) == (lowest, back)


def test_bios_settings_come_last_before_the_boot_that_applies_them(tmp_path):
    told = {**OLD, **bmcs.settings(bmcs.item("Disabled", "Enabled"))}
    record = judged(tmp_path, told, BMC, bios={"smt": "Enabled"})
    assert record["steps"] == ["firmware", "bios", "reboot"]
    assert record["bios"] == [{"attribute": "SMTControl", "from": "Disabled", "to": "Enabled"}]


def test_a_setting_that_is_only_staged_does_not_hold_yet(tmp_path):
    told = bmcs.settings(bmcs.item("Disabled", "Enabled", staged="Enabled"))
    assert judged(tmp_path, told, bios={"smt": "Enabled"})["steps"] == ["bios", "reboot"]


def test_what_somebody_else_staged_blocks_the_node(tmp_path):
    record = judged(tmp_path, bmcs.silent("foreign_pending", "bios"), bios={"smt": "Enabled"})
    assert (record["class"], "foreign_pending" in said(record, "bmc.ready")[0]["observed"]) == ("blocked", True)


def test_a_target_without_either_has_nothing_of_them_in_its_records(tmp_path):
    assert {"firmware", "bios"} & set(record_of(seen(), tmp_path)) == set()
