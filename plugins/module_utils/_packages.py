# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is installed, by the package manager's own files; only rpm's database is asked of a program, rpm itself."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from typing import TYPE_CHECKING, Callable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    release_of_driver_package,
    release_of_rocm_package,
)

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.module_utils import _rpm
else:
    _rpm = Later("ansible_collections.fleetops.instinct.plugins.module_utils._rpm")

DPKG_STATUS = "/var/lib/dpkg/status"
APT_LISTS = "/var/lib/apt/lists"
APT_STATES = "/var/lib/apt/extended_states"

_NAMES = re.compile(
    r"(rocm|hip(?!ercontracer)|hsa-|amdgpu|amdrocm|amd-smi|rock-dkms|comgr|libhsa-|libamdhip|"
    r"roc(blas|fft|rand|solver|sparse|thrust|prim|alution|wmma|tracer|profiler|decode|jpeg|shmem)|"
    r"(miopen|migraphx|mivisionx|rccl|openmp-extras|composablekernel)(-|$))"
)
_AMD_BUILD = re.compile(r"-[0-9]+(~[0-9]+\.[0-9]+|\.el[0-9]+|\.sles[0-9]+)?$")
_STATES = {
    "installed": "installed",
    "triggers-pending": "installed",
    "triggers-awaited": "installed",
    "half-configured": "half-configured",
    "half-installed": "half-installed",
    "unpacked": "unpacked",
    "config-files": "config-files",
    "not-installed": "not-installed",
}
_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_MANAGERS = (("apt", DPKG_STATUS), ("zypper", "/etc/zypp/zypp.conf"), ("dnf", "/etc/dnf/dnf.conf"))
_FAMILIES = {"debian": "apt", "ubuntu": "apt", "suse": "zypper", "sles": "zypper", "rhel": "dnf", "fedora": "dnf"}
_OS_ID = re.compile(r"^ID(?:_LIKE)?=(.*)$", re.MULTILINE)
# Names that only AMD gives, names that AMD never gives, and AMD's way to write versions before the code of today.
_ONLY_AMD = ("amdgpu", "amdrocm", "rock-dkms")
_NEVER_AMD = ("lib", "python3-")
_OLD_AMD_VERSION = re.compile(r"-rocm-rel-")
_AMD_MAKER = re.compile(r"advanced micro devices|@amd\.com", re.IGNORECASE)


class Package(NamedTuple):
    """One package of the node.

    ``state`` is installed, half-configured, half-installed, unpacked, config-files or not-installed; only the first
    is installed. ``hold`` is true where the node's own package manager must not change it, None where that cannot be
    told. ``maker`` is the maintainer or vendor that the package names, empty where it names none.
    """

    name: str
    version: str
    state: str
    hold: bool | None
    maker: str = ""


def package_manager(host: Host) -> str | None:
    """apt, dnf or zypper, told by the files each keeps; None where there is none of them.

    Where several are installed, the one of the operating system's own family is meant.
    """
    found = [name for name, path in _MANAGERS if host.exists(path)]
    own = _own_manager(host) if len(found) > 1 else None
    return own if own in found else next(iter(found), None)


def is_amd_package(name: str, version: str) -> bool:
    """True for ROCm's and the driver's packages, by name or by a version with a ROCm release encoded in it."""
    if _NAMES.match(name):
        return True
    return release_of_rocm_package(version) is not None and _AMD_BUILD.search(version) is not None


def is_foreign(package: Package) -> bool:
    """True for a package under a name of AMD's with another maker, and without a release of AMD's in its version."""
    if package.name.startswith((*_ONLY_AMD, *_NEVER_AMD)) or not _NAMES.match(package.name):
        return False
    if package.maker and _AMD_MAKER.search(package.maker):
        return False
    coded = release_of_rocm_package(package.version) or release_of_driver_package(package.version)
    return not coded and not _OLD_AMD_VERSION.search(package.version)


