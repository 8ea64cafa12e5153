# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions: what the packages of AMD encode, and Debian's order."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    compare,
    compare_debian,
    compare_rpm,
    module_of_driver_package,
    parse_version,
    release_of_driver_package,
    release_of_rocm_package,
)

RPM = st.from_regex(r"([0-3]:)?[0-9a-cA-C.+~^_]{1,7}(-[0-9a-c+.~^_]{1,5})?", fullmatch=True)
DEBIAN = st.from_regex(r"([0-3]:)?[0-9][0-9a-cA-C.+~]{0,6}(-[0-9a-c+.~]{1,5})?", fullmatch=True)


@pytest.mark.parametrize(
    "older, newer", [("7.2.4", "7.14"), ("7.14", "10.0"), ("6.4", "6.4.1"), ("9.9", "30.10"), ("30.10.2", "31.20.0")]
)
def test_releases_are_ordered_by_number_not_by_text(older, newer):
    assert compare(older, newer) == -1
    assert compare(newer, older) == 1


def test_a_trailing_zero_makes_no_other_release():
    assert compare("7.1", "7.1.0") == 0


@pytest.mark.parametrize("text", ["", "7.", ".7", "7..1", "7.1-rc1", "seven", "٧.١", "-7", "7 .1"])
def test_what_is_not_a_release_is_refused_with_its_text(text):
    with pytest.raises(ParseError, match="wanted: numbers joined by dots"):
        parse_version(text)


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=5))
def test_a_release_survives_the_round_trip(numbers):
    assert parse_version(".".join(map(str, numbers))) == tuple(numbers)


@pytest.mark.parametrize(
    "version, release",
    [
        ("6.4.4.60404-129~22.04", "6.4.4"),
        ("0.14.0.60303-74~24.04", "6.3.3"),
        ("18.0.0.25012.60303-74~24.04", "6.3.3"),
        ("15.2.60303-74", "6.3.3"),
        ("0.42.0.40000-23", "4.0.0"),
        ("10.0.1.100001-7", "10.0.1"),
        ("6.10.5.60301", "6.3.1"),
        ("7.5.0.60401-83.el9", "6.4.1"),
        ("6.4.1.60401-83.sles156", "6.4.1"),
        ("6.4.1.60401-83.el9_5", "6.4.1"),
    ],
)
def test_the_release_of_a_rocm_package_is_what_it_encodes(version, release):
    assert release_of_rocm_package(version) == release


@pytest.mark.parametrize(
    "version", ["5.0.0-1", "0.5.0.64-rocm-rel-4.0-23-50fb51a", "2.4.114-1+b1", "", "1.20231212", "1.00404-1"]
)
def test_a_package_of_the_distribution_encodes_no_release(version):
    assert release_of_rocm_package(version) is None


@pytest.mark.parametrize(
    "version, release, module",
    [
        ("1:6.14.14.30100200-2226257.22.04", "30.10.2", ("6.14.14", "2226257.22.04")),
        ("1:6.19.0.31200000-2307534.24.04", "31.20.0", ("6.19.0", "2307534.24.04")),
        ("1:6.12.12.60404-2202139.22.04", "6.4.4", ("6.12.12", "2202139.22.04")),
        ("1:5.13.20.22.10.50103-1420322", "5.1.3", ("5.13.20.22.10", "1420322")),
        ("1:6.10.5.60301-2095006.el9", "6.3.1", ("6.10.5", "2095006.el9")),
        ("1:6.14.14.30100200-2226257.el9", "30.10.2", ("6.14.14", "2226257.el9")),
        ("1:4.3-59", None, None),
    ],
)
def test_a_driver_package_holds_release_module_and_build(version, release, module):
    assert release_of_driver_package(version) == release
    assert module_of_driver_package(version) == module


def test_the_firmware_package_tells_the_same_driver_release():
    assert release_of_driver_package("31.20.0.0.31200000-2307534.24.04") == "31.20.0"


