# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD's packages on the node, split between the driver and the user space."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    DPKG_STATUS,
    Package,
    dpkg_packages,
    package_manager,
)

_OF_DRIVER = ("amdgpu-dkms", "amdgpu-core", "amdgpu-install", "rock-dkms")


def driver_packages(host: Host, reading: Reading) -> dict[str, Package] | None:
    """Packages of the kernel driver by name; None where the database cannot be read."""
    found = _known(host, reading)
    return None if found is None else {name: found[name] for name in found if name.startswith(_OF_DRIVER)}


def rocm_packages(host: Host, reading: Reading) -> dict[str, Package] | None:
    """AMD's other packages by name; None where the database cannot be read."""
    found = _known(host, reading)
    return None if found is None else {name: found[name] for name in found if not name.startswith(_OF_DRIVER)}


def as_facts(packages: dict[str, Package] | None) -> dict[str, dict] | None:
    """The shape of the facts: by name, in order."""
    if packages is None:
        return None
    return {
        name: {"version": package.version, "state": package.state, "hold": package.hold}
        for name, package in sorted(packages.items())
    }


def _known(host: Host, reading: Reading) -> dict[str, Package] | None:
    manager = package_manager(host)
    if manager != "apt":
        reading.problem("packages", f"the database of {manager or 'an unknown package manager'} is not read")
        return None
    try:
        found = dpkg_packages(host)
    except FleetError as error:
        reading.problem(DPKG_STATUS, error.seen)
        return None
    return {name: package for name, package in found.items() if package.state != "not-installed"}
