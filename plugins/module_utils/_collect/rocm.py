# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ROCm's user space: what is active and installed, its sources and holds, and whether it can be had again."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.apt import pins, repositories
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.packages import (
    as_facts,
    driver_packages,
    rocm_packages,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package, apt_index
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import parse_version

SUBSET = "rocm"

_LINK = "/opt/rocm"
_VERSION = ".info/version"
_LEGACY = re.compile(r"rocm-[0-9][0-9.]*")
_CORE = re.compile(r"core-[0-9][0-9.]*")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``rocm`` part of the facts."""
    reading = Reading(host, problems, SUBSET)
    packages = rocm_packages(host, reading)
    # The driver subset tells what is wrong with these; a second row would say the same.
    driver = driver_packages(host, Reading(host, [], SUBSET))
    sources = repositories(reading)
    facts = {**_active(host, reading), **_installed(host, reading)}
    facts["packages"] = as_facts(packages)
    facts["repositories"] = sources
    facts["pins"] = pins(reading, sources or [])
    facts["holds"] = None if packages is None else sorted(name for name, row in packages.items() if row.hold)
    facts["obtainable"] = _obtainable(host, reading, packages, driver)
    reading.tell_absent("not there")
    return {"rocm": facts}


def _active(host: Host, reading: Reading) -> dict:
    path = host.realpath(_LINK)
    if not host.exists(path):
        reading.problem(_LINK, f"leads to {path}, which is not there" if path != _LINK else "not there")
        return {"active": None, "active_path": None}
    # From 7.14 /opt/rocm is a folder of links, of which this one leads into the active release.
    core = host.realpath(f"{_LINK}/bin").rsplit("/", 1)[0]
    path = core if _CORE.fullmatch(core.rsplit("/", 1)[-1]) else path
    return {"active": reading.parsed(f"{path}/{_VERSION}", _release), "active_path": path}


def _installed(host: Host, reading: Reading) -> dict:
    names = _opt(host, reading)
    if names is None:
        return {"installed": None, "layout": None}
    legacy = [f"/opt/{name}" for name in names if _LEGACY.fullmatch(name)]
    core = [f"{_LINK}/{name}" for name in _listed(host, _LINK) if _CORE.fullmatch(name)]
    found = {path: _release_at(host, reading, path) for path in [*legacy, *core]}
    releases = sorted({release for release in found.values() if release}, key=parse_version)
    layouts = {"core" if path in core else "legacy" for path, release in found.items() if release}
    return {"installed": releases, "layout": layouts.pop() if len(layouts) == 1 else "mixed" if layouts else None}


def _opt(host: Host, reading: Reading) -> list[str] | None:
    # dpkg takes an empty /opt away with the last package in it: then nothing is installed, which is not "unknown".
    try:
        return host.list("/opt")
    except Unreadable as error:
        return [] if error.missing else reading.names("/opt")


def _release_at(host: Host, reading: Reading, path: str) -> str | None:
    if not host.exists(f"{path}/{_VERSION}"):
        reading.problem(path, f"has no {_VERSION}: a leftover, not a release")
        return None
    return reading.parsed(f"{path}/{_VERSION}", _release)


def _release(text: str) -> str | None:
    release = text.strip().split("-", 1)[0]
    try:
        parse_version(release)
    except ParseError:
        return None
    return release


def _listed(host: Host, path: str) -> list[str]:
    try:
        return host.list(path)
    except Unreadable:
        return []


def _obtainable(host: Host, reading: Reading, *groups: dict[str, Package] | None) -> dict[str, bool | None] | None:
    if any(group is None for group in groups):
        return None
    installed = [row for group in groups if group for row in group.values() if row.state != "config-files"]
    index = apt_index(host) if installed else {}
    if index is None:
        reading.problem("obtainable", "the package lists of apt cannot be read")
        return {row.name: None for row in installed}
    return {row.name: row.version in index.get(row.name, ()) for row in sorted(installed)}
