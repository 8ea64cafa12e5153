# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task over a connection that a test plays: it ends as failed with a diagnosis, whatever the connection raises."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.fleetops.instinct.plugins.action.node_reboot import ActionModule
from ansible_collections.fleetops.instinct.plugins.plugin_utils import boot, recovery
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted

ARGS = {
    "timeout": 0.2, "kernel": "", "command": "shutdown -r now", "poll": 0.01, "answers": 2, "policy": None,
    "rollout": None, "order": True,
}  # fmt: skip
OLD, NEW = ("aaaa\n9000.0 1\n6.1\n", "bbbb\n3.0 1\n6.1\n")
TEMPLAR = SimpleNamespace(template=lambda value: value)
LOST = AnsibleConnectionFailure("Failed to connect to the host via ssh: Connection refused")


class Connection:
    """A connection whose socket of before the reboot stays stale; it keeps what it was told."""

    transport, host = "ssh", "127.0.0.1"

    def __init__(self):
        self.options = {"ssh_args": "-o ControlPersist=60s", "host": "127.0.0.1", "port": 1}

    def reset(self):
        raise AnsibleConnectionFailure("no socket")

    def get_option(self, name):
        return self.options.get(name)

    def set_option(self, name, value):
        self.options[name] = value


@pytest.fixture(name="task")
def _task(monkeypatch):
    """A function that runs the task: what the node answers to each kind of command, an error to be raised or a text."""

    def run(first, then, ordered="", transport="ssh", checking=False, own="ffff", bmc=None, **args):
        monkeypatch.setattr(recovery, "own_boot_id", lambda: own)
        connection, said = Connection(), []
        connection.transport = transport
        module = ActionModule(SimpleNamespace(check_mode=checking), connection, None, None, TEMPLAR, None)

        def execute(command, sudoable=True):
            said.append(command)
            answer = ordered if command == "shutdown -r now" else first if len(said) == 1 else then
            answer = answer(connection) if callable(answer) else answer
            if isinstance(answer, Exception):
                raise answer
            return {"rc": 0 if command != boot.READ_JOURNAL else 127, "stdout": answer, "stderr": ""}

        monkeypatch.setattr(module, "_low_level_execute_command", execute)
        host = {"inventory_hostname": "g01", **({"fleet_bmc_address": bmc} if bmc else {})}
        return module.act({**ARGS, **args}, host), said

    return run


def test_a_node_that_comes_back_is_rebooted(task):
    told, said = task(OLD, NEW, ordered=LOST)
    assert (told["rebooted"], told["diagnosis"], told["kernel_planned"]) == (True, "rebooted", None)
    assert said.count("shutdown -r now") == 1


@pytest.mark.parametrize(
    "first, then, word",
    [(OLD, LOST, "never_back"), (OLD, OLD, "ignored"), (LOST, LOST, "no_answer"), ("odd", "odd", "no_answer")],
    ids=["silent", "ignores", "unreachable before", "odd answer before"],
)
def test_a_node_that_is_lost_fails_and_is_never_unreachable_so_that_a_rescue_runs_f05(task, first, then, word):
    with pytest.raises(NotRebooted) as caught:
        task(first, then)
    assert caught.value.diagnosis == word


def test_the_last_probe_shares_no_socket_with_those_before_f04(task):
    def answer(connection):
        return NEW if "ControlPath=none" in connection.options["ssh_args"] else LOST

    told, _said = task(OLD, answer)
    assert told["boot_id"] == "bbbb"


@pytest.mark.parametrize("transport, own", [("ssh", "aaaa"), ("local", None)])
def test_nothing_is_ordered_on_the_controller_itself_f24(task, transport, own):
    with pytest.raises(NotRebooted, match="it is the controller itself"):
        task(OLD, NEW, ordered=AssertionError("the order was given"), transport=transport, own=own)


def test_a_node_is_waited_for_without_an_order(task):
    told, said = task(LOST, NEW, order=False)
    assert told == {"changed": False, "rebooted": False, "boot_id": "bbbb", "kernel": "6.1", "recovered": False}
    assert set(said) == {boot.READ}


def test_a_rehearsal_orders_nothing(task):
    told, said = task(OLD, NEW, checking=True)
    assert (told["rebooted"], said) == (False, [boot.READ])


def test_a_silent_node_whose_bmc_nobody_knows_ends_as_without_its_recovery_and_both_are_told(task):
    with pytest.raises(NotRebooted) as caught:
        task(OLD, LOST, policy={"reboot_recovery": "bmc"})
    assert caught.value.diagnosis == "never_back"
    assert "did not come back within" in str(caught.value)
    assert "its recovery failed: g01: nothing says how to reach its BMC: fleet_bmc_address" in str(caught.value)


def test_a_variable_of_the_bmc_that_stands_for_nothing_is_no_other_end_of_the_node(task, monkeypatch):
    def undefined(_value):
        raise AnsibleError("'vault_bmc' is undefined")

    monkeypatch.setattr(TEMPLAR, "template", undefined)
    with pytest.raises(NotRebooted, match="its recovery failed: a variable of the host: 'vault_bmc' is undefined"):
        task(OLD, LOST, policy={"reboot_recovery": "bmc"}, bmc="{{ vault_bmc }}")
