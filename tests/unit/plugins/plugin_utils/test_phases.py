# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each phase of a rollout wants of a node."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import phases
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

FACTS = {
    "node": {"boot_id": "aaaa", "kernel": {"running": "6.1", "cmdline": ["ro"]}},
    "gpus": [
        {"bdf": "0000:63:00.0", "device_id": "74a1", "link": [{"bdf": "0000:63:00.0", "speed_gts": 32.0, "width": 16}]}
    ],
    "driver": {"version": "6.12.12"},
    "rocm": {"active": "6.4.4", "holds": ["rocm"], "packages": {"rocm": {"version": "6.4.4.60404-129~22.04"}}},
}
FINDING = {
    "rule": "link.speed",
    "subject": "0000:63:00.0",
    "area": "health",
    "verdict": "fail",
    "expected": "32.0 GT/s",
    "observed": "16.0 GT/s",
    "fix": "reseat",
}


def record(kind, *findings):
    return {"node": "g01", "class": kind, "findings": list(findings), "steps": [], "verdict": {}, "rollback": {}}


@pytest.fixture
def store(tmp_path):
    kept = phases.Store(str(tmp_path), None, "g01")
    kept.keep_before(FACTS)
    return kept


def changed(**leaves):
    facts = copy.deepcopy(FACTS)
    for section, values in leaves.items():
        facts[section].update(values)
    return facts


def test_an_audit_only_writes_down(store):
    assert "failed" not in phases.conclude("audit", record("unhealthy", FINDING), FACTS, store)


@pytest.mark.parametrize("kind", ["blocked", "unknown", "unhealthy"])
def test_a_node_that_must_not_be_moved_fails_its_precheck_with_the_finding(store, kind):
    result = phases.conclude("precheck", record(kind, FINDING), FACTS, store)
    assert result["failed"]
    assert "link.speed" in result["msg"]
    assert "reseat" in result["msg"]


def test_a_refused_node_is_not_blamed_for_what_the_rollout_would_change(store):
    differs = {**FINDING, "rule": "rocm.active", "area": "compliance"}
    result = phases.conclude("precheck", record("unhealthy", differs, FINDING), FACTS, store)
    assert "rocm.active" not in result["msg"]
    assert "link.speed" in result["msg"]


def test_a_node_that_an_earlier_run_left_half_changed_only_has_to_answer(store):
    store.begun = True
    assert "failed" not in phases.conclude("precheck", record("unhealthy", FINDING), FACTS, store)
    assert phases.conclude("precheck", record("unknown", FINDING), None, store)["failed"]


def test_half_changed_facts_are_never_kept_as_those_from_before(tmp_path):
    store = phases.Store(str(tmp_path), None, "g01")
    store.begun = True
    phases.conclude("precheck", record("at_target"), FACTS, store)
    assert not store.before.exists()


def test_the_facts_from_before_are_kept_once(store):
    phases.conclude("precheck", record("may_move"), changed(driver={"version": "half changed"}), store)
    assert store.read_before() == FACTS


def test_check_mode_keeps_nothing(tmp_path):
    store = phases.Store(str(tmp_path), None, "g02")
    phases.conclude("precheck", record("may_move"), FACTS, store, keep=False)
    assert not store.before.exists()


def test_the_planned_change_passes_verify(store):
    after = changed(driver={"version": "6.14.14"}, rocm={"active": "7.0.2"})
    assert "failed" not in phases.conclude("verify", record("at_target"), after, store)


def test_a_gpu_lost_on_the_way_fails_verify_even_at_target(store):
    result = phases.conclude("verify", record("at_target"), {**changed(), "gpus": []}, store)
    assert "after.gpu_lost" in result["msg"]


def test_a_node_without_facts_never_passes(store):
    assert phases.conclude("soak", record("unknown"), None, store)["failed"]


def test_a_restored_node_must_have_its_holds_again(store):
    result = phases.conclude("verify_old", record("may_move"), changed(rocm={"holds": []}), store)
    assert result["failed"]
    assert "facts.rocm.holds" in result["msg"]


def test_a_restored_node_that_is_what_it_was_passes(store):
    assert "failed" not in phases.conclude("verify_old", record("may_move"), changed(node={"boot_id": "bbbb"}), store)


