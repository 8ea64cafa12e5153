# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proving ledgers that are whole, damaged or gone, and exporting one."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from ansible_collections.fleetops.instinct.plugins.action.rollout_ledger import ActionModule
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, PLAN, Clock

NAMES = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")


@pytest.fixture
def paths(tmp_path):
    """The ledgers of three rollouts, the first the oldest, each with some events."""
    clock, made = Clock(), {}
    for name in NAMES:
        made[name] = rollout.ledger_path(rollout.rollout_dir(str(tmp_path), name))
        ledger = Ledger.create(made[name], {**PLAN, "plan_id": name}, clock=clock)
        ledger.record(ledger.take_lease(ANNA, 60), "g01", "admitted", reason="wave 1")
        clock.now += 1000
    return made


@pytest.fixture
def task(tmp_path, paths, monkeypatch):
    """A function that runs the task and gives its result, with all that it said as ``said``."""

    def run(mode, check=False, **more):
        said = []
        monkeypatch.setattr(ActionModule, "say", lambda self, text: said.append(text))
        one = ActionModule.__new__(ActionModule)
        one._task = SimpleNamespace(check_mode=check)
        args = {**dict.fromkeys(ActionModule.SPEC), "mode": mode, "fleet_dir": str(tmp_path), **more}
        return {**one.act(args, {}), "said": "\n".join(said)}

    return run


def edit(path, statement):
    """Change a ledger behind its back; its triggers are there again afterwards."""
    with closing(sqlite3.connect(path)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for line in (
            *(f"DROP TRIGGER {name}" for name, _sql in triggers),
            statement,
            *(sql for _name, sql in triggers),
        ):
            db.execute(line)
        db.commit()


def looked_at(result):
    return [os.path.basename(os.path.dirname(row["path"])) for row in result["ledgers"]]


def test_the_newest_ledger_is_proven_and_told_to_be_whole(task, paths):
    result = task("verify")
    assert (looked_at(result), result["ledgers"][0]["faults"]) == (["cccccccccccc"], [])
    assert "failed" not in result
    assert result["said"] == f"{paths['cccccccccccc']}: whole"


def test_a_ledger_is_proven_by_name_or_with_all_the_others(task):
    assert looked_at(task("verify", rollout="aaaaaaaaaaaa")) == ["aaaaaaaaaaaa"]
    assert looked_at(task("verify", all=True)) == list(NAMES)


def test_every_damaged_row_is_named_and_the_task_fails(task, paths):
    edit(paths["aaaaaaaaaaaa"], "UPDATE events SET reason = 'other' WHERE id IN (2, 3)")
    result = task("verify", all=True)
    assert result["failed"]
    for number in (2, 3):
        assert f"{paths['aaaaaaaaaaaa']}: event {number} does not match its hash" in result["said"]
    assert result["msg"].startswith(f"1 of 3 damaged: {paths['aaaaaaaaaaaa']}: event 2 does not match its hash (and ")


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 5000, b"what is this"])
def test_a_ledger_that_does_not_open_may_be_the_newest_and_does_not_hide(task, paths, content):
    paths["aaaaaaaaaaaa"].write_bytes(content)
    result = task("verify")
    assert looked_at(result) == ["aaaaaaaaaaaa", "cccccccccccc"]
    assert result["msg"].startswith("1 of 2 damaged: ")


def test_a_ledger_that_was_taken_away_from_its_plan_is_missed(task, paths):
    (paths["bbbbbbbbbbbb"].parent / "plan.json").write_text("{}", encoding="utf-8")
    paths["bbbbbbbbbbbb"].unlink()
    assert looked_at(task("verify")) == ["bbbbbbbbbbbb", "cccccccccccc"]
    assert task("verify", rollout="bbbbbbbbbbbb")["failed"]


def test_a_ledger_without_its_own_row_has_no_date_and_does_not_hide(task, paths):
    edit(paths["aaaaaaaaaaaa"], "DELETE FROM rollout")
    assert looked_at(task("verify")) == ["aaaaaaaaaaaa", "cccccccccccc"]


def test_an_unknown_rollout_is_refused_with_the_nearest_name(task):
    with pytest.raises(FleetError, match=r"was never started; wanted: 'aaaaaaaaaaaa' \(nearest\)"):
        task("verify", rollout="aaaaaaaaaaab")


def test_where_no_rollout_was_started_there_is_nothing_to_prove(task, tmp_path):
    with pytest.raises(FleetError, match="no rollout was ever started here"):
        task("verify", fleet_dir=str(tmp_path / "elsewhere"), all=True)


def test_an_export_holds_every_event_and_can_be_proven_without_the_ledger(task, paths):
    exported = task("export")["path"]
    assert exported == str(paths["cccccccccccc"].parent / "events.jsonl")
    assert os.stat(exported).st_mode & 0o777 == 0o644
    with open(exported, encoding="utf-8") as lines:
        assert len(list(lines)) == 1 + len(Ledger.open(paths["cccccccccccc"]).events())
    assert task("verify", exported=exported)["ledgers"] == [{"path": exported, "faults": []}]


def test_an_export_that_was_changed_since_is_found_out(task, tmp_path):
    exported = task("export", rollout="aaaaaaaaaaaa", to=str(tmp_path / "e.jsonl"))["path"]
    text = (tmp_path / "e.jsonl").read_bytes()
    (tmp_path / "e.jsonl").write_bytes(text.replace(b"wave 1", b"wave 2"))
    assert "line 4: event 3 does not match its hash" in task("verify", exported=exported)["msg"]
    (tmp_path / "e.jsonl").write_bytes(b"\xff\xfe")
    assert task("verify", exported=exported)["failed"]


def test_a_second_export_changes_nothing_until_something_happens(task, paths, tmp_path):
    to = str(tmp_path / "sub" / "e.jsonl")
    assert [task("export", to=to)["changed"] for _ in range(2)] == [True, False]
    ledger = Ledger.open(paths["cccccccccccc"])
    ledger.order(ANNA, "pause", "lunch")
    assert task("export", to=to)["changed"]
    os.chmod(to, 0o600)
    assert task("export", to=to)["changed"]


def test_check_mode_tells_what_an_export_would_do_and_shows_no_contents(task, tmp_path):
    to = tmp_path / "e.jsonl"
    result = task("export", to=str(to), check=True)
    assert (result["changed"], to.exists(), result["diff"]["before"]) == (True, False, "")
    assert task("export", to=str(to))["diff"] == result["diff"]
    assert len(result["diff"]["after"]) < 100
    assert not task("export", to=str(to), check=True)["changed"]


def test_a_damaged_ledger_is_not_exported(task, paths, tmp_path):
    edit(paths["cccccccccccc"], "UPDATE events SET reason = 'other' WHERE id = 2")
    with pytest.raises(FleetError, match="event 2 does not match its hash"):
        task("export", rollout="cccccccccccc", to=str(tmp_path / "e.jsonl"))
    assert not (tmp_path / "e.jsonl").exists()


@pytest.mark.parametrize("check", [True, False])
def test_a_place_that_takes_no_file_is_one_clear_error(task, tmp_path, check):
    with pytest.raises(FleetError, match="cannot be read: Is a directory"):
        task("export", to=str(tmp_path), check=check)
