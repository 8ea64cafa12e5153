# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much an audit costs beside a ping and beside fourteen commands, on one fleet in one run.

    python tests/bench/audit.py [INVENTORY] [--target FILE] [--rounds N]

The three are run in turn, round after round, so that a busy moment of the machine meets all of them. Without an
inventory the simulated fleet of tests/fleets/bench.yml is started for the run and ended after it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
PROGRAMS = Path(sys.executable).parent
LIMIT = 1.4  # a whole audit, as a multiple of a ping


def commands(inventory: str, target: Path, scratch: str) -> dict[str, list[str]]:
    """The three ways, each the whole command that an operator would type."""
    audit = ["fleetops.instinct.audit", "-e", f"target={target}", "-e", f"fleet_dir={scratch}"]
    return {
        "ansible -m ping": [str(PROGRAMS / "ansible"), "-i", inventory, "-m", "ansible.builtin.ping", "all"],
        "whole audit": [str(PROGRAMS / "ansible-playbook"), "-i", inventory, *audit],
        "fourteen commands": [str(PROGRAMS / "ansible-playbook"), "-i", inventory, str(HERE / "fourteen_commands.yml")],
    }


def seconds(name: str, command: list[str]) -> float:
    """Wall time of one run; a run that does not end well stops the bench, for its time would mean nothing."""
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    took = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{name} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return took


def measure(ways: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """Times of every way, after one round that is not counted (connections, byte code)."""
    for name, command in ways.items():
        seconds(name, command)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _round in range(rounds):
        for name, command in ways.items():
            times[name].append(seconds(name, command))
    return times


def ratio(times: dict[str, list[float]], name: str, to: str) -> float:
    """The median of what one took as a multiple of the other, round by round."""
    return statistics.median(one / other for one, other in zip(times[name], times[to], strict=True))


def table(times: dict[str, list[float]]) -> str:
    """Medians, spans, and each as a multiple of the ping."""
    ping = statistics.median(times["ansible -m ping"])
    lines = [f"{'':<20}{'median s':>10}{'min':>8}{'max':>8}{'x ping':>8}"]
    for name, values in times.items():
        median = statistics.median(values)
        lines.append(f"{name:<20}{median:>10.2f}{min(values):>8.2f}{max(values):>8.2f}{median / ping:>8.2f}")
    ratios = f"audit / ping {ratio(times, 'whole audit', 'ansible -m ping'):.2f} (limit {LIMIT})"
    lines.append(f"median of pairs: {ratios}, fourteen / audit {ratio(times, 'fourteen commands', 'whole audit'):.2f}")
    return "\n".join(lines)


@contextmanager
def fleet(inventory: str | None) -> Iterator[str]:
    """The given inventory, or that of a simulated fleet which lives as long as the block."""
    if inventory:
        yield inventory
        return
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as state:
        simfleet = [sys.executable, "-m", "simfleet", "--state", f"{state}/fleet"]
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        subprocess.run([*simfleet, "up", str(TESTS / "fleets" / "bench.yml")], check=True, env=environment)
        try:
            yield f"{state}/fleet/inventory.yml"
        finally:
            subprocess.run([*simfleet, "down"], check=True, env=environment)


def main() -> None:
    """Measure and print, then the other benches: facts, report, planner, ledger, resume. Fail above a limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inventory", nargs="?")
    parser.add_argument("--target", type=Path, help="default: target-7.0.2.yml beside the inventory")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with fleet(options.inventory) as inventory, tempfile.TemporaryDirectory(prefix="bench-audit-") as scratch:
        target = (options.target or Path(inventory).parent / "target-7.0.2.yml").resolve()
        times = measure(commands(inventory, target, scratch), options.rounds)
        print(table(times), flush=True)
    names = ("node_facts.py", "report.py", "plan_10000.py", "ledger.py", "resume.py")
    others = [subprocess.call([sys.executable, str(HERE / name)]) for name in names]
    sys.exit(max(*others, ratio(times, "whole audit", "ansible -m ping") > LIMIT))


if __name__ == "__main__":
    main()
