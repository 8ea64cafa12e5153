# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alert gates: only a clear no passes; whatever could not be told is unknown; a token is shown to nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import alert_gates, alerts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import PolicyError, load_policy

TOKEN = "s3cr3t-t0ken"
HOT = {"metric": {"alertname": "GpuHot", "instance": "g01", "alertstate": "firing"}, "value": [1, "1"]}


def vector(*samples, **more):
    return {"status": "success", "data": {"resultType": "vector", "result": list(samples)}, **more}


def answer_of(document):
    return document if isinstance(document, bytes) else json.dumps(document).encode()


class Monitoring(BaseHTTPRequestHandler):
    """Answers with ``server.status`` and ``server.body``, as slowly as it is told to; keeps what it was asked."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.server.go_on.wait(self.server.delay)
        self.send_response(self.server.status)
        for name, value in self.server.more_headers.items():
            self.send_header(name, value)
        self.end_headers()
        echoed = (self.headers.get("Authorization") or "").encode()
        self.wfile.write(self.server.body.replace(b"ECHO", echoed))

    def log_message(self, *args):
        pass


def certificate(folder, name):
    """A key and a certificate for the loopback address that is its own authority."""
    made = [folder / f"{name}.{kind}" for kind in ("key", "pem")]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*command, "-keyout", made[0], "-out", made[1], "-subj", "/CN=localhost", "-days", "2",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("tls")
    return {name: certificate(folder, name) for name in ("right", "wrong")}


@pytest.fixture
def monitoring(certificates, monkeypatch):
    """A monitoring system behind HTTPS; ``gate`` makes a gate that asks it and trusts its authority."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Monitoring)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key, chain = certificates["right"]
    context.load_cert_chain(chain, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.status, server.body, server.delay, server.more_headers = 200, answer_of(vector()), 0, {}
    server.asked, server.go_on, server.ca = [], threading.Event(), str(chain)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()


def asked(server, **more):
    """What the gate says of this server, with these keys besides."""
    address = f"https://127.0.0.1:{server.server_port}"
    gate = {"name": "hot", "prometheus": address, "query": "ALERTS", "ca": server.ca, "timeout_seconds": 5, **more}
    return alerts.ask(load_policy({"alert_gates": [gate]}))


def token_file(folder, mode=0o600, text=TOKEN + "\n"):
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_policy_without_gates_asks_nobody():
    assert alerts.ask(load_policy(None)) is None
    assert alerts.ask({}) is None


def test_an_empty_vector_passes_and_the_query_arrives_as_it_was_written(monitoring):
    assert asked(monitoring, query='ALERTS{severity="page"} > 0') is None
    path, authorization = monitoring.asked[0]
    assert path == "/api/v1/query?query=ALERTS%7Bseverity%3D%22page%22%7D%20%3E%200"
    assert authorization is None


def test_an_alert_refuses_by_the_name_of_its_gate_and_its_labels(monitoring):
    monitoring.body = answer_of(vector(HOT))
    code, seen, _wanted, fix = asked(monitoring)
    assert (code, seen) == ("alert_firing", "alert gate hot is firing: GpuHot{instance=g01}")
    assert "run the same command again" in fix


@pytest.mark.parametrize(
    ("status", "body", "seen"),
    [
        (500, b"oops", "HTTP 500"),
        (503, {"status": "error", "error": "overloaded"}, r"HTTP 503 \(overloaded\)"),
        (302, b"", "HTTP 302"),
        (204, b"", "HTTP 204"),
        (200, b"<html>", "no JSON of a query"),
        (200, b"[" * 100_000, "no JSON of a query"),
        (200, [], "no JSON of a query"),
        (200, {"status": "error", "error": "parse error"}, "parse error"),
        (200, vector(warnings=["store 3 did not answer"]), "partial one .*store 3"),
        (200, {"status": "success", "data": {"resultType": "scalar", "result": [1, "0"]}}, "a scalar"),
        (200, {"status": "success", "data": {"resultType": "matrix", "result": []}}, "a matrix"),
        (200, {"status": "success", "data": {"resultType": "vector", "result": None}}, "a vector"),
        (200, {"status": "success"}, "a None"),
    ],
)
def test_an_answer_that_says_neither_yes_nor_no_is_unknown_and_refuses(monitoring, status, body, seen):
    monitoring.status, monitoring.body = status, answer_of(body)
    monitoring.more_headers = {"Location": "https://127.0.0.1:1/"} if status == 302 else {}
    assert_unknown(asked(monitoring), seen)


def assert_unknown(refusal, seen):
    assert refusal is not None
    assert refusal[0] == "alert_unknown"
    assert re.search(seen, refusal[1]), refusal[1]


def test_an_answer_longer_than_any_is_not_read_to_its_end(monitoring, monkeypatch):
    monkeypatch.setattr(alerts, "MOST_BYTES", 1000)
    monitoring.body = answer_of(vector(*[HOT] * 1000))
    assert_unknown(asked(monitoring), "longer than 1000 bytes")


def test_no_answer_in_time_is_unknown(monitoring):
    monitoring.delay = 30
    assert_unknown(asked(monitoring, timeout_seconds=1), "no answer within 1 s")


def test_an_authority_that_is_not_trusted_is_unknown_and_the_token_is_not_sent(monitoring, certificates, tmp_path):
    wrong = str(certificates["wrong"][1])
    assert_unknown(asked(monitoring, ca=wrong, token_file=token_file(tmp_path)), "certificate")
    assert monitoring.asked == []


def test_an_authority_that_is_not_there_is_unknown(monitoring, tmp_path):
    assert_unknown(asked(monitoring, ca=str(tmp_path / "none.pem")), "No such file")


def test_nobody_at_the_address_is_unknown(monitoring):
    assert_unknown(asked(monitoring, prometheus="https://127.0.0.1:1"), "refused")


def test_a_token_is_sent_as_a_bearer_and_not_where_a_redirect_leads(monitoring, tmp_path):
    own = f"https://127.0.0.1:{monitoring.server_port}"
    assert asked(monitoring, token_file=token_file(tmp_path)) is None
    monitoring.status, monitoring.more_headers = 302, {"Location": f"{own}/elsewhere"}
    assert_unknown(asked(monitoring, token_file=token_file(tmp_path)), "HTTP 302")
    assert {authorization for _path, authorization in monitoring.asked} == {f"Bearer {TOKEN}"}
    assert not [path for path, _authorization in monitoring.asked if path == "/elsewhere"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"status": "error", "error": "I do not know ECHO"}),
        (200, {"status": "error", "error": "ECHO"}),
        (200, vector({"metric": {"alertname": "ECHO"}})),
        (200, vector(warnings=["ECHO"])),
    ],
)
def test_a_token_that_the_server_says_back_is_not_shown(monitoring, tmp_path, status, body):
    monitoring.status, monitoring.body = status, answer_of(body)
    refusal = asked(monitoring, token_file=token_file(tmp_path))
    assert TOKEN not in str(refusal)
    assert "***" in refusal[1]


