# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recorded machine is read as its file says, and nothing is silently unknown. A new machine is a new file."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES

RECORDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(MACHINES.glob("*.json"))}
EXPECTED = [(name, path) for name, record in RECORDS.items() for path in record.get("expect", {})]
# What is null for an answer: nothing there, and nothing wrong.
_ANSWERS = {
    ("driver",), ("physical_function",), ("init_error",), ("smi",),
    ("driver", "version"), ("driver", "installed"), ("log", "previous"),
}  # fmt: skip


@pytest.fixture(name="facts", scope="module")
def _facts():
    kept = {}

    def of(name):
        if name not in kept:
            kept[name] = gather(Recording(RECORDS[name]), RECORDS[name].get("subsets") or select(["all"]))
        return kept[name]

    return of


def at(value, path):
    """The value at a dotted path; the number of rows for a path that ends at a list which is compared with a number."""
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def nulls(value, path=()):
    """Paths of all nulls in a value, without the numbers of rows."""
    if isinstance(value, dict):
        return {found for key, inner in value.items() for found in nulls(inner, (*path, key))}
    if isinstance(value, list):
        return {found for inner in value for found in nulls(inner, path)}
    return {path} if value is None else set()


@pytest.mark.parametrize(("name", "path"), EXPECTED)
def test_a_fact_of_a_machine_is_what_its_file_says(facts, name, path):
    wanted, seen = RECORDS[name]["expect"][path], at(facts(name), path)
    assert (len(seen) if isinstance(seen, list) and isinstance(wanted, int) else seen) == wanted


@pytest.mark.parametrize("name", [name for name in RECORDS if RECORDS[name].get("told")])
def test_what_could_not_be_read_is_told(facts, name):
    rows = [f"{row['subset']}: {row['subject']}: {row['reason']}" for row in facts(name)["problems"]]
    assert [piece for piece in RECORDS[name]["told"] if not any(piece in row for row in rows)] == []


@pytest.mark.parametrize("name", RECORDS)
def test_every_null_of_a_gpu_has_a_row_about_that_gpu(facts, name):
    rows = facts(name)["problems"]
    silent = [
        (gpu["bdf"], path)
        for gpu in facts(name)["gpus"] or []
        for path in nulls(gpu) - _ANSWERS
        if not any(row["subject"].startswith(gpu["bdf"]) for row in rows)
    ]
    assert silent == []


def test_there_are_machines_of_every_kind():
    ids = {record.get("expect", {}).get("gpus.0.device_id") for record in RECORDS.values()}
    assert {"74a1", "74a5", "75a3", "7408", "74b5"} <= ids
    assert len(RECORDS) >= 20
