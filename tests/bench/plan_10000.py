# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a plan for 10,000 nodes takes, from records on disk: reading and planning apart. Fails above the limit.

Run with the collection on the path: PYTHONPATH=COLLECTIONS python tests/bench/plan_10000.py [NODES]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import make_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import read_records, record_path, write_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    facts,
    target_document,
    write_target,
)

LIMIT_SECONDS = 1.0
PER_RACK = 8
PRODUCTS = {"MI300X": ("74a1", 32.0), "MI325X": ("74a5", 32.0), "MI210": ("740f", 16.0)}


def main(count: int) -> int:
    """Write ``count`` records, then time three rounds of reading and planning; the best one counts."""
    catalog = load_catalog()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = {"rocm": "7.0.2", "driver": "30.10.2"}
        target = load_target(write_target(folder, target_document(**dict.fromkeys(PRODUCTS, wanted))), catalog)
        nodes = fill(folder, count, target, catalog)
        print(f"{count} records, {os.path.getsize(record_path(folder, nodes[0]))} bytes each")
        best = min(round_of(folder, nodes, target, catalog) for _round in range(3))
    print(f"best: {best:.3f} s, limit {LIMIT_SECONDS} s")
    return 0 if best <= LIMIT_SECONDS else 1


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
    nodes = [f"node{number:05d}" for number in range(count)]
    for number, node in enumerate(nodes):
        rack = f"rack{number // PER_RACK:04d}"
        record = {
            **samples[number // PER_RACK % len(samples)],
            "node": node,
            "rack": rack,
            "facts_digest": f"sha256:{number:064x}",
        }
        write_record(folder, record)
    return nodes


def round_of(folder, nodes, target, catalog):
    """Seconds of one round: read, then plan."""
    start = time.perf_counter()
    records = read_records(folder, nodes, run_id="bench")
    middle = time.perf_counter()
    racks = {node: record["rack"] for node, record in records.items()}
    plan = make_plan(records, racks, target, load_policy({}), catalog, "2026-12-01T00:00:00Z", nodes)
    end = time.perf_counter()
    size = len(json.dumps(plan))
    print(f"read {middle - start:.3f} s, plan {end - middle:.3f} s, {len(plan['waves'])} waves, plan of {size} bytes")
    return end - start


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10000))