@pytest.mark.parametrize(
    ("mode", "text", "seen"),
    [(0o644, TOKEN, "mode 0644"), (0o660, TOKEN, "mode 0660"), (0o600, "", "no token"),
     (0o600, f"{TOKEN}\nX-Evil: 1", "no token"), (0o600, f"{TOKEN}\u00e9", "not ASCII")],
)  # fmt: skip
def test_a_token_that_is_none_or_that_others_may_read_is_not_sent(monitoring, tmp_path, mode, text, seen):
    refusal = asked(monitoring, token_file=token_file(tmp_path, mode, text))
    assert_unknown(refusal, seen)
    assert TOKEN not in str(refusal)
    assert monitoring.asked == []


def test_a_token_file_that_is_not_there_is_unknown(monitoring, tmp_path):
    assert_unknown(asked(monitoring, token_file=str(tmp_path / "none")), "cannot be read from .*No such file")


def test_the_first_alerts_are_named_and_the_others_counted():
    names = [{"metric": {"alertname": f"A{number}"}} for number in range(7)]
    verdict = alert_gates.of_prometheus(200, answer_of(vector(*names)))
    assert verdict == ("firing", "A0, A1, A2, A3, A4 and 2 more")


@pytest.mark.parametrize("odd", [None, 7, "x", {}, {"metric": None}, {"metric": {"alertname": None}}])
def test_a_sample_of_any_form_is_an_alert(odd):
    assert alert_gates.of_prometheus(200, answer_of(vector(odd))).is_ == "firing"


def run(*command, timeout=20):
    gate = {"name": "script", "command": list(command), "timeout_seconds": timeout}
    return alerts.ask(load_policy({"alert_gates": [gate]}))


def python(text):
    return sys.executable, "-c", text


def test_a_command_with_status_0_passes():
    assert run(*python("print('all well')")) is None


def test_a_command_with_status_1_is_firing_with_what_it_says():
    code, seen, *_more = run(*python("print('disk\\x1b[2J full\\n\\non g07'); raise SystemExit(1)"))
    assert (code, seen) == ("alert_firing", "alert gate script is firing: disk [2J full; on g07")


