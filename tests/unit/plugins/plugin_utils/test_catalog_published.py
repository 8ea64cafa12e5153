# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalog against a second reading of AMD's published tables, which lies beside some checkouts; never needed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog

CATALOG = load_catalog()
HERE = Path(__file__).resolve().parents[4]
CHECKOUTS = [Path(os.environ.get("FLEETOPS_CHECKOUT") or HERE), HERE]
SYSTEMS = {"ubuntu": "ubuntu", "rhel": "rhel", "sles": "sles", "centos": "centos", "debian": "debian", "rocky": "rocky"}
SYSTEMS |= {
    "oracle": "ol",
    "azurelinux": "azurelinux",
    "red hat": "rhel",
    "oracle linux": "ol",
    "azure linux": "azurelinux",
}
SUFFIX = re.compile(r"\s*\((?P<note>.*)\)$")


def beside(name):
    """The text of a file in ../shared/domain; a test that asks for one is skipped where there is none."""
    places = [checkout.parent / "shared" / "domain" / name for checkout in CHECKOUTS]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip(f"no ../shared/domain/{name} beside the checkout; the catalog's own tests stand alone")
    return found.read_text(encoding="utf-8")


@pytest.fixture(name="published", scope="module")
def _published():
    return yaml.safe_load(beside("rocm_compat.yaml"))


def newest(series):
    """The newest release of a series (6.3 of 6.3.0)."""
    start = ".".join(series.split(".")[:2]) + "."
    return max((name for name in CATALOG.releases if name.startswith(start)), key=lambda name: int(name.split(".")[2]))


def test_every_release_has_its_date_driver_and_amd_smi(published):
    wrong = []
    for row in published["releases"]:
        own = CATALOG.releases[row["v"]]
        wrong += [(row["v"], key) for key in ("date", "driver", "amdsmi") if row.get(key) and own[key] != row[key]]
        wrong += [(row["v"], "kind")] * (own["kind"] != row.get("kind", "production"))
    assert wrong == []
    more = set(CATALOG.releases) - {row["v"] for row in published["releases"]}
    assert {CATALOG.releases[name]["kind"] for name in more} == {"preview"}


def test_the_packaging_changes_where_it_is_said_to(published):
    new = {row["v"] for row in published["releases"] if row.get("packaging") == "new"}
    assert {
        name for name, row in CATALOG.releases.items() if row["packaging"] == "new" and row["kind"] == "production"
    } == new


def test_every_driver_has_its_number_and_date(published):
    for row in published["driver_releases"]:
        own = CATALOG.driver(row["v"])
        assert (own["kind"], own["date"]) == (row.get("kind", "production"), row.get("date") or own["date"])


def test_every_module_belongs_to_its_driver(published):
    for row in published["driver_naming"]["module_version_by_rocm"]:
        driver = re.sub(r"\.x|\+", "", row.get("driver", row["rocm"]))
        own = CATALOG.driver(driver if driver.count(".") == 2 else f"{driver}.0")
        assert own["module"] == row["module"]
        assert row.get("status") != "unverified" or own["module_status"] == "unverified"


def test_every_pair_of_the_matrix_is_inside_the_window(published):
    said = {}
    for driver, spaces in published["driver_to_userspace"].items():
        drivers = [name for name in CATALOG.drivers if name.startswith(driver.replace("x", ""))]
        releases = [name for name in CATALOG.releases for space in spaces if name.startswith(f"{space}.")]
        said |= {(one, other): CATALOG.window(one, other).answer for one in drivers for other in releases}
    assert len(said) > 300
    assert {pair for pair, answer in said.items() if answer != "inside"} == set()


def test_what_the_matrix_leaves_out_of_a_closed_row_is_outside(published):
    rows = published["driver_to_userspace"]
    for driver, oldest in (("30.30.0", "6.2.4"), ("30.10.2", "6.1.5"), ("6.3.3", "6.0.2"), ("6.4.4", "6.0.2")):
        assert ".".join(oldest.split(".")[:2]) not in rows[driver.rpartition(".")[0] + ".x"]
        assert CATALOG.window(driver, oldest).answer == "outside"


def test_every_driver_of_the_newer_table_is_inside_the_window(published):
    table = published["userspace_to_driver_new"]
    newer = {(driver, rocm) for driver in table["7.14 - 10.1"] for rocm in ("7.14.0", "7.14.1", "10.0.0", "10.1.0")}
    unsure = {("31.50.0", "7.14.0"), ("31.50.0", "7.14.1")}
    assert "31.50 as a row of the list for 7.14 is taken from the 10.x data" in table["note"]
    pairs = {*newer, *((driver, "7.2.2") for driver in table["7.2.2"])}
    assert {pair for pair in pairs if CATALOG.window(*pair).answer != "inside"} == unsure


