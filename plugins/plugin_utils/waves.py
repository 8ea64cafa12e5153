# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes go together and when: canaries first, one failure domain at a time, growing, above the floor."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_DIGITS = re.compile(r"([0-9]+)")


class Member(NamedTuple):
    """A node to be scheduled."""

    node: str
    product: str
    domain: str | None


@functools.lru_cache(maxsize=2**16)
def natural(name: str | None) -> tuple[tuple[str | int, ...], str]:
    """Sort key that puts g9 before g10."""
    # The split gives text and digits by turns, so that text is only ever compared with text.
    parts = _DIGITS.split(name or "")
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts)), name or ""


def room(total: int, out: int, percent: float) -> int:
    """How many of ``total`` nodes may be taken at once when ``out`` are out already; below 1 the floor forbids it."""
    return total - least_in_service(total, percent) - out


def least_in_service(total: int, percent: float) -> int:
    """How many of ``total`` nodes the floor keeps in service, rounded up."""
    # Rounded first, so that 0.07 * 100 being 7.000000000000001 does not cost a node.
    return math.ceil(round(total * percent / 100, 6))


def schedule(members: Iterable[Member], rooms: Mapping[str, int], policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The waves (docs/contracts.md section 5), the same for any order of the members.

    :param rooms: for each product, how many may be out at once; 1 or more.
    :param policy: uses canaries_per_product, growth and max_wave.
    """
    left = sorted(members, key=lambda member: (natural(member.domain), natural(member.node)))
    waves: list[dict[str, Any]] = []
    for group in _canaries(left, policy["canaries_per_product"]):
        while group:
            taken, group = _take(group, rooms, policy["max_wave"])
            waves.append(_wave(len(waves) + 1, "canary", taken))
    gone = {node for wave in waves for node in wave["nodes"]}
    left = [member for member in left if member.node not in gone]
    while left:
        before = len(waves[-1]["nodes"]) if waves else 0
        limit = min(policy["max_wave"], max(1, math.floor(before * policy["growth"])))
        taken, left = _take(left, rooms, limit)
        waves.append(_wave(len(waves) + 1, "wave", taken))
    return waves


def _canaries(left: list[Member], each: int) -> list[list[Member]]:
    """The canaries, by product and domain; every group lies in one domain."""
    seen: Counter[str] = Counter()
    groups: dict[tuple[str, str | None], list[Member]] = {}
    for member in left:
        if seen[member.product] < each:
            seen[member.product] += 1
            groups.setdefault((member.product, member.domain), []).append(member)
    return [groups[key] for key in sorted(groups, key=lambda key: (natural(key[0]), natural(key[1])))]


def _take(left: list[Member], rooms: Mapping[str, int], limit: int) -> tuple[list[Member], list[Member]]:
    """The next wave out of the first member's domain, and what stays, in order."""
    taken: list[Member] = []
    passed_over: list[Member] = []
    used: Counter[str] = Counter()
    for index, member in enumerate(left):
        if len(taken) == limit or member.domain != left[0].domain:
            return taken, passed_over + left[index:]
        if used[member.product] < rooms[member.product]:
            used[member.product] += 1
            taken.append(member)
        else:
            passed_over.append(member)
    return taken, passed_over


def _wave(number: int, kind: str, taken: list[Member]) -> dict[str, Any]:
    return {"number": number, "kind": kind, "domain": taken[0].domain, "nodes": [member.node for member in taken]}
