# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What limits a wave, out of a policy: failure domains, capacity floors, growth and order, short forms made long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest

RACK = "fleet_rack"
PRODUCT = "product"
ORDERS = ("domain", "name", "inventory")
_MOST = 8
_DOMAIN: dict[str, dict[str, Any]] = {"variable": {"type": "str", "required": True}, "at_once": {"type": "raw"}}
_FLOOR: dict[str, dict[str, Any]] = {
    "per": {"type": "str", "required": True},
    "percent": {"type": "float", "required": True},
}
_GROWTH: dict[str, dict[str, dict[str, Any]]] = {
    "fixed": {"size": {"type": "int", "required": True}},
    "linear": {"step": {"type": "int", "required": True}, "first": {"type": "int", "default": 1}},
    "exponential": {"factor": {"type": "float", "default": 2}, "first": {"type": "int", "default": 1}},
}

Place = tuple[str, str]
Error = type[FleetError]
Policy = Mapping[str, Any]


class Kind(NamedTuple):
    """A kind of failure domain: of this host variable, at most so many values are down together; None is any."""

    variable: str
    at_once: int | None


class Floor(NamedTuple):
    """Of each product, or of each value of a host variable, percent of the nodes stay in service."""

    per: str
    percent: float

    @property
    def key(self) -> str:
        """The key of the policy that says so."""
        return "capacity_floor_percent" if self.per == PRODUCT else "capacity_floors"

    @property
    def said(self) -> str:
        """The key with its number, for a message."""
        return f"{self.key} {self.percent:g}" + ("" if self.per == PRODUCT else f" per {self.per}")


def kinds(policy: Policy) -> list[Kind]:
    """The kinds of domains of a policy, of whatever version."""
    given = policy.get("failure_domains")
    if given is None:
        return [Kind(RACK, 1)] if policy.get("failure_domain", "rack") == "rack" else []
    return [Kind(row["variable"], row["at_once"]) for row in given]


def floors(policy: Policy) -> list[Floor]:
    """The floor per product, which is always there, and those per host variable."""
    more = [Floor(row["per"], row["percent"]) for row in policy.get("capacity_floors") or ()]
    return [Floor(PRODUCT, policy["capacity_floor_percent"]), *(floor for floor in more if floor.per != PRODUCT)]


def variables(policy: Policy) -> dict[str, str]:
    """The host variables that a plan rests on, each with the place in the policy that asks for it.

    The label of ``skip`` is not among them: a fleet of which no node is to be skipped need not know it.
    """
    given = policy.get("failure_domains")
    found = {
        kind.variable: f"failure_domains[{n}].variable" if given else "failure_domain"
        for n, kind in enumerate(kinds(policy))
    }
    for number, row in enumerate(policy.get("capacity_floors") or ()):
        if row["per"] != PRODUCT:
            found.setdefault(row["per"], f"capacity_floors[{number}].per")
    return found


def value(row: Mapping[str, Any], name: str) -> str | None:
    """Of a node of a plan, the value of a host variable that the plan rests on; the rack has a place of its own."""
    return row["rack"] if name == RACK else row.get("variables", {}).get(name)


def size(policy: Policy, number: int, before: int) -> int:
    """How many nodes a wave may have.

    :param number: the how manieth wave after the canaries it is, from 1.
    :param before: the size of the wave before it, 0 where there is none. The short form counts from it, so that a wave
        that its rack made small is followed by a small one; the others count the waves.
    """
    growth = policy["growth"]
    if not isinstance(growth, Mapping):
        wanted = before * growth
    elif growth["kind"] == "fixed":
        wanted = growth["size"]
    elif growth["kind"] == "linear":
        wanted = growth["first"] + growth["step"] * (number - 1)
    else:
        steps = (number - 1) * math.log(growth["factor"])
        # Long before the power leaves the range of a float, the largest wave is reached.
        wanted = growth["first"] * math.exp(steps) if steps < 100 else policy["max_wave"]
    return max(1, int(min(policy["max_wave"], wanted)))


def largest(policy: Policy) -> int:
    """The size that no wave exceeds, canaries included."""
    growth = policy["growth"]
    fixed = isinstance(growth, Mapping) and growth["kind"] == "fixed"
    return min(policy["max_wave"], growth["size"]) if fixed else policy["max_wave"]


