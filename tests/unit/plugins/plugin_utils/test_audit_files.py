# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an audit: two always, others on request, and none of an earlier audit in place of a failure."""

from __future__ import annotations

import json
import os
import stat

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import audit_files, ends
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import RecordError, summarise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record


@pytest.fixture
def where(tmp_path):
    asked = {"junit": str(tmp_path / "ci" / "audit.xml"), "markdown": str(tmp_path / "audit.md"), "html": ""}
    return audit_files.places(str(tmp_path), asked)


def test_json_and_the_page_are_below_the_fleet_directory_and_others_where_they_are_asked_for(tmp_path, where):
    assert where == {
        "json": str(tmp_path / "audit.json"),
        "html": str(tmp_path / "audit.html"),
        "junit": str(tmp_path / "ci" / "audit.xml"),
        "markdown": str(tmp_path / "audit.md"),
    }
    assert set(audit_files.places(str(tmp_path), None)) == {"json", "html"}


def test_every_form_is_written_for_anybody_to_read(where):
    found = {"g1": record("g1")}
    audit_files.write(model(found, {**summarise(found, ["g1"]), "code": "clean", "codes": {}}), where)
    assert {form: stat.S_IMODE(os.stat(path).st_mode) for form, path in where.items()} == dict.fromkeys(where, 0o644)
    assert all(os.path.getsize(path) for path in where.values())


def test_bad_input_takes_the_place_of_the_result_of_an_earlier_audit(where):
    audit_files.write_end(ends.bad_input("target.yml: is not YAML"), where)
    with open(where["json"], encoding="utf-8") as stream:
        told = json.load(stream)
    assert told["records"] == {}
    assert (told["summary"]["code"], told["summary"]["codes"]) == ("bad_input", {"bad_input": 0})
    assert told["summary"]["why"] == "bad_input: target.yml: is not YAML"


def test_a_place_that_cannot_be_written_is_told_before_anything_is_asked(tmp_path):
    (tmp_path / "file").touch()
    for path, seen in ((tmp_path, "is a folder"), (tmp_path / "file" / "x.xml", "cannot be written")):
        with pytest.raises(RecordError, match=f"{seen}.*; fix: "):
            audit_files.check({"junit": str(path)})
