# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a BMC tells of BIOS settings, in the forms that makers give it."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios_reading
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board

BIOS, TASKS = "/redfish/v1/Systems/1/Bios", "/redfish/v1/TaskService/Tasks"
QUEUE = "/redfish/v1/Managers/1/Oem/Dell/Jobs"
REGISTRY = {"RegistryEntries": {"Attributes": [{"AttributeName": "A", "Type": "Enumeration"}]}}
NAMED = "/redfish/v1/Registries/Reg"


def link(uri):
    return {"@odata.id": uri}


def bios(settings=f"{BIOS}/Settings", **more):
    """A Bios resource."""
    future = {"@Redfish.Settings": {"SettingsObject": link(settings)}} if settings else {}
    return {"AttributeRegistry": "Reg", "Attributes": {"A": "1", "B": True}, **future, **more}


def read(pages, maker="any"):
    """What is read of a BMC with these pages."""

    def get(path):
        page = pages.get(path.rstrip("/"))
        if isinstance(page, BmcError):
            raise page
        if page is None:
            raise BmcError("not_there", "BMC", f"GET {path}: HTTP 404")
        return page

    system, manager = {"Bios": link(BIOS)}, {"@odata.id": "/redfish/v1/Managers/1"}
    return bios_reading.read(get, Board(maker, {}, system, manager, {}, {}, []), "BMC")


@pytest.mark.parametrize("shows", [{"A": "2"}, {"A": "2", "B": "true"}, {"A": "2", "Other": "x"}])
def test_staged_is_what_differs_whether_all_values_are_shown_or_those_alone(shows):
    seen = read({BIOS: bios(), f"{BIOS}/Settings": {"Attributes": shows}, NAMED: REGISTRY})
    assert (seen.staged, seen.coming) == ({"A": "2"}, {"A": "2", "B": True})


@pytest.mark.parametrize(
    ("pages", "place"),
    [
        ({BIOS: bios(), f"{BIOS}/Settings": {}}, f"{BIOS}/Settings"),
        ({BIOS: bios(None), f"{BIOS}/SD": {}}, f"{BIOS}/SD"),
        ({BIOS: bios(None), f"{BIOS}/Settings": {}}, f"{BIOS}/Settings"),
        ({BIOS: bios(None)}, None),
        ({BIOS: bios()}, f"{BIOS}/Settings"),
    ],
)
def test_where_a_change_goes_is_named_or_looked_for(pages, place):
    assert read(pages).settings == place


@pytest.mark.parametrize(
    "pages",
    [
        {NAMED: REGISTRY},
        {NAMED: {"Location": [{"Language": "ja", "Uri": "/ja"}, {"Language": "en", "Uri": "/en"}]}, "/en": REGISTRY},
        {NAMED: {"Location": [{"Language": "en", "Uri": {"extref": "/en"}}]}, "/en": REGISTRY},
        {
            "/redfish/v1/Registries": {"Members": [link("/r/BiosAttributeRegistry.json")]},
            "/r/BiosAttributeRegistry.json": REGISTRY,
        },
        {f"{BIOS}/BiosRegistry": REGISTRY},
    ],
)
def test_the_registry_is_found_wherever_it_lies(pages):
    seen = read({BIOS: bios(), f"{BIOS}/Settings": {}, **pages})
    assert (list(seen.registry.items), seen.problems) == (["A"], ())


def test_staged_values_that_cannot_be_read_are_not_known():
    assert read({BIOS: bios(), NAMED: REGISTRY}).problems == (f"staged: {BIOS}/Settings is named and is not there",)


def test_a_registry_that_is_nowhere_is_a_problem():
    seen = read({BIOS: bios(), f"{BIOS}/Settings": {}})
    assert (seen.registry, ["registry: Reg is not there" in one for one in seen.problems]) == (None, [True])


def test_attributes_that_are_objects_have_a_value():
    attributes = {"SMT Control": {"current_value": "Enabled", "AllowableValues": ["Enabled", "Disabled"]}}
    seen = read({BIOS: {"Attributes": attributes}})
    assert (seen.applied, len(seen.registry.items["SMT Control"].allowed)) == ({"SMT Control": "Enabled"}, 2)


