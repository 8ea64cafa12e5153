# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""All BMCs of a fleet: made, served, asked by the control command and told of the nodes' boots."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yaml

from simfleet.bmc import pki
from simfleet.bmc.agenda import Agenda
from simfleet.bmc.machine import Bmc, Host, NoHost
from simfleet.bmc.profile import BmcSpec
from simfleet.bmc.quirks import parse_quirks
from simfleet.bmc.wire import Wire
from simfleet.errors import SimfleetError

USER = "fleetadmin"
PORT = 443


def address_of(base: int, number: int) -> str:
    """The loopback address of the BMC of a fleet's Nth node."""
    return f"127.1.{base}.{number}"


def write_credentials(path: Path) -> tuple[str, str]:
    """A user and a password of this fleet, in a file that root alone reads."""
    password = secrets.token_urlsafe(12)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump({"user": USER, "password": password}), encoding="ascii")
    return USER, password


class Bmcs:
    """The BMCs of one process by the names of their nodes."""

    def __init__(self, state: Path, host: Host | None = None) -> None:
        self.state, self.host = state, host or NoHost()
        self.agenda = Agenda()
        self.bmcs: dict[str, Bmc] = {}
        self.wire: Wire | None = None
        (state / "bmc").mkdir(parents=True, exist_ok=True, mode=0o700)
        self.user, self.password = write_credentials(state / "bmc-credentials.yml")

    def serve(self, specs: list[tuple[BmcSpec, str]], port: int = PORT) -> None:
        """Open a door per BMC at its address; returns when all take connections."""
        pki.make(self.state / "bmc/tls", self.state / "bmc-ca.pem", sorted({address for _, address in specs}))
        self.wire = Wire(pki.server_context(self.state / "bmc/tls"))
        for spec, address in specs:
            bmc = Bmc(spec, self.agenda, self.host, self.user, self.password)
            bmc.log = open(self.state / f"bmc/{spec.node}.log", "w", encoding="utf-8")  # noqa: SIM115
            self.bmcs[spec.node] = bmc
            self.wire.add(bmc, address, port)
        self.agenda.start()
        self.wire.start()

    def _bmc(self, request: dict[str, Any]) -> Bmc:
        name = request.get("node")
        if name not in self.bmcs:
            raise SimfleetError(f"node: saw {name!r}; nodes with a BMC are {', '.join(self.bmcs)}")
        return self.bmcs[str(name)]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request: status, quirk, clear_quirk, boot, off, ac."""
        bmc, op = self._bmc(request), request.get("op")
        with bmc.lock:
            if op == "status":
                return bmc.status()
            if op == "quirk":
                return self._quirk(bmc, request)
            if op == "clear_quirk":
                names = [name for name in bmc.quirks if request.get("quirk") in (None, name)]
                for name in names:
                    del bmc.quirks[name]
                return {"cleared": len(names)}
            if op == "boot":
                return bmc.host_boots(str(request["kind"]))
            if op == "off":
                bmc.host_off()
                return {}
            if op == "ac":
                bmc.ac_cycle()
                return {}
        raise SimfleetError(f"request {op!r} is not known to the BMCs")

    @staticmethod
    def _quirk(bmc: Bmc, request: dict[str, Any]) -> dict[str, Any]:
        name = str(request.get("quirk"))
        given = parse_quirks("quirk", [{name: request.get("with") or {}}])
        bmc.quirks |= given
        if name == "pending_settings_of_somebody_else":
            bmc.bios.stage_for_somebody(given[name]["setting"])
        return {}
