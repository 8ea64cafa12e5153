# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Arguments of a kernel command line: which there are, and which have an effect. Pure."""

from __future__ import annotations

import re

# Every occurrence of these is read by the kernel, and their values are lists; of other keys the last one counts.
_LISTS = frozenset({"pci", "iommu", "amd_iommu", "intel_iommu", "modprobe.blacklist", "module_blacklist"})
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


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
