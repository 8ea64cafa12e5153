# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rpm answers, and what is made of an answer that is not one."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, FleetError, ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package, rpm_packages
from ansible_collections.fleetops.instinct.plugins.module_utils._rpm import QUERY, Installed, parse, query
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

AMD = "Advanced Micro Devices, Inc."
DKMS = f"amdgpu-dkms\t1:6.10.5.60301-2095006.el9\tnoarch\t{AMD}\n"
CORE = f"rocm-core\t0:6.4.1.60401-83.el9\tx86_64\t{AMD}\n"
BASH = "bash\t0:5.1.8-9.el9\tx86_64\tRed Hat, Inc.\n"
KEY = "gpg-pubkey\t0:fd431d51-4ae0493b\t(none)\t(none)\n"


def answers(out, rc=0, err=""):
    return RecordedHost({"commands": {" ".join(QUERY): [rc, out, err]}})


def test_the_epoch_is_told_where_it_is_not_zero():
    assert parse(DKMS + CORE) == [
        Installed("amdgpu-dkms", "1:6.10.5.60301-2095006.el9", "noarch", AMD),
        Installed("rocm-core", "6.4.1.60401-83.el9", "x86_64", AMD),
    ]


def test_no_vendor_is_an_empty_one():
    assert parse(KEY)[0].vendor == ""


def test_amds_packages_are_told_from_the_others():
    packages, twice = rpm_packages(answers(BASH + DKMS + KEY))
    assert packages == {"amdgpu-dkms": Package("amdgpu-dkms", "1:6.10.5.60301-2095006.el9", "installed", None, AMD)}
    assert twice == set()


def test_two_versions_of_a_package_are_a_transaction_that_broke_off():
    packages, twice = rpm_packages(answers(CORE + CORE.replace("6.4.1.60401-83", "6.4.3.60403-128")))
    assert (packages["rocm-core"].version, packages["rocm-core"].state) == ("6.4.3.60403-128.el9", "half-installed")
    assert twice == {"rocm-core"}


def test_two_architectures_of_a_package_are_one_package():
    packages, twice = rpm_packages(answers(CORE + CORE.replace("x86_64", "i686")))
    assert (packages["rocm-core"].state, twice) == ("installed", set())


@pytest.mark.parametrize(
    "out, rc, err",
    [("", 1, "rpm: cannot open"), (CORE, 0, "error: rpmdbNextIterator: skipping h#"), (CORE, 139, "")],
)
def test_a_database_that_rpm_complains_of_is_no_list_f19(out, rc, err):
    with pytest.raises(CommandFailed, match="rpmdb --verifydb"):
        query(answers(out, rc, err))


@pytest.mark.parametrize("out", ["", "\n\n", "rocm-core\n", "rocm-core\t0:1-1\tx86_64\n", "a\tb\tc\td\n", CORE + "x"])
def test_an_answer_of_another_form_or_none_is_refused_as_a_whole_f19(out):
    with pytest.raises(ParseError):
        query(answers(out))


def test_no_rpm_on_the_node_is_an_error_that_names_it():
    with pytest.raises(CommandFailed, match="rpm: cannot be started"):
        query(RecordedHost({}))


@given(st.text(max_size=200))
def test_no_answer_upsets_the_reader_or_makes_it_invent_a_version(text):
    with contextlib.suppress(FleetError):
        assert all(row.version in text or f"0:{row.version}" in text for row in parse(text))
