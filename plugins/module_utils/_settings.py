# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel settings of a node: read, compared with what is wanted, changed and read back."""

from __future__ import annotations

from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _apt, _kernel
from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import GRUB_CFG, grub_next_entry
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (
    CommandFailed,
    FleetError,
    ParseError,
    Unreadable,
    UnsupportedPlatform,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._files import (
    differing,
    from_record,
    list_optional,
    put,
    read_optional,
    remember_for_this_boot,
    remembered,
    render,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._space import another_initrd, require

CMDLINE = "/proc/cmdline"
UPDATE_GRUB = "/usr/sbin/update-grub"
BUILD_TIMEOUT = 900.0
_SAME = {"Y": "1", "N": "0"}


class Wanted(NamedTuple):
    """The declared set: our files as they are to be, and the arguments that the next boot must carry."""

    files: dict[str, bytes | None]
    cmdline: list[str]


class Change(NamedTuple):
    """What has to be done: files to write, whether grub.cfg and the initramfs must be made anew, live values to set."""

    files: dict[str, bytes | None]
    grub: bool
    initramfs: bool
    live: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.files or self.grub or self.initramfs or self.live)


class Outcome(NamedTuple):
    """Our files and the differing live values, before and after; in check mode ``after`` is what would be."""

    change: Change
    before: dict[str, bytes | None]
    after: dict[str, bytes | None]
    live_before: dict[str, str | None]
    reboot_required: bool


def wanted_of(host: Host, params: dict[str, Any]) -> Wanted:
    """The declared set in a module's options: settings, or the drop-ins that a snapshot recorded.

    :raises UnsupportedPlatform: where arguments are wanted and the node does not boot by grub with drop-ins.
    :raises ParseError: where a setting is malformed or would be undone by another file.
    """
    snapshot = params["snapshot"]
    if snapshot is not None:
        files = _recorded_files(snapshot)
        return Wanted(files, _kernel.parse_drop_in(files[_kernel.DROP_IN]))
    cmdline = list(dict.fromkeys(params["cmdline"] or []))
    files = _kernel.wanted_files(params["module_options"] or {}, params["sysctl"] or {})
    if not cmdline:
        return Wanted({_kernel.DROP_IN: None, **files}, [])
    _require_grub(host)
    return Wanted({_kernel.DROP_IN: _kernel.plan_grub(cmdline, _grub_sources(host)).drop_in, **files}, cmdline)


def plan(host: Host, wanted: Wanted, current: dict[str, bytes | None]) -> Change:
    """What separates the node from the declared set. Reads files only."""
    files = differing(current, wanted.files)
    # A run that was killed between the two leaves a drop-in that grub.cfg does not know of.
    unseen = bool(wanted.cmdline) and bool(missing(wanted.cmdline, grub_next_entry_or_fail(host)))
    return Change(
        files, _kernel.DROP_IN in files or unseen, _kernel.MODPROBE in files, _live_changes(host, wanted, current)
    )


def settle(host: Host, params: dict[str, Any], check_mode: bool) -> Outcome:
    """Bring the node to the declared set, or in check mode say what that would do.

    :raises FleetError: where the node cannot be read or changed, or the next boot would not carry every argument.
    """
    current = {path: read_optional(host, path) for path in _kernel.OWN_FILES}
    wanted = wanted_of(host, params)
    change = plan(host, wanted, current)
    live_before = {key: _live(host, key) for key in change.live}
    left = _left_over(host, wanted, current)
    if change.initramfs:
        require(host, [another_initrd(host)])
    if change and not check_mode:
        _apply(host, wanted, change, current, live_before)
    reboot = left or bool(missing(wanted.cmdline, tokens(host.read(CMDLINE)))) or _options_pending(host, wanted)
    return Outcome(change, current, {**current, **change.files}, live_before, reboot)


def shown(outcome: Outcome, after: bool) -> str:
    """One side of a diff."""
    live = outcome.change.live if after else outcome.live_before
    rows = "".join(f"{key} = {value}\n" for key, value in sorted(live.items()))
    return render(outcome.after if after else outcome.before) + (f"# live\n{rows}" if rows else "")


def grub_next_entry_or_fail(host: Host) -> list[str]:
    """Arguments of the next boot; none where there is no grub.cfg yet.

    :raises FleetError: where there is one that cannot be understood.
    """
    try:
        return grub_next_entry(host).cmdline
    except Unreadable as error:
        if error.missing:
            return []
        raise


def _apply(
    host: Host, wanted: Wanted, change: Change, current: dict[str, bytes | None], before: dict[str, str | None]
) -> None:
    _remember(host, wanted, current, before)
    put(host, change.files)
    try:
        if change.grub:
            _run(host, ["update-grub"], "a new grub.cfg")
            _require_next_boot(host, wanted.cmdline)
        if change.initramfs:
            _run(host, ["update-initramfs", "-u", "-k", "all"], "an initramfs with the module options")
    except FleetError:
        # Written and not in effect, the files would tell the next run that nothing is left to do.
        put(host, {path: current[path] for path in change.files})
        raise
    for key, value in change.live.items():
        host.write_in_place(_live_path(key), f"{value}\n")


def _remember(host: Host, wanted: Wanted, current: dict[str, bytes | None], before: dict[str, str | None]) -> None:
    remember_for_this_boot(host, "cmdline", _kernel.parse_drop_in(current[_kernel.DROP_IN]))
    ours = _kernel.parse_sysctl(current[_kernel.SYSCTL])
    for key, value in before.items():
        # A value that our own file has set at boot tells nothing about the one before.
        remember_for_this_boot(host, f"sysctl {key}", None if key in ours else value)
    orphans = _orphans(host, wanted, current)
    if orphans:
        remember_for_this_boot(host, "sysctl_left", orphans)


def _require_next_boot(host: Host, cmdline: list[str]) -> None:
    absent = missing(cmdline, grub_next_entry(host).cmdline)
    if absent:
        raise ParseError(
            GRUB_CFG,
            f"the next boot would not carry {' '.join(absent)}",
            "every wanted argument",
            f"look for what sets the command line besides {_kernel.GRUB_DEFAULT} and {_kernel.GRUB_FOLDER}",
        )


def _run(host: Host, argv: list[str], wanted: str) -> None:
    done = host.run(argv, timeout=BUILD_TIMEOUT)
    if done.rc != 0 and _apt.classify(done.out + done.err).kind == "disk_full":
        raise _apt.failure(done, wanted)
    if done.rc != 0:
        lines = (done.err or done.out).strip().splitlines()
        raise CommandFailed(
            argv[0],
            f"status {done.rc}: {lines[-1] if lines else 'no message'}",
            wanted,
            "do not reboot; see that /boot has space",
            done.out + done.err,
        )


def _require_grub(host: Host) -> None:
    if not host.exists(_kernel.GRUB_DEFAULT) or not host.exists(UPDATE_GRUB):
        raise UnsupportedPlatform(
            "boot loader",
            f"no {_kernel.GRUB_DEFAULT} or no {UPDATE_GRUB}",
            "grub as Debian and Ubuntu set it up",
            "set the command line by hand, and leave cmdline empty here",
        )


def _grub_sources(host: Host) -> dict[str, str]:
    paths = [
        _kernel.GRUB_DEFAULT,
        *[f"{_kernel.GRUB_FOLDER}/{name}" for name in list_optional(host, _kernel.GRUB_FOLDER)],
    ]
    texts = {path: read_optional(host, path) for path in paths}
    return {path: text.decode("utf-8", "replace") for path, text in texts.items() if text is not None}


def _recorded_files(snapshot: dict[str, Any]) -> dict[str, bytes | None]:
    try:
        records = snapshot["kernel_settings"]["files"]
        return {path: from_record(path, records[path]) for path in _kernel.OWN_FILES}
    except (KeyError, TypeError) as error:
        raise ParseError(
            "snapshot", f"{type(error).__name__}: {error}", "the snapshot that node_snapshot returned"
        ) from error


def _live_changes(host: Host, wanted: Wanted, current: dict[str, bytes | None]) -> dict[str, str]:
    settings = _kernel.parse_sysctl(wanted.files[_kernel.SYSCTL])
    dropped = set(_kernel.parse_sysctl(current[_kernel.SYSCTL])) - set(settings)
    earlier = {key: remembered(host, f"sysctl {key}") for key in dropped}
    settings.update({key: value for key, value in earlier.items() if value is not None})
    return {key: value for key, value in settings.items() if _live(host, key) != " ".join(value.split())}


def _orphans(host: Host, wanted: Wanted, current: dict[str, bytes | None]) -> list[str]:
    """Keys taken out whose value before us is not known: it is back after a boot."""
    dropped = set(_kernel.parse_sysctl(current[_kernel.SYSCTL])) - set(
        _kernel.parse_sysctl(wanted.files[_kernel.SYSCTL])
    )
    return sorted(key for key in dropped if remembered(host, f"sysctl {key}") is None)


def _live(host: Host, key: str) -> str | None:
    try:
        return " ".join(host.read(_live_path(key)).split())
    except Unreadable as error:
        if error.missing:
            raise ParseError(
                f"sysctl {key}", f"the kernel has no {_live_path(key)}", "a setting that this kernel knows"
            ) from error
        raise


def _live_path(key: str) -> str:
    # In a key with slashes, dots belong to a name, as in net/ipv4/conf/eth0.1/rp_filter.
    return f"/proc/sys/{key if '/' in key else key.replace('.', '/')}"


def _left_over(host: Host, wanted: Wanted, current: dict[str, bytes | None]) -> bool:
    """True where something that we took out is still in effect, and a boot ends that."""
    running = tokens(host.read(CMDLINE))
    ours = [*_kernel.parse_drop_in(current[_kernel.DROP_IN]), *(remembered(host, "cmdline") or [])]
    others = {path: text for path, text in _grub_sources(host).items() if path != _kernel.DROP_IN}
    next_boot = [*_kernel.plan_grub([], others).cmdline, *_kernel.parse_drop_in(wanted.files[_kernel.DROP_IN])]
    still = [token for token in ours if token in running and missing([token], next_boot)]
    return bool(still or _orphans(host, wanted, current) or remembered(host, "sysctl_left"))


def _options_pending(host: Host, wanted: Wanted) -> bool:
    for (module, name), value in _kernel.parse_options(wanted.files[_kernel.MODPROBE]).items():
        try:
            live = host.read(f"/sys/module/{module}/parameters/{name}").strip()
        except Unreadable:
            continue  # not loaded, or a parameter that the module does not show
        if _SAME.get(live, live) != _SAME.get(value, value):
            return True
    return False
