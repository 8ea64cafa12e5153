# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate: for each product and system, release and driver the catalog has a row, or says that it has none."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._coverage import (
    holes,
    pairs,
    releases_of,
    systems,
)

CATALOG = load_catalog()
HEAD = 'schema: 1\nsources:\n  lab: {words: "our lab notes", as_of: "2026-11-03"}\n'
NEW_RELEASE = """\
rocm_releases:
  releases:
    - {rocm: "10.2.0", date: "2026-11-20", kind: production, packaging: new, driver: "31.50.0", amdsmi: null,
       status: verified, source: lab}
"""
REMOVED = ", ".join(f"{{id: {row['id']}, remove: true}}" for row in CATALOG.support if row["id"].startswith("7.14"))
NO_7_14 = f"systems: {{support: [{REMOVED}]}}\n"


def overlay(folder, text):
    (folder / "site.yml").write_text(HEAD + text, encoding="utf-8")
    return load_catalog(str(folder / "site.yml"))


def test_the_catalog_has_no_silent_hole():
    assert holes(CATALOG) == []


@pytest.mark.parametrize(
    ("text", "hole"),
    [
        (NO_7_14, "no row for MI300X on ubuntu 24.04.4 with ROCm 7.14.0"),
        ("systems: {kernels: [{id: sles-15.7, remove: true}]}\n", "no kernel for sles 15.7 with ROCm 7.0.0"),
        ("firmware: {gaps: [{id: before-7.2, remove: true}]}\n", "no firmware for MI300X with ROCm 6.4.4"),
        (
            "rocm_releases: {gaps: [{id: driver_30.20, remove: true}]}\n",
            "no answer for ROCm 6.3.0 on driver 30.20.0 (MI300X)",
        ),
    ],
)
def test_a_row_that_goes_leaves_a_hole_and_is_missed(tmp_path, text, hole):
    assert hole in holes(overlay(tmp_path, text), ["MI300X"])


def test_a_release_that_is_new_asks_for_no_more_than_its_series_has(tmp_path):
    catalog = overlay(tmp_path, NEW_RELEASE)
    assert "10.2.0" in releases_of(catalog, "MI300X")
    assert holes(catalog, ["MI300X"]) == []


def test_a_series_that_is_new_is_a_hole_until_its_lists_are_there(tmp_path):
    found = holes(overlay(tmp_path, NEW_RELEASE.replace("10.2.0", "11.0.0")), ["MI300X"])
    assert "no row for MI300X on ubuntu 24.04.4 with ROCm 11.0.0" in found
    assert "no firmware for MI300X with ROCm 11.0.0" in found


def test_a_product_is_not_asked_for_on_releases_that_do_not_know_it():
    assert releases_of(CATALOG, "MI355X")[0] == "7.0.0"
    assert "7.13.0" not in releases_of(CATALOG, "MI350P")
    assert {cell.rocm for cell in systems(CATALOG, ["MI355X"])} == set(releases_of(CATALOG, "MI355X"))


def test_what_was_not_read_is_a_gap_and_not_support():
    said = {(cell.version, cell.rocm): cell.said for cell in systems(CATALOG, ["MI300X"])}
    assert said["24.04.3", "7.0.2"] == "listed"
    assert said["24.04.4", "7.2.2"] == "gap"
    assert said["20.04.6", "7.2.2"] == "unlisted"


def test_a_driver_that_does_not_know_a_product_is_no_pair_of_it():
    said = {
        (pair.product, pair.driver): pair.said for pair in pairs(CATALOG, ["MI300X", "MI355X"]) if pair.rocm == "7.0.2"
    }
    assert said["MI300X", "6.4.4"] == "listed"
    assert said["MI355X", "6.4.4"] == "unlisted"