def test_a_node_that_skips_a_year_is_outside_and_not_just_unknown(published):
    assert "6.2 user space on 31.x driver, 5.7 on 30.x" in " ".join(published["upgrade_cautions"])
    assert {CATALOG.window("31.40.0", "6.2.4").answer, CATALOG.window("30.10.0", "5.7.1").answer} == {"outside"}
    assert {CATALOG.window("30.20.0", "5.7.1").answer, CATALOG.window("31.50.0", "6.3.3").answer} == {"outside"}


def listed(row):
    """What a release of the tables lists: system, version without its note, the products that may have it."""
    for key, versions in {**row.get("os", {}), **row.get("os_delta", {})}.items():
        for text in versions:
            note = SUFFIX.search(text)
            version = SUFFIX.sub("", text).replace(".x", "")
            only = re.findall(r"MI\d+\w?", note["note"]) if note and "not" not in note["note"] else []
            yield SYSTEMS[key], version, only or [old_or_new(row["v"], key)]


def old_or_new(release, system):
    return "MI210" if compare(release, "6.3.0") < 0 and system != "oracle" else "MI300X"


def test_every_system_of_the_tables_is_listed_for_the_products_that_may_have_it(published):
    wrong = []
    for row in published["releases"]:
        release = row["v"] if row["v"].startswith(("7", "10")) else newest(row["v"])
        for system, version, products in listed(row):
            first = "6.1.2" if system == "centos" and row["v"] == "6.1.0" else release
            seen = [CATALOG.system(system, version, first, product).answer for product in products]
            wrong += [(row["v"], system, version)] * (seen != ["inside"] * len(products))
    assert wrong == []


def test_the_products_that_a_system_is_not_for_are_outside(published):
    notes = next(row["os"] for row in published["releases"] if row["v"] == "7.14.0")
    assert any("not MI325X/MI350P" in text for text in notes["rhel"])
    for product in ("MI325X", "MI350P"):
        assert CATALOG.system("rhel", "8.10", "7.14.0", product).answer == "outside"
        assert [
            row["severity"]
            for row in CATALOG.known_bad(rocm="7.14.0", product=product, os_id="rhel", os_version="8.10")
        ]
    assert CATALOG.system("ubuntu", "22.04.5", "7.14.0", "MI350P").answer == "outside"


def test_the_limits_of_mi300_are_kept(published):
    wrong = []
    for releases, limits in published["gfx942_os_limits"].items():
        for product, systems in limits.items() if isinstance(limits, dict) and "except" not in str(limits) else ():
            for name in systems:
                system, _, version = (
                    name.replace(" 15 SP", " 15.").rpartition(" ") if name[-1].isdigit() else (name, "", "8.9")
                )
                for release in releases.split(" / "):
                    window = CATALOG.system(SYSTEMS[system.lower()], version, release, product)
                    wrong += [(release, product, name)] * (window.answer != "inside")
    assert [row for row in wrong if row[2] != "Oracle Linux"] == []
    assert CATALOG.system("ubuntu", "20.04.6", "6.0.2", "MI300X").answer == "outside"


def test_every_kernel_of_the_table_is_listed_for_its_system(published):
    wrong = []
    for name, kernels in published["os_kernels"].items():
        system, _, versions = name.rpartition(" ")
        for version in re.split("[/-]", versions):
            seen = [CATALOG.kernel(SYSTEMS[system.lower()], version, f"{text.split()[0]}-1").answer for text in kernels]
            wrong += [name] * (seen != ["inside"] * len(kernels))
    assert wrong == []


FORMS = [
    (r"(?:PLDM )?(\d\d\.\d\d\.\d\d\.\d\d)", "pldm_bundle", "{}"),
    (r"BKC(\d+\.\d+) \(IFWI (\w+)\)", "ifwi", "{1}"),
    (r"(?:Maintenance Update 5, )?IFWI (\d+)", "ifwi", "{}"),
    (r"(PI\w+)", "pi", "{}"),
    (r"BKC (\d+\.\d+)", "bkc", "{}"),
    (r"BKC (\d+)", "bkc", "{}.0"),
    (r"VBIOS (\S+)", "vbios", "{}"),
]


def read(text):
    """What a text of the tables says: the component, the version, and whether a newer one will do."""
    bare = text.removesuffix(" or newer")
    for pattern, component, shape in FORMS:
        match = re.fullmatch(pattern, bare)
        if match:
            return component, shape.format(*match.groups()), bare != text
    raise AssertionError(text)


