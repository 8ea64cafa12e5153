# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time of node_facts on a recorded machine of eight GPUs, as a multiple of an empty module run the same way.

    python tests/bench/node_facts.py [MACHINE] [--rounds N]

Both are what Ansible sends to a node: the payload is taken out of the file it would run there, and run from the archive
without compiled files, each time in a new process. Only the seam to the machine is replaced, by the recording. Fails
above the limit.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
LIMIT = 2.0
MODULES = {"empty module": "ansible.builtin.ping", "node_facts": "fleetops.instinct.node_facts"}
RUN = """
import importlib, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from ansible.module_utils import basic
basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = b'{"ANSIBLE_MODULE_ARGS": {}}', "legacy"
module = importlib.import_module(sys.argv[2])
if len(sys.argv) > 3:
    from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording
    with open(sys.argv[3]) as handle:
        machine = json.load(handle)
    module.Host = lambda: Recording(machine)
module.main()
"""
NAMES = {
    "empty module": "ansible.modules.ping",
    "node_facts": "ansible_collections.fleetops.instinct.plugins.modules.node_facts",
}


def payload(module: str, scratch: Path) -> Path:
    """The archive that Ansible sends for a module."""
    kept = scratch / module
    environment = {**os.environ, "ANSIBLE_KEEP_REMOTE_FILES": "1", "ANSIBLE_PIPELINING": "0"}
    environment.update(ANSIBLE_REMOTE_TMP=str(kept), ANSIBLE_LOCALHOST_WARNING="false")
    command = [str(PROGRAMS / "ansible"), "localhost", "-c", "local", "-m", module]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (sent,) = kept.rglob("AnsiballZ_*.py")
    longest = max(re.findall(r"['\"]([A-Za-z0-9+/=\n]{1000,})['\"]", sent.read_text(encoding="utf-8")), key=len)
    archive = scratch / f"{module}.zip"
    archive.write_bytes(base64.b64decode(longest))
    return archive


def with_recording(archive: Path) -> None:
    """Add the reader of recordings to an archive, as one more file of the collection."""
    inside = "ansible_collections/fleetops/instinct/plugins/module_utils/_recording.py"
    with zipfile.ZipFile(archive, "a") as target:
        if inside not in target.namelist():
            target.write(TESTS.parent / "plugins" / "module_utils" / "_recording.py", inside)


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one process and its children; a run that does not end well stops the bench."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or '"failed": true' in done.stdout:
        sys.exit(f"{command[3]} failed:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure in turn, print, and fail above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", nargs="?", default=TESTS / "fixtures" / "machines" / "mi300x-ubuntu-2404-dkms.json")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-facts-") as name:
        archives = {label: payload(module, Path(name)) for label, module in MODULES.items()}
        with_recording(archives["node_facts"])
        runs = {label: [sys.executable, "-c", RUN, str(archives[label]), NAMES[label]] for label in MODULES}
        runs["node_facts"].append(str(options.machine))
        times: dict[str, list[float]] = {label: [] for label in MODULES}
        for _round in range(options.rounds + 1):
            for label, command in runs.items():
                times[label].append(cpu_seconds(command))
    for label, values in times.items():
        print(f"{label:<20}{statistics.median(values[1:]) * 1000:>8.0f} ms of CPU time")
    ratio = statistics.median(b / a for a, b in zip(*(values[1:] for values in times.values()), strict=True))
    print(f"node_facts / empty module: {ratio:.2f}, limit {LIMIT}")
    return ratio > LIMIT


if __name__ == "__main__":
    sys.exit(main())
