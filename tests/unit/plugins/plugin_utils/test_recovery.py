# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller does about a silent node: it knocks at the port, and runs the site's command, without a shell."""

from __future__ import annotations

import socket
import sys

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import recovery
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import Recovered


def _program(text):
    return [sys.executable, "-c", text, "{node}"]


@pytest.fixture(name="port")
def _port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_takes_connections_answers_f03(port):
    assert recovery.port_answers("127.0.0.1", port, ["-o ControlMaster=auto", None]) is True


def test_a_port_that_nobody_listens_at_does_not_answer():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert recovery.port_answers("127.0.0.1", taken.getsockname()[1], []) is False


@pytest.mark.parametrize("option", ["-o ProxyJump=bastion", "-J bastion", "-oproxycommand='nc %h %p'"])
def test_behind_a_jump_host_a_port_says_nothing(port, option):
    assert recovery.port_answers("127.0.0.1", port, ["", option]) is None


def test_a_connection_that_shares_no_socket_says_so_before_all_else_f04():
    assert recovery.unshared("-o ControlPersist=60s") == "-o ControlMaster=no -o ControlPath=none -o ControlPersist=60s"
    assert recovery.unshared(None) == "-o ControlMaster=no -o ControlPath=none"


def test_the_command_gets_the_name_of_the_node_as_one_argument(tmp_path):
    program = "import sys, pathlib; pathlib.Path(sys.argv[2]).write_text(sys.argv[1])"
    assert recovery.run_command([*_program(program), str(tmp_path / "said")], "g01; rm -rf x") == ""
    assert (tmp_path / "said").read_text() == "g01; rm -rf x"


@pytest.mark.parametrize(
    "command, seen",
    [
        (_program("print('no route to bmc'); raise SystemExit(3)"), "ended with status 3: no route to bmc"),
        (_program("import time; time.sleep(60)"), "did not end within 0 s and was ended"),
        (["/nowhere/power", "{node}"], "/nowhere/power cannot be run: No such file or directory"),
        (_program("print('http://me:hunter2@bmc'); raise SystemExit(1)"), "ended with status 1"),
    ],
    ids=["fails", "hangs", "missing", "secret"],
)
def test_a_command_that_fails_is_told_with_its_words(command, seen):
    said = recovery.run_command(command, "g01", seconds=0.2 if "sleep" in str(command) else 60)
    assert seen in said
    assert "hunter2" not in said


def test_what_the_command_left_running_is_ended_with_it():
    child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    assert "was ended" in recovery.run_command(_program(f"{child}; time.sleep(60)"), "g01", seconds=0.5)


def test_nothing_is_done_unless_the_policy_says_so():
    for policy in ({}, {"reboot_recovery": "none"}):
        assert recovery.chosen(policy, "g01", lambda kind, act: act(), lambda: pytest.fail("asked")) is None


def test_the_command_of_the_policy_is_run_where_it_is_written_down():
    policy = {"reboot_recovery": "command", "reboot_recovery_command": _program("raise SystemExit(4)")}
    recover = recovery.chosen(policy, "g01", lambda kind, act: (kind, act()), lambda: pytest.fail("asked"))
    kind, came = recover()
    assert (kind, "status 4" in came.failed) == ("command", True)


def test_the_bmc_is_asked_where_the_policy_says_so():
    recover = recovery.chosen({"reboot_recovery": "bmc"}, "g01", lambda *both: both, lambda: Recovered(told="On"))
    kind, act = recover()
    assert (kind, act()) == ("bmc", ("", "On"))


def test_the_boot_id_of_this_machine_is_read_where_it_has_one_f24(tmp_path):
    (tmp_path / "boot_id").write_text("aaaa\n")
    assert recovery.own_boot_id(str(tmp_path / "boot_id")) == "aaaa"
    assert recovery.own_boot_id(str(tmp_path / "none")) is None
