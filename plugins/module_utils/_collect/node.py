# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node itself: its name, boot, kernels, operating system and free space."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import (
    Menu,
    new_kernels_cmdline,
    read_menu,
    rows,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._space import largest_initrd

SUBSET = "node"

_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_PLACES = ("/", "/boot", "/opt", "/var")
# The boot loader adds these; they name the kernel and say nothing about its settings.
_OF_THE_LOADER = frozenset({"BOOT_IMAGE", "initrd"})


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``node`` part of the facts; sizes in bytes, uptime in seconds."""
    reading = Reading(host, problems, SUBSET)
    menu = _menu(host, reading)
    facts = {
        "host": reading.text("/proc/sys/kernel/hostname"),
        "boot_id": reading.text("/proc/sys/kernel/random/boot_id"),
        "uptime_seconds": reading.parsed("/proc/uptime", _uptime),
        "machine_id": reading.text("/etc/machine-id"),
        "kernel": _kernel(host, reading, menu),
        "boot_loader": menu.loader if menu else None,
        "boot_entries": rows(menu) if menu else None,
        "os": _os(reading),
        "secure_boot": _secure_boot(host, reading),
        "free_bytes": {place: _free(host, reading, place) for place in _PLACES},
        "initrd_bytes": _initrd(host, reading),
    }
    reading.tell_absent("not there")
    return {"node": facts}


def settings_of(cmdline: str) -> list[str]:
    """Arguments of a command line without those of the boot loader."""
    return [token for token in tokens(cmdline) if key_of(token) not in _OF_THE_LOADER]


def _menu(host: Host, reading: Reading) -> Menu | None:
    try:
        menu = read_menu(host)
    except FleetError as error:
        reading.problem("boot entries", str(error))
        return None
    if menu.reason:
        reading.problem("next boot", menu.reason)
    return menu


def _kernel(host: Host, reading: Reading, menu: Menu | None) -> dict:
    entry = menu.next if menu else None
    return {
        "running": reading.text("/proc/sys/kernel/osrelease"),
        "cmdline": reading.parsed("/proc/cmdline", settings_of),
        "next_boot": entry.kernel if entry else None,
        "next_boot_cmdline": entry.cmdline if entry else None,
        "new_kernels_cmdline": _new_kernels(host, reading),
    }


def _new_kernels(host: Host, reading: Reading) -> list[str] | None:
    try:
        return new_kernels_cmdline(host)
    except Unreadable as error:
        reading.problem(error.subject, error.seen)
        return None


def _uptime(text: str) -> float | None:
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return None


def _os(reading: Reading) -> dict:
    text = reading.raw("/etc/os-release") or ""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {
        key: fields[name].strip().strip("\"'") if name in fields else None
        for key, name in (("id", "ID"), ("version", "VERSION_ID"), ("name", "PRETTY_NAME"))
    }


def _secure_boot(host: Host, reading: Reading) -> bool | None:
    try:
        content = host.read_bytes(_SECURE_BOOT)
    except Unreadable as error:
        if error.missing and _without_efi(host):
            return False
        reading.problem("secure boot", "no EFI variable for it" if error.missing else error.seen)
        return None
    # Four bytes of attributes stand before the one byte of the variable.
    if len(content) != 5 or content[4] > 1:
        reading.problem("secure boot", f"not understood: {content[:8]!r}")
        return None
    return content[4] == 1


def _without_efi(host: Host) -> bool:
    """True where the machine was started by a BIOS, which knows no Secure Boot: its other tables are there."""
    try:
        names = host.list("/sys/firmware")
    except Unreadable:
        return False
    # A container that hides the folder shows an empty one.
    return bool(names) and "efi" not in names


def _free(host: Host, reading: Reading, place: str) -> int | None:
    try:
        return host.free_bytes(place)
    except Unreadable as error:
        reading.problem(f"free space of {place}", error.seen)
        return None


def _initrd(host: Host, reading: Reading) -> int | None:
    try:
        return largest_initrd(host)
    except Unreadable as error:
        reading.problem("size of the initrd", f"{error.subject}: {error.seen}")
        return None
