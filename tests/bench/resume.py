# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs the controller to run a finished rollout once more, per node, beside a ping of the same nodes.

    python tests/bench/resume.py [--sizes 50 250] [--rounds N]

The nodes of tests/fleets/bench.yml are upgraded for good. Then hundreds of inventory names share them, as if each were
a node: their plan is made by the plan playbook before the upgrade, and each has the events of its node in the ledger of
a finished rollout. Counted is the processor time of the controller: Ansible, its workers, ssh and the connections that
ssh keeps; not that of sshd and Python on the nodes, which are other machines on a real fleet. The cost of a node is the
difference of two fleet sizes; what does not depend on the size (start, reading playbooks) is told beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from audit import PROGRAMS, fleet

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import load_plan

LIMIT = 1.2  # a node of a finished rollout, as a multiple of a ping
POLICY = {"soak_seconds": 0, "capacity_floor_percent": 0, "growth": {"kind": "fixed", "size": 1000}}
FORKS = "20"
TICK = os.sysconf("SC_CLK_TCK")


class Fleet(NamedTuple):
    """So many names over the few nodes, in a folder with their inventory and their records."""

    size: int
    folder: Path

    def command(self, name: str, **variables: Any) -> list[str]:
        """A playbook over all of the names."""
        given = json.dumps({"fleet_dir": str(self.folder / "records"), **variables})
        words = ["-i", str(self.folder / "inventory.yml"), f"fleetops.instinct.{name}", "-e", given]
        return [str(PROGRAMS / "ansible-playbook"), *words]

    def ping(self) -> list[str]:
        """A ping of all of the names."""
        return [
            str(PROGRAMS / "ansible"),
            "-i",
            str(self.folder / "inventory.yml"),
            "-m",
            "ansible.builtin.ping",
            "all",
        ]

    @property
    def plan(self) -> Path:
        """The plan that was made for the names."""
        return next((self.folder / "records" / "plans").glob("*.json"))


def run(command: list[str]) -> None:
    """Run a command that has to end well."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} ended with status {done.returncode}:\n{done.stdout[-3000:]}{done.stderr}")


def kept_connections() -> float:
    """Processor seconds of the connections that ssh keeps in the background."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"[mux]" in (path / "cmdline").read_bytes():
                fields = (path / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / TICK
        except OSError:
            continue
    return total


def seconds(command: list[str]) -> float:
    """Processor seconds of the controller for a command that has to end well."""
    before = kept_connections()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{command[:5]} ended with {process.returncode}:\n{said.read().decode()[-3000:]}")
    return used.ru_utime + used.ru_stime + kept_connections() - before


def over_the_nodes(inventory: Path, size: int, folder: Path) -> Fleet:
    """An inventory of so many names, 32 in a rack, on the nodes of the fleet in turn."""
    folder.mkdir()
    given = yaml.safe_load(inventory.read_text(encoding="utf-8"))["fleet"]
    nodes = list(given["hosts"].values())
    hosts = {
        f"n{number:04}": {**nodes[number % len(nodes)], "fleet_rack": f"r{number // 32}"} for number in range(size)
    }
    text = yaml.safe_dump({"fleet": {"vars": given["vars"], "hosts": hosts}})
    (folder / "inventory.yml").write_text(text, encoding="utf-8")
    return Fleet(size, folder)


def finish(many: Fleet, real: Path) -> None:
    """Write the ledger of a finished rollout: each name has the story of its node, and its facts from before."""
    plan = load_plan(many.plan)
    folder = many.folder / "records" / "rollouts" / plan["plan_id"]
    told = Ledger.open(real / "ledger.sqlite")
    stories = [told.events(node) for node in told.nodes()]
    facts = sorted((real / "before").glob("*.json"))
    ledger = Ledger.create(folder / "ledger.sqlite", plan)
    epoch = ledger.take_lease({"who": "bench", "host": "here", "pid": 1}, ttl=3600)
    (folder / "before").mkdir()
    shutil.copy(many.plan, folder / "plan.json")
    for number, node in enumerate(sorted(plan["nodes"])):
        shutil.copy(facts[number % len(facts)], folder / "before" / f"{node}.json")
        for event in stories[number % len(stories)]:
            if event["kind"] != "note":
                ledger.record(epoch, node, event["state"], event["kind"], event["reason"], event["data"])
    ledger.release_lease(epoch)


def prepared(inventory: Path, sizes: list[int], scratch: Path) -> list[Fleet]:
    """The fleets of both sizes: planned, upgraded and in service."""
    target = inventory.parent / "target-7.0.2.yml"
    few = Fleet(0, scratch / "nodes")
    few.folder.mkdir()
    shutil.copy(inventory, few.folder / "inventory.yml")
    fleets = [over_the_nodes(inventory, size, scratch / f"{size}") for size in sizes]
    for each in fleets:
        run(each.command("plan", target=str(target), policy=POLICY))
    run(few.command("upgrade", target=str(target), policy=POLICY))
    (real,) = (few.folder / "records" / "rollouts").iterdir()
    for each in fleets:
        finish(each, real)
    return fleets


def measure(small: Fleet, large: Fleet, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """What a node costs, and what remains of a fleet without its nodes; after one round that is not counted."""
    ways = {"ping": Fleet.ping, "finished rollout": lambda each: each.command("upgrade", plan=str(each.plan))}
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            least, most = seconds(way(small)), seconds(way(large))
            each = (most - least) / (large.size - small.size)
            if number:
                costs[name].append((each, least - each * small.size))
    return costs


def main() -> int:
    """Measure and print; 1 above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs=2, default=[50, 250])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["ANSIBLE_FORKS"] = FORKS
    with fleet(None) as inventory, tempfile.TemporaryDirectory(prefix="bench-resume-") as scratch:
        costs = measure(*prepared(Path(inventory), options.sizes, Path(scratch)), options.rounds)
    for name, values in costs.items():
        each, fixed = (statistics.median(column) for column in zip(*values, strict=True))
        print(f"{name:<18}{each * 1000:>7.1f} ms of the controller per node, {fixed:.2f} s for any fleet")
    pairs = zip(costs["finished rollout"], costs["ping"], strict=True)
    ratio = statistics.median(rollout[0] / ping[0] for rollout, ping in pairs)
    print(f"a node of a finished rollout / a ping: {ratio:.2f} (limit {LIMIT})", flush=True)
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
