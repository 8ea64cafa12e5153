# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of wanted firmware: its keys, and whether a component may be, has to be or must not be flashed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry, running

# From the weakest on: what makes a flashed version the running one.
ACTIVATIONS = ("none", "driver_reload", "bmc_reset", "reboot", "power_cycle", "ac_cycle")
METHODS = ("auto", "multipart", "http_push", "simple_update")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class WishError(FleetError):
    """A row of wanted firmware that is not as it should be."""


WISH: dict[str, dict[str, Any]] = {
    "component": {"type": "str", "required": True},
    "version": {"type": "str", "required": True},
    "shown_as": {"type": "str"},
    "scheme": {"type": "str", "choices": list(compare.SCHEMES)},
    "image": {"type": "str"},
    "image_uri": {"type": "str"},
    "sha256": {"type": "str"},
    "signature": {"type": "list", "elements": "str", "default": []},
    "minimum_from": {"type": "str"},
    "blocked": {"type": "list", "elements": "str", "default": []},
    "product": {"type": "str"},
    "part_number": {"type": "str"},
    "allow_downgrade": {"type": "bool", "default": False},
    "allow_unordered": {"type": "bool", "default": False},
    "several": {"type": "bool", "default": False},
    "method": {"type": "str", "choices": list(METHODS), "default": "auto"},
    "targets": {"type": "list", "elements": "str"},
    "apply_time": {"type": "str"},
    "oem_part": {"type": "dict"},
    "activation": {"type": "str", "choices": list(ACTIVATIONS), "default": "none"},
    "with_next": {"type": "bool", "default": False},
    "driver_away": {"type": "bool", "default": False},
}


def checked(rows: Iterable[Any], place: tuple[str, str], error: type[FleetError]) -> list[dict[str, Any]]:
    """Rows of wanted firmware with every default.

    :param place: the file or variable, and the path in it.
    :raises error: with the exact place.
    """
    wishes = [check(WISH, row, (place[0], f"{place[1]}.{n}"), error) for n, row in enumerate(rows)]
    for number, wish in enumerate(wishes):
        _refuse(wish, f"{place[0]}: {place[1]}.{number}", number + 1 == len(wishes), error)
    return wishes


def _refuse(wish: Mapping[str, Any], here: str, last: bool, error: type[FleetError]) -> None:
    if not wish["image"] and not wish["image_uri"]:
        raise error(f"{here}.image", "is missing", "the path of an image, or image_uri", "add it")
    if wish["image"] and not _SHA256.fullmatch(wish["sha256"] or ""):
        raise error(
            f"{here}.sha256",
            f"is {wish['sha256']!r}",
            "64 hexadecimal digits in lower case",
            "write down what the maker publishes, or sha256sum of an image you trust",
        )
    if wish["scheme"] and compare.normal(wish["scheme"], wish["shown_as"] or wish["version"]) is None:
        raise error(
            f"{here}.version", f"is {wish['version']!r}", f"a version of the scheme {wish['scheme']}", "correct it"
        )
    if wish["version"] in wish["blocked"]:
        raise error(
            f"{here}.version", f"{wish['version']} is on its own list of blocked versions", "another", "correct it"
        )
    if wish["with_next"] and last:
        raise error(f"{here}.with_next", "there is no next component", "false in the last row", "take it out")


class Decision(NamedTuple):
    """What is to be done about a component: ``do`` is nothing or flash; ``before`` is the version that runs."""

    do: str
    entries: tuple[Entry, ...]
    before: str | None


def scheme_of(wish: Mapping[str, Any], entry: Entry) -> str:
    """How versions of a wish compare: as the wish says, else as the entry's pattern does."""
    return str(wish["scheme"] or entry.scheme)


def is_wanted(wish: Mapping[str, Any], entries: Sequence[Entry]) -> bool:
    """Whether every running entry shows the wanted version."""
    wanted = wish["shown_as"] or wish["version"]
    return bool(entries) and all(
        entry.version is not None and compare.order(scheme_of(wish, entry), entry.version, wanted) == 0
        for entry in entries
    )


def decide(
    wish: Mapping[str, Any],
    entries: Iterable[Entry],
    subject: str,
    machine: Mapping[str, Any],
    problems: Sequence[str] = (),
) -> Decision:
    """Whether to flash a component.

    :param machine: ``product`` and ``part_numbers`` of the node, null and [] where they are not known.
    :param problems: why the inventory may lack entries.
    :raises BmcError: it must not be flashed; the code says why.
    """
    entries = list(entries)
    found = _found(wish, entries, subject, problems)
    name = f"{subject} {wish['component']}"
    before = ", ".join(sorted({entry.version or "unknown" for entry in found}))
    if any(entry.version is None for entry in found):
        raise BmcError(
            "version_unknown",
            name,
            "the BMC does not tell which version runs",
            "a version",
            "see what the BMC's own page shows; nothing is flashed over an unknown version",
        )
    if is_wanted(wish, found):
        return Decision("nothing", tuple(found), before)
    for entry in found:
        _refuse_wrong(wish, entry, name)
    _refuse_machine(wish, name, machine, found)
    return Decision("flash", tuple(found), before)


