# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written into a BIOS, what of others lies there, and what became of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.redfish.setups import (
    LOCK,
    QUIET,
    SWITCH,
    job,
    names,
    setup,
)

NAMES = names()
STARVE = {
    "Dependency": {
        "MapFrom": [{"MapFromAttribute": "Rome0059", "MapFromCondition": "EQU", "MapFromValue": "Auto"}],
        "MapToAttribute": "Rome0032",
        "MapToProperty": "CurrentValue",
        "MapToValue": "Disabled",
    }
}


def plan(seen, wishes, foreign="refuse"):
    """The plan, or the code of the refusal."""
    try:
        return bios.plan(seen, wishes, NAMES, "BMC", foreign)
    except BmcError as problem:
        return problem.code


@pytest.mark.parametrize(
    ("seen", "wishes", "writes"),
    [
        (setup(), {"smt": "Auto"}, {"Rome0059": "Auto"}),
        (setup(), {"smt": "Disabled"}, {}),
        (setup(), {}, {}),
        (setup({"Rome0059": "Auto"}), {"smt": "Auto"}, {}),
        # Staged by an earlier run and not wanted any more: what is applied is staged over it (b19).
        (setup({"Rome0059": "Auto"}), {"smt": "Disabled"}, {"Rome0059": "Disable"}),
        (
            setup(),
            {"determinism": "Power", "determinism_control": "Manual"},
            {"Rome0178": "Manual", "Rome0179": "Power"},
        ),
        # Staged where only a job applies it, and there is none (b18).
        (setup({"Rome0059": "Auto"}, maker="Dell"), {"smt": "Auto"}, {"Rome0059": "Auto"}),
        (setup({"Rome0059": "Auto"}, maker="Dell", jobs=[job()]), {"smt": "Auto"}, {}),
        (setup(), {"determinism": "Power"}, "attribute_not_settable"),
        (setup(), {"global_cstate": "Disabled"}, "global_cstate"),
        (setup(), {"Rome0032": "Disabled"}, "global_cstate"),
        (setup(), {"iommu": "Enabled", "Rome0162": "Disabled"}, "contradiction"),
        (setup(settings=None), {"smt": "Auto"}, "no_settings_object"),
        (setup(jobs=[job()]), {"smt": "Auto"}, "job_scheduled"),
        (setup(problems=("jobs: GET x: HTTP 500",)), {"smt": "Auto"}, "jobs_unknown"),
        (setup(problems=("staged: x is named and is not there",)), {"smt": "Auto"}, "staged_unknown"),
        (setup(rules=[QUIET]), {"smt": "Auto", "nps": "NPS4"}, "dependency"),
        (setup(rules=[QUIET]), {"smt": "Auto", "nps": "NPS1"}, {"Rome0059": "Auto", "Rome0075": "NPS1"}),
        (setup(rules=[STARVE]), {"smt": "Auto"}, "global_cstate"),
    ],
)
def test_only_what_differs_and_may_be_set_is_written(seen, wishes, writes):
    made = plan(seen, wishes)
    assert (made if isinstance(made, str) else made.writes) == writes


@pytest.mark.parametrize("wishes", [{}, {"smt": "Auto"}, {"smt": "Disabled"}])
def test_values_of_others_are_refused_and_named(wishes):
    with pytest.raises(BmcError, match=r"Rome0162 Disabled \(now Enabled\)"):
        bios.plan(setup({"Rome0162": "Disabled"}), wishes, NAMES, "BMC")


def test_what_a_wished_value_sets_beside_itself_is_not_somebody_elses():
    assert plan(setup({"Rome0059": "Auto", "Rome0075": "NPS1"}, rules=[QUIET]), {"smt": "Auto"}).foreign == {}
    assert plan(setup({"Rome0059": "Auto", "Rome0075": "NPS2"}, rules=[QUIET]), {"smt": "Auto"}) == "foreign_pending"


