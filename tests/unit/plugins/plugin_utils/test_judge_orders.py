# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge: no order decides, a waiver lets through what it names and no more, no fact less makes a node better."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import WAIVABLE
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    change,
    facts,
    target_document,
    write_target,
)
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.test_judge_properties import SICK, leaves

CATALOG = load_catalog()
TODAY = "2026-12-01"
FIT = ("at_target", "may_move")
# Of each kind some: hardware, versions, packages, log, kernel.
SICKNESSES = st.lists(st.sampled_from(sorted(SICK)), max_size=4, unique=True)


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    document = target_document(MI300X={"rocm": NEW[0], "driver": NEW[1], "gpus_per_node": 3})
    return load_target(write_target(tmp_path_factory.mktemp("target"), document), CATALOG)


def sick(names, versions=OLD):
    sample = change(facts(versions=versions, count=3), "settings.module_options.amdgpu", {"noretry": "0"})
    for name in names:
        sample = change(sample, *SICK[name])
    return sample


def record_of(target, sample, **policy):
    return judge(sample, target, CATALOG, "g01", gathered_at=f"{TODAY}T00:00:00Z", policy=policy)


def essence(record):
    """What was decided, in no order."""
    told = sorted((row["rule"], row["subject"], row["verdict"]) for row in record["findings"])
    return record["class"], record["verdict"], record["steps"], record["before"], record["rollback"], told


def shuffled(value, random):
    """The same facts: keys of maps, GPUs, log lines and packages in another order; lists that have one keep it."""
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: _rows(key, value[key], random) for key in keys}
    return [shuffled(inner, random) for inner in value] if isinstance(value, list) else value


def _rows(key, value, random):
    if key in ("gpus", "signatures", "holders", "problems", "dkms") and isinstance(value, list):
        value = random.sample(value, len(value))
    return shuffled(value, random)


@given(names=SICKNESSES, seed=st.integers(0, 2**32))
def test_no_order_of_the_facts_decides(target, names, seed):
    sample = sick(names)
    assert essence(record_of(target, shuffled(sample, Random(seed)))) == essence(record_of(target, sample))


WAIVERS = st.lists(
    st.fixed_dictionaries(
        {
            "rule": st.sampled_from(sorted(WAIVABLE)),
            "nodes": st.lists(st.sampled_from(["g01", "g*", "*", "g1*", "g02", "[!g]*"]), min_size=1, max_size=2),
            "expires": st.sampled_from(["2026-11-30", "2026-12-01", "2027-01-01"]),
            "owner": st.just("ops"),
            "reason": st.just("known"),
        }
    ),
    max_size=12,
)


def troubles(record):
    return {
        (row["rule"], row["subject"], row["verdict"])
        for row in record["findings"]
        if row["verdict"] in ("fail", "unknown") and row["rule"] != "waiver.expired"
    }


@given(names=SICKNESSES, waivers=WAIVERS)
def test_a_waiver_lets_through_what_it_names_and_nothing_else(target, names, waivers):
    without, record = (record_of(target, sick(names), waivers=given) for given in ([], waivers))
    named = {row["rule"] for row in waivers if {"g01", "g*", "*"} & set(row["nodes"]) and row["expires"] >= TODAY}
    assert troubles(record) == {row for row in troubles(without) if row[0] not in named}
    told = {(row["rule"], row["subject"]) for row in record["findings"] if row["verdict"] == "waived"}
    assert told == {row[:2] for row in troubles(without) if row[0] in named}


@given(names=SICKNESSES, waivers=WAIVERS)
def test_a_waiver_that_is_over_lets_nothing_through(target, names, waivers):
    over = [{**row, "expires": "2026-11-30"} for row in waivers]
    record = record_of(target, sick(names), waivers=over)
    assert troubles(record) == troubles(record_of(target, sick(names), waivers=[]))
    late = [row for row in record["findings"] if row["rule"] == "waiver.expired"]
    assert len(late) == sum(bool({"g01", "g*", "*"} & set(row["nodes"])) for row in over)


@given(
    names=st.lists(st.sampled_from(sorted(SICK)), min_size=1, max_size=3, unique=True),
    numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=6),
    versions=st.sampled_from([OLD, NEW]),
)
def test_facts_that_nobody_could_read_never_make_a_node_fit(target, names, numbers, versions):
    sample = sick(names, versions)
    before = record_of(target, sample)["class"]
    for number in numbers:
        paths = list(leaves(sample))
        sample = change(sample, list(paths[number % len(paths)]), None)
    after = record_of(target, sample)["class"]
    assert before in FIT or after not in FIT
    assert before == "at_target" or after != "at_target"
