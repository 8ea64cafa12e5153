# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD's repositories, priorities and locks in the configuration of dnf and zypper."""

from __future__ import annotations

import fnmatch
import re
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _rpm_lists
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading, whole_number
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import is_amd_package
from ansible_collections.fleetops.instinct.plugins.module_utils._sources import addresses_amd

REPOSITORIES = {
    "dnf": ("/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d"),
    "zypper": ("/etc/zypp/repos.d",),
}
MAIN = {"dnf": "/etc/dnf/dnf.conf", "zypper": "/etc/zypp/zypp.conf"}
LOCKS = {
    "dnf": (
        "/etc/dnf/plugins/versionlock.list",
        "/etc/yum/pluginconf.d/versionlock.list",
        "/etc/dnf/versionlock.toml",
        "/etc/dnf/plugins/versionlock.toml",
    ),
    "zypper": ("/etc/zypp/locks",),
}
# Both take a repository that names no priority for one of 99, and prefer the lower number.
DEFAULT_PRIORITY = 99

_OFF = ("0", "no", "false", "off")
_EXCLUDES = ("exclude", "excludepkgs")
_NAME_VERSION_RELEASE = re.compile(r"(?:[0-9]+:)?(.+)-(?:[0-9*]+:)?[0-9*][^-:]*-[^-:]+")
_NAME_VERSION = re.compile(r"(?:[0-9]+:)?(.+)-(?:[0-9]+:)?[0-9][^-:]*[.*][^-:]*")
_ARCH = re.compile(r"\.(?:x86_64|noarch|i686|aarch64|\*)$")
_TOML_PACKAGE = re.compile(r"^\s*\[\[packages\]\]", re.MULTILINE)
_TOML_COMPARATOR = re.compile(r"""^\s*comparator\s*=\s*["']([^"']*)["']""", re.MULTILINE)
_TOML_NAME = re.compile(r"""^\s*name\s*=\s*["']([^"']+)["']""", re.MULTILINE)


class Section(NamedTuple):
    """One section of an INI file with its options, names in small letters."""

    file: str
    name: str
    options: dict[str, str]


def sections(text: str, file: str = "") -> list[Section]:
    """The sections of an INI file as dnf and zypper take them: a later option of a name wins, nothing is interpolated.

    A line that begins with a blank continues the value above; one without a value, or before any section, is passed
    over.
    """
    found: dict[str, dict[str, str]] = {}
    options: dict[str, str] | None = None
    key = ""
    for line in text.lstrip("\ufeff").splitlines():
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if line[0] in " \t" and options is not None and key:
            options[key] = f"{options[key]} {line.strip()}".strip()
        elif line.lstrip().startswith("["):
            options, key = found.setdefault(line.strip()[1:].split("]", 1)[0].strip(), {}), ""
        elif options is not None:
            name, sign, value = line.partition("=")
            key = name.strip().lower() if sign else ""
            if key:
                options[key] = value.strip()
    return [Section(file, name, values) for name, values in found.items()]


def repositories(reading: Reading, manager: str) -> list[dict] | None:
    """Enabled repositories of AMD's packages as ``{"file", "line"}``: the section, its address, what limits it."""
    found = _sections(reading, manager)
    if found is None:
        return None
    return [{"file": row.file, "line": _line(row)} for row in found if _is_on(row) and _is_amd(row)]


def pins(reading: Reading, manager: str) -> list[str] | None:
    """Files that prefer AMD's packages: by a priority below 99, by packages to include, or to keep out of another."""
    found = _sections(reading, manager)
    if found is None:
        return None
    return list(dict.fromkeys(row.file for row in found if _is_on(row) and _prefers_amd(reading, row)))


def offered(reading: Reading, manager: str) -> dict[str, set[str]] | None:
    """Versions that AMD's enabled repositories offer, by package; None where the lists of one cannot be read.

    Empty where no repository is AMD's.
    """
    found = _sections(reading, manager)
    if found is None:
        return None
    index: dict[str, set[str]] = {}
    for row in (row for row in found if _is_on(row) and _is_amd(row)):
        try:
            lists = _rpm_lists.offered(
                reading.host, _rpm_lists.cache_folder(reading.host, manager, row.name, _addresses(row)[0])
            )
        except FleetError as error:
            reading.problem(f"lists of [{row.name}]", f"{error.subject}: {error.seen}")
            return None
        for name, versions in lists.items():
            index.setdefault(name, set()).update(versions)
    return index


def locks(reading: Reading, manager: str) -> list[str] | None:
    """Patterns of names that are locked or excluded; None where a file of them cannot be read."""
    paths = [path for path in LOCKS[manager] if reading.host.exists(path) and not _is_ignored(reading, path)]
    texts = {path: reading.raw(path) for path in paths}
    repos = _sections(reading, manager)
    if repos is None or None in texts.values():
        return None
    found = [name for path, text in texts.items() for name in _locked_names(path, text or "")]
    found += [name for row in repos if row.name == "main" or _is_amd(row) for name in _excluded(row)]
    return list(dict.fromkeys(found))


