# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a repository is made for the release of the distribution that the node runs. Pure."""

from __future__ import annotations

import re

_FIELD = re.compile(r"^([A-Z_]+)=(.*)$", re.MULTILINE)
_SUITE = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>[a-z]+)(?:\s|$)")
_UBUNTU_PATH = re.compile(r"/ubuntu(?P<year>[0-9]{2})(?P<month>[0-9]{2})(?:/|$)")
_EL_PATH = re.compile(r"/(?:el|rhel)/?(?P<major>[0-9]{1,2})(?:\.[0-9]+)?(?:/|$)")
_SLE_PATH = re.compile(r"/sles?/?(?P<major>[0-9]{2})(?:\.[0-9]+)?(?:/|$)")
# Suites that follow a release instead of naming one.
_MOVING = frozenset({"stable", "testing", "unstable", "main"})


def mismatch(line: str, os_release: str) -> str | None:
    """What other release a repository's line is for, as ``focal, the node runs jammy``.

    None where it is for the node's own release, and where the line or /etc/os-release do not tell.
    """
    fields = {name: value.strip().strip("\"'") for name, value in _FIELD.findall(os_release)}
    made_for = _made_for(line, {fields.get("ID", ""), *fields.get("ID_LIKE", "").split()})
    own = _own(fields, made_for)
    return f"{made_for}, the node runs {own}" if made_for and own and made_for != own else None


def _made_for(line: str, family: set[str]) -> str:
    """A code name or a number; empty where the line names none for this family of distributions."""
    if "ubuntu" in family:
        path, suite = _UBUNTU_PATH.search(line), _SUITE.match(line)
        if path:
            return f"{path['year']}.{path['month']}"
        return suite["suite"] if suite and suite["suite"] not in _MOVING else ""
    if family & {"rhel", "fedora", "centos"}:
        found = _EL_PATH.search(line)
    elif family & {"suse", "sles", "sled"}:
        found = _SLE_PATH.search(line)
    else:
        # AMD has no packages for Debian itself: its pages name a suite of Ubuntu for it.
        found = None
    return found["major"] if found else ""


def _own(fields: dict[str, str], made_for: str) -> str:
    if made_for.isalpha():
        return fields.get("UBUNTU_CODENAME") or fields.get("VERSION_CODENAME", "")
    version = fields.get("VERSION_ID", "")
    return version if "." in made_for else version.split(".", 1)[0]
