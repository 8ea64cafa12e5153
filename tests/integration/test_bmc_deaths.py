# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that is killed at any exchange with a BMC: the next run ends as one that nothing disturbed.

Here are all exchanges of two jobs, and two deaths of a whole ansible-playbook; `nox -s crash` has every job and maker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import power, task
from ansible_collections.fleetops.instinct.tests.integration import bmc_deaths

SMALL = {"poll": 0.1, "settle": 1.0, "off_seconds": 0.0, "answers": 2, "pause": 0.1}


@pytest.mark.parametrize(("maker", "job", "least"), [("openbmc", "ac_cycle", 45), ("idrac", "bios", 15)])
def test_a_controller_may_die_at_any_exchange(maker, job, least):
    rows = list(bmc_deaths.run([(maker, job)], workers=4, brief=True))
    assert [row for row in rows if row["faults"]] == []
    assert sum(row["died"] for row in rows) >= least


def family(process):
    """A process and all that come from it: a worker of Ansible leads a session of its own."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found = [process]
    for one in found:
        found += [pid for pid, parent in rows if parent == one]
    return found


class Playbook:
    """ansible-playbook with one task against a BMC of this process."""

    def __init__(self, lab):
        self.lab = lab
        wish = lab.wish(activation="ac_cycle")
        task = {"components": [wish], "fleet_dir": str(lab.folder), **SMALL}
        play = {"hosts": "g01", "gather_facts": False, "tasks": [{"fleetops.instinct.redfish_firmware": task}]}
        door = {"address": lab.address, "user": lab.bmcs.user, "password": lab.bmcs.password, "ca": lab.ca}
        host = {f"fleet_bmc_{key}": value for key, value in door.items()}
        self.write("play.yml", [play])
        self.write("hosts.yml", {"all": {"hosts": {"g01": host}}})

    def write(self, name, data):
        """A file beside the lab's."""
        (self.lab.folder / name).write_text(yaml.safe_dump(data), encoding="utf-8")

    def start(self):
        """Begin to run it."""
        words = [Path(sys.executable).parent / "ansible-playbook", "-i", "hosts.yml", "play.yml"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(words, cwd=self.lab.folder, **pipes)

    def killed_at(self, path, whom=family):
        """Run it, and kill it before the BMC answers a POST there."""
        running, door = [], self.lab.bmcs.wire.doors["g01"]

        def watch(request, moment):
            here = (request.method, moment) == ("POST", "done") and request.path.endswith(path)
            if here:
                for process in whom(running[0].pid):
                    os.kill(process, signal.SIGKILL)
            return here and whom is family

        door.watch = watch
        running.append(self.start())
        running[0].communicate(timeout=120)
        door.watch = lambda _request, _moment: False
        return running[0].returncode


@pytest.mark.parametrize("path", ["update-multipart", "Chassis.Reset"])
def test_ansible_playbook_may_die_at_the_push_and_at_the_activation(tmp_path, path):
    lab = bmc_deaths.Mortal(tmp_path, "openbmc", 20)
    playbook = Playbook(lab)
    assert playbook.killed_at(path) == -signal.SIGKILL
    done = playbook.start()
    text = done.communicate(timeout=120)[0]
    assert (done.returncode, "changed=1" in text) == (0, True), text
    assert (lab.flashes("gpu"), lab.bmc.boots, lab.bmc.host_power, lab.pushes()) == (1, 1, "On", 1)


def test_a_worker_that_outlives_its_controller_is_waited_for_at_the_lock_of_the_bmc(tmp_path):
    lab = bmc_deaths.Mortal(tmp_path, "openbmc", 21)
    playbook = Playbook(lab)
    assert playbook.killed_at("update-multipart", whom=lambda process: [process]) == -signal.SIGKILL
    done = playbook.start()
    text = done.communicate(timeout=120)[0]
    assert (done.returncode, "changed=0" in text) == (0, True), text
    assert (lab.flashes("gpu"), lab.bmc.boots, lab.bmc.host_power, lab.pushes()) == (1, 1, "On", 1)


@pytest.mark.parametrize(("held", "resets"), [(True, 0), (False, 1)])
def test_a_silent_node_is_not_reset_while_its_bmc_is_in_use(tmp_path, held, resets):
    lab = bmc_deaths.Mortal(tmp_path, "openbmc", 22)
    door = {"address": lab.address, "user": lab.bmcs.user, "password": lab.bmcs.password, "ca": lab.ca}
    variables = {f"fleet_bmc_{key}": value for key, value in {**door, "turn_timeout": 0.1}.items()}
    case = power.Case({}, lambda: False, lambda _resets, _power: None, fleet_dir=str(tmp_path), poll=0.1, settle=2.0)
    other = task.turn_of({**door, "turn_timeout": 0}, str(tmp_path), "redfish_firmware for g02")
    with other if held else contextlib.nullcontext():
        came = power.by_bmc({"inventory_hostname": "g01", **variables}, lambda value: value, case)
    assert ("redfish_firmware for g02" in str(came.failed), lab.bmc.boots) == (held, resets)
