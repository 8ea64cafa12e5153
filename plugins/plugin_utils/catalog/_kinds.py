# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a value in the catalog may be: one table for overlays, for the JSON schemas, and for the tests."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import normalise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import is_spec

_VERSION = r"[0-9]{1,9}(\.[0-9]{1,9})*"
_DEVICE = r"[0-9a-f]{4}"
_NAME = r"[A-Za-z0-9_.+-]+"


class Kind(NamedTuple):
    """What a value is: in words for a message, as JSON schema, and as a test of the value itself."""

    words: str
    schema: Mapping[str, Any]
    fits: Callable[[Any], bool]


class Field(NamedTuple):
    """A key of a row: its kind, whether it is a list of them, whether null will do, and whether it may be left out."""

    kind: str
    many: bool
    null: bool
    optional: bool


class Form(NamedTuple):
    """A section: the fields whose values name a row, and all fields."""

    key: tuple[str, ...]
    fields: Mapping[str, Field]


def _text(words: str, pattern: str) -> Kind:
    return Kind(
        words,
        {"type": "string", "pattern": f"^(?:{pattern})$"},
        lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None,
    )


def _number(words: str, schema: str, *types: type) -> Kind:
    return Kind(words, {"type": schema}, lambda value: isinstance(value, types) and type(value) in types)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.date.fromisoformat(value))
    except ValueError:
        return False


def _is_pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value) and bool(re.compile(value))
    except re.error:
        return False


KINDS: dict[str, Kind] = {
    "text": Kind(
        "text", {"type": "string", "pattern": "\\S"}, lambda value: isinstance(value, str) and bool(value.strip())
    ),
    "pattern": Kind("a regular expression", {"type": "string", "format": "regex", "minLength": 1}, _is_pattern),
    "name": _text("a name without blanks", _NAME),
    "version": _text("a version: numbers joined by dots, in quotes", _VERSION),
    "spec": Kind(
        'versions: how they begin ("7.2"), a bound ("<6.4") or a span ("6.2.0..6.2.1")',
        {"type": "string", "pattern": r"^(<=|>=|<|>)?[0-9]+([.-][0-9]+)*(\.\.[0-9]+([.-][0-9]+)*)?$"},
        lambda value: isinstance(value, str) and is_spec(value),
    ),
    "date": Kind("a date (2026-12-01), in quotes", {"type": "string", "format": "date"}, _is_date),
    "device": _text("a PCI device id: four hexadecimal digits in lower case, in quotes", _DEVICE),
    "source": _text("names of sources, with commas between", rf"{_NAME}(, *{_NAME})*"),
    "product": _text("a product of the catalog", _NAME),
    "int": _number("a whole number", "integer", int),
    "number": _number("a number", "number", int, float),
    "bool": _number("true or false", "boolean", bool),
    "map": Kind("a map", {"type": "object"}, lambda value: isinstance(value, dict)),
    "list": Kind("a list", {"type": "array"}, lambda value: isinstance(value, list)),
    "ids": Kind(
        "a list [device id, pf or vf, verified or unverified]",
        {
            "type": "array",
            "prefixItems": [
                {"type": "string", "pattern": f"^{_DEVICE}$"},
                {"enum": ["pf", "vf"]},
                {"enum": ["verified", "unverified"]},
            ],
            "minItems": 3,
            "items": False,
        },
        lambda value: (
            isinstance(value, list)
            and len(value) == 3
            and KINDS["device"].fits(value[0])
            and value[1] in ("pf", "vf")
            and value[2] in ("verified", "unverified")
        ),
    ),
    "when": Kind(
        "a map of conditions, each a list of which one has to fit",
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                key: {"type": "array", "minItems": 1, "items": {"type": "string"}}
                for key in ("rocm", "driver", "module", "product", "system", "version", "kernel")
            },
        },
        lambda value: isinstance(value, dict) and bool(value) and all(_is_condition(*item) for item in value.items()),
    ),
}


def _is_condition(key: str, wanted: Any) -> bool:
    if not isinstance(wanted, list) or not wanted or not all(isinstance(one, str) for one in wanted):
        return False
    if key in ("product", "system"):
        return True
    return key in ("rocm", "driver", "module", "version", "kernel") and all(is_spec(one) for one in wanted)


def kind_of(field: Field) -> Kind:
    """The kind of a field; one that is not in the table is a choice of the words between its bars."""
    if field.kind in KINDS:
        return KINDS[field.kind]
    words = field.kind.split("|")
    return Kind(f"one of {', '.join(words)}", {"enum": words}, lambda value: value in words and isinstance(value, str))


def wrong(field: Field, value: Any) -> str | None:
    """What a value of that field should have been, where it is not; None where it is."""
    kind = kind_of(field)
    if value is None:
        return None if field.null else kind.words
    if not field.many:
        return None if kind.fits(value) else kind.words
    good = isinstance(value, list) and all(kind.fits(one) for one in value)
    return None if good else f"a list, of each {kind.words}"


def wrong_firmware(row: Mapping[str, Any]) -> str | None:
    """The version in a row of firmware pairs that is none of its scheme; None where there is none."""
    versions = [row["least"], *row["exact"]]
    return next((text for text in versions if text is not None and normalise(row["scheme"], text) is None), None)


def form(named_by: str, /, **fields: str) -> Form:
    """A form in short: ``[x]`` is a list of x, ``x?`` may be null, ``x~`` may be left out."""
    made = {
        name: Field(text.strip("[]?~"), text.startswith("["), "?" in text, text.endswith("~"))
        for name, text in {**fields, "source": "source", "notes": "text~"}.items()
    }
    return Form(tuple(named_by.split()), made)
