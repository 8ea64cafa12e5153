# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that is killed at an exchange with a BMC, and run again: the end has to be that of an undisturbed run.

    python -m ansible_collections.fleetops.instinct.tests.integration.bmc_deaths [--only TEXT] [--workers N]

The undisturbed run tells which exchanges there are. In each case the simulated BMC itself kills the controller, before
it carries a request out ("seen") or before it answers it ("done"). A line per case; a failed one says what differs.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.connection import Door, library
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Site
from ansible_collections.fleetops.instinct.tests.integration.bmc_lab import Setting
from simfleet import sockets

MAKERS = ("ami", "ilo", "idrac", "openbmc")
MOMENTS = ("seen", "done")
# What SMT may be beside what it is.
OTHER = {"ami": "Auto", "ilo": "Enabled", "idrac": "Enabled", "openbmc": "Enabled"}
# A BMC is away for much longer than a question is repeated.
QUICK = {"task_seconds": 0.15, "restart_seconds": 0.3, "post_seconds": 0.1}


class Place(NamedTuple):
    """The nth of its kind of exchanges, and whether the BMC has carried it out when the controller dies."""

    exchange: str
    nth: int
    moment: str

    def __str__(self) -> str:
        return f"{self.exchange} ({self.nth}) {self.moment}"


def name_of(method: str, path: str) -> str:
    """What one exchange has in common with its like in another run."""
    return re.sub(r"/Sessions/.*", "/Sessions/N", f"{method} {path.partition('?')[0]}")


class Seat(Setting):
    """What an operator has who does not wait long for an answer."""

    maker = ""

    def door(self, **other: Any) -> Door:
        """A way in."""
        return super().door(**{"attempts": 2, "pause": 0.05, **other})

    def site(self, client: Client) -> Site:
        """What an update works with."""
        made = super().site(client)
        made.settle, made.poll = 0.6, 0.1
        return made


class Controller(Seat):
    """The controller's side of a lab that is in another process."""

    def __init__(self, folder: str, hook: bool, user: str, password: str, **seen: str) -> None:  # no super().__init__
        self.folder, self.bmcs = Path(folder), SimpleNamespace(user=user, password=password)
        self.__dict__ |= seen
        self.prepare()
        self.hook = functools.partial(_outlets, self.folder) if hook else None


class Nursery:
    """A process that has loaded all that a controller needs, and no BMC: each controller is a child of it."""

    @classmethod
    @functools.cache
    def one(cls) -> Nursery:
        """The one of this process: to be asked for before a lab is made, for its children keep what is open by then."""
        return cls()

    def __init__(self) -> None:
        library()
        load_catalog()
        down, self._ask = os.pipe()
        self._hear, up = os.pipe()
        if os.fork() == 0:
            os.close(self._ask)
            os.close(self._hear)
            self._serve(os.fdopen(down), up)
        os.close(down)
        os.close(up)
        self._heard = os.fdopen(self._hear)

    def child(self, job: str, seen: dict[str, Any]) -> int:
        """The process id of a controller that will do a job once `go` says so."""
        os.write(self._ask, json.dumps([job, seen]).encode() + b"\n")
        return int(self._heard.readline())

    def go(self) -> int:
        """Let it do its job: its exit code, as ``subprocess`` has it."""
        os.write(self._ask, b"go\n")
        return int(self._heard.readline())

    @staticmethod
    def _serve(asked: Any, up: int) -> None:
        for line in iter(asked.readline, ""):
            child = os.fork()
            if child == 0:
                asked.readline()  # nobody else reads this line: the parent waits for the child first
                _do(*json.loads(line))
            os.write(up, b"%d\n" % child)
            os.write(up, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)


def _do(job: str, seen: dict[str, Any]) -> None:
    status = 1
    try:
        JOBS[job](Controller(**seen))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _outlets(folder: Path) -> str:
    sockets.ask(folder / "bmc", {"node": "g01", "op": "ac"}, "the outlets")
    return ""


