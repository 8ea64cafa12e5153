# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node judged: a helper of the tests of rules."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import (
    KERNEL,
    TODAY,
    Case,
    facts_of,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    target_document,
    write_target,
)

CATALOG = load_catalog()


def record_of(case: Case, folder, catalog=CATALOG, **wanted) -> dict:
    """The record of a case; ``wanted`` replaces keys of the target's row, past what a target file may say."""
    row = {"rocm": NEW[0], "driver": NEW[1], "kernel": KERNEL, **case.wants}
    target = load_target(write_target(folder, target_document(**{case.product: row})), catalog).as_dict()
    products = {case.product: {**target["products"][case.product], **wanted}}
    return judge(
        facts_of(case),
        {**target, "products": products},
        catalog,
        "g01",
        gathered_at=f"{TODAY}T04:30:00Z",
        policy=case.policy,
    )


def said(record: dict, rule: str) -> list[dict]:
    """What a rule found."""
    return [row for row in record["findings"] if row["rule"] == rule]
