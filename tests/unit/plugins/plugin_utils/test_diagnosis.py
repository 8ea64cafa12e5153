# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of which nobody knows what became of it is left for a person, and is not sent back by itself (report F03)."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import (
    DIAGNOSES,
    INCONCLUSIVE,
    NotRebooted,
    data_of,
    state_after,
)


@pytest.mark.parametrize("word", sorted(INCONCLUSIVE))
def test_a_node_that_cannot_be_judged_is_inconclusive_f03(word):
    assert state_after({"failed": True, "diagnosis": word}) == "inconclusive"


@pytest.mark.parametrize("word", sorted({*DIAGNOSES} - INCONCLUSIVE))
def test_a_node_that_answers_and_is_not_what_it_should_be_has_failed(word):
    assert state_after({"failed": True, "diagnosis": word}) == "failed"


@pytest.mark.parametrize("failure", [None, {}, {"msg": "no room"}])
def test_any_other_failure_is_a_failure(failure):
    assert state_after(failure) == "failed"
    assert data_of(failure) == {}


def test_the_word_stands_in_the_message_and_goes_into_the_ledger():
    error = NotRebooted("never_back", "g01", "silent", evidence={"port_answers": False})
    assert str(error) == "g01: silent [never_back]"
    told = {"diagnosis": error.diagnosis, "evidence": error.evidence, "msg": str(error)}
    assert data_of(told) == {"diagnosis": "never_back", "evidence": {"port_answers": False}}
