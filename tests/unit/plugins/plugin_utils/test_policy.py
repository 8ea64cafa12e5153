# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import PolicyError, load_policy

WAIVER = {"rule": "link.speed", "nodes": ["g0*"], "owner": "ops", "expires": "2027-01-01", "reason": "retimer on order"}


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_policy_is_the_careful_one(nothing):
    policy = load_policy(nothing)
    assert (policy["failure_budget"], policy["capacity_floor_percent"], policy["canaries_per_product"]) == (0, 75, 1)
    assert (policy["failure_domain"], policy["unfit_nodes"], policy["require_rollback"]) == ("rack", "refuse", True)


def test_a_policy_may_be_a_file(tmp_path):
    path = tmp_path / "policy.yml"
    path.write_text("max_wave: 4\nexclude: [g09, g02, g09]\n", encoding="utf-8")
    policy = load_policy(str(path))
    assert (policy["max_wave"], policy["exclude"], policy["growth"]) == (4, ["g02", "g09"], 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"max_waves": 3}, "max_waves: is not a key that is known here; wanted: 'max_wave' (nearest)"),
        ({"growth": 0.5}, "growth: is 0.5; wanted: 1 to 100"),
        ({"capacity_floor_percent": 101}, "capacity_floor_percent: is 101"),
        ({"failure_budget": -1}, "failure_budget: is -1"),
        ({"max_wave": 0}, "max_wave: is 0"),
        ({"max_wave": "many"}, "max_wave: "),
        ({"unfit_nodes": "ignore"}, "one of refuse, exclude"),
        ({"failure_domain": "row"}, "one of rack, none"),
        ({"waivers": [{**WAIVER, "until": "x"}]}, "waivers[0].until: is not a key"),
        ({"waivers": [{"rule": "link.speed"}]}, "waivers[0].nodes: is missing"),
        ({"waivers": [{**WAIVER, "expires": "soon"}]}, "waivers[0].expires: is 'soon'"),
        ({"waivers": [{**WAIVER, "expires": "2027-02-30"}]}, "waivers[0].expires: is '2027-02-30'"),
        ({"waivers": [{**WAIVER, "expires": "20270131"}]}, "wanted: a date such as 2027-01-31"),
        ({"waivers": [WAIVER, {**WAIVER, "rule": "link.sped"}]}, "waivers[1].rule: is 'link.sped'"),
        ({"waivers": [{**WAIVER, "rule": "link.sped"}]}, "wanted: 'link.speed' (nearest)"),
        ({"waivers": [{**WAIVER, "rule": "waiver.expired"}]}, "no rule that can be waived"),
        ({"waivers": [{**WAIVER, "rule": "*"}]}, "no rule that can be waived"),
        ({"waivers": [{**WAIVER, "nodes": []}]}, "waivers[0].nodes: is empty"),
        ({"waivers": [{**WAIVER, "owner": " "}]}, "waivers[0].owner: is empty"),
        ({"waivers": [{**WAIVER, "reason": ""}]}, "waivers[0].reason: is empty"),
        ({"max_reboots_per_node": 0}, "max_reboots_per_node: is 0; wanted: 1 to 100"),
        ({"reboot_recovery": "ipmi"}, "one of none, command, bmc"),
        ({"reboot_recovery": "command"}, "reboot_recovery_command: is [], which names no node"),
        ({"reboot_recovery": "command", "reboot_recovery_command": ["reset"]}, "wanted: {node} in one of its"),
        ({"reboot_recovery_command": ["reset", "{node}"]}, "reboot_recovery: is none, and there is a"),
        ({"reboot_recovery": "bmc", "reboot_recovery_command": ["reset", "{node}"]}, "is bmc, and there is a"),
        ({"reboot_recovery_reset": ["ForceRestart"]}, "is none, and there is a reboot_recovery_reset; wanted: bmc"),
        ({"reboot_recovery": "bmc", "reboot_recovery_reset": ["GracefulRestart"]}, "one of ForceRestart, PowerCycle"),
        ({"reboot_recovery": "bmc", "reboot_recovery_reset": ["ForceOff"] * 2}, "each of them once"),
        ({"require_listed_os": "perhaps"}, "require_listed_os: "),
        ({"growth": {"kind": "liner", "step": 4}}, "growth.kind: is 'liner'; wanted: 'linear' (nearest)"),
        ({"growth": {"kind": "linear"}}, "growth.step: is missing"),
        ({"growth": {"kind": "fixed", "size": 0}}, "growth.size: is 0; wanted: 1 to 10000"),
        ({"growth": {"kind": "exponential", "factor": 0.5}}, "growth.factor: is 0.5; wanted: 1 to 100"),
        ({"growth": {"kind": "fixed", "step": 4}}, "growth.step: is not a key"),
        ({"growth": "fast"}, "growth: "),
        ({"failure_domains": [{"at_once": 1}]}, "failure_domains[0].variable: is missing"),
        ({"failure_domains": [{"variable": "x y"}]}, "is 'x y'; wanted: the name of a host variable"),
        ({"failure_domains": [{"variable": "a", "at_once": 0}]}, "at_once: is 0; wanted: 1 or more, or null"),
        ({"failure_domains": [{"variable": "a", "at_once": True}]}, "at_once: is True"),
        ({"failure_domains": [{"variable": "a"}] * 2}, "failure_domains[1]: names a a second time"),
        ({"failure_domains": [{"variable": f"v{n}"} for n in range(9)]}, "has 9 rows; wanted: at most 8"),
        ({"failure_domain": "none", "failure_domains": [{"variable": "fleet_rack"}]}, "failure_domain: is none, and"),
        ({"capacity_floors": [{"per": "product", "percent": 101}]}, "capacity_floors[0].percent: is 101"),
        ({"capacity_floors": [{"per": "product"}]}, "capacity_floors[0].percent: is missing"),
        (
            {"capacity_floor_percent": 60, "capacity_floors": [{"per": "product", "percent": 70}]},
            "capacity_floor_percent: is 60.0, and capacity_floors says 70.0; wanted: one of the two",
        ),
        ({"domainless_nodes": "ignore"}, "one of refuse, own_domain"),
        ({"order": "nam"}, "order: is 'nam'; wanted: 'name' (nearest)"),
        ({"order": []}, "order: is []"),
        ({"order": [1]}, "order: is [1]"),
        ({"skip": "fleet skip"}, "skip: is 'fleet skip'"),
        ({"failure_budget": True}, "failure_budget: is true; wanted: int"),
        ({"capacity_floor_percent": True}, "capacity_floor_percent: is true; wanted: float"),
        ({"growth": {"kind": "linear", "step": True}}, "growth.step: is true"),
        ({"growth": None}, "growth: is null; wanted: float"),
        ({"growth": float("nan")}, "growth: is nan; wanted: 1 to 100"),
        ({"growth": {"kind": "linear", "step": None}}, "growth.step: is null"),
        ({"growth": {"kind": "exponential", "factor": float("inf")}}, "growth.factor: is inf"),
        ({"max_wave": None}, "max_wave: "),
        ({"max_wave": 1.5}, "max_wave: "),
        ({"failure_budget": 10**30}, "wanted: 0 to 100000"),
        ({"canaries_per_product": -1}, "canaries_per_product: is -1"),
        ({"soak_seconds": -1}, "soak_seconds: is -1"),
        ({"reboot_timeout_seconds": 0}, "reboot_timeout_seconds: is 0"),
        ({"capacity_floor_percent": float("nan")}, "capacity_floor_percent: is nan"),
        ({"capacity_floors": [{"per": "x", "percent": None}]}, "capacity_floors[0].percent: is null"),
        ({"capacity_floors": [{"per": "x", "percent": -1}]}, "capacity_floors[0].percent: is -1"),
        ({"failure_domains": [{"variable": None}]}, "failure_domains[0].variable: is null"),
        ({"failure_domains": [{"variable": "a", "at_once": 1.5}]}, "at_once: is 1.5"),
        ({"windows": [{"from": None, "to": "06:00"}]}, "windows[0].from: is null"),
        ({"windows": [{"from": "25:00", "to": "06:00"}]}, "windows[0].from: is '25:00'"),
        ({"alert_gates": [{"name": "x", "command": None}]}, "alert_gates[0].command: is null"),
        ([], "wanted: a map"),
        ({"exclude": {1, 2}}, "JSON has no form for"),
        ("/nonexistent.yml", "No such file"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_key(value, message):
    with pytest.raises(PolicyError) as caught:
        load_policy(value)
    assert message in str(caught.value)


LONG = {
    "failure_domains": [{"variable": "fleet_rack"}, {"variable": "fleet_feed", "at_once": None}],
    "capacity_floors": [{"per": "product", "percent": 50}, {"per": "fleet_partition", "percent": 60}],
    "growth": {"kind": "linear", "step": 4},
    "order": ["g1*", "*"],
    "skip": "fleet_skip",
    "windows": [{"from": "22:00", "to": "06:00"}],
}


def test_long_forms_get_their_defaults_and_set_the_short_ones():
    policy = load_policy(LONG)
    assert [row["at_once"] for row in policy["failure_domains"]] == [1, None]
    assert (policy["failure_domain"], policy["capacity_floor_percent"]) == ("rack", 50)
    assert policy["growth"] == {"kind": "linear", "step": 4, "first": 1}
    assert load_policy({"failure_domains": []})["failure_domain"] == "none"


@pytest.mark.parametrize("value", [{}, LONG, {"growth": 1.5}, {"failure_domain": "none"}])
def test_a_policy_read_again_is_the_same(value):
    assert load_policy(load_policy(value)) == load_policy(value)


def test_a_waiver_names_rule_nodes_owner_expiry_and_reason():
    assert load_policy({"waivers": [WAIVER]})["waivers"] == [WAIVER]


def written(tmp_path, text):
    path = tmp_path / "policy.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load_policy(str(path))
    return str(caught.value).replace(str(path), "policy.yml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("growth: 3\nmax_waves: 4\n", "policy.yml, line 2: max_waves: is not a key"),
        ("growth: 3\nmax_wave: 0\n", "policy.yml, line 2: max_wave: is 0; wanted: 1 to 10000"),
        (
            "waivers:\n  - {rule: link.sped, nodes: [g1], owner: ops, reason: x, expires: '2027-01-01'}\n",
            "policy.yml, line 2: waivers[0].rule: is 'link.sped', which is no rule that can be waived; "
            "wanted: 'link.speed' (nearest)",
        ),
        ("waivers:\n- rule: link.speed\n  owner: ops\n", "policy.yml, line 2: waivers[0].nodes: is missing"),
        (
            "failure_domains:\n- {variable: fleet_rack}\n- {variable: fleet_feed, at_once: 0}\n",
            "policy.yml, line 3: failure_domains[1].at_once: is 0",
        ),
        ("windows:\n- days: [sat]\n  from: '02:00'\n  to: '02:00'\n", "policy.yml, line 2: windows[0]: never opens"),
        ("growth: 3\ngrowth: 4\n", "the key 'growth' is there twice at line 2"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_with_its_line(tmp_path, text, message):
    assert message in written(tmp_path, text)
