# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reboot is proven by what the node shows, never by the tool that ordered it (reports F01, F03, F24)."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import boot
from ansible_collections.fleetops.instinct.plugins.plugin_utils.boot import Boot, Look, Looks
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted

BEFORE = Boot("aaaa", 86400.0, "6.1.0-40-amd64")
NEW, OTHER = BEFORE._replace(boot_id="bbbb", uptime=9.0), BEFORE._replace(boot_id="cccc", uptime=3.0)
FIRST = Look(BEFORE)
ALARM = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Host key verification failed."""


def looks_at(*seen, wanted=3, before=FIRST):
    """Looks that were taken in: a boot, an error, or a whole look each."""
    looks = Looks(before, wanted)
    for one in seen:
        looks.is_back(one if isinstance(one, Look) else Look(one) if isinstance(one, Boot) else Look(None, one))
    return looks


def diagnosis_of(call, *args, **more):
    with pytest.raises(NotRebooted) as caught:
        call(*args, **more)
    return caught.value


def test_boot_id_uptime_and_kernel_come_from_one_read():
    assert boot.parse_boot(0, "aaaa\n12.50 40.00\n6.1.0-40-amd64\n", "") == Boot("aaaa", 12.5, "6.1.0-40-amd64")


@pytest.mark.parametrize(
    "status, output", [(1, ""), (0, ""), (0, "aaaa\n"), (0, "aaaa\nsoon\n6.1\n"), (255, "aaaa\n1 1\n6.1\n")]
)
def test_an_answer_of_another_form_is_no_boot(status, output):
    with pytest.raises(FleetError, match="boot id"):
        boot.parse_boot(status, output, "")


@pytest.mark.parametrize("last, stopping", [("stopping\n", True), ("running\n", False), ("", False)])
def test_a_node_that_is_going_down_says_so(last, stopping):
    look = boot.look_in(0, f"aaaa\n12.50 40.00\n6.1.0-40-amd64\n{last}", "")
    assert (look.boot.boot_id, look.stopping) == ("aaaa", stopping)


def test_a_node_that_an_earlier_controller_sent_down_is_not_back_while_it_still_goes_down():
    looks = looks_at(*[Look(BEFORE, stopping=True)] * 5, NEW, NEW, wanted=3, before=Look(None))
    assert not looks.is_back(Look(BEFORE, stopping=True))
    assert [looks.is_back(Look(NEW)) for _look in range(3)] == [False, False, True]


# -- before the order ----------------------------------------------------------------------------------------------


def test_a_node_that_does_not_answer_is_not_ordered_to_reboot():
    error = diagnosis_of(boot.check_before, "g01", Look(None, "Connection refused"))
    assert error.diagnosis == "no_answer"
    assert "no reboot was ordered" in str(error)


@pytest.mark.parametrize("transport, own", [("local", None), ("ssh", "aaaa"), ("local", "ffff")])
def test_the_controller_is_never_rebooted_also_not_over_ssh_to_itself_f24(transport, own):
    error = diagnosis_of(boot.refuse_controller, "head01", transport, BEFORE, own)
    assert error.diagnosis == "refused"
    assert "it is the controller itself" in str(error)


@pytest.mark.parametrize("own", ["ffff", None])
def test_another_machine_may_be_rebooted(own):
    boot.refuse_controller("g01", "ssh", BEFORE, own)


def test_a_node_that_refuses_the_order_is_told_with_its_words():
    error = diagnosis_of(boot.check_order, "g01", "shutdown -r now", 1, "", "Operation inhibited by backup")
    assert error.diagnosis == "refused"
    assert "Operation inhibited by backup" in str(error)


@pytest.mark.parametrize("status", [0, 143, 255])
def test_a_connection_that_goes_down_with_the_node_is_no_refusal(status):
    boot.check_order("g01", "shutdown -r now", status, "", "")


# -- looks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seen, back",
    [
        ([NEW, NEW, NEW], True),
        ([NEW, NEW, "refused", NEW, NEW], False),
        ([NEW, NEW, OTHER], False),
        ([NEW, OTHER, OTHER, OTHER], True),
        ([BEFORE] * 9, False),
        ([Look(NEW, ALARM)] * 9, False),
    ],
    ids=["steady", "sshd went once more", "booted twice", "steady at last", "ignored", "another key, not checked"],
)
def test_a_node_is_back_when_one_new_boot_answers_often_enough_in_a_row(seen, back):
    *first, last = seen
    looks = looks_at(*first)
    assert looks.is_back(last if isinstance(last, Look) else Look(last)) is back


def test_a_warning_of_ssh_that_was_there_before_says_nothing_of_the_reboot():
    looks = looks_at(*[Look(NEW, ALARM)] * 2, before=Look(BEFORE, ALARM))
    assert looks.is_back(Look(NEW, ALARM))


# -- what became of a node that is back ----------------------------------------------------------------------------


def test_a_new_boot_on_the_planned_kernel_is_proven():
    boot.prove_boot("g01", looks_at(NEW, NEW), 60.0, "6.1.0-40-amd64")


def test_nothing_is_claimed_of_a_kernel_that_was_not_known():
    boot.prove_boot("g01", looks_at(NEW._replace(kernel="6.1.0-41-amd64")), 60.0, None)


@pytest.mark.parametrize(
    "seen, word, text",
    [
        ([BEFORE._replace(uptime=5.0)], "ignored", "the boot id is still aaaa"),
        ([NEW._replace(uptime=5000.0)], "not_younger", "up for 5000 s"),
        ([NEW, OTHER], "doubled", "it booted 2 times after the order, into bbbb, cccc"),
        ([NEW._replace(kernel="6.1.0-41-amd64")], "wrong_kernel", "booted kernel 6.1.0-41-amd64"),
    ],
    ids=["ignored", "not_younger", "doubled", "wrong_kernel"],
)
def test_what_does_not_prove_a_reboot_is_told_apart_f01(seen, word, text):
    error = diagnosis_of(boot.prove_boot, "g01", looks_at(*seen), 60.0, "6.1.0-40-amd64")
    assert error.diagnosis == word
    assert text in str(error)


def test_a_boot_that_only_the_journal_saw_counts():
    looks = looks_at(NEW)
    assert diagnosis_of(boot.prove_boot, "g01", looks, 60.0, None, between=["dddd"]).diagnosis == "doubled"
    boot.prove_boot("g01", looks, 60.0, None, between=["dddd"], ordered=2)


JOURNAL = """IDX BOOT ID                          FIRST ENTRY                 LAST ENTRY
 -1 5b1f3f0e7a7e4c5e9b9c0d2f1d3b6a11 Mon 2026-11-30 10:00:00 UTC Tue 2026-12-01 08:00:00 UTC
  0 6c1f3f0e7a7e4c5e9b9c0d2f1d3b6a12 Tue 2026-12-01 08:03:00 UTC Tue 2026-12-01 08:05:00 UTC
