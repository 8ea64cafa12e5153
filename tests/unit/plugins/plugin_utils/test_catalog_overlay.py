# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site lays over the catalog: rows by their key, and every mistake refused by file, line and nearest name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import CatalogError, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import NAMES, path_of

CATALOG = load_catalog()
HEAD = 'schema: 1\nsources:\n  lab: {words: "our lab notes", as_of: "2026-11-03"}\n'
BAD_BIOS = """\
known_bad:
  known_bad:
    - id: our_bios
      when: {product: [MI300X], kernel: ["6.8"]}
      severity: warn
      why: our BIOS 1.2 hangs there
      fix: take BIOS 1.3
      status: verified
      source: lab
"""
CHANGED = """\
firmware:
  pairs:
    - {product: MI300X, rocm: ["10"], component: pldm_bundle, least: "01.26.01.00", source: lab}
"""
REMOVED = "known_bad:\n  known_bad:\n    - {id: driver_reboot_6.3, remove: true}\n"


def overlay(folder, text, name="site.yml"):
    path = folder / name
    path.write_text(HEAD + text, encoding="utf-8")
    return load_catalog(str(path))


def shipped():
    return [Path(path_of(name)).read_bytes() for name in NAMES], load_catalog().digest


def ids(catalog, **facts):
    return [row["id"] for row in catalog.known_bad(**facts) if "possible" not in row]


def test_a_new_row_is_added(tmp_path):
    row = overlay(tmp_path, BAD_BIOS).known_bad(product="MI300X", kernel="6.8.0-60-generic")[-1]
    assert (row["id"], row["source"]) == ("our_bios", "our lab notes (2026-11-03)")


def test_a_row_is_changed_key_by_key_and_keeps_the_rest(tmp_path):
    (pair,) = overlay(tmp_path, CHANGED).firmware_for("MI300X", "10.1.0")
    assert (pair.least, pair.exact, pair.source) == ("01.26.01.00", ("01.25.06.05",), "our lab notes (2026-11-03)")


def test_a_row_is_removed(tmp_path):
    assert "driver_reboot_6.3" in ids(CATALOG, driver="6.2.4")
    assert "driver_reboot_6.3" not in ids(overlay(tmp_path, REMOVED), driver="6.2.4")


def test_an_overlay_changes_nothing_of_what_was_shipped(tmp_path):
    before = shipped()
    overlay(tmp_path, CHANGED + REMOVED)
    assert load_catalog() is load_catalog(None)
    assert CATALOG.firmware_for("MI300X", "10.1.0")[0].least == "01.26.00.04"
    assert shipped() == before


def test_the_digest_covers_the_overlay_and_not_where_it_lies(tmp_path):
    first, again = overlay(tmp_path, CHANGED), overlay(tmp_path, CHANGED, "moved.yml")
    other = overlay(tmp_path, CHANGED.replace("01.26.01.00", "01.26.01.01"), "other.yml")
    assert len({first.digest, other.digest, CATALOG.digest}) == 3
    assert first.digest == again.digest


def test_a_folder_holds_files_that_are_named_like_those_of_the_catalog(tmp_path):
    (tmp_path / "firmware.yml").write_text(HEAD + "\n".join(CHANGED.replace("\n  ", "\n").splitlines()[1:]) + "\n")
    (tmp_path / "known_bad.yaml").write_text(HEAD + "known_bad: [{id: driver_reboot_6.3, remove: true}]\n")
    (tmp_path / "README").write_text("not read")
    catalog = load_catalog(str(tmp_path))
    assert catalog.firmware_for("MI300X", "10.1.0")[0].least == "01.26.01.00"
    assert ids(catalog, driver="6.2.4") == []


def test_a_product_of_the_site_is_one_its_other_rows_may_name(tmp_path):
    product = {
        **CATALOG.products["MI300X"],
        "name": "MI300X-LAB",
        "ids": [["74a7", "pf", "unverified"]],
        "source": "lab",
    }
    bios = {**CATALOG.bios[0], "id": "ours", "products": ["MI300X-LAB"], "source": "lab"}
    catalog = overlay(
        tmp_path, f"products: {{products: [{json.dumps(product)}]}}\nsettings: {{bios: [{json.dumps(bios)}]}}\n"
    )
    assert catalog.product_for("74a7")["name"] == "MI300X-LAB"
    assert catalog.bios[-1]["products"] == ["MI300X-LAB"]


