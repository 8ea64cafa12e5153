# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a way back needs, recorded on the node before anything is changed.

A file with credentials in it is recorded in the node's own snapshot file alone. What leaves the node says that there is
a text, and carries a digest of it: salted, for a password must not be found by trying, with a salt that stays as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils import _driver, _kernel, _sources
from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import grub_next_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import found
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (
    FleetError,
    ParseError,
    Unreadable,
    UnsupportedPlatform,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._files import (
    BOOT_ID,
    from_record,
    read_optional,
    to_record,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    Package,
    apt_index,
    dpkg_packages,
    package_manager,
)

FOLDER = "/var/lib/fleetops/snapshots"
SCHEMA = 1

_ROLLOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_KEYS = (
    "schema",
    "rollout",
    "packages",
    "apt_files",
    "kernel_settings",
    "kernel",
    "driver",
    "rocm_path",
    "boot_id",
    "rollback",
)


def path_of(folder: str, rollout: str) -> str:
    """The file of a rollout's snapshot.

    :raises ParseError: where the rollout's name could lead out of the folder.
    """
    if not _ROLLOUT.fullmatch(rollout):
        raise ParseError("rollout", f"{rollout!r}", "letters, digits, dots, hyphens and underscores")
    return f"{folder.rstrip('/')}/{rollout}.json"


def take(host: Host, rollout: str) -> dict[str, Any]:
    """The snapshot of the node as it is now, as plain JSON.

    :raises FleetError: where something that a way back needs cannot be read: half a snapshot is none.
    """
    if package_manager(host) != "apt":
        raise UnsupportedPlatform("package manager", package_manager(host) or "none that is known", "apt")
    packages = dpkg_packages(host)
    # An empty index means that no list was fetched, not that nothing is offered.
    index = apt_index(host) or None
    obtainable = {
        name: (package.version in index.get(name, ()) if index is not None else None)
        for name, package in sorted(packages.items())
        if package.state == "installed"
    }
    why = why_not_ready(packages, obtainable)
    return {
        "schema": SCHEMA,
        "rollout": rollout,
        "boot_id": host.read(BOOT_ID).strip(),
        "packages": {
            name: {"version": p.version, "state": p.state, "hold": p.hold} for name, p in sorted(packages.items())
        },
        "obtainable": obtainable,
        "rollback": {"ready": not why, "why": why},
        "apt_files": {path: _record(host, path, content) for path, content in sorted(_sources.amd_files(host).items())},
        "kernel_settings": {
            "files": {path: _record(host, path, read_optional(host, path)) for path in _kernel.OWN_FILES}
        },
        "kernel": _kernels(host),
        "driver": {"loaded": _optional(host, _driver.LOADED)},
        "rocm_path": _link(host, "/opt/rocm"),
    }


def why_not_ready(packages: dict[str, Package], obtainable: dict[str, bool | None]) -> list[str]:
    """Why the node could not be brought back to these packages; nothing where it could. Pure."""
    broken = [
        f"{name} {package.version} is {package.state}"
        for name, package in sorted(packages.items())
        if package.state not in ("installed", "config-files", "not-installed")
    ]
    gone = [
        f"{name} {packages[name].version} is no longer offered by the repositories"
        for name, offered in obtainable.items()
        if offered is False
    ]
    unknown = [name for name, offered in obtainable.items() if offered is None]
    lists = (
        [f"no package lists on the node: cannot tell whether {len(unknown)} packages are still offered"]
        if unknown
        else []
    )
    return broken + gone + lists


def load(host: Host, path: str, rollout: str | None) -> dict[str, Any] | None:
    """The snapshot in a file, whole; None where there is none yet.

    :param rollout: the one it must be of; None where that does not matter.
    :raises ParseError: where the file is not a snapshot of this rollout.
    """
    content = read_optional(host, path)
    if content is None:
        return None
    try:
        snapshot = json.loads(content)
    except ValueError as error:
        raise _corrupt(path, f"is no JSON ({error})") from error
    lacking = [key for key in _KEYS if not isinstance(snapshot, dict) or key not in snapshot]
    if lacking:
        raise _corrupt(path, f"lacks {', '.join(lacking)}")
    if snapshot["schema"] != SCHEMA or rollout not in (None, snapshot["rollout"]):
        raise _corrupt(path, f"is of schema {snapshot['schema']!r} and rollout {snapshot['rollout']!r}")
    return dict(snapshot)


def keep(host: Host, path: str, snapshot: dict[str, Any]) -> None:
    """Write the snapshot, readable by root only: source files may hold credentials."""
    host.make_private_folder(path.rsplit("/", 1)[0])
    host.write(path, json.dumps(snapshot, indent=1, sort_keys=True) + "\n", 0o600)


def public(snapshot: dict[str, Any], path: str) -> dict[str, Any]:
    """The snapshot as it may leave the node: ``{"withheld": digest, "kept_in": path}`` for a file with credentials.

    :param path: the snapshot's file on the node.
    """

    def without(name: str, record: Any) -> Any:
        if record is None or "salt" not in record:
            return record
        return {"withheld": _digest(name, record), "kept_in": path, "mode": record["mode"]}

    return _with_records(snapshot, without)


def complete(host: Host, snapshot: dict[str, Any]) -> dict[str, Any]:
    """The snapshot with what :func:`public` withheld, out of the file on this node.

    :raises FleetError: where that file is gone, or does not hold what was recorded.
    """
    try:
        return _with_records(snapshot, lambda name, record: _revealed(host, name, record))
    except (KeyError, TypeError, AttributeError):
        return snapshot  # no snapshot at all, which whoever reads it says better


def _record(host: Host, path: str, content: bytes | None) -> dict[str, str] | None:
    record = to_record(content)
    if record is None:
        return None
    salt = {"salt": secrets.token_hex(16)} if found((content or b"").decode("utf-8", "replace")) else {}
    return {**record, "mode": f"{host.stat(path).mode & 0o777:04o}", **salt}


def _digest(path: str, record: dict[str, Any]) -> str:
    content = from_record(path, record) or b""
    return f"sha256:{hashlib.sha256(str(record.get('salt')).encode() + content).hexdigest()}"


def _with_records(snapshot: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    settings = snapshot["kernel_settings"]
    return {
        **snapshot,
        "apt_files": {path: change(path, record) for path, record in snapshot["apt_files"].items()},
        "kernel_settings": {
            **settings,
            "files": {path: change(path, record) for path, record in settings["files"].items()},
        },
    }


def _revealed(host: Host, path: str, record: Any) -> Any:
    if record is None or "withheld" not in record:
        return record
    kept = load(host, record["kept_in"], None)
    own = {**kept["apt_files"], **kept["kernel_settings"]["files"]}.get(path) if kept else None
    if own is None or _digest(path, own) != record["withheld"]:
        raise FleetError(
            record["kept_in"],
            "is not there" if kept is None else f"does not hold {path} as it was recorded",
            f"the snapshot from before the change: {path} has credentials in it and is kept nowhere else",
            f"put {record['kept_in']} back from a copy of the node, or bring the node back without a snapshot: "
            "rocm_release with its old release, and the credentials in /etc/apt/auth.conf.d",
        )
    return own


def _corrupt(path: str, seen: str) -> ParseError:
    return ParseError(
        path,
        seen,
        "a snapshot as node_snapshot writes it",
        "move the file away if it is not needed; a new one records the node as it is now, which may be half changed",
    )


def _kernels(host: Host) -> dict[str, Any]:
    try:
        entry = grub_next_entry(host)
        following: dict[str, Any] = {"next_boot": entry.kernel, "next_boot_cmdline": entry.cmdline}
    except FleetError:
        following = {"next_boot": None, "next_boot_cmdline": None}
    return {
        "running": host.read(_driver.RUNNING_KERNEL).strip(),
        "cmdline": tokens(host.read("/proc/cmdline")),
        **following,
    }


def _optional(host: Host, path: str) -> str | None:
    content = read_optional(host, path)
    return None if content is None else content.decode("utf-8", "replace").strip()


def _link(host: Host, path: str) -> str | None:
    try:
        return host.readlink(path)
    except Unreadable:
        return None
