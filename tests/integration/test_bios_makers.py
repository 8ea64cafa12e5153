# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BIOS settings through simulated BMCs of four makers, and through the troubles that were reported (class b)."""

from __future__ import annotations

import pytest

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.tests.integration.bmc_lab import Setting

MAKERS = ("ami", "ilo", "idrac", "openbmc")
# What SMT may be beside what it is, and the attribute, by profile.
OTHER = {"ami": ("Auto", "Rome0059"), "ilo": ("Enabled", "ProcSMT"), "idrac": ("Enabled", "LogicalProc")}
OTHER["openbmc"] = ("Enabled", "SMTControl")
IOMMU = {"ami": "Rome0162", "ilo": "ProcAmdIoVt", "idrac": "IommuSupport", "openbmc": "IOMMU"}
CSTATES = {"ami": ("Rome0032", "Disabled"), "ilo": ("MinProcIdlePower", "NoCStates")}
CSTATES |= {"idrac": ("ProcCStates", "Disabled"), "openbmc": ("GlobalC_stateControl", "Disabled")}
every = pytest.mark.parametrize("profile", MAKERS)


@pytest.fixture(name="lab")
def _lab(tmp_path):
    """Makes a lab: lab(profile, quirks, ...)."""
    return lambda profile="openbmc", *quirks, **more: Setting(tmp_path, profile, quirks, **more)


def refusal(act, *words, **more):
    """The code of what is refused or fails."""
    with pytest.raises(BmcError) as caught:
        act(*words, **more)
    return caught.value.code


@every
def test_a_value_is_staged_applied_by_the_boot_read_back_and_not_set_again(lab, profile):
    here, (value, attribute) = lab(profile), OTHER[profile]
    assert here.stage({"smt": value})[0].writes == {attribute: value}
    assert here.stage({"smt": value})[0].writes == {}
    assert here.bmc.bios.applied[attribute] != value
    here.bmc.power("ForceRestart")
    assert [row.applied for row in here.prove({"smt": value})] == [value]
    assert (here.stage({"smt": value})[0].boot_needed, here.patches()) == (False, 1)
    assert len(here.bmc.gate.sessions) == 0


@every
def test_a_prediction_is_true_and_sends_nothing(lab, profile):
    here, (value, attribute) = lab(profile), OTHER[profile]
    assert here.stage({"smt": value}, checking=True)[0].writes == {attribute: value}
    assert here.patches() == 0
    assert here.stage({"smt": value})[0].changes
    assert not here.stage({"smt": value}, checking=True)[0].changes


@every
def test_what_somebody_else_staged_is_named_and_never_applied_by_us(lab, profile):
    here, (value, _attribute) = (
        lab(profile, {"pending_settings_of_somebody_else": {"setting": "iommu"}}),
        OTHER[profile],
    )
    with pytest.raises(BmcError, match=f"{IOMMU[profile]} Disabled") as caught:
        here.stage({"smt": value})
    assert caught.value.code == "foreign_pending"
    assert refusal(here.stage, {}) == "foreign_pending"
    assert here.patches() == 0


@every
def test_what_somebody_else_staged_is_taken_back_where_the_operator_says_so(lab, profile):
    here, (value, attribute) = lab(profile, {"pending_settings_of_somebody_else": {"setting": "iommu"}}), OTHER[profile]
    here.set({"smt": value}, foreign="discard")
    assert (here.bmc.bios.applied[IOMMU[profile]], here.bmc.bios.applied[attribute]) == ("Enabled", value)


@every
def test_what_somebody_else_staged_is_applied_where_the_operator_says_so(lab, profile):
    here, (value, attribute) = lab(profile, {"pending_settings_of_somebody_else": {"setting": "iommu"}}), OTHER[profile]
    here.set({"smt": value}, foreign="keep")
    assert (here.bmc.bios.applied[IOMMU[profile]], here.bmc.bios.applied[attribute]) == ("Disabled", value)


