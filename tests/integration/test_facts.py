# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of nodes that one can log into: against the node's own tools, and against what was broken on it."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import parse_dkms_status
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording

NODES = ("well", "broken", "bare")
STALE = "mkdir -p /var/lib/dkms/amdgpu/6.8.5-2041575.22.04"
BLACKLIST = "echo 'blacklist amdgpu' > /etc/modprobe.d/blacklist-amdgpu.conf"


@pytest.fixture(scope="module")
def seen(operator: Any) -> SimpleNamespace:
    """Recordings of all nodes, and a fingerprint from before and after."""
    before = {name: operator.fingerprint(name) for name in NODES}
    done = operator.play("record")
    assert done.status == 0, done.text
    folder = operator.records / "machines"
    machines = [json.loads((folder / f"machine-{number}.json").read_text(encoding="utf-8")) for number in (1, 2, 3)]
    read = [gather(Recording(machine), machine["subsets"]) for machine in machines]
    facts = dict(zip(NODES, read, strict=True))
    return SimpleNamespace(before=before, facts=facts, machines=machines, folder=folder)


def problems(facts: dict[str, Any], subset: str) -> list[str]:
    return [f"{row['subject']}: {row['reason']}" for row in facts["problems"] if row["subset"] == subset]


def test_nothing_of_a_healthy_node_is_unknown(seen: SimpleNamespace) -> None:
    assert seen.facts["well"]["problems"] == []


def test_recording_leaves_no_trace_on_a_node(operator: Any, seen: SimpleNamespace) -> None:
    assert {name: operator.fingerprint(name) for name in NODES} == seen.before


def test_a_recording_names_no_node_and_only_its_owner_may_read_it(seen: SimpleNamespace) -> None:
    text = json.dumps(seen.machines)
    assert [name for name in ("127.0.70", "/dev/shm", '"well') if name in text] == []
    assert {os.stat(path).st_mode & 0o777 for path in seen.folder.glob("*.json")} == {0o600}


def test_what_was_broken_is_read_as_broken(seen: SimpleNamespace) -> None:
    gpus = seen.facts["broken"]["gpus"]
    assert min(hop["speed_gts"] for hop in gpus[3]["link"]) == 16.0
    assert gpus[1]["ras"]["umc"]["ue"] == 1
    assert gpus[5]["link"][0]["width"] is None
    assert any("current_link_width" in row for row in problems(seen.facts["broken"], "link"))


def test_a_flood_in_the_kernel_log_is_one_row_c10(seen: SimpleNamespace) -> None:
    (row,) = [row for row in seen.facts["broken"]["log"]["signatures"] if "Corrected" in row["sample"]]
    assert (row["count"], row["bdf"]) == (300, "0000:00:01.1")
    assert seen.facts["well"]["log"]["signatures"] == []


def test_gpus_without_a_driver_are_on_the_bus_and_not_in_service(seen: SimpleNamespace) -> None:
    gpus = seen.facts["bare"]["gpus"]
    assert [(gpu["driver"], gpu["initialised"], gpu["device_id"]) for gpu in gpus] == [(None, False, "740f")] * 2
    assert seen.facts["bare"]["driver"]["loaded"] is False


def test_the_tree_of_dkms_is_what_dkms_says_of_it_a04(operator: Any, seen: SimpleNamespace) -> None:
    said = parse_dkms_status(operator.shell("well", "dkms status"))
    read = seen.facts["well"]["driver"]["dkms"]
    assert [(row.version, row.kernel, row.state) for row in said.builds] == [
        (row["version"], row["kernel"], row["state"]) for row in read
    ]


def test_a_leftover_that_silences_dkms_and_a_blacklist_are_told_a03_a23(operator: Any, seen: SimpleNamespace) -> None:
    operator.shell("well", f"{STALE}; {BLACKLIST}")
    assert operator.play("record", "--limit", "well").status == 0
    machine = json.loads((seen.folder / "machine-1.json").read_text(encoding="utf-8"))
    driver = gather(Recording(machine), ["driver"])["driver"]
    assert driver["stale_trees"] == ["6.8.5-2041575.22.04"]
    assert driver["dkms"][0]["state"] == "installed"
    assert [row["line"] for row in driver["blacklists"]] == ["blacklist amdgpu"]
