# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors the hardware has counted: at the GPU, at the ports above it, in its memory."""

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
NOTHING = {"correctable": None, "nonfatal": None, "fatal": None}


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    document = target_document(MI300X={"rocm": NEW[0], "driver": NEW[1]})
    return load_target(write_target(tmp_path_factory.mktemp("health"), document), CATALOG)


def found(target, rule, **values):
    """Findings of a rule on a node whose first GPU was changed (dots of the path written as __), and the class."""
    sample = facts(versions=NEW)
    for path, value in values.items():
        sample = change(sample, f"gpus.0.{path.replace('__', '.')}", value)
    record = judge(sample, target, CATALOG, "g01")
    return [row for row in record["findings"] if row["rule"] == rule], record["class"]


def test_an_uncorrectable_error_at_the_gpu_is_a_fault(target):
    rows, kind = found(target, "health.aer", aer__fatal=1)
    assert (rows[0]["verdict"], rows[0]["observed"], kind) == ("fail", "1 fatal", "unhealthy")


@pytest.mark.parametrize("value", [NOTHING, {"correctable": 0, "nonfatal": 0, "fatal": None}, None])
def test_counters_nobody_could_read_are_unknown_d06(target, value):
    rows, kind = found(target, "health.aer", aer=value)
    assert (rows[0]["verdict"], kind) == ("unknown", "unknown")


@pytest.mark.parametrize(
    "index, counts, told",
    [
        (1, {"correctable": 0, "nonfatal": 2, "fatal": 0}, "2 nonfatal"),
        (3, {"correctable": 0, "nonfatal": 0, "fatal": 0, "received_fatal": 1}, "1 received fatal"),
    ],
)
def test_what_the_other_end_of_a_link_saw_is_told(target, index, counts, told):
    rows, kind = found(target, "health.aer_path", **{f"link__{index}__aer": counts})
    assert (rows[0]["verdict"], kind) == ("warn", "at_target")
    assert told in rows[0]["observed"]


def test_where_firmware_keeps_the_counters_the_sticky_bit_is_told(target):
    seen = {"link__3__aer": NOTHING, "link__3__device_errors": ["correctable", "fatal", "unsupported"]}
    assert "fatal error seen" in found(target, "health.aer_path", **seen)[0][0]["observed"]


@pytest.mark.parametrize("errors", [None, [], ["correctable", "unsupported"], ["nonfatal"]])
def test_what_every_device_has_seen_once_is_no_finding(target, errors):
    assert found(target, "health.aer_path", link__3__aer=NOTHING, link__3__device_errors=errors)[0] == []


@pytest.mark.parametrize("ras", [None, {}, {"umc": None}, {"umc": {"ue": None, "ce": 0}}, {"umc": {"ce": 0}}])
def test_ras_without_a_count_is_unknown_and_never_zero_d07(target, ras):
    rows, kind = found(target, "health.ras", ras=ras)
    assert (rows[0]["verdict"], kind) == ("unknown", "unknown")


def test_retired_pages_are_told_by_state(target):
    states = {"reserved": 3, "pending": 1, "failed": 0}
    rows, kind = found(target, "health.bad_pages", bad_pages=4, bad_pages_by_state=states)
    assert (rows[0]["verdict"], rows[0]["observed"], kind) == ("warn", "4 (3 reserved, 1 pending)", "at_target")
