# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of the amdgpu module in the tree of dkms, read from its folders.

The dkms program itself gives up on the whole tree at the first leftover folder, so it is not asked.
"""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

TREE = "/var/lib/dkms/amdgpu"

_LINK = "kernel-"
_MODULE_FOLDERS = ("updates/dkms", "extra", "updates")
_IN_TREE_FOLDER = "kernel/drivers/gpu/drm/amd/amdgpu"
_MODULE = "amdgpu.ko"


class Build(NamedTuple):
    """One row: ``state`` is added (no kernel), built, or installed: in the module tree of ``kernel``."""

    version: str
    kernel: str | None
    arch: str | None
    state: str


class Tree(NamedTuple):
    """What dkms holds of amdgpu; ``stale`` are folders of versions whose source is gone."""

    builds: list[Build]
    stale: list[str]

    def installed(self, version: str, kernel: str) -> bool:
        """True where this version is in the module tree of a kernel."""
        return any((row.version, row.kernel, row.state) == (version, kernel, "installed") for row in self.builds)


def read_tree(host: Host) -> Tree:
    """Builds and leftovers of amdgpu; a machine without dkms has an empty tree.

    :raises Unreadable: where the tree is there and cannot be read.
    """
    names = list_optional(host, TREE)
    links = {name: host.readlink(f"{TREE}/{name}") for name in names if name.startswith(_LINK)}
    versions = [name for name in names if not name.startswith((_LINK, "original_module")) and name != "dkms_dbversion"]
    stale = [version for version in versions if not host.exists(f"{TREE}/{version}/source/dkms.conf")]
    builds = [build for version in versions if version not in stale for build in _builds(host, version, links)]
    return Tree(builds, stale)


def module_file(host: Host, kernel: str) -> str | None:
    """Path of the amdgpu module that dkms put into a kernel's module tree; None where there is none."""
    return _module_in(host, kernel, _MODULE_FOLDERS)


def in_tree_module_file(host: Host, kernel: str) -> str | None:
    """Path of the amdgpu module that came with a kernel; None where there is none."""
    return _module_in(host, kernel, (_IN_TREE_FOLDER,))


def _builds(host: Host, version: str, links: dict[str, str]) -> list[Build]:
    pairs = [
        (kernel, arch)
        for kernel in list_optional(host, f"{TREE}/{version}")
        if kernel not in ("source", "build")
        for arch in list_optional(host, f"{TREE}/{version}/{kernel}")
        if list_optional(host, f"{TREE}/{version}/{kernel}/{arch}/module")
    ]
    if not pairs:
        return [Build(version, None, None, "added")]
    return [Build(version, kernel, arch, _state(host, version, kernel, arch, links)) for kernel, arch in pairs]


def _state(host: Host, version: str, kernel: str, arch: str, links: dict[str, str]) -> str:
    linked = links.get(f"{_LINK}{kernel}-{arch}") == f"{version}/{kernel}/{arch}"
    return "installed" if linked and module_file(host, kernel) else "built"


def _module_in(host: Host, kernel: str, folders: tuple[str, ...]) -> str | None:
    for folder in folders:
        path = f"/lib/modules/{kernel}/{folder}"
        found = [name for name in list_optional(host, path) if name == _MODULE or name.startswith(f"{_MODULE}.")]
        if found:
            return f"{path}/{found[0]}"
    return None
