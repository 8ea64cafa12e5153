# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The attribute registry of a BIOS: what may be written, what locks an attribute, what one sets beside itself. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

# A maker marks what a dependency makes read-only as grayed out as well, often without a second dependency.
_LOCKS = (("ReadOnly", "GrayOut"), ("Hidden",))
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "GTR": lambda left, right: left > right,
    "GEQ": lambda left, right: left >= right,
    "LSS": lambda left, right: left < right,
    "LEQ": lambda left, right: left <= right,
}


class Item(NamedTuple):
    """One attribute. ``allowed`` are pairs of value and its words; bounds are None where there are none.

    ``flags`` are the properties that the registry sets whatever the others say: ReadOnly, GrayOut, Hidden, Immutable.
    """

    name: str
    display: str
    kind: str
    allowed: tuple[tuple[str, str], ...]
    low: int | None
    high: int | None
    flags: frozenset[str]

    @property
    def secret(self) -> bool:
        """Whether the value is a password, which is neither read nor written here."""
        return self.kind == "Password" or "password" in self.name.lower()


class Rule(NamedTuple):
    """A dependency: where ``when`` holds, ``what`` of ``name`` becomes ``value``.

    A test in ``when`` is the term that joins it to the one before, a name, how to compare, and a value.
    """

    when: tuple[tuple[str, str, str, Any], ...]
    name: str
    what: str
    value: Any


class Registry(NamedTuple):
    """Attributes by name, and their dependencies."""

    items: Mapping[str, Item]
    rules: tuple[Rule, ...]

    def locked(self, name: str, values: Mapping[str, Any]) -> str | None:
        """Why an attribute cannot be set while the others have these values; None where it can."""
        item = self.items[name]
        if "Immutable" in item.flags:
            return "it is Immutable"
        for group in _LOCKS:
            rules = [rule for rule in self.rules if rule.name == name and rule.what in group]
            for rule in rules:
                if same(rule.value, True) and holds(rule, values):
                    return f"it is {rule.what} {_words(rule)}"
            # Where a dependency decides, the flag is only what held when the registry was written.
            flag = next((one for one in group if one in item.flags), None)
            if flag and not rules:
                return f"it is {flag}"
        return None

    def effects(self, values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
        """What other attributes become, and why, once ``changed`` is written and the values are these."""
        return {
            rule.name: (rule.value, _words(rule))
            for rule in self.rules
            if rule.what == "CurrentValue" and any(test[1] in changed for test in rule.when) and holds(rule, values)
        }


def registry_of(body: Mapping[str, Any]) -> Registry | None:
    """The registry in a resource; None for one that is none. Rows that are not as they should be are left out."""
    entries = body.get("RegistryEntries")
    if not isinstance(entries, Mapping) or not isinstance(entries.get("Attributes"), list):
        return None
    rows = [row for row in entries["Attributes"] if isinstance(row, Mapping) and row.get("AttributeName")]
    rules = entries.get("Dependencies")
    found = [_rule(row) for row in (rules if isinstance(rules, list) else []) if isinstance(row, Mapping)]
    return Registry({item.name: item for item in map(_item, rows)}, tuple(rule for rule in found if rule))


def registry_of_objects(attributes: Mapping[str, Any]) -> Registry:
    """The registry of a BIOS that shows each attribute as an object with its allowed values."""
    items = {}
    for name, value in attributes.items():
        if isinstance(value, Mapping):
            allowed = value.get("AllowableValues")
            pairs = tuple((str(one), "") for one in (allowed if isinstance(allowed, list) else []))
            items[name] = Item(name, name, "Enumeration" if pairs else "String", pairs, None, None, frozenset())
    return Registry(items, ())


def same(left: Any, right: Any) -> bool:
    """Whether two values are one: makers write 1 and "1", true and "true"."""
    return str(left).lower() == str(right).lower()


def holds(rule: Rule, values: Mapping[str, Any]) -> bool:
    """Whether the condition of a dependency holds; one on a value that is not known does not."""
    result, before = False, None
    for number, (term, name, how, value) in enumerate(rule.when):
        here = name in values and _test(how, values[name], value)
        # Without a term, several values of one attribute are alternatives, and several attributes go together.
        either = term == "OR" or (not term and before == (name, "EQU") and how == "EQU")
        result = here if number == 0 else (result or here) if either else (result and here)
        before = (name, how)
    return result


def _test(how: str, seen: Any, wanted: Any) -> bool:
    if how in ("EQU", "NEQ"):
        return same(seen, wanted) == (how == "EQU")
    try:
        return how in _TESTS and _TESTS[how](float(seen), float(wanted))
    except (TypeError, ValueError):
        return False


def _words(rule: Rule) -> str:
    signs = {"EQU": "is", "NEQ": "is not"}
    return "while " + ", ".join(f"{name} {signs.get(how, how)} {value}" for _term, name, how, value in rule.when)


def _item(row: Mapping[str, Any]) -> Item:
    flags = frozenset(one for one in ("ReadOnly", "GrayOut", "Hidden", "Immutable") if same(row.get(one), True))
    values = row.get("Value")
    return Item(
        str(row["AttributeName"]),
        str(row.get("DisplayName") or ""),
        str(row.get("Type") or "String"),
        tuple(_pairs(values if isinstance(values, list) else [])),
        _bound(row.get("LowerBound")),
        _bound(row.get("UpperBound")),
        flags,
    )


def _pairs(values: list[Any]) -> Iterator[tuple[str, str]]:
    for value in values:
        if isinstance(value, Mapping) and value.get("ValueName") is not None:
            yield str(value["ValueName"]), str(value.get("ValueDisplayName") or "")


def _bound(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _rule(row: Mapping[str, Any]) -> Rule | None:
    body = row.get("Dependency")
    tests = body.get("MapFrom") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(tests, list) or not body.get("MapToAttribute"):
        return None
    when = []
    for test in tests:
        if not isinstance(test, Mapping) or test.get("MapFromProperty", "CurrentValue") != "CurrentValue":
            return None
        words = (str(test.get(key) or "") for key in ("MapTerms", "MapFromAttribute", "MapFromCondition"))
        term, name, how = words
        when.append((term, name, how, test.get("MapFromValue")))
    return Rule(tuple(when), str(body["MapToAttribute"]), str(body.get("MapToProperty")), body.get("MapToValue"))
