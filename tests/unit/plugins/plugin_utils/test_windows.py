# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import zoneinfo
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils import windows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import PolicyError, load_policy

NIGHT = {"days": ["sat", "sun"], "from": "22:00", "to": "06:00"}
TUESDAY = datetime(2026, 12, 1, tzinfo=timezone.utc)


def loaded(*given_windows):
    return load_policy({"windows": list(given_windows)})["windows"]


def at(day, hour, minute=0):
    """A moment of the week of Tuesday 2026-12-01, by its date."""
    return TUESDAY.replace(day=day, hour=hour, minute=minute)


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        (at(5, 21, 59), False),
        (at(5, 22), True),
        (at(6, 5, 59), True),
        (at(6, 6), False),
        (at(7, 5, 59), True),
        (at(7, 22), False),
    ],
)
def test_a_window_over_midnight_belongs_to_the_day_it_opens_on(moment, is_open):
    assert windows.is_open(loaded(NIGHT), moment) is is_open


def test_without_a_window_every_moment_will_do():
    assert windows.is_open([], TUESDAY)


def test_any_of_several_windows_will_do():
    both = loaded(NIGHT, {"days": ["tue"], "from": "00:00", "to": "24:00"})
    assert [windows.is_open(both, at(day, 12)) for day in (1, 2)] == [True, False]


def test_a_window_is_in_its_own_time_zone():
    pytest.importorskip("tzdata") if not zoneinfo.available_timezones() else None
    berlin = loaded({"from": "22:00", "to": "23:00", "timezone": "Europe/Berlin"})
    assert [windows.is_open(berlin, at(1, hour)) for hour in (20, 21, 22)] == [False, True, False]


def test_the_next_opening_is_told_in_utc():
    assert windows.next_opening(loaded(NIGHT), at(1, 12)) == at(5, 22)
    assert windows.next_opening(loaded({**NIGHT, "days": ["tue"]}), at(1, 22)) == at(8, 22)


def test_windows_in_words():
    assert windows.named(loaded(NIGHT, {"from": "01:00", "to": "02:00"})) == (
        "sat, sun 22:00 to 06:00 UTC; daily 01:00 to 02:00 UTC"
    )


@given(st.integers(0, 23), st.integers(1, 24), st.sets(st.sampled_from(windows.DAYS), min_size=1), st.integers(0, 9999))
def test_a_window_is_shut_until_its_next_opening_and_open_then(start, end, days, minutes):
    if start == end:
        return
    window, moment = {"days": sorted(days), "from": f"{start:02}:00", "to": f"{end:02}:00"}, TUESDAY
    checked, moment = loaded(window), TUESDAY + timedelta(minutes=minutes)
    opening = windows.next_opening(checked, moment)
    assert moment < opening <= moment + timedelta(days=7)
    assert windows.is_open(checked, opening)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": []}, "windows[0]: never opens: it has no days"),
        ({"to": "22:00"}, "windows[0]: never opens: it begins and ends at 22:00"),
        ({"days": ["sat", "son"]}, "windows[0].days: holds 'son'; wanted: 'sun' (nearest)"),
        ({"from": "25:00"}, "windows[0].from: is '25:00'; wanted: an hour such as '22:00'"),
        ({"from": "24:00"}, "windows[0].from: is '24:00'"),
        ({"from": 1320}, "windows[0].from: is the int 1320; wanted: text; fix: put it in quotes"),
        ({"timezone": "Europe/Berlim"}, "windows[0].timezone: is 'Europe/Berlim', "),
        ({"timezone": "../etc"}, "windows[0].timezone: is '../etc', "),
        ({"until": "x"}, "windows[0].until: is not a key"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(PolicyError) as caught:
        loaded({**NIGHT, **change})
    assert message in str(caught.value)


def test_the_nearest_time_zone_is_told():
    with pytest.raises(PolicyError, match=r"Europe/Berlin' \(nearest\)|knows no time zones"):
        loaded({**NIGHT, "timezone": "Europe/Berlim"})


def test_utc_needs_no_time_zones_on_the_machine(monkeypatch):
    monkeypatch.setattr(zoneinfo, "ZoneInfo", lambda name: 1 / 0)
    assert windows.is_open(loaded(NIGHT), at(5, 23))
