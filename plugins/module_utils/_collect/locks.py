# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds a lock of the package manager now."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

LOCKS = "/proc/locks"
FILES = (
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/cache/apt/archives/lock",
    "/var/lib/apt/lists/lock",
    "/var/lib/rpm/.rpm.lock",
    "/usr/lib/sysimage/rpm/.rpm.lock",
)

# A line with an arrow is a process that waits for a lock.
_HELD = re.compile(r"^[0-9]+: [A-Z]+ +[A-Z]+ +WRITE +([0-9]{1,10}) ", re.MULTILINE)


def lock_holder(reading: Reading) -> dict | None:
    """``{"pid", "path"}`` of a process that holds a lock and has a lock file of the package manager open, or None.

    The kernel lists locks by inode, which some file systems number apart from what they tell of their files: a holder
    is known by the file it has open.
    """
    try:
        text = reading.host.read(LOCKS)
    except Unreadable as error:
        # A kernel that keeps no list has no locks.
        if not error.missing:
            reading.problem(LOCKS, error.seen)
        return None
    found = [(FILES.index(path), pid) for pid in pids(text) for path in _open_files(reading.host, pid) if path in FILES]
    return {"pid": min(found)[1], "path": FILES[min(found)[0]]} if found else None


def pids(text: str) -> list[int]:
    """The processes that hold a lock to write, in order; those that wait for one are not among them."""
    return sorted({int(pid) for pid in _HELD.findall(text)} - {0})


def _open_files(host: Host, pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = host.list(folder)
    except Unreadable:
        return []
    return [target for target in (_target(host, f"{folder}/{name}") for name in names) if target]


def _target(host: Host, path: str) -> str | None:
    try:
        return host.readlink(path)
    except Unreadable:
        return None
