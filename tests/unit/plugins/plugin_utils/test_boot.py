# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reboot is proven by what the node shows, never by the tool that ordered it (reports F01, F24)."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.boot import (
    Answers,
    Boot,
    check_order,
    not_rebooted,
    parse_boot,
    prove_boot,
)

BEFORE = Boot("aaaa", 86400.0, "6.1.0-40-amd64")


def test_boot_id_uptime_and_kernel_come_from_one_read():
    assert parse_boot(0, "aaaa\n12.50 40.00\n6.1.0-40-amd64\n", "") == Boot("aaaa", 12.5, "6.1.0-40-amd64")


@pytest.mark.parametrize(
    "status, output", [(1, ""), (0, ""), (0, "aaaa\n"), (0, "aaaa\nsoon\n6.1\n"), (255, "aaaa\n1 1\n6.1\n")]
)
def test_an_answer_of_another_form_is_no_boot(status, output):
    with pytest.raises(FleetError, match="boot id"):
        parse_boot(status, output, "")


def test_a_new_boot_on_the_planned_kernel_is_proven():
    prove_boot("g01", BEFORE, Boot("bbbb", 20.0, "6.1.0-40-amd64"), 60.0, "6.1.0-40-amd64")


@pytest.mark.parametrize(
    "after, kernel, seen",
    [
        (BEFORE._replace(uptime=5.0), None, "the boot id is still"),
        (Boot("bbbb", 5000.0, "6.1.0-40-amd64"), None, "up for 5000 s"),
        (Boot("bbbb", 20.0, "6.1.0-41-amd64"), "6.1.0-40-amd64", "booted kernel 6.1.0-41-amd64"),
    ],
)
def test_what_does_not_prove_a_reboot_is_refused(after, kernel, seen):
    with pytest.raises(FleetError, match=seen):
        prove_boot("g01", BEFORE, after, 60.0, kernel)


@pytest.mark.parametrize(
    "last_error, seen", [("Connection refused", "did not come back"), ("", "the reboot was ignored")]
)
def test_a_time_out_says_whether_the_node_ever_went_away(last_error, seen):
    assert seen in str(not_rebooted("g01", BEFORE, 60.0, last_error))


def test_a_node_that_refuses_the_order_is_told_with_its_words():
    with pytest.raises(FleetError, match="Operation inhibited"):
        check_order("g01", "shutdown -r now", 1, "Operation inhibited by backup")


@pytest.mark.parametrize("status", [0, 143, 255])
def test_a_connection_that_goes_down_with_the_node_is_no_refusal(status):
    check_order("g01", "shutdown -r now", status, "")


NEW, OTHER = BEFORE._replace(boot_id="bbbb", uptime=9.0), BEFORE._replace(boot_id="cccc", uptime=3.0)


@pytest.mark.parametrize(
    "looks, back",
    [
        ([NEW, NEW, NEW], True),
        ([NEW, NEW, None, NEW, NEW], False),
        ([NEW, NEW, OTHER], False),
        ([NEW, OTHER, OTHER, OTHER], True),
        ([BEFORE] * 9, False),
    ],
    ids=["steady", "sshd went once more", "booted twice", "steady at last", "ignored"],
)
def test_a_node_is_back_when_one_new_boot_answers_often_enough_in_a_row(looks, back):
    answers = Answers(BEFORE, wanted=3)
    said = [answers.is_back(look) if look else answers.missed("refused") for look in looks]
    assert bool(said[-1]) is back
    assert not any(said[:-1])


def test_an_error_is_forgotten_when_the_node_answers_in_its_old_boot():
    answers = Answers(BEFORE, wanted=3)
    answers.missed("refused\n")
    assert answers.last_error == "refused"
    answers.is_back(BEFORE)
    assert answers.last_error == ""
