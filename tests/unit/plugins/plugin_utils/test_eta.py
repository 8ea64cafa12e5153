# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The estimate: only what was done in one go is measured, only enough of it counts, and the rest is typical."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils import attempts, eta, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.ledgers import ANNA, Clock

START = datetime.fromisoformat("2026-12-01T04:00:00+00:00")
# A node's way into service: state, kind, reason, and the seconds until the next event.
WAY = [
    ("admitted", "outcome", "wave 1", 7), ("prechecked", "outcome", "", 1), ("draining", "intent", "", 50),
    ("drained", "outcome", "", 4), ("snapshotted", "outcome", "", 1), ("changing", "intent", "kernel settings", 20),
    ("changing", "intent", "ROCm 7.0.2, driver 30.10.2", 500), ("activating", "intent", "reboot", 300),
    ("booted", "outcome", "", 1), ("verifying", "intent", "", 30), ("soaking", "intent", "60 s", 60),
    ("in_service", "outcome", "", 0),
]  # fmt: skip
STEPS = {"precheck": 7, "drain": 50, "snapshot": 4, "kernel": 20, "rocm": 500, "reboot": 300, "verify": 30}
TYPICAL = {"drain": 300, "kernel": 30, "rocm": 600, "reboot": 600, "verify": 60}


def plan_of(*nodes, steps=("kernel", "rocm", "reboot"), product="MI300X", **more):
    rows = {node: {"product": product, "steps": list(steps), "wave": n} for n, node in enumerate(nodes, 1)}
    waves = [{"number": row["wave"], "nodes": [node]} for node, row in rows.items()]
    return {"plan_id": "abc", "nodes": rows, "waves": waves, **more}


def events_of(node, way=None, start=0, epoch=1, times=1.0):
    """The events of one node that goes this way, every time multiplied."""
    told, at = [], START + timedelta(seconds=start)
    for state, kind, reason, seconds in way or WAY:
        row = {"node": node, "state": state, "kind": kind, "reason": reason, "action": None, "epoch": epoch}
        told.append({**row, "at": at.isoformat(), "data": {}})
        at += timedelta(seconds=seconds * times)
    return told


def note(text="the clock went back"):
    row = {"node": None, "state": None, "kind": "note", "reason": text, "action": None, "epoch": 1}
    return {**row, "at": START.isoformat()}


def learned_from(*times, product="MI300X", steps=("kernel", "rocm", "reboot")):
    nodes = [f"g{number}" for number in range(len(times))]
    told = [event for node, factor in zip(nodes, times, strict=True) for event in events_of(node, times=factor)]
    return eta.measured([eta.samples(plan_of(*nodes, product=product, steps=steps), told)])


def test_each_step_is_measured_from_its_beginning_to_what_follows():
    found = eta.samples(plan_of("g1"), events_of("g1"))
    assert {step: seconds for _product, step, seconds in found["g1"]} == STEPS


def test_a_flash_and_settings_of_the_bios_are_steps_with_times_of_their_own():
    more = [("changing", "intent", "firmware bmc, bios", 900), ("changing", "intent", "BIOS settings", 9)]
    way = [*WAY[:5], more[0], *WAY[5:7], more[1], *WAY[7:]]
    found = eta.samples(plan_of("g1", steps=("firmware", "kernel", "rocm", "bios", "reboot")), events_of("g1", way))
    assert {step: seconds for _product, step, seconds in found["g1"]} == {**STEPS, "firmware": 900, "bios": 9}


def test_a_step_that_the_node_did_not_need_is_no_sample_of_it():
    found = eta.samples(plan_of("g1", steps=("rocm",)), events_of("g1"))
    assert not {"kernel", "reboot"} & {step for _product, step, _seconds in found["g1"]}


@pytest.mark.parametrize("state", ["failed", "paused", "requeued", "admitted", "rolling_back", "inconclusive"])
def test_a_node_that_did_not_go_in_one_go_is_not_measured(state):
    way = [*WAY[:7], (state, "outcome", "", 9000), *WAY[6:]]
    assert not eta.samples(plan_of("g1"), events_of("g1", way))


