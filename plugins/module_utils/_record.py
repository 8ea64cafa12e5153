# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One recording of a node: read, reduced, without identities, and proven to be read again as the node was."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._anonymise import anonymised
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import is_amd_package
from ansible_collections.fleetops.instinct.plugins.module_utils._recorder import Recorder
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording
from ansible_collections.fleetops.instinct.plugins.module_utils._reduce import reduced

SCHEMA = 1


def record(host: Host, subsets: list[str], salt: str) -> dict[str, Any]:
    """The machine in the form of _recording.py, with ``schema``, ``subsets``, and ``expect``: facts by path.

    :raises FleetError: where an identity is left in it, or it does not give the facts of the node again.
    """
    recorder = Recorder(host)
    seen = expectation(gather(recorder, subsets))
    machine = anonymised(reduced(recorder.machine(), _wanted), salt)
    again = expectation(gather(Recording(machine), subsets))
    wrong = sorted(path for path in seen if seen[path] != again.get(path))
    if wrong:
        raise FleetError(
            "recording",
            f"{', '.join(wrong)} are not read again as they were",
            "the facts of the node",
            "report this; the facts themselves can be sent instead",
        )
    return {"schema": SCHEMA, "subsets": subsets, **machine, "expect": again}


def expectation(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that tell machines apart, by dotted path; what was not gathered has no path."""
    gpus = facts.get("gpus")
    found = {"gpus": len(gpus) if gpus is not None else None} if "gpus" in facts else {}
    for number, gpu in enumerate(gpus or []):
        found.update({f"gpus.{number}.{key}": gpu[key] for key in _OF_GPU if key in gpu})
    for part, keys in _OF_NODE.items():
        found.update({f"{part}.{key}": (facts[part] or {}).get(key) for key in keys if part in facts})
    return found


_OF_GPU = ("bdf", "device_id", "kind", "driver", "initialised", "vbios", "memory_bytes")
_OF_NODE = {
    "platform": ("vendor", "product", "bios_version"),
    "driver": ("loaded", "version", "origin", "stale_trees"),
    "rocm": ("active", "installed", "layout", "holds"),
    "settings": ("numa_balancing", "thp"),
}


def _wanted(name: str, version: str) -> bool:
    return is_amd_package(name, version) or name.startswith(("dkms", "linux-", "kernel"))
