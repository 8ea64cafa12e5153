# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What apt and dpkg say, in the C locale: the cause of a failure, and what a simulation would do. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import TransactionFailed
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed


class Cause(NamedTuple):
    """Why apt failed: ``kind`` as in :class:`TransactionFailed`, the rest as in every FleetError."""

    kind: str
    subject: str
    seen: str
    fix: str


class Step(NamedTuple):
    """One package a simulation would install; ``old`` is None where it is not installed now."""

    name: str
    old: str | None
    new: str


class Simulation(NamedTuple):
    """What apt would do. Nothing else than these packages changes."""

    installs: list[Step]
    removes: list[str]


_INST = re.compile(r"^Inst (\S+) (?:\[([^\]]*)\] )?\((\S+)", re.MULTILINE)
_REMV = re.compile(r"^(?:Remv|Purg) (\S+)", re.MULTILINE)
_DOWNLOAD = re.compile(r"^Need to get (?:\S+ ?[kMGT]?B/)?([0-9.,]+) ?([kMGT]?)B", re.MULTILINE)
_AFTER = re.compile(
    r"^After this operation, ([0-9.,]+) ?([kMGT]?)B (of additional|disk space will be freed)", re.MULTILINE
)
_SCALE = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

_LOCKED = re.compile(
    r"could not get lock (?P<path>\S+?)\.? (?:- open|it is held by process (?P<pid>\d+)(?: \((?P<who>[^)]*)\))?)"
    r"|unable to acquire the dpkg frontend lock|unable to lock (?:directory|the administration directory)"
    r"|lock was locked by another process with pid (?P<pid2>\d+)",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"don't have enough free space in (?P<path>\S+)|^.*no space left on device.*$"
    r"|zstd: error 70 : write error",
    re.IGNORECASE | re.MULTILINE,
)
_CONFLICT = re.compile(
    r"error processing archive (?P<archive>\S+) \(--unpack\):\s+trying to overwrite '(?P<path>[^']+)', "
    r"which is also in package (?P<old>\S+)(?: (?P<version>\S+))?"
)
_BUILD_KERNEL = re.compile(
    r"(?:Bad return status for module build on kernel: |is not newer than what is already found in "
    r"kernel |kernel headers for kernel |DKMS make\.log for amdgpu\S* for kernel )(?P<kernel>[^\s(]+)"
)
_BUILD_LOG = re.compile(r"/var/lib/dkms/amdgpu/(?P<driver>[^/\s]+)/build/make\.log")
_BUILD_FILES = re.compile(
    r"Loading new amdgpu-(?P<driver>\S+) DKMS files|make\.log for amdgpu-(?P<driver2>\S+) for kernel"
)
_STALE = re.compile(r"File: (?P<path>/var/lib/dkms/amdgpu/(?P<driver>[^/\s]+)/source/dkms\.conf) does not exist")
_UNTRUSTED = re.compile(
    r"NO_PUBKEY \w+|EXPKEYSIG \w+|EXPSIG \w+|REVKEYSIG \w+|BADSIG \w+|is not signed|is no longer signed"
    r"|signatures? (?:couldn't be|could not be|cannot be) verified|hash sum mismatch"
    r"|clearsigned file isn't valid|is not valid yet|release file .* is expired|be authenticated",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"^Err:\d+ (?P<url>\S+)(?P<rest> .*)?\n\s+(?P<why>.+)$"
    r"|^[EW]: Failed to fetch (?P<url2>\S+)\s+(?P<why2>.*)$"
    r"|^E: The repository '(?P<url3>\S+) .*does not have a Release file",
    re.MULTILINE,
)
_NO_VERSION = re.compile(
    r"Version '(?P<version>[^']+)' for '(?P<name>[^']+)' was not found|Unable to locate package (?P<name2>\S+)"
    r"|Package '?(?P<name3>[^'\s]+)'? has no installation candidate"
)
_UNMET = re.compile(r"^ (?P<why>\S+ : (?:Pre)?-?(?:Depends|Conflicts|Breaks).*)$", re.MULTILINE)
_UNMET_AT_ALL = re.compile(r"unmet dependencies|held broken packages|dependency problems prevent", re.IGNORECASE)


def classify(text: str) -> Cause:
    """The cause of a failure in what apt, dpkg and dkms printed; ``unknown`` where no known one is in it."""
    for judge in (_locked, _full, _file_conflict, _dkms, _untrusted, _unreachable, _version, _unmet):
        cause = judge(text)
        if cause is not None:
            return cause
    last = [line for line in text.splitlines() if line.startswith(("E:", "Error!", "dpkg: error"))]
    return Cause("unknown", "apt", last[-1] if last else "failed without saying why", "read the output, then run again")


def failure(done: Completed, wanted: str) -> TransactionFailed:
    """The error for a program that failed, with its cause and its whole output."""
    text = f"{done.out}\n{done.err}"
    cause = classify(text)
    return TransactionFailed(cause.kind, cause.subject, cause.seen, wanted, cause.fix, output=text)


