# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which reset brings a silent host back, by its power state and by what is offered."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.recovery import RESETS, resets
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import power, task
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError

ALL = ["On", "ForceOff", "ForceRestart", "PowerCycle", "GracefulRestart"]
URI = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"


def chosen(state, offered, order=RESETS):
    """What is ordered, or the code of the refusal."""
    try:
        return power.choose(state, offered, order, "BMC b")
    except BmcError as problem:
        return problem.code


@pytest.mark.parametrize(
    "state, offered, resets",
    [
        ("On", ALL, ["ForceRestart"]),
        ("On", ["On", "ForceOff", "PowerCycle"], ["PowerCycle"]),
        ("On", ["On", "ForceOff", "GracefulRestart"], ["ForceOff", "On"]),
        ("On", ["ForceOn", "ForceOff"], ["ForceOff", "ForceOn"]),
        ("On", ["ForceOff"], "activation_not_offered"),
        ("On", ["GracefulRestart", "Nmi", "PushPowerButton"], "activation_not_offered"),
        ("On", [], "activation_not_offered"),
        ("On", None, ["ForceRestart"]),
        ("PoweringOn", ALL, ["ForceRestart"]),
        ("PoweringOff", ALL, ["ForceRestart"]),
        ("Paused", ALL, ["ForceRestart"]),
        ("Off", ALL, ["On"]),
        ("Off", ["ForceOn", "ForceRestart"], ["ForceOn"]),
        ("Off", ["ForceRestart", "PushPowerButton"], "activation_not_offered"),
        ("Off", None, ["On"]),
        (None, ALL, "host_power"),
        ("Unknown", ALL, "host_power"),
    ],
)
def test_the_reset_follows_the_power_state_and_the_offer(state, offered, resets):
    assert chosen(state, offered) == resets


@pytest.mark.parametrize(
    "order, resets",
    [(["PowerCycle", "ForceRestart"], ["PowerCycle"]), (["ForceOff"], ["ForceOff", "On"]),
     (["PowerCycle"], ["PowerCycle"])],
)  # fmt: skip
def test_the_policy_says_which_reset_is_wanted_most(order, resets):
    assert chosen("On", ALL, order) == resets
    assert chosen("Off", ALL, order) == ["On"]


def test_a_reset_that_the_policy_leaves_out_is_not_ordered_for_want_of_another():
    assert chosen("On", ["On", "ForceOff", "ForceRestart"], ["PowerCycle"]) == "activation_not_offered"


def test_a_plan_from_before_there_was_a_choice_has_the_default():
    assert resets({}) == RESETS
    assert resets({"reboot_recovery_reset": ["ForceOff"]}) == ["ForceOff"]


def system(**reset):
    return {"Actions": {"#ComputerSystem.Reset": {"target": f"https://bmc{URI}", **reset}}}


@pytest.mark.parametrize(
    "seen, info, resets",
    [
        (system(**{"ResetType@Redfish.AllowableValues": ["On"]}), None, ["On"]),
        (system(), {"Parameters": [{"Name": "ResetType", "AllowableValues": ["On", "ForceOff"]}]}, ["On", "ForceOff"]),
        (system(), {"Parameters": [{"Name": "Other", "AllowableValues": ["On"]}, "odd"]}, None),
        (system(), {"Parameters": "odd"}, None),
        (system(), None, None),
    ],
)
def test_the_offer_is_read_beside_the_reset_or_from_its_action_info(seen, info, resets):
    assert power.offer(seen, info, "BMC b") == (URI, resets)


@pytest.mark.parametrize("seen", [{}, {"Actions": None}, {"Actions": {"#ComputerSystem.Reset": "odd"}}])
def test_a_system_without_a_reset_is_told(seen):
    with pytest.raises(BmcError, match="its system offers no reset"):
        power.offer(seen, None, "BMC b")
    assert power.info_uri(seen) is None


def test_the_action_info_is_named_by_its_path():
    assert power.info_uri(system(**{"@Redfish.ActionInfo": "https://bmc/redfish/v1/Systems/1/ResetActionInfo"})) == (
        "/redfish/v1/Systems/1/ResetActionInfo"
    )


HOST = {"inventory_hostname": "g01", "fleet_bmc_address": "b", "fleet_bmc_user": "u", "fleet_bmc_password": "hunter2"}


@pytest.fixture(name="came")
def _came(tmp_path):
    """A function: what becomes of a recovery of a host with these variables."""
    case = power.Case({}, lambda: None, lambda *_words: None, fleet_dir=str(tmp_path))
    return lambda host: power.by_bmc(host, lambda value: value, case)


@pytest.mark.parametrize("left_out", ["fleet_bmc_address", "fleet_bmc_user", "fleet_bmc_password"])
def test_a_host_variable_that_is_missing_is_told_in_one_line(came, left_out):
    told = came({key: value for key, value in HOST.items() if key != left_out}).failed
    assert f"g01: nothing says how to reach its BMC: {left_out}; wanted: these variables of the host; fix: " in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "problem", [BmcError("library_missing", "python library sushy", "cannot be imported"), FleetError("x", "y")]
)
def test_whatever_hinders_it_is_told_and_is_no_error(came, monkeypatch, problem):
    def none(_settings):
        raise problem

    monkeypatch.setattr(task, "client_of", none)
    assert came(HOST).failed == str(problem)


def test_a_controller_that_was_taken_over_ends_here(came, monkeypatch):
    def none(_settings):
        raise StaleController("ledger", "took over with epoch 3")

    monkeypatch.setattr(task, "client_of", none)
    with pytest.raises(StaleController):
        came(HOST)
