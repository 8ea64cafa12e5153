# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to judge 2,000 nodes of eight GPUs and to render every form of the report. Fails above the limits.

On top of the faults of the tests' fleet, each GPU of each node has some with a number that no other GPU has, so that
little can be told once for many.

Run with the collection on the path: PYTHONPATH=COLLECTIONS python tests/bench/report.py [NODES]
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.plugin_utils import report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import summarise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils import fleet

LIMITS = {"seconds in all": 20.0, "MB at most": 500.0, "MB of HTML": 8.0, "ms to judge a node": 15.0}


class LoudFleet(fleet.Fleet):
    """A fleet in which every GPU says something of its own."""

    def __getitem__(self, node):
        seen, number = super().__getitem__(node), self.numbers[node]
        for at, gpu in enumerate(seen["gpus"]):
            own = number * 8 + at + 1
            gpu.update(
                vbios=f"113-M30001{own % 40:02d}-102",
                bad_pages=own,
                aer={"correctable": own, "nonfatal": own, "fatal": 0},
            )
            gpu["ras"] = {"umc": {"ue": own, "ce": own + 1}, "gfx": {"ue": 0, "ce": own}}
            gpu["link"][0].update(speed_gts=16.0, samples_gts=[16.0], bdf=f"{own:04x}:63:00.0")
            gpu["bdf"] = gpu["link"][0]["bdf"]
        return seen


def main(count: int) -> int:
    """Judge the nodes one by one, then render; print each measure, and fail where one is above its limit."""
    nodes = LoudFleet(count)
    with tempfile.TemporaryDirectory(prefix="bench-report-") as folder:
        target, catalog = fleet.load(Path(folder))
    records, times = judged(nodes, target, catalog)
    print(f"{'judge':<12}{sum(times):>8.2f} s, {sum(len(record['findings']) for record in records.values())} findings")
    sizes, seconds = rendered(records, nodes)
    measures = {
        "seconds in all": sum(times) + seconds,
        "MB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "MB of HTML": sizes["html"] / 2**20,
        "ms to judge a node": statistics.median(times) * 1000,
    }
    for name, value in measures.items():
        print(f"{name:<20}{value:>8.2f}, limit {LIMITS[name]}")
    return int(any(value > LIMITS[name] for name, value in measures.items()))


def judged(nodes, target, catalog):
    """Records by node, and the seconds that each took; the facts are made before the clock runs."""
    records, times = {}, []
    for number, node in enumerate(nodes):
        seen = nodes[node]
        start = time.perf_counter()
        records[node] = judge(seen, target, catalog, node, f"r{number // 8:03d}", "bench", fleet.AT)
        times.append(time.perf_counter() - start)
    return records, times


def rendered(records, nodes):
    """Bytes of each form, and the seconds for the result and all of its forms."""
    begin = start = time.perf_counter()
    result = model(records, summarise(records, records), "sha256:0", "bench", nodes)
    print(f"{'result':<12}{time.perf_counter() - start:>8.2f} s")
    sizes = {}
    for form in report.FORMS:
        start = time.perf_counter()
        sizes[form] = len(report.render(result, form).encode())
        print(f"{form:<12}{time.perf_counter() - start:>8.2f} s, {sizes[form]} bytes")
    return sizes, time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
