# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs found on the PCI bus, whether or not a driver owns them."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import hexadecimal
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

DEVICES = "/sys/bus/pci/devices"
AMD = "1002"

_BDF = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Instinct GPUs are display controllers of the kind "other" (up to MI250X) or processing accelerators (from MI300).
# VGA controllers (0300) of the same maker are other products.
_GPU_CLASSES = ("0380", "1200")


def gpu_addresses(host: Host) -> list[str]:
    """BDFs of the Instinct GPUs, in order.

    :raises Unreadable: where the bus cannot be listed, or a device on it cannot be asked what it is.
    """
    return list(host.made(_gpu_addresses))


def _gpu_addresses(host: Host) -> list[str]:
    return [name for name in host.list(DEVICES) if _BDF.fullmatch(name) and _is_gpu(host, name)]


def path_to_root(host: Host, bdf: str) -> list[str]:
    """BDFs from the device up to its root port, the device first."""
    return [part for part in reversed(host.realpath(f"{DEVICES}/{bdf}").split("/")) if _BDF.fullmatch(part)]


def _is_gpu(host: Host, bdf: str) -> bool:
    return (_identity(host, bdf, "class") or "")[:4] in _GPU_CLASSES and _identity(host, bdf, "vendor") == AMD


def _identity(host: Host, bdf: str, name: str) -> str | None:
    path = f"{DEVICES}/{bdf}/{name}"
    try:
        text = host.read(path)
    except Unreadable as error:
        if error.missing:
            return None
        raise
    found = hexadecimal(text)
    if found is None:
        # A device that may be a GPU must not be missing from the list without a word.
        raise Unreadable(path, f"not understood: {text.strip()[:60]!r}")
    return found