def test_another_ones_job_is_deleted_where_the_operator_says_so_and_blocks_otherwise(lab):
    here = lab("idrac")
    here.stage({"iommu": "Disabled"})
    assert refusal(here.stage, {"smt": "Enabled"}) == "foreign_pending"
    assert refusal(here.stage, {"smt": "Enabled"}, foreign="keep") == "job_scheduled"
    here.set({"smt": "Enabled"}, foreign="discard")
    assert (here.bmc.bios.applied["IommuSupport"], here.bmc.bios.applied["LogicalProc"]) == ("Enabled", "Enabled")


@pytest.mark.parametrize("profile", ["ami", "openbmc"])
def test_a_setting_that_another_one_locks_is_set_together_with_it(lab, profile):
    here = lab(profile)
    assert refusal(here.stage, {"determinism": "Power"}) == "attribute_not_settable"
    rows = here.set({"determinism": "Power", "determinism_control": "Manual"})
    assert sorted(row.applied for row in rows) == ["Manual", "Power"]


@every
def test_global_c_states_are_never_switched_off_by_any_name(lab, profile):
    here, (name, word) = lab(profile), CSTATES[profile]
    assert refusal(here.stage, {"global_cstate": "Disabled"}) == "global_cstate"
    assert refusal(here.stage, {name: word}) == "global_cstate"


def test_the_names_of_an_old_bios_with_hex_digits_are_known(lab):
    here = lab("openbmc", "attribute_renamed")
    assert here.stage({"smt": "Enabled", "IOMMU": "Disabled"})[0].writes == {
        "SMTControl_0037": "Enabled",
        "IOMMU_0037": "Disabled",
    }


def test_attributes_that_are_objects_are_read(lab):
    assert lab("openbmc", "attributes_are_objects").read()["settings"]["smt"]["value"] == "Disabled"


@every
def test_what_holds_is_told_in_neutral_words(lab, profile):
    told = lab(profile).read()["settings"]
    seen = [told[key]["value"] for key in ("aspm", "nps", "global_cstate", "smt")]
    assert seen == ["Disabled", "NPS1", "Enabled", "Disabled"]


# -- the reports of class b -------------------------------------------------------------------------------------------


def test_a_tag_that_is_never_right_is_told_as_the_bmcs_own_trouble_b05(lab):
    here = lab("openbmc", "etag_required", "etag_never_right")
    with pytest.raises(BmcError, match="nothing was staged") as caught:
        here.stage({"smt": "Enabled"})
    assert (caught.value.code, here.bmc.bios.pending) == ("precondition_refused", {})


def tags(here, change=lambda: None):
    """The If-Match of each PATCH from now on; something may change right before the first is looked at."""
    sent = []

    def watch(request, moment):
        if (request.method, moment) == ("PATCH", "seen"):
            sent.append(request.headers.get("if-match"))
            if len(sent) == 1:
                change()
        return False

    here.bmcs.wire.doors["g01"].watch = watch
    return sent


def test_the_tag_of_the_settings_themselves_is_sent_b05(lab):
    here = lab("openbmc", "etag_required")
    sent = tags(here)
    assert here.stage({"smt": "Enabled"})[0].changes
    assert [tag.startswith('"') for tag in sent] == [True]


def test_a_weak_tag_is_sent_as_it_is_and_told_where_it_is_refused_b05(lab):
    here = lab("openbmc", "etag_required", "etag_never_right")
    sent = tags(here)
    with pytest.raises(BmcError) as caught:
        here.stage({"smt": "Enabled"})
    assert [tag.startswith('W/"') for tag in sent] == [True]
    assert (f"If-Match {sent[0]}" in caught.value.seen, "firmware of the BMC" in caught.value.fix) == (True, True)


