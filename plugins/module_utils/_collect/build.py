# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a build of the driver for the next kernel needs: headers, a compiler, tools, a key that is trusted."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

VARIABLES = "/sys/firmware/efi/efivars"
SECURE_BOOT = f"{VARIABLES}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

_HEADERS = ("/lib/modules/%s/build", "/usr/src/linux-headers-%s", "/usr/src/kernels/%s")
_CONFIGS = ("/boot/config-%s", "/lib/modules/%s/config", "/usr/lib/modules/%s/config")
# The compiler's line is among the first ten of a file of some 280 KB.
_HEAD = 4096
_IN_CONFIG = re.compile(r'^CONFIG_CC_VERSION_TEXT="([A-Za-z0-9_.+-]{1,80})', re.MULTILINE)
# The first pair of brackets names who built it, the one after that the compiler.
_IN_VERSION = re.compile(r"\([^()\s]*@[^()\s]*\) \(([A-Za-z0-9_.+-]{1,80})")
_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin")
_USUAL = ("gcc", "cc")
_FRAMEWORK = "/etc/dkms/framework.conf"
_CERTIFICATE = re.compile(r"""^\s*mok_certificate=["']?(/[^\s"']+)""", re.MULTILINE)
# dkms signs with the first of these that is there; Ubuntu's package of shim brings the one above.
_CERTIFICATES = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub")
_TRUSTED = ("MokListRT", "db-")


def build_facts(host: Host, reading: Reading, kernel: str | None) -> dict:
    """``build`` of the driver's facts.

    ``headers`` is None where it is not known which kernel boots next, ``compilers`` are paths, and ``built_by`` is the
    name of the kernel's own compiler, None where nothing tells. ``key_enrolled`` is None unless Secure Boot is on.

    :param kernel: the one that boots next.
    """
    built_by = _built_by(host, kernel) if kernel else None
    names = [*([built_by] if built_by else []), *_USUAL]
    return {
        "headers": any(host.exists(path % kernel) for path in _HEADERS) if kernel else None,
        "built_by": built_by,
        "compilers": [path for path in (_program(host, name) for name in dict.fromkeys(names)) if path],
        "make": _program(host, "make") is not None,
        "dkms": _program(host, "dkms") is not None,
        "key_enrolled": _key_enrolled(host, reading),
    }


def compiler_of_config(head: str) -> str | None:
    """``x86_64-linux-gnu-gcc-12`` in the first lines of a kernel's configuration; None where it is not there."""
    match = _IN_CONFIG.search(head)
    return match[1] if match else None


def compiler_of_version(text: str) -> str | None:
    """``gcc-12`` in the text of /proc/version; None where it names no compiler."""
    match = _IN_VERSION.search(text)
    return match[1] if match else None


def _built_by(host: Host, kernel: str) -> str | None:
    for path in (name % kernel for name in _CONFIGS):
        try:
            found = compiler_of_config(host.read_range(path, 0, _HEAD).decode("utf-8", "replace"))
        except Unreadable:
            continue
        if found:
            return found
    try:
        text = host.read("/proc/version")
    except Unreadable:
        return None
    # It tells of the kernel that runs.
    return compiler_of_version(text) if text.startswith(f"Linux version {kernel} ") else None


def _program(host: Host, name: str) -> str | None:
    return next((f"{folder}/{name}" for folder in _FOLDERS if host.exists(f"{folder}/{name}")), None)


def _key_enrolled(host: Host, reading: Reading) -> bool | None:
    """Whether the firmware or shim trusts the key that dkms signs with; False as well where there is no such key."""
    try:
        # Four bytes of attributes stand before the one byte of the variable.
        if host.read_bytes(SECURE_BOOT)[4:] != b"\x01":
            return None
    except Unreadable:
        return None
    try:
        certificate = _certificate(host)
        if certificate is None:
            return False
        names = [name for name in host.list(VARIABLES) if name.startswith(_TRUSTED)]
        return any(certificate in host.read_bytes(f"{VARIABLES}/{name}") for name in names)
    except Unreadable as error:
        reading.problem(f"key_enrolled: {error.subject}", error.seen)
        return None


def _certificate(host: Host) -> bytes | None:
    """The certificate, in DER; None where there is none."""
    configured = _CERTIFICATE.findall(host.read(_FRAMEWORK)) if host.exists(_FRAMEWORK) else []
    for path in (*configured[-1:], *_CERTIFICATES):
        if host.exists(path):
            return host.read_bytes(path) or None
    return None
