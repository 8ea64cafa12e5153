# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node is to have installed: a release, or exactly what a snapshot recorded. Pure."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _sources
from ansible_collections.fleetops.instinct.plugins.module_utils._apt import Step
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, TransactionFailed
from ansible_collections.fleetops.instinct.plugins.module_utils._files import from_record, mode_in_record
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import (
    compare,
    compare_debian,
    parse_version,
    release_of_driver_package,
    release_of_rocm_package,
)

DRIVER = "amdgpu-dkms"


class ReleaseGoal(NamedTuple):
    """One ROCm release and one driver release, with AMD's packages held there or free."""

    release: str
    driver: str
    packages: tuple[str, ...]
    hold: bool
    repository: _sources.Repository

    def files(self) -> dict[str, bytes | None]:
        """apt's files for it."""
        return _sources.wanted_files(self.repository)

    def modes(self) -> dict[str, int]:
        """Their modes, as far as they matter: not at all, since no secret is in them."""
        return {}

    def accepts(self, name: str, version: str) -> bool:
        """True where this version of an AMD package belongs to the release."""
        release = _release_of(name, version)
        return release is not None and any(compare(release, wanted) == 0 for wanted in self._releases(name))

    def complaints(self, present: dict[str, Package]) -> list[str]:
        """How the installed packages differ from the goal; nothing where they do not."""
        lacking = [f"{name} is not installed" for name in self.packages if not _there(present.get(name))]
        broken = [
            _state_of(package) for package in present.values() if _there(package) and package.state != "installed"
        ]
        other = [
            f"{package.name} is {package.version}"
            for package in present.values()
            if self._managed(package) and not self.accepts(package.name, package.version)
        ]
        return lacking + broken + other

    def targets(self, present: dict[str, Package], index: dict[str, set[str]]) -> dict[str, str | None]:
        """The exact version of every package to ask apt for; None for one that this release has no more.

        :raises TransactionFailed: version_unavailable, where the repositories do not offer a wanted package.
        """
        names = {
            *self.packages,
            *(name for name, package in present.items() if self._managed(package) or name in index and _there(package)),
        }
        found = {name: self._newest(name, index) for name in sorted(names)}
        for name in found:
            if found[name] is None and (name in self.packages or name.startswith(DRIVER)):
                raise _unavailable(name, f"{self.release} (driver {self.driver})", index)
        return {name: version for name, version in found.items() if version or self._managed(present[name])}

    def holds(self, present: dict[str, Package]) -> dict[str, bool]:
        """Which of the installed packages must be held."""
        return {name: self.hold for name, package in present.items() if self._managed(package)}

    def _releases(self, name: str) -> tuple[str, ...]:
        if name.startswith(DRIVER):
            return (self.driver,)
        # AMD's display libraries come with either number, by the repository that carries them.
        return (self.release, self.driver) if "amdgpu" in name else (self.release,)

    def _newest(self, name: str, index: dict[str, set[str]]) -> str | None:
        fitting = [version for version in index.get(name, ()) if self.accepts(name, version)]
        return max(fitting, key=functools.cmp_to_key(compare_debian)) if fitting else None

    def _managed(self, package: Package) -> bool:
        return _there(package) and _release_of(package.name, package.version) is not None and not _side_by_side(package)


class SnapshotGoal(NamedTuple):
    """Exactly the files, packages and holds that a snapshot recorded; other AMD packages are not installed."""

    recorded_files: dict[str, bytes | None]
    recorded: dict[str, Package]
    recorded_modes: dict[str, int]

    def files(self) -> dict[str, bytes | None]:
        """apt's files as recorded."""
        return self.recorded_files

    def modes(self) -> dict[str, int]:
        """Their modes as recorded."""
        return self.recorded_modes

    def accepts(self, name: str, version: str) -> bool:
        """True where this is the recorded version of a recorded package."""
        package = self.recorded.get(name)
        return package is not None and _there(package) and package.version == version

    def complaints(self, present: dict[str, Package]) -> list[str]:
        """How the installed packages differ from the snapshot; nothing where they do not."""
        wanted = {name for name, package in self.recorded.items() if _there(package)}
        lacking = [f"{name} is not installed" for name in sorted(wanted) if not _there(present.get(name))]
        return lacking + [
            _state_of(package)
            for package in present.values()
            if _there(package) and (package.state != "installed" or not self.accepts(package.name, package.version))
        ]

    def targets(self, present: dict[str, Package], index: dict[str, set[str]]) -> dict[str, str | None]:
        """The exact version of every package to ask apt for; None for one that the snapshot does not have.

        :raises TransactionFailed: version_unavailable, where the repositories no longer offer a recorded version.
        """
        wanted: dict[str, str | None] = {name: p.version for name, p in sorted(self.recorded.items()) if _there(p)}
        for name, version in wanted.items():
            settled = name in present and present[name].state == "installed" and present[name].version == version
            amd = _release_of(name, str(version)) is not None
            if amd and not settled and version not in index.get(name, ()):
                raise _unavailable(name, str(version), index)
        return {**wanted, **{name: None for name, package in present.items() if _there(package) and name not in wanted}}

    def holds(self, present: dict[str, Package]) -> dict[str, bool]:
        """The recorded holds."""
        return {name: bool(package.hold) for name, package in self.recorded.items() if _there(package)}


