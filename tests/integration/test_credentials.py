# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose sources carry credentials, upgraded and taken back: they are in place again, and nowhere else."""

from __future__ import annotations

import pytest

CANARY = "tweety"
SOURCES = "/etc/apt/sources.list.d/rocm.list"
GIVE = f"sed -i s,//mirror,//me:{CANARY}@mirror, {SOURCES}; chmod 600 {SOURCES}; apt-get -q update"
LOOK = f"stat -c %a {SOURCES}; cat {SOURCES}"


@pytest.fixture(scope="module")
def there_and_back(operator):
    """Every playbook run once, at its most talkative; the node's sources before, in between and after."""
    operator.shell("g01", GIVE)
    seen, runs = [operator.shell("g01", LOOK)], [operator.play("audit", "-vvv", target=operator.target)]
    plan = operator.plan(capacity_floor_percent=0)
    runs.append(operator.play("upgrade", "-vvv", "--diff", plan=plan))
    seen.append(operator.shell("g01", LOOK))
    runs += [operator.play("rollback", "-vvv", "--diff"), operator.play("report"), operator.play("status")]
    return [*seen, operator.shell("g01", LOOK)], runs


def test_the_node_went_there_and_is_back_as_it_was(operator, there_and_back):
    (before, between, after), runs = there_and_back
    assert [run.status for run in runs] == [0] * 5, [run.text[-3000:] for run in runs if run.status]
    assert "7.0.2" in between
    assert CANARY in before
    assert after == before
    assert operator.node("g01")["driver"] == "6.12.12"


def test_no_file_of_the_controller_and_nothing_it_said_has_them(operator, there_and_back):
    files = [path for path in operator.records.rglob("*") if path.is_file()]
    assert {"ledger.sqlite", "report.html", "g01.json"} <= {path.name for path in files}
    assert [str(path) for path in files if CANARY.encode() in path.read_bytes()] == []
    assert [run.text for run in there_and_back[1] if CANARY in run.text] == []
    assert "http://***@mirror.example/rocm" in (operator.records / "facts" / "g01.json").read_text(encoding="utf-8")
