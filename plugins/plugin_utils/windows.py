# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Maintenance windows: the hours in which a wave may begin."""

from __future__ import annotations

import datetime
import difflib
import re
import zoneinfo
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPEC: dict[str, dict[str, Any]] = {
    "days": {"type": "list", "elements": "str", "default": list(DAYS)},
    "from": {"type": "str", "required": True},
    "to": {"type": "str", "required": True},
    "timezone": {"type": "str", "default": "UTC"},
}
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00")

Window = Mapping[str, Any]


def checked(value: Any, place: tuple[str, str], error: type[FleetError]) -> dict[str, Any]:
    """A window of the policy with its defaults.

    :param place: the file (or variable) and the path inside it.
    :raises error: for an unknown key, day, hour or time zone, and for a window that never opens.
    """
    window, key = check(_SPEC, value, place, error), f"{place[0]}: {place[1]}"
    for day in window["days"]:
        if day not in DAYS:
            raise error(f"{key}.days", f"holds {day!r}", nearest(day, DAYS), "correct the day")
    for name in ("from", "to"):
        if not _TIME.fullmatch(window[name]) or (name, window[name]) == ("from", "24:00"):
            raise error(f"{key}.{name}", f"is {window[name]!r}", "an hour such as '22:00'", "correct the hour")
    if not window["days"] or window["from"] == window["to"]:
        seen = "has no days" if not window["days"] else f"begins and ends at {window['to']}"
        raise error(key, f"never opens: it {seen}", "a window that opens", "00:00 to 24:00 is the whole day")
    _check_zone(window["timezone"], f"{key}.timezone", error)
    return {**window, "days": [day for day in DAYS if day in window["days"]]}


def _check_zone(name: str, subject: str, error: type[FleetError]) -> None:
    try:
        _zone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as problem:
        known = zoneinfo.available_timezones()
        if not known:
            fix = "install the time zones of the system (tzdata), or say the hours in UTC"
            raise error(subject, f"is {name!r}, and this machine knows no time zones", "UTC", fix) from problem
        close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
        wanted = f"{close[0]!r} (nearest)" if close else "a name such as UTC or Europe/Berlin"
        raise error(subject, f"is {name!r}, which is no time zone", wanted, "correct the name") from problem


def _zone(name: str) -> datetime.tzinfo:
    # A machine without the data of the zones still knows UTC.
    return datetime.timezone.utc if name == "UTC" else zoneinfo.ZoneInfo(name)


def is_open(windows: Sequence[Window], now: datetime.datetime) -> bool:
    """Whether one of the windows is open; without any, every moment will do.

    A window belongs to the day it opens on: ``days: [sun]`` from 22:00 to 06:00 is open on Monday at 05:59.
    """
    return not windows or any(_is_open(window, now) for window in windows)


def _is_open(window: Window, now: datetime.datetime) -> bool:
    local = now.astimezone(_zone(window["timezone"]))
    minute, start, end = local.hour * 60 + local.minute, _minutes(window["from"]), _minutes(window["to"])
    today, yesterday = (DAYS[(local.weekday() - back) % 7] in window["days"] for back in (0, 1))
    if start < end:
        return today and start <= minute < end
    return (today and minute >= start) or (yesterday and minute < end)


def _minutes(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def next_opening(windows: Sequence[Window], now: datetime.datetime) -> datetime.datetime:
    """When the first of the windows opens next, in UTC."""
    return min(_next(window, now) for window in windows)


def _next(window: Window, now: datetime.datetime) -> datetime.datetime:
    zone, start = _zone(window["timezone"]), datetime.timedelta(minutes=_minutes(window["from"]))
    first = now.astimezone(zone).date()
    # Eight days: today's opening may be over already.
    days = (first + datetime.timedelta(days=ahead) for ahead in range(8))
    openings = (
        (datetime.datetime.combine(day, datetime.time()) + start).replace(tzinfo=zone).astimezone(datetime.timezone.utc)
        for day in days
        if DAYS[day.weekday()] in window["days"]
    )
    return next(opening for opening in openings if opening > now)


def named(windows: Sequence[Window]) -> str:
    """The windows in words."""
    return "; ".join(
        f"{', '.join(window['days']) if len(window['days']) < 7 else 'daily'} {window['from']} to {window['to']} "
        f"{window['timezone']}"
        for window in windows
    )