def release_goal(params: dict[str, Any]) -> ReleaseGoal:
    """The goal in a module's options.

    :raises ParseError: where a release is not numbers joined by dots, or a repository or key is malformed.
    """
    for name in ("release", "driver"):
        parse_version(params[name])
    repository = _sources.Repository(**params["repository"], key=params["key"])
    return ReleaseGoal(params["release"], params["driver"], tuple(params["packages"]), params["hold"], repository)


def snapshot_goal(snapshot: dict[str, Any]) -> SnapshotGoal:
    """The goal in a snapshot.

    :raises ParseError: where it is not what node_snapshot wrote.
    """
    try:
        files = {path: from_record(path, record) for path, record in snapshot["apt_files"].items()}
        modes = {path: mode_in_record(path, record) for path, record in snapshot["apt_files"].items()}
        packages = {
            name: Package(name, row["version"], row["state"], bool(row["hold"]))
            for name, row in snapshot["packages"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ParseError(
            "snapshot", f"{type(error).__name__}: {error}", "the snapshot that node_snapshot returned"
        ) from error
    return SnapshotGoal(files, packages, {path: mode for path, mode in modes.items() if mode is not None})


def refuse(
    goal: ReleaseGoal | SnapshotGoal,
    installs: list[Step],
    removes: list[str],
    targets: dict[str, str | None],
    index: dict[str, set[str]],
) -> None:
    """Stop before a change that is not the one wanted.

    :raises TransactionFailed: where apt would take an AMD package from elsewhere, or remove what was not to be removed.
    """
    for step in installs:
        foreign = step.new not in index.get(step.name, {step.new})
        other = _release_of(step.name, step.new) is not None and not goal.accepts(step.name, step.new)
        if step.name in index and targets.get(step.name) != step.new and (foreign or other):
            raise TransactionFailed(
                "unmet_dependencies",
                step.name,
                f"apt would install {step.new}, which is not of this release",
                f"one of {', '.join(sorted(index[step.name]))}",
                f"look for another repository or pin: apt-cache policy {step.name}",
            )
    unasked = [name for name in removes if name not in targets or targets[name] is not None]
    if unasked:
        raise TransactionFailed(
            "unmet_dependencies",
            ", ".join(unasked),
            "apt would remove it",
            "only AMD packages that the release does not have are removed",
            "remove what conflicts, or name it in packages",
        )


def installed(present: dict[str, Package]) -> dict[str, Package]:
    """The packages that are on the node in any state, without those that are only remembered."""
    return {name: package for name, package in present.items() if _there(package)}


def _unavailable(name: str, wanted: str, index: dict[str, set[str]]) -> TransactionFailed:
    offered = ", ".join(sorted(index.get(name, ()))) or "nothing"
    return TransactionFailed(
        "version_unavailable",
        name,
        f"the repositories offer {offered}",
        wanted,
        "check the address and that the mirror still carries this release",
    )


def _release_of(name: str, version: str) -> str | None:
    return release_of_driver_package(version) if "amdgpu" in name else release_of_rocm_package(version)


def _side_by_side(package: Package) -> bool:
    # rocm-core6.2.4 and its like were installed beside the node's own release on purpose.
    return package.name.endswith(_release_of(package.name, package.version) or "\0")


def _there(package: Package | None) -> bool:
    return package is not None and package.state not in ("config-files", "not-installed")


def _state_of(package: Package) -> str:
    return f"{package.name} {package.version} is {package.state}"
