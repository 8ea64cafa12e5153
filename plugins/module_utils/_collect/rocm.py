# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ROCm's user space: what is active and installed, its sources and holds, and whether it can be had again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ansible_collections.fleetops.instinct.plugins.module_utils._collect import apt
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.locks import lock_holder
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.mismatch import mismatch
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.packages import (
    as_facts,
    driver_packages,
    rocm_packages,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.unattended import unattended
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    Package,
    apt_index,
    is_foreign,
    package_manager,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import parse_version

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.module_utils._collect import yum
else:
    yum = Later("ansible_collections.fleetops.instinct.plugins.module_utils._collect.yum")

SUBSET = "rocm"

_LINK = "/opt/rocm"
_VERSION = ".info/version"
_LEGACY = re.compile(r"rocm-[0-9][0-9.]*")
_CORE = re.compile(r"core-[0-9][0-9.]*")


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``rocm`` part of the facts."""
    reading = Reading(host, problems, SUBSET)
    manager = package_manager(host)
    packages = rocm_packages(host, reading)
    # The driver subset tells what is wrong with these; a second row would say the same.
    driver = driver_packages(host, Reading(host, [], SUBSET))
    facts = {**_folders(host, reading), "manager": manager}
    facts["packages"] = as_facts(packages)
    facts.update(_sources(host, reading, manager))
    facts["holds"] = _holds(host, manager, packages)
    facts["shadowing"] = _shadowing(packages)
    facts["obtainable"] = _obtainable(host, reading, manager, packages, driver)
    facts["unattended"] = unattended(reading, manager)
    facts["lock_holder"] = lock_holder(reading)
    reading.tell_absent("not there")
    return {"rocm": facts}


def release_in(text: str) -> str | None:
    """The release in a version file: ``6.2.4-139`` is ``6.2.4``, ``6.4-47`` is ``6.4.0``; None where there is none."""
    release = text.strip().split("-", 1)[0]
    try:
        numbers = parse_version(release)
    except ParseError:
        return None
    return f"{release}.0" if len(numbers) == 2 else release


def _folders(host: Host, reading: Reading) -> dict:
    """What is active, and every installation side by side with what is left of others."""
    facts: dict = {"active": None, "active_path": None, "installed": None, "layout": None, "leftovers": None}
    path = _active_path(host, reading)
    found = _installations(host, reading)
    if path is not None:
        facts["active"], facts["active_path"] = reading.parsed(f"{path}/{_VERSION}", release_in), path
    if found is None:
        return facts
    if facts["active"]:
        found.setdefault(str(path), facts["active"])
    whole = {place: release for place, release in found.items() if release is not None}
    facts["leftovers"] = [place for place in found if not host.exists(f"{place}/{_VERSION}")]
    facts["installed"] = sorted(set(whole.values()), key=parse_version)
    layouts = {"core" if _is_core(place) else "legacy" for place in whole}
    facts["layout"] = "mixed" if len(layouts) > 1 else next(iter(layouts), None)
    return facts


def _active_path(host: Host, reading: Reading) -> str | None:
    path = host.realpath(_LINK)
    if not host.exists(path):
        reading.problem(_LINK, f"leads to {path}, which is not there" if path != _LINK else "not there")
        return None
    # From 7.14 /opt/rocm is a folder of links, of which this one leads into the active release.
    core = host.realpath(f"{_LINK}/bin").rsplit("/", 1)[0]
    return core if _is_core(core) else path


def _installations(host: Host, reading: Reading) -> dict[str, str | None] | None:
    """The release of each folder of a release, None in one without a version; None where /opt cannot be read."""
    names = _opt(host, reading)
    if names is None:
        return None
    legacy = [f"/opt/{name}" for name in names if _LEGACY.fullmatch(name)]
    core = [f"{_LINK}/{name}" for name in _listed(host, _LINK) if _CORE.fullmatch(name)]
    return {host.realpath(path): _release_at(host, reading, path) for path in [*legacy, *core]}


def _opt(host: Host, reading: Reading) -> list[str] | None:
    # dpkg takes an empty /opt away with the last package in it: then nothing is installed, which is not "unknown".
    try:
        return host.list("/opt")
    except Unreadable as error:
        return [] if error.missing else reading.names("/opt")


def _release_at(host: Host, reading: Reading, path: str) -> str | None:
    return reading.parsed(f"{path}/{_VERSION}", release_in) if host.exists(f"{path}/{_VERSION}") else None


def _is_core(path: str) -> bool:
    return bool(_CORE.fullmatch(path.rsplit("/", 1)[-1]))


def _listed(host: Host, path: str) -> list[str]:
    try:
        return host.list(path)
    except Unreadable:
        return []


def _sources(host: Host, reading: Reading, manager: str | None) -> dict:
    """Repositories and pins, as the node's package manager is configured."""
    if manager is None:
        return {"repositories": None, "pins": None}
    if manager == "apt":
        sources = apt.repositories(reading)
        pins: list[str] | None = apt.pins(reading, sources or [])
    else:
        sources, pins = yum.repositories(reading, manager), yum.pins(reading, manager)
    release = _text(host, "/etc/os-release")
    rows = sources and [{**row, "mismatch": mismatch(row["line"], release)} for row in sources]
    return {"repositories": rows, "pins": pins}


def _holds(host: Host, manager: str | None, packages: dict[str, Package] | None) -> list[str] | None:
    if packages is None or any(row.hold is None for row in packages.values()):
        return None
    held = sorted(name for name, row in packages.items() if row.hold)
    if manager == "apt" or manager is None:
        return held
    # The collector of packages told what is wrong with these files.
    locked = yum.locks(Reading(host, [], SUBSET), manager)
    return None if locked is None else yum.held_names(list(packages), locked)


def _shadowing(packages: dict[str, Package] | None) -> list[dict] | None:
    if packages is None:
        return None
    foreign = [row for row in packages.values() if row.state != "config-files" and is_foreign(row)]
    return [
        {"name": row.name, "version": row.version, "why": f"not AMD's, but of {row.maker or 'the distribution'}"}
        for row in sorted(foreign)
    ]


def _obtainable(
    host: Host, reading: Reading, manager: str | None, *groups: dict[str, Package] | None
) -> dict[str, bool | None] | None:
    if any(group is None for group in groups):
        return None
    installed = [row for group in groups if group for row in group.values() if row.state != "config-files"]
    index = _offered(host, reading, manager) if installed else {}
    if index is None:
        reading.problem("obtainable", f"the package lists of {manager} cannot be read")
        return {row.name: None for row in installed}
    return {row.name: row.version in index.get(row.name, ()) for row in sorted(installed)}


def _offered(host: Host, reading: Reading, manager: str | None) -> dict[str, set[str]] | None:
    if manager == "apt" or manager is None:
        return apt_index(host)
    return yum.offered(reading, manager)


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except Unreadable:
        return ""
