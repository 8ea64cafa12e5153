# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD's repositories and pins in the configuration of apt."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading, whole_number
from ansible_collections.fleetops.instinct.plugins.module_utils._deb822 import fields, split
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import is_amd_package
from ansible_collections.fleetops.instinct.plugins.module_utils._sources import APT, addresses_amd, is_read

_HOST = re.compile(r"://(?:[^@/\s]*@)?([^/:\s]+)")
# What apt gives a repository that no pin names.
_DISTRIBUTION = 500
_AMD_ORIGIN = re.compile(r"repo\.radeon\.com|repo\.amd\.com")


def repositories(reading: Reading) -> list[dict] | None:
    """Enabled sources of AMD's packages as ``{"file", "line"}``; deb822 sources are told in the one-line form."""
    names = reading.names(f"{APT}/sources.list.d")
    paths = _present(reading, "sources.list", names or [])
    rows = [{"file": path, "line": line} for path in paths for line in _lines(path, reading.raw(path) or "")]
    return [row for row in rows if addresses_amd(row["line"])] if paths or names is not None else None


def pins(reading: Reading, sources: list[dict]) -> list[str]:
    """Preference files whose pin prefers AMD's packages or repositories; one that apt passes over is a problem."""
    hosts = {match[1] for source in sources for match in _HOST.finditer(source["line"])}
    return [path for path in _pin_files(reading) if _pins_amd(reading, path, hosts)]


def _lines(path: str, text: str) -> list[str]:
    if path.endswith(".sources"):
        return [line for stanza in split(text) for line in _one_line_form(fields(stanza))]
    return [line.strip() for line in text.splitlines() if line.strip().startswith(("deb ", "deb\t"))]


def _one_line_form(stanza: dict[str, str]) -> list[str]:
    if stanza.get("enabled", "yes").lower() in ("no", "false", "0") or "deb" not in stanza.get("types", "").split():
        return []
    signed = stanza.get("signed-by", "").split("\n")[0].strip()
    option = f"[signed-by={signed}] " if signed.startswith("/") else ""
    tail = " ".join(stanza.get("components", "").split())
    places = [(uri, suite) for uri in stanza.get("uris", "").split() for suite in stanza.get("suites", "").split()]
    return [f"deb {option}{uri} {suite} {tail}".strip() for uri, suite in places]


def _pin_files(reading: Reading) -> list[str]:
    folder = f"{APT}/preferences.d"
    names = reading.names(folder) if reading.host.exists(folder) else []
    return _present(reading, "preferences", names or [])


def _present(reading: Reading, name: str, parts: list[str]) -> list[str]:
    one = f"{APT}/{name}"
    paths = [path for path in (f"{one}.d/{part}" for part in parts) if is_read(path)]
    return [one, *paths] if reading.host.exists(one) else paths


def _pins_amd(reading: Reading, path: str, hosts: set[str]) -> bool:
    stanzas = [found for found in map(fields, split(reading.raw(path) or "")) if found]
    whole = [stanza for stanza in stanzas if {"package", "pin", "pin-priority"} <= stanza.keys()]
    if len(whole) < len(stanzas):
        reading.problem(path, "has a stanza without Package, Pin or Pin-Priority: apt does not take it for a pin")
    return any(_prefers(reading, path, stanza) for stanza in whole if _is_on_amd(stanza, hosts))


def _prefers(reading: Reading, path: str, stanza: dict[str, str]) -> bool:
    priority = whole_number(stanza["pin-priority"])
    if priority is None:
        reading.problem(path, f"priority not understood: {stanza['pin-priority'][:60]!r}")
    elif priority <= _DISTRIBUTION:
        reading.problem(path, f"pins AMD's packages at {priority}: the distribution's stand at {_DISTRIBUTION}")
    return priority is not None and priority > _DISTRIBUTION


def _is_on_amd(stanza: dict[str, str], hosts: set[str]) -> bool:
    if any(is_amd_package(name, "") for name in stanza["package"].split()):
        return True
    return bool(_AMD_ORIGIN.search(stanza["pin"])) or any(host in stanza["pin"] for host in hosts)
