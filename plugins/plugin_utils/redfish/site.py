# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an update works with, what it comes to, and the error for one that nobody can say the end of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    Answer,
    BmcError,
    path_of,
    refused,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.follow import Limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import Journal
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.reading import (
    Patterns,
    Reading,
    read,
    read_entries,
)

TASKS = "/redfish/v1/TaskService/Tasks"
NOT_IMPLEMENTED = 501


class Unproven(BmcError):
    """An update of which nobody can say yet what became of it; the node needs a person, not a second try."""

    diagnosis = "firmware_unproven"

    def __init__(self, code: str, subject: str, seen: str) -> None:
        super().__init__(
            code,
            subject,
            seen,
            "an end that the version proves",
            "wait, see what the BMC says, and run this again: it looks first and flashes nothing twice",
        )
        self.evidence = {"code": code}


@dataclass
class Site:
    """What an update works with.

    :param machine: ``products`` and ``part_numbers`` of the node.
    :param poll: seconds between two looks; ``settle`` until a version that runs must show; ``off`` without power.
    :param hook: the operator's own AC cycle, program and arguments.
    :param notes: what the operator has to be told besides, in sentences.
    :param may_cycle: writes down, right before it is ordered, that the power of the host is cut (activation, power
        state); raises where it may not be.
    """

    client: Client
    by: Patterns
    system: str | None
    journal: Journal
    machine: Mapping[str, Any]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    limits: Limits = field(default_factory=Limits)
    poll: float = 5.0
    settle: float = 120.0
    off: float = 30.0
    hook: Sequence[str] = ()
    seen: Reading | None = None
    notes: list[str] = field(default_factory=list)
    may_cycle: Callable[[str, str], None] = lambda _kind, _power: None

    @property
    def subject(self) -> str:
        """How errors name the BMC."""
        return self.client.subject

    def reading(self) -> Reading:
        """What the BMC tells, read once."""
        if self.seen is None:
            self.seen = read(self.client.get, self.subject, self.system, self.by)
        return self.seen

    def entries(self) -> list[Entry]:
        """The inventory as it is now."""
        return read_entries(self.client.get, self.subject, self.reading().board, self.by)[0]

    def tasks(self) -> list[str]:
        """The tasks that the BMC names now; [] where it has no such service, or does not answer."""
        return self._named(self.client.look(TASKS))

    def known_tasks(self) -> list[str]:
        """The same, asked for until the BMC answers: what is wrong here would be taken for somebody else's, or ours.

        :raises BmcError: it does not answer.
        """
        answer = self.client.patiently(TASKS)
        if answer.passing and answer.status != NOT_IMPLEMENTED:
            raise refused(answer, self.subject, f"GET {TASKS}")
        return self._named(answer)

    @staticmethod
    def _named(answer: Answer) -> list[str]:
        members = (answer.body or {}).get("Members") if answer.good else None
        rows = [row.get("@odata.id") for row in members or [] if isinstance(row, dict)]
        return [path_of(uri) for uri in rows if isinstance(uri, str)]

    def last_reset(self) -> str | None:
        """When the BMC was last reset, in its own words; None where it does not say."""
        uri = self.reading().board.manager.get("@odata.id")
        answer = self.client.patiently(str(uri)) if uri else Answer(0)
        value = (answer.body or {}).get("LastResetTime")
        return str(value) if value else None


class Outcome(NamedTuple):
    """What became of a row: unchanged, updated, staged, would_update or would_activate."""

    component: str
    outcome: str
    before: str | None
    after: str | None
    wanted: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        """For the result of a task."""
        return dict(self._asdict())
