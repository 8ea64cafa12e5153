# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may write to a ledger: one controller at a time, fenced by an epoch that only ever grows.

Clocks. Whether a lease has run out is judged by the clock of who asks for it, since controllers on two machines share
no other. What a wrong clock can do is bounded by three rules. The end of a lease never moves back, so a clock that was
set back takes no lease away from its owner. A lease that claims more time than its length allows was written by a
clock ahead of ours: it is never taken for run out, and the refusal says so. And a clock that was set forward may take
over from a controller that is alive, but the epoch then fences that one off: it can neither write nor begin a step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

SLACK = 60.0  # seconds by which the clocks of two controllers may differ without a word


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


def seconds(text: str) -> float:
    """Seconds since 1970 of a time as ``iso`` gives it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


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
    current: Lease | None, owner: Mapping[str, Any], ttl: float, now: float, alive: Callable[[int], bool], subject: str,
    by_force: bool = False,
) -> Lease:
    """The lease that ``owner`` ({who, host, pid}) gets: its own again with the same epoch, or a new one with the next.

    :param by_force: whoever has it: an operator knows that this controller is gone.
    :raises LeaseHeld: another owner has it, it has not expired, and its process may be alive. Of a process on another
        machine nothing can be seen, so it counts as alive until its lease expires.
    """
    who, host, pid = _owner(owner, subject)
    if current is None:
        return Lease(who, host, pid, 1, now, now + ttl, ttl)
    if is_of(current, owner):
        return _prolonged(current, now)._replace(ttl=ttl, expires_at=max(current.expires_at, now + ttl))
    if current.expires_at > now and (current.host != host or alive(current.pid)) and not by_force:
        raise _held(current, now, subject)
    return Lease(who, host, pid, current.epoch + 1, now, now + ttl, ttl)


def is_of(lease: Lease, owner: Mapping[str, Any]) -> bool:
    """True where the lease is in the hands of this owner, run out or not."""
    mine = (str(owner["who"]), str(owner["host"]), int(owner["pid"]))
    return (lease.who, lease.host, lease.pid) == mine and lease.expires_at > 0


def renew(current: Lease | None, epoch: Any, now: float, subject: str) -> Lease:
    """The lease of ``epoch``, prolonged. Expired is not stale: as long as nobody took over, nothing was missed.

    :raises StaleController: another controller took over, the lease was given back, or there never was one.
    """
    if current is not None and current.epoch == epoch and current.expires_at > 0:
        return _prolonged(current, now)
    if current is None:
        seen = "no controller holds the lease"
    elif current.epoch == epoch:
        seen = f"the lease of epoch {epoch} was given back"
    else:
        seen = f"{name(current)} took over with epoch {current.epoch} at {iso(current.since)}; this run has {epoch}"
    raise StaleController(
        subject, seen + "; nothing was written", "the epoch of the lease that is in force",
        "stop this run, look at the status playbook, and run again if nobody else is at work",
    )


def clock_fault(last: str, current: Lease, now: float) -> str:
    """What is odd about the clock when the owner of a lease writes; an empty text for nothing.

    :param last: the time of the last event, ISO 8601.
    """
    behind, silent = seconds(last) - now, now - current.expires_at
    if behind > SLACK:
        return f"the clock went back: it is {behind:.0f} s behind the last event"
    if silent > SLACK:
        return (f"the lease had run out {silent:.0f} s ago and nobody took over: the controller stood still, "
                f"or its clock was set forward")
    return ""


def _prolonged(current: Lease, now: float) -> Lease:
    return current._replace(expires_at=max(current.expires_at, now + current.ttl))


def _held(current: Lease, now: float, subject: str) -> LeaseHeld:
    ahead = current.expires_at - current.ttl - now
    clock = (f"; by the clock here its last sign of life is {ahead:.0f} s ahead, so one of the two clocks is wrong and "
             f"the end of its lease cannot be told") if ahead > SLACK else ""
    return LeaseHeld(
        subject,
        f"{name(current)} is at work on this rollout since {iso(current.since)}, "
        f"its lease runs until {iso(current.expires_at)}{clock}",
        "one controller at a time",
        f"let it finish, or stop process {current.pid} on {current.host} and run again "
        f"(from another machine: once the lease has run out, or at once with -e fleet_takeover=WHY if it died there)",
    )


def _owner(owner: Mapping[str, Any], subject: str) -> tuple[str, str, int]:
    try:
        return str(owner["who"]), str(owner["host"]), int(owner["pid"])
    except (KeyError, TypeError, ValueError) as error:
        raise FleetError(subject, f"an owner that is not complete: {owner!r}", "who, host and pid") from error


def name(lease: Lease) -> str:
    """A controller in words."""
    return f"{lease.who} on {lease.host} (process {lease.pid})"
