# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.host_variables import (
    read,
    refuse_moved,
    refuse_without_bmc,
    to_skip,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import PolicyError, load_policy, placed

FEED = {"failure_domains": [{"variable": "fleet_feed"}]}
HOSTS = {"g1": {"fleet_feed": "A", "fleet_rack": "r1"}, "g2": {"fleet_feed": 2, "ansible_host": "x"}, "g3": {}}


class NeverAsked(dict):
    def __getitem__(self, node):
        raise AssertionError(f"{node} was looked at")


@pytest.mark.parametrize("policy", [{}, {"failure_domain": "none"}, {"failure_domains": [{"variable": "fleet_rack"}]}])
def test_the_racks_of_the_audit_need_no_look_at_the_variables(policy):
    assert read(load_policy(policy), NeverAsked(), ["g1"]) == {}


def test_values_are_text_and_what_a_node_does_not_have_is_left_out():
    assert read(load_policy(FEED), HOSTS, HOSTS) == {"g1": {"fleet_feed": "A"}, "g2": {"fleet_feed": "2"}, "g3": {}}


@pytest.mark.parametrize(
    "policy",
    [
        {"failure_domains": [{"variable": "fleet_rack"}, {"variable": "fleet_fed"}]},
        {"capacity_floors": [{"per": "fleet_fed", "percent": 50}]},
    ],
)
def test_a_variable_that_no_node_has_is_refused_with_the_nearest(policy):
    with pytest.raises(PolicyError) as caught:
        read(load_policy(policy), HOSTS, HOSTS)
    assert "is 'fleet_fed', and no node has this variable; wanted: 'fleet_feed' (nearest)" in str(caught.value)
    assert "ansible_host" not in str(caught.value)


def test_a_variable_that_no_node_has_is_refused_with_the_line_of_the_policy(tmp_path):
    path = tmp_path / "policy.yml"
    path.write_text("max_wave: 4\nfailure_domains:\n- at_once: 2\n  variable: fleet_fed\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"policy.yml, line 4: failure_domains\[0\].variable: is 'fleet_fed'"):
        read(load_policy(str(path)), HOSTS, HOSTS, lambda key: placed(str(path), key))


@pytest.mark.parametrize("value", [["A", "B"], {"a": 1}, 1.5])
def test_a_value_that_is_no_name_is_refused_by_node(value):
    with pytest.raises(PolicyError, match="g1: fleet_feed: is the "):
        read(load_policy(FEED), {"g1": {"fleet_feed": value}}, ["g1"])


@pytest.mark.parametrize(
    ("label", "why"),
    [
        (True, "skipped by fleet_skip"),
        ("yes", "skipped by fleet_skip"),
        ("waits for a new board", "skipped by fleet_skip: waits for a new board"),
        (False, None),
        ("no", None),
        ("", None),
        (None, None),
    ],
)
def test_a_node_with_the_skip_label_is_skipped_with_its_reason(label, why):
    policy = load_policy({"skip": "fleet_skip"})
    found = read(policy, {"g1": {"fleet_skip": label}, "g2": {}}, ["g1", "g2"])
    assert to_skip(policy, found) == ({"g1": why} if why else {})


def test_without_a_label_nobody_is_skipped():
    assert to_skip(load_policy({}), {"g1": {"fleet_skip": "true"}}) == {}


PLANNED = {
    "plan_id": "x",
    "policy": load_policy({**FEED, "skip": "fleet_skip"}),
    "nodes": {"g1": {"variables": {"fleet_feed": "A"}}, "g2": {"variables": {"fleet_feed": "2"}}},
}


def test_a_plan_whose_nodes_stand_where_they_stood_is_followed():
    refuse_moved(PLANNED, HOSTS, ["g1", "g2"])


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"fleet_feed": "B"}, "g1 fleet_feed was A and is B"),
        ({}, "g1 fleet_feed was A and is not there"),
        ({"fleet_feed": "A", "fleet_skip": "yes"}, "g1 fleet_skip was not there and is yes"),
    ],
)
def test_a_node_that_stands_elsewhere_by_now_refuses_the_plan(now, told):
    with pytest.raises(FleetError, match=f"changed in the inventory since it was made: {told}; wanted"):
        refuse_moved(PLANNED, {**HOSTS, "g1": now}, ["g1", "g2"])


@pytest.mark.parametrize("policy", [load_policy({}), {"failure_domain": "rack"}])
def test_a_plan_that_asked_for_no_variables_is_followed_without_a_look_at_them(policy):
    refuse_moved({"plan_id": "x", "policy": policy, "nodes": {"g1": {}}}, NeverAsked(), ["g1"])


BMC = {"fleet_bmc_address": "b", "fleet_bmc_user": "u", "fleet_bmc_password": "{{ vault }}"}


def test_without_a_recovery_through_the_bmc_no_variable_is_looked_at():
    refuse_without_bmc(load_policy({"reboot_recovery": "none"}), NeverAsked(), ["g1"])


def test_a_node_whose_bmc_nobody_knows_is_refused_before_anything_is_touched():
    policy = load_policy({"reboot_recovery": "bmc"})
    hosts = {"g1": BMC, "g2": {**HOSTS["g2"]}, "g3": {key: BMC[key] for key in list(BMC)[:2]}}
    refuse_without_bmc(policy, hosts, ["g1"])
    with pytest.raises(PolicyError) as caught:
        refuse_without_bmc(policy, hosts, hosts)
    assert "no fleet_bmc_address: g2; no fleet_bmc_user: g2; no fleet_bmc_password: g2, g3" in str(caught.value)
