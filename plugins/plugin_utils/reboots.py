# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ledger knows of the reboots of a node: how many were ordered, and what was done for one that stayed away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import fence, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import NotRebooted
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

MOST = 6


def ordered(events: Iterable[Mapping[str, Any]]) -> int:
    """How many reboots were ordered, by the events of a node."""
    return sum(1 for event in events if "reboot" in (event["data"] or {}))


class Book:
    """Where the reboots of one node are written down; a task outside of a rollout has none, and writes nothing.

    :param here: the fact fleet_rollout; None, or one without a ledger or an epoch (a rehearsal), keeps no book.
    """

    def __init__(self, here: Mapping[str, Any] | None, node: str) -> None:
        self._here, self._node = here, node
        self._epoch = -1
        self._ledger = None
        if here and here.get("dir") and here.get("epoch") is not None:
            self._epoch, self._ledger = int(here["epoch"]), Ledger.open(rollout.ledger_path(here["dir"]))

    def order(self, most: int, boot_id: str, kernel: str | None) -> None:
        """Write down, right before it is given, that a reboot is ordered.

        :param most: so many may be ordered of a node in one rollout.
        :raises NotRebooted: loop: that many were. StaleController: another controller took over.
        """
        if self._ledger is None:
            return
        earlier = ordered(self._ledger.events(self._node))
        if earlier >= most:
            raise NotRebooted(
                "loop", self._node, f"was rebooted {earlier} times in this rollout; no further reboot is ordered",
                f"at most {most} (max_reboots_per_node)",
                "see its story (status -e node=NAME) for what goes round; mend that, or allow more in a new plan",
                {"reboots": earlier},
            )  # fmt: skip
        data = {"number": earlier + 1, "boot_id": boot_id, "kernel": kernel}
        self._ledger.note(
            self._epoch, self._node, f"reboot {earlier + 1} of at most {most} is ordered", {"reboot": data}
        )
        fence.still_ours(self._here)

    def recovering(self, kind: str, act: Callable[[], str]) -> str:
        """Do what is configured for a node that stays away, between a note of the intent and one of the outcome.

        :param act: does it; an empty text, or what went wrong.
        :returns: what ``act`` returned.
        :raises StaleController: another controller took over; nothing was done.
        """
        self._note(f"it stays away: its recovery by {kind} begins", {"recovery": kind})
        failed = act()
        self._note(f"recovery by {kind}: {failed or 'done, waiting for the node'}",
                   {"recovery": kind, "done": not failed})  # fmt: skip
        return failed

    def _note(self, reason: str, data: Mapping[str, Any]) -> None:
        if self._ledger is not None:
            self._ledger.note(self._epoch, self._node, reason, data)
