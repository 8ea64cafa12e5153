# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import generation
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare, parse_version
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import CatalogError, _files, load_catalog

CATALOG = load_catalog()
ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("device_id", "name"),
    [
        ("74a1", "MI300X"),
        ("0x74A1", "MI300X"),
        ("740f", "MI210"),
        ("7408", "MI250X"),
        ("75a3", "MI355X"),
        ("74a0", "MI300A"),
    ],
)
def test_a_device_id_names_its_product(device_id, name):
    assert CATALOG.product_for(device_id)["name"] == name


@pytest.mark.parametrize("device_id", ["1500", "1501", "7551", "", None, "zzzz"])
def test_what_is_not_an_instinct_gpu_has_no_product(device_id):
    assert CATALOG.product_for(device_id) is None


def test_one_device_id_may_stand_for_two_products():
    assert [row["name"] for row in CATALOG.products_for("740c")] == ["MI250", "MI250X"]


def test_a_node_with_four_mi250_shows_eight_functions():
    row = CATALOG.products["MI250"]
    assert (row["gpus_per_node"], row["functions_per_node"]) == ([4], [8])


@pytest.mark.parametrize(
    ("driver", "rocm", "answer"),
    [
        ("30.10.2", "7.0.2", "inside"),
        ("30.10.2", "6.4.4", "inside"),
        ("6.4.4", "7.0.2", "inside"),
        ("6.4.4", "6.4.4", "inside"),
        ("30.10.2", "5.7.1", "outside"),
        ("5.7.1", "7.0.2", "outside"),
        ("30.30.0", "6.2.4", "outside"),
        ("6.4.4", "10.1.0", "outside"),
        ("30.10.0", "10.1.0", "inside"),
        ("30.10.2", "7.2.2", "inside"),
        ("30.10.2", "7.1.0", "inside"),
        ("31.50.0", "7.14.0", "unknown"),
        ("99.0.0", "7.0.2", "unknown"),
        (None, "7.0.2", "unknown"),
        ("30.10.2", None, "unknown"),
    ],
)
def test_the_window_of_driver_and_user_space(driver, rocm, answer):
    window = CATALOG.window(driver, rocm)
    assert window.answer == answer
    assert window.source


def test_releases_are_in_the_order_of_numbers_not_of_text():
    assert compare("7.14.0", "7.2.4") == 1
    assert compare("10.0.0", "7.14.1") == 1


def test_a_release_is_found_without_its_last_zero():
    assert CATALOG.release("7.0")["rocm"] == "7.0.0"
    assert CATALOG.release("7.3.0") is None


def test_point_releases_share_a_module_version():
    assert set(CATALOG.drivers_of_module("6.14.14")) == {"30.10.0", "30.10.1", "30.10.2"}
    assert CATALOG.drivers_of_module(None) == []


def test_previews_are_marked():
    assert {row["rocm"] for row in CATALOG.releases.values() if row["kind"] == "preview"} == {
        "7.9.0",
        "7.10.0",
        "7.11.0",
        "7.12.0",
        "7.13.0",
    }
    assert CATALOG.driver("31.20.0")["kind"] == "preview"


def all_rows():
    yield from CATALOG.products.values()
    yield from CATALOG.announced.values()
    yield from CATALOG.retired.values()
    yield from CATALOG.releases.values()
    yield from CATALOG.drivers.values()
    for part in ("cmdline", "aspm", "idle", "space", "typical_seconds"):
        yield from CATALOG.settings[part]


def test_every_row_has_a_source_and_a_status():
    assert [row for row in all_rows() if not row["source"] or row["status"] not in ("verified", "unverified")] == []


def test_every_release_names_a_driver_the_catalog_knows():
    named = {row["driver"] for row in CATALOG.releases.values() if row["driver"]}
    assert named <= CATALOG.drivers.keys()
    assert all(len(parse_version(name)) == 3 for name in [*CATALOG.releases, *CATALOG.drivers])


def test_every_link_expectation_is_a_pcie_generation():
    generations = {name: generation(row["link"]["speed_gts"]) for name, row in CATALOG.products.items()}
    assert generations["MI210"] == 4
    assert generations["MI300X"] == 5
    assert None not in generations.values()


def test_the_catalog_is_read_once_per_process():
    assert load_catalog() is load_catalog()


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "known_bad.yml: cannot be read: No such file"), (b"a: [", "known_bad.yml: is not YAML")],
)
def test_a_collection_that_is_not_whole_is_told_to_be_installed_again(tmp_path, monkeypatch, content, said):
    for name in _files.NAMES:
        (tmp_path / f"{name}.yml").write_bytes(Path(_files.path_of(name)).read_bytes())
    (tmp_path / "known_bad.yml").unlink()
    if content is not None:
        (tmp_path / "known_bad.yml").write_bytes(content)
    monkeypatch.setattr(_files, "_FOLDER", str(tmp_path))
    with pytest.raises(CatalogError, match=rf"{said}.*fix: install it again"):
        _files.Files().rows("known_bad", "known_bad")


def test_a_file_is_parsed_when_a_question_needs_it_and_not_before():
    files = _files.Files()
    assert (files._documents, files.digest.startswith("sha256:")) == ({}, True)
    files.rows("known_bad", "known_bad")
    assert list(files._documents) == ["known_bad"]


def test_the_digest_changes_with_any_byte_of_any_file(tmp_path, monkeypatch):
    for name in _files.NAMES:
        (tmp_path / f"{name}.yml").write_bytes(Path(_files.path_of(name)).read_bytes())
    monkeypatch.setattr(_files, "_FOLDER", str(tmp_path))
    seen = {_files.Files().digest}
    for name in _files.NAMES:
        (tmp_path / f"{name}.yml").write_bytes((tmp_path / f"{name}.yml").read_bytes() + b"#\n")
        seen.add(_files.Files().digest)
    assert len(seen) == len(_files.NAMES) + 1


def test_advice_on_settings_tells_products_and_processors_apart():
    said = {(row["key"], product): row["value"] for row in CATALOG.bios for product in row["products"]}
    assert (said["iommu", "MI300X"], said["iommu", "MI300A"], said["iommu", "MI210"]) == (
        "Enabled",
        "Disabled",
        "Disabled",
    )
    assert (said["df_cstates", "MI300X"], said["df_cstates", "MI210"], said["df_cstates", "MI100"]) == (
        "Disabled",
        "Enabled",
        "Auto",
    )
    assert len([row for row in CATALOG.bios for _product in row["products"]]) == len(said)


def test_what_a_setting_shows_in_is_a_fact_that_the_contract_knows():
    schema = json.loads((ROOT / "docs" / "schemas" / "facts.json").read_text(encoding="utf-8"))
    text = json.dumps(schema)
    reads = {row["reads"] for row in [*CATALOG.bios, *CATALOG.settings["os"]] if row["reads"]}
    assert [path for path in reads if f'"{path.split(".")[1]}"' not in text] == []
