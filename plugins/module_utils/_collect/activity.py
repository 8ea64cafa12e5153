# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has the GPUs open: as long as anybody does, the driver cannot be reloaded and a job may be running."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "activity"

_DEVICES = ("/dev/kfd", "/dev/dri/render")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``holders`` part of the facts: one row per process and device; null where no process could be looked into."""
    reading = Reading(host, problems, SUBSET)
    processes = [name for name in reading.names("/proc") or [] if name.isdecimal()]
    rows: list[dict] = []
    refused = 0
    for pid in processes:
        try:
            rows.extend(_held(host, pid))
        except Unreadable as error:
            # A process that ended while it was looked at holds nothing, whatever error that gave.
            refused += not error.missing and host.exists(f"/proc/{pid}")
    if refused:
        reading.problem("/proc", f"{refused} processes cannot be looked into")
    reading.tell_absent("not there")
    return {"holders": None if (refused and not rows) or not processes else rows}


def _held(host: Host, pid: str) -> list[dict]:
    folder = f"/proc/{pid}/fd"
    targets = {_target(host, f"{folder}/{number}") for number in host.list(folder)}
    devices = sorted(target for target in targets if target.startswith(_DEVICES))
    return [{"pid": int(pid), "command": _command(host, pid), "device": device} for device in devices]


def _target(host: Host, path: str) -> str:
    try:
        return host.readlink(path)
    except Unreadable as error:
        if error.missing:
            return ""
        raise


def _command(host: Host, pid: str) -> str | None:
    try:
        return host.read(f"/proc/{pid}/comm").strip()
    except Unreadable:
        return None