def test_every_firmware_pair_is_there_with_its_scheme(published):
    wrong, seen = [], 0
    for releases, rows in published["firmware_pairs"].items():
        for product, texts in rows.items():
            for text in texts if isinstance(texts, list) else ():
                component, version, newer = read(text)
                for release in [
                    name for name in CATALOG.releases for one in releases.split(" / ") if name.startswith(one)
                ]:
                    pairs = CATALOG.firmware_for(product, release)
                    kept = [pair.least == version if newer else version in pair.exact for pair in pairs]
                    seen += 1
                    wrong += [(release, product, text)] * (kept != [True] or pairs[0].component != component)
    assert (wrong, seen > 40) == ([], True)


def test_what_the_tables_could_not_tell_was_read_elsewhere_or_is_a_gap(published):
    assert "unverified" in published["firmware_pairs"]["7.2.2"]["MI300X"]
    (pair,) = CATALOG.firmware_for("MI300X", "7.2.2")
    assert pair.status == "gap" or "release notes" in pair.source


def test_the_bundles_of_mi300x_came_on_their_days(published):
    own = {row["bundle"].removeprefix("01."): row["date"] for row in CATALOG.rows("firmware", "bundles")}
    assert own == {row["bundle"]: row["date"] for row in published["mi300x_firmware_changes_58759"]}


def test_every_product_has_its_first_release(published):
    for name, text in published["gpu_min_rocm"].items():
        if name in CATALOG.products:
            numbers = [number.replace("x", "0") for number in re.findall(r"\d+\.[\dx]+(?:\.[\dx]+)?", text)]
            assert any(compare(CATALOG.products[name]["min_rocm"], number) == 0 for number in numbers), name


def test_every_known_issue_is_a_row_of_its_own(published):
    issues = published["known_issues_for_preflight"]
    asked = [
        {"rocm": "10.1.0", "product": "MI350X"},
        {"driver": "6.2.0", "os_id": "ubuntu", "os_version": "22.04", "kernel": "6.8.0-44-generic"},
        {"driver": "6.4.1", "kernel": "6.14.0"},
        {"driver": "30.30.0", "kernel": "6.18.7"},
    ]
    found = [[row["id"] for row in CATALOG.known_bad(**facts) if "possible" not in row] for facts in asked]
    assert [len(rows) >= 1 for rows in found] == [True] * 4
    # The fifth, a tree of dkms that was left behind, is judged by the facts (driver.stale_trees), not by versions.
    assert len(issues) == 5


BIOS = {
    "Above 4G decoding": "above_4g",
    "Resizable BAR": "resizable_bar",
    "NUMA nodes per socket (NPS)": "nps",
    "Memory interleaving": "memory_interleaving",
    "PCIe ten-bit tag": "ten_bit_tag",
    "ARI enumeration + ARI support": "ari",
    "IOMMU": "iommu",
    "SR-IOV": "sriov",
    "SVM": "svm",
    "ACS": "acs",
    "Power management profile": "profile",
    "PCIe speed": "pcie_speed",
    "Global C-state control": "global_cstate",
    "SMT": "smt",
    "xGMI 4-link max speed": "xgmi_speed",
    "xGMI link width": "xgmi_width",
    "ASPM": "aspm",
    "Determinism": "determinism",
    "cTDP / package power limit": "ctdp",
    "GMI folding": "gmi_folding",
    "APBDIS": "apbdis",
    "DF C-states": "df_cstates",
    "Fixed SOC P-state": "fixed_soc_pstate",
    "TSME": "tsme",
}


def bios_rows():
    part = beside("settings.md").partition("## 1. BIOS")[2].partition("\n## 2")[0]
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in rows if row[0] != "Setting (menu words)"}


def test_every_setting_of_the_bios_is_there_with_its_severity():
    own = {row["key"]: row for row in CATALOG.bios if "MI300X" in row["products"]}
    rows = bios_rows()
    assert set(rows) == set(BIOS)
    wrong = [name for name, row in rows.items() if not row[4].startswith(own[BIOS[name]]["severity"])]
    assert wrong == []


@pytest.mark.parametrize("argument", ["pci=realloc=off", "pci=bfsort", "iommu=pt", "intel_iommu=on"])
def test_every_argument_that_is_required_is_there(argument):
    line = next(line for line in beside("settings.md").splitlines() if line.startswith(f"| `{argument}`"))
    row = next(row for row in CATALOG.settings["kernel"] if row["key"] == argument)
    assert (row["need"], "required" in line) == ("required", True)
