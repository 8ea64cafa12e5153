# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that install updates by themselves, and what they leave alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.module_utils._collect import yum
else:
    yum = Later("ansible_collections.fleetops.instinct.plugins.module_utils._collect.yum")

APT_PARTS, APT_MAIN = "/etc/apt/apt.conf.d", "/etc/apt/apt.conf"
WANTED_TIMERS = "/etc/systemd/system/timers.target.wants"
AUTOMATIC = ("/etc/dnf/automatic.conf", "/etc/dnf/dnf5-plugins/automatic.conf")

_PROGRAMS = ("/usr/bin/unattended-upgrade", "/usr/bin/unattended-upgrades")
_APT_TIMER = "/etc/systemd/system/apt-daily-upgrade.timer"
# The second one installs whatever the file says.
_DNF_TIMERS = ("dnf-automatic.timer", "dnf-automatic-install.timer", "dnf5-automatic.timer")
_ZYPPER = {"transactional-update.timer": "transactional-update", "os-update.timer": "os-update"}
_ONLINE_UPDATE = tuple(f"/etc/cron.{often}/opensuse.org-online_update" for often in ("daily", "weekly", "monthly"))
_YES = ("1", "yes", "true", "on")

_TOKEN = re.compile(r'"([^"]*)"|//[^\n]*|/\*.*?\*/|#[^\n]*|([{};])|([^\s{};"]+)', re.DOTALL)
_PART = re.compile(r"[A-Za-z0-9_.:-]+")
_SWITCH = "apt::periodic::unattended-upgrade"
_ORIGINS = ("unattended-upgrade::allowed-origins", "unattended-upgrade::origins-pattern")
# Origins that take in AMD's repositories; those of distributions name the distribution.
_AMD = re.compile(r"radeon|rocm|amdgpu|(?:^|=)\*", re.IGNORECASE)


class Setting(NamedTuple):
    """One line of apt's configuration: name in small letters, value, and the file."""

    name: str
    value: str
    file: str


def unattended(reading: Reading, manager: str | None) -> list[dict] | None:
    """What installs updates by itself, as ``{"name", "file", "excludes", "amd"}``; None where that cannot be read.

    ``excludes`` are patterns of packages that it leaves alone, as the program takes them, and ``amd`` is whether it
    would take packages from AMD's repositories.
    """
    find = _BY_MANAGER.get(str(manager))
    try:
        return find(reading) if find else None
    except Unreadable as error:
        reading.problem(f"unattended: {error.subject}", error.seen)
        return None


def apt_settings(text: str, file: str = "") -> list[Setting]:
    """The values in a file of apt's configuration, in order; an item of a list has the name of the list."""
    found: list[Setting] = []
    words: list[tuple[str, bool]] = []
    scopes = [""]
    for match in _TOKEN.finditer(text):
        quoted, sign, word = match.groups()
        if sign == "{":
            name = words[0][0] if words else ""
            scopes, words = [*scopes, f"{scopes[-1]}{name.lower()}::"], []
        elif sign:
            found += _setting(scopes[-1], words, file)
            words = []
            if sign == "}":
                scopes = scopes[:-1] or [""]
        elif quoted is not None or word is not None:
            words.append((word if quoted is None else quoted, quoted is not None))
    return found


def _setting(scope: str, words: list[tuple[str, bool]], file: str) -> list[Setting]:
    if len(words) == 1 and words[0][1]:
        return [Setting(scope[:-2], words[0][0], file)]
    if len(words) == 2:
        return [Setting(f"{scope}{words[0][0].lower()}".rstrip(":"), words[1][0], file)]
    return []


def _apt(reading: Reading) -> list[dict]:
    host = reading.host
    if not any(host.exists(path) for path in _PROGRAMS) or _is_masked(host, _APT_TIMER):
        return []
    names = [name for name in list_optional(host, APT_PARTS) if _PART.fullmatch(name)]
    paths = [f"{APT_PARTS}/{name}" for name in names if "." not in name or name.endswith(".conf")]
    paths += [APT_MAIN] if host.exists(APT_MAIN) else []
    settings = [row for path in paths for row in apt_settings(host.read(path), path)]
    switches = [row for row in settings if row.name == _SWITCH]
    enabled = [row.value for row in settings if row.name == "apt::periodic::enable"]
    if not switches or switches[-1].value in ("", "0") or enabled[-1:] == ["0"]:
        return []
    excludes = [row.value for row in settings if row.name == "unattended-upgrade::package-blacklist"]
    amd = any(row.name in _ORIGINS and _AMD.search(row.value) for row in settings)
    return [{"name": "unattended-upgrades", "file": switches[-1].file, "excludes": excludes, "amd": amd}]


def _dnf(reading: Reading) -> list[dict]:
    host = reading.host
    timers = [name for name in list_optional(host, WANTED_TIMERS) if name in _DNF_TIMERS]
    rows = [row for path in AUTOMATIC if host.exists(path) for row in yum.sections(host.read(path), path)]
    told = [row for row in rows if row.name == "commands" and row.options.get("apply_updates", "no").lower() in _YES]
    if not timers or not (told or _DNF_TIMERS[1] in timers):
        return []
    own = [word for row in rows for key in ("exclude", "excludepkgs") for word in row.options.get(key, "").split()]
    file = told[-1].file if told else f"{WANTED_TIMERS}/{_DNF_TIMERS[1]}"
    return [_rpm_row(reading, "dnf", "dnf-automatic", file, [word.rstrip(",") for word in own])]


def _zypper(reading: Reading) -> list[dict]:
    host = reading.host
    wanted = [name for name in list_optional(host, WANTED_TIMERS) if name in _ZYPPER]
    found = [(_ZYPPER[name], f"{WANTED_TIMERS}/{name}") for name in wanted]
    found += [("yast2-online-update", path) for path in _ONLINE_UPDATE if host.exists(path)]
    return [_rpm_row(reading, "zypper", name, file, []) for name, file in found]


def _rpm_row(reading: Reading, manager: str, name: str, file: str, excludes: list[str]) -> dict:
    locked = yum.locks(reading, manager)
    if locked is None:
        raise Unreadable(file, "the locks that it heeds cannot be read")
    amd = bool(yum.repositories(reading, manager))
    return {"name": name, "file": file, "excludes": [*excludes, *locked], "amd": amd}


def _is_masked(host: Host, unit: str) -> bool:
    try:
        return host.readlink(unit) == "/dev/null"
    except Unreadable:
        return False


_BY_MANAGER: dict[str, Callable[[Reading], list[dict]]] = {"apt": _apt, "dnf": _dnf, "zypper": _zypper}
