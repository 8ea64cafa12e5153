# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware of each GPU, as the driver read it from the blocks that the GPU has."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import DEVICES, gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "firmware"

_SUFFIX = "_fw_version"


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``firmware`` and the ``vbios`` part number of each of the ``gpus``."""
    return {"gpus": [_gpu(Reading(host, problems, SUBSET, bdf), bdf) for bdf in gpu_addresses(host)]}


def _gpu(reading: Reading, bdf: str) -> dict:
    device = f"{DEVICES}/{bdf}"
    facts = {"bdf": bdf, "vbios": reading.text(f"{device}/vbios_version", "vbios_version")}
    facts["firmware"] = _blocks(reading, device)
    reading.tell_absent("not there")
    return facts


def _blocks(reading: Reading, device: str) -> dict[str, str | None] | None:
    # A block that a GPU does not have has no file, so only what is listed is read.
    names = reading.names(f"{device}/fw_version", "fw_version")
    if names is None:
        return None
    files = [name for name in names if name.endswith(_SUFFIX)]
    return {name[: -len(_SUFFIX)]: reading.text(f"{device}/fw_version/{name}", name) for name in files}
