# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Credentials in addresses, ``https://user:password@host/``: found, and masked. Nothing else knows their form. Pure."""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

# Up to the last @ before the path. A password with a slash in it leads nowhere, and is a secret all the same; a port
# before a path with an @ in it is neither.
_USERINFO = re.compile(r"(?<=://)(?:[^\s/]*|[^\s/@:]*:(?![0-9]*/)[^\s@]*)@")


def found(text: str) -> list[str]:
    """The parts of a text that are credentials, ``user:password`` each; none where they are masked already."""
    return [part for part in (match[:-1] for match in _USERINFO.findall(text)) if part != MASK] if "@" in text else []


def masked(text: str) -> str:
    """The text with ``***`` in place of the credentials in its addresses."""
    return _USERINFO.sub(f"{MASK}@", text) if "@" in text else text


def masked_in(value: Any) -> Any:
    """Plain data with every text in it masked; tuples become lists, as JSON would have them."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {masked_in(key): masked_in(inner) for key, inner in value.items()}
    return [masked_in(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def found_in(value: Any) -> list[str]:
    """The credentials in every text of plain data."""
    if isinstance(value, str):
        return found(value)
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [part for one in inner for part in found_in(one)]
