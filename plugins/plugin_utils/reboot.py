# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of a reboot: order, wait, look once more, recover where that is configured, prove. Time and connection
come from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils import boot
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted, Recovered


class Node(NamedTuple):
    """What a reboot needs of a node and of the world.

    :param look: one look at the node; true asks for a connection that shares nothing with earlier ones.
    :param order: give the order; raises NotRebooted where the node says no.
    :param port_answers: whether its SSH port takes a connection from here, None where that cannot be told.
    :param journal: the boot ids that the node's journal knows, oldest first; empty where it has none.
    :param recover: bring a silent node back by other means, once. None: not wanted.
    :param clock: seconds that only ever grow.
    """

    name: str
    look: Callable[[bool], boot.Look]
    order: Callable[[], None]
    port_answers: Callable[[], bool | None]
    journal: Callable[[], list[str]]
    recover: Callable[[], Recovered] | None
    clock: Callable[[], float]
    sleep: Callable[[float], None]


class Wishes(NamedTuple):
    """How long to wait, how often to look, how many answers are wanted, and the kernel that was planned."""

    timeout: float
    poll: float
    answers: int
    kernel: str | None


def first_look(node: Node, wishes: Wishes) -> boot.Look:
    """The look before the order; a connection that drops once is no reason to give a changed node up."""
    for _look in range(wishes.answers - 1):
        look = node.look(False)
        if look.boot:
            return look
        node.sleep(wishes.poll)
    return node.look(True)


def reboot(node: Node, before: boot.Look, wishes: Wishes) -> dict[str, Any]:
    """Reboot a node and prove it; what the task tells of it.

    :raises NotRebooted: with what became of it.
    """
    looks, ordered = boot.Looks(before, wishes.answers), node.clock()
    node.order()
    recovered = False
    if not _is_back(node, looks, wishes):
        lost = boot.not_back(node.name, looks, node.clock() - ordered, node.port_answers())
        recovered = _recover(node, looks, wishes, lost)
        if not recovered:
            raise lost
    elapsed = node.clock() - ordered
    planned, boots = wishes.kernel or None, 2 if recovered else 1
    between = boot.boots_between(looks.before.boot_id, looks.new_boots[-1], node.journal())
    boot.prove_boot(node.name, looks, elapsed, planned, between, boots)
    after = looks.last.boot or looks.before
    told: dict[str, Any] = {"boot_id_before": looks.before.boot_id, "boot_id": after.boot_id, "kernel": after.kernel}
    told |= {"diagnosis": "rebooted", "kernel_planned": planned, "recovered": recovered}
    return {"rebooted": True, "elapsed_seconds": round(elapsed, 1), **told}


def wait(node: Node, wishes: Wishes) -> dict[str, Any]:
    """Wait for a node that may be in the middle of a reboot that nobody is waiting for any more; what the task tells.

    :raises NotRebooted: flapping, host_key_changed or never_back. Nothing is ordered.
    """
    looks, begun = boot.Looks(boot.Look(None), wishes.answers), node.clock()
    recovered = False
    if not (looks.is_back(node.look(False)) or _is_back(node, looks, wishes)):
        lost = boot.not_back(node.name, looks, node.clock() - begun, node.port_answers())
        recovered = _recover(node, looks, wishes, lost)
        if not recovered:
            raise lost
    found = looks.last.boot or looks.before
    return {"boot_id": found.boot_id, "kernel": found.kernel, "recovered": recovered}


def _is_back(node: Node, looks: boot.Looks, wishes: Wishes) -> bool:
    end = node.clock() + wishes.timeout
    while node.clock() < end:
        node.sleep(wishes.poll)
        if looks.is_back(node.look(False)):
            return True
    return _answers_after_all(node, looks, wishes)


def _answers_after_all(node: Node, looks: boot.Looks, wishes: Wishes) -> bool:
    """One last probe that shares no socket with those before: a node is not lost for a stale connection. One that does
    answer gets as many looks as it needs to show that it stays."""
    for _look in range(wishes.answers):
        if looks.is_back(node.look(True)):
            return True
        if not looks.holds:
            return False
        node.sleep(wishes.poll)
    return False


def _recover(node: Node, looks: boot.Looks, wishes: Wishes, lost: NotRebooted) -> bool:
    """Whether a silent node is back after it was recovered; a node that answers in whatever way is never touched."""
    if node.recover is None or lost.diagnosis != "never_back" or lost.evidence["port_answers"]:
        return False
    done = node.recover()
    lost.evidence["recovery"] = done.failed or done.told
    if done.failed:
        lost.add(f"its recovery failed: {done.failed}")
        return False
    if _is_back(node, looks, wishes):
        return True
    again = boot.not_back(node.name, looks, wishes.timeout, node.port_answers())
    again.evidence["recovery"] = done.told
    again.add("this was after its recovery" + (f": {done.told}" if done.told else ""))
    raise again