def test_settings_that_somebody_changed_in_between_are_read_again_b05(lab):
    here = lab("openbmc", "etag_required")
    sent = tags(here, lambda: here.bmc.bios.applied.update(SR_IOVSupport="Disabled"))
    assert here.stage({"smt": "Enabled"})[0].changes
    assert (len(sent), len(set(sent)), here.bmc.bios.pending) == (2, 2, {"SMTControl": "Enabled"})


@pytest.mark.parametrize("profile", ["idrac", "openbmc"])
def test_an_apply_time_is_asked_for_where_it_is_offered_b18(lab, profile):
    assert lab(profile, "staged_without_job").set({"smt": "Enabled"})


def test_what_was_staged_without_a_job_gets_one_b18(lab):
    here = lab("idrac")
    here.bmc.bios.stage({"LogicalProc": "Enabled"}, commit=False)
    plan, job = here.stage({"smt": "Enabled"})
    assert (plan.writes, job is not None) == ({"LogicalProc": "Enabled"}, True)


def test_values_that_are_staged_and_never_applied_are_a_failure_b18(lab):
    here = lab("ami", "staged_without_job")
    with pytest.raises(BmcError, match="staged still") as caught:
        here.set({"smt": "Auto"})
    assert caught.value.code == "not_applied"


@every
def test_a_staged_value_against_the_goal_is_replaced_b19(lab, profile):
    here = lab(profile, "pending_settings_of_somebody_else")
    assert here.stage({"aspm": "Disabled"}, checking=True)[0].changes
    plan, _job = here.stage({"aspm": "Disabled"})
    assert (plan.changes, "is replaced by Disabled" in plan.notes[0]) == (True, True)
    here.bmc.power("ForceRestart")
    assert here.read()["settings"]["aspm"]["value"] == "Disabled"


def test_values_that_show_before_their_job_fails_are_not_applied_b27(lab):
    here = lab("idrac", "bios_job_fails")
    with pytest.raises(BmcError, match="Unable to complete the job") as caught:
        here.set({"smt": "Enabled"})
    assert caught.value.code == "not_applied"


def test_a_locked_attribute_is_refused_with_what_locks_it_b29(lab):
    here = lab("idrac", "attribute_read_only")
    with pytest.raises(BmcError, match="while SysProfile is not Custom") as caught:
        here.stage({"profile": "PerfOptimized", "workload_profile": "VtOptimizedProfile"})
    assert (caught.value.code, here.patches()) == ("attribute_not_settable", 0)


def test_a_missing_licence_is_no_wrong_password_b30(lab):
    assert refusal(lab("openbmc", "license_missing").stage, {"smt": "Enabled"}) == "license_missing"


def test_settings_that_the_reset_ignores_are_a_failure_b33(lab):
    here = lab("ilo", "settings_ignored")
    with pytest.raises(BmcError, match="has dropped it") as caught:
        here.set({"smt": "Enabled"})
    assert caught.value.code == "not_applied"


def test_a_reset_of_the_bmc_alone_applies_nothing_b33(lab):
    here = lab("ilo", restart_seconds=0.2)
    _plan, job = here.stage({"smt": "Enabled"})
    here.bmc.restart()
    with pytest.raises(BmcError, match="staged still") as caught:
        here.prove({"smt": "Enabled"}, job)
    assert caught.value.code == "not_applied"


# -- a controller that is killed, a BMC that drops answers ------------------------------------------------------------


def test_a_bmc_that_is_not_there_yet_after_the_boot_is_waited_for(lab):
    here = lab("openbmc")
    _plan, job = here.stage({"smt": "Enabled"})
    here.bmc.power("ForceRestart")
    here.bmc.quirks["5xx_burst"] = {"times": 12, "status": 503, "after": 6}
    assert here.prove({"smt": "Enabled"}, job)
    assert [status for _method, _path, status in here.bmc.exchanges].count(503) == 12


def test_an_answer_that_was_lost_is_looked_for_in_the_settings(lab):
    here = lab("openbmc", {"connection_drops": {"every": 1, "method": "PATCH"}})
    assert here.set({"smt": "Enabled"})
    assert here.patches() == 1
