# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which rows of the known-bad combinations a node meets. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covers, numbers

# What is a name; everything else is a version, of which a row gives the beginning, a bound or a span.
NAMES = ("product", "system")


def matching(rows: Iterable[Mapping], facts: Mapping[str, Iterable[str | None]]) -> list[Mapping[str, Any]]:
    """The rows that hold, and those that may: the latter have ``possible: True``.

    :param facts: for each condition what the node has: several where one of them it is, and which is not known; None
        among them, or none at all, is not known.
    """
    found: list[Mapping[str, Any]] = []
    for row in rows:
        answers = [_holds(key, wanted, tuple(facts.get(key) or (None,))) for key, wanted in row["when"].items()]
        if False not in answers:
            found.append({**row, "possible": True} if None in answers else dict(row))
    return found


def _holds(key: str, wanted: Iterable[str], seen: tuple[str | None, ...]) -> bool | None:
    answers = {_one(key, wanted, value) for value in seen}
    return answers.pop() if len(answers) == 1 else None


def _one(key: str, wanted: Iterable[str], seen: str | None) -> bool | None:
    if seen is None:
        return None
    if key in NAMES:
        return seen in wanted
    version = numbers(seen)
    return None if version is None else any(covers(spec, version) for spec in wanted)
