# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file of the catalog is of its schema, and every row names sources that the file describes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import normalise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import (
    NAMES,
    Files,
    as_maps,
    key_of,
    path_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS, json_schema
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._kinds import KINDS, form, wrong
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import read_marked

jsonschema = pytest.importorskip(
    "jsonschema", reason="jsonschema is in requirements-dev/tests.txt and is not installed here"
)

CATALOG = load_catalog()
FILES = Files()
SCHEMAS = Path(__file__).parents[4] / "docs" / "schemas"
SECTIONS = [(name, section) for name in NAMES for section in FORMS[name]]


def whole(name):
    document = FILES.document(name)
    return {**document, **{section: as_maps(document, section) for section in FORMS[name]}}


def errors(name, value):
    schema = json.loads((SCHEMAS / f"catalog-{name}.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return [f"{error.json_path}: {error.message:.200}" for error in validator.iter_errors(value)]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_of_its_schema(name):
    assert errors(name, whole(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_is_one_and_is_the_one_that_the_code_checks_by(name):
    jsonschema.Draft202012Validator.check_schema(json_schema(name))
    assert json.loads((SCHEMAS / f"catalog-{name}.json").read_text(encoding="utf-8")) == json_schema(name)


@pytest.mark.parametrize(("name", "section"), SECTIONS)
def test_a_schema_refuses_what_it_does_not_know(name, section):
    document = whole(name)
    document[section] = [{**document[section][0], "colour": "red"}, *document[section][1:]]
    assert any("colour" in error for error in errors(name, document))
    assert errors(name, {**whole(name), "more": []})


@pytest.mark.parametrize("name", NAMES)
def test_a_file_writes_no_key_twice(name):
    content, lines = read_marked(path_of(name), ValueError, "a file of the catalog")
    assert content == FILES.document(name)
    assert lines["schema"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_no_section_that_nobody_reads(name):
    document = yaml.safe_load(Path(path_of(name)).read_text(encoding="utf-8"))
    assert set(document) == {"schema", "sources", "columns", *FORMS[name]} - ({"columns"} - set(document))


@pytest.mark.parametrize(("name", "section"), SECTIONS)
def test_each_row_names_sources_of_its_file_and_is_there_once(name, section):
    sources, rows = FILES.document(name)["sources"], as_maps(FILES.document(name), section)
    assert [row for row in rows if not all(one.strip() in sources for one in row["source"].split(","))] == []
    assert len({key_of(row, FORMS[name][section].key) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", NAMES)
def test_no_source_is_there_for_nothing_and_each_has_its_day(name):
    used = {one.strip() for section in FORMS[name] for row in whole(name)[section] for one in row["source"].split(",")}
    sources = FILES.document(name)["sources"]
    assert set(sources) == used
    undated = [key for key, source in sources.items() if isinstance(source, str)]
    assert undated == [] or name == "log_signatures"


@pytest.mark.parametrize(("name", "section"), SECTIONS)
def test_products_that_a_row_names_are_in_the_catalog(name, section):
    rows = CATALOG.rows(name, section)
    named = {product for row in rows for key in ("products", "except") for product in row.get(key) or []}
    named |= {product for row in rows for product in (row.get("when") or {}).get("product", [])}
    assert named - set(CATALOG.products) == set()


def test_each_firmware_version_is_one_of_its_scheme():
    rows = CATALOG.rows("firmware", "pairs")
    texts = [(row["scheme"], text) for row in rows for text in [row["least"], *row["exact"]] if text is not None]
    assert [pair for pair in texts if normalise(*pair) is None] == []
    assert [row for row in rows if row["least"] is None and not row["exact"]] == []


def test_every_status_of_a_row_is_one_an_operator_can_read_about():
    said = {row.get("status") for name, section in SECTIONS for row in CATALOG.rows(name, section)}
    assert said == {"verified", "unverified", "gap", None}
    page = (SCHEMAS.parent / "catalog.md").read_text(encoding="utf-8")
    assert all(f"`{status}`" in page for status in said if status)


def test_what_the_operator_is_shown_of_an_overlay_is_one(tmp_path):
    page = (SCHEMAS.parent / "catalog.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(schema: 1\n.*?)```", page, re.DOTALL)[1]
    (tmp_path / "site.yml").write_text(example, encoding="utf-8")
    assert load_catalog(str(tmp_path / "site.yml")).digest != CATALOG.digest


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("text", "a", " "),
        ("version", "7.10", 7.1),
        ("spec", "6.2.0..6.2.1", "6.2.0-"),
        ("date", "2026-12-01", "2026-13-01"),
        ("device", "74a1", "0x74A1"),
        ("int", 8, True),
        ("bool", True, 1),
        ("ids", ["74a1", "pf", "verified"], ["74a1", "pf"]),
        ("when", {"rocm": ["6.2"]}, {"colour": ["red"]}),
        ("pf|vf", "pf", "PF"),
        ("[name]", ["a"], "a"),
        ("text?", None, 1),
    ],
)
def test_a_kind_takes_what_it_is_and_nothing_else(kind, good, bad):
    field = form("x", x=kind).fields["x"]
    assert wrong(field, good) is None
    assert wrong(field, bad)


def test_every_kind_says_in_words_what_it_is():
    assert [name for name, kind in KINDS.items() if not kind.words] == []
