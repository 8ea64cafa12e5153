# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import CLASSES, _context, judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    OLD,
    change,
    facts,
    target_document,
    write_target,
)

CATALOG = load_catalog()
KERNEL = {
    "cmdline": ["iommu=pt", "pcie_aspm=off"],
    "module_options": {"amdgpu": {"noretry": "0"}},
    "sysctl": {"kernel.numa_balancing": 0},
}


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    document = target_document(MI300X={"rocm": "7.0.2", "driver": "30.10.2", "gpus_per_node": 3, "kernel": KERNEL})
    return load_target(write_target(tmp_path_factory.mktemp("target"), document), CATALOG)


def healthy(versions):
    return change(facts(versions=versions, count=3), "settings.module_options.amdgpu", {"noretry": "0"})


def line(name, bdf, **more):
    """A kernel log with one signature, about the third GPU."""
    row = {"id": name, "bdf": bdf, "named": True, "gpus": ["0000:33:00.0"], "count": 1, "open": 1, "first": 1.0}
    return [{**row, "last": 1.0, "sample": "x", "details": {}, **more}]


SICK = {
    "ras": ("gpus.2.ras.umc.ue", 4),
    "aer": ("gpus.2.aer.nonfatal", 1),
    "not initialised": ("gpus.2.initialised", False),
    "no driver": ("gpus.2.driver", None),
    "slow hop": ("gpus.2.link.3.speed_gts", 8.0),
    "narrow hop": ("gpus.2.link.2.width", 8),
    "half-configured": ("driver.packages.amdgpu-dkms.state", "half-configured"),
    "no next boot": ("driver.ready_for_next_boot", False),
    "no headers": ("driver.build.headers", False),
    "no compiler": ("driver.build.compilers", []),
    "no compute device": ("driver.compute_device", False),
    "another manager": ("rocm.manager", "zypper"),
    "stranger": ("gpus.2.device_id", "7551"),
    "mixture": ("gpus.2.device_id", "740f"),
    "preview": ("rocm.active", "7.13.0"),
    "dark": ("gpus.2.link.1.max_width", None),
    "full": ("node.free_bytes./var", 5),
    "same id": ("gpus.2.unique_id", f"{0x9001:016x}"),
    "other command line": ("node.kernel.cmdline", ["quiet"]),
    "other option": ("settings.module_options.amdgpu.noretry", "1"),
    "other driver loaded": ("driver.version", "6.8.5"),
    "in-tree": ("driver.origin", "in-tree"),
    "hung": ("log.signatures", line("ring_timeout", "0000:33:00.0")),
    "reset without an end": ("log.signatures", line("reset_incomplete", "0000:33:00.0")),
    "flood": ("log.signatures", line("aer_corrected", "0000:30:01.1", count=600, first=100.0, last=160.0)),
}


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
    else:
        yield path


def without(sample, path):
    """The sample with one leaf taken out; the rest is shared."""
    if not path:
        return sample
    changed = copy.copy(sample)
    if len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = without(sample[path[0]], path[1:])
    return changed


def class_of(sample, target):
    return judge(sample, target, CATALOG, "g01")["class"]


def rank(kind):
    """unknown, unhealthy and blocked are equally bad; at_target and may_move are what a node may work or move with."""
    return 0 if kind in CLASSES[:3] else 1


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("sickness", SICK)
def test_taking_a_fact_away_never_makes_a_node_better(target, versions, sickness):
    sample = change(healthy(versions), *SICK[sickness])
    before = class_of(sample, target)
    better = {
        path: kind
        for path in leaves(sample)
        if (kind := class_of(without(sample, path), target))
        and (rank(kind) > rank(before) or (kind == "at_target" and before != "at_target"))
    }
    assert better == {}


def test_taking_a_fact_away_never_gives_at_target(target):
    sample = healthy(OLD)
    assert class_of(sample, target) == "may_move"
    assert [path for path in leaves(sample) if class_of(without(sample, path), target) == "at_target"] == []


class Recorded(dict):
    """A map that notes the path of every value that is asked for."""

    def __init__(self, value, path, seen):
        self.path, self.seen = path, seen
        super().__init__({key: recorded(inner, (*path, key), seen) for key, inner in value.items()})

    def get(self, key, default=None):
        self.seen.add((*self.path, key))
        return super().get(key, default)

    def __getitem__(self, key):
        self.seen.add((*self.path, key))
        return super().__getitem__(key)

    def values(self):
        self.seen.update((*self.path, key) for key in self)
        return super().values()


def recorded(value, path, seen):
    if isinstance(value, dict):
        return Recorded(value, path, seen)
    return (
        [recorded(inner, (*path, number), seen) for number, inner in enumerate(value)]
        if isinstance(value, list)
        else value
    )


def read_by_deciding_rules(sample, target):
    seen = set()
    ctx = _context(recorded(sample, (), seen), target, CATALOG, "g01", {}, "")
    for rule in RULES:
        if rule.deciding:
            list(rule.check(ctx))
    whole = {path for path in leaves(sample) if path in seen or path[:-1] in seen and isinstance(path[-1], int)}
    assert len(whole) > 100
    return sorted(whole, key=str)


# Only a message names the version of the package. That a device answers, its speed and width prove as well: only what
# is known to be gone counts. A file of a module is not read where modules are compressed: then its version decides, and
# driver.pending says what that leaves open. The system counts only where a known-bad combination names one. The
# kernel's own compiler is only warned of, what an initramfs holds is read only where that is asked for, and that
# nothing enforces Secure Boot a loaded module that nobody signed proves as well.
TOLD_ONLY = {
    ("driver", "packages", "amdgpu-dkms", "version"),
    ("driver", "loaded_is_installed"),
    ("node", "os", "id"),
    ("node", "os", "version"),
    ("node", "os", "name"),
    ("driver", "build", "built_by"),
    ("driver", "next_boot", "initramfs", "holds_blacklist"),
    ("node", "secure_boot"),
}
# What a change needs matters only where something is to be changed.
FOR_A_CHANGE = ("free_bytes", "initrd_bytes", "build", "manager")


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
def test_no_data_where_a_deciding_rule_looks_is_never_a_pass(target, versions):
    sample = healthy(versions)
    paths = [path for path in read_by_deciding_rules(sample, target) if path not in TOLD_ONLY and path[-1] != "answers"]
    kinds = {path: class_of(change(sample, path, None), target) for path in paths}
    passed = {path for path, kind in kinds.items() if kind in ("at_target", "may_move")}
    assert {path for path in passed if versions == OLD or path[1] not in FOR_A_CHANGE} == set()


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
def test_facts_that_are_nothing_at_all_are_unknown(target, versions):
    for part in ("node", "gpus", "driver", "rocm"):
        assert class_of({**healthy(versions), part: None}, target) == "unknown"
    assert class_of({}, target) == "unknown"


def test_the_samples_are_what_they_are_meant_to_be(target):
    assert (class_of(healthy(OLD), target), class_of(healthy(NEW), target)) == ("may_move", "at_target")
    assert {class_of(change(healthy(OLD), *SICK[name]), target) for name in SICK} == {
        "unknown",
        "unhealthy",
        "blocked",
        "may_move",
    }
