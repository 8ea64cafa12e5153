# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a kernel module from being loaded: lines in the folders of modprobe, arguments of a command line."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

# A file hides those of the same name in the later folders.
FOLDERS = (
    "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d",
)  # fmt: skip
_LISTS = frozenset({"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "rdblacklist"})
_LOADERS = ("modprobe", "insmod")


class Line(NamedTuple):
    """A line of a file that keeps a module out; ``line`` without comment and surplus blanks."""

    file: str
    line: str


def blacklists(host: Host, module: str) -> list[Line]:
    """Lines that keep a module out, in the order modprobe reads them.

    :raises Unreadable: where a folder or file of modprobe is there and cannot be read.
    """
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in list_optional(host, folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    found = ((path, host.read(path)) for _name, path in sorted(files.items()) if host.exists(path))
    return [Line(path, line) for path, text in found if module in text for line in blacklisting(text, module)]


def blacklisting(text: str, module: str) -> list[str]:
    """The lines of a modprobe file that keep a module out: ``blacklist``, or ``install`` with something else to run."""
    lines = (" ".join(line.split("#")[0].split()) for line in text.replace("\\\n", " ").splitlines())
    return [line for line in lines if _keeps_out(line.split(" "), module)]


def keeping_out(cmdline: list[str], module: str) -> list[str]:
    """Arguments by which a kernel, its initramfs or modprobe leaves a graphics module out, as written."""
    return [token for token in cmdline if token == "nomodeset" or _names(token, module)]


def _keeps_out(words: list[str], module: str) -> bool:
    if len(words) < 2 or words[1].replace("-", "_") != module:
        return False
    # An install line that ends up loading the module is how others add a step before it.
    return words[0] == "blacklist" or (
        words[0] == "install" and not any(loader in word for word in words[2:] for loader in _LOADERS)
    )


def _names(token: str, module: str) -> bool:
    values = token.partition("=")[2].strip('"').replace("-", "_").split(",")
    return key_of(token) in _LISTS and module in values
