# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded BMCs: what runs in them, how they take an image, and what their tasks came to."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import answers, follow, inventory, push, reading
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import corpus, members, text
from ansible_collections.fleetops.instinct.tests.unit.corpus.recorded_bmc import getter

BY = reading.patterns([], load_catalog().redfish)
WISH = {"image": "a", "image_uri": "http://h/a", "method": "auto", "targets": None, "apply_time": None}
# What runs, by component, and the way an image would take. The push URI of an iLO is its own: SimpleUpdate is left.
MOCKUPS = {
    "bmctoolbox-hpegen10": (
        {"bmc": "1.45 Jun 27 2019", "bios": "I41 v2.10 (05/21/2019)", "cpld": "0x1E"},
        "simple_update",
    ),
    "bmctoolbox-idrac9": ({"bmc": "3.34.34.34", "bios": "2.2.11", "cpld": "1.0.0"}, "http_push"),
    "bmctoolbox-quantaD42A-2U": ("no_update_service", ""),
    "ctl-dell-xr8620t-idrac9": ("no_update_service", ""),
    "ctl-hpe-dl360-ilo": (
        {"bmc": "1.66 Dec 13 2024", "bios": "U58 v2.44 (01/17/2025)", "cpld": "0x16"},
        "simple_update",
    ),
    "ctl-supermicro-gb300": ({"bmc": "70.01.00.09", "bios": "2.1b", "cpld": "0a"}, "multipart"),
    "ctl-supermicro-x10": ("no_update_service", ""),
    "rie-DL325": ({"bmc": "2.46 May 11 2021", "bios": "A43 v2.52 (10/29/2021)", "cpld": "0x0D"}, "simple_update"),
    "rie-EX235a": (
        {
            "bmc": "nc.1.6.16-21-prod-master.arm.2022-01-25T16:23:33+00:00.28331ff",
            "bios": "ex235a.bios-1.3.6",
            "gpu_vbios": "113-D65201-Y36-592042",
            "gpu_microcontroller": "3.14",
        },
        "simple_update",
    ),
    "rie-EX235n": (
        {
            "bmc": "nc.1.6.19-5-shasta-release.arm.2022-02-25T01:38:09+00:00.d20b426",
            "bios": "ex235n.bios-1.2.1",
            "gpu_vbios": "92.00.19.00.13",
            "gpu_fpga": "2.7",
        },
        "simple_update",
    ),
    "rie-Gigabyte": ({"bmc": "12.84.13", "bios": "C27", "cpld": None}, "simple_update"),
    "rie-Intel": ({"bmc": "1.93.870cf4f0", "bios": "SE5C620.86B.02.01.0008.C0001.031920191559"}, "simple_update"),
    "rie-OpenBMC-stock": ({"bmc": "2.15.0-dev-686-g100c36de90"}, "multipart"),
    "rie-XL675d_A100": ({"bmc": "2.70 May 16 2022", "bios": "A47 v2.58 (05/19/2022)", "cpld": "0x0F"}, "simple_update"),
}
NOT_READ = {
    "bmclib-fixtures.tar.gz": "single bodies of many BMCs: its tasks and services are read below",
    "sushy-json-samples.tar.gz": "single bodies of many BMCs: its tasks and services are read below",
    "ctl-supermicro-x10-119.tar.gz": "a capture without a service root",
    "ctl-write-captures.tar.gz": "accounts and virtual media, which nothing here writes",
    "mi300-ubb-redfish-behaviours.md": "a table of notes; test_inventory.py has its bodies",
    "quirks": "read below, one by one",
}
BMCLIB = "bmclib/internal/redfishwrapper/fixtures"
# The verdict over one look at a task.
TASKS = {
    f"{BMCLIB}/tasks/tasks_1_failed.json": ("failed", "task_failed"),
    f"{BMCLIB}/tasks/tasks_1_running.json": ("wait", "running"),
    f"{BMCLIB}/tasks/tasks_1_unknown.json": ("wait", "running"),
    f"{BMCLIB}/tasks/tasks_1_starting.json": ("wait", "running"),
    f"{BMCLIB}/tasks/tasks_1_pending.json": ("wait", "running"),
    f"{BMCLIB}/tasks/tasks_1_scheduled.json": ("staged", "waits_for_boot"),
    f"{BMCLIB}/tasks/tasks_1_completed.json": ("read_back", "completed"),
}
QUIRKS = "redfish/quirks/"
# The first way that a recorded update service offers.
SERVICES = {
    "bmclib-updateservice_disabled.json": "service_disabled",
    "bmclib-updateservice_with_multipart.json": "multipart",
    "intel-openbmc-updateservice-targets.json": "http_push",
    "sushy-updateservice_no_inv.json": "simple_update",
}
# Where the task of an accepted order is told.
ACCEPTED = {
    "bmclib-updateservice_ok_response.json": "/redfish/v1/TaskService/Tasks/1234",
    "bmclib-updateservice_unexpected_response.json": None,
    "sushy-task_monitor.json": "/taskmon/545",
}
OF_TASKS = {"bmclib-tasks_1_failed.json": "failed", "bmclib-tasks_1_running.json": "wait"}
ERRORS = (
    "sushy-credentials_required_error.json",
    "sushy-error.json",
    "sushy-transfer_method_required_error.json",
    "sushy-transfer_proto_required_error.json",
)
ELSEWHERE = {
    "amd-ubb-eventlog-afid-shapes.json": "an event log, which no update rests on",
    "ami-msi-etag-and-ghost-gpu-notes.md": "notes, no recording",
    "sushy-settings-nokia.json": "settings of a BIOS",
    "bmcweb-collection-with-error-member.json": "",
    "idrac8-simpleupdate-202.http": "",
    "lenovo-firmware-inventory-bmc-primary-doc.json": "",
    "supermicro-firmwareinventory-collection-doc.json": "",
}


