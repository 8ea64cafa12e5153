# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BMCs behind real sockets: TLS by the fleet's own CA, a restart that refuses connections, answers that get lost."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simfleet.bmc.fleet import Bmcs
from simfleet.bmc.profile import parse_bmc

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the BMCs' certificate is made by openssl")
QUICK = {"restart_seconds": 0.2, "task_seconds": 0.1}


class Site:
    """Two BMCs on this machine's own address, at ports of their own."""

    def __init__(self, state: Path) -> None:
        self.state, self.bmcs = state, Bmcs(state)
        self.bmcs.serve([(parse_bmc("bmc", QUICK, name), "127.0.0.1") for name in ("n1", "n2")], port=0)
        self.context = ssl.create_default_context(cafile=str(state / "bmc-ca.pem"))
        coded = base64.b64encode(f"{self.bmcs.user}:{self.bmcs.password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {coded}", "Content-Type": "application/json"}

    def ask(self, node: str, path: str, body: Any = None, context: ssl.SSLContext | None = None) -> Any:
        assert self.bmcs.wire is not None
        url = f"https://127.0.0.1:{self.bmcs.wire.doors[node].port}{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, self.headers)
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context or self.context))
        with opener.open(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("bmcs"))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it did not come to it in time"
        time.sleep(0.02)


def test_the_certificate_is_good_for_the_fleets_ca_and_for_nobody_else(site: Site) -> None:
    assert site.ask("n1", "/redfish/v1/Systems")["Members@odata.count"] == 1
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        site.ask("n1", "/redfish/v1/Systems", context=ssl.create_default_context())


def test_the_credentials_are_for_their_owner_alone(site: Site) -> None:
    assert (site.state / "bmc-credentials.yml").stat().st_mode & 0o777 == 0o600


def _refused(site: Site, node: str) -> bool:
    try:
        site.ask(node, "/redfish/v1")
    except urllib.error.URLError as error:
        return isinstance(error.reason, ConnectionRefusedError)
    except ConnectionError:
        return False  # it was taken, and closed: the BMC is on its way down
    return False


def test_a_bmc_that_restarts_refuses_connections_and_comes_back_and_its_neighbour_does_not_care(site: Site) -> None:
    site.ask("n1", "/redfish/v1/Managers/bmc/Actions/Manager.Reset", {"ResetType": "ForceRestart"})
    until(lambda: _refused(site, "n1"))
    assert not _refused(site, "n2")
    until(lambda: not _refused(site, "n1"))
    assert site.bmcs.answer({"op": "status", "node": "n1"})["restarts"] == 1


def test_a_lost_answer_is_a_closed_connection(site: Site) -> None:
    site.bmcs.answer({"op": "quirk", "node": "n2", "quirk": "connection_drops", "with": {"every": 1}})
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        site.ask("n2", "/redfish/v1")
    assert site.bmcs.answer({"op": "clear_quirk", "node": "n2"}) == {"cleared": 1}
    assert site.ask("n2", "/redfish/v1")["Id"] == "RootService"


def test_what_was_asked_stands_in_the_log_of_its_bmc(site: Site) -> None:
    before = len((site.state / "bmc/n2.log").read_text(encoding="utf-8").splitlines())
    site.ask("n2", "/redfish/v1/Chassis")
    last = (site.state / "bmc/n2.log").read_text(encoding="utf-8").splitlines()[-1]
    assert last == f"{before + 1} GET /redfish/v1/Chassis 200"
