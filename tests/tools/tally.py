# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each session counted, kept between sessions so that one line at the end can sum them honestly."""

from __future__ import annotations

import json
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / ".cache" / "results"


class Tally:
    """Counts of one session; written when the session leaves the ``with`` block, also when it dies there."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.passed = self.failed = self.skipped = 0
        self.notes: list[str] = []
        self.failures: list[str] = []

    def __enter__(self) -> Tally:
        self._start = time.monotonic()
        RESULTS.mkdir(parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None and not self.failed:
            self.fail(f"{self.session} died: {kind.__name__}: {error}")
        row = {
            "session": self.session,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "seconds": round(time.monotonic() - self._start, 1),
            "notes": self.notes,
            "failures": self.failures,
        }
        self._path.write_text(json.dumps(row, indent=1), encoding="utf-8")
        print(self.line(), flush=True)

    @property
    def _path(self) -> Path:
        return RESULTS / f"{self.session}.json"

    def line(self) -> str:
        """The closing line of this session."""
        return f"{self.session}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def fail(self, what: str) -> None:
        """Count a failure and remember its name."""
        self.failed += 1
        self.failures.append(what)

    def skip(self, why: str) -> None:
        """Count something that was not run, loudly."""
        self.skipped += 1
        self.notes.append(why)
        print(f"\n!!! {self.session}: SKIPPED: {why}\n", flush=True)

    def run(self, name: str, argv: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> bool:
        """Run a program that is one check, show its output, count it by its exit status."""
        print(f"--- {name}", flush=True)
        done = subprocess.run([str(word) for word in argv], cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL)
        if done.returncode == 0:
            self.passed += 1
        else:
            self.fail(f"{name} (exit status {done.returncode})")
        return done.returncode == 0

    def run_beside(
        self, commands: Mapping[str, Sequence[str | Path]], cwd: Path, env: Mapping[str, str], at_once: int
    ) -> None:
        """Run programs that are one check each, some at once; each output is shown whole when its program has ended."""

        def one(argv: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [str(word) for word in argv], cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip

        with ThreadPoolExecutor(at_once) as pool:
            for name, done in zip(commands, pool.map(one, commands.values()), strict=True):
                print(f"--- {name}\n{done.stdout}", flush=True)
                if done.returncode == 0:
                    self.passed += 1
                else:
                    self.fail(f"{name} (exit status {done.returncode})")

    def run_pytest(self, argv: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> None:
        """Run pytest and count what its JUnit file says; a run that ends badly without one is a failure."""
        report = RESULTS / f"{self.session}.xml"
        report.unlink(missing_ok=True)
        words = [*(str(word) for word in argv), f"--junitxml={report}"]
        status = subprocess.run(words, cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL).returncode
        failed_before = self.failed
        if report.exists():
            self.add_junit(report)
        if status != 0 and self.failed == failed_before:
            self.fail(f"pytest ended with status {status}")

    def add_junit(self, report: Path) -> None:
        """Add the cases of a JUnit file."""
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                self.fail(f"{case.get('classname')}::{case.get('name')}")
            elif "skipped" in kinds:
                self.skipped += 1
                self.notes.append(f"{case.get('name')}: {case.find('skipped').get('message')}")
            else:
                self.passed += 1


def forget() -> None:
    """Drop the counts of earlier runs."""
    for path in RESULTS.glob("*.json"):
        path.unlink()


def summary(rows: list[dict]) -> tuple[str, int]:
    """Table of sessions, reasons, and the closing line; and the exit status."""
    total = {key: sum(row[key] for row in rows) for key in ("passed", "failed", "skipped")}
    lines = [f"{'session':<18}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    row_format = "{session:<18}{passed:>8}{failed:>8}{skipped:>9}{seconds:>9}"
    lines += [row_format.format_map(row) for row in rows]
    lines.append(f"{'all':<18}{'':>25}{sum(row['seconds'] for row in rows):>9.1f}")
    lines += [f"SKIPPED {row['session']}: {note}" for row in rows for note in row["notes"]]
    lines += [f"FAILED {row['session']}: {name}" for row in rows for name in row["failures"]]
    lines.append(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return "\n".join(lines), 1 if total["failed"] or not total["passed"] else 0


def read_rows() -> list[dict]:
    """Counts of the run, in the order in which the sessions ended."""
    paths = sorted(RESULTS.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


if __name__ == "__main__":
    text, exit_status = summary(read_rows())
    print(text)
    raise SystemExit(exit_status)