@pytest.mark.parametrize(
    ("text", "seen"), [("raise SystemExit(2)", "status 2"), ("import os; os.kill(os.getpid(), 9)", "signal 9")]
)
def test_a_command_that_ends_otherwise_is_unknown(text, seen):
    assert_unknown(run(*python(text)), seen)


def test_a_command_that_is_not_there_is_unknown():
    assert_unknown(run("/no/such/program"), "cannot be run: No such file")


def test_no_shell_reads_a_command(tmp_path):
    assert run(*python("raise SystemExit(__import__('sys').argv[1] != '; exit 1')"), "; exit 1") is None


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_began(tmp_path):
    told = tmp_path / "pid"
    child = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    assert_unknown(run("/bin/sh", "-c", f'{sys.executable} -c "{child}" & wait', timeout=2), "longer than 2 s")
    assert has_ended(int(told.read_text()))


def has_ended(pid):
    """True once the process is gone, or only waits for its parent to notice."""
    for _try in range(100):
        try:
            with open(f"/proc/{pid}/stat") as stream:
                if stream.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def test_the_first_gate_that_does_not_pass_is_told_and_no_other_is_asked(tmp_path):
    gates = [{"name": str(n), "command": ["/bin/sh", "-c", f"echo >> {tmp_path}/{n}; exit {n}"]} for n in (0, 2, 1)]
    assert_unknown(alerts.ask(load_policy({"alert_gates": gates})), "alert gate 2 ")
    assert sorted(os.listdir(tmp_path)) == ["0", "2"]


GATE = {"name": "hot", "prometheus": "https://monitoring:9090", "query": "ALERTS"}
ADDRESS = "alert_gates[0].prometheus"


@pytest.mark.parametrize(
    ("change", "where", "seen"),
    [
        ({"querry": "x"}, "alert_gates[0].querry", "'query' (nearest)"),
        ({"prometheus": None, "prometeus": "x"}, "alert_gates[0].prometeus", "'prometheus' (nearest)"),
        ({"prometheus": None}, "alert_gates[0]", "has nothing to ask"),
        ({"command": ["x"]}, "alert_gates[0]", "has prometheus and command"),
        ({"query": None}, "alert_gates[0].query", "is missing"),
        ({"query": "  "}, "alert_gates[0].query", "is empty"),
        ({"name": None}, "alert_gates[0].name", "is missing"),
        ({"timeout_seconds": 0}, "alert_gates[0].timeout_seconds", "is 0"),
        ({"timeout_seconds": 301}, "alert_gates[0].timeout_seconds", "1 to 300"),
        ({"prometheus": "monitoring:9090"}, ADDRESS, "https://prometheus.example:9090"),
        ({"prometheus": "file:///etc/passwd"}, ADDRESS, "https://prometheus.example:9090"),
        ({"prometheus": "https://h:99999"}, ADDRESS, "https://prometheus.example:9090"),
        ({"prometheus": "https://[::1"}, ADDRESS, "https://prometheus.example:9090"),
        ({"prometheus": "https://anna:pw@h"}, ADDRESS, "holds credentials"),
        ({"prometheus": "https://h/?a=b"}, ADDRESS, "more than a path"),
        ({"prometheus": "http://h", "token_file": "/t"}, ADDRESS, "in the clear"),
        ({"ca": "ca.pem"}, "alert_gates[0].ca", "begins with /"),
        ({"token_file": "token"}, "alert_gates[0].token_file", "begins with /"),
        ({"prometheus": None, "query": None, "command": []}, "alert_gates[0].command", "is empty"),
        ({"prometheus": None, "query": None, "command": ["x"], "ca": "/x"}, "alert_gates[0].ca", "not a key"),
    ],
)
def test_a_gate_that_cannot_be_meant_is_refused_with_its_place(change, where, seen):
    gate = {key: value for key, value in {**GATE, **change}.items() if value is not None}
    with pytest.raises(PolicyError) as caught:
        load_policy({"alert_gates": [gate]})
    assert caught.value.subject == f"fleet_policy: {where}"
    assert seen in str(caught.value)
    assert "anna:pw" not in str(caught.value)


def test_a_name_twice_and_more_gates_than_eight_are_refused():
    with pytest.raises(PolicyError, match=r"alert_gates\[1\].name: is 'hot' a second time"):
        load_policy({"alert_gates": [GATE, GATE]})
    with pytest.raises(PolicyError, match="has 9 gates"):
        load_policy({"alert_gates": [{**GATE, "name": str(number)} for number in range(9)]})


def test_a_gate_has_its_defaults_and_nothing_that_was_not_said():
    assert load_policy({"alert_gates": [GATE]})["alert_gates"] == [{**GATE, "timeout_seconds": 30}]
