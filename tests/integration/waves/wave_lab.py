# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a small generated rollout over ten hosts of this machine and says what ansible-core made of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
CASES = yaml.safe_load((HERE / "cases.yml").read_text(encoding="utf-8"))
HOSTS = [f"g{number:02d}" for number in range(1, 11)]
WAVE = 5
BAD = "g02"
KEYWORDS = {
    "max_fail_percentage": {"max_fail_percentage": 0},
    "any_errors_fatal": {"any_errors_fatal": True},
    "none": {},
}


@dataclass
class Run:
    """The end of a playbook: its exit status, its results in order, and what it printed."""

    rc: int
    rows: list[dict]
    output: str

    def hosts(self, task: str, status: str = "ok") -> list[str]:
        """Hosts on which a task ended so."""
        return sorted({row["host"] for row in self.rows if row["task"] == task and row["status"] == status})

    def touched(self, task: str) -> list[str]:
        """Hosts on which a task ended somehow."""
        return sorted({row["host"] for row in self.rows if row["task"] == task})


def closed_port() -> int:
    """A port of the loopback address on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def inventory(bad: str, how: str, hosts: list[str]) -> dict:
    """Local hosts, and one bad: its `act` fails, or it answers on no port."""
    rows: dict = {name: {"ansible_connection": "local", "act": "true"} for name in hosts}
    if how == "failed":
        rows[bad]["act"] = "false"
    elif how == "unreachable":
        rows[bad] = {
            "ansible_connection": "ssh",
            "ansible_host": "127.0.0.1",
            "ansible_port": closed_port(),
            "act": "true",
            "ansible_ssh_common_args": "-F none -o ConnectTimeout=2 -o BatchMode=yes",
        }
    return {"all": {"hosts": rows}}


def wave_play(case: dict, keyword: str) -> list[dict]:
    """The play of a case under a keyword."""

    def named(names: list[str]) -> list[dict]:
        return [CASES["tasks"][name] for name in names]

    body = named(["before", "act", "after"])
    if not case.get("plain"):
        parts = {part: named(case[part]) for part in ("rescue", "always") if part in case}
        body = [{"name": "a node", "block": body, **parts}]
    serial = [1, WAVE] if case.get("canary") else WAVE
    return [
        {
            "name": "wave",
            "hosts": "all",
            "gather_facts": False,
            "serial": serial,
            **KEYWORDS[keyword],
            "tasks": [*body, *named(["end"])],
        }
    ]


def run_playbook(folder: Path, play: list[dict], hosts: dict, **variables: str) -> Run:
    """Run a play with the ansible-core of this Python, recorded."""
    for name, content in (("play.yml", play), ("hosts.yml", hosts)):
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    record = folder / "record.jsonl"
    record.touch()
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "hosts.yml", "play.yml"]
    environment = _environment(folder, record)
    done = subprocess.run(
        [*command, "-e", json.dumps(variables)],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert rows, f"nothing ran (exit status {done.returncode}):\n{done.stdout}{done.stderr}"
    return Run(done.returncode, rows, done.stdout + done.stderr)


def _environment(folder: Path, record: Path) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    settings = {
        "HOME": str(folder / "home"),
        "FORKS": "10",
        "NOCOLOR": "1",
        "SSH_RETRIES": "0",
        "CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
        "CALLBACKS_ENABLED": "wave_record",
        "INJECT_FACT_VARS": "false",
        "HOST_KEY_CHECKING": "false",
    }
    return {**clean, **{f"ANSIBLE_{key}": value for key, value in settings.items()}, "WAVE_RECORD": str(record)}


def observe(run: Run, case: dict) -> dict:
    """What an expectation file holds: exit status, whether the next wave began, and who ran what of the first."""
    first = [BAD_CANARY] if case.get("canary") else HOSTS[:WAVE]
    later = set(run.touched("before")) - set(first)
    ran = {task: [host for host in run.touched(task) if host in first] for task in ("rescue", "always", "end")}
    return {
        "rc": run.rc,
        "next_wave": "begins" if later else "halted",
        **{task: " ".join(hosts) for task, hosts in ran.items()},
    }


BAD_CANARY = HOSTS[0]


def measure(folder: Path, case: dict, keyword: str) -> tuple[dict, Run]:
    """Run a case and observe it."""
    bad = BAD_CANARY if case.get("canary") else BAD
    run = run_playbook(folder, wave_play(case, keyword), inventory(bad, case["bad"], HOSTS))
    return observe(run, case), run
