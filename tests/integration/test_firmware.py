# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware through simulated BMCs of four makers, and through each of the troubles that were reported (class b)."""

from __future__ import annotations

import pytest

from simfleet.bmc import handlers
from simfleet.bmc.messages import Refused

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import update
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Unproven
from ansible_collections.fleetops.instinct.tests.integration.bmc_lab import Lab, outcomes

# What makes a staged bundle run, by profile; "ac_cycle" is where the maker offers it.
CYCLE = {"openbmc": "power_cycle", "idrac": "power_cycle", "ami": "ac_cycle"}
MAKERS = tuple(CYCLE)


@pytest.fixture(name="lab")
def _lab(tmp_path):
    """Makes a lab: lab(profile, quirks, ...)."""
    return lambda profile="openbmc", *quirks, **more: Lab(tmp_path, profile, quirks, **more)


def refusal(lab, *rows, **more):
    """The code of an update that is refused or fails."""
    with pytest.raises(BmcError) as caught:
        lab.update(*rows, **more)
    return caught.value.code


@pytest.mark.parametrize("profile", MAKERS)
def test_a_bundle_is_pushed_activated_and_proven_once(lab, profile):
    here = lab(profile)
    wish = here.wish(activation=CYCLE[profile])
    assert outcomes(here.update(wish)) == ["updated"]
    assert outcomes(here.update(wish)) == ["unchanged"]
    assert (here.flashes("gpu"), here.pushes(), len(here.bmc.gate.sessions)) == (1, 1, 0)


@pytest.mark.parametrize("profile", MAKERS)
def test_a_prediction_is_true_and_sends_nothing(lab, profile):
    here = lab(profile)
    wish = here.wish(activation=CYCLE[profile])
    foretold = here.update(wish, checking=True)
    assert (outcomes(foretold), foretold.activation, here.pushes()) == (["would_update"], CYCLE[profile], 0)
    here.update(wish)
    assert outcomes(here.update(wish, checking=True)) == ["unchanged"]


@pytest.mark.parametrize("profile", [*MAKERS, "ilo"])
def test_a_bmc_that_restarts_itself_is_waited_for(lab, profile):
    here = lab(profile)
    more = {"method": "http_push"} if profile == "ilo" else {}
    assert outcomes(here.update(here.wish("bmc", activation="bmc_reset", **more))) == ["updated"]
    assert (here.flashes("bmc"), here.bmc.restarts) == (1, 1)


@pytest.mark.parametrize("profile", [*MAKERS, "ilo"])
def test_nothing_is_asked_for_twice_in_an_inventory(lab, profile):
    here = lab(profile)
    assert here.read().problems == []
    asked = [path for method, path, _status in here.bmc.exchanges if method == "GET"]
    assert sorted(set(asked)) == sorted(asked)


def test_simple_update_is_what_is_left_where_there_is_no_push(lab):
    here = lab("ilo")
    here.hook = here.ac_cycle
    wish = here.wish(activation="ac_cycle")
    wish["image_uri"] = f"{here.serve()}/{wish.pop('image').rpartition('/')[2]}"
    assert (outcomes(here.update(wish)), here.flashes("gpu")) == (["updated"], 1)


def test_an_ac_cycle_that_nobody_offers_is_refused_before_anything_is_sent(lab):
    here = lab("ilo")
    code = refusal(here, here.wish(activation="ac_cycle", method="http_push"))
    assert (code, here.pushes()) == ("activation_not_offered", 0)


def test_two_components_have_one_activation(lab):
    here = lab("ami")
    rows = [here.wish("cpld", "08", activation="ac_cycle", with_next=True), here.wish(activation="ac_cycle")]
    assert outcomes(here.update(*rows)) == ["updated", "updated"]
    assert (here.bmc.boots, here.flashes("cpld"), here.flashes("gpu")) == (1, 1, 1)


def test_a_step_between_is_done_once_and_never_again(lab):
    here = lab("ami")
    first = here.wish("cpld", "08", activation="ac_cycle")
    second = here.wish("cpld", "09", activation="ac_cycle", minimum_from="08")
    assert outcomes(here.update(first, second, checking=True)) == ["would_update"] * 2
    assert outcomes(here.update(first, second)) == ["updated"] * 2
    assert outcomes(here.update(first, second)) == ["unchanged"] * 2
    assert here.flashes("cpld") == 2


def test_what_waits_for_a_reboot_is_staged_and_never_flashed_twice(lab):
    here = lab()
    wish = here.wish("bios", activation="reboot")
    first, second = here.update(wish), here.update(wish)
    assert [(outcomes(one), one.activation) for one in (first, second)] == [(["staged"], "reboot")] * 2
    here.bmc.power("ForceRestart")
    assert (outcomes(here.update(wish)), here.flashes("bios")) == (["updated"], 1)


def test_an_activation_that_changes_nothing_is_a_failure(lab):
    here = lab()
    wish = here.wish("bios", activation="reboot")
    here.update(wish)
    assert refusal(here, wish, activated="reboot") == "version_unchanged"