"""


def test_the_journal_names_its_boots_as_the_kernel_does():
    first = "5b1f3f0e-7a7e-4c5e-9b9c-0d2f1d3b6a11"
    assert boot.parse_boots(JOURNAL)[0] == first
    assert len(boot.parse_boots(JOURNAL)) == 2
    assert boot.parse_boots("Failed to open the journal") == []


@pytest.mark.parametrize(
    "journal, between",
    [(["aaaa", "bbbb"], []), (["0", "aaaa", "dddd", "bbbb"], ["dddd"]), (["dddd", "bbbb"], []), ([], [])],
    ids=["one boot", "one more", "a journal that forgets", "none"],
)
def test_boots_are_counted_from_the_one_of_before_where_the_journal_knows_it(journal, between):
    assert boot.boots_between("aaaa", "bbbb", journal) == between


# -- what became of a node that is not back ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seen, port, word, text",
    [
        (["refused", BEFORE], True, "ignored", "the reboot was ignored"),
        ([BEFORE, "refused"], False, "never_back", "its SSH port does not answer"),
        ([BEFORE, "Permission denied"], True, "never_back", "takes connections, yet nobody can log in"),
        (["timed out"], None, "never_back", "cannot be told from here"),
        ([NEW, NEW, "refused"], True, "flapping", "(boots seen: 1), but never 3 times in a row"),
        ([NEW, OTHER, "refused"], False, "flapping", "(boots seen: 2)"),
        (["refused", ALARM], True, "host_key_changed", "another host key"),
        ([NEW, ALARM], True, "host_key_changed", "another host key"),
        ([Look(NEW, ALARM)], True, "host_key_changed", "another host key"),
    ],
)
def test_what_became_of_a_node_that_is_not_back_is_told_apart_f03(seen, port, word, text):
    error = boot.not_back("g01", looks_at(*seen), 60.0, port)
    assert error.diagnosis == word
    assert text in str(error)
    assert f"[{word}]" in str(error)
    assert error.evidence["port_answers"] is port


@pytest.mark.parametrize(
    "words",
    [
        ALARM,
        "Host key verification failed.",
        "host key mismatch for g01",
        "Using a SSH password instead of a key is not possible because Host Key checking is enabled.",
    ],
)
def test_another_key_is_known_by_the_words_of_each_connection_f03(words):
    assert Look(None, words).key_changed


def test_a_node_with_another_key_is_left_for_a_person_f03():
    text = str(boot.not_back("g01", looks_at(ALARM), 60.0, True))
    assert "Its power is not cycled and nothing is sent back on this ground: it stays drained for you" in text


def test_a_secret_in_what_ssh_said_stays_out_of_the_evidence():
    error = boot.not_back("g01", looks_at("proxy http://me:hunter2@proxy refused"), 60.0, False)
    assert "hunter2" not in str(error) + str(error.evidence)