def fetch_failed(text: str) -> bool:
    """True where ``apt-get update`` could not fetch or verify a list; its exit status does not tell."""
    return any(judge(text) is not None for judge in (_untrusted, _unreachable, _full))


def parse_simulation(text: str) -> Simulation:
    """The Inst and Remv lines of ``apt-get -s``."""
    installs = [Step(_plain(name), old or None, new.rstrip(")")) for name, old, new in _INST.findall(text)]
    return Simulation(installs, [_plain(name) for name in _REMV.findall(text)])


def space_needed(text: str) -> tuple[int, int]:
    """Bytes to download, and bytes more on disk in the end (negative: fewer), as ``apt-get --print-uris`` sums up."""
    download, after = _DOWNLOAD.search(text), _AFTER.search(text)
    needed = _bytes(after[1], after[2]) if after else 0
    return (_bytes(download[1], download[2]) if download else 0), (-needed if after and "freed" in after[3] else needed)


def _bytes(number: str, unit: str) -> int:
    return int(float(number.replace(",", "")) * _SCALE[unit])


def _plain(name: str) -> str:
    return name.split(":", 1)[0]


def _locked(text: str) -> Cause | None:
    match = _LOCKED.search(text)
    if match is None:
        return None
    pid, who = match["pid"] or match["pid2"], match["who"]
    holder = f"process {pid}{f' ({who})' if who else ''}" if pid else "another process"
    return Cause(
        "package_manager_locked",
        match["path"] or "dpkg's lock",
        f"held by {holder}",
        "wait until it ends, then run again; the lock is not to be deleted",
    )


def _full(text: str) -> Cause | None:
    match = _FULL.search(text)
    if match is None:
        return None
    named = re.findall(r"'(/[^']+)'", match[0])
    return Cause(
        "disk_full",
        match["path"].rstrip(".") if match["path"] else (named or ["disk"])[-1],
        match[0].strip()[:300],
        "free some space, then roll back or run again; do not reboot before",
    )


def _file_conflict(text: str) -> Cause | None:
    match = _CONFLICT.search(text)
    if match is None:
        return None
    new = match["archive"].rsplit("/", 1)[-1]
    old = f"{match['old']} {match['version'] or ''}".strip()
    return Cause(
        "file_conflict",
        match["path"],
        f"{new} would overwrite it and {old} owns it",
        f"purge {match['old']}, then run again",
    )


def _dkms(text: str) -> Cause | None:
    kernel, log, stale = _BUILD_KERNEL.search(text), _BUILD_LOG.search(text), _STALE.search(text)
    if stale is not None:
        return Cause(
            "dkms_build_failed",
            stale["path"],
            f"a leftover folder of driver {stale['driver']} stops every dkms command",
            f"remove /var/lib/dkms/amdgpu/{stale['driver']}",
        )
    if kernel is None and log is None:
        return None
    files = _BUILD_FILES.search(text)
    driver = log["driver"] if log else (files["driver"] or files["driver2"]) if files else "of unknown version"
    return Cause(
        "dkms_build_failed",
        f"driver {driver}",
        f"does not build for kernel {kernel['kernel'].rstrip('.') if kernel else 'of unknown version'}",
        f"do not reboot; read {log[0] if log else 'the make.log of dkms'}; roll back",
    )


def _untrusted(text: str) -> Cause | None:
    match = _UNTRUSTED.search(text)
    if match is None:
        return None
    line = next(line for line in text.splitlines() if match[0] in line)
    return Cause("repository_untrusted", "repository", line.strip()[:300], "give the key that signs this repository")


def _unreachable(text: str) -> Cause | None:
    match = _UNREACHABLE.search(text)
    if match is None:
        return None
    url = match["url"] or match["url2"] or match["url3"]
    why = match["why"] or match["why2"] or "no Release file"
    return Cause(
        "repository_unreachable",
        url,
        " ".join(why.split())[:300],
        "check the address and the network; note that AMD leaves the last .0 of a release out of the path",
    )


def _version(text: str) -> Cause | None:
    match = _NO_VERSION.search(text)
    if match is None:
        return None
    name = match["name"] or match["name2"] or match["name3"]
    return Cause(
        "version_unavailable",
        name,
        f"version {match['version']} is not offered" if match["version"] else "not offered",
        "check that the repository still carries this release",
    )


def _unmet(text: str) -> Cause | None:
    if _UNMET_AT_ALL.search(text) is None:
        return None
    reasons = [" ".join(match.split()) for match in _UNMET.findall(text)]
    return Cause(
        "unmet_dependencies",
        reasons[0].split(" ", 1)[0] if reasons else "packages",
        "; ".join(reasons[:4]) or "dependencies cannot be met",
        "bring the named packages to the same release",
    )
