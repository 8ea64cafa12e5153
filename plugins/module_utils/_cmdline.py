# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel command line: the one that runs, and the one that boots next."""

from __future__ import annotations

import re
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

GRUB_CFG = "/boot/grub/grub.cfg"
GRUB_ENV = "/boot/grub/grubenv"

# Every occurrence of these is read by the kernel, and their values are lists; of other keys the last one counts.
_LISTS = frozenset({"pci", "iommu", "amd_iommu", "intel_iommu", "modprobe.blacklist", "module_blacklist"})
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_DEFAULT = re.compile(r"""^\s*set\s+default=["']?([^"'\n]*)["']?\s*$""", re.MULTILINE)
_FIRST_ENTRY = re.compile(r"^\s*menuentry\s.*?^\s*}", re.MULTILINE | re.DOTALL)
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)[ \t]*(.*)$", re.MULTILINE)


class BootEntry(NamedTuple):
    """What boots next: ``kernel`` is a release such as ``6.1.0-40-amd64``, ``cmdline`` its arguments."""

    kernel: str
    cmdline: list[str]


def tokens(text: str) -> list[str]:
    """The arguments of a command line in order, as written; blanks inside double quotes do not split."""
    return _WORD.findall(text)


def key_of(token: str) -> str:
    """Name of an argument; the kernel takes ``-`` and ``_`` in names for the same."""
    return token.split("=", 1)[0].strip('"').replace("-", "_")


def missing(wanted: list[str], present: list[str]) -> list[str]:
    """Those wanted arguments that the command line does not give effect to, in the order wanted.

    A later argument of the same name undoes an earlier one; lists add up: ``pci=a pci=b`` and ``pci=a,b`` are the same.
    """
    return [token for token in wanted if not _in_effect(token, present)]


def grub_next_cmdline(host: Host) -> list[str] | None:
    """Arguments of the entry that boots next; None where that cannot be told (:func:`grub_next_entry` says why)."""
    try:
        return grub_next_entry(host).cmdline
    except FleetError:
        return None


def grub_next_entry(host: Host) -> BootEntry:
    """The first entry of grub.cfg, which boots next unless a default or a one-time choice says otherwise.

    :raises Unreadable: where there is no grub.cfg or it cannot be read.
    :raises ParseError: where another entry than the first boots next, or the first starts no kernel.
    """
    text = host.read(GRUB_CFG)
    _refuse_other_default(text)
    _refuse_one_time_choice(host)
    entry = _FIRST_ENTRY.search(text)
    line = _LINUX.search(entry[0]) if entry else None
    if line is None:
        raise ParseError(GRUB_CFG, "no first entry with a linux line", "a menuentry that starts a kernel")
    # Variables such as Ubuntu's $vt_handoff are only known to grub.
    cmdline = [token for token in tokens(line[2]) if not token.startswith("$")]
    return BootEntry(_release_of_image(line[1]), cmdline)


def _in_effect(token: str, present: list[str]) -> bool:
    key = key_of(token)
    values = [_value(other) for other in present if key_of(other) == key]
    if key not in _LISTS:
        return bool(values) and values[-1] == _value(token)
    parts = [part for value in values for part in value.split(",")]
    return all(_last_of(parts, part) == part for part in _value(token).split(","))


def _value(token: str) -> str:
    return token.partition("=")[2].strip('"')


def _last_of(parts: list[str], wanted: str) -> str | None:
    name = wanted.split("=", 1)[0]
    same = [part for part in parts if part.split("=", 1)[0] == name]
    return same[-1] if same else None


def _release_of_image(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.split("-", 1)[1] if name.startswith("vmlinu") and "-" in name else name


def _refuse_other_default(text: str) -> None:
    chosen = [value for value in _DEFAULT.findall(text) if value != "${next_entry}"]
    if chosen and chosen[-1] not in ("0", ""):
        raise ParseError(GRUB_CFG, f"default is {chosen[-1]!r}", "0, the first entry")


def _refuse_one_time_choice(host: Host) -> None:
    try:
        lines = host.read(GRUB_ENV).splitlines()
    except Unreadable as error:
        if error.missing:
            return
        raise
    once = [line for line in lines if line.startswith("next_entry=") and line != "next_entry="]
    if once:
        raise ParseError(GRUB_ENV, f"{once[0]!r}", "no one-time choice of the next entry")
