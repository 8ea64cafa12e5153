# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files as part of a declared set: read, recorded as JSON, put back, shown in a diff; and a memory that a boot ends."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import Any, Iterable, Mapping

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError, ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

BOOT_ID = "/proc/sys/kernel/random/boot_id"
THIS_BOOT = "/run/fleetops/this_boot.json"


def read_optional(host: Host, path: str) -> bytes | None:
    """Content of a file, None where it is not there.

    :raises Unreadable: where it is there and cannot be read.
    """
    try:
        return host.read_bytes(path)
    except Unreadable as error:
        if error.missing:
            return None
        raise


def list_optional(host: Host, folder: str) -> list[str]:
    """Sorted names in a folder, none where there is no such folder."""
    try:
        return host.list(folder)
    except Unreadable as error:
        if error.missing:
            return []
        raise


def put(host: Host, changes: dict[str, bytes | None], modes: Mapping[str, int] | None = None) -> None:
    """Write, or remove where the content is None, each file; one without a mode here keeps its own, or gets 0644."""
    for path, content in changes.items():
        if content is None:
            host.remove(path)
        else:
            host.write_bytes(path, content, (modes or {}).get(path))


def modes_of(host: Host, paths: Iterable[str]) -> dict[str, int]:
    """The mode of each file that is there."""
    return {path: host.stat(path).mode for path in paths if host.exists(path)}


def differing(current: dict[str, bytes | None], wanted: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """Those wanted files that are not as wanted."""
    return {path: content for path, content in wanted.items() if current.get(path) != content}


def to_record(content: bytes | None) -> dict[str, str] | None:
    """JSON for a file's content: ``{"text": …}``, ``{"base64": …}`` for what is not text, null for no file."""
    if content is None:
        return None
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def mode_in_record(path: str, record: Any) -> int | None:
    """The mode in a record, ``{"mode": "0640"}``; None where there is none.

    :raises ParseError: where it is no mode.
    """
    text = record.get("mode") if isinstance(record, dict) else None
    if text is None:
        return None
    if not isinstance(text, str) or not re.fullmatch("0[0-7]{3}", text):
        raise ParseError(f"snapshot, mode of {path}", f"{text!r:.80}", "four octal digits")
    return int(text, 8)


def from_record(path: str, record: Any) -> bytes | None:
    """The content that :func:`to_record` recorded for a path.

    :raises ParseError: where the record is of another form.
    """
    if record is None:
        return None
    if isinstance(record, dict) and isinstance(record.get("text"), str):
        return str(record["text"]).encode("utf-8")
    try:
        return base64.b64decode(record["base64"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error) as error:
        raise ParseError(
            f"snapshot, file {path}", f"{record!r:.80}", "an object with text or base64, or null"
        ) from error


def render(files: dict[str, bytes | None]) -> str:
    """Files as one text for a diff: credentials in addresses are left out, keys shown by their digest only."""
    return "".join(
        f"# {path}\n{_shown(path, content)}" for path, content in sorted(files.items()) if content is not None
    )


def remember_for_this_boot(host: Host, key: str, value: Any) -> None:
    """Keep ``value`` until the next boot, unless one is kept for ``key``: the first one is how the node booted."""
    kept = _kept(host)
    if key in kept:
        return
    kept[key] = value
    host.write(THIS_BOOT, json.dumps({"boot_id": _boot_id(host), "kept": kept}), 0o600)


def remembered(host: Host, key: str) -> Any:
    """What was kept for ``key`` since the last boot; None where nothing was."""
    return _kept(host).get(key)


def _kept(host: Host) -> dict[str, Any]:
    try:
        record = json.loads(host.read(THIS_BOOT))
        same_boot = record["boot_id"] == _boot_id(host)
        return dict(record["kept"]) if same_boot else {}
    except (FleetError, ValueError, KeyError, TypeError):
        return {}


def _boot_id(host: Host) -> str:
    return host.read(BOOT_ID).strip()


def _shown(path: str, content: bytes) -> str:
    if "keyring" in path or "trusted.gpg" in path or b"\0" in content:
        return f"sha256:{hashlib.sha256(content).hexdigest()}\n"
    text = masked(content.decode("utf-8", "replace"))
    return text if text.endswith("\n") else text + "\n"
