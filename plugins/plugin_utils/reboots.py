# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ledger knows of the reboots of a node: how many were ordered, and what was done for one that stayed away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import fence, flashes, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted, Recovered
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

MOST = 6


def ordered(events: Iterable[Mapping[str, Any]]) -> int:
    """How many reboots were ordered, by the events of a node; a reset through its BMC is one."""
    return sum(1 for event in events if "reboot" in (event["data"] or {}))


def is_open(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether nothing came after the last order to reboot: its controller died while it waited for the node."""
    waiting = False
    for event in events:
        if "reboot" in (event["data"] or {}):
            waiting = True
        elif event["state"] not in (None, "admitted"):  # the gate admits a node that is taken up again
            waiting = False
    return waiting


def was_recovered(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether something was done already for the node since the last order to itself.

    A command may have done its work once it begins. Through a BMC nothing is done before the reset, which is written
    down by itself.
    """
    done = False
    for event in events:
        data = event["data"] or {}
        if "reboot" in data:
            done = data["reboot"].get("by") is not None
        elif data.get("recovery") == "command":
            done = True
    return done


def why_not(events: Sequence[Mapping[str, Any]]) -> str:
    """Why a silent node must not be recovered, by its events; an empty text where it may be."""
    flash = flashes.under_way(events)
    if flash:
        return f"its firmware ({flash}) may be written by this very boot, and would be half written without power"
    done = "an earlier controller ordered something for this reboot, and nothing is ordered a second time"
    return done if was_recovered(events) else ""


class Book:
    """Where the reboots of one node are written down; a task outside of a rollout has none, and writes nothing.

    :param here: the fact fleet_rollout; None, or one without a ledger or an epoch (a rehearsal), keeps no book.
    :param most: so many reboots may be ordered of a node in one rollout.
    """

    def __init__(self, here: Mapping[str, Any] | None, node: str, most: int = MOST) -> None:
        self._here, self._node, self._most = here, node, most
        self._epoch = -1
        self._ledger = None
        if here and here.get("dir") and here.get("epoch") is not None:
            self._epoch, self._ledger = int(here["epoch"]), Ledger.open(rollout.ledger_path(here["dir"]))

    @property
    def is_open(self) -> bool:
        """Whether a controller died while it waited for a reboot of the node."""
        return self._ledger is not None and is_open(self._ledger.events(self._node))

    def order(self, boot_id: str, kernel: str | None) -> None:
        """Write down, right before it is given, that a reboot is ordered.

        :raises NotRebooted: loop: as many were as may be. StaleController: another controller took over.
        """
        self._order("", {"boot_id": boot_id, "kernel": kernel})

    def reset(self, resets: str, power: str) -> None:
        """Write down, right before it is ordered, a reset through the node's BMC, which counts as a reboot.

        :param resets: the reset types. :param power: the power state that they are ordered in.
        :raises NotRebooted: loop: that many were. StaleController: another controller took over.
        """
        how = f" of its BMC: {resets}, while its power state is {power}"
        self._order(how, {"by": "bmc", "reset": resets, "power": power})

    def _order(self, how: str, data: Mapping[str, Any]) -> None:
        if self._ledger is None:
            return
        earlier, most = ordered(self._ledger.events(self._node)), self._most
        if earlier >= most:
            raise NotRebooted(
                "loop", self._node, f"was rebooted {earlier} times in this rollout; no further reboot is ordered",
                f"at most {most} (max_reboots_per_node)",
                "see its story (status -e node=NAME) for what goes round; mend that, or allow more in a new plan",
                {"reboots": earlier},
            )  # fmt: skip
        words = f"reboot {earlier + 1} of at most {most} is ordered{how}"
        self._ledger.note(self._epoch, self._node, words, {"reboot": {"number": earlier + 1, **data}})
        fence.still_ours(self._here)

    def recovering(self, kind: str, act: Callable[[], Recovered]) -> Recovered:
        """Do what is configured for a node that stays away, between a note of the intent and one of the outcome; once
        for each reboot, also where a controller died in the middle of it.

        :returns: what ``act`` returned, or that it was not done a second time.
        :raises StaleController: another controller took over; nothing was done.
        """
        why = why_not(self._ledger.events(self._node)) if self._ledger is not None else ""
        if why:
            return Recovered(why)
        self._note(f"it stays away: its recovery by {kind} begins", {"recovery": kind})
        came = act()
        told = came.failed or ("done, waiting for the node" + (f": {came.told}" if came.told else ""))
        self._note(f"recovery by {kind}: {told}", {"recovery": kind, "done": not came.failed})
        return came

    def _note(self, reason: str, data: Mapping[str, Any]) -> None:
        if self._ledger is not None:
            self._ledger.note(self._epoch, self._node, reason, data)
