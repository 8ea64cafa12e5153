# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the initramfs of the next boot holds of the driver; slow, as all of it is unpacked."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import read_menu
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.next_driver import MODULE, initramfs_of
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._initramfs import Contents, look_into

SUBSET = "initramfs"


def collect(host: Host, problems: list[dict]) -> dict:
    """What is added to ``driver``: nothing where it is not known which initramfs the next boot starts with."""
    reading = Reading(host, problems, SUBSET)
    try:
        entry = read_menu(host).next
        path = initramfs_of(host, entry.kernel) if entry and entry.kernel else None
        found = look_into(host, path, MODULE) if path else None
    except FleetError as error:
        reading.problem(error.subject, error.seen)
        return {}
    if found is None:
        reading.problem("initramfs", "not known, or not there, for the kernel that boots next")
        return {}
    if found.unread:
        reading.problem(str(path), found.unread)
    return {"driver": {"next_boot": {"initramfs": _facts(found)}}}


def _facts(found: Contents) -> dict:
    # What was not found may be in the part that could not be read.
    absent = None if found.unread else False
    return {"holds_module": found.module or absent, "holds_blacklist": found.blacklist or absent}
