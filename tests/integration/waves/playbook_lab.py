# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the real playbooks by their full names over nodes that are folders, and says what became of each node.

Playbooks, roles, actions, gate and ledger are those of the collection. Only the modules that run on a node are doubles:
a line with the arguments, which the connection plugin ``fleet_double`` answers for. So a whole rollout takes seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    change,
    facts,
    target_document,
    write_target,
)

HERE = Path(__file__).parent
COLLECTION = HERE.parents[2]
SHIPPED = ("galaxy.yml", "meta", "playbooks", "plugins", "roles")
DOUBLES = ("kernel_settings", "node_facts", "node_glance", "node_snapshot", "rocm_release")
BMC_DOUBLES = ("redfish_bios", "redfish_firmware", "redfish_firmware_info")
DOUBLE = "#!/usr/bin/python\nfleet_double {name} <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\n"
# Steps of a node that change it; a look, a rehearsal and the list of who holds a GPU do not.
TOUCHING = {"snapshot", "settings", "change", "restore", "restore_settings"}
BACK = {"restore", "restore_settings"}
NODES = ["g1", "g2", "g3", "g4", "g5"]  # g1 is the canary, g2 to g4 are the second wave, g5 is the next
POLICY = {
    "failure_domain": "none",
    "capacity_floor_percent": 0,
    "growth": {"kind": "fixed", "size": 3},
    "soak_seconds": 0,
    "drain_timeout_seconds": 1,
    "reboot_timeout_seconds": 60,
}


def install(root: Path) -> Path:
    """A path of collections with ours in it, as it is shipped, but for the modules that run on a node."""
    target = root / "ansible_collections" / "fleetops" / "instinct"
    for name in SHIPPED:
        source = COLLECTION / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    for name in DOUBLES:
        (target / "plugins" / "modules" / f"{name}.py").write_text(DOUBLE.format(name=name), encoding="utf-8")
    for name in BMC_DOUBLES:
        text = (HERE / "redfish_double.py").read_text(encoding="utf-8").replace('"{name}"', f'"{name}"')
        (target / "plugins" / "action" / f"{name}.py").write_text(text, encoding="utf-8")
    return root


class Run(NamedTuple):
    """How a playbook ended."""

    rc: int
    output: str

    def errors(self) -> list[str]:
        """The messages of failed tasks, each once: core tells one as [ERROR] and as fatal."""
        told = [line for line in self.output.splitlines() if line.startswith("[ERROR]:")]
        fatal = [line for line in self.output.splitlines() if line.startswith("fatal:")]
        return told if len(told) >= len(fatal) else fatal