def dpkg_packages(host: Host, wanted: Callable[[str, str], bool] = is_amd_package) -> dict[str, Package]:
    """Packages that dpkg knows and ``wanted(name, version)`` takes, by name, in any state.

    :raises Unreadable: where dpkg's database cannot be read.
    :raises ParseError: where it names no package at all, or an entry has no state that dpkg knows.
    """
    found, named = {}, False
    for stanza in host.read(DPKG_STATUS).split("\n\n"):
        name = _field(stanza, "Package")
        version = _field(stanza, "Version")
        named = named or bool(name)
        if name and wanted(name, version):
            found[name] = _package(name, version, _field(stanza, "Status"), _field(stanza, "Maintainer"))
    if not named:
        # A node without dpkg's own package there is not: this is no list of packages, and no node without ROCm.
        raise ParseError(DPKG_STATUS, "it names no package at all", "the packages of the node", "look at dpkg --audit")
    return found


def rpm_packages(host: Host) -> tuple[dict[str, Package], set[str]]:
    """AMD's packages that rpm knows, by name, and the names of those that are there twice; no hold is told.

    :raises FleetError: where rpm cannot be asked, or gives no list of packages.
    """
    found, twice = _rpm.newest_by_name(_rpm.query(host), is_amd_package)
    packages = {
        name: Package(name, row.version, "half-installed" if name in twice else "installed", None, row.vendor)
        for name, row in found.items()
    }
    return packages, twice


def apt_automatic(host: Host) -> set[str]:
    """Packages that apt installed only because another one needs them; none where apt keeps no such file."""
    try:
        stanzas = host.read(APT_STATES).split("\n\n")
    except FleetError:
        return set()
    return {_field(stanza, "Package") for stanza in stanzas if _field(stanza, "Auto-Installed") == "1"}


def apt_index(host: Host, folder: str = APT_LISTS) -> dict[str, set[str]] | None:
    """Versions that AMD's repositories offer, by package, from the lists that apt fetched into a folder.

    None where the lists cannot be read; empty where no list is one of AMD's.
    """
    try:
        names = [name for name in host.list(folder) if _is_amd_list(name)]
        texts = [_list_text(host, f"{folder}/{name}") for name in names]
    except FleetError:
        return None
    return _versions_by_name(texts)


def unpacked(path: str, content: bytes, suffix: str) -> str:
    """Text of a list that is packed as its suffix says: none, ``.gz``, ``.bz2`` or ``.xz``.

    :raises ParseError: where it is packed in another way, or cannot be unpacked.
    """
    # lz4 and zstd are beyond Python's own library.
    unpack = _UNPACKERS.get(suffix)
    if unpack is None:
        raise ParseError(path, "a list packed in a way that cannot be read here", "a plain, gz, bz2 or xz list")
    try:
        return unpack(content).decode("utf-8", "replace")
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise ParseError(path, f"cannot be unpacked: {error}", "a whole list", "refresh the package lists") from error


def _own_manager(host: Host) -> str | None:
    try:
        words = " ".join(_OS_ID.findall(host.read("/etc/os-release"))).replace('"', " ").replace("'", " ").split()
    except FleetError:
        return None
    return next((_FAMILIES[word] for word in words if word in _FAMILIES), None)


def _package(name: str, version: str, status: str, maker: str) -> Package:
    words = status.split()
    if len(words) != 3 or words[2] not in _STATES:
        raise ParseError(DPKG_STATUS, f"{name} has the status {status!r}", "selection, error and state", "dpkg --audit")
    return Package(name, version, _STATES[words[2]], words[0] == "hold", maker)


def _field(stanza: str, key: str) -> str:
    start = 0 if stanza.startswith(f"{key}: ") else stanza.find(f"\n{key}: ") + 1
    if start == 0 and not stanza.startswith(f"{key}: "):
        return ""
    return stanza[start + len(key) + 2 :].split("\n", 1)[0].strip()


def _is_amd_list(name: str) -> bool:
    # apt writes the address of a repository with its slashes turned into underscores.
    return "_Packages" in name and ("_rocm_" in name or "_amdgpu_" in name)


def _list_text(host: Host, path: str) -> str:
    return unpacked(path, host.read_bytes(path), path.rsplit("_Packages", 1)[1])


def _versions_by_name(texts: list[str]) -> dict[str, set[str]]:
    offered: dict[str, set[str]] = {}
    for text in texts:
        for stanza in text.split("\n\n"):
            name = _field(stanza, "Package")
            if name:
                offered.setdefault(name, set()).add(_field(stanza, "Version"))
    return offered
