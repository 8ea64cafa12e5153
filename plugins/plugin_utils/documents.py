# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents an operator writes: read as YAML, checked against an argument spec, refused by place and nearest name."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_PLACES = 100_000


class _StrictLoader(_Loader):
    """A loader that refuses a key written twice, where YAML would quietly keep the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict:
        seen: set[Any] = set()
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (str, int, float)) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", key_node.start_mark
                )
            if isinstance(key, (str, int, float)):
                seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: str, error: type[FleetError], wanted: str) -> Any:
    """The content of a YAML file.

    :param wanted: what the file should have been, for the message.
    :raises error: for a file that is missing, unreadable or not YAML.
    """
    content = _content(path, error, wanted)
    try:
        return yaml.load(content, Loader=_StrictLoader)
    except (yaml.YAMLError, ValueError) as problem:
        raise error(path, f"is not YAML: {_one_line(problem)}", wanted, "correct the file at that place") from problem


def read_marked(path: str, error: type[FleetError], wanted: str) -> tuple[Any, dict[str, int]]:
    """The content of a YAML file, and the line of each place in it (``products[0].name``).

    :param wanted: what the file should have been, for the message.
    :raises error: for a file that is missing, unreadable, not YAML, or too large to have been written by hand.
    """
    content = _content(path, error, wanted)
    loader = _StrictLoader(content)
    try:
        node = loader.get_single_node()
        value = loader.construct_document(node) if node is not None else None
        lines = dict(islice(_lines(node), _MOST_PLACES + 1))
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise error(path, f"is not YAML: {_one_line(problem)}", wanted, "correct the file at that place") from problem
    finally:
        loader.dispose()
    if len(lines) > _MOST_PLACES:
        raise error(path, f"has more than {_MOST_PLACES} places", wanted, "leave out what does not belong there")
    return value, lines


def _content(path: str, error: type[FleetError], wanted: str) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError as problem:
        raise error(
            path, f"cannot be read: {problem.strerror}", wanted, "give the path of a file that is there"
        ) from problem


def _lines(node: Any, place: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, inner in node.value:
            here = _join(place, getattr(key, "value", "?"))
            yield here, key.start_mark.line + 1
            yield from _lines(inner, here)
    elif isinstance(node, yaml.SequenceNode):
        for number, inner in enumerate(node.value):
            here = f"{place}[{number}]"
            yield here, inner.start_mark.line + 1
            yield from _lines(inner, here)


def parse_own(content: bytes, path: str, error: type[FleetError]) -> Any:
    """The content of a YAML file of this collection, read fast; its tests hold what an operator's file is held to here.

    :raises error: for what is not YAML.
    """
    try:
        return yaml.load(content, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as problem:
        raise error(
            path, f"is not YAML: {_one_line(problem)}", "a file of this collection", "install it again"
        ) from problem


def plain(value: Any, subject: str, error: type[FleetError]) -> Any:
    """The value as plain JSON types, free of the tags that ansible-core puts on what comes from a playbook."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as problem:
        raise error(
            subject,
            f"holds something that JSON has no form for ({problem})",
            "text, numbers, lists, maps",
            "put it in quotes",
        ) from problem


def texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Each text in a document, keys included, after its place in it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(str(key), place)
            yield from texts(inner, _join(place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from texts(inner, f"{place}[{number}]")


def nearest(name: object, allowed: Iterable[str]) -> str:
    """``did you mean X? `` plus all that is allowed, for a message."""
    choices = sorted(str(choice) for choice in allowed)
    close = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.5)
    hint = f"{close[0]!r} (nearest); " if close else ""
    return f"{hint}one of {', '.join(choices)}" if choices else "nothing at all"


def check(spec: Mapping[str, Mapping[str, Any]], value: Any, place: tuple[str, str], error: type[FleetError]) -> dict:
    """The value with the types and defaults of an argument spec; sub-options are followed.

    :param place: the file (or variable) and the path inside it.
    :raises error: at the first thing that is wrong, with its exact path.
    """
    if not isinstance(value, Mapping):
        raise error(_subject(place), f"is the {type(value).__name__} {value!r:.60}", "a map", "write it as key: value")
    for key in value:
        if key not in spec:
            raise error(
                _subject(place, key), "is not a key that is known here", nearest(key, spec), "remove or rename it"
            )
    checked = _validated(spec, dict(value), place, error)
    for key, rule in spec.items():
        if "options" in rule and checked.get(key) is not None:
            checked[key] = check(rule["options"], checked[key], (place[0], _join(place[1], key)), error)
    return checked


def _validated(spec: Mapping, value: dict, place: tuple[str, str], error: type[FleetError]) -> dict:
    checked = {}
    for key, rule in spec.items():
        here = (place[0], _join(place[1], key))
        _refuse_number_for_text(rule, value.get(key), here, error)
        if key in value:
            _refuse_no_number(rule, value[key], here, error)
        flat = {name: part for name, part in rule.items() if name != "options"}
        # One key at a time, so that the message can say which.
        result = ArgumentSpecValidator({key: flat}).validate({key: value[key]} if key in value else {})
        if result.error_messages:
            seen = "; ".join(result.error_messages) if key in value else "is missing"
            raise error(_subject(here), seen, _describe(rule), "correct it" if key in value else "add it")
        checked[key] = result.validated_parameters.get(key)
    return checked


def _describe(rule: Mapping) -> str:
    wanted = f"{rule['type']} of {rule['elements']}" if "elements" in rule else str(rule["type"])
    return f"one of {', '.join(map(str, rule['choices']))}" if "choices" in rule else wanted


def _refuse_number_for_text(rule: Mapping, value: Any, place: tuple[str, str], error: type[FleetError]) -> None:
    # An unquoted 7.10 is the number 7.1 by the time it arrives here: coercing it would ask for another release.
    if rule.get("type") == "str" and value is not None and not isinstance(value, str):
        raise error(_subject(place), f"is the {type(value).__name__} {value!r}", "text", "put it in quotes")


def _refuse_no_number(rule: Mapping, value: Any, place: tuple[str, str], error: type[FleetError]) -> None:
    # Core takes true for the number 1, and a null for what is there.
    is_truth = rule.get("type") in ("int", "float") and isinstance(value, bool)
    if is_truth or (value is None and rule.get("required")):
        seen = f"is {json.dumps(value)}"
        raise error(_subject(place), seen, _describe(rule), "write the value")


def _subject(place: tuple[str, str], key: object = None) -> str:
    path = _join(place[1], key) if key is not None else place[1]
    return f"{place[0]}: {path}" if path else place[0]


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _one_line(problem: Exception) -> str:
    mark = getattr(problem, "problem_mark", None)
    text = getattr(problem, "problem", None) or str(problem)
    where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return " ".join(f"{text}{where}".split())