def checked(policy: dict[str, Any], given: Mapping[str, Any], file: str, error: Error) -> None:
    """Bring the limits of a policy into their long form, in place.

    :param policy: with types and defaults.
    :param given: what the operator wrote: a short form beside its long one must say the same.
    :raises error: naming key, what was seen and what is allowed.
    """
    policy["growth"] = _growth(policy["growth"], (file, "growth"), error)
    policy["order"] = _order(policy["order"], (file, "order"), error)
    if policy["failure_domains"] is not None:
        rows = policy["failure_domains"] = _rows(policy["failure_domains"], "failure_domains", _domain, file, error)
        short = "rack" if RACK in [row["variable"] for row in rows] else "none"
        _same(policy, given, ("failure_domain", short, "failure_domains"), file, error)
    if policy["capacity_floors"] is not None:
        rows = policy["capacity_floors"] = _rows(policy["capacity_floors"], "capacity_floors", _floor, file, error)
        for row in rows:
            if row["per"] == PRODUCT:
                _same(policy, given, ("capacity_floor_percent", row["percent"], "capacity_floors"), file, error)


def _same(
    policy: dict[str, Any], given: Mapping[str, Any], keys: tuple[str, Any, str], file: str, error: Error
) -> None:
    short, value, long = keys
    if short in given and policy[short] != value:
        raise error(
            f"{file}: {short}",
            f"is {policy[short]}, and {long} says {value}",
            "one of the two",
            f"take {short} out: it is the short form of {long}",
        )
    policy[short] = value


def _rows(value: Any, key: str, one: Any, file: str, error: Error) -> list[dict[str, Any]]:
    rows = [one(row, (file, f"{key}[{number}]"), error) for number, row in enumerate(value)]
    names = [row.get("variable", row.get("per")) for row in rows]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise error(f"{file}: {key}[{number}]", f"names {name} a second time", "each one once", "take one out")
    if len(rows) > _MOST:
        raise error(f"{file}: {key}", f"has {len(rows)} rows", f"at most {_MOST}", "take some out")
    return rows


def _domain(value: Any, place: Place, error: Error) -> dict[str, Any]:
    row = check(_DOMAIN, value, place, error)
    row["variable"] = _name(row["variable"], (place[0], f"{place[1]}.variable"), error)
    # A null is any number of domains; a key left out is one, so the two must not become the same.
    most = row["at_once"] if "at_once" in value else 1
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise error(
            f"{place[0]}: {place[1]}.at_once", f"is {most!r}", "1 or more, or null for any number", "correct the number"
        )
    return {"variable": row["variable"], "at_once": most}


def _floor(value: Any, place: Place, error: Error) -> dict[str, Any]:
    row = check(_FLOOR, value, place, error)
    row["per"] = _name(row["per"], (place[0], f"{place[1]}.per"), error)
    _between(row["percent"], (0, 100), (place[0], f"{place[1]}.percent"), error)
    return row


def _name(text: str, place: Place, error: Error) -> str:
    if not text.isidentifier():
        raise error(f"{place[0]}: {place[1]}", f"is {text!r}", "the name of a host variable", "correct the name")
    return text


def _growth(value: Any, place: Place, error: Error) -> Any:
    if not isinstance(value, Mapping):
        spec = {"growth": {"type": "float", "required": True}}
        return _between(check(spec, {"growth": value}, (place[0], ""), error)["growth"], (1, 100), place, error)
    kind = value.get("kind")
    if kind not in _GROWTH:
        raise error(f"{place[0]}: {place[1]}.kind", f"is {kind!r}", nearest(kind, _GROWTH), "correct the kind")
    growth = check({"kind": {"type": "str"}, **_GROWTH[kind]}, value, place, error)
    for key in _GROWTH[kind]:
        _between(growth[key], (1, 100 if key == "factor" else 10000), (place[0], f"{place[1]}.{key}"), error)
    return growth


def _order(value: Any, place: Place, error: Error) -> Any:
    if isinstance(value, str) and value in ORDERS:
        return value
    if isinstance(value, list) and value and all(isinstance(text, str) and text for text in value):
        return value
    wanted = nearest(value, ORDERS) if isinstance(value, str) else f"one of {', '.join(ORDERS)}, or a list"
    raise error(
        f"{place[0]}: {place[1]}", f"is {value!r}", f"{wanted}; or a list of patterns of names", "correct the order"
    )


def _between(number: Any, limits: tuple[float, float], place: Place, error: Error) -> Any:
    if not limits[0] <= number <= limits[1]:
        raise error(f"{place[0]}: {place[1]}", f"is {number}", f"{limits[0]:g} to {limits[1]:g}", "correct the number")
    return number
