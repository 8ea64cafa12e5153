# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What rpm's database holds, asked of rpm itself: it has three formats, and only rpm reads each of them."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import CommandFailed, ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare_rpm

QUERY = ["rpm", "-qa", "--queryformat", r"%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{VENDOR}\n"]
TIMEOUT = 60.0


class Installed(NamedTuple):
    """One package of rpm; an epoch other than 0 is part of ``version``, ``vendor`` is empty where there is none."""

    name: str
    version: str
    arch: str
    vendor: str


def query(host: Host) -> list[Installed]:
    """Every package of rpm's database; the one program that facts are gathered with.

    :raises CommandFailed: where rpm cannot be started, fails, or complains of its database.
    :raises ParseError: where a line is not of the form asked for, or there is none: rpm itself is a package.
    """
    done = host.run(QUERY, timeout=TIMEOUT)
    # A damaged database is told on the error output alone; what is printed then is not all there is.
    complaints = [line for line in done.err.splitlines() if line.startswith("error:")]
    if done.rc != 0 or complaints:
        seen = complaints[0] if complaints else f"exit status {done.rc}: {done.err.strip()[:200]}"
        raise CommandFailed("rpm -qa", seen, "the list of packages", "rpmdb --verifydb", output=done.err)
    return parse(done.out)


def parse(text: str) -> list[Installed]:
    """The packages in the output of :data:`QUERY`.

    :raises ParseError: where a line is of another form, or there is none.
    """
    rows = [_row(line) for line in text.split("\n") if line.strip()]
    if not rows:
        raise ParseError("rpm -qa", "no package at all", "a list of packages", "rpmdb --verifydb")
    return rows


def newest_by_name(rows: list[Installed], wanted: Callable[[str, str], bool]) -> tuple[dict[str, Installed], set[str]]:
    """Wanted packages by name, and the names that are there twice for one architecture.

    Two versions of a name are what a transaction leaves that broke off; of them the newer one is told.
    """
    found: dict[str, Installed] = {}
    seen: set[tuple[str, str]] = set()
    twice = set()
    for row in rows:
        if not wanted(row.name, row.version):
            continue
        if (row.name, row.arch) in seen:
            twice.add(row.name)
        seen.add((row.name, row.arch))
        if row.name not in found or compare_rpm(row.version, found[row.name].version) > 0:
            found[row.name] = row
    return found, twice


def _row(line: str) -> Installed:
    fields = line.split("\t")
    if len(fields) != 4 or not fields[0] or ":" not in fields[1]:
        raise ParseError("rpm -qa", f"{line[:80]!r}", "name, version, architecture and vendor")
    name, version, arch, vendor = fields
    compare_rpm(version, version)
    plain = version[2:] if version.startswith("0:") else version
    return Installed(name, plain, arch, "" if vendor == "(none)" else vendor)
