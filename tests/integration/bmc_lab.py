# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated BMCs in this process, and updates through them: with what an action uses, but with small times."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import images, reading, rounds, wishes
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.connection import Door
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.follow import Limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import Journal
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Site
from simfleet.bmc.fleet import Bmcs
from simfleet.bmc.image import make_image
from simfleet.bmc.profile import parse_bmc

# What each profile has, something newer for it, and what brings it to run there.
NEWER = {"bmc": "99.1.0", "bios": "3.4", "gpu": "01.26.00.04", "cpld": "F2.00.08"}
NAMES = {"gpu_bundle": "gpu"}


class Lab:
    """One BMC of a profile with quirks, and what an operator does to it."""

    def __init__(self, folder: Path, profile: str = "openbmc", quirks: Any = (), **more: Any) -> None:
        self.folder = folder
        self.bmcs = Bmcs(folder)
        spec = parse_bmc("lab", {"profile": profile, "quirks": list(quirks), **more}, "g01")
        self.bmcs.serve([(spec, "127.1.72.1")], 0)
        self.address = f"127.1.72.1:{self.bmcs.wire.doors['g01'].port}"
        self.ca = str(folder / "bmc-ca.pem")
        self.machine: dict[str, Any] = {"products": ["AS -8125GS-TNMR2"], "part_numbers": ["113-M3000100-102"]}
        self.by = reading.patterns([], load_catalog().redfish)
        self.limits = Limits(timeout=15.0, silence=6.0, pending=0.5, answers=2)
        self.notes: list[str] = []
        self.hook: Callable[[], str] | None = None

    @property
    def bmc(self) -> Any:
        """The simulated BMC itself."""
        return self.bmcs.bmcs["g01"]

    def flashes(self, component: str) -> int:
        """So often a component was written."""
        return self.bmc.components[component].flashes

    def pushes(self) -> int:
        """So many images arrived."""
        return sum(
            method == "POST" and ("pdate" in path or "pload" in path) for method, path, _status in self.bmc.exchanges
        )

    def door(self, **other: Any) -> Door:
        """A way in."""
        words = {"ca": self.ca, "timeout": 10.0, "attempts": 6, "pause": 0.1, **other}
        user, password = words.pop("user", self.bmcs.user), words.pop("password", self.bmcs.password)
        return Door(self.address, user, password, **words)

    def client(self, **other: Any) -> Client:
        """A session."""
        return Client(self.door(**other), time.sleep)

    def wish(self, component: str = "gpu_bundle", version: str | None = None, **more: Any) -> dict[str, Any]:
        """A row of wanted firmware with an image that the simulated machine takes."""
        short = NAMES.get(component, component)
        version = version or NEWER[short]
        path = self.folder / f"{component}-{version.replace('/', '_')}.bin"
        path.write_bytes(make_image(short, more.pop("holds", version)))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return {"component": component, "version": version, "image": str(path), "sha256": digest, **more}

    def site(self, client: Client) -> Site:
        """What an update works with."""
        journal = Journal(str(self.folder), "g01", None, lambda: time.strftime("%FT%TZ"))
        site = Site(client, self.by, None, journal, self.machine, time.monotonic, time.sleep, self.limits)
        site.poll, site.settle, site.off = 0.05, 2.0, 0.0
        self.notes = site.notes
        site.hook = ["outlets"] if self.hook else []
        return site

    def update(self, *rows: dict[str, Any], activated: str = "none", checking: bool = False) -> rounds.Round:
        """One run of the action over these rows."""
        wanted = wishes.checked(rows, ("lab", "components"), wishes.WishError)
        sizes = [images.prove(row, "g01") for row in wanted]
        with self.client() as client:
            if checking:
                return rounds.foretell(self.site(client), wanted, sizes)
            return rounds.carry_out(self.site(client), wanted, sizes, activated, self.hook or (lambda: ""))

    def read(self) -> reading.Reading:
        """What the BMC tells."""
        with self.client() as client:
            return reading.read(client.get, client.subject, None, self.by)

    def ac_cycle(self) -> str:
        """The site's own AC cycle."""
        self.bmcs.answer({"node": "g01", "op": "ac"})
        return ""

    def serve(self) -> str:
        """The address of a web server with the images."""
        handler = functools.partial(_Quiet, directory=str(self.folder))
        server = http.server.ThreadingHTTPServer(("127.1.72.2", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.1.72.2:{server.server_port}"

    def killed_at(self, order: int, moment: str, *rows: dict[str, Any]) -> bool:
        """A run whose process is killed at the nth order: before it is sent, after its answer, or a question later.

        :returns: false where the run was done before that.
        """
        child = os.fork()
        if child == 0:
            _kill_at(order, moment)
            try:
                self.update(*rows)
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    def events(self) -> list[str]:
        """The events that the journal holds."""
        lines = (self.folder / "firmware" / "g01.jsonl").read_text(encoding="ascii").splitlines()
        return [json.loads(line)["event"] for line in lines]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words: Any) -> None:
        return


def _kill_at(order: int, moment: str) -> None:
    ask, seen = Client._ask, {"orders": 0, "later": 0}

    def watched(self: Client, act: Any, *words: Any, **more: Any) -> Any:
        seen["orders"] += act.__name__ in ("post", "stream")
        here = seen["orders"] == order
        seen["later"] += here
        wanted = {"before": 1, "after": 1, "later": 2}[moment]
        if here and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = ask(self, act, *words, **more)
        if here and seen["later"] == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    Client._ask = watched  # type: ignore[method-assign]


def outcomes(made: rounds.Round) -> list[str]:
    """What became of each row."""
    return [one.outcome for one in made.outcomes]
