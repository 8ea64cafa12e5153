# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the programs inside a node ask of the machine: power, loading of modules, the write of an initramfs."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simfleet.errors import SimfleetError

if TYPE_CHECKING:
    from simfleet.node import Node


class Requests:
    """Listens on a socket that is bound into the node; one thread per question."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.node, self.folder = node, folder

    def start(self) -> None:
        """Listen from now on, over all boots."""
        self.folder.mkdir(exist_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self.folder / "sock"))
        server.listen(16)
        threading.Thread(target=self._serve, args=(server,), daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        while True:
            link, _ = server.accept()
            threading.Thread(target=self._talk, args=(link,), daemon=True).start()

    def _talk(self, link: socket.socket) -> None:
        with link:
            try:
                answer = self.answer(json.loads(link.makefile().readline()))
            except SimfleetError as error:
                answer = {"error": str(error)}
            except (OSError, ValueError):
                return
            link.sendall(json.dumps(answer).encode() + b"\n")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request; an answer with `error` is what the program prints."""
        op = request.get("op")
        if op in ("reboot", "poweroff"):
            self.node.ask_power(op == "reboot", float(request.get("delay") or 0))
        elif op == "cancel":
            self.node.cancel_power()
        elif op == "initramfs":
            return {"skip": self.node.has("old_driver")}
        elif op == "load" and request.get("module") == "amdgpu":
            self.node.load(dict(request.get("options") or {}))
        elif op == "unload" and request.get("module") == "amdgpu":
            self.node.unload()
        elif op not in ("load", "unload"):
            return {"error": "not understood"}
        return {}
