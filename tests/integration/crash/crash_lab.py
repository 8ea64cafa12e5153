# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout of four nodes that is cut off at a write of its ledger, and what is left when it has been run again.

The undisturbed rollout tells which writes there are, so a new step is covered by itself. A write is named by its node
("rollout" for the rollout itself), the kind and the state of its event, and which of those of one run it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.integration.conftest import TESTS, Operator, Run

HERE = Path(__file__).resolve().parent
FLEET = TESTS / "fleets" / "crash.yml"
OLD = "6.4.4"  # the ROCm of the fleet
NODES = ("g01", "g02", "g03", "g04")
POLICY = {
    "soak_seconds": 0,
    "reboot_timeout_seconds": 60,
    "drain_timeout_seconds": 2,
    "capacity_floor_percent": 0,
    "growth": 3,
}
WANTED = {"gpus_per_node": 1, "kernel": {"cmdline": ["iommu=pt", "pcie_aspm=off"], "sysctl": {"vm.swappiness": "10"}}}
# Every file that a playbook could touch, by name; the text of all settings; packages, holds, and what dpkg ever did.
NODE = r"""cd /; export LC_ALL=C
find boot etc opt run usr/local usr/src lib/modules root tmp var/lib var/tmp -xdev \
    -not -name '*.pyc' -not -name __pycache__ -not -path 'var/lib/apt/lists/*' \
    -not -path 'run/sshd/*' -not -path 'run/*.pid' -printf 'file %p %y %m %l\n'
find etc boot/grub proc/cmdline -xdev -type f \
    -not -path 'etc/ssh/*' -not -path 'etc/hosts' -not -path 'etc/ld.so.cache' -exec sha256sum {} + | sed 's/^/text /'
dpkg-query -W -f 'package ${Package} ${Version} ${Status}\n'; apt-mark showhold | sed 's/^/held /'
awk '$3 ~ /^(install|upgrade|remove|purge)$/ {print "did", $3, $4}' /var/log/dpkg.log | sort | uniq -c
"""
SNAPSHOT = "cat /var/lib/fleetops/snapshots/*.json"


class Write(NamedTuple):
    """One write of the ledger."""

    node: str
    kind: str
    state: str
    which: int

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part)


class Death(NamedTuple):
    """Where something happens to a run: before or after a write."""

    write: Write
    when: str  # before, after
    whom: str | list[str] = "all"  # all processes of the controller; it alone, without its workers; or a command to run

    def __str__(self) -> str:
        alone = ", its workers live on" if self.whom == "alone" else ""
        return f"{self.when} {self.write}{alone}"


class End(NamedTuple):
    """What a rollout has left behind; for a node its lines are a set, so that a difference names the lines."""

    states: dict[str, str]
    boots: dict[str, int]
    shown: dict[str, dict[str, Any]]
    lines: dict[str, frozenset[str]]
    snapshots: dict[str, Any]


