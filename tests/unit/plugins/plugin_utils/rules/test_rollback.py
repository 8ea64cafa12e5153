# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what runs now could be put back is assessed before the change."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import old, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of

NEW_KERNEL = ("node.kernel.next_boot", "6.14.0-24-generic")
NO_BUILD = ("driver.ready_for_next_boot", False)


def way_back(folder, *changes):
    return record_of(old(*changes), folder)["rollback"]


def test_the_old_driver_that_does_not_build_for_the_next_kernel_has_no_way_back_a15(tmp_path):
    back = way_back(tmp_path, ("driver.installed.release", "6.4.1"), NEW_KERNEL, NO_BUILD)
    assert back["ready"] is False
    assert "there is no driver 6.4.1 for 6.14.0-24-generic, which boots next" in back["why"][0]
    assert "keep 6.1.0-40-amd64 and boot it" in back["why"][0]


def test_the_old_driver_that_was_never_built_for_the_next_kernel_is_told_a15(tmp_path):
    back = way_back(tmp_path, ("node.kernel.next_boot", "6.1.0-41-amd64"), NO_BUILD)
    assert back["why"] == [
        "there is no build of driver 6.4.4 for 6.1.0-41-amd64, which boots next; "
        "keep 6.1.0-40-amd64 and boot it, or give up the way back"
    ]


def test_a_build_for_the_next_kernel_is_a_way_back_whatever_the_kernel_a15(tmp_path):
    assert way_back(tmp_path, NEW_KERNEL) == {"ready": True, "why": []}


@pytest.mark.parametrize("dark", [("driver.ready_for_next_boot", None), ("node.kernel.next_boot", None)])
def test_what_is_not_known_is_no_way_back(tmp_path, dark):
    assert way_back(tmp_path, dark)["ready"] is False


@pytest.mark.parametrize(
    "offered, why",
    [
        ({"rocm-core": False}, "rocm-core 6.4.4.60404-129~22.04 is offered by no repository"),
        ({"rocm-core": None}, "whether rocm-core 6.4.4.60404-129~22.04 is offered is not known"),
        ({}, "ROCm is there and no package says where it came from"),
        (None, "the package lists on the node could not be read"),
    ],
)
def test_packages_that_nobody_offers_are_named(tmp_path, offered, why):
    assert way_back(tmp_path, ("rocm.obtainable", offered)) == {"ready": False, "why": [why]}


def test_a_node_that_is_not_changed_needs_no_way_back(tmp_path):
    assert record_of(seen(("rocm.obtainable", None)), tmp_path)["rollback"] == {"ready": True, "why": []}