def is_locked(name: str, patterns: list[str]) -> bool:
    """True where one of the patterns takes the name; only ``*`` and ``?`` stand for other characters."""
    return any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)


def held_names(names: list[str], patterns: list[str]) -> list[str]:
    """Those names that are locked, and AMD's patterns that none of them answers to: what is not installed yet."""
    held = [name for name in names if is_locked(name, patterns)]
    unused = [one for one in patterns if not any(is_locked(name, [one]) for name in held)]
    return sorted({*held, *(one for one in unused if is_amd_package(one.strip("*"), ""))})


def _sections(reading: Reading, manager: str) -> list[Section] | None:
    """Every section of the main file and of the repository files; None where one of them cannot be read."""
    folders = [folder for folder in REPOSITORIES[manager] if reading.host.exists(folder)]
    listed = [(folder, reading.names(folder)) for folder in folders]
    paths = [f"{folder}/{name}" for folder, names in listed for name in names or [] if name.endswith(".repo")]
    paths = [path for path in (MAIN[manager], *paths) if reading.host.exists(path)]
    texts = [(path, reading.raw(path)) for path in paths]
    if any(names is None for _folder, names in listed) or any(text is None for _path, text in texts):
        return None
    return [section for path, text in texts for section in sections(text or "", path)]


def _is_ignored(reading: Reading, path: str) -> bool:
    """True where the plugin that reads a list of versionlocks is switched off in its own file."""
    own = path.replace(".list", ".conf")
    if own == path or not reading.host.exists(own):
        return False
    return any(not _is_on(row) for row in sections(reading.raw(own) or "") if row.name == "main")


def _is_on(section: Section) -> bool:
    return section.options.get("enabled", "1").lower() not in _OFF


def _addresses(section: Section) -> list[str]:
    keys = [key for key in ("metalink", "mirrorlist", "baseurl") if section.options.get(key)]
    return [word for key in keys[:1] for word in section.options[key].replace(",", " ").split()]


def _is_amd(section: Section) -> bool:
    return any(addresses_amd(address) for address in _addresses(section))


def _line(section: Section) -> str:
    limits = ("priority", "gpgcheck", "includepkgs", *_EXCLUDES)
    told = [f"{key}={section.options[key]}" for key in limits if key in section.options]
    return " ".join([f"[{section.name}]", *_addresses(section), *told])


def _prefers_amd(reading: Reading, section: Section) -> bool:
    if not _is_amd(section):
        return bool(_addresses(section)) and any(is_amd_package(name.strip("*"), "") for name in _excluded(section))
    written = section.options.get("priority", str(DEFAULT_PRIORITY))
    priority = whole_number(written)
    if priority is None:
        reading.problem(f"{section.file} [{section.name}] priority", f"not understood: {written[:60]!r}")
    return "includepkgs" in section.options or (priority is not None and priority < DEFAULT_PRIORITY)


def _excluded(section: Section) -> list[str]:
    words = " ".join(section.options.get(key, "") for key in _EXCLUDES)
    return [_name_of(word) for word in words.replace(",", " ").split()]


def _locked_names(path: str, text: str) -> list[str]:
    if path.endswith(".toml"):
        return _toml_names(text)
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    if path == LOCKS["zypper"][0]:
        return _zypper_names(text)
    # An entry that begins with "!" keeps one version out; the package itself may change.
    return [_name_of(line) for line in lines if line and not line.startswith(("#", "!"))]


def _toml_names(text: str) -> list[str]:
    """The locks of dnf5; a package of which single versions are kept out alone may change."""
    names = []
    for table in _TOML_PACKAGE.split(text)[1:]:
        kept_out = set(_TOML_COMPARATOR.findall(table)) == {"!="}
        names += [] if kept_out else _TOML_NAME.findall(table)[:1]
    return names


def _zypper_names(text: str) -> list[str]:
    names = []
    for stanza in re.split(r"\n\s*\n", text):
        pairs = [line.partition(":") for line in stanza.splitlines() if not line.startswith("#")]
        kinds = [value.strip() for key, _sign, value in pairs if key.strip() == "type"]
        if not kinds or "package" in kinds:
            names += [value.strip() for key, _sign, value in pairs if key.strip() == "solvable_name" and value.strip()]
    return names


def _name_of(pattern: str) -> str:
    """The name in ``rocm-core-0:6.4.1.60401-83.el9.*``, ``1:amdgpu-dkms-6.10.5-1.*`` or ``rocm-core-6.4*``."""
    match = _NAME_VERSION_RELEASE.fullmatch(pattern) or _NAME_VERSION.fullmatch(pattern)
    return match[1] if match else _ARCH.sub("", pattern)
