# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded machine without what identifies it: serial numbers, names, addresses.

The same value becomes the same replacement of the same form, so that what belonged together still does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import MASK, masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

_IDENTITY_FILE = re.compile(
    r"/(?:serial_number|unique_id|fru_id|product_serial|board_serial|chassis_serial|product_uuid|machine-id|boot_id)$"
)
_IDENTITY_FIELD = re.compile(
    r'"(?:[a-z_ ]*serial[a-z_ ]*|uuid|unique id|unique_id|fru_id|hive_id)"\s*:\s*"([^"]{4,})"', re.IGNORECASE
)
_IDENTITY_TEXT = re.compile(r"(?:Serial ?Number:?|serial:)\s+([0-9A-Za-z-]{6,})")
_FORMS = (
    re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE),
    re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.IGNORECASE),
    re.compile(r"\b[0-9a-f]{32,64}\b", re.IGNORECASE),
    re.compile(r"\b[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b"),
)
# Four numbers with dots are an address where addresses stand; elsewhere they are the version of a firmware.
_WITH_ADDRESSES = re.compile(
    r"^/proc/cmdline$|^/boot/|^/etc/(?:apt|yum|zypp|dnf|default|kernel)|^/dev/kmsg$|^journalctl "
)
# dnf and zypper keep credentials of a repository or a proxy in options of their own as well.
_WITH_SECRETS = re.compile(r"^/etc/(?:yum|dnf|zypp|distro\.repos)")
_SECRET = re.compile(
    r"^([ \t]*[a-z_]*(?:user|username|password)[ \t]*[=:]).*(?:\n[ \t]+\S.*)*$", re.MULTILINE | re.IGNORECASE
)
_IPV4 = re.compile(r"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9.])")
_URL_HOST = re.compile(r"://(?:[^@/\s]*@)?([A-Za-z0-9._-]+)")
_PUBLIC = (
    "amd.com", "radeon.com", "ubuntu.com", "debian.org", "redhat.com", "suse.com", "opensuse.org", "rockylinux.org",
    "almalinux.org", "fedoraproject.org", "oracle.com", "kernel.org", "example", "example.com",
    "example.org", "localhost",
)  # fmt: skip
# Words of the field that a host may be called, and that mean something else in every other file.
_TOO_COMMON = frozenset(
    {"gpu", "amdgpu", "node", "host", "rocm", "linux", "ubuntu", "debian", "root", "server", "localhost"}
)
_NO_IDENTITY = frozenset({"n/a", "unknown", "none", "null", "0", "0000000000000000"})
_HOSTNAME = "/proc/sys/kernel/hostname"
# The names of variables end in identifiers that are the same everywhere.
_EFI = "/sys/firmware/efi/"
# Machines name their own certificates after themselves.
_CERTIFICATE = re.compile(r"/mok/|/mok\.pub$|\.der$|/MokListRT|/efivars/db-")
_NUMBERS = ("free_bytes", "sizes", "modified")


def anonymised(machine: dict[str, Any], salt: str) -> dict[str, Any]:
    """The machine, in the form of _recording.py, with every identity replaced.

    :param salt: replacements cannot be undone without it; keep it nowhere.
    :raises FleetError: where an identity is still in the result.
    """
    words = _Words(machine, salt)
    result = {
        "files": {words.clean(path, path): words.clean(content, path) for path, content in machine["files"].items()},
        "links": {words.clean(path, path): words.clean(target, path) for path, target in machine["links"].items()},
        "folders": [words.clean(path, path) for path in machine.get("folders", [])],
        "commands": {words.clean(key, key): words.clean(answer, key) for key, answer in machine["commands"].items()},
        **{key: {words.clean(path, path): value for path, value in machine.get(key, {}).items()} for key in _NUMBERS},
    }
    _refuse_leaks(result, words)
    return result


