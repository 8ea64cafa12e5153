# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Between the supervisor of a fleet and the process of its BMCs: each asks the other over a socket."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simfleet import sockets
from simfleet.bmc.machine import Bmc
from simfleet.bmc.profile import BmcSpec
from simfleet.errors import SimfleetError

BMCS = "the fleet's BMC process"


class Link:
    """The supervisor's side: starts the process and tells it of boots."""

    def __init__(self, state: Path, specs: list[tuple[BmcSpec, str]]) -> None:
        self.state, self.names = state, {spec.node for spec, _ in specs}
        self._specs = specs
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; `wait` says when it serves."""
        if not self.names:
            return
        rows = [[asdict(spec), address] for spec, address in self._specs]
        words = [sys.executable, "-m", "simfleet.bmc", "--state", str(self.state), "--for-fleet"]
        ours = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ours)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(rows).encode() + b"\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Return when every BMC takes connections; raises SimfleetError with what hindered it."""
        if self._process is not None and self._process.stdout is not None:
            line = self._process.stdout.readline().decode()
            if line.strip() != "ready":
                raise SimfleetError(line.strip() or "the BMC process ended before it served; see supervisor.log")

    def ask(self, node: str, op: str, **more: Any) -> dict[str, Any]:
        """Ask the BMC of a node."""
        if node not in self.names:
            raise SimfleetError(f"node {node} has no BMC")
        return sockets.ask(self.state / "bmc", {"op": op, "node": node, **more}, BMCS)

    def boots(self, node: str, kind: str) -> dict[str, Any]:
        """Tell of a boot, `warm` or `dc`: the firmware view of it; empty for a node without a BMC."""
        return self.ask(node, "boot", kind=kind) if node in self.names else {}

    def is_off(self, node: str) -> None:
        """Tell that the node has no power any more."""
        if node in self.names:
            self.ask(node, "off")


class FleetHost:
    """The BMC's side: the power of a node is the supervisor's. One thread for each node keeps the order."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._queues: dict[str, queue.Queue[str]] = {}

    def switch(self, bmc: Bmc, what: str) -> None:
        """Ask the supervisor, without waiting for it."""
        node = bmc.spec.node
        if node not in self._queues:
            self._queues[node] = queue.Queue()
            threading.Thread(target=self._work, args=(node,), daemon=True).start()
        self._queues[node].put(what)

    def _work(self, node: str) -> None:
        while True:
            what = self._queues[node].get()
            for _ in range(50):  # the supervisor listens when every node has booted for the first time
                try:
                    sockets.ask(self.state, {"op": "power", "node": node, "what": what}, "the fleet's supervisor")
                    break
                except SimfleetError as error:
                    if "does not answer" not in str(error):
                        traceback.print_exc()
                        break
                    time.sleep(0.1)
