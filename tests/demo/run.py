# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole job on a simulated fleet, to watch: audit, plan, upgrade with a bad link, automatic and full rollback.

Ends with status 0 only when each step ended as it should.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = Path(os.environ.get("FLEETOPS_DEMO_DIR", ROOT / ".cache" / "demo"))
STATE = OUTPUT / "fleet"
RECORDS = OUTPUT / "fleet-records"
KERNEL = ["pci=realloc=off", "iommu=pt", "numa_balancing=disable"]
POLICY = {"failure_budget": 1, "soak_seconds": 3, "reboot_timeout_seconds": 90, "capacity_floor_percent": 60}


def say(text: str) -> None:
    """A heading between the steps."""
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}", flush=True)


def simfleet(*words: str) -> None:
    """Run the simulated fleet's own command."""
    subprocess.run([sys.executable, "-m", "simfleet", "--state", str(STATE), *words], check=True, cwd=ROOT / "tests")


def playbook(name: str, *words: str, expected: int = 0) -> None:
    """Run a playbook of the collection as a user would, and insist on its exit status."""
    command = [
        "ansible-playbook",
        f"fleetops.instinct.{name}",
        "-i",
        str(STATE / "inventory.yml"),
        "-e",
        f"fleet_dir={RECORDS}",
        *words,
    ]
    print("$ " + " ".join(command), flush=True)
    status = subprocess.run(command, cwd=OUTPUT, check=False).returncode
    if status != expected:
        raise SystemExit(f"demo: {name} ended with status {status}, wanted {expected}")


def report() -> dict:
    """The newest report, as data."""
    newest = max(RECORDS.glob("rollouts/*/report.json"), key=lambda path: path.stat().st_mtime)
    return json.loads(newest.read_text(encoding="utf-8"))


def states() -> dict[str, str]:
    """State of each node by the newest report."""
    return {node: row["state"] for node, row in report()["nodes"].items()}


def check_upgrade() -> None:
    """Eleven upgraded, one restored by itself, never two racks in a wave."""
    found = states()
    upgraded = sorted(node for node, state in found.items() if state == "in_service")
    restored = sorted(node for node, state in found.items() if state == "restored")
    racks: dict[int, set[str]] = {}
    for row in report()["nodes"].values():
        racks.setdefault(row["wave"], set()).add(row["rack"])
    most = max(map(len, racks.values()))
    print(
        f"{len(upgraded)} nodes upgraded, {len(restored)} rolled back ({', '.join(restored)}); racks in a wave: {most}"
    )
    if (len(upgraded), restored, most) != (11, ["g07"], 1):
        raise SystemExit("demo: wanted 11 nodes upgraded, g07 rolled back, and no wave with two racks")


def check_rollback() -> None:
    """Everything is what it was."""
    if set(states().values()) != {"restored"}:
        raise SystemExit(f"demo: wanted every node restored, seen {states()}")
    print("12 nodes are back on what was recorded before the upgrade.")


def write_target() -> None:
    """ROCm 7.0.2 with its driver, and the kernel arguments that AMD asks for."""
    target = yaml.safe_load((STATE / "target-7.0.2.yml").read_text(encoding="utf-8"))
    target["repository"]["key_file"] = str(STATE / target["repository"]["key_file"])
    target["products"]["MI300X"]["kernel"] = {"cmdline": KERNEL}
    (OUTPUT / "target.yml").write_text(yaml.safe_dump(target, sort_keys=False), encoding="utf-8")


def main() -> None:
    """Run the story; the fleet is taken down whatever happens."""
    if os.geteuid() != 0:
        raise SystemExit("demo: the simulated fleet makes namespaces and mounts; run it as root")
    shutil.rmtree(RECORDS, ignore_errors=True)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "policy.yml").write_text(json.dumps(POLICY), encoding="utf-8")
    target = f"target={OUTPUT / 'target.yml'}"
    try:
        say("1. Start 12 simulated nodes with 8 MI300X each (the first time a root image is made)")
        simfleet("up", str(ROOT / "tests" / "fleets" / "demo.yml"))
        write_target()
        say("2. Audit: what would block the move to ROCm 7.0.2?")
        playbook("audit", "-e", target)
        say("3. Plan: waves, steps, rollback readiness")
        playbook("plan", "-e", target, "-e", f"policy={OUTPUT / 'policy.yml'}")
        plan = next(RECORDS.glob("plans/*.json"))
        say("4. Upgrade. One GPU of g07 trains its link at 16 GT/s under the new driver: g07 goes back by itself")
        playbook("upgrade", "-e", f"plan={plan}", expected=2)
        check_upgrade()
        say("5. The story of g07, and the report")
        playbook("status", "-e", "node=g07")
        playbook("report")
        say("6. Roll the whole rollout back")
        playbook("rollback", "-e", "fleet_incident=true")
        check_rollback()
        say(f"Report: {next(RECORDS.glob('rollouts/*/report.html'))}")
    finally:
        simfleet("down")


if __name__ == "__main__":
    main()
