# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A BMC without a socket and with a clock that a test turns."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from simfleet.bmc.agenda import Agenda
from simfleet.bmc.machine import Bmc, NoHost
from simfleet.bmc.messages import Request, Response
from simfleet.bmc.profile import parse_bmc
from simfleet.bmc.routes import answer

TIMES = {"task_seconds": 10, "restart_seconds": 20, "post_seconds": 5}


class Desk:
    """One BMC, whoever asks it, and the time."""

    def __init__(self, profile: str = "openbmc", *quirks: Any, **machine: Any) -> None:
        self.now = 0.0
        spec = parse_bmc("bmc", {"profile": profile, "quirks": list(quirks), **TIMES}, "n1", **machine)
        self.bmc = Bmc(spec, Agenda(lambda: self.now), NoHost(), "admin", "secret")
        self.reachable_at: list[tuple[float, bool]] = []
        self.bmc.on_change = lambda bmc: self.reachable_at.append((self.now, bmc.reachable))

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        if "x-auth-token" not in given:
            given.setdefault("authorization", "Basic " + base64.b64encode(b"admin:secret").decode())
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        return answer(self.bmc, Request(method, path, dict([query.split("=")] if query else []), given, data))

    def get(self, path: str) -> dict[str, Any]:
        response = self.ask("GET", path)
        assert response.status in (200, 202), response.body
        return response.body

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += 0.25
            self.bmc.agenda.run_due()

    def push(self, image: bytes, oem: bool = False, **parameters: Any) -> Response:
        parts = [("UpdateParameters", json.dumps(parameters).encode())]
        parts += [("OemParameters", b'{"ImageType": "BIOS"}')] if oem else []
        rows = b"".join(
            b'--xx\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), data)
            for name, data in [*parts, ("UpdateFile", image)]
        )
        service = self.get("/redfish/v1/UpdateService")
        kind = "multipart/form-data; boundary=xx"
        return self.ask("POST", service["MultipartHttpPushUri"], rows + b"--xx--\r\n", content_type=kind)

    def task(self, response: Response) -> dict[str, Any]:
        return self.get(response.headers["Location"])

    def settings(self) -> str:
        bios = self.get(self.get(self.bmc.uri("system"))["Bios"]["@odata.id"])
        return str(bios["@Redfish.Settings"]["SettingsObject"]["@odata.id"])

    def stage(self, values: dict[str, Any], apply_time: str | None = None) -> Response:
        body: dict[str, Any] = {"Attributes": values}
        if apply_time:
            body["@Redfish.SettingsApplyTime"] = {"ApplyTime": apply_time}
        tag = self.ask("GET", self.settings()).headers["ETag"]
        return self.ask("PATCH", self.settings(), body, if_match=tag)

    def reset(self, kind: str) -> None:
        path = self.bmc.uri("system") + "/Actions/ComputerSystem.Reset"
        assert self.ask("POST", path, {"ResetType": kind}).status == 204
        self.run(0.5)

    def attributes(self) -> dict[str, Any]:
        return dict(self.get(f"{self.bmc.uri('system')}/Bios")["Attributes"])

    def version(self, key: str) -> Any:
        return self.get(self.bmc.inventory_uri(self.bmc.components[key])).get("Version")


@pytest.fixture
def desk() -> type[Desk]:
    """The class: a test makes the BMC that it needs."""
    return Desk