class Mortal(Seat):
    """A lab whose controller dies at an exchange."""

    def __init__(self, folder: Path, maker: str, number: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.place = f"127.1.72.{number}"
        super().__init__(folder, maker, **QUICK)
        self.maker = maker
        if maker == "ilo":  # it offers no AC cycle
            server = sockets.listen(folder / "bmc")
            threading.Thread(target=sockets.serve, args=(server, self.bmcs.answer), daemon=True).start()
            self.hook = functools.partial(_outlets, folder)

    def doomed(self, job: str, place: Place) -> bool:
        """Do a job in a process that is killed at an exchange; false where it was done without that."""
        controller, seen = Nursery.one().child(job, self.as_seen()), Counter[str]()

        def watch(request: Any, moment: str) -> bool:
            exchange = name_of(request.method, request.path)
            seen[exchange] += moment == "seen"
            here = place == Place(exchange, seen[exchange], moment)
            if here:
                os.kill(controller, signal.SIGKILL)
            return here

        door = self.bmcs.wire.doors["g01"]
        door.watch = watch
        status = Nursery.one().go()
        door.watch = lambda _request, _moment: False
        if status not in (0, -signal.SIGKILL):
            raise RuntimeError(f"the run that was to be killed failed by itself: {status}")
        return status != 0

    def as_seen(self) -> dict[str, Any]:
        """What a controller knows of this lab."""
        more = {"user": self.bmcs.user, "password": self.bmcs.password, "hook": self.hook is not None}
        return {"folder": str(self.folder), "address": self.address, "ca": self.ca, "maker": self.maker, **more}

    def end(self) -> dict[str, Any]:
        """What the BMC knows of all that was done to it."""
        bmc = self.bmc
        acts = Counter(
            path.rpartition("/")[2]
            for method, path, status in bmc.exchanges
            if method == "POST" and not path.endswith("/Sessions") and 200 <= status < 300
        )
        components = {key: (one.version, one.staged, one.flashes) for key, one in bmc.components.items()}
        settings = (bmc.bios.applied, bmc.bios.pending, bmc.bios.stagings, len(bmc.tasks.scheduled("bios")))
        return {
            "components": components,
            "orders": dict(acts),
            "restarts": bmc.restarts,
            "boots": bmc.boots,
            "power": bmc.host_power,
            "bios": json.loads(json.dumps(settings)),
            "journal": self.events()[-1] if (self.folder / "firmware/g01.jsonl").exists() else None,
        }


def _bmc_reset(lab: Seat) -> Any:
    lab.update(lab.wish("bmc", activation="bmc_reset", **_method(lab)))


def _ordered_reset(lab: Seat) -> Any:
    """A BMC that waits with what was flashed until it is reset: where apply times are offered."""
    lab.update(lab.wish("bmc", activation="bmc_reset", apply_time="OnReset"))


def _ac_cycle(lab: Seat) -> Any:
    lab.update(lab.wish(activation="ac_cycle", **_method(lab)))


def _power_cycle(lab: Seat) -> Any:
    lab.update(lab.wish(activation="power_cycle", **_method(lab)))


def _bios(lab: Seat) -> Any:
    lab.stage({"smt": OTHER[lab.maker]})


def _method(lab: Seat) -> dict[str, str]:
    return {"method": "http_push"} if lab.maker == "ilo" else {}


JOBS = {
    "bmc_reset": _bmc_reset,
    "ordered_reset": _ordered_reset,
    "ac_cycle": _ac_cycle,
    "power_cycle": _power_cycle,
    "bios": _bios,
}


# These BMCs reset themselves once they are flashed; and their GPUs want an AC cycle.
NOT_OFFERED = tuple((maker, job) for maker in ("ami", "ilo") for job in ("ordered_reset", "power_cycle"))


class Case(NamedTuple):
    """A job over a BMC of a maker, and where its controller dies."""

    maker: str
    job: str
    place: Place

    def __str__(self) -> str:
        return f"{self.maker} {self.job} {self.place}"


def undisturbed(folder: Path, maker: str, job: str, number: int) -> tuple[list[str], dict[str, Any]]:
    """The exchanges of a job that nothing disturbs, and what it comes to."""
    lab = Mortal(folder, maker, number)
    JOBS[job](lab)
    return [name_of(method, path) for method, path, _status in lab.bmc.exchanges], settled(lab)


def settled(lab: Mortal) -> dict[str, Any]:
    """The end, once what is still under way behind the BMC has come to it."""
    time.sleep(0.1)
    return lab.end()


def cases(exchanges: list[str], maker: str, job: str, brief: bool) -> Iterator[Case]:
    """Where a controller can die in it.

    :param brief: once at a GET, which leaves nothing behind, so that before and after it are the same.
    """
    seen: Counter[str] = Counter()
    for exchange in exchanges:
        seen[exchange] += 1
        moments = MOMENTS[1:] if brief and exchange.startswith("GET ") else MOMENTS
        yield from (Case(maker, job, Place(exchange, seen[exchange], moment)) for moment in moments)


def attempt(folder: Path, case: Case, known: dict[str, Any], number: int) -> tuple[bool, list[str]]:
    """Kill the controller there and run it again: whether it was killed, and what is wrong then."""
    lab = Mortal(folder, case.maker, number)
    died = lab.doomed(case.job, case.place)
    try:
        JOBS[case.job](lab)
    except Exception as problem:  # one case that fails must not end the others
        return died, [f"the second run: {type(problem).__name__}: {problem}"]
    end = settled(lab)
    return died, [f"{key}: {end[key]}, undisturbed {known[key]}" for key in known if end[key] != known[key]]


def work(jobs: list[tuple[str, str]], only: str, brief: bool, shard: tuple[int, int]) -> None:
    """Try every nth case; a line of JSON for each."""
    Nursery.one()
    number, of = shard
    for maker, job in jobs:
        with tempfile.TemporaryDirectory(prefix="deaths-") as scratch:
            exchanges, known = undisturbed(Path(scratch) / "known", maker, job, number)
            wanted = [case for case in cases(exchanges, maker, job, brief) if only in str(case)]
            for place, case in enumerate(wanted[number - 1 :: of]):
                start = time.monotonic()
                died, faults = attempt(Path(scratch) / str(place), case, known, number)
                row = {"case": str(case), "seconds": time.monotonic() - start, "died": died, "faults": faults}
                print(json.dumps(row), flush=True)


def run(jobs: list[tuple[str, str]], workers: int, only: str = "", brief: bool = False) -> Iterator[dict[str, Any]]:
    """Try the cases of jobs in so many processes; raises where one of them broke."""
    words = [sys.executable, "-m", __spec__.name, "--only", only]
    words += [*(["--brief"] if brief else []), *(f"{maker}:{job}" for maker, job in jobs)]
    told: queue.SimpleQueue[dict[str, Any] | int] = queue.SimpleQueue()

    def listen(shard: str) -> None:
        with subprocess.Popen([*words, "--shard", shard], stdout=subprocess.PIPE, text=True) as one:
            for line in one.stdout or ():
                told.put(json.loads(line))
        told.put(one.returncode)

    for number in range(1, workers + 1):
        threading.Thread(target=listen, args=(f"{number}/{workers}",), daemon=True).start()
    left = workers
    while left:
        row = told.get()
        if isinstance(row, dict):
            yield row
            continue
        left -= 1
        if row:
            raise RuntimeError(f"a worker ended with {row}")


def main() -> None:
    """Try them; status 1 where a case failed."""
    every = [f"{maker}:{job}" for maker in MAKERS for job in JOBS if (maker, job) not in NOT_OFFERED]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=every, help="MAKER:JOB; all by default")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--brief", action="store_true", help="die once at a GET, not before and after it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard", help="I/N: this process tries every Nth case, and tells it as JSON")
    options = parser.parse_args()
    jobs = [(maker, job) for maker, _, job in (text.partition(":") for text in options.jobs)]
    if options.shard:
        number, of = (int(part) for part in options.shard.split("/"))
        work(jobs, options.only, options.brief, (number, of))
        return
    rows = []
    for row in run(jobs, options.workers, options.only, options.brief):
        rows.append(row)
        how = "FAIL" if row["faults"] else "ok" if row["died"] else "over"
        print(f"{how:4} {row['seconds']:4.1f} s  {row['case']}", *row["faults"], sep="\n         ", flush=True)
    failed = sum(bool(row["faults"]) for row in rows)
    late = sum(not row["died"] for row in rows)
    print(f"{len(rows) - failed} of {len(rows)} cases end as the undisturbed run; {late} were over by then")
    sys.exit(1 if failed or not rows else 0)


if __name__ == "__main__":
    main()
