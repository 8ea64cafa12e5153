# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What really crosses the layers is what docs/schemas says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules import bmcs
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    change,
    facts,
    target_document,
    write_target,
)
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES, RecordedHost

jsonschema = pytest.importorskip(
    "jsonschema", reason="jsonschema is in requirements-dev/tests.txt and is not installed here"
)
referencing = pytest.importorskip("referencing", reason="comes with jsonschema")

CATALOG = load_catalog()
SCHEMAS = Path(__file__).parents[4] / "docs" / "schemas"
RECORDED = sorted(path.stem for path in MACHINES.glob("*.json"))


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    wanted = {"rocm": "7.0.2", "driver": "30.10.2"}
    document = target_document(
        MI300X={**wanted, "kernel": {"sysctl": {"vm.swappiness": 10}}}, MI210=wanted, MI250=wanted
    )
    return load_target(write_target(tmp_path_factory.mktemp("schemas"), document), CATALOG)


def errors(name, value):
    documents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.json")}
    resources = [(key, referencing.Resource.from_contents(document)) for key, document in documents.items()]
    registry = referencing.Registry().with_resources(resources)
    validator = jsonschema.Draft202012Validator(documents[f"{name}.json"], registry=registry)
    return [
        f"{error.json_path}: {error.message:.200}" for error in validator.iter_errors(json.loads(json.dumps(value)))
    ]


@pytest.mark.parametrize("name", ["facts", "record", "plan", "target"])
def test_each_schema_is_one_and_refuses_nothing_at_all(name):
    jsonschema.Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))
    assert errors(name, {})


@pytest.mark.parametrize("machine", RECORDED)
def test_facts_and_record_of_a_recorded_machine(target, machine):
    seen = gather(RecordedHost.load(machine), select(["all"]))
    assert errors("facts", seen) == []
    assert errors("record", judge(seen, target, CATALOG, machine)) == []


@pytest.mark.parametrize("part", ["node", "platform", "gpus", "driver", "rocm", "settings", "holders"])
def test_facts_of_which_a_whole_part_failed(target, part):
    seen = change(facts(), part, None)
    assert errors("facts", seen) == []
    assert errors("record", judge(seen, target, CATALOG, "g01")) == []


def test_record_of_a_node_that_does_not_answer():
    assert errors("record", unreachable_record("g01", "no route to host")) == []


def test_target_and_plan(target):
    rows = {
        f"g{n}": judge(facts(f"g{n}", count=8 - (n == 4)), target, CATALOG, f"g{n}", rack="r1") for n in range(1, 5)
    }
    policy = load_policy({"unfit_nodes": "exclude", "capacity_floor_percent": 50})
    plan = make_plan(rows, dict.fromkeys(rows, "r1"), target, policy, CATALOG, "2026-12-01T08:00:00Z", rows)
    assert errors("target", target.as_dict()) == []
    assert errors("plan", plan) == []
    assert [row["node"] for row in plan["excluded"]] == ["g4"]


@pytest.mark.parametrize("lowest", ["2.10.0", None])
def test_record_and_plan_of_a_node_whose_bmc_was_asked(tmp_path, lowest):
    wants = {"rocm": "7.0.2", "driver": "30.10.2", "firmware": [bmcs.row(*bmcs.BMC)], "bios": {"smt": "Enabled"}}
    wanted = load_target(write_target(tmp_path, target_document(MI300X=wants)), CATALOG)
    told = bmcs.told(bmcs.entry("bmc", "2.14.0", lowest=lowest)) | bmcs.settings(bmcs.item("Disabled", "Enabled"))
    record = judge({**facts(), "bmc": told}, wanted, CATALOG, "g1", rack="r1")
    policy = load_policy({"capacity_floor_percent": 0})
    plan = make_plan({"g1": record}, {"g1": "r1"}, wanted, policy, CATALOG, "2026-12-01T08:00:00Z", ["g1"])
    assert errors("record", record) == errors("plan", plan) == []
    assert plan["nodes"]["g1"]["steps"] == ["firmware", "rocm", "bios", "reboot"]


def test_plan_over_domains_and_partitions(target):
    rows = {f"g{n}": judge(facts(f"g{n}"), target, CATALOG, f"g{n}") for n in range(1, 5)}
    floors = [{"per": "part", "percent": 50}]
    policy = load_policy({"failure_domains": [{"variable": "feed", "at_once": 2}], "capacity_floors": floors})
    given = {"inventory_order": rows, "variables": {node: {"feed": node, "part": "p"} for node in rows}}
    plan = make_plan(rows, {}, target, policy, CATALOG, "2026-12-01T08:00:00Z", **given)
    assert errors("plan", plan) == []


def test_a_schema_sees_a_key_nobody_agreed_on(target):
    record = judge(facts(), target, CATALOG, "g01")
    assert errors("record", {**record, "colour": "red"})
    assert errors("facts", {**facts(), "extra": 1})
