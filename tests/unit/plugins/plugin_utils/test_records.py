# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import (
    RecordError,
    StoredFacts,
    check_store,
    facts_path,
    read_records,
    record_path,
    summarise,
    write_facts,
    write_json,
    write_record,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import facts, record


def test_what_is_written_is_read_again(tmp_path):
    write_record(tmp_path, record("g1"))
    write_record(tmp_path, record("g2"))
    assert read_records(tmp_path, ["g2", "g1"]) == {"g2": record("g2"), "g1": record("g1")}


def test_a_node_without_a_record_is_not_in_the_answer(tmp_path):
    write_record(tmp_path, record("g1"))
    assert list(read_records(tmp_path, ["g1", "g2"])) == ["g1"]


def test_records_of_another_run_are_left_out(tmp_path):
    write_record(tmp_path, {**record("g1"), "run_id": "yesterday"})
    write_record(tmp_path, record("g2"))
    assert list(read_records(tmp_path, ["g1", "g2"], run_id="run")) == ["g2"]


def test_files_are_readable_and_nothing_half_written_stays(tmp_path):
    path = write_facts(tmp_path, "g1", facts())
    assert path == facts_path(tmp_path, "g1")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    assert os.listdir(tmp_path / "facts") == ["g1.json"]


def test_the_fleet_directory_is_made_and_left_empty(tmp_path):
    check_store(tmp_path / "new" / "records")
    assert os.listdir(tmp_path / "new" / "records") == []


def test_a_fleet_directory_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"file/records: cannot be written: .*; fix: .*fleet_dir"):
        check_store(tmp_path / "file" / "records")


@pytest.mark.parametrize("node", ["../../etc/passwd", ".", "..", ".hidden", "a/b", "g1\0x", "ü", "fe80::1"])
def test_no_name_of_a_node_leaves_the_folder(tmp_path, node):
    write_record(tmp_path, record(node))
    assert os.path.dirname(record_path(tmp_path, node)) == str(tmp_path / "records")
    assert list(read_records(tmp_path, [node])) == [node]
    assert len(os.listdir(tmp_path / "records")) == 1


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", "is not JSON"),
        ('{"schema": 1, "node"', "is not JSON"),
        ("[]", "is not a record"),
        ('{"schema": 2}', "is not a record"),
        ('{"schema": 1, "node": "g1"}', "lacks run_id, class, findings"),
        ("\xff", "is not JSON"),
        (
            '{"schema": 1, "node": "g2", "run_id": "", "class": "", "findings": [], "steps": [], "rollback": {}}',
            "is the record of g2",
        ),
    ],
)
def test_a_broken_record_is_one_error_with_its_file_and_its_fix(tmp_path, text, seen):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "g1.json").write_text(text, encoding="latin-1")
    with pytest.raises(RecordError) as caught:
        read_records(tmp_path, ["g1"])
    assert "g1.json" in str(caught.value)
    assert seen in str(caught.value)
    assert "delete the file" in str(caught.value)


def test_a_store_that_cannot_be_written_is_an_error_without_a_traceback(tmp_path):
    (tmp_path / "records").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(RecordError, match="cannot be written"):
        write_record(tmp_path, record("g1"))


def test_an_old_file_stays_whole_when_the_new_one_cannot_be_written(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": {1, 2}})
    assert path.read_text(encoding="utf-8") == '{"old":1}'
    assert os.listdir(tmp_path) == ["a.json"]


def test_the_summary_counts_by_class_and_product():
    rows = {"g1": record("g1"), "g2": record("g2", kind="at_target"), "m1": record("m1", product="MI210", ready=False)}
    assert summarise(rows, ["g2", "g1", "m1", "g9"]) == {
        "nodes": 4,
        "classes": {"at_target": 1, "may_move": 2, "unknown": 1},
        "products": {"MI210": {"may_move": 1}, "MI300X": {"at_target": 1, "may_move": 1}, "unknown": {"unknown": 1}},
        "by_class": {"at_target": ["g2"], "may_move": ["g1", "m1"], "unknown": ["g9"]},
        "rollback_not_ready": ["m1", "g9"],
    }


def test_stored_facts_are_read_when_they_are_asked_for_and_only_of_the_nodes_meant(tmp_path):
    for node in ("g1", "g2"):
        write_facts(tmp_path, node, facts())
    stored = StoredFacts(tmp_path, ["g1", "g3", "g4"])
    write_json(facts_path(tmp_path, "g4"), [])
    assert stored.get("g1") == facts()
    assert [stored.get(node) for node in ("g2", "g3", "g4")] == [None, None, None]