def test_a_job_that_waits_for_the_boot_is_staged(lab):
    here = lab("idrac")
    wish = here.wish("bios", activation="reboot")
    assert outcomes(here.update(wish)) == ["staged"]
    here.bmc.power("ForceRestart")
    assert outcomes(here.update(wish)) == ["updated"]


# -- the reports of class b -------------------------------------------------------------------------------------------


def test_a_plain_push_goes_where_there_is_nothing_else_b01(lab):
    here = lab("openbmc", "http_push_only")
    assert outcomes(here.update(here.wish(activation="power_cycle"))) == ["updated"]
    assert [path for method, path, _ in here.bmc.exchanges if method == "PATCH"] == ["/redfish/v1/UpdateService"]
    assert "applied at once" in here.notes[0]


def test_an_image_that_is_too_large_is_not_sent_b01(lab):
    here = lab("openbmc", {"http_push_only": {"max_bytes": 100}})
    assert (refusal(here, here.wish(activation="power_cycle")), here.pushes()) == ("image_too_large", 0)


@pytest.mark.parametrize(
    ("with_", "problem"), [({}, ""), ({"loop": True}, "leads back"), ({"count_off": 2}, "counts 6")]
)
def test_every_page_of_an_inventory_is_read_b02(lab, with_, problem):
    seen = lab("openbmc", {"paged_inventory": {"page": 3, **with_}}).read()
    assert [entry.component for entry in seen.entries] == ["bmc", "bios", "gpu_bundle", "cpld"]
    assert [problem in one for one in seen.problems] == [True] * bool(problem)


@pytest.mark.parametrize(("times", "entries"), [(1, 4), (0, 2)])
def test_a_list_with_an_error_in_it_is_asked_for_again_and_is_not_whole_b04(lab, times, entries):
    seen = lab("openbmc", {"inventory_error_member": {"times": times}}).read()
    assert (len(seen.entries), ["inventory_partial" in problem for problem in seen.problems]) == (
        entries,
        [True] * (entries < 4),
    )


def test_a_component_that_a_broken_list_leaves_out_is_unknown_b04(lab):
    here = lab("openbmc", "inventory_error_member")
    assert refusal(here, here.wish(activation="power_cycle")) == "component_unknown"


def test_no_action_carries_an_etag_b07(lab):
    here = lab("ami", "if_match_refused_on_action", "no_push_uri")
    wish = here.wish(activation="ac_cycle")
    wish["image_uri"] = f"{here.serve()}/{wish.pop('image').rpartition('/')[2]}"
    assert outcomes(here.update(wish)) == ["updated"]


@pytest.mark.parametrize(
    ("quirk", "code"),
    [
        ("hundred_percent_critical", "stalled_job"),
        ("completed_with_errors", "task_critical"),
        ("success_without_change", "version_unchanged"),
    ],
)
def test_a_task_that_ends_well_or_at_100_percent_proves_nothing_b08_b14(lab, quirk, code):
    here = lab("openbmc", quirk)
    assert refusal(here, here.wish(activation="power_cycle")) == code


@pytest.mark.parametrize(("succeeds", "end"), [(True, "updated"), (False, "task_gone")])
def test_a_task_that_vanishes_leaves_it_to_the_version_b10(lab, succeeds, end):
    here = lab("ilo", {"task_vanishes": {"succeeds": succeeds}})
    wish = here.wish("bmc", activation="bmc_reset", method="http_push")
    assert (outcomes(here.update(wish))[0] if succeeds else refusal(here, wish)) == end


@pytest.mark.parametrize(
    "quirks",
    [
        ["bmc_restarts_mid_update"],
        [{"5xx_burst": {"after": 25, "times": 4}}],
        [{"connection_drops": {"method": "GET"}}],
        ["bmc_restarts_mid_update", "flapping_after_restart"],
        ["no_percent"],
        ["running_at_hundred"],
        ["no_task"],
        ["wrong_job_reported"],
    ],
)
def test_an_update_goes_through_silence_and_odd_tasks_b11_b13(lab, quirks):
    here = lab("openbmc", *quirks)
    assert (outcomes(here.update(here.wish("bmc", activation="bmc_reset"))), here.flashes("bmc")) == (["updated"], 1)


def test_a_bmc_that_dies_half_way_is_inconclusive_and_is_not_flashed_again_blindly(lab):
    here = lab("openbmc", "bmc_dies_half_way")
    with pytest.raises(Unproven, match="bmc_silent") as caught:
        here.update(here.wish(activation="power_cycle"))
    assert (caught.value.diagnosis, here.events()[-1], here.pushes()) == ("firmware_unproven", "accepted", 1)


def test_a_bmc_that_is_busy_with_another_image_has_refused_this_one(lab):
    here = lab()
    here.bmc.flow = here.bmc
    code = refusal(here, here.wish(activation="power_cycle"))
    assert (code, here.events()[-1], here.flashes("gpu")) == ("refused", "failed", 0)


