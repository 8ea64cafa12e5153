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
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import (
    bios,
    bios_staging,
    images,
    reading,
    rounds,
    wishes,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_names import names_of
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

    place = "127.1.72.1"

    def __init__(self, folder: Path, profile: str = "openbmc", quirks: Any = (), **more: Any) -> None:
        self.folder = folder
        self.bmcs = Bmcs(folder)
        spec = parse_bmc("lab", {"profile": profile, "quirks": list(quirks), **more}, "g01")
        self.bmcs.serve([(spec, self.place)], 0)
        self.address = f"{self.place}:{self.bmcs.wire.doors['g01'].port}"
        self.ca = str(folder / "bmc-ca.pem")
        self.prepare()

    def prepare(self) -> None:
        """What the operator's side needs."""
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

    def journal(self) -> Journal:
        """What was done to it before."""
        return Journal(str(self.folder), "g01", None, lambda: time.strftime("%FT%TZ"))

    def site(self, client: Client) -> Site:
        """What an update works with."""
        site = Site(client, self.by, None, self.journal(), self.machine, time.monotonic, time.sleep, self.limits)
        site.poll, site.settle, site.off = 0.05, 2.0, 0.0
        self.notes = site.notes
        site.hook = ["outlets"] if self.hook else []
        return site

    def update(self, *rows: dict[str, Any], activated: str = "none", checking: bool = False) -> rounds.Round:
        """One run of the action over these rows."""
        wanted = wishes.checked(rows, ("lab", "components"), wishes.WishError)
        sizes = [images.prove(row, "g01") for row in wanted]
        with self.client(patience=self.limits.silence if self.journal().under_way else 0.0) as client:
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


class Setting(Lab):
    """A lab whose BIOS is set."""

    def desk(self, client: Client) -> bios_staging.Desk:
        """What the settings are changed with, in small times."""
        rows = [load_catalog().rows("bios_attributes", section) for section in ("attributes", "values")]
        desk = bios_staging.Desk(client, names_of([], *rows), None, time.monotonic, time.sleep)
        desk.poll, desk.wait = 0.05, 1.5
        return desk

    def stage(self, wishes: dict[str, Any], foreign: str = "refuse", checking: bool = False) -> Any:
        """One run of the action with state: staged."""
        with self.client() as client:
            desk = self.desk(client)
            if checking:
                return bios.plan(desk.read(), wishes, desk.names, desk.subject, foreign), None
            return bios_staging.stage(desk, wishes, foreign)

    def prove(self, wishes: dict[str, Any], job: str | None = None) -> list[bios.Row]:
        """One run of the action with state: applied."""
        with self.client() as client:
            return bios_staging.prove(self.desk(client), wishes, job)

    def read(self) -> dict[str, Any]:  # type: ignore[override]
        """One run of the action with state: read."""
        with self.client() as client:
            return bios_staging.shown(self.desk(client))

    def set(self, wishes: dict[str, Any], **more: Any) -> list[bios.Row]:
        """Stage, reboot, prove."""
        _plan, job = self.stage(wishes, **more)
        self.bmc.power("ForceRestart")
        return self.prove(wishes, job)

    def patches(self) -> int:
        """So many PATCHes arrived."""
        return sum(method == "PATCH" for method, _path, _status in self.bmc.exchanges)


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
