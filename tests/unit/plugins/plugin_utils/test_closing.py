# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read from a ledger at the end of a run, and what is given back then."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import closing, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

ME = {"who": "me", "host": "here", "pid": 1}
PLAN = {"plan_id": "abc", "policy": {}, "waves": [{"nodes": ["g01"]}], "nodes": {"g01": {"wave": 1}}}


@pytest.fixture
def book(tmp_path):
    one = Ledger.create(rollout.ledger_path(tmp_path), PLAN)
    one.take_lease(ME, ttl=60)
    return one


def test_a_lease_is_given_back_once_and_only_by_its_owner(book, tmp_path):
    closing.give_back(tmp_path, {**ME, "pid": 2})
    assert book.holder()["expires_at"]
    closing.give_back(tmp_path, ME)
    closing.give_back(tmp_path, ME)
    assert book.holder()["expires_at"] is None


def test_the_lease_of_a_controller_that_died_on_this_machine_is_given_back_for_it(book, tmp_path, monkeypatch):
    monkeypatch.setattr(closing.lease, "pid_alive", lambda pid: pid != ME["pid"])
    closing.give_back(tmp_path, {**ME, "pid": 2, "host": "elsewhere"})
    assert book.holder()["expires_at"]
    closing.give_back(tmp_path, {**ME, "pid": 2})
    assert book.holder()["expires_at"] is None


def test_a_node_that_stayed_where_it_was_has_the_note_for_a_reason(book, tmp_path):
    book.record(1, "g01", "admitted", reason="wave 1")
    book.note(1, "g01", "busy")
    assert closing.read(tmp_path).nodes["g01"]["reason"] == "busy"


def test_an_old_note_is_no_reason_for_what_came_later(book, tmp_path):
    book.note(1, "g01", "busy")
    book.record(1, "g01", "admitted", reason="wave 1")
    assert closing.read(tmp_path).nodes["g01"]["reason"] == "wave 1"


def test_a_run_that_was_cut_off_leaves_a_report_and_no_lease_and_says_how_it_stands(tmp_path):
    row = {"wave": 1, "product": "MI300X", "rack": "r1", "steps": [], "from": {}, "to": {}, "rollback": {}}
    plan = {**PLAN, "nodes": {"g01": row}, "waves": [{"number": 1, "nodes": ["g01"]}], "at_target": []}
    place = tmp_path / "rollouts" / "abc"
    book = Ledger.create(rollout.ledger_path(place), plan)
    book.record(book.take_lease(ME, ttl=60), "g01", "admitted")
    line = closing.cut_off(place, ME)
    assert "rollout abc was cut off before its end, 1 of 1 nodes are not where they should be (g01 admitted)" in line
    assert (place / "report.json").exists()
    assert book.holder()["expires_at"] is None
