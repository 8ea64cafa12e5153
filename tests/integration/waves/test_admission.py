# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task that does stop a rollout: every node of a wave asks the ledger first, and is refused while one is lost."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.fleetops.instinct.tests.integration.waves.wave_lab import (
    HERE,
    HOSTS,
    KEYWORDS,
    inventory,
    run_playbook,
)

FIRST, SECOND, THIRD = HOSTS[:3], HOSTS[3:6], HOSTS[6:9]
NODES = [*FIRST, *SECOND, *THIRD]
BAD = SECOND[1]
BELTS = ["none", "max_fail_percentage"]
# Without the belt the exit status is that of the unreachable node; it never reads as success.
STATUS = {("none", "unreachable"): 4}


def local(name: str, command: str) -> dict:
    """A task of the controller; raw keeps a run of nine nodes under a second."""
    return {"name": name, "ansible.builtin.raw": command, "delegate_to": "localhost"}


def gated_play(belt: str) -> list[dict]:
    """Waves of three: admission, the change with a rescue that records and fails again, the terminal record."""
    ledger = f"{sys.executable} {HERE / 'ledger.py'} {{{{ ledger }}}}"
    act = {"name": "act", "ansible.builtin.raw": "{{ act }}"}
    again = {"name": "refail", "ansible.builtin.raw": "false"}
    keep = {"name": "always", "ansible.builtin.debug": {"msg": "always"}}
    move = {"name": "move", "block": [act], "rescue": [again], "always": [keep]}
    admit = local("admit", f"{ledger} admit {{{{ inventory_hostname }}}} {{{{ wave }}}}")
    finish = local("finish", f"{ledger} finish {{{{ inventory_hostname }}}}")
    return [
        {
            "name": "wave",
            "hosts": "all",
            "gather_facts": False,
            "serial": 3,
            **KEYWORDS[belt],
            "tasks": [admit, move, finish],
        }
    ]


@pytest.fixture(params=BELTS)
def rollout(tmp_path, request):
    """Runs the gated rollout with a node of the second wave bad in some way, or none."""

    def run(how: str):
        hosts = inventory(BAD, how, NODES)
        for number, name in enumerate(NODES):
            hosts["all"]["hosts"][name]["wave"] = 1 + number // 3
        hosts["all"]["hosts"]["localhost"] = {"ansible_connection": "local"}
        play = gated_play(request.param)
        play[0]["hosts"] = "all:!localhost"
        return run_playbook(tmp_path, play, hosts, ledger=str(tmp_path / "ledger"))

    return run


@pytest.mark.parametrize("how", ["failed", "unreachable"])
def test_the_third_wave_is_not_touched_after_a_bad_node_in_the_second(rollout, how):
    run = rollout(how)
    assert run.hosts("admit", "failed") == THIRD, run.output
    assert set(run.touched("act")).isdisjoint(THIRD)


@pytest.mark.parametrize("how", ["failed", "unreachable"])
def test_the_healthy_nodes_of_the_bad_wave_finish(rollout, how):
    run = rollout(how)
    assert run.hosts("finish") == sorted({*FIRST, *SECOND} - {BAD}), run.output


@pytest.mark.parametrize("how", ["failed", "unreachable"])
def test_a_stopped_rollout_has_the_status_of_a_failure(rollout, how, request):
    belt = request.node.callspec.params["rollout"]
    assert rollout(how).rc == STATUS.get((belt, how), 2)


def test_a_clean_rollout_runs_every_wave_and_ends_with_status_0(rollout):
    run = rollout("none")
    assert (run.rc, run.hosts("finish")) == (0, NODES), run.output
