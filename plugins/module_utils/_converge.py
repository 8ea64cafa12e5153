# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From what is installed to what is wanted: compare, rehearse, apply, read back."""

from __future__ import annotations

from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _driver, _sources, _transaction
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import UnsupportedPlatform
from ansible_collections.fleetops.instinct.plugins.module_utils._files import differing, read_optional, render
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    Package,
    dpkg_packages,
    is_amd_package,
    package_manager,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._rehearsal import Rehearsal, Room, rehearse
from ansible_collections.fleetops.instinct.plugins.module_utils._release import ReleaseGoal, SnapshotGoal, installed


class State(NamedTuple):
    """What the node has: apt's files as far as they matter here, AMD's packages, leftover dkms folders.

    ``built`` is false where the installed driver is not built for the kernel that boots next.
    """

    files: dict[str, bytes | None]
    packages: dict[str, Package]
    stale: list[str]
    built: bool


class Change(NamedTuple):
    """What has to be done: ``packages`` where apt must run, ``holds`` where apt-mark must, ``build`` where dkms must"""

    files: dict[str, bytes | None]
    packages: bool
    holds: bool
    stale: list[str]
    build: bool

    def __bool__(self) -> bool:
        return bool(self.files or self.packages or self.holds or self.stale or self.build)


class Outcome(NamedTuple):
    """The node before and after; in check mode, ``after`` is what it would be."""

    changed: bool
    before: State
    after: State
    reboot_required: bool


def read_state(host: Host, goal: ReleaseGoal | SnapshotGoal) -> State:
    """Read the node, from files alone.

    :raises UnsupportedPlatform: where the node's packages are not managed by apt.
    """
    manager = package_manager(host)
    if manager != "apt":
        raise UnsupportedPlatform(
            "package manager",
            manager or "none that is known",
            "apt",
            "nodes with dnf or zypper cannot be changed by this release of the collection",
        )
    configured = _sources.read(host)
    keys = {path: read_optional(host, path) for path in goal.files() if path not in configured}
    packages = installed(dpkg_packages(host))
    driver = packages.get(_driver.DRIVER)
    stale = _driver.stale_trees(host, {driver.version} if driver else set())
    return State({**configured, **keys}, packages, stale, driver is None or _driver.built(host, driver.version))


def plan(state: State, goal: ReleaseGoal | SnapshotGoal) -> Change:
    """What separates the state from the goal. Pure."""
    wanted = goal.files()
    kept = {path for path, content in wanted.items() if content is not None}
    origin = goal.repository.origin if isinstance(goal, ReleaseGoal) else _sources.AMD_ORIGIN
    files = {**_sources.without_amd(state.files, kept, origin), **differing(state.files, wanted)}
    return Change(
        files,
        bool(goal.complaints(state.packages)),
        bool(_transaction.hold_complaints(goal, state.packages)),
        state.stale,
        not state.built,
    )


def converge(host: Host, goal: ReleaseGoal | SnapshotGoal, limits: _transaction.Limits, check_mode: bool) -> Outcome:
    """Bring the node to the goal, or in check mode say what that would do.

    :raises FleetError: with nothing changed, or as :func:`_transaction.apply` and :func:`_transaction.verify` raise it.
    """
    state = read_state(host, goal)
    change = plan(state, goal)
    if not change:
        return Outcome(False, state, state, _driver.reboot_required(host, state.packages, state.packages))
    rehearsal = _rehearse(host, goal, state, change)
    if check_mode:
        after = predicted(state, goal, change, rehearsal)
    else:
        _make(host, goal, change, rehearsal, limits)
        _transaction.verify(host, goal)
        after = read_state(host, goal)
    return Outcome(True, state, after, _driver.reboot_required(host, after.packages, state.packages))


def predicted(state: State, goal: ReleaseGoal | SnapshotGoal, change: Change, rehearsal: Rehearsal | None) -> State:
    """The state that the change leads to. Pure."""
    packages = dict(state.packages)
    if rehearsal is not None:
        for name in rehearsal.simulation.removes:
            packages.pop(name, None)
        new = {step.name: step.new for step in rehearsal.simulation.installs if is_amd_package(step.name, step.new)}
        packages.update({name: Package(name, version, "installed", False) for name, version in new.items()})
        packages = {name: package._replace(state="installed") for name, package in packages.items()}
    held = goal.holds(packages)
    return State(
        {**state.files, **change.files},
        {name: package._replace(hold=held.get(name, package.hold)) for name, package in packages.items()},
        [],
        True,
    )


def shown(state: State, also: State) -> str:
    """The state as text, for one side of a diff: the files in which it differs from the other, and AMD's packages."""
    paths = [path for path in {**state.files, **also.files} if state.files.get(path) != also.files.get(path)]
    files = render({path: state.files.get(path) for path in paths})
    rows = [
        f"{p.name} {p.version} {p.state}{' hold' if p.hold else ''}\n" for _name, p in sorted(state.packages.items())
    ]
    driver = [] if state.built else ["# driver not built for the kernel that boots next\n"]
    return files + "# packages\n" + "".join(rows + driver + [f"# leftover {path}\n" for path in state.stale])


def result(outcome: Outcome) -> dict[str, Any]:
    """What the module returns."""
    before, after = outcome.before, outcome.after
    rows = {
        name: {"before": _brief(before.packages.get(name)), "after": _brief(after.packages.get(name))}
        for name in sorted({**before.packages, **after.packages})
        if before.packages.get(name) != after.packages.get(name)
    }
    files = sorted(path for path in {**before.files, **after.files} if before.files.get(path) != after.files.get(path))
    return {
        "changed": outcome.changed,
        "reboot_required": outcome.reboot_required,
        "release": {"packages": rows, "files": files, "leftovers": before.stale},
    }


def _rehearse(host: Host, goal: ReleaseGoal | SnapshotGoal, state: State, change: Change) -> Rehearsal | None:
    if not (change.files or change.packages):
        return None
    with Room() as folder:
        return rehearse(host, folder, goal, state.packages, change.files)


def _make(
    host: Host,
    goal: ReleaseGoal | SnapshotGoal,
    change: Change,
    rehearsal: Rehearsal | None,
    limits: _transaction.Limits,
) -> None:
    if rehearsal is None:
        _driver.remove_stale(host, change.stale)
        _transaction.build_driver(host, limits)
        _transaction.set_holds(host, goal.holds(dpkg_packages(host)), limits)
    else:
        _transaction.apply(host, goal, rehearsal, change.files, limits)


def _brief(package: Package | None) -> dict[str, Any] | None:
    return {key: getattr(package, key) for key in ("name", "version", "state", "hold")} if package else None
