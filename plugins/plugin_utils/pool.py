# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes that wait for a wave, kept so that each wave is drawn without a look at all of them."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.limits import Kind

Group = tuple[str, str]
_FEW = 64


class Member(NamedTuple):
    """A node to be scheduled.

    :param domains: its value of each kind of failure domain, in the policy's order.
    :param groups: what a floor counts it in: (``product`` or a host variable, the value).
    :param place: its place in the inventory; matters only where the policy goes by it.
    """

    node: str
    product: str
    domains: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    place: int = 0


Ranked = tuple[int, Member]


class _Wave:
    """A wave while it is drawn: how much of each room is used, and which domains are open."""

    def __init__(self, limit: int, rooms: Mapping[Group, int], at_once: Sequence[int]) -> None:
        self.limit, self.rooms, self.at_once = limit, rooms, at_once
        self.used: Counter[Group] = Counter()
        self.open: list[set[str]] = [set() for _kind in at_once]
        self.taken: list[Ranked] = []

    @property
    def full(self) -> bool:
        return len(self.taken) >= self.limit

    def has_room(self, groups: Sequence[Group]) -> bool:
        return all(self.used[group] < self.rooms[group] for group in groups)

    def lets_in(self, values: Sequence[str]) -> bool:
        rows = zip(values, self.open, self.at_once, strict=True)
        return all(value in known or len(known) < most for value, known, most in rows)

    def take(self, row: Ranked) -> None:
        self.taken.append(row)
        self.used.update(row[1].groups)


class _Cell:
    """Members of the same domains, in buckets of the same groups: within a bucket only the order tells them apart."""

    def __init__(self, values: tuple[str, ...]) -> None:
        self.values = values
        self.buckets: dict[tuple[Group, ...], deque[Ranked]] = {}
        self.heads: list[tuple[int, tuple[Group, ...]]] = []

    def add(self, row: Ranked) -> None:
        groups = row[1].groups
        if groups not in self.buckets:
            self.buckets[groups] = deque()
            heapq.heappush(self.heads, (row[0], groups))
        self.buckets[groups].append(row)

    @property
    def rank(self) -> int | None:
        return self.heads[0][0] if self.heads else None

    def draw(self, wave: _Wave) -> bool:
        """Give the wave what it has room for, in order; whether that was anything."""
        before, shut = len(wave.taken), []
        while self.heads and not wave.full:
            _rank, groups = head = heapq.heappop(self.heads)
            if not wave.has_room(groups):
                shut.append(head)
                continue
            bucket = self.buckets[groups]
            wave.take(bucket.popleft())
            if bucket:
                heapq.heappush(self.heads, (bucket[0][0], groups))
        for head in shut:
            heapq.heappush(self.heads, head)
        if len(wave.taken) == before:
            return False
        for known, value in zip(wave.open, self.values, strict=True):
            known.add(value)
        return True


class _Region:
    """The cells of the same domains of those kinds of which only one may be down."""

    def __init__(self, kinds: int) -> None:
        self.cells: dict[tuple[str, ...], _Cell] = {}
        self.order: list[tuple[int, tuple[str, ...]]] = []
        self.by_value: list[dict[str, list[_Cell]]] = [{} for _kind in range(kinds)]

    def add(self, values: tuple[str, ...], row: Ranked) -> None:
        if values not in self.cells:
            cell = self.cells[values] = _Cell(values)
            heapq.heappush(self.order, (row[0], values))
            for known, value in zip(self.by_value, values, strict=True):
                known.setdefault(value, []).append(cell)
        self.cells[values].add(row)

    @property
    def rank(self) -> int | None:
        """The place of the first member left; what was drawn meanwhile without being popped is put right here."""
        while self.order:
            rank, values = self.order[0]
            now = self.cells[values].rank
            if now == rank:
                return rank
            heapq.heappop(self.order)
            if now is not None:
                heapq.heappush(self.order, (now, values))
        return None

    def fill(self, wave: _Wave) -> None:
        """Draw a wave: the first cell as far as it goes, then what else may be down together with it."""
        popped: list[_Cell] = []
        while not wave.full and self.rank is not None:
            cell = self.cells[heapq.heappop(self.order)[1]]
            popped.append(cell)
            if wave.lets_in(cell.values) and not cell.draw(wave) and not self._any_room(wave):
                break
            beside = self._beside(wave)
            if beside is not None:
                self._draw_all(beside, wave)
                break
        for cell in popped:
            if cell.rank is not None:
                heapq.heappush(self.order, (cell.rank, cell.values))

    def _beside(self, wave: _Wave) -> list[_Cell] | None:
        """All cells that may still join, once that is a few: a kind of which no further domain may open."""
        for known, opened, most in zip(self.by_value, wave.open, wave.at_once, strict=True):
            if len(opened) == most and sum(len(known[value]) for value in opened) <= _FEW:
                return [cell for value in opened for cell in known[value]]
        return None if wave.at_once else []

    @staticmethod
    def _draw_all(cells: list[_Cell], wave: _Wave) -> None:
        waiting = [(cell.rank, cell.values, cell) for cell in cells if cell.rank is not None]
        for _rank, _values, cell in sorted(waiting, key=lambda row: row[:2]):
            if wave.lets_in(cell.values):
                cell.draw(wave)

    def _any_room(self, wave: _Wave) -> bool:
        return any(wave.has_room(groups) for cell in self.cells.values() for _rank, groups in cell.heads)


class Pool:
    """Members by region; each wave is drawn from the region of the first member left."""

    def __init__(self, ordered: Sequence[Member], kinds: Sequence[Kind], rooms: Mapping[Group, int]) -> None:
        single = [index for index, kind in enumerate(kinds) if kind.at_once == 1]
        several = [(index, kind.at_once) for index, kind in enumerate(kinds) if kind.at_once and kind.at_once > 1]
        self._rooms, self._at_once = rooms, [most for _index, most in several]
        regions: dict[tuple[str, ...], _Region] = {}
        for row in enumerate(ordered):
            domains = row[1].domains
            region = regions.setdefault(tuple(domains[index] for index in single), _Region(len(several)))
            region.add(tuple(domains[index] for index, _most in several), row)
        self._regions = [(region.rank or 0, region) for region in regions.values()]
        heapq.heapify(self._regions)

    def __bool__(self) -> bool:
        return bool(self._regions)

    def wave(self, limit: int) -> list[Member]:
        """The next wave, in order: at least one member, since every room is 1 or more."""
        _rank, region = self._regions[0]
        wave = _Wave(limit, self._rooms, self._at_once)
        region.fill(wave)
        if region.rank is None:
            heapq.heappop(self._regions)
        else:
            heapq.heapreplace(self._regions, (region.rank, region))
        return [member for _rank, member in sorted(wave.taken)]
