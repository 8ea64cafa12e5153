# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine: its maker, model, board and BIOS, from DMI."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "platform"

_DMI = "/sys/class/dmi/id"
_FIELDS = {
    "vendor": "sys_vendor",
    "product": "product_name",
    "bios_version": "bios_version",
    "bios_date": "bios_date",
    "board": "board_name",
}


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``platform`` part of the facts: texts as the maker wrote them."""
    reading = Reading(host, problems, SUBSET)
    facts = {key: reading.text(f"{_DMI}/{name}") for key, name in _FIELDS.items()}
    reading.tell_absent("not there")
    return {"platform": facts}
