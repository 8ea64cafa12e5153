# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ledgers for tests: a plan, two operators, a clock that is set by hand, and what the tests of ledgers do with them."""

from __future__ import annotations

import multiprocessing

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

ANNA = {"who": "anna", "host": "ctl1", "pid": 100}
BOB = {"who": "bob", "host": "ctl2", "pid": 200}
NODES = ("g01", "g02", "g03")
PLAN = {"schema": 1, "plan_id": "0123456789ab", "nodes": {node: {"wave": n} for n, node in enumerate(NODES, 1)}}
FORK = multiprocessing.get_context("fork")
START = 1_796_099_400.0


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


def new_ledger(folder, clock=None, plan=PLAN):
    """A ledger with its own folder below ``folder``; every process counts as alive."""
    return Ledger.create(folder / "x" / "ledger.sqlite", plan, ANNA, clock or Clock(), alive=lambda pid: True)


def reasons(ledger):
    """What the events say, the first one (the beginning) left out."""
    return [row["reason"] for row in ledger.events()][1:]
