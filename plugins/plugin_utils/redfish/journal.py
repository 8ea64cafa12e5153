# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was done to the firmware of a node: one line per event, on the disk before the act, and in the ledger as well.

What is staged in a machine outlives a rollout, so that this memory is the node's and lies below fleet_dir; the ledger
of a rollout has the same events for its story, and says whether this controller may still act.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import fence, records, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

# intent: an image is about to be sent; accepted: the BMC took it; staged: it waits for its activation; activating: an
# order of that is about to be sent; the others are ends.
EVENTS = ("intent", "accepted", "staged", "activating", "done", "failed")
OPEN = ("intent", "accepted")


def journal_path(fleet_dir: str, node: str) -> str:
    """Where the events of a node are."""
    return os.path.join(fleet_dir, "firmware", os.path.basename(records.record_path("", node)) + "l")


class Journal:
    """The events of one node.

    :param here: the fact fleet_rollout; None, or one without a ledger or an epoch, writes no ledger.
    :param now: this moment as text.
    """

    def __init__(self, fleet_dir: str, node: str, here: Mapping[str, Any] | None, now: Callable[[], str]) -> None:
        self.path, self._node, self._here, self._now = journal_path(fleet_dir, node), node, here or {}, now
        self._epoch = self._here.get("epoch")
        self._size = self._half = 0
        self._events = list(self._read())

    @property
    def under_way(self) -> bool:
        """Whether an earlier run's update of a component has not come to its end: the BMC may be away because of it."""
        names = {row["component"] for row in self._events}
        return any(self.last(name)["event"] in (*OPEN, "activating") for name in names)

    def last(self, component: str) -> dict[str, Any]:
        """The last event of a component, with all that was written of this flash since its intent; {} for none."""
        told: dict[str, Any] = {}
        for row in self._events:
            if row["component"] == component:
                told = dict(row) if row["event"] == "intent" else {**told, **row}
        return told

    def write(
        self, component: str, event: str, reason: str, kept: Mapping[str, Any] | None = None, **data: Any
    ) -> None:
        """Write an event; it is on the disk when this returns.

        :param kept: what the node's own file keeps besides, and no ledger.
        :raises FleetError: it cannot be written. StaleController: another controller took this rollout over.
        """
        row = {"at": self._now(), "component": component, "event": event, "reason": reason, **data}
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "ab") as stream:
                if self._half and stream.tell() == self._size:
                    stream.truncate(self._size - self._half)
                stream.write(json.dumps({**row, **(kept or {})}, ensure_ascii=True).encode("ascii") + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
                self._half = 0
        except OSError as problem:
            raise FleetError(
                self.path,
                f"cannot be written: {problem.strerror}",
                "a folder with room",
                "see who owns it, and df; or give fleet_dir",
            ) from problem
        self._events.append({**row, **(kept or {})})
        if self._here.get("dir") and self._epoch is not None:
            ledger = Ledger.open(rollout.ledger_path(self._here["dir"]))
            ledger.note(self._epoch, self._node, f"firmware {component} {event}: {reason}", {"firmware": row})

    def still_ours(self) -> None:
        """Pass if this controller may act now (fence.py)."""
        fence.still_ours(self._here)

    def _read(self) -> Iterable[dict[str, Any]]:
        try:
            with open(self.path, "rb") as stream:
                text = stream.read()
        except FileNotFoundError:
            return
        except OSError as problem:
            raise FleetError(
                self.path,
                f"cannot be read: {problem.strerror}",
                "what was flashed before",
                "see who owns it; without it a staged image could be flashed twice",
            ) from problem
        lines = text.split(b"\n")
        self._size, self._half = len(text), len(lines[-1])
        for number, line in enumerate(lines):
            row = _row(line)
            # The last line may be half of one, where a controller was killed at it: its act had not begun. It goes
            # with the next event.
            if row is None and number + 2 < len(lines) and line:
                raise FleetError(
                    self.path, f"line {number + 1} is damaged", "an event", "restore the file from a backup"
                )
            if row is not None:
                yield row


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and {"component", "event"} <= set(row) else None