@pytest.mark.parametrize("pages", [{}, {BIOS: {}}, {BIOS: {"Attributes": {}}}, {BIOS: {"Attributes": "x"}}])
def test_a_bmc_without_attributes_tells_no_settings(pages):
    with pytest.raises(BmcError) as caught:
        read(pages)
    assert caught.value.code in ("no_bios", "not_there")


def test_apply_times_are_taken_from_either_place():
    future = {"SettingsObject": link(f"{BIOS}/Settings"), "SupportedApplyTimes": ["OnReset"]}
    when = {"@Redfish.SettingsApplyTime": {"ApplyTime@Redfish.AllowableValues": ["OnReset", "Immediate"]}}
    first = read({BIOS: bios(**{"@Redfish.Settings": future}), f"{BIOS}/Settings": when})
    second = read({BIOS: bios(), f"{BIOS}/Settings": when})
    assert (first.times, second.times) == (("OnReset",), ("OnReset", "Immediate"))


def test_a_password_never_leaves_and_another_one_that_is_staged_shows_as_such():
    page = bios(Attributes={"SetupPassword": "old", "A": "1"})
    seen = read({BIOS: page, f"{BIOS}/Settings": {"Attributes": {"SetupPassword": "new"}}})
    assert (seen.applied["SetupPassword"], seen.staged) == ("***", {"SetupPassword": "*** (another)"})


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ({"JobType": "BIOSConfiguration", "JobState": "Scheduled"}, None),
        ({"JobType": "BIOSConfiguration", "JobState": "ScheduledWithErrors"}, None),
        ({"JobType": "BIOSConfiguration", "JobState": "Running"}, None),
        ({"JobType": "BIOSConfiguration", "JobState": "Failed", "Message": "Unable"}, "failed"),
        ({"JobType": "BIOSConfiguration", "JobState": "CompletedWithErrors"}, "failed"),
        ({"JobType": "BIOSConfiguration", "JobState": "Completed"}, "good"),
        ({"Name": "Configure: BIOS.Setup.1-1", "TaskState": "Completed", "TaskStatus": "Critical"}, "failed"),
        ({"Name": "Configure: BIOS.Setup.1-1", "TaskState": "New"}, None),
    ],
)
def test_a_job_waits_or_ended_b08_b27(body, end):
    assert bios_reading.job_of("/x", body).end == end


@pytest.mark.parametrize(
    "body", [{"JobType": "FirmwareUpdate", "Name": "BIOS"}, {"Name": "BIOS firmware update"}, {"Name": "Task"}, {}]
)
def test_other_work_is_no_job_for_settings(body):
    assert bios_reading.job_of("/x", body) is None


def test_a_queue_is_read_whether_its_members_are_whole_or_links():
    whole = {"@odata.id": f"{QUEUE}/1", "JobType": "BIOSConfiguration", "JobState": "Running"}
    first = read({BIOS: bios(), f"{BIOS}/Settings": {}, QUEUE: {"Members": [whole]}}, "Dell")
    second = read({BIOS: bios(), f"{BIOS}/Settings": {}, TASKS: {"Members": [link(f"{TASKS}/1"), link(f"{TASKS}/2")]},
                   f"{TASKS}/1": {"Name": "BIOS settings", "TaskState": "Running"}})  # fmt: skip
    assert [job.state for job in (*first.waiting, *second.waiting)] == ["Running", "Running"]


@pytest.mark.parametrize(("maker", "known"), [("Dell", False), ("any", True)])
def test_a_queue_that_is_not_there_leaves_jobs_unknown_only_where_the_maker_has_one(maker, known):
    seen = read({BIOS: bios(), f"{BIOS}/Settings": {}, NAMED: REGISTRY}, maker)
    assert (seen.problems == (), seen.by_job) == (known, maker == "Dell")


def test_a_queue_that_cannot_be_read_leaves_jobs_unknown():
    away = BmcError("bmc_unreachable", "BMC", "HTTP 500")
    seen = read({BIOS: bios(), f"{BIOS}/Settings": {}, NAMED: REGISTRY, TASKS: away})
    assert [one.startswith("jobs: ") for one in seen.problems] == [True]
