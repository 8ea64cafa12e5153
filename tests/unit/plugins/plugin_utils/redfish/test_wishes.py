# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a component may be, has to be or must not be flashed."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.wishes import WishError, checked, decide

MACHINE = {"products": ["AS -8125GS-TNMR2", "MI300X"], "part_numbers": ["113-M3000100-102"]}
SHA = "0" * 64


def entry(version="01.25.03.12", component="gpu_bundle", scheme="dotted", **other):
    """A running entry."""
    words = {
        "uri": "/x",
        "id": "bundle_active",
        "name": "",
        "software_id": None,
        "version": version,
        "bank": "running",
        "state": "Enabled",
        "health": "OK",
        "updateable": True,
        "lowest": None,
        "component": component,
        "scheme": scheme,
        **other,
    }
    return Entry(**words)


def wish(version="01.26.00.04", **other):
    """A checked row."""
    row = {"component": "gpu_bundle", "version": version, "image": "a.pldm", "sha256": SHA, **other}
    return checked([row], ("task", "components"), WishError)[0]


def code(row, *entries, machine=None, problems=()):
    """nothing, flash, or the code of the refusal."""
    try:
        return decide(row, entries, "BMC", machine or MACHINE, problems).do
    except BmcError as problem:
        return problem.code


@pytest.mark.parametrize(
    ("row", "seen", "end"),
    [
        (wish(), entry(), "flash"),
        (wish("01.25.03.12"), entry("1.25.3.12"), "nothing"),
        (wish("01.25.03.12.76"), entry(), "nothing"),
        (wish(), entry(None), "version_unknown"),
        (wish(), entry("113-M3000100-102"), "other_axis"),
        (wish("01.24.00.01"), entry(), "downgrade"),
        (wish("01.24.00.01", allow_downgrade=True), entry(), "flash"),
        (wish("01.24.00.01", allow_downgrade=True), entry(lowest="01.24.05.00"), "below_lowest"),
        (wish(), entry(lowest="01.24.05.00"), "flash"),
        (wish(), entry(updateable=False), "not_updateable"),
        (wish(), entry(updateable=None), "flash"),
        (wish(minimum_from="01.25.06.00"), entry(), "below_minimum"),
        (wish(minimum_from="01.25.03.12"), entry(), "flash"),
        (wish(blocked=["1.26.0.4"]), entry(), "blocked_version"),
        (wish("3.2", scheme="maker"), entry("3.2-0639"), "no_order"),
        (wish("3.2", scheme="maker", allow_unordered=True), entry("3.2-0639"), "flash"),
        (wish("3.2", scheme="maker", shown_as="3.2-0639"), entry("3.2-0639"), "nothing"),
        (wish("D3430401-037", scheme="part_number"), entry("113-D3431500-100"), "wrong_part"),
        (wish("113-M3000100-103", scheme="part_number"), entry("113-M3000100-102"), "flash"),
    ],
)
def test_each_reason_to_flash_or_not_has_a_word_b22_b36_b38(row, seen, end):
    assert code(row, seen) == end


@pytest.mark.parametrize(
    ("other", "end"),
    [
        ({"product": "mi300x"}, "flash"),
        ({"product": "MI325X"}, "wrong_product"),
        ({"part_number": "M3000100-200"}, "flash"),
        ({"part_number": "D3430401-037"}, "wrong_part"),
    ],
)
def test_an_image_for_another_machine_is_refused_b22(other, end):
    assert code(wish(**other), entry()) == end


@pytest.mark.parametrize("other", [{"product": "MI300X"}, {"part_number": "M3000100-102"}])
def test_a_machine_that_is_not_known_is_no_right_one(other):
    assert code(wish(**other), entry(), machine={"products": [], "part_numbers": []}).startswith("wrong_")


def test_several_entries_are_not_taken_for_one_unless_that_is_meant():
    two = (entry(id="a"), entry(id="b"))
    assert (code(wish(), *two), code(wish(several=True), *two)) == ("ambiguous", "flash")
    assert code(wish("01.25.03.12", several=True), entry(), entry("01.24.00.00", id="b")) != "nothing"


def test_a_component_that_is_not_seen_is_unknown_and_the_reason_is_told_b04():
    with pytest.raises(BmcError, match=r"nothing; and the inventory is not whole: partial .*\[component_unknown\]"):
        decide(wish(), [entry(bank="spare")][:0], "BMC", MACHINE, ["partial"])
    assert code(wish(), entry(bank="previous")) == "component_unknown"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"image": None}, "image: is missing"),
        ({"sha256": None}, "sha256"),
        ({"sha256": "ABC"}, "64 hexadecimal"),
        ({"scheme": "dotted", "version": "x"}, "a version of the scheme dotted"),
        ({"blocked": ["1.0"]}, "blocked"),
        ({"with_next": True}, "no next component"),
        ({"activation": "reebot"}, "reboot"),
        ({"komponent": 1}, "nearest"),
        ({"version": 7.1}, "put it in quotes"),
    ],
)
def test_a_row_that_is_wrong_is_refused_with_its_place(row, told):
    whole = {"component": "bios", "version": "1.0", "image": "a", "sha256": SHA, **row}
    with pytest.raises(WishError, match=rf"task: components\.0.*{told}"):
        checked([whole], ("task", "components"), WishError)
