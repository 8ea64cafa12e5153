# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in a folder of saved facts may come from anywhere: it is used, or told with a reason; it never raises."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording
from ansible_collections.fleetops.instinct.plugins.plugin_utils import saved_facts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import facts_path, write_facts
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import facts

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def saved(tmp_path, text):
    path = tmp_path / "g01.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return saved_facts.read(str(path))


# -- what is used --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda told: told, id="as the audit keeps them"),
        pytest.param(lambda told: {"ansible_facts": {"instinct": told}, "changed": False}, id="as a task gave them"),
        pytest.param(lambda told: {"instinct": told, "ansible_date_time": {}}, id="as a cache of facts has them"),
    ],
)
def test_facts_are_taken_as_they_are(tmp_path, wrap):
    assert saved(tmp_path, json.dumps(wrap(facts()))).facts == facts()


def test_the_facts_of_a_recorded_machine_are_gathered_here(tmp_path):
    machine = json.loads((MACHINES / "mi300x-ubuntu-2404-dkms.json").read_text(encoding="utf-8"))
    assert saved(tmp_path, json.dumps(machine)).facts == gather(Recording(machine), select(["all"]))
    some = {**machine, "subsets": ["gpu", "driver"]}
    assert saved(tmp_path, json.dumps(some)).facts == gather(Recording(machine), ["gpu", "driver"])


def test_every_recorded_machine_can_be_judged_from_its_file():
    told = {node: saved_facts.read(path).why for node, path in saved_facts.files(str(MACHINES)).items()}
    assert len(told) > 20
    assert {node: why for node, why in told.items() if why} == {}


def test_facts_that_were_written_by_an_audit_are_found_under_the_name_of_their_node(tmp_path):
    for node in ("g01", "rack/1", ".hidden", "fe80::1"):
        write_facts(tmp_path, node, facts())
    found = saved_facts.files(str(tmp_path / "facts"))
    assert found == {node: facts_path(tmp_path, node) for node in found}
    assert set(found) == {"g01", "rack/1", ".hidden", "fe80::1"}


def test_the_age_of_facts_is_told(tmp_path):
    saved(tmp_path, json.dumps(facts()))
    os.utime(tmp_path / "g01.json", (1_700_000_000, 1_700_000_000))
    assert saved_facts.read(str(tmp_path / "g01.json")).written_at == "2023-11-14T22:13:20Z"


# -- what is told --------------------------------------------------------------------------------------------------

MACHINE = {"schema": 1, "subsets": ["node"], "files": {}}


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        ("[]", "is a JSON list"),
        ("null", "is a JSON null"),
        ("7", "is a JSON number"),
        ("{}", "has schema null, not 1"),
        (json.dumps({**facts(), "schema": 2}), "has schema 2, not 1"),
        ('{"schema": 1}', "lacks gpus and problems"),
        ('{"schema": 1, "gpus": []}', "lacks problems"),
        ('{"schema": 1, "gpus": 8, "problems": []}', "gpus that are not a list"),
        ('{"schema": 1, "gpus": [7], "problems": []}', "gpus that are not a list of maps"),
        ('{"schema": 1, "gpus": [], "problems": {}}', "problems that are not"),
        ('{"schema": 1, "gpus": [], "problems": [], "x": NaN}', "NaN is not a number"),
        ("[" * 100_000, "is nested too deeply"),
        (json.dumps({**MACHINE, "schema": 2}), "has schema 2, not 1"),
        (json.dumps({**MACHINE, "files": []}), "a recording whose files is not a map"),
        (json.dumps({**MACHINE, "subsets": ["gpus"]}), "gather_subset: gpus"),
        (json.dumps({**MACHINE, "folders": 7}), "cannot be used: TypeError"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_path_and_the_reason(tmp_path, text, why):
    told = saved(tmp_path, text)
    assert told.facts is None
    assert told.why.startswith(f"{tmp_path / 'g01.json'}: ")
    assert why in told.why


def test_a_folder_in_place_of_a_file_and_a_link_to_nowhere_are_told(tmp_path):
    (tmp_path / "g01.json").mkdir()
    (tmp_path / "g02.json").symlink_to("nowhere")
    told = [saved_facts.read(path).why for path in saved_facts.files(str(tmp_path)).values()]
    assert [why.rpartition(": ")[2] for why in told] == ["Is a directory", "No such file or directory"]


def test_a_file_larger_than_any_facts_is_not_read(tmp_path):
    with open(tmp_path / "g01.json", "wb") as stream:
        stream.truncate(saved_facts.LARGEST + 1)
    assert "more than any facts" in saved_facts.read(str(tmp_path / "g01.json")).why


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(ANY, ANY)
def test_nothing_in_a_file_raises(tmp_path, document, inner):
    for value in (document, {**facts(), "gpus": inner}, {**MACHINE, "files": inner}):
        told = saved(tmp_path, json.dumps(value))
        assert (told.facts is None) == bool(told.why)


# -- folders -------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_or_has_no_facts_is_an_error_with_a_way_out(tmp_path):
    for folder, seen in ((tmp_path / "gone", "cannot be read: No such file"), (tmp_path, "has no file NAME.json")):
        with pytest.raises(saved_facts.SavedFactsError, match=rf"{folder}: {seen}.*; fix: "):
            saved_facts.files(str(folder))


def test_a_fleet_directory_is_not_taken_for_facts(tmp_path):
    write_facts(tmp_path, "g01", facts())
    (tmp_path / "audit.json").write_text("{}", encoding="utf-8")
    with pytest.raises(saved_facts.SavedFactsError, match=f"is a fleet directory.*{tmp_path / 'facts'}"):
        saved_facts.files(str(tmp_path))
