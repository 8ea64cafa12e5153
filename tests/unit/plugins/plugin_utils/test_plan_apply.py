# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was looked at is what is done: a plan is refused by the name of anything that has changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import catalog, opening, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan, plan_id
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import write_json
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record, write_target

OVERLAY = """schema: 1
sources:
  ours: {words: "our own tests", as_of: "2026-11-01"}
known_bad:
  known_bad:
    - {id: site_kernel, when: {kernel: ["9.9"]}, severity: warn, why: "hangs", fix: "-", status: verified, source: ours}
"""
POLICY = {
    "failure_domains": [{"variable": "fleet_feed"}],
    "capacity_floors": [{"per": "fleet_partition", "percent": 0}],
    "capacity_floor_percent": 0,
    "skip": "fleet_skip",
    "exclude": ["g5"],
}
NODES = ["g1", "g2", "g3", "g4", "g5"]


class Fleet:
    """A fleet with a plan of it; what an upgrade is told, and what it finds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.nodes = folder, list(NODES)
        self.records = {node: record(node, kind="at_target" if node == "g4" else "may_move") for node in NODES}
        self.hostvars = {node: {"fleet_feed": "A", "fleet_partition": "p1"} for node in NODES}
        (folder / "site.yml").write_text(OVERLAY, encoding="utf-8")
        self.path = folder / "plan.json"
        write_json(self.path, self._plan(str(folder / "site.yml")))

    def _plan(self, overlay):
        known, racks = load_catalog(overlay), dict.fromkeys(NODES, "r1")
        target, policy = load_target(write_target(self.folder), known), load_policy(POLICY)
        given = {"inventory_order": NODES, "overlay": overlay, "variables": self.hostvars}
        return make_plan(self.records, racks, target, policy, known, "2026-12-01T08:00:00Z", **given)

    def edit(self, name, old, new):
        """Change a text in one of the files."""
        path = self.folder / name
        assert old in path.read_text(encoding="utf-8")
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def open(self):
        """Open the upgrade as the action does."""
        catalog._loaded.cache_clear()  # another run is another process
        args = {"plan": str(self.path), "nodes": self.nodes, "fleet_dir": str(self.folder), "catalog": None}
        return opening.forward(args, self.hostvars, lambda names: {name: self.records[name] for name in names})


@pytest.fixture(name="fleet")
def _fleet(tmp_path):
    return Fleet(tmp_path)


def forge(fleet):
    """Another policy in the plan, with an id that fits."""
    plan = json.loads(fleet.path.read_text(encoding="utf-8"))
    plan["policy"]["failure_budget"] = 9
    write_json(fleet.path, {**plan, "plan_id": plan_id(plan)})


CHANGES = {
    "nothing of the target is left": (lambda f: (f.folder / "target.yml").unlink(), "the target .*target.yml"),
    "target": (lambda f: f.edit("target.yml", "iommu=pt", "iommu=off"), "the target .*target.yml"),
    "key of the target's repository": (lambda f: f.edit("rocm.gpg.asc", "mQGNBGE=", "mQGNBGF="), "the target "),
    "overlay of the catalog": (lambda f: f.edit("site.yml", "hangs", "halts"), "the catalog .*site.yml"),
    "no overlay any more": (lambda f: (f.folder / "site.yml").unlink(), "site.yml: cannot be read"),
    "policy": (forge, "changed since it was made: the policy"),
    "facts of a node": (lambda f: f.records["g2"].update(facts_digest="sha256:x"), "the facts of g2"),
    "no facts of a node": (lambda f: f.records["g2"].update(facts_digest=None), "the facts of g2"),
    "a node is silent": (lambda f: f.records["g2"].update(reachable=False), "do not answer: g2"),
    "domain": (lambda f: f.hostvars["g2"].update(fleet_feed="B"), "g2 fleet_feed was A and is B"),
    "partition": (lambda f: f.hostvars["g3"].update(fleet_partition="p2"), "g3 fleet_partition was p1 and is p2"),
    "no domain any more": (lambda f: f.hostvars["g2"].pop("fleet_feed"), "g2 fleet_feed was A and is not there"),
    "skip label": (lambda f: f.hostvars["g1"].update(fleet_skip="new board"), "g1 fleet_skip .* is new board"),
    "a node is gone": (lambda f: (f.nodes.remove("g3"), f.hostvars.pop("g3")), "not in the inventory any more: g3"),
    "a node is new": (lambda f: f.nodes.append("g6"), "new in the fleet: g6; .*--limit 'all:!g6'"),
    "plan edited": (lambda f: f.edit("plan.json", '"failure_budget":0', '"failure_budget":9'), "edited by hand"),
    "waves edited": (lambda f: f.edit("plan.json", '"kind":"canary"', '"kind":"wave"'), "edited by hand"),
    "half a plan": (lambda f: f.path.write_bytes(f.path.read_bytes()[:900]), "plan.json: cannot be read"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_upgrade_is_refused_by_the_name_of_what_changed_and_nothing_is_begun(fleet, name):
    change, text = CHANGES[name]
    change(fleet)
    before = sorted(path.name for path in fleet.folder.iterdir())
    with pytest.raises(FleetError, match=text) as caught:
        fleet.open()
    assert "fix: " in str(caught.value) or name == "no overlay any more"
    assert sorted(path.name for path in fleet.folder.iterdir()) == before


def test_an_upgrade_of_a_fleet_that_is_what_was_planned_is_opened(fleet):
    assert [sorted(wave) for wave in fleet.open().waves] == [["g1"], ["g2", "g3"]]


def test_a_limit_is_no_change_of_the_inventory(fleet):
    fleet.nodes = ["g1", "g4"]
    assert fleet.open().waves == [["g1"]]


@pytest.mark.parametrize("change", [{"created_at": "later"}, {"eta_seconds": 1}])
def test_what_nobody_decided_may_differ(fleet, change):
    write_json(fleet.path, {**json.loads(fleet.path.read_text(encoding="utf-8")), **change})
    assert fleet.open().waves


def test_a_node_that_a_run_has_touched_may_be_another_by_now(fleet):
    plan = json.loads(fleet.path.read_text(encoding="utf-8"))
    directory = rollout.rollout_dir(str(fleet.folder), plan["plan_id"])
    rollout.begin(directory, plan)
    ledger = opening.Ledger.open(rollout.ledger_path(directory))
    epoch = ledger.take_lease({"who": "anna", "host": "ctl1", "pid": 1}, 60)
    ledger.record(epoch, "g1", "admitted")
    fleet.records["g1"].update(facts_digest="sha256:half")
    assert fleet.open().waves[0] == ["g1"]
