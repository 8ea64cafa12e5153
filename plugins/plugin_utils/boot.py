# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What proves a reboot, as pure functions over what the node shows."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

CLOCK_SLACK_SECONDS = 30.0


class Boot(NamedTuple):
    """One boot of a node: its id, seconds since it began, the kernel release."""

    boot_id: str
    uptime: float
    kernel: str


class Answers:
    """The looks at a node after the order: one answer is no proof that it stays, for a service manager that is still
    at work starts sshd anew.

    :param before: the boot in which the order was given.
    :param wanted: how many answers of one new boot, in a row, mean that the node is back.
    """

    def __init__(self, before: Boot, wanted: int) -> None:
        self._before, self._wanted = before, wanted
        self._boot_id, self._count, self.last_error = before.boot_id, 0, ""

    def missed(self, error: str) -> None:
        """The node did not answer."""
        self._count, self.last_error = 0, error.strip()

    def is_back(self, seen: Boot) -> bool:
        """Whether this answer is the last one that was wanted."""
        self._count = self._count + 1 if seen.boot_id == self._boot_id else 1
        self._boot_id = seen.boot_id
        if seen.boot_id == self._before.boot_id:
            self._count, self.last_error = 0, ""
        return self._count >= self._wanted


def parse_boot(status: int, output: str, error: str) -> Boot:
    """Read boot id, uptime and kernel from the output of one ``cat``.

    :raises FleetError: the node answered something else.
    """
    lines = output.split("\n")
    try:
        if status == 0:
            return Boot(lines[0].strip(), float(lines[1].split()[0]), lines[2].strip())
    except (IndexError, ValueError):
        pass
    raise FleetError(
        "boot id",
        f"cannot be read (status {status}): {(error or output).strip()[:200]}",
        "boot id, uptime and kernel from /proc",
    )


def check_order(node: str, command: str, status: int, error: str) -> None:
    """Refuse the answer of a node to the order to reboot; 128 and more, or 255, is a connection that went down with it.

    :raises FleetError: the node said no.
    """
    if 0 < status < 128:
        seen = f"{command!r} ended with status {status}: {error.strip()}"
        raise FleetError(node, seen, "status 0", "see why the node refuses to reboot")


def prove_boot(node: str, before: Boot, after: Boot, elapsed: float, kernel: str | None) -> None:
    """Check that ``after`` is one new boot that began after the order, on the kernel that was planned.

    :param elapsed: seconds since the reboot was ordered.
    :raises FleetError: it is not.
    """
    if after.boot_id == before.boot_id:
        raise FleetError(
            node, f"the boot id is still {before.boot_id}", "a new boot id", "the reboot did not happen: see why"
        )
    if after.uptime > elapsed + CLOCK_SLACK_SECONDS:
        raise FleetError(
            node,
            f"it is up for {after.uptime:.0f} s, but the reboot was ordered {elapsed:.0f} s ago",
            "a boot younger than the order",
            "check that this is the same machine",
        )
    if kernel and after.kernel != kernel:
        raise FleetError(
            node, f"it booted kernel {after.kernel}", f"kernel {kernel}", "check the boot loader's default entry"
        )


def not_rebooted(node: str, before: Boot, timeout: float, last_error: str) -> FleetError:
    """The error for a node that was not seen with a new boot id in time.

    :param last_error: what the last failed look at it said; empty for a node that answered all the time.
    """
    if last_error:
        return FleetError(
            node,
            f"did not come back within {timeout:.0f} s of the reboot; last error: {last_error}",
            "an answer over SSH with a new boot id",
            "look at its console through the BMC",
        )
    return FleetError(
        node,
        f"still up after {timeout:.0f} s with the same boot id {before.boot_id}: the reboot was ignored",
        "a new boot id",
        "see what blocks the shutdown (systemctl list-jobs)",
    )
