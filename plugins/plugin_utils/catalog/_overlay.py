# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a site lays over the catalog: read, checked row by row, refused by file, line and nearest valid name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import (
    NAMES,
    CatalogError,
    Files,
    Rows,
    key_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._kinds import Form, wrong, wrong_firmware
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import nearest, read_marked

_WANTED = "an overlay of the catalog (docs/catalog.md)"


class _Place(NamedTuple):
    """Where in an overlay something stands: the file, the line of each place in it, and the place."""

    path: str
    lines: Mapping[str, int]
    place: str = ""

    def at(self, step: str) -> _Place:
        """A place inside this one."""
        dot = "." if self.place and not step.startswith("[") else ""
        return self._replace(place=f"{self.place}{dot}{step}")

    def refuse(self, seen: str, wanted: str, fix: str) -> NoReturn:
        """Raise the error about this place."""
        line = self.lines.get(self.place)
        where = f"{self.path}, line {line}" if line else self.path
        raise CatalogError(f"{where}: {self.place}" if self.place else where, seen, wanted, fix)


def read_overlay(path: str, shipped: Files) -> dict[str, Any]:
    """What an overlay holds, as :meth:`Files.with_overlay` takes it: by file ``sources`` and rows by section.

    :param path: a YAML file whose keys are names of catalog files, or a folder of files named like the catalog's.
    :raises CatalogError: at the first thing that is wrong.
    """
    found: dict[str, Any] = {}
    for name, part, place, sources in _parts(path):
        found[name] = _part(name, part, place, sources, shipped)
    _check_references(found, shipped)
    for part in found.values():
        part.pop("places")
    return found


def _files_in(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith((".yml", ".yaml")))
    except OSError as problem:
        seen = f"cannot be listed: {problem.strerror}"
        raise CatalogError(folder, seen, "a folder of YAML files", "let the user of Ansible read it") from problem


def _parts(path: str) -> Iterator[tuple[str, Any, _Place, Mapping[str, Any]]]:
    """Each file's part of the overlay: name, content, where it stands, and the sources that are named there."""
    if os.path.isdir(path):
        for file in _files_in(path):
            name = file.rpartition(".")[0]
            place, content = _read(os.path.join(path, file))
            if name not in NAMES:
                place.refuse("is not named like a file of the catalog", nearest(name, NAMES), "rename it")
            yield name, {key: content[key] for key in content if key not in ("schema", "sources")}, place, content
    else:
        place, content = _read(path)
        for name in content:
            if name in NAMES:
                yield name, content[name], place.at(name), content
            elif name not in ("schema", "sources"):
                place.at(str(name)).refuse("is not a file of the catalog", nearest(name, NAMES), "correct the name")


def _read(path: str) -> tuple[_Place, dict]:
    content, lines = read_marked(path, CatalogError, _WANTED)
    place = _Place(path, lines)
    if not isinstance(content, dict):
        place.refuse(f"is {_type(content)}", _WANTED, "begin with `schema: 1`")
    if content.get("schema") != 1 or isinstance(content["schema"], bool):
        place.at("schema").refuse(f"is {content.get('schema')!r}", "1", "begin with `schema: 1`")
    _check_sources(content.get("sources", {}), place.at("sources"))
    return place, content


def _check_sources(sources: Any, place: _Place) -> None:
    if not isinstance(sources, dict):
        place.refuse(f"is {_type(sources)}", "a map of names", "write it as name: {words: ..., as_of: ...}")
    for name, source in sources.items():
        keys = set(source) if isinstance(source, dict) else set()
        if keys != {"words", "as_of"} or not all(isinstance(part, str) and part for part in source.values()):
            wanted = "words (what a reader can look up) and as_of (the day of it), both text"
            place.at(str(name)).refuse(f"is {source!r:.60}", wanted, "name both, in quotes")


def _part(name: str, part: Any, place: _Place, document: Mapping[str, Any], shipped: Files) -> dict[str, Any]:
    if not isinstance(part, dict):
        place.refuse(f"is {_type(part)}", "a map of sections", f"name one of {', '.join(FORMS[name])}")
    own, theirs = document.get("sources", {}), shipped.document(name)["sources"]
    for source in own.keys() & theirs.keys():
        place._replace(place=f"sources.{source}").refuse(
            f"is the name of a source of {name}.yml already", "a name of your own", "rename it here and in your rows"
        )
    sources = {**theirs, **own}
    made: dict[str, Any] = {"sources": own, "rows": {}, "places": []}
    for section, rows in part.items():
        here = place.at(str(section))
        if section not in FORMS[name]:
            here.refuse(f"is not a section of {name}", nearest(section, FORMS[name]), "correct the name")
        if not isinstance(rows, list):
            here.refuse(f"is {_type(rows)}", "a list of rows", "begin each row with a dash")
        before = shipped.table(name, section)
        made["rows"][section] = [
            _row(row, here.at(f"[{number}]"), FORMS[name][section], before, sources) for number, row in enumerate(rows)
        ]
        _refuse_twice(made["rows"][section], here, FORMS[name][section])
        made["places"] += [(section, row, here.at(f"[{number}]")) for number, row in enumerate(made["rows"][section])]
    return made


