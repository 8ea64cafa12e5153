# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tasks of a BMC, and the jobs that stand beside them where the maker has a queue."""

from __future__ import annotations

import calendar
import time
from dataclasses import dataclass, field
from typing import Any

ENDED = ("Completed", "Exception", "Killed", "Cancelled", "Interrupted")


_FORM = "%Y-%m-%dT%H:%M:%SZ"


def stamp(after: str | None = None) -> str:
    """The time now as Redfish writes it; at least a second later than another one."""
    seconds = int(time.time())
    if after:
        seconds = max(seconds, calendar.timegm(time.strptime(after, _FORM)) + 1)
    return time.strftime(_FORM, time.gmtime(seconds))


@dataclass
class Task:
    """One task. `scheduled` is the wait of a job for the next boot."""

    id: str
    name: str
    kind: str  # update, bios or other
    state: str = "New"
    status: str = "OK"
    percent: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    started: str = field(default_factory=stamp)
    ended: str | None = None
    job_state: str | None = None
    target: str = ""

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.state in ENDED

    def end(
        self, state: str, status: str, *messages: dict[str, Any], percent: int = 100, job: str | None = None
    ) -> None:
        """It is over."""
        self.state, self.status, self.percent, self.ended = state, status, percent, stamp()
        self.messages += messages
        self.job_state = job or ("Completed" if status == "OK" else "Failed")

    def schedule(self, *messages: dict[str, Any]) -> None:
        """It waits for the next boot."""
        self.state, self.percent, self.job_state = "Pending", 0, "Scheduled"
        self.messages += messages

    def job(self) -> str:
        """The state in a job queue's words."""
        return self.job_state or {"New": "New", "Running": "Running"}.get(self.state, "Running")


class Tasks:
    """All tasks by id, in the order they were made."""

    def __init__(self, ids: str) -> None:
        self._ids = ids
        self._number = 0
        self.all: dict[str, Task] = {}

    def add(self, name: str, kind: str, target: str = "") -> Task:
        """A new task."""
        identity = str(self._number) if self._ids == "number" else f"JID_{562933713216 + self._number * 7}"
        self._number += 1
        self.all[identity] = Task(identity, name, kind, target=target)
        return self.all[identity]

    def lose(self, task: Task | None = None) -> None:
        """Forget one task, or all."""
        if task is None:
            self.all.clear()
        else:
            self.all.pop(task.id, None)

    def running(self, kind: str) -> Task | None:
        """A task of this kind that is under way; one that waits for a boot is not."""
        return next(
            (task for task in self.all.values() if task.kind == kind and not task.over and task.job() != "Scheduled"),
            None,
        )

    def scheduled(self, kind: str | None = None) -> list[Task]:
        """What waits for the next boot."""
        return [task for task in self.all.values() if task.job_state == "Scheduled" and kind in (None, task.kind)]
