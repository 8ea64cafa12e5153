# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one PATCH of BIOS settings, what is made of its answer, and the wait after the boot; the BMC is played."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import bios_staging
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import LOST, Answer, BmcError
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.redfish.setups import job, names, setup

TASK = "/redfish/v1/TaskService/Tasks/1"
WISH = {"smt": "Auto"}
STAGED = {"Rome0059": "Auto"}


class Played:
    """A client whose BMC gives one answer to an order; the desk's reads are played one after the other."""

    subject = "BMC"

    def __init__(self, answer=None, task=None):
        self.answer, self.task, self.sent = answer or Answer(200, {}), task, []

    tags = ('"1"',)

    def patch(self, path, body):
        self.sent.append(("PATCH", body))
        return self.answer

    def delete(self, path):
        self.sent.append(("DELETE", path))
        return self.answer

    def look(self, path):
        return Answer(200, self.task) if self.task else Answer(404)


class Desk(bios_staging.Desk):
    """A desk over settings that are given; the last of them stay."""

    def read(self):
        self.setup = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(self.setup, BmcError):
            raise self.setup
        return self.setup


def desk(client, *looks):
    """A desk whose clock runs by its own waits."""
    at = [0.0]
    made = Desk(client, names(), None, lambda: at[0], lambda seconds: at.__setitem__(0, at[0] + seconds))
    made.looks, made.poll, made.wait = list(looks), 1.0, 10.0
    return made


def code(act, *words):
    """The code of what is refused or fails."""
    with pytest.raises(BmcError) as caught:
        act(*words)
    return caught.value.code


@pytest.mark.parametrize(("times", "asked"), [((), False), (("OnReset",), True), (("Immediate",), False)])
def test_the_next_reset_is_asked_for_where_it_is_offered_b18(times, asked):
    client = Played()
    bios_staging.stage(desk(client, setup(times=times), setup(STAGED)), WISH, "refuse")
    when = {"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}} if asked else {}
    assert client.sent == [("PATCH", {"Attributes": STAGED, **when})]


def test_a_value_that_only_takes_back_a_staged_one_asks_for_no_job_b19():
    client = Played()
    looks = (setup(STAGED, times=("OnReset",)), setup())
    bios_staging.stage(desk(client, *looks), {"smt": "Disabled"}, "refuse")
    assert client.sent == [("PATCH", {"Attributes": {"Rome0059": "Disable"}})]


@pytest.mark.parametrize(
    ("answer", "after", "end"),
    [
        (Answer(LOST), setup(), "bmc_unreachable"),
        (Answer(412, {}), setup(), "precondition_refused"),
        (Answer(428, {}), setup(), "precondition_refused"),
        (Answer(400, {}), setup(), "refused"),
        (Answer(403, {}), setup(), "not_allowed"),
        (Answer(200, {}), setup(), "attribute_not_settable"),
        (Answer(200, {}), setup(STAGED, maker="Dell"), "staged_without_job"),
    ],
)
def test_what_is_not_staged_afterwards_is_a_failure_b05_b18_b29(answer, after, end):
    before = setup(maker=after.maker)
    assert code(bios_staging.stage, desk(Played(answer), before, after), WISH, "refuse") == end


def test_an_answer_that_was_lost_is_looked_for_in_the_settings():
    plan, _job = bios_staging.stage(desk(Played(Answer(LOST)), setup(), setup(STAGED)), WISH, "refuse")
    assert plan.changes


@pytest.mark.parametrize(
    ("answer", "jobs"), [(Answer(202, None, {"Location": TASK}), []), (Answer(200, {}), [job()])], ids=["told", "seen"]
)
def test_the_job_is_the_one_that_is_told_or_else_the_one_that_waits(answer, jobs):
    here = desk(Played(answer), setup(maker="Dell"), setup(STAGED, maker="Dell", jobs=jobs))
    assert bios_staging.stage(here, WISH, "refuse")[1] == TASK


def test_a_job_of_somebody_else_goes_first_where_that_is_wanted():
    client, foreign = Played(), {"Rome0162": "Disabled"}
    looks = (setup(foreign, maker="Dell", jobs=[job()]), setup(maker="Dell"), setup(STAGED, maker="Dell", jobs=[job()]))
    plan, _job = bios_staging.stage(desk(client, *looks), WISH, "discard")
    assert client.sent == [("DELETE", TASK), ("PATCH", {"Attributes": STAGED})]
    assert plan.foreign == {"Rome0162": ("Enabled", "Disabled")}


@pytest.mark.parametrize("looks", [[setup()], [setup({"Rome0162": "Disabled"}, jobs=[job()])]], ids=["patch", "delete"])
def test_a_controller_that_was_taken_over_sends_nothing(looks):
    client = Played()
    here = desk(client, *looks)
    here.may_act = lambda: (_ for _ in ()).throw(BmcError("stale", "rollout", "taken over"))
    assert (code(bios_staging.stage, here, WISH, "discard"), client.sent) == ("stale", [])


def test_a_controller_that_was_killed_after_its_order_sends_none_again():
    client = Played()
    plan, _job = bios_staging.stage(desk(client, setup(STAGED)), WISH, "refuse")
    assert (plan.changes, plan.boot_needed, client.sent) == (False, True, [])


APPLIED = setup(applied={**setup().applied, **STAGED})
AWAY = BmcError("bmc_unreachable", "BMC", "HTTP 503")


@pytest.mark.parametrize(
    "looks", [[APPLIED], [setup(STAGED), APPLIED], [AWAY, APPLIED], [APPLIED._replace(jobs=(job(),)), APPLIED]]
)
def test_the_wished_values_are_waited_for(looks):
    assert [row.applied for row in bios_staging.prove(desk(Played(), *looks), WISH, None)] == ["Auto"]


@pytest.mark.parametrize(
    ("looks", "task", "end"),
    [
        ([setup(STAGED)], None, "not_applied"),
        ([setup()], None, "not_applied"),
        ([AWAY], None, "not_applied"),
        ([APPLIED._replace(jobs=(job(),))], None, "not_applied"),
        ([setup()], {"JobState": "Failed"}, "not_applied"),
        # One maker shows the values, then its job fails and they are back (b27).
        ([APPLIED, setup()], None, "not_applied"),
        ([APPLIED._replace(problems=("jobs: HTTP 500",))], None, "jobs_unknown"),
    ],
)
def test_what_does_not_hold_after_the_boot_is_a_failure_b27_b33(looks, task, end):
    assert code(bios_staging.prove, desk(Played(task=task), *looks), WISH, TASK) == end


def test_a_plan_is_told_with_what_would_have_come_and_what_comes():
    plan, _job = bios_staging.stage(desk(Played(), setup({"Rome0162": "Disabled"}), setup(STAGED)), WISH, "discard")
    told = bios_staging.told(plan, None)
    assert told["diff"]["before"] == "Rome0059: Disable\nRome0162: Disabled\n"
    assert told["diff"]["after"] == "Rome0059: Auto\nRome0162: Enabled\n"
    assert (told["changed"], told["boot_needed"], len(told["warnings"])) == (True, True, 1)
