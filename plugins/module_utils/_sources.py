# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""apt's own configuration as far as it names AMD's repositories: sources, pins and keys. Pure but for :func:`read`."""

from __future__ import annotations

import re
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import MASK, found, masked
from ansible_collections.fleetops.instinct.plugins.module_utils._deb822 import fields, split
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional, read_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

APT = "/etc/apt"
KEY = f"{APT}/keyrings/rocm.asc"
SOURCES = f"{APT}/sources.list.d/rocm.list"
PIN = f"{APT}/preferences.d/rocm-pin"
AMD_ORIGIN = "repo.radeon.com"
NO_CREDENTIALS = (
    "an address without user and password",
    f"put them on the nodes, into a file of mode 0600 in {APT}/auth.conf.d (see man apt_auth.conf)",
)

# A mirror keeps AMD's folders: /rocm/apt and /amdgpu up to 7.2, /rocm/core from 7.14.
_ADDRESS = re.compile(r"/(?:rocm|amdgpu)/|//repo\.radeon\.com/|//(?:stable\.)?repo\.amd\.com/")
# apt passes over files of other names.
_SOURCE_NAME = re.compile(r"[A-Za-z0-9_.-]+\.(?:list|sources)")
_PIN_NAME = re.compile(r"[A-Za-z0-9_-]+|[A-Za-z0-9_.-]+\.pref")
_SIGNED_BY = re.compile(r"signed-by[=:]\s*(/[^\s\],]+)", re.IGNORECASE)
_LIST_LINE = re.compile(r"^\s*deb(?:-src)?\s")
_URI = re.compile(r"[a-z][a-z+]*:/[^\s\"']*", re.IGNORECASE)
_PLAIN_TEXT = re.compile(r"[\x21-\x7e]+")


class Repository(NamedTuple):
    """AMD's two repositories, as complete addresses; ``origin`` is what their Release files call themselves."""

    rocm: str
    driver: str
    suite: str
    component: str = "main"
    origin: str = AMD_ORIGIN
    key: str = ""


def wanted_files(repository: Repository) -> dict[str, bytes | None]:
    """Key, sources and pin for the repositories, by path.

    :raises ParseError: where a value could not stand in a source line, or the key is no armored public key.
    """
    for name, value in repository._asdict().items():
        if name != "key" and not _PLAIN_TEXT.fullmatch(value):
            raise ParseError(f"repository, {name}", f"{value!r}", "one word without blanks")
        if found(value):
            raise ParseError(f"repository, {name}", f"{masked(value)} holds credentials", *NO_CREDENTIALS)
    if "BEGIN PGP PUBLIC KEY BLOCK" not in repository.key:
        raise ParseError("key", f"{repository.key[:40]!r}", "an armored public key", "gpg --armor --export KEY")
    lines = [
        f"deb [arch=amd64 signed-by={KEY}] {address} {repository.suite} {repository.component}\n"
        for address in (repository.rocm, repository.driver)
    ]
    return {
        KEY: (repository.key.strip() + "\n").encode(),
        SOURCES: "".join(lines).encode(),
        # Above 1000, so that going back to an older release is what apt wants, not what it has to be talked into.
        PIN: f"Package: *\nPin: release o={repository.origin}\nPin-Priority: 1001\n".encode(),
    }


def read(host: Host) -> dict[str, bytes | None]:
    """Every source and preferences file of apt, by path."""
    paths = [f"{APT}/sources.list", f"{APT}/preferences"]
    for folder in (f"{APT}/sources.list.d", f"{APT}/preferences.d"):
        paths += [path for path in (f"{folder}/{name}" for name in list_optional(host, folder)) if is_read(path)]
    contents = {path: read_optional(host, path) for path in paths}
    return {path: content for path, content in contents.items() if content is not None}


def amd_files(host: Host) -> dict[str, bytes | None]:
    """The files that a way back needs: sources and pins that name AMD, and the keyrings that those sources name.

    The three files that this collection writes are always among them: None where they are not there.
    """
    found = {path: content for path, content in read(host).items() if names_amd(path, _text(content))}
    keys = {key for path, content in found.items() for key in _SIGNED_BY.findall(_amd_part(path, _text(content)))}
    return {SOURCES: None, PIN: None, **found, **{key: read_optional(host, key) for key in sorted(keys | {KEY})}}


def without_amd(
    configured: dict[str, bytes | None], keep: set[str], origin: str = AMD_ORIGIN
) -> dict[str, bytes | None]:
    """What has to change so that only the files in ``keep`` name AMD: a file emptied by that is removed (None)."""
    changes: dict[str, bytes | None] = {}
    for path, content in configured.items():
        text = _text(content)
        if path in keep or not names_amd(path, text, origin):
            continue
        rest = _join(path, [part for part in _split(path, text) if not _part_names_amd(path, part, origin)])
        changes[path] = rest.encode() if _says_something(rest) else None
    return changes


def names_amd(path: str, text: str, origin: str = AMD_ORIGIN) -> bool:
    """True where an active line of a source file, or a pin of a preferences file, names AMD's repositories."""
    return any(_part_names_amd(path, part, origin) for part in _split(path, text))


def is_read(path: str) -> bool:
    """True for a file that apt does not pass over for its name."""
    form = _SOURCE_NAME if path.startswith(f"{APT}/sources.list.d/") else _PIN_NAME
    return path in (f"{APT}/sources.list", f"{APT}/preferences") or bool(form.fullmatch(path.rsplit("/", 1)[-1]))


def addresses_amd(text: str) -> bool:
    """True where an address in the text is one of AMD's repositories, or of a mirror of one."""
    return any(_ADDRESS.search(f"{uri}/") for uri in _URI.findall(text))


def list_prefixes(path: str, text: str) -> set[str]:
    """How the files below /var/lib/apt/lists begin that apt keeps for the AMD repositories of a source file."""
    addresses = _URI.findall(_amd_part(path, text))
    plain = [re.sub(rf"^[a-z+]+:/+(?:{re.escape(MASK)}@)?", "", masked(address.rstrip("/"))) for address in addresses]
    return {address.replace("_", "%5f").replace("/", "_") + "_" for address in plain}


def is_source(path: str) -> bool:
    """True for a file with sources, as against pins and keys."""
    return path.startswith(f"{APT}/sources.list")


def is_pin(path: str) -> bool:
    """True for a preferences file."""
    return path.startswith(f"{APT}/preferences")


def is_key(path: str) -> bool:
    """True for a keyring: all that is neither a source nor a pin."""
    return not is_source(path) and not is_pin(path)


def _part_names_amd(path: str, part: str, origin: str) -> bool:
    if is_pin(path):
        pin = fields(part).get("pin", "")
        return AMD_ORIGIN in pin or f"o={origin}" in pin
    if path.endswith(".sources"):
        return addresses_amd(fields(part).get("uris", ""))
    return bool(_LIST_LINE.match(part)) and addresses_amd(part)


def _amd_part(path: str, text: str) -> str:
    if not is_source(path):
        return ""
    return _join(path, [part for part in _split(path, text) if _part_names_amd(path, part, AMD_ORIGIN)])


def _split(path: str, text: str) -> list[str]:
    if is_pin(path) or path.endswith(".sources"):
        return split(text)
    return text.splitlines()


def _join(path: str, parts: list[str]) -> str:
    text = ("\n\n" if is_pin(path) or path.endswith(".sources") else "\n").join(parts)
    return text.rstrip("\n") + "\n"


def _says_something(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")