ROW = """\
  known_bad:
    - {id: a, when: {rocm: ['6.2']}, severity: warn, why: w, fix: f, status: verified, source: lab}
"""
PAIR = 'firmware:\n  pairs:\n    - {product: MI300X, rocm: ["10"], component: pldm_bundle, source: lab, %s}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known_bda:\n" + ROW, r"line 4: known_bda: is not a file of the catalog; wanted: 'known_bad' \(nearest\)"),
        (
            "known_bad:\n" + ROW.replace("known_bad", "knwon_bad"),
            "line 5: known_bad.knwon_bad: is not a section.*nearest",
        ),
        (
            "known_bad:\n" + ROW.replace("why", "wyh"),
            r"line 6: known_bad.known_bad\[0\].wyh: is not a key.*'why' \(nearest\)",
        ),
        ("known_bad:\n" + ROW.replace(", source: lab", ""), r"line 6: known_bad.known_bad\[0\]: has no source"),
        (
            "known_bad:\n" + ROW.replace("lab", "lbb"),
            r"line 6: .*source: 'lbb' is not in sources; wanted: 'lab' \(nearest\)",
        ),
        (
            "known_bad:\n" + ROW.replace("verified", "verifed"),
            r"line 6: .*status: is 'verifed'; wanted: one of verified",
        ),
        ("known_bad:\n" + ROW.replace("'6.2'", "'6.2O'"), r"line 6: .*when: is .*6.2O"),
        ("known_bad:\n" + ROW.replace("'6.2'", "6.2"), "line 6: .*when: is "),
        ("known_bad:\n" + ROW.replace("id: a,", ""), r"line 6: known_bad.known_bad\[0\]: has no id"),
        ("known_bad:\n" + ROW.replace("fix: f, ", ""), "is a new row without fix"),
        ("known_bad:\n" + ROW.replace("why: w", "why: 3"), "why: is the int 3; wanted: text; fix: put it in quotes"),
        ("known_bad:\n" + ROW + ROW.partition("\n")[2], r"line 7: known_bad.known_bad\[1\]: is the second row for a"),
        ("known_bad: []\n", "line 4: known_bad: is the list"),
        ("known_bad: {known_bad: {}}\n", "line 4: known_bad.known_bad: is the dict"),
        ("known_bad: {known_bad: [x]}\n", r"known_bad.known_bad\[0\]: is the str 'x'"),
        ("known_bad: {known_bad: [{id: rccl_ll_10.2, remove: true}]}\n", r"wanted: 'rccl_ll_10.1' \(nearest\)"),
        ("known_bad: {known_bad: [{id: rccl_ll_10.1, remove: 1}]}\n", "remove: is 1; wanted: true"),
        (PAIR % 'exact: ["7.1O"]', r"line 6: .*'7.1O' is no version of the scheme dotted"),
        (PAIR % "exact: [1.5]", r"line 6: firmware.pairs\[0\].exact: is \[1.5\]"),
        (PAIR.replace("MI300X", "MI300Z") % "scheme: dotted, least: null, exact: [], status: verified", "nearest"),
        ("known_bad:\n" + ROW.replace("rocm: ['6.2']", "product: [MI300Z]"), r"when: MI300Z is not a product.*nearest"),
        (
            "rocm_releases: {releases: [{rocm: '7.2.4', driver: '30.40.0', source: lab}]}\n",
            r"line 4: .*driver: 30.40.0 is not a driver of the catalog; wanted: '3.* \(nearest\)",
        ),
        (
            "rocm_releases: {releases: [{rocm: 7.10, source: lab}]}\n",
            "line 4: .*rocm: is the float 7.1; .*put it in quotes",
        ),
        ("rocm_releases: {releases: [{rocm: '7.1O', source: lab}]}\n", r"line 4: .*rocm: is '7.1O'; wanted: a version"),
        (
            "systems: {support: [{id: x, rocm: ['7.0'], rocm: ['7.1'], source: lab}]}\n",
            "is not YAML: .* there twice at line 4",
        ),
        ("systems: {support: [\n", "is not YAML: .* at line"),
        ("a: &a [*a]\nknown_bad: {}\n", "is not YAML|is not a file of the catalog"),
        (
            "products: {products: [{name: MI300X, min_rocm: 6.0, source: lab}]}\n",
            "min_rocm: is the float 6.0; .*in quotes",
        ),
    ],
)
def test_a_mistake_is_refused_by_place(tmp_path, text, said):
    with pytest.raises(CatalogError, match=said) as caught:
        overlay(tmp_path, text)
    assert str(tmp_path / "site.yml") in str(caught.value)
    assert "fix: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; wanted: an overlay of the catalog"),
        ("- 1\n", "is the list"),
        ("schema: 2\n", "line 1: schema: is 2; wanted: 1"),
        ("known_bad: {}\n", "schema: is None; wanted: 1"),
        ("schema: 1\nsources: {lab: ours}\n", "line 2: sources.lab: is 'ours'; wanted: words"),
        ("schema: 1\nsources: [lab]\n", "line 2: sources: is the list"),
        (
            "schema: 1\nsources: {matrix: {words: w, as_of: d}}\nsystems: {}\n",
            "sources.matrix: is the name of a source",
        ),
        ("a: \xe9".encode("latin-1"), "is not YAML"),
    ],
)
def test_what_is_no_overlay_at_all_is_refused(tmp_path, text, said):
    path = tmp_path / "site.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CatalogError, match=said):
        load_catalog(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CatalogError, match=r"nowhere.yml: cannot be read: No such file"):
        load_catalog(str(tmp_path / "nowhere.yml"))


def test_a_file_of_another_name_in_the_folder_is_refused(tmp_path):
    (tmp_path / "firmwares.yml").write_text(HEAD)
    with pytest.raises(
        CatalogError, match=r"firmwares.yml: is not named like a file of the catalog; wanted: 'firmware'"
    ):
        load_catalog(str(tmp_path))


def test_an_overlay_folder_that_cannot_be_listed_is_one_error(monkeypatch, tmp_path):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.listdir", refuse)
    with pytest.raises(CatalogError, match="cannot be listed: Permission denied"):
        load_catalog(str(tmp_path))
