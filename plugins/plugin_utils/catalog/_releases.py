# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which user space AMD supports on which driver, and which releases there are. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covered, numbers
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._systems import Window

NO_LIST = "no list answers for this pair"


class Releases:
    """ROCm releases, driver releases and modules, by number, with the lists that join them."""

    def __init__(self, rows: Mapping[str, list[dict]], apart: Mapping[str, Any]) -> None:
        self.by_rocm = {row["rocm"]: row for row in rows["releases"]}
        self.by_driver = _drivers(self.by_rocm, rows["drivers"])
        self._modules = rows["modules"]
        self._lists = (rows["by_driver"], rows["by_rocm"])
        self._gaps = rows["gaps"]
        self._apart = apart

    def release(self, rocm: str | None) -> dict | None:
        """See :meth:`Catalog.release`."""
        return _find(self.by_rocm, rocm)

    def driver(self, release: str | None) -> dict | None:
        """See :meth:`Catalog.driver`."""
        row = _find(self.by_driver, release)
        return {**row, **self._module(row["driver"])} if row else None

    def drivers_of_module(self, module: str | None) -> list[str]:
        """See :meth:`Catalog.drivers_of_module`."""
        series = {_number(row["series"]) for row in self._modules if row["module"] == module}
        return [name for name in self.by_driver if _number(name)[:2] in series]

    def window(self, driver: str | None, rocm: str | None) -> Window:
        """See :meth:`Catalog.window`."""
        space, kernel = self.release(rocm), _find(self.by_driver, driver)
        if space is None or kernel is None:
            return Window("unknown", "a release the catalog does not know")
        answers = self._listed(_number(kernel["driver"]), _number(space["rocm"]))
        for wanted in ("inside", "unknown", "outside"):
            for answer, source in answers:
                if answer == wanted:
                    return Window(answer, source)
        return self._by_older_list(kernel, space) or self._by_gap(kernel, space) or self._by_age(kernel, space)

    def _by_older_list(self, driver: Mapping, rocm: Mapping) -> Window | None:
        """A user space that an older driver left behind already; newer drivers do not take it up again."""
        number, space = _number(driver["driver"]), _number(rocm["rocm"])[:2]
        older = [row for row in self._lists[0] if row["status"] == "verified" and _number(row["driver"]) < number]
        last = max(older, key=lambda row: _number(row["driver"]), default=None)
        if last is None or space >= min(map(_number, last["rocm"])):
            return None
        return Window("outside", f"{last['source']}: too old already for driver {last['driver']}")

    def _by_gap(self, driver: Mapping, rocm: Mapping) -> Window | None:
        for row in self._gaps:
            if covered(row["driver"], driver["driver"]) and covered(row["rocm"], rocm["rocm"]):
                return Window("unknown", f"{row['why']} ({row['source']})")
        return None

    def _listed(self, driver: tuple[int, ...], rocm: tuple[int, ...]) -> list[tuple[str, str]]:
        answers = []
        # Before the rule of one year, what is not in the list was never supported, however new it is.
        closed = driver < _number(self._apart["from"])
        for row in self._lists[0]:
            if driver[:2] == _number(row["driver"]):
                answers.append(_in_row(rocm[:2], row["rocm"], row, closed))
        for row in self._lists[1]:
            wanted = _number(row["rocm"])
            if rocm[: len(wanted)] == wanted:
                answers.append(_in_row(driver, row["drivers"], row))
        return [answer for answer in answers if answer]

    def _by_age(self, driver: Mapping, rocm: Mapping) -> Window:
        first = _number(self._apart["from"])
        oldest = min(_number(driver["driver"]), _number(rocm["rocm"]))
        days = _days_apart(driver["date"], rocm["date"])
        if days is not None and days > self._apart["days"]:
            # Two releases, which is what AMD allows before that rule, are less than a year.
            return Window("outside", f"{self._apart['source']}: {days} days apart")
        if days is None or oldest < first:
            return Window("unknown", NO_LIST)
        return Window("inside", f"{self._apart['source']}: {days} days apart")

    def _module(self, release: str) -> dict:
        series = _number(release)[:2]
        row = next((row for row in self._modules if _number(row["series"]) == series), None)
        return {"module": row and row["module"], "module_status": row["status"] if row else "unverified"}


def _number(text: str) -> tuple[int, ...]:
    return numbers(text) or ()


def _days_apart(one: str | None, other: str | None) -> int | None:
    if not one or not other:
        return None
    return abs((datetime.date.fromisoformat(one) - datetime.date.fromisoformat(other)).days)


def _drivers(releases: Mapping[str, dict], own: Iterable[dict]) -> dict[str, dict]:
    named = {row["driver"]: row for row in own}
    for row in releases.values():
        if row["driver"] == row["rocm"]:
            named[row["driver"]] = {key: row[key] for key in ("driver", "date", "kind", "status", "source")}
    return named


def _in_row(version: tuple[int, ...], texts: list[str], row: Mapping, closed: bool = False) -> tuple[str, str] | None:
    listed = [_number(text) for text in texts]
    verified = row["status"] == "verified"
    if version in listed:
        return ("inside" if verified else "unknown"), row["source"]
    # Newer than everything in the list: it did not exist when the list was made, so the list says nothing about it.
    return ("outside", row["source"]) if verified and (closed or version < max(listed)) else None


def _find(table: Mapping[str, dict], name: str | None) -> dict | None:
    if not isinstance(name, str):
        return None
    return table.get(name) or table.get(f"{name}.0")
