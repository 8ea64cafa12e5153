# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a BMC tells of its firmware, read once through a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import inventory
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import Board, board
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.compare import MAKER, SCHEMES

PATTERN: dict[str, dict[str, Any]] = {
    "component": {"type": "str", "required": True},
    "field": {"type": "str", "choices": list(inventory.FIELDS), "default": "id"},
    "pattern": {"type": "str", "required": True},
    "scheme": {"type": "str", "choices": list(SCHEMES), "default": MAKER},
}
# A BMC without these tells nothing of firmware over Redfish, and may be in order all the same.
TELLS_NOTHING = frozenset(("no_update_service", "no_inventory", "license_missing"))

Get = Callable[[str], Mapping[str, Any]]


class Reading(NamedTuple):
    """A board, the entries of its inventory, and why there may be others."""

    board: Board
    entries: list[inventory.Entry]
    problems: list[str]


class Patterns(NamedTuple):
    """Which entries are which component: rows of the operator, and the catalog's by section."""

    own: list[dict[str, Any]]
    catalog: Mapping[str, Iterable[Mapping[str, Any]]]


def patterns(own: Iterable[Mapping[str, Any]], catalog: Mapping[str, Iterable[Mapping[str, Any]]]) -> Patterns:
    """The patterns to read by.

    :raises BmcError: a row of the operator is not as it should be.
    """
    return Patterns([check(PATTERN, row, ("patterns", str(number)), _Wrong) for number, row in enumerate(own)], catalog)


class _Wrong(BmcError):
    def __init__(self, *words: str) -> None:
        super().__init__("bad_pattern", *words)


def read(get: Get, subject: str, system: str | None, by: Patterns, chassis: bool = True) -> Reading:
    """Read board and inventory.

    :param chassis: whether it is asked for as well; only an AC cycle needs it.
    :raises BmcError: the BMC cannot be read, or tells nothing of firmware.
    """
    seen = board(get, subject, system, chassis)
    entries, problems = read_entries(get, subject, seen, by)
    return Reading(seen, entries, [*seen.problems, *problems])


def read_entries(get: Get, subject: str, seen: Board, by: Patterns) -> tuple[list[inventory.Entry], list[str]]:
    """The entries of the inventory as they are now, and why there may be others."""
    found = inventory.walk(get, inventory.inventory_uri(seen.service, subject))
    rows = (by.own, by.catalog["components"], by.catalog["banks"])
    return inventory.entries_of(found.entries, seen.maker, *rows), found.problems