def test_a_node_that_a_second_controller_took_up_is_not_measured():
    told = [*events_of("g1", WAY[:6]), *events_of("g1", WAY[6:], start=9000, epoch=2)]
    assert not eta.samples(plan_of("g1"), told)


def test_a_node_that_is_under_way_is_not_measured():
    assert not eta.samples(plan_of("g1"), events_of("g1", WAY[:-1]))


def test_what_lies_around_a_note_on_the_whole_rollout_is_not_measured():
    told = events_of("g1")
    found = eta.samples(plan_of("g1"), [*told[:7], note(), *told[7:]])
    assert {step for _product, step, _seconds in found["g1"]} == set(STEPS) - {"rocm"}


def test_a_note_on_the_node_itself_changes_nothing():
    told = events_of("g1")
    assert len(eta.samples(plan_of("g1"), [*told[:7], {**note(), "node": "g1"}, *told[7:]])["g1"]) == len(STEPS)


def test_a_clock_that_was_put_back_gives_no_sample():
    way = [(state, kind, reason, -5 if state == "draining" else time) for state, kind, reason, time in WAY]
    found = eta.samples(plan_of("g1"), events_of("g1", way))
    assert "drain" not in {step for _product, step, _seconds in found["g1"]}


def estimate(plan, learned=None, soak=60):
    return eta.estimate(plan["nodes"], plan["waves"], TYPICAL, soak, learned)


