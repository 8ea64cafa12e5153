# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the catalog answers about systems, kernels, firmware and known-bad combinations."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog, point_release
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covers, is_spec, numbers

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ("6.2", "6.2.4", "6.20.0"),
        ("6.2.0", "6.2.0", "6.2.1"),
        ("<6.4", "6.3.3", "6.4.0"),
        ("<=6.3", "6.3.3", "6.4.0"),
        (">=7.14", "10.0.0", "7.2.4"),
        (">6.2.1", "6.2.2", "6.2.1"),
        ("6.2.0..6.2.1", "6.2.1", "6.2.2"),
        ("6.8.0-44", "6.8.0-44-generic", "6.8.0-45-generic"),
        ("5.14.0-427", "5.14.0-427.13.1.el9_4.x86_64", "5.14.0-570.el9.x86_64"),
    ],
)
def test_a_row_names_versions_by_their_beginning_a_bound_or_a_span(spec, inside, outside):
    assert is_spec(spec)
    assert covers(spec, numbers(inside))
    assert not covers(spec, numbers(outside))


@pytest.mark.parametrize("text", ["", "six", "v7", None, 7.1, "-1"])
def test_what_does_not_begin_with_a_number_is_no_version(text):
    assert numbers(text) is None


@pytest.mark.parametrize("text", ["7.1O", "<6..7", "6.x", "=6.2", "6.2,6.3", ""])
def test_what_no_row_may_say_of_a_version(text):
    assert not is_spec(text)


@pytest.mark.parametrize(
    ("system", "version", "rocm", "product", "answer"),
    [
        ("ubuntu", "22.04.3", "6.0.2", "MI300X", "inside"),
        ("ubuntu", "20.04", "6.0.2", "MI300X", "outside"),
        ("ubuntu", "20.04.6", "6.0.2", "MI210", "inside"),
        ("ubuntu", "22.04.5", "6.1.2", "MI210", "unknown"),
        ("ubuntu", "22.04.5", "6.1.5", "MI210", "inside"),
        ("ubuntu", "22.04.4", "7.14.0", "MI210", "outside"),
        ("sles", "15.7", "7.1.1", "MI355X", "outside"),
        ("sles", "15.7", "7.1.1", "MI325X", "inside"),
        ("debian", "13", "7.0.1", "MI300X", "outside"),
        ("debian", "13", "7.0.2", "MI300X", "inside"),
        ("sles", "15.7", "7.2.0", "MI355X", "inside"),
        ("sles", "15.7", "7.2.0", "MI300X", "unknown"),
        ("fedora", "42", "7.2.0", "MI300X", "outside"),
        ("ubuntu", "22.04.5", "6.4.4", "MI355X", "outside"),
        ("ubuntu", "22.04.5", "6.4.4", "MI308X", "unknown"),
        ("rhel", "8.9", "6.0.0", "MI300A", "inside"),
        ("rhel", "8.9", "6.0.0", "MI300X", "outside"),
        ("rhel", "9.6", "6.4.0", "MI300X", "outside"),
        ("rhel", "9.6", "6.4.1", "MI300X", "inside"),
        ("rhel", "8.10", "7.14.0", "MI325X", "outside"),
        ("rhel", "8.10", "7.14.0", "MI300X", "inside"),
        ("ubuntu", "22.04.5", "10.1.0", "MI350P", "outside"),
        ("rocky", "9.4", "7.14.1", "MI300X", "inside"),
        ("rocky", "9.4", "7.14.1", "MI355X", "outside"),
        ("fedora", "42", "6.4.0", "MI300X", "outside"),
        (None, "22.04", "6.4.0", "MI300X", "unknown"),
        ("ubuntu", "22.04", "7.3.0", "MI300X", "unknown"),
        ("ubuntu", "22.04", "6.4.0", "MI999X", "unknown"),
    ],
)
def test_whether_amd_lists_a_system(system, version, rocm, product, answer):
    window = CATALOG.system(system, version, rocm, product)
    assert (window.answer, bool(window.source)) == (answer, True)


@pytest.mark.parametrize(
    ("system", "version", "kernel", "asked", "answer"),
    [
        ("ubuntu", "22.04", "6.8.0-60-generic", {"rocm": "6.3.3"}, "inside"),
        ("ubuntu", "22.04.5", "5.15.0-130-generic", {"rocm": "6.3.3"}, "inside"),
        ("ubuntu", "24.04", "6.11.0-26-generic", {"rocm": "6.4.1"}, "inside"),
        ("ubuntu", "24.04", "6.14.0-24-generic", {"driver": "6.4.1"}, "outside"),
        ("ubuntu", "24.04", "6.14.0-24-generic", {"rocm": "7.0.2"}, "inside"),
        ("ubuntu", "22.04.5", "6.8.0-60-generic", {"rocm": "7.14.0"}, "unknown"),
        ("ubuntu", "24.04", "6.11.0-26-generic", {"driver": "6.4.1"}, "inside"),
        ("ubuntu", "22.04", "6.8.0-44-generic", {"rocm": "6.2.0", "driver": "6.2.0"}, "outside"),
        ("ubuntu", "22.04.5", "6.8.0-60-generic", {"rocm": "6.2.4", "product": "MI300X"}, "outside"),
        ("ubuntu", "22.04.5", "6.8.0-60-generic", {"rocm": "6.2.4", "product": "MI210"}, "inside"),
        ("ubuntu", "22.04", "6.8.0-60-generic", {"rocm": "5.7.1"}, "unknown"),
        ("rhel", "9.4", "5.14.0-427.13.1.el9_4.x86_64", {}, "inside"),
        ("rhel", "9.4", "5.14.0-570.el9.x86_64", {}, "unknown"),
        ("arch", "1", "6.18.0", {}, "unknown"),
        ("ubuntu", "24.04", None, {}, "unknown"),
    ],
)
def test_whether_amd_lists_a_kernel(system, version, kernel, asked, answer):
    window = CATALOG.kernel(system, version, kernel, **asked)
    assert (window.answer, bool(window.source)) == (answer, True)


