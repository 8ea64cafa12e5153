# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values that the files of sysctl set at boot, in the order in which ``sysctl --system`` takes them."""

from __future__ import annotations

from typing import Collection

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

# A file of an earlier folder hides one of the same name in a later folder.
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
LAST = "/etc/sysctl.conf"


def configured(host: Host, keys: Collection[str]) -> dict[str, tuple[str, str]]:
    """(file, value) of each of the keys that a file sets; the file that is read last wins, whatever its folder.

    :raises Unreadable: where a folder or a file is there and cannot be read.
    """
    found = {}
    for path in files(host):
        for key, value in pairs(host.read(path)):
            if key in keys:
                found[key] = (path, value)
    return found


def files(host: Host) -> list[str]:
    """The files in the order in which they are read.

    :raises Unreadable: where a folder is there and cannot be read.
    """
    by_name: dict[str, str] = {}
    for folder in FOLDERS:
        if host.exists(folder):
            for name in _names(host, folder):
                by_name.setdefault(name, f"{folder}/{name}")
    ordered = [by_name[name] for name in sorted(by_name)]
    return [path for path in (*ordered, LAST) if host.exists(path) and host.realpath(path) != "/dev/null"]


def pairs(text: str) -> list[tuple[str, str]]:
    """Keys with dots and their values, in order; a sign before a key that lets a failure pass is left out."""
    lines = [line.strip() for line in text.splitlines()]
    split = [line.partition("=") for line in lines if "=" in line and not line.startswith(("#", ";"))]
    return [(dotted(key), " ".join(value.split())) for key, _sign, value in split]


def dotted(key: str) -> str:
    """``kernel/numa_balancing`` and ``-kernel.numa_balancing`` as ``kernel.numa_balancing``."""
    name = key.strip().lstrip("-").strip()
    first = next((char for char in name if char in "./"), ".")
    # Where a slash comes first, a dot is part of a name.
    return name.translate({ord("/"): ".", ord("."): "/"}) if first == "/" else name


def _names(host: Host, folder: str) -> list[str]:
    try:
        return [name for name in host.list(folder) if name.endswith(".conf")]
    except Unreadable as error:
        if error.missing:
            return []
        raise
