# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task that does stop a rollout: a wave asks the ledger first, and is refused while a node is lost.

Two forms of it: every node asks for itself, or one asks for all of the wave (run_once).
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.tests.integration.waves.wave_lab import (
    HERE,
    HOSTS,
    KEYWORDS,
    Run,
    inventory,
    run_playbook,
)

FIRST, SECOND, THIRD = HOSTS[:3], HOSTS[3:6], HOSTS[6:9]
LAST = HOSTS[9:]
BAD = SECOND[1]
BELTS = ["none", "max_fail_percentage"]
ASKING = {"each": "{{ inventory_hostname }}", "once": "{{ ansible_play_batch | join(',') }}"}
# Without the belt the exit status is that of the unreachable node; it never reads as success.
STATUS = {("none", "unreachable"): 4}


def local(name: str, command: str) -> dict:
    """A task of the controller; raw keeps a whole run within seconds."""
    return {"name": name, "ansible.builtin.raw": command, "delegate_to": "localhost"}


def gated_play(belt: str, asking: str) -> list[dict]:
    """Waves of three: admission, the change with a rescue that records and fails again, the terminal record."""
    ledger = f"{sys.executable} {HERE / 'ledger.py'} {{{{ ledger }}}}"
    act = {"name": "act", "ansible.builtin.raw": "{{ act }}"}
    again = {"name": "refail", "ansible.builtin.raw": "false"}
    keep = {"name": "always", "ansible.builtin.debug": {"msg": "always"}}
    move = {"name": "move", "block": [act], "rescue": [again], "always": [keep]}
    admit = local("admit", f"{ledger} admit {ASKING[asking]} {{{{ wave }}}}") | {"run_once": asking == "once"}
    finish = local("finish", f"{ledger} finish {{{{ inventory_hostname }}}}")
    return [
        {
            "name": "wave",
            "hosts": "all:!localhost",
            "gather_facts": False,
            "serial": 3,
            **KEYWORDS[belt],
            "tasks": [admit, move, finish],
        }
    ]


def run_gated(folder: Path, belt: str, asking: str, how: str) -> Run:
    """Run the gated rollout with a node of the second wave bad in some way, or none."""
    hosts = inventory(BAD, how, HOSTS)
    for number, name in enumerate(HOSTS):
        hosts["all"]["hosts"][name]["wave"] = 1 + number // 3
    hosts["all"]["hosts"]["localhost"] = {"ansible_connection": "local"}
    return run_playbook(folder, gated_play(belt, asking), hosts, ledger=str(folder / "ledger"))


@pytest.fixture(scope="module", params=list(itertools.product(BELTS, ASKING, ["failed", "unreachable"])), ids="-".join)
def stopped(tmp_path_factory, request):
    """A rollout with a bad node, run once for every test of its form; and its form."""
    return run_gated(tmp_path_factory.mktemp("stopped"), *request.param), request.param


def test_no_later_wave_is_touched_after_a_bad_node_in_the_second(stopped):
    run, _form = stopped
    refused = set(run.hosts("admit", "failed"))
    assert refused, run.output
    assert refused <= set(THIRD)
    assert set(run.touched("act")).isdisjoint({*THIRD, *LAST})


def test_the_healthy_nodes_of_the_bad_wave_finish(stopped):
    run, _form = stopped
    assert run.hosts("finish") == sorted({*FIRST, *SECOND} - {BAD}), run.output


def test_a_stopped_rollout_has_the_status_of_a_failure(stopped):
    run, (belt, _asking, how) = stopped
    assert run.rc == STATUS.get((belt, how), 2), run.output


@pytest.mark.parametrize("belt, asking", list(itertools.product(BELTS, ASKING)))
def test_a_clean_rollout_runs_every_wave_and_ends_with_status_0(tmp_path, belt, asking):
    run = run_gated(tmp_path, belt, asking, "none")
    assert (run.rc, run.hosts("finish")) == (0, HOSTS), run.output