NODE = {
    "rocm": "6.4.4",
    "driver": "6.4.4",
    "product": "MI210",
    "os_id": "ubuntu",
    "os_version": "24.04",
    "kernel": "6.8",
}


def known(**facts):
    return {row["id"]: row.get("possible", False) for row in CATALOG.known_bad(**{**NODE, **facts})}


def test_the_module_of_6_4_1_does_not_build_on_a_newer_kernel_a01():
    bad = {"module": "6.12.12", "driver": "6.4.1", "kernel": "6.14.0-24-generic"}
    assert known(**bad) == {"dkms_6.12.12_kernel_6.14": False}
    assert known(**{**bad, "kernel": "6.11.0-26-generic"}) == {}


def test_where_the_release_of_the_module_is_not_known_it_may_be():
    seen = known(module="6.12.12", driver=None, kernel="6.14.0-24-generic")
    assert seen == {"dkms_6.12.12_kernel_6.14": True, "dkms_6.4_kernel_6.14": True}


def test_the_early_releases_of_6_2_on_mi300x_d04():
    assert known(rocm="6.2.1", product="MI300X") == {"mi300x_reset_6.2": False}
    assert known(rocm="6.2.2", product="MI300X") == {}


def test_a_condition_on_an_unknown_fact_is_never_passed_silently():
    assert known(rocm="6.2.1", product=None)["mi300x_reset_6.2"] is True
    assert "mi300x_reset_6.2" not in known(rocm="6.2.1", product="MI210")


@pytest.mark.parametrize(
    ("product", "rocm", "component", "least", "exact"),
    [
        ("MI300X", "10.1.0", "pldm_bundle", "01.26.00.04", ("01.25.06.05",)),
        ("MI325X", "7.14.1", "pldm_bundle", "01.26.01.02", ("01.25.06.08",)),
        ("MI300A", "10.0.0", "pi", None, ("PI100D", "PI100C")),
        ("MI210", "10.0.0", "ifwi", "75", ()),
    ],
)
def test_the_firmware_that_amd_lists_with_a_release(product, rocm, component, least, exact):
    (pair,) = CATALOG.firmware_for(product, rocm)
    assert (pair.component, pair.least, pair.exact, pair.status) == (component, least, exact, "verified")


def test_a_gap_in_the_firmware_table_is_said_and_not_taken_for_nothing_needed():
    (pair,) = CATALOG.firmware_for("MI300X", "7.2.4")
    assert (pair.status, pair.component) == ("gap", "")
    assert "could not be read" in pair.source


def test_firmware_that_a_release_accepts_by_name_only_has_no_minimum():
    (pair,) = CATALOG.firmware_for("MI300X", "7.2.2")
    assert (pair.least, pair.exact) == (None, ("01.25.06.04", "01.25.03.12", "01.25.02.04"))


@pytest.mark.parametrize(
    ("driver", "rocm", "product", "answer"),
    [
        ("6.4.2", "7.0.2", "MI300X", "inside"),
        ("6.4.2", "7.0.2", "MI355X", "outside"),
        ("6.4.2", "7.2.2", "MI300X", "inside"),
        ("30.10.2", "7.0.2", "MI355X", "inside"),
        ("30.10.2", "7.0.2", "a product nobody knows", "inside"),
    ],
)
def test_a_driver_that_does_not_know_the_product_is_outside_of_its_window(driver, rocm, product, answer):
    assert CATALOG.window(driver, rocm, product).answer == answer


@pytest.mark.parametrize(
    ("system", "release"),
    [
        ({"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04.5 LTS"}, "22.04.5"),
        ({"id": "rhel", "version": "9.4", "name": "Red Hat Enterprise Linux 9.4 (Plow)"}, "9.4"),
        ({"id": "debian", "version": None, "name": None}, None),
        (None, None),
    ],
)
def test_ubuntu_tells_its_point_release_in_its_name_only(system, release):
    assert point_release(system) == release


@pytest.mark.parametrize(
    ("seen", "wanted", "ids"),
    [
        ("6.4.4", "7.0.2", []),
        ("7.2.4", "7.14.0", ["packaging_7.14"]),
        ("10.1.0", "7.2.4", ["packaging_7.14_back"]),
        ("7.9.0", "7.14.0", ["from_preview"]),
        ("7.2.4", "7.13.0", ["to_preview"]),
        ("7.14.0", "10.1.0", []),
        (None, "7.14.0", []),
    ],
)
def test_the_ways_that_need_more_than_an_upgrade(seen, wanted, ids):
    assert [row["id"] for row in CATALOG.hops(seen, wanted)] == ids
