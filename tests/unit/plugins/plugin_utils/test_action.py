# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every action knows of the run that it belongs to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action

FORK = multiprocessing.get_context("fork")


def controller(told):
    """Start a worker, as ansible-playbook does, and wait to be killed."""
    FORK.Process(target=worker, args=(os.getpid(), told)).start()
    time.sleep(60)


def worker(pid, told):
    """Outlive the controller, then tell who it is taken for."""
    told.send("up")
    while os.getppid() == pid:
        time.sleep(0.01)
    told.send({"owner": action.owner()["pid"], "run": action.run_id()})


def test_a_worker_that_outlives_its_controller_does_not_take_init_for_it():
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=controller, args=(there,))
    process.start()
    assert here.recv() == "up"
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert here.recv() == {"owner": process.pid, "run": f"{process.pid}-0"}


def test_who_is_no_worker_belongs_to_the_process_above():
    assert action.owner()["pid"] == os.getppid()
    assert action.owner(7)["pid"] == 7
