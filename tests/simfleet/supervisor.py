# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The process that owns the nodes. It runs in mount and process namespaces of its own: when it goes, all of it goes."""

from __future__ import annotations

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

from simfleet import layers, mirror, repo, sockets, space
from simfleet.bmc.link import Link
from simfleet.disk import Places
from simfleet.errors import SimfleetError
from simfleet.faults import parse_fault
from simfleet.fleetfile import FleetSpec
from simfleet.image import ensure_image, program_layer
from simfleet.node import Node


class Supervisor:
    """Builds the nodes of one fleet and answers the command line."""

    def __init__(self, state: Path, fleet: FleetSpec) -> None:
        self.state, self.fleet = state, fleet
        self.nodes: dict[str, Node] = {}
        self.over = threading.Event()
        self.bmcs = Link(state, fleet.bmcs())

    def build(self, say: Any) -> None:
        """Mount, create and boot every node; `say` gets one line per step."""
        self.bmcs.start()
        room = space.fresh_tmpfs(self.state / "rooms", "100%")
        image, packages = ensure_image(), repo.ensure_repo()
        mirror.serve(packages / "www", self.fleet.mirror)
        program_layer(room / "programs")
        wanted = {(node.rocm, node.driver) for node in self.fleet.nodes}
        layer = {}
        builder = layers.Builder(room, room / "programs", image, packages.name, self.fleet.mirror)
        for rocm, driver in sorted(wanted, key=str):
            layer[rocm, driver] = builder.ensure(rocm, driver, say)
        key = (self.state / "ssh/id_ed25519.pub").read_text(encoding="ascii")
        for spec in self.fleet.nodes:
            lower = (room / "programs", layer[spec.rocm, spec.driver], image)
            places = Places(room / spec.name, self.state / "nodes" / spec.name, lower, key)
            self.nodes[spec.name] = Node(spec, self.fleet, places, self.bmcs)
        self.bmcs.wait()
        say(f"starting {len(self.nodes)} nodes")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._first_boot, self.nodes.values()))

    @staticmethod
    def _first_boot(node: Node) -> None:
        node.create()
        node.start()
        unreachable = any(fault.effect in ("unreachable", "ssh_flaps") for fault in node.faults)
        if not unreachable and not node.wait_for_ssh(30):
            raise SimfleetError(f"{node.spec.name}: sshd did not answer; see {node.places.keep}/console.log")

    def _node(self, request: dict[str, Any]) -> Node:
        name = request.get("node")
        if name not in self.nodes:
            raise SimfleetError(f"node: saw {name!r}; the fleet has {', '.join(self.nodes)}")
        return self.nodes[str(name)]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request of the command line."""
        op = request.get("op")
        if op == "status":
            return {"nodes": {name: node.status() for name, node in self.nodes.items()}}
        if op == "down":
            self.over.set()
            return {}
        if op == "fault":
            gpus = {node.spec.name: node.spec.gpus for node in self.nodes.values()}
            fault = parse_fault("fault", request.get("row"), gpus)
            self.nodes[fault.node].give(fault)
            return {}
        if op == "clear":
            return {"cleared": self._node(request).clear(request.get("effect"))}
        if op == "power":
            return self._power(self._node(request), str(request.get("what")))
        if op == "bmc":
            more = {key: value for key, value in request.items() if key not in ("op", "node", "ask")}
            return self.bmcs.ask(self._node(request).spec.name, str(request.get("ask")), **more)
        raise SimfleetError(f"request {op!r} is not known")

    def _power(self, node: Node, what: str) -> dict[str, Any]:
        """`ac` cuts the power of BMC and node, as a PDU does."""
        if what == "ac" and node.spec.bmc is not None:
            return self.bmcs.ask(node.spec.name, "ac")
        node.power("cycle" if what == "ac" else what)
        return {}

    def serve(self, server: socket.socket) -> None:
        """Answer requests until one says `down`."""
        sockets.serve(server, self.answer, self.over)
        for node in self.nodes.values():
            node.stop()


def main(state: Path, fleet: FleetSpec, progress: TextIO, lifeline: int) -> int:
    """Run until `down`. Whoever waits for `progress` reads lines; `ready` is the last, `error ...` says why not."""

    def say(line: str) -> None:
        progress.write(line + "\n")
        progress.flush()

    threading.Thread(target=_die_with_caller, args=(lifeline,), daemon=True).start()
    supervisor = Supervisor(state, fleet)
    try:
        supervisor.build(say)
        server = sockets.listen(state)
    except SimfleetError as error:
        say(f"error {json.dumps(str(error))}")
        return 1
    say("ready")
    progress.close()
    supervisor.serve(server)
    return 0


def _die_with_caller(lifeline: int) -> None:
    # The caller writes one byte when the fleet may live on without it; its end without that byte ends the fleet.
    if not os.read(lifeline, 1):
        os._exit(3)
