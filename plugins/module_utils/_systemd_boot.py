# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The menu of systemd-boot: its entries, its configuration, and what the EFI variables say of both."""

from __future__ import annotations

import fnmatch
from functools import cmp_to_key
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._grub import Item, compare_versions, parse_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

_VARIABLE = "/sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_PARTITIONS = ("/efi", "/boot/efi", "/boot")


class Found(NamedTuple):
    """Entries in the menu's order, the one that boots next or why that cannot be told, whether it is so only once."""

    items: list[Item]
    next: Item | None
    reason: str
    once: bool


class _Entry(NamedTuple):
    item: Item
    name: str
    sort_key: str
    version: str
    spent: bool


def in_charge(host: Host) -> bool | None:
    """Whether systemd-boot started this machine, by what the loader left in the EFI variables; None where none did."""
    loader = _variable(host, "LoaderInfo")
    return loader.startswith("systemd-boot") if loader else None


def read(host: Host) -> Found | None:
    """The menu of systemd-boot; None where none of its files is there.

    :raises Unreadable: where one is there and cannot be read.
    """
    config = _config(host)
    entries = [entry for partition in _PARTITIONS for entry in _entries(host, f"{partition}/loader/entries")]
    if config is None and not entries:
        return None
    entries.sort(key=cmp_to_key(_order))
    items = [entry.item for entry in entries]
    once = _variable(host, "LoaderEntryOneShot")
    pattern = once or _variable(host, "LoaderEntryDefault") or (config or {}).get("default", "")
    chosen = _matching(entries, pattern) if pattern else None
    if chosen is not None:
        return Found(items, chosen, f"a one-time choice is made: {once}" if once else "", bool(once))
    images = [name for partition in _PARTITIONS for name in list_optional(host, f"{partition}/EFI/Linux")]
    return _without_choice(items, pattern, once, [name for name in images if name.lower().endswith(".efi")])


def _without_choice(items: list[Item], pattern: str, once: str, images: list[str]) -> Found:
    if once or pattern.startswith("@"):
        return Found(items, None, f"default is {once or pattern!r}, which is no entry that is known", bool(once))
    if images:
        return Found(items, None, f"unified images are in the menu as well: {', '.join(images[:3])}", False)
    # A pattern that matches nothing leaves the first entry, as none does.
    return Found(items, items[0] if items else None, "" if items else "the menu is empty", False)


def _config(host: Host) -> dict[str, str] | None:
    for partition in _PARTITIONS:
        try:
            text = host.read(f"{partition}/loader/loader.conf")
        except Unreadable as error:
            if error.missing:
                continue
            raise
        pairs = (line.strip().split(None, 1) for line in text.splitlines() if not line.strip().startswith("#"))
        return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
    return None


def _entries(host: Host, folder: str) -> list[_Entry]:
    names = [name for name in list_optional(host, folder) if name.lower().endswith(".conf")]
    return [_parsed(name, host.read(f"{folder}/{name}")) for name in names]


def _parsed(name: str, text: str) -> _Entry:
    # name+3-0.conf counts attempts to boot: three are left, none was made.
    plain, plus, counters = name[:-5].partition("+")
    counted = bool(plus) and counters.replace("-", "").isdecimal()
    name = f"{plain}.conf" if counted else name
    item = parse_entry(name[:-5], text)
    pairs = (line.strip().split(None, 1) for line in text.splitlines())
    keys = {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
    spent = counted and counters.split("-")[0].strip("0") == ""
    return _Entry(item, name, keys.get("sort-key", ""), keys.get("version", ""), spent)


def _order(left: _Entry, right: _Entry) -> int:
    if left.spent != right.spent:
        return 1 if left.spent else -1
    if bool(left.sort_key) != bool(right.sort_key):
        return -1 if left.sort_key else 1
    if left.sort_key and left.sort_key != right.sort_key:
        return -1 if left.sort_key < right.sort_key else 1
    return compare_versions(right.version, left.version) or compare_versions(right.name, left.name)


def _matching(entries: list[_Entry], pattern: str) -> Item | None:
    wanted = pattern.lower()
    names = (wanted, f"{wanted}.conf")
    return next((e.item for e in entries if any(fnmatch.fnmatchcase(e.name.lower(), name) for name in names)), None)


def _variable(host: Host, name: str) -> str:
    try:
        content = host.read_bytes(_VARIABLE % name)
    except Unreadable as error:
        if error.missing:
            return ""
        raise
    # Four bytes of attributes stand before the text.
    return content[4:].decode("utf-16-le", "replace").rstrip("\0")