class Lab(Operator):
    """An operator whose controllers can be made to die at a write, over a fleet of the crash matrix."""

    def __init__(self, folder: Path, base: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder / "fleet", folder)
        self.base = base
        self.target = folder / "target.yml"
        self.first_boots: dict[str, str] = {}
        self._runs = 0
        self._at: dict[str, Any] = {}

    # -- the fleet

    @contextmanager
    def fleet(self) -> Iterator[Lab]:
        """A fresh fleet and no records but the plan; it is gone after the block."""
        self.simfleet("down")
        self.simfleet("up", str(FLEET), "--base", str(self.base))
        try:
            shutil.rmtree(self.records, ignore_errors=True)
            self._write_target()
            self.first_boots = {name: row["boot_id"] for name, row in self.status().items()}
            yield self
        finally:
            for controller in self.started:
                controller.kill()
            self.started.clear()
            self.simfleet("down")

    def _write_target(self) -> None:
        given = yaml.safe_load((self.state / "target-7.0.2.yml").read_text(encoding="utf-8"))
        given["products"]["MI210"] |= WANTED
        self.target.write_text(yaml.safe_dump(given), encoding="utf-8")
        shutil.copy(self.state / given["repository"]["key_file"], self.folder)

    def status(self) -> dict[str, dict[str, Any]]:
        """What the simulator knows of every node."""
        return json.loads(self.simfleet("status", "--json"))

    def power(self, node: str, what: str) -> list[str]:
        """The command that switches a node's power: on, off or cycle."""
        words = [sys.executable, "-m", "simfleet", "--state", str(self.state), "power", node, what]
        return ["env", f"PYTHONPATH={TESTS}", *words]

    # -- the controller

    def plan(self, **policy: Any) -> Path:
        """The plan for the fleet; it is the same for each, so the first one is used for all."""
        kept = self.folder / "plan.json"
        if not kept.exists():
            shutil.copy(super().plan(**{**POLICY, **policy}), kept)
        return kept

    def _prepared(self, name: str, words: tuple[str, ...], variables: dict[str, Any]) -> dict[str, Any]:
        prepared = super()._prepared(name, words, variables)
        path = os.pathsep.join(part for part in (str(HERE / "hook"), os.environ.get("PYTHONPATH")) if part)
        self._runs += 1
        self.log.unlink(missing_ok=True)
        ours = {"PYTHONPATH": path, "CRASH_LOG": str(self.log), "CRASH_AT": json.dumps(self._at)}
        return {**prepared, "env": {**prepared["env"], **ours}}

    @property
    def log(self) -> Path:
        """The file into which the newest controller writes what it writes."""
        return self.folder / f"writes-{self._runs}.jsonl"

    def run(self, plan: Path, death: Death | None = None) -> Run:
        """Run the rollout; at ``death`` it is killed."""
        self._at = death._asdict() if death else {}
        done = self.play("upgrade", plan=plan)
        self._at = {}
        return done

    def writes(self) -> list[Write]:
        """What the last run has written."""
        return [Write(*json.loads(line)) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def left_alive(self, seconds: float = 5) -> list[str]:
        """Processes of the last controller that outlive it by so long, but for the connections that ssh keeps."""
        end = time.monotonic() + seconds
        while (found := self._processes()) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def _processes(self) -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if f"CRASH_LOG={self.log}\0".encode() in (path / "environ").read_bytes() and "[mux]" not in words:
                    found.append(words)
            except OSError:
                continue
        return found

    # -- what is left

    def end(self) -> End:
        """What there is now, on the nodes and in the ledger."""
        status, states = self.status(), self.states()
        shown = {
            name: {key: row[key] for key in ("state", "driver", "kernel", "cmdline")} for name, row in status.items()
        }
        lines = {name: frozenset(self.shell(name, NODE).splitlines()) for name in NODES}
        return End(states, {name: row["boots"] for name, row in status.items()}, shown, lines, self._snapshots())

    def _snapshots(self) -> dict[str, Any]:
        found = {}
        for name in NODES:
            text = self.shell(name, f"{SNAPSHOT} 2>/dev/null || true")
            found[name] = json.loads(text) if text else None
        return found

    def faults_of_the_story(self, first_boots: bool = True) -> list[str]:
        """What is wrong with the ledger and with what is kept beside it, whatever the rollout has come to.

        :param first_boots: whether each node was in its first boot when it was first looked at.
        """
        found = Ledger.verify(self.rollout() / "ledger.sqlite")
        for path in (self.rollout() / "before").glob("*.json"):
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["rocm"]["active"] != OLD:
                found.append(f"{path.stem}: the facts from before the change are of a node that was changed")
            if first_boots and facts["node"]["boot_id"] != self.first_boots[path.stem]:
                found.append(f"{path.stem}: the facts from before the change are of a later boot")
        held = self.query("SELECT expires_at FROM lease")
        return found + ([f"the lease is not given back: {held}"] if held != [(0.0,)] else [])


def differences(wanted: End, seen: End, first_boots: dict[str, str], nodes: Iterable[str] = NODES) -> list[str]:
    """How two ends differ: one sentence for each thing, empty for the same end."""
    found = []
    for name in nodes:
        for what in ("states", "boots", "shown"):
            one, other = getattr(wanted, what)[name], getattr(seen, what).get(name)
            found += [f"{name}: {what} {other}, undisturbed {one}"] if one != other else []
        found += _line_differences(name, wanted.lines[name], seen.lines[name])
        found += _snapshot_differences(name, wanted.snapshots[name], seen.snapshots[name], first_boots[name])
    return found


def _line_differences(name: str, wanted: frozenset[str], seen: frozenset[str]) -> list[str]:
    more = [f"{name}: has `{line}`, not so undisturbed" for line in sorted(seen - wanted)]
    return more + [f"{name}: lacks `{line}`" for line in sorted(wanted - seen)]


def _snapshot_differences(name: str, wanted: Any, seen: Any, first_boot: str) -> list[str]:
    if seen is None or wanted is None:
        return [] if seen == wanted else [f"{name}: snapshot {seen and 'kept'}, undisturbed {wanted and 'kept'}"]
    late = [f"{name}: the snapshot is of a later boot"] if seen["boot_id"] != first_boot else []
    return late + [
        f"{name}: {key} of the snapshot differs" for key in wanted if key != "boot_id" and seen[key] != wanted[key]
    ]


def faults_of_a_rerun(lab: Lab, done: Run, wanted: End) -> list[str]:
    """What is wrong after a run that was cut off was run again to its end; empty where nothing is."""
    found = [f"status {done.status}"] if done.status else []
    found += [f"said: {line}" for line in done.errors()]
    found += [f"said {word}" for word in ("Traceback",) if word in done.text]
    found += [] if ": CLEAN." in done.text else ["it does not say that the rollout is clean"]
    return found + lab.faults_of_the_story() + differences(wanted, lab.end(), lab.first_boots)