def _found(wish: Mapping[str, Any], entries: list[Entry], subject: str, problems: Sequence[str]) -> list[Entry]:
    found = running(entries, wish["component"])
    if len(found) == 1 or (found and wish["several"]):
        return found
    name = f"{subject} {wish['component']}"
    if found:
        raise BmcError(
            "ambiguous",
            name,
            f"several entries: {', '.join(entry.id for entry in found)}",
            "one entry",
            "name it with patterns, or set several where one image is for all of them",
        )
    seen = ", ".join(entry.id for entry in entries) or "nothing"
    more = f"; and the inventory is not whole: {'; '.join(problems)}" if problems else ""
    raise BmcError(
        "component_unknown",
        name,
        f"no running entry of the inventory is it; there are {seen}{more}",
        "an entry that a pattern names",
        "name it with patterns",
    )


def _refuse_wrong(wish: Mapping[str, Any], entry: Entry, name: str) -> None:
    wanted, seen, scheme = wish["shown_as"] or wish["version"], str(entry.version), scheme_of(wish, entry)
    if compare.normal(scheme, seen) is None:
        raise BmcError(
            "other_axis",
            name,
            f"the BMC shows {seen}, which is no version of the scheme {scheme}",
            f"what compares with {wanted}",
            "name the entry that shows it, or give the version by this one",
        )
    if entry.updateable is False:
        raise BmcError(
            "not_updateable",
            name,
            f"{entry.id} says that it cannot be updated",
            "Updateable true",
            "use the maker's own tool",
        )
    if any(compare.order(scheme, wanted, text) == 0 for text in wish["blocked"]):
        raise BmcError("blocked_version", name, f"{wanted} is on the list of blocked versions", "another version", "")
    step = compare.order(scheme, wanted, seen)
    if step is None and not wish["allow_unordered"]:
        if scheme == "part_number":
            raise BmcError(
                "wrong_part",
                name,
                f"{seen} is another part than {wanted}",
                "an image for this very part",
                "ask the server maker for it; AMD's own image is not for the card of a maker",
            )
        raise BmcError(
            "no_order",
            name,
            f"{wanted} is neither newer nor older than {seen} that could be told",
            "a version written as the BMC writes it",
            "correct version or shown_as; allow_unordered flashes all the same",
        )
    if step == -1 and not wish["allow_downgrade"]:
        raise BmcError(
            "downgrade",
            name,
            f"{wanted} is older than {seen}",
            "a newer version",
            "allow_downgrade permits it; it may be one that cannot be undone",
        )
    _refuse_bounds(wish, entry, name, wanted, seen, scheme)


def _refuse_bounds(wish: Mapping[str, Any], entry: Entry, name: str, wanted: str, seen: str, scheme: str) -> None:
    if entry.lowest and compare.order(scheme, wanted, entry.lowest) not in (0, 1):
        raise BmcError(
            "below_lowest",
            name,
            f"{wanted} is not known to be {entry.lowest} or newer",
            "what the BMC permits (LowestSupportedVersion)",
            "choose a newer version",
        )
    least = wish["minimum_from"]
    if least and compare.order(scheme, seen, least) not in (0, 1):
        raise BmcError(
            "below_minimum",
            name,
            f"{seen} is not known to be {least} or newer, which this image wants",
            f"{least} first",
            "put a row for a version between before this one",
        )


def _refuse_machine(wish: Mapping[str, Any], name: str, machine: Mapping[str, Any], found: Sequence[Entry]) -> None:
    product, part = wish["product"], wish["part_number"]
    if product and product.lower() not in {str(one).lower() for one in machine["products"]}:
        raise BmcError(
            "wrong_product",
            name,
            f"the node is {' / '.join(machine['products']) or 'not known'}",
            product,
            "take the image for this machine, or correct product",
        )
    if not part:
        return
    shown = [entry.version for entry in found if entry.scheme == "part_number"]
    parts = [str(one) for one in [*machine["part_numbers"], *shown]]
    if not parts or not all(text == part or compare.same_part(text, part) for text in parts):
        raise BmcError(
            "wrong_part",
            name,
            f"the part is {', '.join(parts) or 'not known'}",
            f"the part {part}",
            "take the image for this very part; a maker's card is not AMD's own",
        )