class _Words:
    """What is replaced by what."""

    def __init__(self, machine: dict[str, Any], salt: str) -> None:
        self._salt = salt
        self.identities = _identities(machine)
        self._hosts = _hosts(machine)
        exact = {value: self._same_form(value) for value in self.identities}
        exact.update({name: _name_of_host(name, number) for number, name in enumerate(self._hosts, 1)})
        self._exact = exact
        longest_first = sorted(exact, key=len, reverse=True)
        self._known = re.compile("|".join(rf"(?<![\w]){re.escape(word)}(?![\w])" for word in longest_first) or r"(?!)")

    def clean(self, value: Any, about: str) -> Any:
        """A value of the machine with the words of it replaced; ``about`` is the file or command that it came from."""
        if isinstance(value, str):
            return self._text(value, about)
        if isinstance(value, list):
            return [self.clean(item, about) for item in value]
        if isinstance(value, dict):
            if "base64" in value and _CERTIFICATE.search(about):
                return {**value, "base64": self._without_hosts(value["base64"])}
            return {key: item if key in ("base64", "parts") else self.clean(item, about) for key, item in value.items()}
        return value

    def left_in(self, text: str) -> list[str]:
        """Identities that a text still has."""
        return sorted(word for word in [*self.identities, *self._hosts] if re.search(rf"\b{re.escape(word)}\b", text))

    def _without_hosts(self, encoded: str) -> str:
        """Bytes in which a name of a host became another of its length: lengths inside of them stay true."""
        content = base64.b64decode(encoded)
        for name in self._hosts:
            content = content.replace(name.encode(), b"x" * len(name.encode()))
        return base64.b64encode(content).decode("ascii")

    def _text(self, text: str, about: str) -> str:
        if about == _HOSTNAME and text != about:
            return "host1\n"
        if text == about and about.startswith(_EFI):
            return text
        text = self._known.sub(lambda match: self._exact[match[0]], masked(text))
        for form in _FORMS:
            text = form.sub(lambda match: self._again(match[0]), text)
        if _WITH_SECRETS.search(about):
            text = _SECRET.sub(rf"\g<1>{MASK}", text)
        if _WITH_ADDRESSES.search(about):
            text = _IPV4.sub("192.0.2.1", text)
        return text

    def _again(self, value: str) -> str:
        return value if value in self._exact.values() else self._same_form(value)

    def _same_form(self, value: str) -> str:
        stream = hashlib.sha512(f"{self._salt}/{value}".encode()).digest() * (1 + len(value) // 64)
        hexadecimal = all(char in "0123456789abcdefABCDEFx-: " for char in value)
        return "".join(_like(char, number, hexadecimal) for char, number in zip(value, stream))


def _like(char: str, number: int, hexadecimal: bool) -> str:
    if char.isdigit():
        return str(number % 10)
    if not char.isascii() or not char.isalpha() or (hexadecimal and char == "x"):
        return char
    letter = "abcdef"[number % 6] if hexadecimal else chr(ord("a") + number % 26)
    return letter.upper() if char.isupper() else letter


def _identities(machine: dict[str, Any]) -> list[str]:
    found = [
        content.strip() for path, content in machine["files"].items() if _is_text(content, _IDENTITY_FILE.search(path))
    ]
    for text in _texts(machine):
        found += _IDENTITY_FIELD.findall(text) + _IDENTITY_TEXT.findall(text)
    return sorted({value for value in found if len(value) >= 4 and value.lower() not in _NO_IDENTITY})


def _hosts(machine: dict[str, Any]) -> list[str]:
    own = machine["files"].get(_HOSTNAME)
    names = [own.strip(), own.strip().split(".")[0]] if isinstance(own, str) else []
    for text in _texts(machine):
        names += [name for name in _URL_HOST.findall(text) if not _is_public(name)]
    return list(dict.fromkeys(name for name in names if len(name) > 1 and name.lower() not in _TOO_COMMON))


def _name_of_host(name: str, number: int) -> str:
    return f"host{number}.example" if "." in name else f"host{number}"


def _is_public(name: str) -> bool:
    return any(name == public or name.endswith(f".{public}") for public in _PUBLIC) or _IPV4.fullmatch(name) is not None


def _is_text(content: Any, wanted: Any) -> bool:
    return bool(wanted) and isinstance(content, str)


def _texts(machine: dict[str, Any]) -> list[str]:
    answers = [answer for answer in machine["commands"].values() if isinstance(answer, list)]
    outputs = [text for answer in answers for text in answer[1:]]
    return [content for content in machine["files"].values() if isinstance(content, str)] + outputs


def _refuse_leaks(result: dict[str, Any], words: _Words) -> None:
    left = words.left_in(json.dumps(result))
    if left:
        raise FleetError(
            "recording",
            f"{len(left)} values that identify the machine are still in it, one of {len(left[0])} characters",
            "none",
            "do not send it; report this with the length and place of the value",
        )
