# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel driver: what is loaded, what is installed, and whether the next boot will have it."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import Entry, read_menu
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.build import build_facts
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.next_driver import (
    MODULE,
    Module,
    modules_of,
    next_driver,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.packages import as_facts, driver_packages
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import (
    Tree,
    in_tree_module_file,
    parse_dkms_status,
    read_tree,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import Line, blacklists
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    module_of_driver_package,
    release_of_driver_package,
)

SUBSET = "driver"
PACKAGE = "amdgpu-dkms"

_MODULE = f"/sys/module/{MODULE}"
# Only AMD's own build brings this helper, whatever it says about its version.
_HELPER = "/sys/module/amdttm"
# Of a package that is removed configuration files may be left; one that never was is treated as the same.
_NONE = Package(PACKAGE, "", "config-files", False)
_RUNNING_KERNEL = "/proc/sys/kernel/osrelease"
_COMPUTE_DEVICE = "/dev/kfd"
_FIRMWARE = ("/lib/firmware/amdgpu", "/lib/firmware/updates/amdgpu")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``driver`` part of the facts."""
    reading = Reading(host, problems, SUBSET)
    packages = driver_packages(host, reading)
    tree = _tree(host, reading)
    entry = _next_entry(host, reading)
    lines = _blacklists(host, reading)
    facts = _loaded(host, reading)
    running = reading.text(_RUNNING_KERNEL) if facts["loaded"] else None
    reading.tell_absent("not there")
    following = entry.kernel if entry else None
    modules = modules_of(host, reading, {kernel for kernel in (running, following) if kernel})
    facts["compute_device"] = host.exists(_COMPUTE_DEVICE)
    facts["installed"] = _installed(reading, packages)
    facts["packages"] = as_facts(packages)
    facts["dkms"] = [build._asdict() for build in tree.builds] if tree else None
    facts["stale_trees"] = tree.stale if tree else None
    facts["loaded_is_installed"] = _loaded_is_installed(facts, running, modules, tree, packages)
    facts["blacklists"] = [line._asdict() for line in lines] if lines is not None else None
    facts["firmware_files"] = {folder: _count(host, reading, folder) for folder in _FIRMWARE}
    facts["next_boot"] = next_driver(host, reading, entry, modules[following], lines) if entry and following else None
    facts["build"] = build_facts(host, reading, following)
    facts["ready_for_next_boot"] = _ready(host, reading, entry, packages, tree, facts["installed"])
    return {"driver": facts}


def _loaded(host: Host, reading: Reading) -> dict:
    if not host.exists(_MODULE):
        return {"loaded": False, "version": None, "srcversion": None, "origin": None, "taint": None}
    version = _optional(host, reading, f"{_MODULE}/version")
    origin = "dkms" if version or host.exists(_HELPER) else "in-tree"
    srcversion = reading.text(f"{_MODULE}/srcversion")
    # An empty one is an answer: the kernel holds nothing against the module.
    taint = reading.parsed(f"{_MODULE}/taint", str.strip)
    reading.tell_absent("not there")
    return {"loaded": True, "version": version, "srcversion": srcversion, "origin": origin, "taint": taint}


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
    return _asked_tree(host, reading)


def _asked_tree(host: Host, reading: Reading) -> Tree | None:
    """What the dkms program says, which is asked only where its tree cannot be read."""
    try:
        done = host.run(["dkms", "status", "-m", MODULE], timeout=30.0)
    except FleetError as error:
        reading.problem("dkms status", error.seen)
        return None
    status = parse_dkms_status(f"{done.out}\n{done.err}")
    if status.builds is None or done.rc != 0:
        reading.problem("dkms status", status.error or f"ended with {done.rc}")
        return None
    return Tree(status.builds, status.stale)


def _next_entry(host: Host, reading: Reading) -> Entry | None:
    try:
        menu = read_menu(host)
    except FleetError as error:
        reading.problem("next_boot", str(error))
        return None
    if menu.next is None or menu.next.kernel is None:
        reading.problem("next_boot", menu.reason or "the entry that boots next names no kernel release")
    return menu.next


def _blacklists(host: Host, reading: Reading) -> list[Line] | None:
    try:
        return blacklists(host, MODULE)
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None


def _count(host: Host, reading: Reading, folder: str) -> int | None:
    try:
        return len(host.list(folder))
    except Unreadable as error:
        if error.missing:
            return 0
        reading.problem(folder, error.seen)
        return None


def _loaded_is_installed(
    facts: dict,
    kernel: str | None,
    modules: dict[str, Module],
    tree: Tree | None,
    packages: dict[str, Package] | None,
) -> bool | None:
    """Whether the loaded module is the file that is installed for the running kernel; None where that is not known.

    Releases such as 30.10.1 and 30.10.2 share the version of the module, not the digest of its sources.
    """
    if kernel is None or packages is None or tree is None:
        return None
    installed = facts["installed"]
    if installed is None and packages.get(PACKAGE, _NONE).state != "config-files":
        return None
    if installed and not tree.installed(f"{installed['module']}-{installed['build']}", kernel):
        return False
    fields = modules[kernel].fields
    if fields is None or fields.srcversion is None or facts["srcversion"] is None:
        return None
    return fields.srcversion == facts["srcversion"]


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
    host: Host,
    reading: Reading,
    entry: Entry | None,
    packages: dict[str, Package] | None,
    tree: Tree | None,
    installed: dict | None,
) -> bool | None:
    """True where the kernel that boots next has the driver that is installed; None where that cannot be told."""
    if entry is None or entry.kernel is None or packages is None or tree is None:
        return None
    if packages.get(PACKAGE, _NONE).state == "config-files":
        try:
            return in_tree_module_file(host, entry.kernel) is not None
        except Unreadable as error:
            reading.problem("ready_for_next_boot", str(error))
            return None
    if installed is None:
        return False
    return tree.installed(f"{installed['module']}-{installed['build']}", entry.kernel)
