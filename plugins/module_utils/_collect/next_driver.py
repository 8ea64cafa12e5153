# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver that a kernel would load: its file, what would keep it out, and the age of the initramfs beside it."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import Entry
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import (
    in_tree_module_file,
    module_file,
    weak_module_file,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import Line, keeping_out
from ansible_collections.fleetops.instinct.plugins.module_utils._module_file import ModuleFile, read_module

MODULE = "amdgpu"

# Debian and Ubuntu, Red Hat, SUSE.
_INITRAMFS = ("/boot/initrd.img-%s", "/boot/initramfs-%s.img", "/boot/initrd-%s")


class Module(NamedTuple):
    """The file that modprobe would load for a kernel, its origin (dkms or in-tree), and what it says of itself."""

    path: str | None
    origin: str | None
    fields: ModuleFile | None


def modules_of(host: Host, reading: Reading, kernels: set[str]) -> dict[str, Module]:
    """The module of each kernel; what cannot be had is None, with a row where it is there and cannot be read."""
    return {kernel: _module(host, reading, kernel) for kernel in sorted(kernels)}


def next_driver(host: Host, reading: Reading, entry: Entry, module: Module, lines: list[Line] | None) -> dict:
    """``next_boot`` of the driver's facts.

    :param module: the one of the entry's kernel.
    :param lines: of modprobe's folders, those that keep the module out; None where they could not be read.
    """
    fields = module.fields
    return {
        "kernel": entry.kernel,
        "module_file": module.path,
        "origin": module.origin,
        "version": fields.version if fields else None,
        "srcversion": fields.srcversion if fields else None,
        "signed": fields.signed if fields else None,
        "kept_out_by": _kept_out_by(entry, lines),
        "initramfs": _initramfs(host, reading, str(entry.kernel), module.path),
    }


def initramfs_of(host: Host, kernel: str) -> str | None:
    """Path of a kernel's initramfs; None where it is at none of the usual places."""
    return next((name % kernel for name in _INITRAMFS if host.exists(name % kernel)), None)


def _module(host: Host, reading: Reading, kernel: str) -> Module:
    path, origin = None, None
    try:
        path, origin = module_file(host, kernel) or weak_module_file(host, kernel), "dkms"
        if path is None:
            path, origin = in_tree_module_file(host, kernel), "in-tree"
        return Module(path, origin, read_module(host, path)) if path else Module(None, None, None)
    except FleetError as error:
        reading.problem(error.subject, error.seen)
        return Module(path, origin if path else None, None)


def _kept_out_by(entry: Entry, lines: list[Line] | None) -> list[str] | None:
    if entry.cmdline is None or lines is None:
        return None
    return [*(f"{row.file}: {row.line}" for row in lines), *keeping_out(entry.cmdline, MODULE)]


def _initramfs(host: Host, reading: Reading, kernel: str, module: str | None) -> dict:
    path = initramfs_of(host, kernel)
    older = _older(host, reading, path, module) if path and module else None
    return {"path": path, "older_than_module": older, "holds_module": None, "holds_blacklist": None}


def _older(host: Host, reading: Reading, path: str, module: str) -> bool | None:
    try:
        ours, theirs = host.stat(path).modified, host.stat(module).modified
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None
    if ours is None or theirs is None:
        reading.problem(path, "the times of the initramfs and of the module are not known")
        return None
    return ours < theirs