def test_an_answer_that_was_lost_is_no_failure_and_is_found_again(lab):
    here = lab("openbmc", {"connection_drops": {"method": "POST", "every": 2}}, task_seconds=0.2)
    assert outcomes(here.update(here.wish(activation="power_cycle"))) == ["updated"]
    assert here.flashes("gpu") == 1


def test_an_error_after_the_image_was_taken_leaves_it_in_flight_b13(lab, monkeypatch):
    here = lab()

    def mistrusted(_site, _uri, _wish):
        raise BmcError("untrusted_certificate", "BMC", "it came back with another certificate")

    monkeypatch.setattr(update, "follow", mistrusted)
    with pytest.raises(Unproven, match="untrusted_certificate"):
        here.update(here.wish(activation="power_cycle"))
    assert here.events() == ["intent", "accepted"]


def test_a_bmc_without_sessions_is_spoken_to_without_one(lab, monkeypatch):
    here = lab("openbmc", task_seconds=0.2)

    def nothing(_bmc, request):
        raise Refused(404, "ResourceMissingAtURI", request.path)

    monkeypatch.setattr(handlers, "login", nothing)
    assert outcomes(here.update(here.wish(activation="power_cycle"))) == ["updated"]


def test_full_session_slots_have_a_name_of_their_own_and_nobodys_session_is_ended_b16(lab):
    here = lab("idrac", "session_leak_limit")
    assert refusal(here, here.wish()) == "session_limit"
    assert [method for method, _path, _status in here.bmc.exchanges if method == "DELETE"] == []


def test_what_ami_wants_beside_an_image_comes_from_the_catalog_b21(lab):
    here = lab("ami")
    assert refusal(here, here.wish("cpld", "08", activation="ac_cycle", apply_time="Immediate")) == "refused"
    assert outcomes(here.update(here.wish("cpld", "08", activation="ac_cycle"))) == ["updated"]


def test_a_makers_card_is_not_given_amds_image_b22(lab):
    here = lab()
    here.machine["part_numbers"] = ["113-D3431500-100"]
    assert refusal(here, here.wish(part_number="D3430401-037", activation="power_cycle")) == "wrong_part"


def test_a_missing_licence_is_no_wrong_password_b30(lab):
    here = lab("openbmc", "license_missing")
    assert refusal(here, here.wish()) == "license_missing"
    assert len([1 for _method, path, _status in here.bmc.exchanges if path.endswith("UpdateService")]) == 1


def test_what_a_flash_resets_besides_is_told_b32(lab):
    here = lab("openbmc", "flash_resets_settings")
    wish = here.wish("bios", activation="reboot")
    here.update(wish)
    here.bmc.power("ForceRestart")
    assert outcomes(here.update(wish)) == ["updated"]
    assert ["SMTControl Disabled -> Auto" in note for note in here.notes if "settings" in note] == [True]
    assert [note for note in here.notes if "the boot order was" in note]


def test_entries_that_do_not_run_are_told_apart_b34(lab):
    here = lab("idrac", "backup_banks", "status_absent", {"version_empty": {"component": "gpu"}})
    seen = {entry.id.partition("__")[0]: (entry.bank, entry.version) for entry in here.read().entries}
    assert [seen[one] for one in ("BMC-Backup", "TPM", "Installed-27763-1.1.5")] == [
        ("spare", "1.31"),
        ("absent", None),
        ("running", "1.1.5"),
    ]
    assert refusal(here, here.wish()) == "version_unknown"


@pytest.mark.parametrize(
    ("form", "version", "end"),
    [
        ("leading_v", "3.2", "unchanged"),
        ("zero_padded", "3.2", "unchanged"),
        ("dated", "3.2", "unchanged"),
        ("suffix", "3.2-0639", "unchanged"),
        ("revision", "3.2 Rev A", "unchanged"),
        ("suffix", "3.2", "no_order"),
        ("hex", "3.2", "no_order"),
        ("revision", "3.2 Rev B", "would_update"),
        ("suffix", "3.2-0701", "would_update"),
    ],
)
def test_the_same_version_in_another_form_is_not_flashed_b36(lab, form, version, end):
    here = lab("openbmc", {"version_with_other_format": {"component": "bios", "form": form}})
    wish = here.wish("bios", version, activation="reboot", holds="3.4")
    refused = end == "no_order"
    assert (refusal(here, wish) if refused else outcomes(here.update(wish, checking=True))[0]) == end


def test_another_number_of_the_same_component_is_not_compared_b38(lab):
    here = lab("openbmc", "second_version_axis")
    assert refusal(here, here.wish(activation="power_cycle")) == "other_axis"


# -- a controller that is killed --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("moment", ["before", "after", "later"])
@pytest.mark.parametrize("order", [1, 2, 3], ids=["push", "power off", "power on"])
def test_a_killed_controller_leaves_nothing_to_flash_twice(lab, order, moment):
    here = lab("openbmc", task_seconds=0.2)
    wish = here.wish(activation="power_cycle")
    assert here.killed_at(order, moment, wish)
    assert outcomes(here.update(wish)) == ["updated"]
    assert (here.flashes("gpu"), here.bmc.components["gpu"].version, here.bmc.host_power) == (1, "01.26.00.04", "On")
