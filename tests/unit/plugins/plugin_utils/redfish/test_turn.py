# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One BMC, one work at a time: who has it is told, who waits waits bounded, and a death leaves nothing locked."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.turn import folder, lock_path, turn

WHO = {"who": "ada", "host": "ctl1", "pid": 4711, "what": "redfish_firmware for g01", "since": "2026-12-01T08:00:00Z"}


def turn_at(path, address="bmc1", seconds=5.0, sleep=lambda _seconds: None):
    """A turn by a clock that goes on a second with each look."""
    ticks = itertools.count()
    return turn(str(path), address, WHO, seconds, lambda: float(next(ticks)), sleep)


@contextlib.contextmanager
def held_elsewhere(path):
    """Another process that holds the lock until it is killed: its process id."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with turn_at(path):
            os.write(told, b".")
            signal.pause()
    os.read(ready, 1)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(ready)
        os.close(told)


@pytest.mark.parametrize("address", ["bmc1", "BMC1", "https://bmc1", "https://bmc1/", "bmc1:443", "https://bmc1:443/"])
def test_one_bmc_has_one_lock_however_its_address_is_written(address):
    assert lock_path("/f", address) == "/f/bmc-locks/bmc1"


def test_other_bmcs_and_other_ports_are_others():
    assert len({lock_path("/f", one) for one in ("bmc1", "bmc2", "bmc1:8443", "[fe80::1]:443", "[fe80::2]")}) == 5


def test_the_lock_lies_below_the_fleet_directory_of_a_rollout():
    assert folder({"dir": "/srv/fleet/rollouts/p1"}, "fleet-records") == "/srv/fleet"
    assert [folder(here, "fleet-records") for here in (None, {}, {"dir": None})] == ["fleet-records"] * 3


def test_a_bmc_that_is_in_use_is_refused_after_a_while_with_who_uses_it(tmp_path):
    with held_elsewhere(tmp_path), pytest.raises(BmcError) as caught, turn_at(tmp_path):
        pass
    told = "redfish_firmware for g01 by ada on ctl1 (process 4711, since 2026-12-01T08:00:00Z) is at work with it"
    assert (caught.value.code, told in caught.value.seen) == ("bmc_busy", True)


def test_another_bmc_is_free(tmp_path):
    with held_elsewhere(tmp_path), turn_at(tmp_path, "bmc2"):
        pass


def test_who_waits_goes_on_once_the_other_is_killed(tmp_path):
    with held_elsewhere(tmp_path) as other:

        def kill(_seconds):
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)

        with turn_at(tmp_path, sleep=kill):
            assert "4711" in Path(lock_path(str(tmp_path), "bmc1")).read_text(encoding="ascii")


def test_a_turn_ends_also_with_an_error_and_comes_again(tmp_path):
    for _time in range(2):
        with pytest.raises(ValueError, match="mine"), turn_at(tmp_path, seconds=0.0):
            raise ValueError("mine")


def test_a_lock_of_which_nobody_says_whose_it_is_is_one_all_the_same(tmp_path):
    with held_elsewhere(tmp_path):
        Path(lock_path(str(tmp_path), "bmc1")).write_text("half", encoding="ascii")
        with pytest.raises(BmcError, match="another process is at work"), turn_at(tmp_path):
            pass


def test_without_a_lock_nothing_is_begun(tmp_path):
    (tmp_path / "bmc-locks").write_text("in the way")
    with pytest.raises(BmcError) as caught, turn_at(tmp_path):
        pass
    assert caught.value.code == "no_lock"