def test_without_earlier_rollouts_the_estimate_is_typical_and_knows_no_percentile():
    seconds = 2 * (300 + 30 + 600 + 600 + 60 + 60)
    assert estimate(plan_of("a", "b")) == {
        "seconds": seconds, "p90_seconds": None, "samples": 0, "source": "typical", "waves": [seconds // 2] * 2,
    }  # fmt: skip


def test_two_samples_are_not_enough():
    found = estimate(plan_of("a"), learned_from(1, 1))
    assert (found["source"], found["samples"], found["seconds"]) == ("typical", 2, 1650)


def test_three_samples_give_the_median_and_the_90th_percentile():
    found = estimate(plan_of("a"), learned_from(1, 1, 2))
    whole = sum(STEPS.values())
    assert (found["seconds"], found["p90_seconds"]) == (whole + 60, 2 * whole + 60)
    assert (found["source"], found["samples"]) == ("earlier rollouts", 3)


def test_what_was_not_measured_is_typical_and_the_plan_says_both():
    found = estimate(plan_of("a"), learned_from(1, 1, 1, steps=("rocm", "reboot")))
    assert (found["source"], found["seconds"]) == ("both", sum(STEPS.values()) - 20 + 30 + 60)


def test_a_product_that_was_measured_goes_by_its_own_times_another_by_those_of_all():
    slow, quick = (
        eta.samples(plan_of(*names, product=product), [event for n in names for event in events_of(n, times=factor)])
        for names, product, factor in (("abc", "MI210", 4), ("defg", "MI300X", 1))
    )
    learned = eta.measured([slow, quick])
    own = [estimate(plan_of("x", product=name), learned, soak=0)["seconds"] for name in ("MI210", "MI300X", "MI325X")]
    assert own == [4 * sum(STEPS.values()), sum(STEPS.values()), sum(STEPS.values())]


def test_a_wave_takes_as_long_as_the_slowest_node_in_each_step():
    plan = plan_of("a", "b")
    plan["nodes"]["a"]["steps"], plan["nodes"]["b"]["steps"] = ["kernel"], ["reboot"]
    plan["waves"] = [{"number": 1, "nodes": ["a", "b"]}]
    assert estimate(plan, soak=0)["seconds"] == 300 + 60 + 30 + 600


def rollout_on_disk(fleet_dir, name, times):
    """A ledger of one finished wave of nodes, written with a clock of its own."""
    nodes, clock = [f"g{number}" for number in range(3)], Clock()
    plan = {**plan_of(*nodes), "plan_id": name}
    path = rollout.ledger_path(rollout.rollout_dir(str(fleet_dir), name))
    book = Ledger.create(path, plan, ANNA, clock, alive=lambda pid: True)
    epoch = book.take_lease(ANNA, 1e6)
    for node in nodes:
        for state, kind, reason, seconds in WAY:
            snapshot = {"snapshot": {"big": "x" * 100}} if state == "snapshotted" else None
            book.record(epoch, node, state, kind=kind, reason=reason, data=snapshot)
            clock.now += seconds * times
    return path


def test_the_ledgers_of_earlier_rollouts_are_learned_from(tmp_path):
    rollout_on_disk(tmp_path, "one", 1)
    rollout_on_disk(tmp_path, "two", 3)
    learned = attempts.measured(str(tmp_path))
    assert (learned.nodes, learned.unread) == (6, ())
    assert learned.spans["MI300X", "rocm"] == pytest.approx((1000, 1500))


def test_without_earlier_rollouts_nothing_is_learned(tmp_path):
    assert attempts.measured(str(tmp_path)) == eta.Measured()


def test_a_ledger_that_cannot_be_read_is_left_out_and_named(tmp_path):
    rollout_on_disk(tmp_path, "one", 1)
    path = rollout_on_disk(tmp_path, "two", 3)
    path.write_bytes(b"garbage")
    learned = attempts.measured(str(tmp_path))
    assert (learned.nodes, len(learned.unread)) == (3, 1)
    assert str(path) in learned.unread[0]


def nodes_in(plan, **states):
    return {node: {"state": states.get(node, "in_service")} for node in plan["nodes"]}


def progress(told, plan, after=2000, **states):
    return eta.progress(plan, nodes_in(plan, **states), told, (START + timedelta(seconds=after)).isoformat())


def test_progress_counts_and_scales_what_is_left_by_what_the_waves_took():
    plan = plan_of("a", "b", "c", eta={"waves": [486, 500, 500]}, eta_seconds=1486)
    told = progress(events_of("a"), plan, b="planned", c="planned")
    assert (told["in_service"], told["nodes"], told["waves_done"], told["waves"]) == (1, 3, 1, 3)
    assert (told["factor"], told["left_seconds"], told["begun_seconds"]) == (pytest.approx(974 / 486), 2004, 2000)


def test_before_a_wave_has_gone_through_the_estimate_counts_as_it_is():
    plan = plan_of("a", "b", eta={"waves": [700, 500]}, eta_seconds=1200)
    told = progress(events_of("a", WAY[:4]), plan, a="drained", b="planned")
    assert (told["factor"], told["left_seconds"]) == (None, 700 - 58 + 500)


def test_a_wave_over_its_time_owes_nothing_and_a_lost_one_is_done():
    plan = plan_of("a", "b", "c", eta={"waves": [10, 10, 10]}, eta_seconds=30)
    told = progress(events_of("a", WAY[:9]), plan, a="booted", b="failed", c="planned")
    assert (told["left_seconds"], told["waves_done"]) == (10, 1)


def test_a_plan_from_before_gives_each_wave_the_same():
    assert progress(events_of("a", WAY[:1]), plan_of("a", "b", eta_seconds=90), a="admitted")["left_seconds"] == 45


def test_a_wave_that_was_cut_off_is_no_measure():
    told = [*events_of("a", WAY[:6]), *events_of("a", WAY[6:], start=90000, epoch=2)]
    assert progress(told, plan_of("a", "b", eta_seconds=90), b="planned")["factor"] is None


def test_before_the_first_event_there_is_no_progress():
    assert progress([], plan_of("a", eta_seconds=90)) is None


def test_a_plan_without_waves_has_nothing_left():
    assert progress([note()], {**plan_of(), "eta_seconds": 0})["left_seconds"] == 0