def read(name):
    """What runs in a recorded BMC and the way of an image, or why it tells no firmware."""
    get = getter(name)
    try:
        seen = reading.read(get, "BMC", None, BY)
    except answers.BmcError as problem:
        return problem.code, ""
    uri = push.action_info_uri(seen.board.service)
    way = push.choose(seen.board.service, WISH, "BMC", get(uri) if uri else None)
    parts = {entry.component for entry in seen.entries if entry.component}
    running = {part: {entry.version for entry in inventory.running(seen.entries, part)} for part in parts}
    return {part: found.pop() for part, found in running.items() if len(found) == 1}, way.kind


def quirk(name):
    """A recorded body."""
    return json.loads(text(f"{QUIRKS}{name}"))


@pytest.mark.parametrize("name", MOCKUPS)
def test_what_runs_in_a_recorded_bmc_is_what_the_index_says(name):
    corpus()
    assert read(name) == MOCKUPS[name]


def test_every_recording_is_read_or_has_a_reason():
    here = {path.name for path in (corpus() / "redfish").iterdir()}
    assert here == {f"{name}.tar.gz" for name in MOCKUPS} | set(NOT_READ)
    quirks = {path.name for path in (corpus() / "redfish" / "quirks").iterdir()}
    assert quirks == {*SERVICES, *ACCEPTED, *OF_TASKS, *ERRORS, *ELSEWHERE}


@pytest.mark.parametrize("path", TASKS)
def test_a_recorded_task_is_what_its_state_says(path):
    corpus()
    task = json.loads(members("redfish/bmclib-fixtures.tar.gz")[path])
    follower = follow.Follower(0.0, follow.Limits(), False)
    assert follower.see(1.0, answers.Answer(200, task))[:2] == TASKS[path]


@pytest.mark.parametrize("name", OF_TASKS)
def test_a_task_at_100_percent_is_what_its_state_says(name):
    corpus()
    assert follow.of_task(quirk(name)).what == OF_TASKS[name]


@pytest.mark.parametrize("name", SERVICES)
def test_a_recorded_service_offers_its_way(name):
    corpus()
    try:
        way = push.choose(quirk(name), WISH, "BMC").kind
    except answers.BmcError as problem:
        way = problem.code
    assert way == SERVICES[name]


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_task_of_an_accepted_order_is_found(name):
    corpus()
    assert answers.task_uri(answers.Answer(202, quirk(name))) == ACCEPTED[name]


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_body_says_what_is_wrong(name):
    corpus()
    assert len(answers.Answer(400, quirk(name)).said) > 20


def test_a_task_is_told_by_the_header_where_there_is_no_body():
    corpus()
    line = next(
        line
        for line in text(f"{QUIRKS}idrac8-simpleupdate-202.http").splitlines()
        if line.lower().startswith("location")
    )
    answer = answers.Answer(202, None, {"Location": line.partition(":")[2].strip()})
    assert answers.task_uri(answer) == "/redfish/v1/TaskService/Tasks/JID_398033659417"


def test_a_list_with_an_error_in_it_is_partial():
    corpus()
    body = quirk("bmcweb-collection-with-error-member.json")
    found = inventory.walk(lambda path: body if path == "/x" else {"Id": path}, "/x")
    assert (len(found.entries), any("inventory_partial" in problem for problem in found.problems)) == (2, True)


def test_copies_beside_what_runs_are_not_counted():
    corpus()
    body = quirk("supermicro-firmwareinventory-collection-doc.json")
    rows = [{"Id": row["@odata.id"].rpartition("/")[2], "Version": "1"} for row in body["Members"]]
    entries = inventory.entries_of(rows, "Supermicro", BY.own, BY.catalog["components"], BY.catalog["banks"])
    copies = ("Backup_", "Golden_", "Staging_", "Capsule_")
    assert {entry.id for entry in entries if entry.bank != "running"} == {
        row["Id"] for row in rows if row["Id"].startswith(copies)
    }
    assert [len(inventory.running(entries, part)) for part in ("bmc", "bios")] == [1, 1]


def test_a_primary_bank_runs_and_needs_no_lowest_version():
    corpus()
    rows = [quirk("lenovo-firmware-inventory-bmc-primary-doc.json")]
    entry = inventory.entries_of(rows, "Lenovo", BY.own, BY.catalog["components"], BY.catalog["banks"])[0]
    assert (entry.component, entry.bank, entry.lowest) == ("bmc", "running", None)
