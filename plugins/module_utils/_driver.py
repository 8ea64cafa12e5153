# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The driver on the node: what dkms has built, what is left over, whether the installed module is the loaded one."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils import _apt
from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import grub_next_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import TREE, read_tree
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, TransactionFailed, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import (
    list_optional,
    remember_for_this_boot,
    remembered,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import module_of_driver_package

DRIVER = "amdgpu-dkms"
LOADED = "/sys/module/amdgpu/version"
RUNNING_KERNEL = "/proc/sys/kernel/osrelease"

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+~]*-[0-9A-Za-z.+~]+")


def dkms_version(version: str) -> str | None:
    """What dkms calls the module of a driver package: ``6.14.14-2226257.22.04``; None for no such package version."""
    pair = module_of_driver_package(version)
    return "-".join(pair) if pair else None


def stale_trees(host: Host, in_use: set[str]) -> list[str]:
    """Folders that dkms takes for a module though their source is gone; those stop every dkms command.

    :param in_use: package versions of the driver that are, or are to be, installed: their folders are never stale.
    """
    used = {dkms_version(version) for version in in_use}
    return [
        f"{TREE}/{name}"
        for name in read_tree(host).stale
        if _VERSION.fullmatch(name) and name not in used
    ]


def remove_stale(host: Host, trees: list[str]) -> None:
    """Remove exactly these folders, each of which must be one version's folder and no link to elsewhere."""
    for path in trees:
        name = path[len(TREE) + 1 :]
        if path == f"{TREE}/{name}" and _VERSION.fullmatch(name) and host.realpath(path) == path:
            host.remove_tree(path)


def next_kernel(host: Host) -> str:
    """Release of the kernel that boots next; of the running one where the boot loader does not tell."""
    try:
        return grub_next_entry(host).kernel
    except FleetError:
        return host.read(RUNNING_KERNEL).strip()


def built(host: Host, version: str) -> bool:
    """True where the kernel that boots next has the driver of a package version, by dkms's tree and by its own."""
    return read_tree(host).installed(dkms_version(version) or "", next_kernel(host))


def build(host: Host, version: str, timeout: float) -> None:
    """Have dkms install the driver for the kernel that boots next, where the package's own script has not.

    :raises TransactionFailed: dkms_build_failed, where it cannot.
    """
    if built(host, version):
        return
    module, kernel = dkms_version(version), next_kernel(host)
    # What dkms takes for installed it leaves as it is, though the module be gone from the kernel's tree.
    lost = any(name.startswith(f"kernel-{kernel}-") for name in list_optional(host, TREE))
    argv = ["dkms", "install", f"amdgpu/{module}", "-k", kernel, *(["--force"] if lost else [])]
    done = host.run(argv, timeout=timeout)
    if done.rc != 0 or not built(host, version):
        output = done.out + done.err
        kind = "disk_full" if _apt.classify(output).kind == "disk_full" else "dkms_build_failed"
        raise TransactionFailed(
            kind,
            f"driver {module}",
            f"does not build for kernel {kernel}, which boots next",
            f"dkms: amdgpu/{module}, {kernel}: installed",
            f"do not reboot; read {TREE}/{module}/build/"
            f"make.log; check that the headers of {kernel} are installed; roll back",
            output,
        )


def remember_driver(host: Host, present: dict[str, Package]) -> None:
    """Keep which driver package the node booted with, before it is changed."""
    package = present.get(DRIVER)
    remember_for_this_boot(host, "driver", package.version if package else "")


def reboot_required(host: Host, present: dict[str, Package], earlier: dict[str, Package]) -> bool:
    """True where the loaded module is not the one of the installed driver package.

    Releases 30.10.0 to 30.10.2 have the same module version, so the package the node booted with counts as well.

    :param earlier: the packages before the change that ``present`` is the result of; the same where there is none.
    """
    package, loaded, booted = present.get(DRIVER), _loaded(host), remembered(host, "driver")
    if package is None:
        return loaded is not None
    if booted is None:
        booted = earlier[DRIVER].version if DRIVER in earlier else ""
    pair = module_of_driver_package(package.version)
    return loaded != (pair[0] if pair else None) or booted != package.version


def _loaded(host: Host) -> str | None:
    try:
        return host.read(LOADED).strip()
    except Unreadable as error:
        if error.missing:
            return None
        raise
