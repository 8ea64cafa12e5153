# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger as JSON lines: the same bytes each time, and a change of any of them is found."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_export import faults, lines
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, PLAN, new_ledger


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    one = new_ledger(tmp_path_factory.mktemp("export"))
    epoch = one.take_lease(ANNA, ttl=60)
    one.record(epoch, "g01", "admitted", reason="wave 1", data={"b": [1, 2.5, None], "a": "ä"})
    one.note(epoch, None, "halfway")
    return one


def test_the_rollout_comes_first_and_then_each_event_with_its_hash(ledger):
    first, *events = [json.loads(line) for line in lines(ledger)]
    assert first == {"schema": 1, "plan_id": PLAN["plan_id"], "created_at": ledger.begun_at(), "plan": PLAN}
    assert events == ledger.events()
    assert [row["prev_hash"] for row in events[1:]] == [row["hash"] for row in events[:-1]]


def test_the_same_ledger_gives_the_same_lines_and_they_are_whole(ledger):
    exported = list(lines(ledger))
    assert exported == list(lines(Ledger.open(ledger.path)))
    assert faults(exported) == []
    assert faults(f"{line}\n" for line in exported) == []


@pytest.mark.parametrize(
    "spoil, seen",
    [
        (lambda rows: rows[:2] + rows[3:], "line 3: event 2 is missing"),
        (
            lambda rows: [*rows[:3], rows[3].replace("wave 1", "wave 2"), *rows[4:]],
            "line 4: event 3 does not match its",
        ),
        (lambda rows: [rows[0].replace('"wave": 2', '"wave": 7'), *rows[1:]], "line 1: the rollout is not the one"),
        (lambda rows: rows[:1], "line 1: the rollout is not the one"),
        (lambda rows: [], "line 1 is not the rollout"),
        (lambda rows: rows[1:], "line 1 is not the rollout"),
        (lambda rows: [*rows, "{}"], "line 6 is not an event"),
        (lambda rows: [*rows, "["], "line 6 is not as it was"),
    ],
)
def test_a_line_that_is_missing_or_was_changed_is_named(ledger, spoil, seen):
    assert faults(spoil(list(lines(ledger))))[0].startswith(seen)


@given(data=st.data())
def test_no_character_can_be_changed_unseen(ledger, data):
    rows = list(lines(ledger))
    row = data.draw(st.integers(0, len(rows) - 1))
    at = data.draw(st.integers(0, len(rows[row]) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda one: one != rows[row][at]))
    rows[row] = rows[row][:at] + other + rows[row][at + 1 :]
    assert faults(rows) != []