class Lab:
    """A fleet of folders, and the records of its operator."""

    def __init__(self, folder: Path, collections: Path) -> None:
        self.folder, self.collections = folder, collections
        self.nodes, self.records = folder / "nodes", folder / "records"
        self.target = write_target(folder, target_document())
        for node in NODES:
            (self.nodes / node).mkdir(parents=True)
            for name, value in self._files(node).items():
                (self.nodes / node / name).write_text(value, encoding="utf-8")
        self.inventory(NODES)

    @staticmethod
    def _files(node: str) -> dict[str, str]:
        old = facts(node, OLD)
        sick = change(old, "gpus.2.ras", {"umc": {"ue": 3, "ce": 17}})
        seen = {"old.json": old, "new.json": facts(node, NEW), "sick.json": sick}
        state = {"is": "old", "reboots": False, "gone": False, "faults": []}
        own = {"node.json": json.dumps(state), "boot_id": f"boot-of-{node}\n", "uptime": "5.0 1.0\n", "steps": ""}
        return {**{name: json.dumps(value) for name, value in seen.items()}, **own}

    def inventory(self, nodes: list[str], **variables: Any) -> None:
        """Write the hosts file, in this order; ``g3={...}`` gives a node variables."""
        common = {
            "ansible_connection": "fleet_double",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            "fleet_double_folder": str(self.nodes),
        }
        hosts = {"fleet": {"hosts": {node: variables.get(node, {}) for node in nodes}, "vars": common}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")

    def node(self, name: str, **values: Any) -> None:
        """Change what a node is or will do."""
        path = self.nodes / name / "node.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")

    def play(self, name: str, *words: str, before: Sequence[str] = (), **variables: Any) -> Run:
        """Run a playbook by its full name; variables become ``-e``.

        :param before: a command that is given the whole command as its last words.
        """
        given = json.dumps({"fleet_dir": str(self.records), **variables})
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        command = [program, f"fleetops.instinct.{name}", "-i", "hosts.yml", "-e", given, *words]
        done = subprocess.run(
            [*before, *command],
            cwd=self.folder,
            env=self._environment(),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
        return Run(done.returncode, done.stdout)

    def _environment(self) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON"))}
        settings = {
            "HOME": str(self.folder / "home"),
            "COLLECTIONS_PATH": str(self.collections),
            "CONNECTION_PLUGINS": str(HERE / "connection_plugins"),
            "FORKS": "5",
            "NOCOLOR": "1",
            "PIPELINING": "true",
            "INJECT_FACT_VARS": "false",
            "LOCALHOST_WARNING": "false",
        }
        return {**clean, "COLUMNS": "400", **{f"ANSIBLE_{key}": value for key, value in settings.items()}}

    # -- what became of it

    def ledger(self) -> Path | None:
        """The ledger of the only rollout; None where none was opened."""
        return next((self.records / "rollouts").glob("*/ledger.sqlite"), None)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Read from the ledger without the collection's own code."""
        path = self.ledger()
        if path is None:
            return []
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute(text).fetchall()

    def reported(self) -> dict[str, str]:
        """The state of each node by the report; empty where there is none."""
        path = next((self.records / "rollouts").glob("*/report.json"), None)
        rows = json.loads(path.read_text(encoding="utf-8"))["nodes"] if path else {}
        return {node: row["state"] for node, row in rows.items()}

    def steps(self, node: str) -> list[str]:
        """What a node was asked to do, in order."""
        return (self.nodes / node / "steps").read_text(encoding="utf-8").split()

    def whose(self, steps: set[str]) -> str:
        """The nodes that were asked for one of these steps."""
        return " ".join(node for node in NODES if steps & set(self.steps(node)))


def observe(lab: Lab, run: Run) -> dict[str, Any]:
    """What the table of cases holds: exit status, state of each node, who was touched, and who was sent back.

    ``sent_back`` counts who was asked to restore something and who has a step of the way back in the ledger.
    ``opened`` is how often the rollout was opened, ``refused`` the codes of refusals in the ledger, and ``reported``
    whether the report has each node with the state that the ledger has.
    """
    way_back = "SELECT node FROM events WHERE state IN ('failed', 'rolling_back', 'verifying_old', 'quarantined')"
    back = {*lab.whose(BACK).split(), *(node for (node,) in lab.query(way_back))}
    notes = [json.loads(data) for (data,) in lab.query("SELECT data FROM events WHERE kind = 'note'")]
    states = dict(lab.query("SELECT node, state FROM nodes"))
    return {
        "rc": run.rc,
        "states": states,
        "reported": bool(states) and lab.reported() == states,
        "touched": lab.whose(TOUCHING),
        "sent_back": " ".join(sorted(back)),
        "opened": sum(note.get("mode") == "upgrade" for note in notes if note),
        "refused": " ".join(note["code"] for note in notes if note and "code" in note),
    }


def _policy(given: dict[str, Any]) -> dict[str, Any]:
    """The policy of a case; ``windows: closed`` is one window, on another day than this."""
    if given.get("windows") == "closed":
        day = (datetime.now(timezone.utc) + timedelta(days=3)).strftime("%a").lower()
        given = {**given, "windows": [{"days": [day], "from": "00:00", "to": "12:00", "timezone": "UTC"}]}
    return {**POLICY, **given}


def play_case(lab: Lab, case: dict[str, Any]) -> Run:
    """Run the upgrade of a case of the table."""
    wanted = {"target": lab.target, "policy": _policy(case.get("policy", {}))}
    lab.inventory(case.get("inventory", NODES))
    if case.get("planned"):
        made = lab.play("plan", **wanted)
        assert made.rc == 0, made.output
        wanted = {"plan": str(next((lab.records / "plans").glob("*.json")))}
    for names, fault in case.get("bad", {}).items():
        for node in names.split():
            lab.node(node, faults=fault if isinstance(fault, list) else [fault])
    for node in case.get("reboots", "").split():
        lab.node(node, reboots=True)
    return lab.play("upgrade", **wanted)
