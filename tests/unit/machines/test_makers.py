# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of our own making are what their makers make."""

from __future__ import annotations

import pytest
from makers.machines import documents

from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES

MADE = documents()


@pytest.mark.parametrize("name", MADE)
def test_the_file_of_a_machine_is_what_its_maker_makes(name):
    assert (MACHINES / f"{name}.json").read_text(encoding="utf-8") == MADE[name]
