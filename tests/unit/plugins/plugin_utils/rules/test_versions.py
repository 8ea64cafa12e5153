# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release of the driver is loaded."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    change,
    facts,
    target_document,
    write_target,
)

CATALOG = load_catalog()


@pytest.fixture(name="judged", scope="module")
def _judged(tmp_path_factory):
    document = target_document(MI300X={"rocm": "7.0.2", "driver": "30.10.2"})
    target = load_target(write_target(tmp_path_factory.mktemp("versions"), document), CATALOG)
    return lambda seen: judge(change(facts(versions=NEW), "driver.loaded_is_installed", seen), target, CATALOG, "g01")


def test_another_build_of_the_same_module_version_is_not_the_installed_release(judged):
    record = judged(False)
    assert (record["class"], record["driver"], record["steps"]) == ("may_move", None, ["reboot"])
    (row,) = [row for row in record["findings"] if row["rule"] == "driver.loaded"]
    assert row["observed"] == "another build of module 6.14.14 is loaded, 30.10.2 (module 6.14.14) is installed"


@pytest.mark.parametrize("seen", [True, None])
def test_where_the_file_agrees_or_is_not_read_the_version_decides(judged, seen):
    record = judged(seen)
    assert (record["class"], record["driver"]) == ("at_target", "30.10.2")
