# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What repositories of rpm packages offer, by the lists that dnf and zypper keep of them on the node."""

from __future__ import annotations

import hashlib
import re

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import unpacked

CACHES = {"dnf": "/var/cache/dnf", "zypper": "/var/cache/zypp/raw"}

_PRIMARY = re.compile(r"""<data type=["']primary["']>.*?<location href=["'](repodata/[^"'/]+)["']""", re.DOTALL)
_PACKAGE = re.compile(
    r"""<name>([^<]+)</name>\s*<arch>[^<]*</arch>\s*<version epoch="([0-9]*)" ver="([^"]+)" rel="([^"]+)" */>"""
)


def cache_folder(host: Host, manager: str, repository: str, address: str) -> str:
    """Where the package manager keeps the lists of a repository.

    dnf names the folder after the repository and its address, so that lists of an earlier address are not taken for
    this one's. Where the address holds a variable, the only folder of the repository is meant.

    :raises Unreadable: where there is no such folder, or more than one.
    """
    root = CACHES[manager]
    if manager == "zypper":
        return f"{root}/{repository}"
    if "$" not in address:
        return f"{root}/{repository}-{hashlib.sha256(address.encode('utf-8')).hexdigest()[:16]}"
    form = re.compile(re.escape(repository) + "-[0-9a-f]{16}")
    found = [name for name in host.list(root) if form.fullmatch(name)]
    if len(found) != 1:
        raise Unreadable(root, f"holds {len(found)} folders of {repository}", missing=not found)
    return f"{root}/{found[0]}"


def offered(host: Host, folder: str) -> dict[str, set[str]]:
    """The versions that a repository offers, by package; ``folder`` holds its repodata.

    :raises Unreadable: where the lists are not there or cannot be read.
    :raises ParseError: where they are packed in a way that cannot be read, or are no lists.
    """
    index = f"{folder}/repodata/repomd.xml"
    primary = _PRIMARY.search(host.read(index))
    if primary is None:
        raise ParseError(index, "names no list of packages", "a list of type primary")
    path = f"{folder}/{primary[1]}"
    text = unpacked(path, host.read_bytes(path), path.rpartition(".xml")[2])
    found: dict[str, set[str]] = {}
    for name, epoch, version, release in _PACKAGE.findall(text):
        plain = f"{version}-{release}"
        found.setdefault(name, set()).add(plain if epoch in ("", "0") else f"{epoch}:{plain}")
    if not found and "<package " in text:
        raise ParseError(path, "holds no package in a known form", "a list of packages")
    return found
