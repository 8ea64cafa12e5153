# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One form for what BMCs answer: messages, licences, sessions, and where an order can be followed."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    LOST,
    Answer,
    is_of,
    lacks_licence,
    link,
    path_of,
    refused,
    slots_are_full,
    task_uri,
    words_of,
)

TASKS = "/redfish/v1/TaskService/Tasks"
DCMS = {"error": {"message": "Not licensed to perform this request. The following licenses DCMS were needed"}}
SLOTS = {
    "error": {
        "@Message.ExtendedInfo": [
            {"Message": "The maximum number of user sessions is reached.", "MessageId": "IDRAC.2.4.RAC0218"}
        ]
    }
}


@pytest.mark.parametrize(
    ("answer", "uri"),
    [
        (Answer(202, None, {"location": f"{TASKS}/JID_1"}), f"{TASKS}/JID_1"),
        (Answer(202, None, {"Location": f"https://bmc.other.name{TASKS}/5/"}), f"{TASKS}/5"),
        (Answer(202, None, {"Location": "/taskmon/545"}), "/taskmon/545"),
        (Answer(202, {"@odata.id": f"{TASKS}/7", "TaskState": "New"}), f"{TASKS}/7"),
        (
            Answer(200, {"@Message.ExtendedInfo": [{"MessageArgs": [f"{TASKS}/1234"], "Message": f"{TASKS}/1"}]}),
            f"{TASKS}/1234",
        ),
        (Answer(200, {"error": {"@Message.ExtendedInfo": [{"Message": "Success"}]}}), None),
        (Answer(200), None),
    ],
)
def test_the_task_is_found_wherever_a_maker_names_it(answer, uri):
    assert task_uri(answer) == uri


def test_a_licence_is_told_from_a_password_and_from_rights_b30():
    told = [
        refused(Answer(status, body), "BMC", "push").code for status, body in ((403, DCMS), (401, None), (403, None))
    ]
    assert (told, lacks_licence(Answer(403, DCMS))) == (["license_missing", "bad_credentials", "not_allowed"], True)


def test_full_slots_are_told_from_a_bmc_that_is_busy_b16():
    assert [slots_are_full(answer) for answer in (Answer(503, SLOTS), Answer(503), Answer(LOST))] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "not_there"),
        (412, "precondition_refused"),
        (428, "precondition_refused"),
        (503, "bmc_unreachable"),
        (LOST, "bmc_unreachable"),
        (400, "refused"),
    ],
)
def test_every_refusal_has_a_word(status, code):
    assert refused(Answer(status), "BMC", "GET /x").code == code


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"@Message.ExtendedInfo": {"Message": "no", "MessageID": "iLO.0.10.X"}}}, ["no (iLO.0.10.X)"]),
        ({"Messages": [{"MessageID": "iLO.0.10.SystemResetRequired"}]}, ["(iLO.0.10.SystemResetRequired)"]),
        ({"error": "bad"}, ["bad"]),
        ({"error": {"code": "Base.1.0"}}, ["Base.1.0"]),
        (None, []),
        ([1], []),
        ({"error": None}, []),
        ({"@Message.ExtendedInfo": ["text"]}, []),
    ],
)
def test_messages_are_read_in_every_form_b33(body, words):
    assert words_of(body) == words


def test_a_credential_in_an_answer_is_masked():
    assert "secret" not in Answer(400, {"error": {"message": "https://user:secret@host/x failed"}}).said


def test_links_and_tasks_are_told_by_their_paths():
    assert (
        path_of("https://h/a?b=1"),
        link({"A": {"@odata.id": "/x"}}, "A"),
        link({"A": "/x"}, "A"),
        link({}, "A"),
    ) == ("/a?b=1", "/x", None, None)
    assert is_of("/redfish/v1/TaskService/TaskMonitors/9", [f"{TASKS}/9/"])