@pytest.mark.parametrize("flashed", [True, False])
def test_a_way_back_does_not_take_firmware_back(store, flashed):
    before = {**FACTS, "platform": {"bios_version": "3.2", "board": "B"}}
    store.before.unlink()
    store.keep_before(before)
    store.flashed = flashed
    after = {**before, "platform": {"bios_version": "3.4", "board": "B"}}
    assert ("failed" in phases.conclude("verify_old", record("may_move"), after, store)) is not flashed
    other = {**after, "platform": {"bios_version": "3.4", "board": "C"}}
    assert "facts.platform.board" in phases.conclude("verify_old", record("may_move"), other, store)["msg"]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_vbios_may_be_another_only_where_the_target_names_firmware(store, wanted):
    gpu = {**FACTS["gpus"][0], "vbios": "113-M3000100-102"}
    store.before.unlink()
    store.keep_before({**FACTS, "gpus": [gpu]})
    seen = {**record("at_target"), **({"firmware": []} if wanted else {})}
    after = {**FACTS, "gpus": [{**gpu, "vbios": "113-M3000100-103"}]}
    assert ("failed" in phases.conclude("verify", seen, after, store)) is not wanted


def test_missing_facts_from_before_are_an_error_that_names_the_file(tmp_path):
    with pytest.raises(FleetError, match=r"g03\.json"):
        phases.Store(str(tmp_path), None, "g03").read_before()


def test_of_a_hundred_troubles_the_first_are_told_and_the_others_counted(store):
    findings = [{**FINDING, "subject": f"gpu {number:03}"} for number in range(100)]
    told = phases.conclude("verify", record("unhealthy", *findings), FACTS, store)["msg"]
    assert "gpu 007" in told
    assert "gpu 008" not in told
    assert told.endswith("; and 92 more")


def test_a_node_whose_name_holds_a_slash_keeps_its_facts_below_the_rollout(tmp_path):
    store = phases.Store(str(tmp_path), None, "rack1/g01")
    store.keep_before(FACTS)
    assert store.before.parent == tmp_path / "before"
    assert store.read_before() == FACTS


def test_a_node_that_goes_down_by_itself_while_it_soaks_fails_though_it_is_healthy_again(store):
    look = [phases.conclude("soak", record("at_target"), changed(node={"boot_id": boot}), store) for boot in "bbc"]
    assert ["failed" in result for result in look] == [False, False, True]
    assert "the node must stay in one boot: boot id c, wanted b all the time" in look[2]["msg"]


def test_a_soak_without_a_boot_id_proves_nothing(store):
    result = phases.conclude("soak", record("at_target"), changed(node={"boot_id": None}), store)
    assert "boot id that cannot be read" in result["msg"]


@pytest.fixture(name="rebooted")
def _rebooted(tmp_path):
    """A store of a rollout that proved a boot of the node; the ledger gets what comes after it."""

    def make(*later):
        book = Ledger.create(tmp_path / "ledger.sqlite", {"plan_id": "abc", "nodes": {"g01": {"wave": 1}}})
        epoch = book.take_lease({"who": "me", "host": "here", "pid": 1}, ttl=60)
        for state in ("admitted", "prechecked", "draining", "drained", "snapshotted", "changing", "activating"):
            book.record(epoch, "g01", state)
        book.record(epoch, "g01", "booted", data={"boot_id": "bbbb"})
        for act in later:
            act(book, epoch)
        kept = phases.Store(str(tmp_path), str(tmp_path), "g01")
        phases.write_json(kept.before, FACTS)
        return kept

    return make


@pytest.mark.parametrize("phase", ["verify", "soak"])
@pytest.mark.parametrize("boot, told", [("bbbb", False), ("cccc", True), (None, True)])
def test_a_node_that_went_down_by_itself_after_its_reboot_is_seen_however_healthy_it_is(rebooted, phase, boot, told):
    result = phases.conclude(phase, record("at_target"), changed(node={"boot_id": boot}), rebooted())
    assert ("wanted bbbb all the time" in result.get("msg", "")) is told


@pytest.mark.parametrize(
    "later",
    [
        lambda book, epoch: book.record(epoch, "g01", "admitted", action="resume"),
        lambda book, epoch: book.note(epoch, "g01", "reboot 2 is ordered", {"reboot": {"number": 2}}),
    ],
    ids=["another controller took it up", "another reboot was ordered"],
)
def test_nothing_is_claimed_of_a_boot_that_may_have_ended_for_a_reason(rebooted, later):
    assert "failed" not in phases.conclude(
        "verify", record("at_target"), changed(node={"boot_id": "cccc"}), rebooted(later)
    )


def test_a_node_that_was_not_rebooted_may_be_in_any_boot(store):
    assert "failed" not in phases.conclude("verify", record("at_target"), changed(node={"boot_id": None}), store)
