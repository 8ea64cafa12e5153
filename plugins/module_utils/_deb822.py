# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stanzas of fields, as apt's .sources and preferences files have them. Pure."""

from __future__ import annotations

import re

# The form apt takes at the start of every line; continuation lines begin with a blank.
_FIELD = re.compile(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t]+.*)*)$", re.MULTILINE)


def split(text: str) -> list[str]:
    """The stanzas of a text, each as it is written."""
    return re.split(r"\n[ \t]*\n", text)


def fields(stanza: str) -> dict[str, str]:
    """Values of a stanza by name in small letters; comments are passed over, lines of one value stay lines."""
    kept = "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
    return {name.lower(): value.strip() for name, value in _FIELD.findall(kept)}
