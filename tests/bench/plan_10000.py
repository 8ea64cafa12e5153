# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a plan takes and how much memory, from records on disk: reading and planning apart. Fails above the limits.

Up to 10,000 nodes: 1 s. Above that, up to 100,000 nodes: 12 s and 1 GB at the peak, every measured policy included.
Run with the collection on the path: PYTHONPATH=COLLECTIONS python tests/bench/plan_10000.py [NODES]
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.plugin_utils import host_variables
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import read_records, record_path, write_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import Kept
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    facts,
    target_document,
    write_target,
)

LIMITS = {10_000: 1.0, 100_000: 12.0}
LIMIT_MEGABYTES = 1000
PER_RACK = 8
PER_FEED, PER_PARTITION = 96, 500
FIXED = {"kind": "fixed", "size": 32}
POLICIES = {
    "defaults": {},
    "rack, feed and leaf": {
        "failure_domains": [{"variable": "fleet_rack"}, {"variable": "fleet_feed"}, {"variable": "fleet_leaf"}],
        "growth": FIXED,
    },
    "4 racks at once, 2 feeds, floor per partition, by name": {
        "failure_domains": [{"variable": "fleet_rack", "at_once": 4}, {"variable": "fleet_feed", "at_once": 2}],
        "capacity_floors": [{"per": "fleet_partition", "percent": 75}],
        "growth": FIXED,
        "order": "name",
    },
    "no domains, floor per partition": {
        "failure_domain": "none",
        "capacity_floors": [{"per": "fleet_partition", "percent": 99.7}],
        "growth": {"kind": "exponential"},
    },
}
PRODUCTS = {"MI300X": ("74a1", 32.0), "MI325X": ("74a5", 32.0), "MI210": ("740f", 16.0)}


def main(count: int) -> int:
    """Write ``count`` records, then time reading and planning by each policy; the best of three rounds counts."""
    catalog, limit = load_catalog(), next((LIMITS[size] for size in LIMITS if count <= size), LIMITS[100_000])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = {"rocm": "7.0.2", "driver": "30.10.2"}
        target = load_target(write_target(folder, target_document(**dict.fromkeys(PRODUCTS, wanted))), catalog)
        nodes = fill(folder, count, target, catalog)
        print(f"{count} records, {os.path.getsize(record_path(folder, nodes[0]))} bytes each")
        rounds = 3 if count <= 10_000 else 1
        worst = max(
            min(round_of(folder, nodes, target, catalog, title) for _round in range(rounds)) for title in POLICIES
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"worst policy: {worst:.3f} s, limit {limit} s; peak {peak:.0f} MB, limit {LIMIT_MEGABYTES} MB")
    return 0 if worst <= limit and peak <= LIMIT_MEGABYTES else 1


def fill(folder, count, target, catalog):
    """Records of real judgements, one per product, under as many names as are wanted."""
    samples = [
        judge(
            facts(device_id=number, speed=speed),
            target,
            catalog,
            "sample",
            run_id="bench",
            gathered_at="2026-12-01T00:00:00Z",
        )
        for number, speed in PRODUCTS.values()
    ]
    nodes = [f"node{number:06d}" for number in range(count)]
    for number, node in enumerate(nodes):
        rack = f"rack{number // PER_RACK:05d}"
        record = {
            **samples[number // PER_RACK % len(samples)],
            "node": node,
            "rack": rack,
            "facts_digest": f"sha256:{number:064x}",
        }
        write_record(folder, record)
    return nodes


def hostvars(nodes):
    """What the inventory says of each node, as the planner gets it."""
    return {
        node: {
            "fleet_feed": f"feed{number // PER_FEED}{'ab'[number % 2]}",
            "fleet_leaf": f"leaf{number % PER_RACK // 4}",
            "fleet_partition": f"partition{number // PER_PARTITION}",
        }
        for number, node in enumerate(nodes)
    }


def round_of(folder, nodes, target, catalog, title):
    """Seconds of one round: read, then plan."""
    policy, inventory = load_policy(POLICIES[title]), hostvars(nodes)
    start = time.perf_counter()
    records = read_records(folder, nodes, run_id="bench", keep=Kept())
    middle = time.perf_counter()
    racks = {node: record["rack"] for node, record in records.items()}
    variables = host_variables.read(policy, inventory, nodes)
    plan = make_plan(records, racks, target, policy, catalog, "2026-12-01T00:00:00Z", nodes, variables=variables)
    end = time.perf_counter()
    print(f"{title}: read {middle - start:.3f} s, plan {end - middle:.3f} s, {len(plan['waves'])} waves")
    return end - start


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10000))
