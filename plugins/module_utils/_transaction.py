# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rehearsed change of packages, made: files, lists, one run of apt, holds, and a look at what came of it."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _apt, _driver, _sources
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (
    CommandFailed,
    FleetError,
    TransactionFailed,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._files import (
    list_optional,
    modes_of,
    put,
    read_optional,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed, Host
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import (
    APT_LISTS,
    Package,
    apt_automatic,
    dpkg_packages,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._rehearsal import (
    ONLY_WHAT_IS_NAMED,
    Rehearsal,
    arguments,
    sources_of,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._release import ReleaseGoal, SnapshotGoal, installed

QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1", "APT_LISTCHANGES_FRONTEND": "none"}
KEEP_CONFIGURATION = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
LOCK_PAUSE = 5.0


class Limits(NamedTuple):
    """Seconds to wait for the package manager's lock, and for the transaction."""

    lock: float
    install: float


def apply(
    host: Host, goal: ReleaseGoal | SnapshotGoal, rehearsal: Rehearsal, changes: dict[str, bytes | None], limits: Limits
) -> None:
    """Make the rehearsed change. Whatever happens, what was held is held afterwards.

    :raises TransactionFailed: with the cause; apt's files are as before where no package was changed.
    """
    before = dpkg_packages(host)
    earlier_files = {path: read_optional(host, path) for path in changes}
    earlier_modes = modes_of(host, changes)
    automatic = apt_automatic(host)
    _driver.remember_driver(host, installed(before))
    _remove_stale(host)

    def undo() -> None:
        if _same_packages(before, dpkg_packages(host)):
            put(host, earlier_files, earlier_modes)
            _forget_lists(host, changes)

    try:
        put(host, changes, goal.modes())
        _fetch(host, goal, limits)
        _remove_broken_driver(host, before, rehearsal.targets, limits)
        _remove_stale(host)
        _install(host, rehearsal.targets, before, limits)
        build_driver(host, limits)
    except FleetError as error:
        _after_failure(error, "apt's files could not be put back", undo)
        _after_failure(error, "the holds could not be set again", lambda: _hold_again(host, goal, before, limits))
        raise
    set_holds(host, goal.holds(dpkg_packages(host)), limits)
    _mark_automatic(host, automatic & set(installed(before)), limits)
    _remove_stale(host)
    _forget_lists(host, earlier_files)


def verify(host: Host, goal: ReleaseGoal | SnapshotGoal) -> None:
    """Read back that the goal is reached.

    :raises TransactionFailed: where a package or a hold is not as wanted.
    """
    present = dpkg_packages(host)
    wrong = goal.complaints(present) + hold_complaints(goal, present)
    if wrong:
        raise TransactionFailed(
            "unknown",
            "packages",
            "; ".join(wrong),
            "everything at the wanted release and held",
            "apt said that it succeeded: see dpkg --audit, then roll back",
        )


def build_driver(host: Host, limits: Limits) -> None:
    """Have the installed driver built for the kernel that boots next.

    :raises TransactionFailed: dkms_build_failed, where it cannot be.
    """
    driver = installed(dpkg_packages(host)).get(_driver.DRIVER)
    if driver is not None:
        _driver.build(host, driver.version, limits.install)


def hold_complaints(goal: ReleaseGoal | SnapshotGoal, present: dict[str, Package]) -> list[str]:
    """Packages whose hold is not as the goal wants it."""
    return [
        f"{name} is {'not ' if wanted else ''}held"
        for name, wanted in goal.holds(present).items()
        if name in present and present[name].hold != wanted
    ]


def set_holds(host: Host, wanted: dict[str, bool], limits: Limits) -> None:
    """Hold or free the packages that are not as wanted.

    :raises TransactionFailed: where apt-mark does not succeed.
    """
    present = installed(dpkg_packages(host))
    for verb, value in (("hold", True), ("unhold", False)):
        names = [
            name
            for name, held in wanted.items()
            if held is value and name in present and present[name].hold is not value
        ]
        if names:
            _run(host, ["apt-mark", verb, *names], f"packages on {verb}", limits, 60.0)


def _fetch(host: Host, goal: ReleaseGoal | SnapshotGoal, limits: Limits) -> None:
    for path in sources_of(goal):
        argv = [
            "apt-get",
            "-o",
            f"Dir::Etc::sourcelist={path}",
            "-o",
            "Dir::Etc::sourceparts=/dev/null",
            "-o",
            "APT::Get::List-Cleanup=0",
            "-o",
            "Acquire::GzipIndexes=false",
            "update",
        ]
        done = _run(host, argv, "AMD's package lists", limits, limits.install)
        if _apt.fetch_failed(done.out + done.err):
            raise _apt.failure(done, "AMD's package lists")


def _install(host: Host, targets: dict[str, str | None], before: dict[str, Package], limits: Limits) -> None:
    broken = any(package.state != "installed" for package in installed(before).values())
    argv = [
        "apt-get",
        "-q",
        "-o",
        f"DPkg::Lock::Timeout={limits.lock:.0f}",
        *KEEP_CONFIGURATION,
        *ONLY_WHAT_IS_NAMED,
        *(["--fix-broken"] if broken else []),
        "install",
        *arguments(targets, installed(dpkg_packages(host))),
    ]
    try:
        _run(host, argv, "one transaction to the wanted versions", limits, limits.install)
    except TransactionFailed as error:
        if "dpkg was interrupted" not in error.output:
            raise
        # Its own result is of no interest: the package that cannot be configured is the one that is replaced next.
        host.run(["dpkg", "--force-confdef", "--force-confold", "--configure", "-a"], timeout=limits.install, env=QUIET)
        _run(host, argv, "one transaction to the wanted versions", limits, limits.install)


def _remove_broken_driver(
    host: Host, before: dict[str, Package], targets: dict[str, str | None], limits: Limits
) -> None:
    for package in installed(before).values():
        if (
            package.name == _driver.DRIVER
            and package.state != "installed"
            and targets.get(package.name) != package.version
        ):
            # Replaced in place, dpkg would first run the scripts of a package whose module was never built.
            argv = ["dpkg", "--force-depends", "--force-remove-reinstreq", "--force-hold", "--remove", package.name]
            _run(host, argv, f"{package.name} {package.version} removed", limits, limits.install)


def _run(host: Host, argv: list[str], wanted: str, limits: Limits, timeout: float) -> Completed:
    waited = 0.0
    while True:
        try:
            done = host.run(argv, timeout=timeout + limits.lock, env=QUIET)
        except CommandFailed as error:
            raise TransactionFailed(
                "unknown", error.subject, error.seen, wanted, "see what it is doing", error.output
            ) from error
        if done.rc == 0:
            return done
        failure = _apt.failure(done, wanted)
        # apt-get install has waited for dpkg's lock by itself; the other locks it does not wait for.
        waits_itself = "install" in argv and "/var/lib/dpkg/" in failure.subject
        if failure.kind != "package_manager_locked" or waits_itself or waited >= limits.lock:
            raise failure
        host.sleep(LOCK_PAUSE)
        waited += LOCK_PAUSE


def _mark_automatic(host: Host, names: set[str], limits: Limits) -> None:
    """Asking apt for a version counts as wanting the package for its own sake: what was only a dependency stays one."""
    lost = sorted(names & set(installed(dpkg_packages(host))) - apt_automatic(host))
    if lost:
        _run(host, ["apt-mark", "auto", *lost], "dependencies marked as such", limits, 60.0)


def _same_packages(before: dict[str, Package], after: dict[str, Package]) -> bool:
    """True where nothing but holds differs."""
    return [package[:3] for package in sorted(before.values())] == [package[:3] for package in sorted(after.values())]


def _hold_again(host: Host, goal: ReleaseGoal | SnapshotGoal, before: dict[str, Package], limits: Limits) -> None:
    wanted = {name: True for name, package in before.items() if package.hold}
    wanted.update({name: True for name, held in goal.holds(dpkg_packages(host)).items() if held})
    set_holds(host, wanted, limits)


def _after_failure(error: FleetError, otherwise: str, act: Callable[[], None]) -> None:
    """Do one more thing after a failure, whose cause must not be hidden by a second one."""
    try:
        act()
    except FleetError as second:
        error.add(f"{otherwise}: {second}")


def _remove_stale(host: Host) -> None:
    present = dpkg_packages(host)
    in_use = {package.version for package in installed(present).values() if package.name == _driver.DRIVER}
    _driver.remove_stale(host, _driver.stale_trees(host, in_use))


def _forget_lists(host: Host, dropped: dict[str, bytes | None]) -> None:
    """Remove the lists of AMD repositories that are no longer configured: they would pass for what can be installed."""
    gone = _prefixes(dropped) - _prefixes(_sources.read(host))
    for name in list_optional(host, APT_LISTS):
        if gone and name.startswith(tuple(gone)):
            host.remove(f"{APT_LISTS}/{name}")


def _prefixes(files: dict[str, bytes | None]) -> set[str]:
    return {
        prefix
        for path, content in files.items()
        for prefix in _sources.list_prefixes(path, (content or b"").decode("utf-8", "replace"))
    }
