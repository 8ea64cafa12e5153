# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes go together and when: canaries first, few failure domains at a time, growing, above the floors."""

from __future__ import annotations

import fnmatch
import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.pool import Group, Member, Pool

_DIGITS = re.compile(r"([0-9]+)")


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


def schedule(members: Iterable[Member], rooms: Mapping[Group, int], policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The waves (docs/contracts.md section 5), the same for any order of the members.

    With a growth that counts the waves (fixed, linear, exponential), the waves after the canaries are at most those in
    which the size still grows plus :func:`factor` times :func:`lower_bound`.

    :param rooms: for each group of the members, how many may be out at once; 1 or more.
    :param policy: uses canaries_per_product, growth, max_wave, order and the failure domains.
    """
    kinds, waves = limits.kinds(policy), list[dict[str, Any]]()
    left = sorted(members, key=_order(policy.get("order", "domain")))
    for group in _canaries(left, policy["canaries_per_product"]):
        pool = Pool(group, kinds, rooms)
        while pool:
            waves.append(_wave(len(waves) + 1, "canary", pool.wave(limits.largest(policy)), policy))
    gone = {node for wave in waves for node in wave["nodes"]}
    pool, canaries = Pool([member for member in left if member.node not in gone], kinds, rooms), len(waves)
    while pool:
        before = len(waves[-1]["nodes"]) if waves else 0
        size = limits.size(policy, len(waves) - canaries + 1, before)
        waves.append(_wave(len(waves) + 1, "wave", pool.wave(size), policy))
    return waves


def lower_bound(members: Iterable[Member], rooms: Mapping[Group, int], policy: Mapping[str, Any]) -> int:
    """So many waves any schedule needs at least.

    A domain takes part in as many waves as its nodes need by the largest wave and by each floor; of the domains of one
    kind, and of the combinations of several kinds, only so many fit into a wave. The worst of all of these counts.
    Growth and canaries are left out: they may make more waves needed, never fewer.
    """
    fleet, kinds, best = list(members), list(enumerate(limits.kinds(policy))), 0
    limited = [(index, kind.at_once) for index, kind in kinds if kind.at_once]
    for chosen in itertools.chain.from_iterable(itertools.combinations(limited, n) for n in range(len(limited) + 1)):
        cells: dict[tuple[str, ...], list[Member]] = {}
        for member in fleet:
            cells.setdefault(tuple(member.domains[index] for index, _most in chosen), []).append(member)
        needed = sum(_needed(cell, rooms, limits.largest(policy)) for cell in cells.values())
        best = max(best, math.ceil(needed / math.prod(most for _index, most in chosen)))
    return best


def fewest(plan: Mapping[str, Any]) -> int:
    """:func:`lower_bound` for the nodes of a plan, from the plan alone."""
    policy, rooms = plan["policy"], dict[Group, int]()
    kinds, (per_product, *floors) = limits.kinds(policy), limits.floors(policy)
    for name, total in plan["fleet"].items():
        rooms[limits.PRODUCT, name] = room(total, plan["out"][name], per_product.percent)
    for floor in floors:
        for name, counts in plan["groups"][floor.per].items():
            rooms[floor.per, name] = room(counts["fleet"], counts["out"], floor.percent)
    members = [
        Member(
            node,
            row["product"],
            tuple(limits.value(row, kind.variable) or f"{node} alone" for kind in kinds),
            ((limits.PRODUCT, row["product"]), *((floor.per, str(limits.value(row, floor.per))) for floor in floors)),
        )
        for node, row in plan["nodes"].items()
    ]
    return lower_bound(members, rooms, policy)


def _needed(cell: list[Member], rooms: Mapping[Group, int], largest: int) -> int:
    groups = Counter(group for member in cell for group in member.groups)
    return max([math.ceil(len(cell) / largest), *(math.ceil(number / rooms[name]) for name, number in groups.items())])


def factor(policy: Mapping[str, Any]) -> int:
    """How many times the lower bound a schedule has at most, as drawing in order is not the best there is.

    The waves that begin with the same combination of domains take as much of it as the size and the floors let in. So
    they are at most (floors + 1) times those that it needs by itself, and the lower bound has at least so many, divided
    by the combinations that fit into one wave.
    """
    together = math.prod(kind.at_once for kind in limits.kinds(policy) if kind.at_once)
    return (len(limits.floors(policy)) + 1) * together


def _order(order: str | list[str]) -> Callable[[Member], Any]:
    """The key by which members are sorted; what a list of patterns does not name comes last."""
    if order == "inventory":
        return lambda member: (member.place, natural(member.node))
    if order == "name":
        return lambda member: natural(member.node)
    if order == "domain":
        return _by_domain
    match = re.compile("|".join(f"({fnmatch.translate(pattern)})" for pattern in order)).match

    def by_pattern(member: Member) -> Any:
        found = match(member.node)
        return (found.lastindex if found else len(order) + 1), _by_domain(member)

    return by_pattern


def _by_domain(member: Member) -> Any:
    return tuple(natural(value) for value in member.domains), natural(member.node)


def _canaries(left: list[Member], each: int) -> list[list[Member]]:
    """The canaries, by product and domain; every group lies in one domain of each kind."""
    seen: Counter[str] = Counter()
    groups: dict[tuple[str, tuple[str, ...]], list[Member]] = {}
    for member in left:
        if seen[member.product] < each:
            seen[member.product] += 1
            groups.setdefault((member.product, member.domains), []).append(member)
    order = sorted(groups, key=lambda key: (natural(key[0]), tuple(natural(value) for value in key[1])))
    return [groups[key] for key in order]


def _wave(number: int, kind: str, taken: list[Member], policy: Mapping[str, Any]) -> dict[str, Any]:
    names = [row.variable for row in limits.kinds(policy)]
    values = [sorted(set(of_kind), key=natural) for of_kind in zip(*(member.domains for member in taken), strict=True)]
    wave = {
        "number": number,
        "kind": kind,
        "domain": ", ".join(values[0]) if values else None,
        "nodes": [member.node for member in taken],
    }
    # A policy with the short form has no more to say of it, and its plans stay as they were.
    long_form = policy.get("failure_domains") is not None
    return {**wave, "domains": dict(zip(names, values, strict=True))} if long_form else wave
