# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a flash of firmware resets besides: the boot order and settings of the BIOS, before and after. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import Answer, link

# The value of such an attribute is nobody's business, and is never written down.
_SECRET = re.compile(r"passw|pwd|secret|token|key", re.IGNORECASE)
_PLAIN = (str, int, float, bool)
_MOST = 8


def settings_of(look: Callable[[str], Answer], system: str | None) -> dict[str, Any]:
    """Boot order and attributes of the BIOS as they are now: ``boot_order``, ``attributes``, each null where not told.

    :param system: the URI of the system.
    """
    answer = look(system) if system else Answer(404)
    body = answer.body or {} if answer.good else {}
    boot = body.get("Boot")
    order = boot.get("BootOrder") if isinstance(boot, Mapping) else None
    bios = link(body, "Bios")
    found = (look(bios).body or {}).get("Attributes") if bios else None
    kept = {name: _value(value) for name, value in found.items()} if isinstance(found, Mapping) else None
    return {
        "boot_order": [str(one) for one in order] if isinstance(order, list) and order else None,
        "attributes": kept
        and {name: value for name, value in kept.items() if value is not None and not _SECRET.search(name)},
    }


def _value(value: Any) -> Any:
    # One maker's attributes are objects.
    value = value.get("current_value") if isinstance(value, Mapping) else value
    return value if isinstance(value, _PLAIN) else None


def changed(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[str]:
    """What is another now, in sentences; what either does not tell is left out."""
    before = before or {}
    told = []
    if before.get("boot_order") and after["boot_order"] and before["boot_order"] != after["boot_order"]:
        told.append(f"the boot order was {_list(before['boot_order'])} and is {_list(after['boot_order'])}")
    old, new = before.get("attributes") or {}, after["attributes"] or {}
    others = [f"{name} {value} -> {new[name]}" for name, value in old.items() if name in new and new[name] != value]
    if others:
        more = f" and {len(others) - _MOST} more" if len(others) > _MOST else ""
        told.append(f"settings of the BIOS are others: {', '.join(others[:_MOST])}{more}")
    return told


def _list(order: list[str]) -> str:
    return ",".join(order)
