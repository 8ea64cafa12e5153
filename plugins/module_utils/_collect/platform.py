# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine: its maker, model, board and BIOS, from DMI, and its processor."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "platform"

_DMI = "/sys/class/dmi/id"
_FIELDS = {
    "vendor": "sys_vendor",
    "product": "product_name",
    "bios_version": "bios_version",
    "bios_date": "bios_date",
    "bios_release": "bios_release",
    "board": "board_name",
}
_CPUINFO = "/proc/cpuinfo"
# The first processor stands in these bytes; the file of a large machine is half a megabyte.
_FIRST_PROCESSOR = 8192
# What makers leave in a field that they did not fill.
_UNSET = frozenset({
    "empty", "none", "n/a", "not specified", "not applicable", "unknown", "default string", "system manufacturer",
    "system product name", "system version", "to be filled by o.e.m.", "to be filled by oem", "o.e.m.", "oem",
    "invalid", "0123456789", "xxxxxxxxxxxx", "--",
})  # fmt: skip


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``platform`` part of the facts: texts as the maker wrote them."""
    reading = Reading(host, problems, SUBSET)
    facts: dict = {key: reading.parsed(f"{_DMI}/{name}", _set_by_maker) for key, name in _FIELDS.items()}
    facts.update(_processor(reading))
    reading.tell_absent("not there")
    return {"platform": facts}


def _set_by_maker(text: str) -> str | None:
    stripped = text.strip().strip("\0")
    return None if not stripped or stripped.lower() in _UNSET else stripped


def _processor(reading: Reading) -> dict:
    fields = _first_processor(reading)
    flags = fields.get("flags")
    if fields and not flags:
        reading.problem(_CPUINFO, "has no flags, which would tell whether this is a virtual machine")
    vendor, model = fields.get("vendor_id"), fields.get("model name")
    if fields and not (vendor and model):
        reading.problem(_CPUINFO, "does not name the processor")
    virtual = "hypervisor" in flags.split() if flags else None
    return {"cpu_vendor": vendor or None, "cpu_model": model or None, "virtual_machine": virtual}


def _first_processor(reading: Reading) -> dict[str, str]:
    try:
        content = reading.host.read_range(_CPUINFO, 0, _FIRST_PROCESSOR)
    except Unreadable as error:
        reading.problem(_CPUINFO, error.seen)
        return {}
    text = content.decode("utf-8", "replace").split("\n\n", 1)[0]
    lines = [line.partition(":") for line in text.splitlines()]
    return {key.strip(): value.strip() for key, colon, value in lines if colon}
