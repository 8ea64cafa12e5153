# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel driver: what is loaded, what is installed, and whether the next boot will have it."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import grub_next_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.packages import as_facts, driver_packages
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import Tree, in_tree_module_file, read_tree
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    module_of_driver_package,
    release_of_driver_package,
)

SUBSET = "driver"
PACKAGE = "amdgpu-dkms"

_MODULE = "/sys/module/amdgpu"
# Only AMD's own build brings this helper, whatever it says about its version.
_HELPER = "/sys/module/amdttm"


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``driver`` part of the facts."""
    reading = Reading(host, problems, SUBSET)
    packages = driver_packages(host, reading)
    tree = _tree(host, reading)
    facts = _loaded(host, reading)
    facts["installed"] = _installed(reading, packages)
    facts["packages"] = as_facts(packages)
    facts["dkms"] = [build._asdict() for build in tree.builds] if tree else None
    facts["stale_trees"] = tree.stale if tree else None
    facts["ready_for_next_boot"] = _ready(host, reading, packages, tree, facts["installed"])
    return {"driver": facts}


def _loaded(host: Host, reading: Reading) -> dict:
    if not host.exists(_MODULE):
        return {"loaded": False, "version": None, "srcversion": None, "origin": None}
    version = _optional(host, reading, f"{_MODULE}/version")
    origin = "dkms" if version or host.exists(_HELPER) else "in-tree"
    srcversion = reading.text(f"{_MODULE}/srcversion")
    reading.tell_absent("not there")
    return {"loaded": True, "version": version, "srcversion": srcversion, "origin": origin}


def _optional(host: Host, reading: Reading, path: str) -> str | None:
    # The module that comes with the kernel has no version: that is an answer, not a problem.
    try:
        return host.read(path).strip() or None
    except Unreadable as error:
        if not error.missing:
            reading.problem(path, error.seen)
        return None


def _tree(host: Host, reading: Reading) -> Tree | None:
    try:
        return read_tree(host)
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None


def _installed(reading: Reading, packages: dict[str, Package] | None) -> dict | None:
    package = (packages or {}).get(PACKAGE)
    if package is None or package.state == "config-files":
        return None
    if package.state != "installed":
        reading.problem(PACKAGE, f"{package.state}, which is not installed")
        return None
    module, build = module_of_driver_package(package.version) or (None, None)
    if module is None:
        reading.problem(PACKAGE, f"version not understood: {package.version!r}")
    release = release_of_driver_package(package.version)
    return {"module": module, "build": build, "release": release, "package_version": package.version}


def _ready(
    host: Host, reading: Reading, packages: dict[str, Package] | None, tree: Tree | None, installed: dict | None,
) -> bool | None:  # fmt: skip
    """True where the kernel that boots next has the driver that is installed; None where that cannot be told."""
    try:
        kernel = grub_next_entry(host).kernel
        if packages is None or tree is None:
            return None
        package = packages.get(PACKAGE)
        if package is None or package.state == "config-files":
            return in_tree_module_file(host, kernel) is not None
    except FleetError as error:
        reading.problem("ready_for_next_boot", str(error))
        return None
    if installed is None:
        return False
    return tree.installed(f"{installed['module']}-{installed['build']}", kernel)
