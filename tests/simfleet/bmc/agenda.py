# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is due when: one list of acts for all BMCs, run by a thread, or by hand in a test."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import traceback
from collections.abc import Callable


class Agenda:
    """Acts with their times. `clock` tells the time in seconds; a test gives its own and calls `run_due`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._changed = threading.Condition()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do this in so many seconds; acts of the same time keep their order."""
        with self._changed:
            heapq.heappush(self._due, (self.clock() + seconds, next(self._number), act))
            self._changed.notify()

    def run_due(self) -> None:
        """Do what is due now."""
        while True:
            with self._changed:
                if not self._due or self._due[0][0] > self.clock():
                    return
                act = heapq.heappop(self._due)[2]
            try:
                act()
            except Exception:  # one BMC's mistake must not stop the others; the log has it
                traceback.print_exc()

    def run_for_ever(self) -> None:
        """The thread's work."""
        while True:
            self.run_due()
            with self._changed:
                wait = self._due[0][0] - self.clock() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)

    def start(self) -> None:
        """Run from now on in a thread of its own."""
        threading.Thread(target=self.run_for_ever, daemon=True).start()
