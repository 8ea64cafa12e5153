# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one reset that brings a silent host back, through simulated BMCs of four makers and their troubles."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.reboots import Book
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import power, turn
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.tests.integration import bmc_lab
from simfleet.bmc.profile import PROFILES

LOSES_THE_ORDER = {"connection_drops": {"every": 2, "method": "POST"}}  # the login is the other POST
LOSES_THE_NEXT = {"connection_drops": {"every": 2, "method": "POST", "seen": 1}}
BUSY = {"times": 1, "status": 503, "after": 0}


class Lab(bmc_lab.Lab):
    """A lab with a host that is silent; what was written down before an order is kept."""

    place = "127.1.72.4"

    def __init__(self, folder, profile, quirks, host="On", before=None):
        super().__init__(folder, profile, quirks)
        self.bmc.host_power, self.before, self.written = host, before, []
        self.variables = {
            "inventory_hostname": "g01", "fleet_bmc_address": self.address, "fleet_bmc_user": self.bmcs.user,
            "fleet_bmc_password": self.bmcs.password, "fleet_bmc_ca": self.ca, "fleet_bmc_pause": 0.05,
        }  # fmt: skip

    def write(self, *words):
        """What the ledger gets."""
        self.written.append(words)
        if self.before:
            self.before(self.bmc)

    def recover(self, *order, port=False, **other):
        """One recovery, as a controller does it."""
        case = power.Case({"reboot_recovery_reset": list(order)}, lambda: port, self.write)
        case.poll, case.settle, case.off, case.fleet_dir = 0.05, 0.6, 0.0, str(self.folder)
        return power.by_bmc({**self.variables, **other}, lambda value: value, case)

    @property
    def boots(self):
        """So often the host has booted, once all that was ordered is done."""
        for _each in range(3):  # an act may put another one on the agenda
            done = threading.Event()
            self.bmc.later(0, done.set)
            assert done.wait(10)
        return self.bmc.boots

    @property
    def resets(self):
        """So many resets were asked for."""
        return sum(method == "POST" and path.endswith(".Reset") for method, path, _status in self.bmc.exchanges)


@pytest.fixture(name="lab")
def _lab(tmp_path):
    """Makes a lab: lab(profile, quirks ..., host=, before=)."""
    return lambda profile="openbmc", *quirks, **more: Lab(tmp_path, profile, quirks, **more)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("host, reset", [("On", "ForceRestart"), ("Off", "On")])
def test_a_host_is_reset_once_and_the_session_is_given_back(lab, profile, host, reset):
    here = lab(profile, host=host)
    came = here.recover()
    assert (came.failed, here.written, here.resets) == ("", [(reset, host)], 1)
    assert came.told == f"{reset} ordered of BMC {here.address}; the power state was {host} and is On"
    assert (here.boots, here.bmc.host_power, len(here.bmc.gate.sessions)) == (1, "On", 0)


@pytest.mark.parametrize(
    "profile, resets, orders",
    [("ami", "PowerCycle", 1), ("idrac", "PowerCycle", 1), ("openbmc", "PowerCycle", 1), ("ilo", "ForceOff and On", 2)],
)
def test_where_no_restart_is_offered_the_next_reset_is_taken(lab, profile, resets, orders):
    here = lab(profile, "resets_left_out")
    assert here.recover().failed == ""
    assert (here.written, here.resets, here.boots, here.bmc.host_power) == ([(resets, "On")], orders, 1, "On")


def test_what_is_not_offered_is_told_and_nothing_is_ordered(lab):
    here = lab("ilo")
    failed = here.recover("PowerCycle").failed
    assert f"BMC {here.address}: its resets are On, ForceOff" in failed
    assert "[activation_not_offered]; wanted: one of PowerCycle; fix: name one that it offers" in failed
    assert (here.written, here.resets, len(here.bmc.gate.sessions)) == ([], 0, 0)


@pytest.mark.parametrize("host, reset", [("On", "ForceRestart"), ("Off", "On")])
def test_a_lost_answer_is_not_asked_for_again_and_the_power_state_decides(lab, host, reset):
    here = lab("openbmc", LOSES_THE_ORDER, host=host)
    came = here.recover()
    assert (came.failed, here.resets, here.boots) == ("", 1, 1)
    assert f"is On; its answer to {reset} proves nothing (no answer" in came.told


def test_an_order_that_left_the_host_off_and_without_an_answer_was_not_carried_out(lab):
    here = lab(host="Off", before=lambda bmc: bmc.quirks.update({"5xx_burst": dict(BUSY)}))
    failed = here.recover().failed
    assert "the power state is Off after On; its answer to On proves nothing (HTTP 503" in failed
    assert (here.resets, here.boots) == (1, 0)


def test_a_server_error_to_a_restart_is_waited_out_and_not_repeated(lab):
    here = lab(before=lambda bmc: bmc.quirks.update({"5xx_burst": dict(BUSY)}))
    assert "its answer to ForceRestart proves nothing (HTTP 503" in here.recover().told
    assert (here.resets, here.boots) == (1, 0)


def test_a_bmc_that_is_busy_at_first_is_asked_again_before_anything_is_ordered(lab):
    here = lab("ami", {"5xx_burst": {"times": 3, "after": 2}})
    assert (here.recover().failed, here.resets, here.boots) == ("", 1, 1)