@pytest.mark.parametrize(
    ("foreign", "jobs", "writes", "cancelled"),
    [
        ("keep", [], {"Rome0059": "Auto"}, 0),
        ("discard", [], {"Rome0059": "Auto", "Rome0162": "Enabled"}, 0),
        ("discard", [job()], {"Rome0059": "Auto", "Rome0162": "Enabled"}, 1),
    ],
)
def test_the_operator_says_what_becomes_of_values_of_others(foreign, jobs, writes, cancelled):
    made = plan(setup({"Rome0162": "Disabled"}, jobs=jobs), {"smt": "Auto"}, foreign)
    assert (made.writes, len(made.cancel), made.foreign) == (writes, cancelled, {"Rome0162": ("Enabled", "Disabled")})
    assert "staged by somebody else" in made.notes[-1]


def test_a_lock_that_a_discarded_value_would_open_holds():
    seen = setup({"Rome0178": "Manual"})
    assert plan(seen, {"determinism": "Power"}, "discard") == "attribute_not_settable"
    assert plan(seen, {"determinism": "Power"}, "keep").writes == {"Rome0179": "Power"}


def test_a_staged_password_is_not_written_over():
    assert plan(setup({"SETUP001": "*** (another)"}), {}, "discard") == "secret_attribute"


def test_a_name_that_is_not_verified_is_told_and_only_where_something_is_done():
    row = bios.Row("smt", "x", "a", None, "b", "unverified")
    assert len(bios._notes([row, row._replace(wanted="a")], {}, "refuse")) == 1


@pytest.mark.parametrize(
    ("staged", "wanted", "do"),
    [(None, "a", "nothing"), (None, "b", "stage"), ("b", "b", "boot"), ("b", "a", "stage"), ("b", "c", "stage")],
)
def test_applied_and_staged_are_told_apart_b19(staged, wanted, do):
    assert bios.Row("smt", "x", "a", staged, wanted, "verified").do == do


@pytest.mark.parametrize(
    ("applied", "staged", "waiting", "ours", "what", "why"),
    [
        ("b", None, [], None, "applied", ""),
        ("b", None, [job(state="Running")], None, "wait", "is Running still"),
        ("b", None, [], job(state="Running"), "wait", "is Running still"),
        ("a", None, [], job("failed", "Failed"), "failed", "ended as Failed: Unable to complete the job."),
        ("a", "b", [], None, "wait", "it is staged still"),
        ("a", None, [], None, "wait", "the BIOS has dropped it"),
        ("a", None, [], job("good", "Completed"), "wait", "the BIOS has dropped it"),
    ],
)
def test_a_value_counts_once_it_is_read_back_and_no_job_is_at_work_b27_b33(applied, staged, waiting, ours, what, why):
    row = bios.Row("smt", "x", applied, staged, "b", "verified")
    told = bios.verdict([row], waiting, ours)
    assert (told.what, why in told.why) == (what, True)


def test_an_attribute_that_was_dropped_without_a_word_is_seen_b29():
    assert bios.not_staged(setup({"Rome0059": "Auto"}), {"Rome0059": "Auto", "Rome0075": "NPS1"}) == ["Rome0075"]


def test_everything_is_told_but_passwords():
    told = bios.readable(setup())
    assert ("SETUP001" in told, told["Rome0059"]) == (False, "Disable")
    seen = bios.views(setup({"Rome0059": "Auto"}), NAMES)["smt"]
    kept = {"attributes": {"Rome0059": "Disable"}, "staged": {"Rome0059": "Auto"}, "value": "Disabled"}
    assert seen == {**kept, "status": "verified"}


@given(
    staged=st.dictionaries(st.sampled_from(["Rome0162", "Rome0178"]), st.sampled_from(SWITCH)),
    wish=st.dictionaries(st.sampled_from(["iommu", "determinism_control"]), st.sampled_from(["Auto"])),
    foreign=st.sampled_from(bios.FOREIGN),
)
def test_after_a_plan_the_wished_values_come_and_those_of_others_only_where_kept(staged, wish, foreign):
    seen = setup(staged, rules=[LOCK])
    made = plan(seen, wish, foreign)
    if made == "foreign_pending":
        return
    coming = {**seen.coming, **made.writes}
    others = {key for key in staged if key not in {row.attribute for row in made.rows}}
    assert all(coming[row.attribute] == row.wanted for row in made.rows)
    assert all(
        (coming[key] == staged[key]) == (foreign == "keep" or staged[key] == seen.applied[key]) for key in others
    )
    assert (
        plan(seen._replace(staged={k: v for k, v in coming.items() if v != seen.applied[k]}), wish, "keep").writes == {}
    )
