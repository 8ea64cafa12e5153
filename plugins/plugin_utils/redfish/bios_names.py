# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From neutral keys and values to a maker's attributes and values, and back. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_reading import Setup
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.bios_registry import Item
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import fits

PATTERN: dict[str, dict[str, Any]] = {
    "key": {"type": "str", "required": True},
    "field": {"type": "str", "choices": ["name", "display"], "default": "name"},
    "pattern": {"type": "str", "required": True},
    "matches": {"type": "str", "choices": ["one", "all"], "default": "one"},
}
ANY = "any"
_TAIL = re.compile(r"_[0-9A-Fa-f]{4}$")
_YES, _NO = (
    frozenset(("enabled", "enable", "on", "true", "yes", "1")),
    frozenset(("disabled", "disable", "off", "false", "no", "0")),
)


class Names(NamedTuple):
    """Which attributes are which neutral key: rows of the operator, and the catalog's of attributes and of values."""

    own: Sequence[Mapping[str, Any]]
    attributes: Sequence[Mapping[str, Any]]
    values: Sequence[Mapping[str, Any]]

    @property
    def keys(self) -> set[str]:
        """Every neutral key."""
        return {row["key"] for row in (*self.own, *self.attributes)}


class _Wrong(BmcError):
    def __init__(self, *words: str) -> None:
        super().__init__("bad_pattern", *words)


def names_of(
    own: Iterable[Mapping[str, Any]], attributes: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, Any]]
) -> Names:
    """The patterns to go by.

    :raises BmcError: a row of the operator is not as it should be.
    """
    return Names([check(PATTERN, row, ("patterns", str(n)), _Wrong) for n, row in enumerate(own)], attributes, values)


def found(setup: Setup, names: Names, key: str) -> tuple[list[str], Mapping[str, Any] | None]:
    """The attributes of a neutral key and the row that names them, by the operator, then by maker, then by any.

    :raises BmcError: attribute_ambiguous: a row that is for one attribute fits several.
    """
    maker = [row for row in names.attributes if row["maker"] == setup.maker]
    rest = [row for row in names.attributes if row["maker"] == ANY]
    for row in (*names.own, *maker, *rest):
        if row["key"] != key:
            continue
        fitting = [name for name in setup.applied if fits(row["pattern"], _field(setup, row["field"], name))]
        if len(fitting) > 1 and row["matches"] == "one":
            raise BmcError(
                "attribute_ambiguous",
                f"BIOS {key}",
                f"{', '.join(fitting[:6])} are all it by {row['pattern']!r}",
                "one attribute",
                "name it with patterns, or take the maker's own name as the key",
            )
        if fitting:
            return fitting, row
    return [], None


def _field(setup: Setup, field: str, name: str) -> str | None:
    if field == "name":
        return _TAIL.sub("", name)
    item = setup.registry.items.get(name) if setup.registry else None
    return item.display if item else None


def attributes_of(setup: Setup, names: Names, key: str, subject: str) -> tuple[list[str], Mapping[str, Any] | None]:
    """The attributes that a key of the operator is about; the row is None for a maker's own name.

    :raises BmcError: attribute_unknown, attribute_ambiguous.
    """
    if key in setup.applied:
        return [key], None
    if key in names.keys:
        attributes, row = found(setup, names, key)
        if not attributes:
            raise BmcError(
                "attribute_unknown",
                f"{subject} BIOS {key}",
                f"no attribute of this BIOS ({setup.maker}) is known for it",
                "a name that the catalog or patterns know",
                "look for it in the menu or with state: read, and give the maker's own name, or patterns",
            )
        return attributes, row
    bare = [name for name in setup.applied if _TAIL.sub("", name) == key]
    if len(bare) == 1:
        return bare, None
    raise BmcError(
        "attribute_unknown",
        f"{subject} BIOS {key}",
        "is neither a neutral key nor an attribute of this BIOS",
        nearest(key, [*names.keys, *setup.applied]),
        "correct it",
    )


def value_for(setup: Setup, names: Names, key: str, attribute: str, wanted: Any, subject: str) -> Any:
    """The value of an attribute that a wished one stands for.

    :raises BmcError: value_not_allowed, with those that are; secret_attribute; no_registry.
    """
    place, item = f"{subject} BIOS {key}", setup.registry.items.get(attribute) if setup.registry else None
    if item is None:
        raise BmcError(
            "no_registry",
            place,
            f"no registry says what {attribute} may be: {'; '.join(setup.problems) or 'it has no row'}",
            "an attribute registry",
            "set it in the menu; nothing is written that could not be checked",
        )
    if item.secret:
        raise BmcError("secret_attribute", place, f"{attribute} is a password", "a setting", "set it in the menu")
    value = _converted(item, _candidates(names, setup.maker, key, wanted), setup.applied[attribute])
    if value is None:
        raise BmcError("value_not_allowed", place, f"{wanted!r} for {attribute}", _allowed(item), "take one of these")
    return value


def neutral(names: Names, maker: str, key: str, value: Any) -> str:
    """The neutral word for a maker's value; the value itself where none is known."""
    for row in _value_rows(names, maker, key):
        if _fold(value) in [_fold(one) for one in row["writes"]]:
            return str(row["value"])
    return str(value)


def _value_rows(names: Names, maker: str, key: str) -> Iterator[Mapping[str, Any]]:
    for place in ((key, maker), (key, ANY), (ANY, ANY)):
        yield from (row for row in names.values if (row["key"], row["maker"]) == place)


def _candidates(names: Names, maker: str, key: str, wanted: Any) -> list[str]:
    text = {True: "Enabled", False: "Disabled"}[wanted] if isinstance(wanted, bool) else str(wanted)
    rows = [row for row in _value_rows(names, maker, key) if _fold(row["value"]) == _fold(text)]
    return [text, *(one for row in rows for one in row["writes"])]


def _converted(item: Item, candidates: Sequence[str], applied: Any) -> Any:
    if item.kind == "Integer":
        return _number(item, candidates[0])
    if item.kind == "Boolean" and not item.allowed:
        word = candidates[0].lower()
        if word not in _YES | _NO:
            return None
        return word in _YES if isinstance(applied, bool) else "Enabled" if word in _YES else "Disabled"
    if item.kind != "Enumeration" and not item.allowed:
        return candidates[0] if item.kind == "String" else None
    # As it is written first; then as the menu words it, without regard to case, blanks and signs.
    for candidate in candidates:
        exact = [value for value, _words in item.allowed if value == candidate]
        alike = [value for value, words in item.allowed if _fold(candidate) in (_fold(value), _fold(words))]
        if exact or len(alike) == 1:
            return (exact or alike)[0]
    return None


def _number(item: Item, text: str) -> int | None:
    number = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
    inside = (
        number is not None and (item.low is None or number >= item.low) and (item.high is None or number <= item.high)
    )
    return number if inside else None


def _allowed(item: Item) -> str:
    if item.kind == "Integer":
        bounds = [(word, one) for word, one in (("from", item.low), ("to", item.high)) if one is not None]
        return " ".join(["a whole number", *(f"{word} {one}" for word, one in bounds)])
    return "one of " + ", ".join(value for value, _words in item.allowed) if item.allowed else f"a {item.kind}"


def _fold(value: Any) -> str:
    return re.sub(r"[^0-9a-z.]", "", str(value).lower())