@pytest.mark.parametrize("host, shows, reset", [("Off", "On", "ForceRestart"), ("On", "Off", "On")])
def test_a_power_state_that_lies_is_told_and_leads_to_one_order_all_the_same(lab, host, shows, reset):
    here = lab("openbmc", {"power_state_lies": {"shows": shows}}, host=host)
    came = here.recover()
    assert (came.failed, here.written, here.resets) == ("", [(reset, shows)], 1)
    assert f"the power state was {shows} and is {shows}" in came.told


def test_an_unknown_power_state_orders_nothing(lab):
    here = lab("openbmc", {"power_state_lies": {"shows": "Unknown"}})
    assert "its power state is Unknown [host_power]" in here.recover().failed
    assert here.resets == 0


def test_a_host_that_seems_not_to_go_off_is_switched_on_all_the_same(lab):
    here = lab("openbmc", {"power_state_lies": {"shows": "On"}})
    assert "is On; the power state was On after ForceOff" in here.recover("ForceOff").told
    assert (here.resets, here.boots, here.bmc.host_power) == (2, 1, "On")


def test_a_lost_answer_to_a_force_off_leaves_no_host_off(lab):
    here = lab("ilo", "resets_left_out", before=lambda bmc: bmc.quirks.update(LOSES_THE_NEXT))
    assert "its answer to ForceOff proves nothing (no answer" in here.recover().told
    assert (here.resets, here.boots, here.bmc.host_power) == (2, 1, "On")


def test_a_reset_that_is_accepted_and_ignored_leaves_the_node_to_show_it(lab):
    here = lab("openbmc", "reset_ignored", host="Off")
    assert here.recover().told.endswith("the power state was Off and is Off")
    assert here.resets == 1


def test_a_node_whose_port_answers_by_now_is_not_reset(lab):
    here = lab()
    assert here.recover(port=True).told == "its SSH port answers by now, so no reset was ordered"
    assert (here.written, here.resets) == ([], 0)


def test_a_bmc_through_which_somebody_flashes_is_not_reset(lab):
    here, anna = lab(), {"who": "anna", "host": "ctl1", "pid": 1, "what": "redfish_firmware for g01", "since": "noon"}
    with turn.turn(str(here.folder), here.address, anna, 0.0, time.monotonic, time.sleep):
        failed = here.recover(fleet_bmc_turn_timeout=0.1).failed
    assert ("anna" in failed, "[bmc_busy]" in failed, here.resets) == (True, True, 0)


def test_nothing_is_ordered_that_may_not_be_written_down(lab):
    def refuse(_bmc):
        raise NotRebooted("loop", "g01", "was rebooted 6 times in this rollout")

    here = lab(before=refuse)
    assert "was rebooted 6 times in this rollout [loop]" in here.recover().failed
    assert (here.resets, len(here.bmc.gate.sessions)) == (0, 0)


@pytest.mark.parametrize(
    "other, code",
    [
        ({"fleet_bmc_password": "hunter2"}, "bad_credentials"),
        ({"fleet_bmc_address": "127.1.72.250"}, "bmc_unreachable"),
        ({"fleet_bmc_ca": "/etc/ssl/certs"}, "untrusted_certificate"),
        ({"fleet_bmc_system": "Tray"}, "no_system"),
        ({"fleet_bmc_address": "http://127.1.72.4"}, "not_https"),
    ],
)
def test_a_bmc_that_cannot_be_used_is_told_in_one_line(lab, other, code):
    here = lab()
    failed = here.recover(**other).failed
    assert (f"[{code}]" in failed, "; wanted: " in failed, "; fix: " in failed) == (True, True, True)
    assert (here.resets, "\n" in failed, "hunter2" in failed, here.bmcs.password in failed) == (0, False, False, False)


def test_a_certificate_that_is_not_checked_is_told_with_what_was_done(lab):
    assert "is not checked (fleet_bmc_validate_certs: false)" in lab().recover(fleet_bmc_validate_certs=False).told


ME = {"who": "me", "host": "here", "pid": os.getpid()}
PLAN = {"schema": 1, "plan_id": "0123456789ab", "nodes": {"g01": {"wave": 1}}}


def _dies(act, moment):
    """A controller that is killed at its order: before it is sent, after its answer, or a question later."""
    if os.fork() == 0:
        post = Client.post

        def killed(self, path, body):
            answer = None if moment == "before" else post(self, path, body)
            if moment == "later":
                Client.look = lambda self, path: os.kill(os.getpid(), signal.SIGKILL)
                return answer
            return os.kill(os.getpid(), signal.SIGKILL)

        Client.post = killed
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGKILL


@pytest.mark.parametrize("moment, resets", [("before", 0), ("after", 1), ("later", 1)])
def test_a_controller_that_dies_in_the_middle_orders_no_second_reset(lab, tmp_path, moment, resets):
    here, ledger = lab(), Ledger.create(tmp_path / "ledger.sqlite", PLAN, ME)
    rollout = {"dir": str(tmp_path), "epoch": ledger.take_lease(ME, 600)}
    Book(rollout, "g01").order("aaaa", None)
    here.before = lambda _bmc: Book(rollout, "g01").reset("ForceRestart", "On")
    assert _dies(lambda: Book(rollout, "g01").recovering("bmc", here.recover), moment)
    later = Book(rollout, "g01")
    assert (later.is_open, here.resets, here.boots) == (True, resets, resets)
    assert "nothing is ordered a second time" in later.recovering("bmc", here.recover).failed
    assert here.resets == resets
