# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator with the installed collection in front of a simulated fleet: what the border tests work with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).resolve().parents[1]
NEEDS = ("mmdebstrap", "unshare", "apt-ftparchive", "dpkg-deb", "gpg", "openssl", "ssh")
POLICY = {"soak_seconds": 1, "reboot_timeout_seconds": 60, "capacity_floor_percent": 25, "drain_timeout_seconds": 2}
# Everything that a playbook could touch on a node; the session's own traces (log, home, temporary files) are not.
FINGERPRINT = (
    "cat /proc/sys/kernel/random/boot_id; sha256sum /var/lib/dpkg/status | cut -c1-64; "
    "cd / && find etc boot opt usr/local usr/src lib/modules var/lib -xdev -not -name '*.pyc' -not -name __pycache__ "
    "-printf '%p %y %m %s %T@ %l\\n' | sort | sha256sum"
)


class Run(NamedTuple):
    """How a playbook ended: its exit status and all that it said."""

    status: int
    text: str

    def errors(self) -> list[str]:
        """The messages of errors, each once: core tells a failed task twice, as [ERROR] and as fatal."""
        lines = self.text.splitlines()
        told = [line for line in lines if line.startswith("[ERROR]:")]
        fatal = [line for line in lines if line.startswith("fatal:")]
        return told if len(told) >= len(fatal) else fatal


