# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What proves a reboot, and what became of one that is not proven: pure functions over what the node shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted

# What follows the three files is "stopping" once a shutdown has begun; a node without systemd has nothing to say there.
READ = (
    "cat /proc/sys/kernel/random/boot_id /proc/uptime /proc/sys/kernel/osrelease && "
    "{ systemctl is-system-running 2>/dev/null || :; }"
)
READ_JOURNAL = "timeout 30 journalctl --list-boots --no-pager --quiet"
CLOCK_SLACK_SECONDS = 30.0
# What ssh (and paramiko) say of a host key that is not the known one.
_KEY_CHANGED = re.compile(
    r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|host key mismatch"
    r"|host key for \S+ has changed|Host Key checking is enabled",  # ansible-core's own words where a password is used
    re.IGNORECASE,
)
_SHOWN = 300
_JOURNAL_ROW = re.compile(r"^\s*-?\d+\s+([0-9a-f]{32})\b", re.MULTILINE)


class Boot(NamedTuple):
    """One boot of a node: its id, seconds since it began, the kernel release."""

    boot_id: str
    uptime: float
    kernel: str


class Look(NamedTuple):
    """One look at a node.

    :param boot: None where it did not answer, or not with a boot.
    :param error: what was said instead, or besides; empty for nothing.
    :param stopping: whether it said that it is going down.
    """

    boot: Boot | None
    error: str = ""
    stopping: bool = False

    @property
    def key_changed(self) -> bool:
        """Whether the host key that answered is another than the known one."""
        return bool(_KEY_CHANGED.search(self.error))


class Looks:
    """The looks at a node after the order: one answer is no proof that it stays, for a service manager that is still
    at work starts sshd anew.

    :param before: the look in which the boot of before the order was seen; one without a boot where there was no order:
        every boot is a new one then.
    :param wanted: how many answers of one new boot, in a row, mean that the node is back.
    """

    def __init__(self, before: Look, wanted: int) -> None:
        self.before, self.wanted = before.boot or Boot("", 0.0, ""), wanted
        # Where the key is not checked ssh only warns; a warning that was there all the time says nothing of the reboot.
        self._warned_before = before.key_changed
        self.new_boots: list[str] = []
        self.last = before
        self._count = 0

    def is_back(self, look: Look) -> bool:
        """Take one look in; whether it is the last one that was wanted."""
        previous = self.last.boot.boot_id if self.last.boot else None
        self.last = look
        if look.boot is None or look.stopping or self.key_changed or look.boot.boot_id == self.before.boot_id:
            self._count = 0
            return False
        self._count = self._count + 1 if look.boot.boot_id == previous else 1
        if look.boot.boot_id not in self.new_boots:
            self.new_boots.append(look.boot.boot_id)
        return self._count >= self.wanted

    @property
    def key_changed(self) -> bool:
        """Whether the last look met another host key than the one of before the order."""
        return self.last.key_changed and not (self._warned_before and self.last.boot)

    @property
    def holds(self) -> bool:
        """Whether the last look was an answer of a new boot."""
        return self._count > 0


def look_in(status: int, output: str, error: str) -> Look:
    """The look that the answer to ``READ`` makes.

    :raises FleetError: the node answered something else.
    """
    return Look(parse_boot(status, output, error), error, output.split("\n")[3:4] == ["stopping"])


def parse_boot(status: int, output: str, error: str) -> Boot:
    """Read boot id, uptime and kernel from the output of ``READ``.

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


def parse_boots(text: str) -> list[str]:
    """The boot ids of ``READ_JOURNAL``, oldest first; empty for any other text."""
    return [f"{n[:8]}-{n[8:12]}-{n[12:16]}-{n[16:20]}-{n[20:]}" for n in _JOURNAL_ROW.findall(text)]


def boots_between(before: str, after: str, journal: Sequence[str]) -> list[str]:
    """The boots that a node's journal knows between two others; empty also where it does not know the first of them."""
    if before not in journal:
        return []
    return [boot for boot in journal[journal.index(before) + 1 :] if boot != after]


def check_before(node: str, look: Look) -> Boot:
    """The boot in which the order is about to be given.

    :raises NotRebooted: no_answer: nothing can be ordered, and nothing would be proven.
    """
    if look.boot is None:
        raise NotRebooted(
            "no_answer", node, f"did not answer before the order: {look.error}", "an answer over SSH",
            "no reboot was ordered; see why it does not answer", {"last_error": masked(look.error[:_SHOWN])},
        )  # fmt: skip
    return look.boot


