# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever bytes a file holds: no exception, and no number that was not there."""

from __future__ import annotations

import functools
import json

import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is in requirements-dev/tests.txt")
from hypothesis import strategies as st  # noqa: E402

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select  # noqa: E402
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording  # noqa: E402
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES  # noqa: E402

NAMES = ("mi300x-ubuntu-2404-dkms", "mi325x-rhel-94-dkms", "mi355x-sles-156-dkms")
SUBSETS = select(["all"])
# What counts lines, files, processors or groups is there whatever they hold.
_COUNTS = ("log", "firmware_files", "initrd_bytes", "governors", "group_types")
_WITHOUT_DIGITS = st.text(st.characters(codec="utf-8", exclude_categories=["Nd", "Nl", "No", "Cs"]), max_size=60)


@functools.cache
def record(name):
    return json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8"))


@functools.cache
def numbers_of(name):
    return dict(leaves(gather(Recording(record(name)), SUBSETS)))


def leaves(value, path=()):
    """Every number of the facts with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def read_with(name, changes):
    machine = record(name)
    return gather(Recording({**machine, "files": {**machine["files"], **changes}}), SUBSETS)


@pytest.mark.parametrize("name", NAMES)
@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(data=st.data())
def test_any_bytes_in_any_files_never_raise(name, data):
    paths = data.draw(st.lists(st.sampled_from(sorted(record(name)["files"])), max_size=6, unique=True))
    facts = read_with(name, {path: data.draw(st.binary(max_size=80)) for path in paths})
    assert json.loads(json.dumps(facts))["schema"] == 1


@pytest.mark.parametrize("name", NAMES)
@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(data=st.data())
def test_a_text_without_digits_never_becomes_a_number(name, data):
    paths = [path for path in sorted(record(name)["files"]) if not path.endswith(("/config", "kmsg"))]
    path, text = data.draw(st.sampled_from(paths)), data.draw(_WITHOUT_DIGITS)
    known = set(numbers_of(name).values())
    new = leaves(read_with(name, {path: text}))
    assert [where for where, number in new if number not in known and not set(_COUNTS) & set(where)] == []
