# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of the amdgpu module in the tree of dkms, read from its folders.

The dkms program itself gives up on the whole tree at the first leftover folder, so it is asked only where the tree
cannot be read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional, read_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

TREE = "/var/lib/dkms/amdgpu"

_LINK = "kernel-"
_KERNELS = "/lib/modules"
_MODULE_FOLDERS = ("updates/dkms", "extra", "updates")
_WEAK_FOLDER = "weak-updates"
_IN_TREE_FOLDER = "kernel/drivers/gpu/drm/amd/amdgpu"
_MODULE = "amdgpu.ko"
# Both the form of dkms 2 (commas only) and that of dkms 3 (a slash after the name).
_STATUS = re.compile(
    r"(?P<module>[^,/\s]+)(?:/|,\s*)(?P<version>[^,:\s]+)(?:,\s*(?P<kernel>[^,:\s]+),\s*(?P<arch>[^,:\s]+))?"
    r":\s*(?P<state>[a-z]+(?:-weak)?)\b(?:\s+from\s+(?P<origin>\S+))?(?P<note>.*)"
)
_STALE = re.compile(rf"File: {TREE}/([^/\s]+)/source/dkms\.conf does not exist")


class Build(NamedTuple):
    """One row of a version and a kernel.

    ``state`` is added (no kernel), built, installed: in the module tree of ``kernel``, broken: installed or built by
    dkms's account and gone, or differs: installed, and not what was built. ``built_for`` is the kernel whose build
    this one uses as well (weak-updates of Red Hat), None where it has its own.
    """

    version: str
    kernel: str | None
    arch: str | None
    state: str
    built_for: str | None = None


class Tree(NamedTuple):
    """What dkms holds of amdgpu; ``stale`` are folders of versions whose source is gone."""

    builds: list[Build]
    stale: list[str]

    def installed(self, version: str, kernel: str) -> bool:
        """True where this version is in the module tree of a kernel."""
        return any((row.version, row.kernel, row.state) == (version, kernel, "installed") for row in self.builds)


class Status(NamedTuple):
    """What the dkms program says: ``builds`` is None where it gave up with an ``error``, which is not "no builds"."""

    builds: list[Build] | None
    stale: list[str]
    error: str


def parse_dkms_status(text: str, module: str = "amdgpu") -> Status:
    """Rows of ``dkms status`` about one module, in the form of dkms 2 or 3; its complaints may stand among them."""
    lines = [line.strip() for line in text.splitlines()]
    errors = [line for line in lines if line.startswith("Error!")]
    rows = [match for match in map(_STATUS.fullmatch, lines) if match and match["module"] == module]
    # dkms 3 calls a version whose source is gone broken, and names no kernel.
    gone = [match["version"] for match in rows if match["state"] == "broken" and not match["kernel"]]
    stale = list(dict.fromkeys([*gone, *(match[1] for match in map(_STALE.match, lines) if match)]))
    builds = [_told(match) for match in rows if match["version"] not in gone]
    return Status(None if errors and not rows else builds, stale, errors[0] if errors else "")


def read_tree(host: Host) -> Tree:
    """Builds and leftovers of amdgpu; a machine without dkms has an empty tree.

    :raises Unreadable: where the tree is there and cannot be read.
    """
    names = list_optional(host, TREE)
    links = {name: host.readlink(f"{TREE}/{name}") for name in names if name.startswith(_LINK)}
    versions = [name for name in names if not name.startswith((_LINK, "original_module")) and name != "dkms_dbversion"]
    stale = [version for version in versions if not host.exists(f"{TREE}/{version}/source/dkms.conf")]
    builds = [build for version in versions if version not in stale for build in _builds(host, version, links)]
    return Tree([*builds, *_weak(host, builds)], stale)


def module_file(host: Host, kernel: str) -> str | None:
    """Path of the amdgpu module that dkms put into a kernel's module tree; None where there is none."""
    return _module_in(host, kernel, _MODULE_FOLDERS)


def weak_module_file(host: Host, kernel: str) -> str | None:
    """Path of the link by which a kernel uses the module that was built for another; None where it uses none.

    :raises Unreadable: where a folder or the list of modules is there and cannot be read.
    """
    path = _module_in(host, kernel, (_WEAK_FOLDER,))
    if path is None or not host.exists(path):
        return None
    if in_tree_module_file(host, kernel) is None:
        return path
    # Red Hat's depmod prefers the kernel's own module unless it is told otherwise; what it chose is in its list.
    chosen = (read_optional(host, f"{_KERNELS}/{kernel}/modules.dep") or b"").decode("utf-8", "replace")
    return path if f"\n{_WEAK_FOLDER}/{path.rpartition('/')[2]}:" in f"\n{chosen}" else None


def in_tree_module_file(host: Host, kernel: str) -> str | None:
    """Path of the amdgpu module that came with a kernel; None where there is none."""
    return _module_in(host, kernel, (_IN_TREE_FOLDER,))


def _builds(host: Host, version: str, links: dict[str, str]) -> list[Build]:
    pairs = [
        (kernel, arch)
        for kernel in list_optional(host, f"{TREE}/{version}")
        if kernel not in ("source", "build")
        for arch in list_optional(host, f"{TREE}/{version}/{kernel}")
        if host.exists(f"{TREE}/{version}/{kernel}/{arch}/module")
    ]
    if not pairs:
        return [Build(version, None, None, "added")]
    return [Build(version, kernel, arch, _state(host, version, kernel, arch, links)) for kernel, arch in pairs]


def _state(host: Host, version: str, kernel: str, arch: str, links: dict[str, str]) -> str:
    if links.get(f"{_LINK}{kernel}-{arch}") == f"{version}/{kernel}/{arch}":
        return "installed" if module_file(host, kernel) else "broken"
    return "built" if _modules(list_optional(host, f"{TREE}/{version}/{kernel}/{arch}/module")) else "broken"


def _weak(host: Host, builds: list[Build]) -> list[Build]:
    """Rows of the kernels that use a module built for another: links in their trees tell which."""
    owners = {build.kernel: build for build in builds if build.state == "installed"}
    if not owners:
        return []
    pairs = ((kernel, _linked_kernel(host, kernel)) for kernel in list_optional(host, _KERNELS))
    return [owners[origin]._replace(kernel=kernel, built_for=origin) for kernel, origin in pairs if origin in owners]


def _linked_kernel(host: Host, kernel: str) -> str | None:
    path = weak_module_file(host, kernel)
    try:
        target = host.readlink(path) if path else ""
    except Unreadable:
        return None
    return target[len(_KERNELS) + 1 :].partition("/")[0] if target.startswith(f"{_KERNELS}/") else None


def _told(match: re.Match[str]) -> Build:
    state = match["state"].replace("-weak", "")
    differs = state == "installed" and "diff between built and installed" in match["note"].lower()
    return Build(match["version"], match["kernel"], match["arch"], "differs" if differs else state, match["origin"])


def _module_in(host: Host, kernel: str, folders: tuple[str, ...]) -> str | None:
    for folder in folders:
        path = f"/lib/modules/{kernel}/{folder}"
        found = _modules(list_optional(host, path))
        if found:
            return f"{path}/{found[0]}"
    return None


def _modules(names: list[str]) -> list[str]:
    return [name for name in names if name == _MODULE or name.startswith(f"{_MODULE}.")]
