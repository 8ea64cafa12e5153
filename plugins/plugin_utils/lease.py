# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may write to a ledger: one controller at a time, fenced by an epoch that only ever grows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError


class LeaseHeld(FleetError):
    """Another controller is at work on this rollout."""


class StaleController(FleetError):
    """This controller is not, or no longer, the one that may write."""


class Lease(NamedTuple):
    """The right to write. Times are seconds since the epoch of the clock; a released lease has ``expires_at`` 0."""

    who: str
    host: str
    pid: int
    epoch: int
    since: float
    expires_at: float
    ttl: float


def iso(seconds: float) -> str:
    """Seconds since 1970 as UTC, ISO 8601 with milliseconds."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def pid_alive(pid: int) -> bool:
    """True if a process of this machine has the number; one that is not ours is alive all the same."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def take(
    current: Lease | None, owner: Mapping[str, Any], ttl: float, now: float, alive: Callable[[int], bool], subject: str
) -> Lease:
    """The lease that ``owner`` ({who, host, pid}) gets: its own again with the same epoch, or a new one with the next.

    :raises LeaseHeld: another owner has it, it has not expired, and its process may be alive. Of a process on another
        machine nothing can be seen, so it counts as alive until its lease expires.
    """
    who, host, pid = _owner(owner, subject)
    if current is None:
        return Lease(who, host, pid, 1, now, now + ttl, ttl)
    mine = (current.who, current.host, current.pid) == (who, host, pid) and current.expires_at > 0
    if mine:
        return current._replace(expires_at=now + ttl, ttl=ttl)
    if current.expires_at > now and (current.host != host or alive(current.pid)):
        raise LeaseHeld(
            subject,
            f"{_name(current)} is at work on this rollout since {iso(current.since)}, "
            f"its lease runs until {iso(current.expires_at)}",
            "one controller at a time",
            f"let it finish, or stop process {current.pid} on {current.host} and run again "
            f"(from another machine: once the lease has run out)",
        )
    return Lease(who, host, pid, current.epoch + 1, now, now + ttl, ttl)


def renew(current: Lease | None, epoch: Any, now: float, subject: str) -> Lease:
    """The lease of ``epoch``, prolonged. Expired is not stale: as long as nobody took over, nothing was missed.

    :raises StaleController: another controller took over, the lease was given back, or there never was one.
    """
    if current is not None and current.epoch == epoch and current.expires_at > 0:
        return current._replace(expires_at=now + current.ttl)
    if current is None:
        seen = "no controller holds the lease"
    elif current.epoch == epoch:
        seen = f"the lease of epoch {epoch} was given back"
    else:
        seen = f"{_name(current)} took over with epoch {current.epoch} at {iso(current.since)}; this run has {epoch}"
    raise StaleController(
        subject, seen + "; nothing was written", "the epoch of the lease that is in force",
        "stop this run, look at the status playbook, and run again if nobody else is at work",
    )


def _owner(owner: Mapping[str, Any], subject: str) -> tuple[str, str, int]:
    try:
        return str(owner["who"]), str(owner["host"]), int(owner["pid"])
    except (KeyError, TypeError, ValueError) as error:
        raise FleetError(subject, f"an owner that is not complete: {owner!r}", "who, host and pid") from error


def _name(lease: Lease) -> str:
    return f"{lease.who} on {lease.host} (process {lease.pid})"
