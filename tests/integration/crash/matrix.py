# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole crash matrix: every write of a rollout of four nodes, before and after it; and a node's power at each.

    nox -s crash -- [--fleets N] [--base N] [--shard I/N] [--only TEXT] [--no-power | --only-power] [--out FOLDER]

An undisturbed rollout tells which writes there are. Each case has a fresh fleet: the rollout is run and cut off, the
same command is run again, and the end has to be the undisturbed one. A line per case; a failed one says what differs.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.tests.integration.crash.crash_lab import (
    Death,
    End,
    Lab,
    Write,
    faults_of_a_rerun,
)
from ansible_collections.fleetops.instinct.tests.integration.crash.power import Cut, cuts, faults_after_a_cut


class Reference(NamedTuple):
    """An undisturbed rollout: what was there before it, what it wrote, and what it came to."""

    before: End
    writes: list[Write]
    end: End


def reference(lab: Lab) -> Reference:
    """Run a rollout that nothing disturbs; it has to be clean, and all of its events must have been seen."""
    with lab.fleet():
        before, done = lab.end(), lab.run(lab.plan())
        faults = [] if done.status == 0 else [done.text]
        faults += lab.faults_of_the_story()
        events = lab.query("SELECT coalesce(node, 'rollout'), kind FROM events ORDER BY id")
        writes = lab.writes()
        if faults or [write[:2] for write in writes if write.kind != "lease"] != events:
            sys.exit(
                "the undisturbed rollout is no reference: " + "; ".join(faults or ["events that no write was seen of"])
            )
        return Reference(before, writes, lab.end())


def deaths(writes: list[Write]) -> list[Death]:
    """Every place where a controller can die; each kind of write comes once before any comes twice."""
    places = [Death(write, when) for write in writes for when in ("before", "after")]
    alone = [Death(write, "after", "alone") for write in writes if write.node in ("rollout", "g03")]
    seen: Counter[tuple[str, ...]] = Counter()

    def rank(place: Death) -> int:
        key = (*place.write[1:], place.when)
        seen[key] += 1
        return seen[key]

    return sorted([*places, *alone], key=rank)


def try_death(lab: Lab, place: Death, known: Reference) -> list[str]:
    """Kill the controller there, run the same command again; what is wrong then."""
    with lab.fleet():
        plan = lab.plan()
        first = lab.run(plan, place)
        if first.status != -9:
            return [f"the controller was not killed, it ended with {first.status}: {first.text[-800:]}"]
        left = lab.left_alive() if place.whom == "all" else []
        found = [f"outlives the controller: {words}" for words in left]
        done = lab.run(plan)
        return found + faults_of_a_rerun(lab, done, known.end)


def try_cut(lab: Lab, cut: Cut, known: Reference) -> list[str]:
    """Cut a node's power there, run the same command again; what is wrong then."""
    with lab.fleet():
        return faults_after_a_cut(lab, cut, known.before, known.end)


def cases(known: Reference, options: argparse.Namespace) -> Iterator[tuple[str, Callable[[Lab], list[str]]]]:
    """The name of each wanted case, and what tries it."""
    if not options.only_power:
        for place in deaths(known.writes):
            yield f"controller dies {place}", lambda lab, place=place: try_death(lab, place, known)
    if not options.no_power:
        for cut in cuts(known.writes):
            yield str(cut), lambda lab, cut=cut: try_cut(lab, cut, known)


def work(lab: Lab, todo: queue.SimpleQueue, tell: Callable[[dict[str, Any]], None]) -> None:
    """Try one case after the other until there is none left."""
    while True:
        try:
            name, attempt = todo.get_nowait()
        except queue.Empty:
            return
        start = time.monotonic()
        try:
            faults = attempt(lab)
        except Exception as error:  # one case that cannot be tried must not end the others
            faults = [f"{type(error).__name__}: {error}"]
        tell({"case": name, "seconds": round(time.monotonic() - start), "faults": faults})


def passed(results: Path) -> set[str]:
    """The cases that a run before this one has passed: a matrix that was cut off goes on where it was."""
    rows = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {row["case"] for row in map(json.loads, rows) if not row["faults"]}


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, default=2, help="so many at once, on addresses of their own")
    parser.add_argument("--base", type=int, default=82, help="the first fleet is on 127.0.BASE.N, the next one follows")
    parser.add_argument("--shard", default="1/1", help="2/3: the second third of the cases")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--no-power", action="store_true")
    parser.add_argument("--only-power", action="store_true")
    parser.add_argument("--out", type=Path, help="keep results.jsonl here, and leave out what it says has passed")
    return parser.parse_args(words)


def main() -> None:
    """Try the matrix; status 1 where a case failed."""
    options = parse()
    shard, shards = (int(part) for part in options.shard.split("/"))
    with tempfile.TemporaryDirectory(prefix="crash-") as scratch:
        folder = (options.out or Path(scratch)).absolute()
        labs = [Lab(folder / f"{number}", options.base + number) for number in range(options.fleets)]
        known, todo, results = reference(labs[0]), queue.SimpleQueue(), []
        done = passed(folder / "results.jsonl")
        wanted = [case for case in cases(known, options) if options.only in case[0]][shard - 1 :: shards]
        chosen = [case for case in wanted if case[0] not in done]
        for case in chosen:
            todo.put(case)
        print(f"{len(known.writes)} writes in the undisturbed rollout, {len(chosen)} cases to try", flush=True)

        def tell(result: dict[str, Any]) -> None:
            results.append(result)
            with open(folder / "results.jsonl", "a", encoding="utf-8") as kept:
                kept.write(json.dumps(result) + "\n")
            print(f"{'FAIL' if result['faults'] else 'ok':4} {result['seconds']:3} s  {result['case']}", flush=True)
            for fault in result["faults"]:
                print(f"         {fault}", flush=True)

        threads = [threading.Thread(target=work, args=(lab, todo, tell)) for lab in labs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    failed = [result["case"] for result in results if result["faults"]]
    print(f"{len(results) - len(failed)} of {len(chosen)} cases end as the undisturbed rollout", flush=True)
    sys.exit(1 if failed or len(results) != len(chosen) else 0)


if __name__ == "__main__":
    main()
