# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD's packages on the node, split between the driver and the user space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    Package,
    dpkg_packages,
    package_manager,
    rpm_packages,
)

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.module_utils._collect import yum
else:
    yum = Later("ansible_collections.fleetops.instinct.plugins.module_utils._collect.yum")

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
    if manager is None:
        reading.problem("packages", "neither dpkg, dnf nor zypper is on the node")
        return None
    try:
        return _of_dpkg(host) if manager == "apt" else _of_rpm(host, reading, manager)
    except FleetError as error:
        reading.problem(error.subject, error.seen)
        return None


def _of_dpkg(host: Host) -> dict[str, Package]:
    packages = host.made(dpkg_packages)
    return {name: package for name, package in packages.items() if package.state != "not-installed"}


def _of_rpm(host: Host, reading: Reading, manager: str) -> dict[str, Package]:
    packages, twice = rpm_packages(host)
    for name in sorted(twice):
        reading.problem(name, "installed in two versions: a transaction broke off")
    locked = yum.locks(reading, manager)
    if locked is None:
        return packages
    return {name: package._replace(hold=yum.is_locked(name, locked)) for name, package in packages.items()}
