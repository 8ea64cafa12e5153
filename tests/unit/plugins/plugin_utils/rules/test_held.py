# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what is installed is held, where the node's locks could not be read."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import change, facts, write_target

CATALOG = load_catalog()


@pytest.mark.parametrize("hold, verdicts", [(True, []), (False, ["warn"]), (None, ["unknown"])])
def test_a_hold_that_could_not_be_read_is_unknown_not_loose(tmp_path, hold, verdicts):
    seen = change(facts(), "rocm.packages.rocm-core.hold", hold)
    findings = judge(seen, load_target(write_target(tmp_path), CATALOG), CATALOG, "g01")["findings"]
    assert [row["verdict"] for row in findings if row["rule"] == "packages.held"] == verdicts
