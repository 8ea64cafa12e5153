# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a BMC says, as an audit joins it to the facts of a node; and targets that ask for it."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry

BMC, BUNDLE = ("bmc", "2.16.0"), ("gpu_bundle", "01.26.00.04")
SCHEMES = {"gpu_bundle": "dotted"}


def row(component: str, version: str, **more: Any) -> dict[str, Any]:
    """A row of wanted firmware."""
    return {"component": component, "version": version, "image": f"{component}.bin", "sha256": "0" * 64, **more}


def entry(component: str, version: str | None, **more: Any) -> dict[str, Any]:
    """An entry of an inventory."""
    uri = f"/redfish/v1/UpdateService/FirmwareInventory/{component}"
    scheme = SCHEMES.get(component, "maker")
    plain = Entry(uri, component, component, None, version, "running", "Enabled", "OK", True, None, component, scheme)
    return {**plain.as_dict(), **more}


def told(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a BMC says of these entries."""
    firmware = {"entries": list(entries), "machine": {"products": [], "part_numbers": []}, "problems": []}
    return {"address": True, "firmware": firmware, **more}


def silent(code: str, part: str = "firmware") -> dict[str, Any]:
    """A BMC that says nothing of a part."""
    return {"address": True, part: {"code": code, "why": f"BMC 10.0.0.9: does not answer [{code}]"}}


def item(applied: str, wanted: str, staged: str | None = None) -> dict[str, Any]:
    """A BIOS setting, SMT, as a prediction tells it."""
    do = "nothing" if applied == wanted and staged is None else "boot" if staged == wanted else "stage"
    about = {"key": "smt", "attribute": "SMTControl", "status": "verified"}
    return {**about, "applied": applied, "wanted": wanted, "staged": staged, "do": do}


def settings(*rows: dict[str, Any]) -> dict[str, Any]:
    """What a BMC says of BIOS settings."""
    return {"address": True, "bios": {"rows": list(rows)}}
