# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start, ask and end the supervisor of a fleet, from the command line's side."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simfleet import inventory, sockets
from simfleet.errors import SimfleetError
from simfleet.fleetfile import FleetSpec
from simfleet.image import ensure_image
from simfleet.repo import ensure_repo

MARK = "simfleet.json"


def _started_at(pid: int) -> str | None:
    """When the process started, in the kernel's ticks; None when it is gone, or dead and only not yet waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def running(state: Path) -> dict[str, Any] | None:
    """What is known of the live supervisor of this state directory; None when there is none."""
    try:
        mark: dict[str, Any] = json.loads((state / MARK).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    pid = mark.get("pid")
    return mark if isinstance(pid, int) and _started_at(pid) == mark.get("started") else None


def ask(state: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Send one request to the supervisor; raises SimfleetError with its words when it refuses."""
    if running(state) is None:
        raise SimfleetError(f"no fleet is up in {state}; `up FLEET.yml` starts one")
    return sockets.ask(state, request, "the fleet's supervisor")


def _prepare(state: Path) -> None:
    if state.exists() and any(state.iterdir()) and not (state / MARK).exists():
        raise SimfleetError(f"{state} is not empty and no state directory of a fleet; name another with --state")
    if state.exists():
        shutil.rmtree(state)
    (state / "ssh").mkdir(parents=True)
    (state / MARK).write_text("{}\n", encoding="ascii")
    os.chmod(state, 0o700)
    key = state / "ssh/id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fleet", "-f", str(key)], check=True)


def _spawn(state: Path, fleet: FleetSpec, fleet_file: Path) -> tuple[subprocess.Popen[bytes], int, int]:
    progress_out, progress_in = os.pipe()
    life_out, life_in = os.pipe()
    words = [sys.executable, "-m", "simfleet", "--state", str(state), "supervise", str(fleet_file)]
    words += [str(fleet.base), str(progress_in), str(life_out)]
    with open(state / "supervisor.log", "ab") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
             "sh", "-c", '"$@"; exit $?', "sh", *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(progress_in, life_out), start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )  # fmt: skip
    os.close(progress_in)
    os.close(life_out)
    return process, progress_out, life_in


def _follow(state: Path, progress: int, say: Callable[[str], None]) -> None:
    with os.fdopen(progress, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("error "):
                raise SimfleetError(json.loads(line[6:]))
            if line.strip() == "ready":
                return
            say(line.strip())
    tail = (state / "supervisor.log").read_text(errors="replace")[-2000:]
    raise SimfleetError(f"the supervisor ended before the fleet was up:\n{tail}")


def up(state: Path, fleet: FleetSpec, fleet_file: Path, say: Callable[[str], None], foreground: bool = False) -> None:
    """Bring the fleet up and return when every node answers; a fleet of the same file that is up stays as it is."""
    if os.geteuid() != 0:
        raise SimfleetError("the simulated fleet needs root: it mounts and makes namespaces")
    text = f"base {fleet.base}\n" + fleet_file.read_text(encoding="utf-8")
    mark = running(state)
    if mark is not None:
        if mark.get("fleet") != text:
            raise SimfleetError(f"another fleet is up in {state}; take it down first, or name another --state")
        say("already up")
        return
    say("image and packages (built on the first run)")
    ensure_image()
    ensure_repo()
    _prepare(state)
    process, progress, life = _spawn(state, fleet, fleet_file)
    mark = {"pid": process.pid, "started": _started_at(process.pid), "fleet": text}
    (state / MARK).write_text(json.dumps(mark) + "\n", encoding="ascii")
    try:
        _follow(state, progress, say)
        inventory.write_all(state, fleet)
    except BaseException:
        down(state)
        raise
    if foreground:
        say("ready; the fleet ends with this process")
        process.wait()
        return
    os.write(life, b".")
    os.close(life)


def down(state: Path) -> bool:
    """End the fleet and remove its state directory; False when there was nothing. Safe to repeat."""
    mark = running(state)
    if mark is not None:
        try:
            ask(state, {"op": "down"})
        except SimfleetError:
            pass
        _end(mark)
    if (state / MARK).exists():
        shutil.rmtree(state)
        return True
    return mark is not None


def _end(mark: dict[str, Any]) -> None:
    deadline = time.monotonic() + 5
    while _started_at(mark["pid"]) == mark["started"]:
        if time.monotonic() > deadline:
            os.kill(mark["pid"], signal.SIGKILL)
            deadline = time.monotonic() + 5
        time.sleep(0.02)
