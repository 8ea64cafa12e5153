# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam to sushy: what is said where it is missing, and each request sent once, straight, and no further."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import client, connection
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import LOST, Answer, BmcError

DOOR = connection.Door("bmc.example", "root", "tweety", attempts=3, pause=1.0)


def test_a_controller_without_sushy_is_told_what_to_install_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sushy", None)
    with pytest.raises(BmcError, match=r"pip install 'sushy>=.*'") as caught:
        connection.library()
    assert (caught.value.code, "\n" in str(caught.value)) == ("library_missing", False)
    connection.prepare()


def test_a_door_never_shows_who_we_are():
    assert "tweety" not in repr(DOOR)
    assert "root" not in repr(DOOR)


class Base:
    """What sushy's connector does with a request."""

    def __init__(self):
        self._session = type("Session", (), {"trust_env": True, "headers": {}})()
        self.seen = []

    def _op(self, method, path, **more):
        self.seen.append((method, path, more))


def test_a_request_is_sent_once_without_proxy_redirect_or_second_login():
    made = connection.once(Base, None)()
    made._op("POST", "/x", data={}, server_side_retries_left=9, allow_reauth=True)
    never = {"server_side_retries_left": 0, "allow_redirects": False, "allow_reauth": False}
    assert made.seen == [("POST", "/x", {"data": {}, **never})]
    assert made._session.trust_env is False


class Bare(client.Client):
    """A client whose BMC is a list of answers."""

    def __init__(self, *answers):
        self.door, self.waits, self._answers = DOOR, [], list(answers)
        self.sleep = self.waits.append

    def look(self, path):
        """The next answer."""
        return self._answers.pop(0)


@pytest.mark.parametrize(
    ("answers", "waits"),
    [
        ([Answer(200, {"Id": "1"})], 0),
        ([Answer(LOST), Answer(503), Answer(200, {"Id": "1"})], 2),
        ([Answer(308, None, {"Location": "https://other.example/redfish/v1/x/"}), Answer(200, {"Id": "1"})], 0),
    ],
)
def test_a_question_is_asked_again_through_silence_and_5xx(answers, waits):
    here = Bare(*answers)
    assert (here.get("/x"), here.waits) == ({"Id": "1"}, [1.0] * waits)


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([Answer(LOST)] * 3, "bmc_unreachable"),
        ([Answer(404)], "not_there"),
        ([Answer(403, {"error": {"message": "Not licensed to perform this request"}})], "license_missing"),
        ([Answer(200, None, why="null")], "refused"),
    ],
)
def test_a_question_without_an_answer_is_an_error_with_a_word(answers, code):
    with pytest.raises(BmcError) as caught:
        Bare(*answers).get("/x")
    assert caught.value.code == code


@pytest.mark.parametrize("address", ["http://bmc.example", "ftp://bmc.example"])
def test_a_password_is_never_sent_over_a_plain_line(address):
    here = Bare()
    here.door = connection.Door(address, "root", "tweety")
    with pytest.raises(BmcError, match="not_https"):
        here.open()


def test_a_ca_that_is_not_there_is_told():
    here = Bare()
    here.door = connection.Door("bmc.example", "root", "tweety", ca="/no/such/ca.pem")
    with pytest.raises(BmcError, match="no_ca"):
        here.open()


def test_the_etag_is_the_headers_and_else_the_bodys_b05():
    body = {"Id": "1", "@odata.etag": 'W/"2"'}
    assert Bare(Answer(200, body, {"etag": 'W/"1"'})).tagged("/x")[1] == 'W/"1"'
    assert Bare(Answer(200, body)).tagged("/x")[1] == 'W/"2"'
