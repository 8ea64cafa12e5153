# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of the catalog whatever is asked, and of an overlay whatever is in it."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import CatalogError, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import NAMES, Files
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covers, is_spec, numbers
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._overlay import read_overlay

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is in requirements-dev/tests.txt")
st = hypothesis.strategies

CATALOG = load_catalog()
FILES = Files()
ODD = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
ANY = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
FACTS = {
    "rocm": list(CATALOG.releases),
    "product": list(CATALOG.products),
    "os_id": ["ubuntu", "rhel", "sles", "debian"],
    "os_version": ["22.04", "22.04.5", "24.04", "8.10", "9.4"],
    "kernel": ["6.8.0-44-generic", "6.14.0-24-generic", "5.15.0-1", "6.18.7", "4.18.0-553.el8"],
}


@st.composite
def node(draw):
    known = {name: draw(st.sampled_from(values)) for name, values in FACTS.items()}
    driver = draw(st.sampled_from(list(CATALOG.drivers)))
    return {**known, "driver": driver, "module": CATALOG.driver(driver)["module"]}


@hypothesis.given(node(), st.sets(st.sampled_from([*FACTS, "driver", "module"])))
@hypothesis.settings(deadline=None)
def test_a_fact_that_is_not_known_hides_no_bad_combination(facts, unknown):
    whole = {row["id"] for row in CATALOG.known_bad(**facts)}
    less = CATALOG.known_bad(**{key: value for key, value in facts.items() if key not in unknown})
    assert whole <= {row["id"] for row in less}


@hypothesis.given(node(), st.sets(st.sampled_from([*FACTS, "driver", "module"])))
@hypothesis.settings(deadline=None)
def test_what_is_sure_stays_sure_with_more_facts(facts, unknown):
    less = CATALOG.known_bad(**{key: value for key, value in facts.items() if key not in unknown})
    sure = {row["id"] for row in less if "possible" not in row}
    assert sure <= {row["id"] for row in CATALOG.known_bad(**facts) if "possible" not in row}


@hypothesis.given(st.dictionaries(st.sampled_from([*FACTS, "driver", "module"]), st.none() | st.text(max_size=12)))
@hypothesis.settings(deadline=None)
def test_no_question_is_too_odd(facts):
    CATALOG.known_bad(**facts)
    system = {"os_id": facts.get("os_id"), "os_version": facts.get("os_version")}
    windows = [
        CATALOG.system(rocm=facts.get("rocm"), product=facts.get("product"), **system),
        CATALOG.kernel(kernel=facts.get("kernel"), rocm=facts.get("rocm"), driver=facts.get("driver"), **system),
        CATALOG.window(facts.get("driver"), facts.get("rocm"), facts.get("product")),
    ]
    assert {window.answer for window in windows} <= {"inside", "outside", "unknown"}
    CATALOG.firmware_for(facts.get("product") or "", facts.get("rocm") or "")
    CATALOG.hops(facts.get("rocm"), facts.get("driver"))


@hypothesis.given(st.text(alphabet="0123456789.-<>=", max_size=10), st.text(alphabet="0123456789.-", max_size=10))
def test_a_spec_is_read_or_known_to_be_none(spec, version):
    if is_spec(spec) and numbers(version):
        assert covers(spec, numbers(version)) in (True, False)


@st.composite
def overlay(draw):
    name = draw(st.sampled_from(NAMES))
    section = draw(st.sampled_from(list(FORMS[name])))
    rows = list(FILES.table(name, section).values())
    row = {
        **draw(st.sampled_from(rows)),
        **draw(st.dictionaries(st.sampled_from(list(FORMS[name][section].fields)), ANY)),
    }
    document = {"schema": 1, name: {section: [row]}}
    return {**document, **draw(st.just({}) | st.dictionaries(st.sampled_from(["schema", "sources", name]), ANY))}


def taken(path):
    try:
        return read_overlay(path, FILES)
    except CatalogError as problem:
        return problem


@hypothesis.given(overlay())
@hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_an_overlay_is_taken_or_refused_and_nothing_else_happens(tmp_path, document):
    path = tmp_path / "site.yml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    found = taken(str(path))
    if isinstance(found, CatalogError):
        assert str(path) in found.subject
    else:
        changed = FILES.with_overlay(found)
        assert all(changed.rows(name, section) for name in found for section in found[name]["rows"])


@hypothesis.given(st.binary(max_size=60))
@hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_bytes_that_are_no_overlay_are_refused(tmp_path, content):
    (tmp_path / "site.yml").write_bytes(content)
    with pytest.raises(CatalogError):
        read_overlay(str(tmp_path / "site.yml"), FILES)


@pytest.mark.parametrize(
    "text",
    [
        "schema: 1\nknown_bad: &a {known_bad: [*a]}\n",
        "schema: 1\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
        "schema: 1\n" + "[" * 3000,
        "schema: 1\nknown_bad: !!python/object:os.system {}\n",
        "schema: 1\n? [a, b]\n: c\n",
    ],
)
def test_yaml_that_is_meant_to_hurt_is_refused(tmp_path, text):
    (tmp_path / "site.yml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError):
        read_overlay(str(tmp_path / "site.yml"), FILES)