@given(st.text(max_size=40))
def test_no_text_upsets_the_readers_of_package_versions(text):
    for read in (release_of_rocm_package, release_of_driver_package, module_of_driver_package):
        read(text)


@given(st.integers(3, 29), st.integers(0, 99), st.integers(0, 99), st.integers(1, 999))
def test_an_encoded_release_is_decoded_again(major, minor, patch, build):
    version = f"1.2.3.{major * 10000 + minor * 100 + patch}-{build}~22.04"
    assert release_of_rocm_package(version) == f"{major}.{minor}.{patch}"


@pytest.mark.parametrize(
    "older, newer",
    [
        ("1.0~rc1", "1.0"),
        ("1.0", "1:0.1"),
        ("1.0-1", "1.0-1+b1"),
        ("1.9", "1.10"),
        ("1.0a", "1.0+"),
        ("6.4.4", "6.4.4.1"),
    ],
)
def test_debian_order_knows_tilde_epoch_and_revision(older, newer):
    assert compare_debian(older, newer) == -1
    assert compare_debian(newer, older) == 1


@pytest.mark.parametrize("text", ["", "-1", "1.0_2", "a:1", "1 0", "é"])
def test_what_dpkg_would_not_take_is_refused(text):
    with pytest.raises(ParseError, match="package version"):
        compare_debian(text, "1.0")


@given(DEBIAN, DEBIAN, DEBIAN)
def test_debian_order_is_an_order(a, b, c):
    assert compare_debian(a, a) == 0
    assert compare_debian(a, b) == -compare_debian(b, a)
    if compare_debian(a, b) <= 0 and compare_debian(b, c) <= 0:
        assert compare_debian(a, c) <= 0


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is not on this machine")
@settings(max_examples=150, deadline=None)
@given(DEBIAN, DEBIAN)
def test_debian_order_is_that_of_dpkg(a, b):
    relation = {-1: "lt", 0: "eq", 1: "gt"}[compare_debian(a, b)]
    assert subprocess.run(["dpkg", "--compare-versions", a, relation, b], check=False).returncode == 0


@pytest.mark.parametrize(
    "older, newer",
    [
        ("1.0~rc1", "1.0"),
        ("1.0", "1.0^git1"),
        ("1.0^git1", "1.0.1"),
        ("1.0~rc1^git1", "1.0~rc1.1"),
        ("1.0a", "1.0.1"),
        ("1.9", "1.10"),
        ("1.0-1", "1:0.1-1"),
        ("1.0", "1.0-1"),
        ("6.4.1.60401-83.el9", "6.4.3.60403-128.el9"),
        ("1:6.12.12.60404-2202139.el9", "1:6.14.14.30100200-2226257.el9"),
        ("1.0-9.el9", "1.0-10.el9"),
    ],
)
def test_the_order_of_rpm_knows_tilde_caret_epoch_and_release(older, newer):
    assert compare_rpm(older, newer) == -1
    assert compare_rpm(newer, older) == 1


@pytest.mark.parametrize(
    "a, b", [("1.0", "1_0"), ("1.05", "1.5"), ("0:1.0-1", "1.0-1"), ("2a", "2.a"), ("1.0.", "1.0")]
)
def test_what_rpm_takes_for_the_same_is_the_same(a, b):
    assert compare_rpm(a, b) == 0


@pytest.mark.parametrize("text", ["", "-1", "1-2-3", "a:1", "1 0", "é", ":1", "1:"])
def test_what_rpm_would_not_take_is_refused(text):
    with pytest.raises(ParseError, match="package version"):
        compare_rpm(text, "1.0")


def test_a_number_of_any_length_is_compared():
    assert compare_rpm("1" * 9000, "2" * 8999) == 1


@given(RPM, RPM, RPM)
def test_the_order_of_rpm_is_an_order(a, b, c):
    assert compare_rpm(a, a) == 0
    assert compare_rpm(a, b) == -compare_rpm(b, a)
    if compare_rpm(a, b) <= 0 and compare_rpm(b, c) <= 0:
        assert compare_rpm(a, c) <= 0
