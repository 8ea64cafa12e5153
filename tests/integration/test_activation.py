# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An activation that is left for later, so that one boot of a node stands for several reasons; and who counts it."""

from __future__ import annotations

import pytest

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import images, rounds, wishes
from ansible_collections.fleetops.instinct.tests.integration.bmc_lab import Lab, outcomes


class Later(Lab):
    """A lab whose operator leaves activations for later, and counts cuts of the power."""

    def left(self, *rows, later=True, may_cycle=None):
        """One run of the action."""
        wanted, sizes = images.proven(wishes.checked(rows, ("lab", "components"), wishes.WishError), "", "g01")
        with self.client() as client:
            site = self.site(client)
            site.may_cycle = may_cycle or site.may_cycle
            return rounds.carry_out(site, wanted, sizes, "none", lambda: "", later)


@pytest.fixture(name="lab")
def _lab(tmp_path):
    return Later(tmp_path)


@pytest.mark.parametrize("kind", ["power_cycle", "reboot"])
def test_what_is_left_for_later_is_flashed_and_the_host_stays_up(lab, kind):
    wish = lab.wish(activation=kind)
    made = lab.left(wish)
    assert (outcomes(made), made.activation, made.deferred, made.cycled) == (["staged"], kind, True, False)
    again = lab.left(wish)
    assert (outcomes(again), again.deferred, lab.flashes("gpu")) == (["staged"], True, 1)


def test_a_later_run_activates_what_was_left_and_flashes_nothing(lab):
    wish = lab.wish(activation="power_cycle")
    lab.left(wish)
    made = lab.left(wish, later=False)
    assert (outcomes(made), made.cycled, made.deferred, lab.flashes("gpu")) == (["updated"], True, False, 1)


def test_an_activation_that_something_waits_for_is_not_left(lab):
    rows = [lab.wish("bios", activation="power_cycle"), lab.wish(activation="power_cycle")]
    made = lab.left(*rows)
    assert (outcomes(made), made.cycled, made.deferred) == (["updated", "staged"], True, True)


def test_a_reset_of_the_bmc_alone_is_never_left(lab):
    made = lab.left(lab.wish("bmc", activation="bmc_reset"))
    assert (outcomes(made), made.deferred) == (["updated"], False)


def test_a_cut_of_the_power_is_counted_before_it_is_ordered(lab):
    told = []
    lab.left(lab.wish(activation="power_cycle"), later=False, may_cycle=lambda *words: told.append(words))
    assert told == [("power_cycle", "On")]


def test_a_host_that_was_rebooted_too_often_keeps_its_power(lab):
    def never(*_words):
        raise NotRebooted("loop", "g01", "was rebooted 6 times in this rollout")

    with pytest.raises(NotRebooted):
        lab.left(lab.wish(activation="power_cycle"), later=False, may_cycle=never)
    assert [path for _method, path, _status in lab.bmc.exchanges if path.endswith("ComputerSystem.Reset")] == []
