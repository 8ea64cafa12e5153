# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""upgrade.yml in place of the toy plays of test_waves.py: the same bad nodes, and each of them stops the next wave."""

from __future__ import annotations

import pytest
import yaml
from ansible.release import __version__

from ansible_collections.fleetops.instinct.tests.integration.waves import playbook_lab


def release():
    """Major and minor release of this ansible-core."""
    return tuple(int(part) for part in __version__.split(".")[:2])


CASES = yaml.safe_load((playbook_lab.HERE / "bad_node_cases.yml").read_text(encoding="utf-8"))
NEWEST = (2, 21)
HERE = [name for name, case in CASES.items() if not case.get("logic") or release() >= NEWEST]
NOTHING = {"states": {}, "touched": "", "sent_back": "", "refused": ""}


def wanted(case):
    """What the table says of a case; where it says nothing of a key, there is nothing."""
    begun = "states" in case
    given = {key: case.get(key, NOTHING.get(key)) for key in (*NOTHING, "rc")}
    return {"opened": int(begun), "reported": case.get("reported", begun), **given}


@pytest.mark.parametrize("name", HERE)
def test_the_upgrade_does_with_a_bad_node_what_the_table_says(lab, name):
    run = playbook_lab.play_case(lab, CASES[name])
    assert playbook_lab.observe(lab, run) == wanted(CASES[name]), run.output
    assert "Traceback" not in run.output


def test_a_rehearsal_ends_well_tells_what_would_change_and_changes_nothing_f17(lab):
    run = lab.play("upgrade", "--check", "--diff", target=lab.target, policy=playbook_lab.POLICY)
    assert run.rc == 0, run.output
    assert lab.whose({"snapshot", "settings", "change"}) == ""
    assert lab.ledger() is None