def refuse_controller(node: str, transport: str, before: Boot, own_boot_id: str | None) -> None:
    """Refuse to reboot the machine that this runs on, also where it is reached over SSH or from a container on it.

    :param own_boot_id: boot id of the controller; None where it has none (no Linux: then it is no node either).
    :raises NotRebooted: refused.
    """
    seen = ""
    if transport == "local":
        seen = "it is reached by the local connection: it is the controller itself"
    elif own_boot_id and before.boot_id == own_boot_id:
        seen = f"it has the boot id of this controller, {own_boot_id}: it is the controller itself"
    if seen:
        raise NotRebooted("refused", node, seen, "another machine", "run the rollout from a machine that is not in it")


def check_order(node: str, command: str, status: int, output: str, error: str) -> None:
    """Refuse the answer of a node to the order to reboot; 128 and more, or 255, is a connection that went down with it.

    :raises NotRebooted: refused: the node said no.
    """
    if 0 < status < 128:
        seen = f"{command!r} ended with status {status}: {(error or output).strip()}"
        raise NotRebooted("refused", node, seen, "status 0", "see why the node refuses to reboot")


def prove_boot(
    node: str, looks: Looks, elapsed: float, kernel: str | None, between: Sequence[str] = (), ordered: int = 1
) -> None:
    """Check that the last look shows one new boot that began after the order, on the kernel that was planned.

    :param elapsed: seconds since the reboot was ordered.
    :param kernel: the release that was to boot; None where it is not known: then nothing is claimed of it.
    :param between: boots that the node's journal knows since the order, besides the last.
    :param ordered: how many boots were ordered: one, and one more where the power was cycled for it.
    :raises NotRebooted: ignored, doubled, not_younger or wrong_kernel.
    """
    before, after = looks.before, looks.last.boot
    if after is None or after.boot_id == before.boot_id:
        seen = f"the boot id is still {before.boot_id}"
        raise NotRebooted("ignored", node, seen, "a new boot id", "the reboot did not happen: see why")
    if after.uptime > elapsed + CLOCK_SLACK_SECONDS:
        seen = f"it is up for {after.uptime:.0f} s, but the reboot was ordered {elapsed:.0f} s ago"
        raise NotRebooted(
            "not_younger", node, seen, "a boot younger than the order", "check that this is the same machine"
        )
    boots = list(dict.fromkeys((*between, *looks.new_boots)))
    if len(boots) > ordered:
        seen = f"it booted {len(boots)} times after the order, into {', '.join(boots)}"
        fix = "see what rebooted it again: the log of the boot before (journalctl -b -1), a watchdog, another hand"
        raise NotRebooted("doubled", node, seen, "one boot" if ordered == 1 else f"at most {ordered} boots", fix,
                          {"boots": boots})  # fmt: skip
    if kernel and after.kernel != kernel:
        seen = f"it booted kernel {after.kernel}"
        raise NotRebooted("wrong_kernel", node, seen, f"kernel {kernel}", "check the boot loader's default entry",
                          {"kernel": after.kernel, "kernel_planned": kernel})  # fmt: skip


def not_back(node: str, looks: Looks, waited: float, port: bool | None) -> NotRebooted:
    """The error for a node of which no new boot held in time.

    :param waited: seconds since the order.
    :param port: whether its SSH port takes a connection from here, None where that cannot be told.
    """
    error = masked(" ".join(looks.last.error.split())[:_SHOWN])
    facts = {"port_answers": port, "boots": looks.new_boots, "last_error": error}
    if looks.key_changed:
        return _key_changed(node, waited, facts)
    if looks.new_boots:
        return NotRebooted(
            "flapping", node,
            f"it answered now and then (boots seen: {len(looks.new_boots)}), but never {looks.wanted} times in a row "
            f"within {waited:.0f} s",
            "SSH that stays", "look at its console: is sshd restarted, the network down, the node still starting?",
            facts,
        )  # fmt: skip
    if looks.last.boot:
        return NotRebooted(
            "ignored", node,
            f"still up after {waited:.0f} s with the same boot id {looks.before.boot_id}: the reboot was ignored",
            "a new boot id", "see what blocks the shutdown (systemctl list-jobs)", facts,
        )  # fmt: skip
    door = {True: "its SSH port takes connections, yet nobody can log in", False: "its SSH port does not answer",
            None: "whether its SSH port answers cannot be told from here"}[port]  # fmt: skip
    return NotRebooted(
        "never_back", node,
        f"did not come back within {waited:.0f} s; {door}; last error: {error}",
        "an answer over SSH with a new boot id", "look at its console through the BMC", facts,
    )  # fmt: skip


def _key_changed(node: str, waited: float, facts: dict[str, Any]) -> NotRebooted:
    return NotRebooted(
        "host_key_changed", node,
        f"after {waited:.0f} s SSH answers there with another host key",
        "the host key of before",
        "find out which machine or system answers there (a rescue image, a new installation, another machine on this "
        "address). Its power is not cycled and nothing is sent back on this ground: it stays drained for you", facts,
    )  # fmt: skip
