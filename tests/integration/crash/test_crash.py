# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rollout whose controller dies at every kind of write, and nodes that lose their power: a sample of the matrix.

The whole matrix, a fresh fleet for each write of each node, is `nox -s crash`. Here one rollout is begun and killed
again and again, once at each kind of write that the undisturbed rollout has made: on the nodes in turn, before and
after the write in turn. So it is the same sample each time, and a new step gets into it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ansible_collections.fleetops.instinct.tests.integration.conftest import missing
from ansible_collections.fleetops.instinct.tests.integration.crash import matrix, power
from ansible_collections.fleetops.instinct.tests.integration.crash.crash_lab import NODES, Death, Lab, Write


class Story(NamedTuple):
    """What was seen of the rollout that was cut off again and again."""

    deaths: list[Death]
    statuses: list[int]
    left_alive: list[str]
    faults: list[str]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    if reason := missing():
        pytest.skip(reason)
    return Lab(tmp_path_factory.mktemp("crash"), 80)


@pytest.fixture(scope="module")
def known(lab: Lab) -> matrix.Reference:
    return matrix.reference(lab)


def sample(writes: list[Write]) -> Iterator[Death]:
    """Each kind of write once, in an order in which one rollout can meet them: first the steps of the canary."""
    sides = ("before", "after")
    first, steps = ([write for write in writes if write.node == node] for node in ("rollout", NODES[0]))
    yield from (Death(write, sides[n % 2]) for n, write in enumerate(first) if write.kind == "note")
    chosen = [Death(step._replace(node=NODES[n % 4]), sides[(n + n // 4) % 2]) for n, step in enumerate(steps)]
    yield from sorted(chosen, key=lambda death: death.write.node != NODES[0])
    yield from (Death(write, "before") for write in first if write.kind == "lease")


@pytest.fixture(scope="module")
def story(lab: Lab, known: matrix.Reference) -> Story:
    deaths, statuses, alive = list(sample(known.writes)), [], []
    with lab.fleet():
        for death in deaths:
            statuses.append(lab.run(lab.plan(), death).status)
            alive += lab.left_alive()
        return Story(deaths, statuses, alive, matrix.faults_of_a_rerun(lab, lab.run(lab.plan()), known.end))


def test_every_kind_of_write_is_in_the_sample(story: Story, known: matrix.Reference) -> None:
    assert {death.write[1:] for death in story.deaths} == {write[1:] for write in known.writes}


def test_the_controller_died_at_each_of_them(story: Story) -> None:
    lived = [str(death) for death, status in zip(story.deaths, story.statuses, strict=True) if status != -9]
    assert (lived, story.left_alive) == ([], [])


def test_the_same_command_again_comes_to_the_undisturbed_end_and_does_nothing_twice(story: Story) -> None:
    assert story.faults == []


def test_a_node_that_lost_its_power_amid_a_change_is_at_an_end_that_is_proven(
    lab: Lab, known: matrix.Reference
) -> None:
    cut = power.sample(known.writes)
    assert matrix.try_cut(lab, cut, known) == [], str(cut)
