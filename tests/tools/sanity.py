# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test over the copy: its sanity tests and its way of running the unit tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import venvs
from tally import Tally

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".cache" / "home"
# ansible-test downloads this script to put pip into its environments; ensurepip does the same without a download.
GET_PIP = """import ensurepip
ensurepip.bootstrap()
"""
# The tests and tools are judged by ruff: ansible-test's rules are made for plugins, and forbid `for _ in ...`.
NOT_SHIPPED = ["--exclude", "tests/", "--exclude", "noxfile.py"]
# Enough to prove that ansible-test runs them; all of them run by pytest itself.
SOME_UNITS = ["tests/unit/plugins/modules/", "tests/unit/plugins/filter/"]
STARTED = re.compile(r'Running sanity test "([^"]+)"( on Python [0-9.]+)?')


def run(tally: Tally, bin_folder: Path, here: Path, environment: Mapping[str, str], posargs: list[str]) -> None:
    """Sanity first, then the unit tests as ansible-test runs them."""
    path = os.pathsep.join([str(bin_folder), *venvs.python_folders(), *venvs.search_path()])
    ours = {**environment, "PATH": path, "HOME": str(HOME), "PIP_CACHE_DIR": _pip_cache()}
    prepare_home(bin_folder)
    _sanity(
        tally, [bin_folder / "ansible-test", "sanity", "--local", "--color", "no", *NOT_SHIPPED, *posargs], here, ours
    )
    if not posargs:
        _units(tally, bin_folder, here, ours)


def _sanity(tally: Tally, command: list[str | Path], here: Path, environment: Mapping[str, str]) -> None:
    """Count the sanity tests: ansible-test announces each one and lists at the end those that failed."""
    done = subprocess.Popen(
        [str(word) for word in command],
        cwd=here,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    lines = list(_shown(done.stdout))
    started = {"".join(match.groups("")) for line in lines if (match := STARTED.match(line))}
    failed = _listed_as_failed(lines)
    tally.passed += len(started - failed)
    for name in sorted(failed):
        tally.fail(f"sanity test {name}")
    for line in lines:
        if line.startswith("WARNING: Skipping sanity test"):
            tally.skip(line.removeprefix("WARNING: ").strip())
    if done.wait() != 0 and not failed or not started:
        tally.fail(f"ansible-test sanity ended with status {done.returncode}")


def _shown(stream: Iterable[str]) -> Iterator[str]:
    for line in stream:
        print(line, end="", flush=True)
        yield line


def _listed_as_failed(lines: list[str]) -> set[str]:
    """Names that follow ansible-test's closing "The N sanity test(s) listed below (out of M) failed" line."""
    starts = [number for number, line in enumerate(lines) if "sanity test(s) listed below" in line]
    return (
        {line.strip().replace(" --python ", " on Python ") for line in lines[starts[-1] + 1 :] if line.strip()}
        if starts
        else set()
    )


def _units(tally: Tally, bin_folder: Path, here: Path, environment: Mapping[str, str]) -> None:
    """ansible-test's unit run, on the Python that runs the controller."""
    reports = here / "tests" / "output" / "junit"
    shutil.rmtree(reports, ignore_errors=True)
    version = subprocess.check_output(
        [bin_folder / "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True
    )
    command = [bin_folder / "ansible-test", "units", "--local", "--python", version.strip(), "--color", "no"]
    command += SOME_UNITS
    status = subprocess.run(command, cwd=here, env=environment, check=False, stdin=subprocess.DEVNULL).returncode
    failed_before = tally.failed
    for report in sorted(reports.glob("*.xml")):
        tally.add_junit(report)
    if status != 0 and tally.failed == failed_before:
        tally.fail(f"ansible-test units ended with status {status}")


def _pip_cache() -> str:
    return os.environ.get("PIP_CACHE_DIR", os.path.expanduser("~/.cache/pip"))


def prepare_home(bin_folder: Path) -> None:
    """A home folder for ansible-test, with the pip scripts that it would download."""
    cache = HOME / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in pip_versions(bin_folder):
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(GET_PIP, encoding="utf-8")


def pip_versions(bin_folder: Path) -> list[str]:
    """Versions of pip that this ansible-test would bootstrap."""
    source = next(bin_folder.parent.glob("lib/python3*/site-packages/ansible_test/_internal/python_requirements.py"))
    return sorted(set(re.findall(r"pip='([0-9.]+)'", source.read_text(encoding="utf-8"))))
