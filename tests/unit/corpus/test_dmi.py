# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded dmidecode dumps: the strings that the kernel shows below /sys/class/dmi/id, read as the platform."""

from __future__ import annotations

import re

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import corpus, names, text
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

DUMPS = names("dmi")
# The kernel's file, the structure and the field of dmidecode that both come from.
FIELDS = {
    "sys_vendor": ("System Information", "Manufacturer"),
    "product_name": ("System Information", "Product Name"),
    "bios_version": ("BIOS Information", "Version"),
    "bios_date": ("BIOS Information", "Release Date"),
    "bios_release": ("BIOS Information", "BIOS Revision"),
    "board_name": ("Base Board Information", "Product Name"),
}
_ANSWER = re.compile(r"\| system (.*?) / (.*?); board (.*?); BIOS .*? version (.*?) date (\S+) BIOS revision")


def field(dump, structure, key):
    """The first such field of a dump, or None."""
    match = re.search(rf"^{structure}\n(?:\t.*\n)*?\t{key}: (.*)$", dump, re.MULTILINE)
    return match[1] if match else None


def platform_of(dump):
    seen = {name: field(dump, *place) for name, place in FIELDS.items()}
    files = {f"/sys/class/dmi/id/{name}": f"{value}\n" for name, value in seen.items() if value is not None}
    return gather(RecordedHost({"files": files}), ["platform"])


# Said of this one in other words: padded values, no board, and empty fields that must not become facts.
OTHER_WORDS = {"dmi/inventec-cetus-mi210-host.txt": ("Inventec", "Cetus", "", "1.0.1", "04/21/2020")}


def said_by_the_index(name):
    row = next(line for line in text("INDEX.md").splitlines() if line.startswith(f"| `{name}`"))
    return OTHER_WORDS.get(name) or _ANSWER.search(row).groups()


@pytest.mark.parametrize("name", DUMPS or ["none"])
def test_the_platform_is_what_the_index_says(name):
    corpus()
    answer = said_by_the_index(name)
    facts = platform_of(text(name))
    seen = [facts["platform"][key] for key in ("vendor", "product", "board", "bios_version", "bios_date")]
    told = {row["subject"] for row in facts["problems"]}
    pairs = zip(seen, answer, strict=True)
    assert [own for own, said in pairs if own != said.strip() and own is not None] == []
    assert told or None not in seen
