# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has the GPUs open: as long as anybody does, the driver cannot be reloaded and a job may be running."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "activity"

_KFD = "/dev/kfd"
_DEVICES = (_KFD, "/dev/dri/render")
_COMPUTING = "/sys/class/kfd/kfd/proc"
# The kernel gives its first namespace of processes this number; there a pid of the driver is one of /proc.
_FIRST_NAMESPACE = "pid:[4026531836]"
# Of docker, containerd, CRI-O and podman, as cgroupfs and as systemd name them; conmon is outside of its container.
_CONTAINER = re.compile(r"(?<!conmon)[/:-]([0-9a-f]{64})(?=\.scope|[/\s]|$)")
_SLURM = re.compile(r"slurm[^/\n]*/(?:uid_\d+/)?job_(\d+)(?:/step_(\w+))?")
_POD = re.compile(r"kubepods\S*?[/-]pod([0-9a-f]{8}[0-9a-f_-]{20,28})")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``holders`` part of the facts: one row per process and device; null where no process could be looked into."""
    reading = Reading(host, problems, SUBSET)
    processes = [name for name in reading.names("/proc") or [] if name.isdecimal()]
    rows: list[dict] = []
    refused = 0
    for pid in processes:
        try:
            rows.extend(_row(host, pid, device) for device in _held(host, pid))
        except Unreadable as error:
            # A process that ended while it was looked at holds nothing, whatever error that gave.
            refused += not error.missing and host.exists(f"/proc/{pid}")
    if refused:
        reading.problem("/proc", f"{refused} processes cannot be looked into")
    rows.extend(_computing(host, reading, {row["pid"] for row in rows if row["device"] == _KFD}))
    reading.tell_absent("not there")
    return {"holders": None if (refused and not rows) or not processes else rows}


def container_of(cgroup: str) -> str | None:
    """The container a process is in, from its /proc/<pid>/cgroup; None where it is in none.

    The id of the outermost container, ``pod:<uid>`` of a pod whose container has no id there, ``slurm:<job>.<step>``.
    """
    container, step, pod = _CONTAINER.search(cgroup), _SLURM.search(cgroup), _POD.search(cgroup)
    if container:
        return container[1]
    if step:
        return f"slurm:{step[1]}.{step[2]}" if step[2] else f"slurm:{step[1]}"
    return f"pod:{pod[1].replace('_', '-')}" if pod else None


def _held(host: Host, pid: str) -> list[str]:
    folder = f"/proc/{pid}/fd"
    targets = {_target(host, f"{folder}/{number}") for number in host.list(folder)}
    return sorted(target for target in targets if target.startswith(_DEVICES))


def _target(host: Host, path: str) -> str:
    try:
        return host.readlink(path)
    except Unreadable as error:
        if error.missing:
            return ""
        raise


def _computing(host: Host, reading: Reading, known: set[int]) -> list[dict]:
    """Processes that the driver knows and that were not seen to hold it: of another namespace, or not to be read."""
    try:
        found = [name for name in host.list(_COMPUTING) if name.isdecimal() and int(name) not in known]
    except Unreadable as error:
        if not error.missing:
            reading.problem(_COMPUTING, error.seen)
        return []
    if found and not _is_first_namespace(host):
        return [{"pid": int(pid), "command": None, "device": _KFD, "container": None} for pid in found]
    return [_row(host, pid, _KFD) for pid in found]


def _is_first_namespace(host: Host) -> bool:
    try:
        return host.readlink("/proc/self/ns/pid") == _FIRST_NAMESPACE
    except Unreadable:
        return False


def _row(host: Host, pid: str, device: str) -> dict:
    command, cgroup = _text(host, f"/proc/{pid}/comm"), _text(host, f"/proc/{pid}/cgroup")
    return {"pid": int(pid), "command": command, "device": device, "container": container_of(cgroup or "")}


def _text(host: Host, path: str) -> str | None:
    try:
        return host.read(path).strip() or None
    except Unreadable:
        return None
