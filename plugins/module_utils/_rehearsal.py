# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change of packages tried out by apt beside the node's own configuration, which stays untouched."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _apt, _sources
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host, unwritable
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import APT_LISTS, Package, apt_index
from ansible_collections.fleetops.instinct.plugins.module_utils._release import (
    DRIVER,
    ReleaseGoal,
    SnapshotGoal,
    refuse,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._space import Demand, another_initrd, require

ARCHIVES = "/var/cache/apt/archives"
PREFIX = "/opt"
WORK = "/var/lib"
RESERVE = 256_000_000  # what dkms builds in, and dpkg's copies of its own books
FETCH_TIMEOUT = 600.0
ONLY_WHAT_IS_NAMED = ["-y", "--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages"]

_CONFIGURATION = """\
#clear APT::Update;
Dir::State::lists "{room}/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "{room}/etc/apt/sources.list";
Dir::Etc::sourceparts "{room}/etc/apt/sources.list.d";
Dir::Etc::preferences "{room}/etc/apt/preferences";
Dir::Etc::preferencesparts "{room}/etc/apt/preferences.d";
APT::Get::List-Cleanup "false";
Acquire::GzipIndexes "false";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Debug::NoLocking "true";
"""


class Rehearsal(NamedTuple):
    """What apt would do, and the exact versions to ask it for (None: not installed)."""

    simulation: _apt.Simulation
    targets: dict[str, str | None]


class Room:
    """A folder outside apt's own configuration, gone after the ``with`` block."""

    path = ""

    def __enter__(self) -> Room:
        """Make it.

        :raises TransactionFailed: where it cannot be made.
        """
        try:
            self.path = tempfile.mkdtemp(prefix="fleetops-apt-")
            # apt fetches and checks as the user _apt, who has to get at the lists and at the key.
            os.chmod(self.path, 0o755)
            for folder in ("lists", "etc/apt/sources.list.d", "etc/apt/preferences.d"):
                os.makedirs(f"{self.path}/{folder}")
        except OSError as error:
            self.__exit__()
            raise unwritable(self.path or tempfile.gettempdir(), error) from error
        return self

    def __exit__(self, *_ignored: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def link(self, target: str, path: str) -> None:
        """A symbolic link in the folder."""
        os.symlink(target, path)


def rehearse(
    host: Host,
    room: Room,
    goal: ReleaseGoal | SnapshotGoal,
    present: dict[str, Package],
    changes: dict[str, bytes | None],
) -> Rehearsal:
    """Fetch AMD's lists as they would be after ``changes`` to apt's files, and let apt simulate the way to the goal.

    :raises TransactionFailed: where the change could not succeed, or would not be the one wanted.
    """
    _lay_out(host, room, goal, changes)
    _fetch(host, room, goal)
    index = apt_index(host, f"{room.path}/lists") or {}
    targets = goal.targets(present, index)
    broken = any(package.state in ("unpacked", "half-configured", "half-installed") for package in present.values())
    request = ONLY_WHAT_IS_NAMED + (["--fix-broken"] if broken else []) + ["install", *arguments(targets, present)]
    simulation = _simulate(host, room, request)
    refuse(goal, simulation.installs, simulation.removes, targets, index)
    _check_space(host, room, request, simulation)
    return Rehearsal(simulation, targets)


def arguments(targets: dict[str, str | None], present: dict[str, Package]) -> list[str]:
    """Targets as apt-get takes them: ``name=version``, or ``name-`` for one to remove."""
    return [
        f"{name}={version}" if version else f"{name}-"
        for name, version in targets.items()
        if version or name in present
    ]


def _lay_out(host: Host, room: Room, goal: ReleaseGoal | SnapshotGoal, changes: dict[str, bytes | None]) -> None:
    keys = {path: content for path, content in goal.files().items() if content is not None and _sources.is_key(path)}
    configured = {**_sources.read(host), **{path: changes[path] for path in changes if not _sources.is_key(path)}}
    for path, content in {**configured, **keys}.items():
        if content is not None and _sources.is_source(path):
            host.write_bytes(room.path + path, _moved(content, keys, room), 0o600)
        elif content is not None:
            host.write_bytes(room.path + path, content, 0o644)
    host.write(f"{room.path}/apt.conf", _CONFIGURATION.format(room=room.path))
    _link_other_lists(host, room)


def _moved(content: bytes, keys: dict[str, bytes], room: Room) -> bytes:
    for key in keys:
        content = content.replace(key.encode(), (room.path + key).encode())
    return content


def _link_other_lists(host: Host, room: Room) -> None:
    own = {
        prefix
        for path, content in _sources.read(host).items()
        for prefix in _sources.list_prefixes(path, (content or b"").decode("utf-8", "replace"))
    }
    for name in list_optional(host, APT_LISTS):
        amd = "_rocm_" in name or "_amdgpu_" in name or name.startswith(tuple(own))
        if not amd and name not in ("lock", "partial", "auxfiles"):
            room.link(f"{APT_LISTS}/{name}", f"{room.path}/lists/{name}")


def _fetch(host: Host, room: Room, goal: ReleaseGoal | SnapshotGoal) -> None:
    for path in sources_of(goal):
        argv = [
            "apt-get",
            "-c",
            f"{room.path}/apt.conf",
            "-o",
            f"Dir::Etc::sourcelist={room.path}{path}",
            "-o",
            "Dir::Etc::sourceparts=/dev/null",
            "update",
        ]
        done = host.run(argv, timeout=FETCH_TIMEOUT)
        if done.rc != 0 or _apt.fetch_failed(done.out + done.err):
            raise _apt.failure(done, "lists that can be fetched and verified")


def sources_of(goal: ReleaseGoal | SnapshotGoal) -> list[str]:
    """The files with AMD's repositories that the goal has."""
    return sorted(path for path, content in goal.files().items() if content is not None and _sources.is_source(path))


def _simulate(host: Host, room: Room, request: list[str]) -> _apt.Simulation:
    done = host.run(["apt-get", "-c", f"{room.path}/apt.conf", "-s", *request], timeout=FETCH_TIMEOUT)
    if done.rc != 0:
        raise _apt.failure(done, "a way to the wanted versions")
    return _apt.parse_simulation(done.out)


def _check_space(host: Host, room: Room, request: list[str], simulation: _apt.Simulation) -> None:
    done = host.run(["apt-get", "-c", f"{room.path}/apt.conf", "--print-uris", *request], timeout=FETCH_TIMEOUT)
    if done.rc != 0:
        raise _apt.failure(done, "the sizes of the packages")
    download, after = _apt.space_needed(done.out)
    demands = [
        Demand(PREFIX, max(after, 0), "the packages"),
        Demand(ARCHIVES, download, "their archives"),
        Demand(WORK, RESERVE, "the build of the driver"),
    ]
    touched = [*(step.name for step in simulation.installs), *simulation.removes]
    initrd = [another_initrd(host)] if any(name.startswith(DRIVER) for name in touched) else []
    require(host, demands + initrd)