class Operator:
    """The commands that an operator types, over one fleet; what is kept of them lies below ``records``."""

    def __init__(self, state: Path, folder: Path) -> None:
        self.state, self.folder = state, folder
        self.records = folder / "fleet-records"
        self.target = state / "target-7.0.2.yml"
        self.started: list[Controller] = []

    def elsewhere(self, name: str) -> Operator:
        """The same fleet with records of its own."""
        other = Operator(self.state, self.folder / name)
        other.folder.mkdir()
        return other

    # -- the fleet

    def simfleet(self, *words: str, check: bool = True) -> str:
        """Run the simulated fleet's own command."""
        command = [sys.executable, "-m", "simfleet", "--state", str(self.state), *words]
        ours = {**os.environ, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            # ssh makes the input that it is given non-blocking, and Ansible refuses to share such a one.
            command, env=ours, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shell(self, node: str, line: str) -> str:
        """Run a line on a node."""
        return self.simfleet("ssh", node, "--", line).strip()

    def node(self, name: str) -> dict[str, Any]:
        """What the simulator knows of a node: boots, driver, packages, command line."""
        return json.loads(self.simfleet("status", "--json"))[name]

    def boots(self) -> dict[str, int]:
        """How often each node has booted."""
        return {name: row["boots"] for name, row in json.loads(self.simfleet("status", "--json")).items()}

    def fingerprint(self, node: str) -> str:
        """Boot, packages and files of a node."""
        return self.shell(node, FINGERPRINT)

    def until_answers(self, node: str) -> None:
        """Wait until a node lets one log in."""
        until(lambda: self.node(node)["ssh"], 30)

    # -- the playbooks

    def _prepared(self, name: str, words: tuple[str, ...], variables: dict[str, Any]) -> dict[str, Any]:
        given = {"fleet_dir": self.records, "inventory": self.state / "inventory.yml", **variables}
        inventory = str(given.pop("inventory"))
        extra = json.dumps({key: value if isinstance(value, dict) else str(value) for key, value in given.items()})
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        ours = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORKS": "12", "COLUMNS": "200"}
        return {
            "args": [program, f"fleetops.instinct.{name}", "-i", inventory, "-e", extra, *words],
            "env": ours, "cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT, "text": True, "start_new_session": True,
        }  # fmt: skip

    def play(self, name: str, *words: str, **variables: Any) -> Run:
        """Run a playbook by its full name to its end; variables become ``-e``."""
        done = subprocess.run(**self._prepared(name, words, variables), timeout=600, check=False)
        return Run(done.returncode, done.stdout)

    def start(self, name: str, *words: str, **variables: Any) -> Controller:
        """Start a playbook and do not wait for it."""
        prepared = self._prepared(name, words, variables)
        log = self.folder / f"{name}-{time.monotonic_ns()}.log"
        with open(log, "wb") as output:
            self.started.append(Controller(subprocess.Popen(**{**prepared, "stdout": output}), log))
        return self.started[-1]

    def plan(self, **policy: Any) -> Path:
        """Make a plan for the whole fleet; the path of its file."""
        done = self.play("plan", target=self.target, policy={**POLICY, **policy})
        assert done.status == 0, done.text
        return max((self.records / "plans").glob("*.json"), key=lambda path: path.stat().st_mtime)

    # -- what is kept

    def rollout(self) -> Path:
        """The folder of the newest rollout."""
        return max((self.records / "rollouts").glob("*/ledger.sqlite"), key=lambda path: path.stat().st_mtime).parent

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Read from the newest ledger without the collection's own code; nothing where there is none yet."""
        try:
            path = self.rollout() / "ledger.sqlite"
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as db:
                return db.execute(text).fetchall()
        except (ValueError, FileNotFoundError, sqlite3.OperationalError):
            return []

    def states(self) -> dict[str, str]:
        """The state of each node by the newest ledger."""
        return dict(self.query("SELECT node, state FROM nodes"))

    def reasons(self) -> dict[str, str]:
        """Why each node is in its state, by the newest ledger."""
        return dict(self.query("SELECT node, reason FROM nodes"))

    def failures(self) -> dict[str, str]:
        """Why each node failed first."""
        return dict(self.query("SELECT node, reason FROM events WHERE state = 'failed' ORDER BY id DESC"))


class Controller(NamedTuple):
    """A playbook under way, in a process group of its own."""

    process: subprocess.Popen[str]
    log: Path

    def signal(self, number: signal.Signals) -> None:
        """Signal every process of it: the controller, its workers and their connections."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """End it as a crash would; nothing to do where it has ended."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def finish(self) -> Run:
        """Wait for its end."""
        status = self.process.wait(timeout=600)
        return Run(status, self.log.read_text(encoding="utf-8"))


def until(true: Callable[[], bool], seconds: float = 180) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to it in time"
        time.sleep(0.1)


@pytest.fixture(name="until", scope="session")
def until_fixture() -> Callable[..., None]:
    """The function above; a conftest cannot be imported from under importlib."""
    return until


def missing() -> str:
    """Why no fleet can be simulated here; empty where one can."""
    if os.geteuid() != 0:
        return "the simulated fleet makes namespaces and needs root"
    if absent := [name for name in NEEDS if shutil.which(name) is None]:
        return f"the simulated fleet needs {', '.join(absent)}"
    if "ANSIBLE_COLLECTIONS_PATH" not in os.environ or not Path(sys.executable).with_name("ansible-playbook").exists():
        return "needs ansible-playbook beside this Python and the collection in ANSIBLE_COLLECTIONS_PATH"
    return ""


@pytest.fixture(scope="module")
def operator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator of the fleet that the test file names for itself: tests/fleets/integration_<file>.yml."""
    if reason := missing():
        pytest.skip(reason)
    name = Path(request.module.__file__).stem.replace("test_", "integration_", 1)
    folder = tmp_path_factory.mktemp(name)
    one = Operator(folder / "fleet", folder)
    one.simfleet("up", str(TESTS / "fleets" / f"{name}.yml"))
    yield one
    for controller in one.started:
        controller.kill()
    one.simfleet("down")


@pytest.fixture
def edited(operator: Operator) -> Callable[[str, str], Path]:
    """A function that gives the fleet's target with something in it replaced, as a file beside it."""

    def edit(old: str, new: str) -> Path:
        path = operator.state / "mine.yml"
        path.write_text(operator.target.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        return path

    return edit