def _row(row: Any, place: _Place, form: Form, before: Rows, sources: Mapping[str, Any]) -> dict:
    if not isinstance(row, dict):
        place.refuse(f"is {_type(row)}", "a map", f"name its {' and '.join(form.key)}, and what is to change")
    fields = [*form.fields, "remove"]
    for key in row:
        if key not in fields:
            place.at(str(key)).refuse("is not a key of this section", nearest(key, fields), "remove or rename it")
    for key in form.key:
        if key not in row:
            place.refuse(f"has no {key}", f"the {' and '.join(form.key)} of the row", "add it")
    _check_fields(row, place, form)
    known = before.get(key_of(row, form.key))
    if "remove" in row:
        return _removal(row, place, form, before)
    _check_source(row, place, sources)
    whole = {**(known or {}), **row}
    for key, field in form.fields.items():
        if key not in whole and not field.optional:
            place.refuse(f"is a new row without {key}", f"every key of one: {', '.join(form.fields)}", "add it")
    _check_firmware(whole, place)
    return row


def _check_fields(row: Mapping[str, Any], place: _Place, form: Form) -> None:
    for key, value in row.items():
        wanted = wrong(form.fields[key], value) if key in form.fields else None
        if wanted:
            number = type(value) in (int, float, bool)
            seen = f"is the {type(value).__name__} {value!r}" if number else f"is {value!r:.80}"
            place.at(key).refuse(seen, wanted, "put it in quotes" if number and "text" in wanted else _fix(wanted))


def _fix(wanted: str) -> str:
    return "put it in quotes" if "in quotes" in wanted else "correct it"


def _removal(row: Mapping[str, Any], place: _Place, form: Form, before: Rows) -> dict:
    if row["remove"] is not True:
        place.at("remove").refuse(f"is {row['remove']!r}", "true", "leave it out to keep the row")
    if key_of(row, form.key) not in before:
        names = [" ".join(map(str, key)) for key in before]
        seen = " ".join(str(row[key]) for key in form.key)
        place.refuse(f"removes {seen}, which the catalog does not have", nearest(seen, names), "correct the name")
    return dict(row)


def _check_source(row: Mapping[str, Any], place: _Place, sources: Mapping[str, Any]) -> None:
    if not row.get("source"):
        place.refuse("has no source", "a name in sources", "say where it is from: add it to sources and name it here")
    for name in row["source"].split(","):
        if name.strip() not in sources:
            fix = "correct the name, or add it to sources with its words and as_of"
            place.at("source").refuse(f"{name.strip()!r} is not in sources", nearest(name.strip(), sources), fix)


def _check_firmware(row: Mapping[str, Any], place: _Place) -> None:
    text = wrong_firmware(row) if "exact" in row else None
    if text is not None:
        place.refuse(f"{text!r} is no version of the scheme {row['scheme']}", f"one of {row['scheme']}", "correct it")


def _refuse_twice(rows: Iterable[Mapping], place: _Place, form: Form) -> None:
    seen = set()
    for number, row in enumerate(rows):
        key = key_of(row, form.key)
        if key in seen:
            name = " ".join(str(row[part]) for part in form.key)
            place.at(f"[{number}]").refuse(f"is the second row for {name}", "one row for each", "make one of them")
        seen.add(key)


def _check_references(found: Mapping[str, Any], shipped: Files) -> None:
    """Products and drivers that rows name are in the catalog, or in the overlay itself."""
    names = {
        "product": _names(found, shipped, "products", "products", "name"),
        # Up to 6.4 the driver carries the number of ROCm, and has no row of its own.
        "driver": _names(found, shipped, "rocm_releases", "drivers", "driver")
        | _names(found, shipped, "rocm_releases", "releases", "rocm"),
    }
    for name, part in found.items():
        for section, row, place in part["places"]:
            for key, kind, asked in _references(name, section, row):
                if asked not in names[kind]:
                    seen = f"{asked} is not a {kind} of the catalog"
                    place.at(key).refuse(seen, nearest(asked, names[kind]), "correct the name, or add a row for it")


def _names(found: Mapping[str, Any], shipped: Files, name: str, section: str, key: str) -> set[str]:
    own = found.get(name, {}).get("rows", {}).get(section, [])
    return {row[key] for row in [*shipped.rows(name, section), *own]}


def _references(name: str, section: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a row names elsewhere: the key, what it is of, and its name."""
    for key, field in FORMS[name][section].fields.items():
        asked = row.get(key) if field.kind == "product" else None
        for product in asked if isinstance(asked, list) else [asked] if asked else []:
            yield key, "product", product
    for product in (row.get("when") or {}).get("product", []):
        yield "when", "product", product
    if section == "releases" and row.get("driver"):
        yield "driver", "driver", row["driver"]


def _type(value: Any) -> str:
    return "empty" if value is None else f"the {type(value).__name__} {value!r:.60}"
