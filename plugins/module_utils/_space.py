# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Room on the disks of a node for what is about to be written."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import TransactionFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

BOOT = "/boot"
MARGIN = 1.1

_INITRDS = ("initrd", "initramfs")


class Demand(NamedTuple):
    """Bytes that are to be written below a folder, and what for."""

    path: str
    size: int
    what: str


def require(host: Host, demands: list[Demand]) -> None:
    """See that there is room for all of it, and a margin.

    :raises TransactionFailed: disk_full, by the folder that lacks it.
    :raises Unreadable: where the free space cannot be told.
    """
    free = {demand.path: _free(host, demand.path) for demand in demands}
    for path in free:
        # The same number of free bytes: the same file system.
        _require(path, free[path], [demand for demand in demands if free[demand.path] == free[path] and demand.size])


def another_initrd(host: Host) -> Demand:
    """What a new initrd takes: it is written beside the present one, which only then goes.

    :raises Unreadable: where the folder of the boot loader cannot be read.
    """
    return Demand(BOOT, largest_initrd(host), "an initrd beside the present one")


def largest_initrd(host: Host) -> int:
    """Bytes of the largest initrd; 0 where there is none.

    :raises Unreadable: where the folder of the boot loader cannot be read.
    """
    names = [name for name in list_optional(host, BOOT) if name.startswith(_INITRDS)]
    return max((host.stat(f"{BOOT}/{name}").size for name in names if host.exists(f"{BOOT}/{name}")), default=0)


def _require(path: str, free: int, demands: list[Demand]) -> None:
    wanted = sum(demand.size for demand in demands) * MARGIN
    if free < wanted:
        raise TransactionFailed(
            "disk_full",
            path,
            f"{free / 1e6:.0f} MB are free",
            f"{wanted / 1e6:.0f} MB for {', '.join(dict.fromkeys(demand.what for demand in demands))}, and a margin",
            "free some space; nothing was changed",
        )


def _free(host: Host, path: str) -> int:
    try:
        return host.free_bytes(path)
    except Unreadable as error:
        if not error.missing or path == "/":
            raise
        return _free(host, posixpath.dirname(path))
