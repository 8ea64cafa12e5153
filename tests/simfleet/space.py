# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Mounts and namespaces: the few system calls that build and start a node's world."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

from simfleet.errors import SimfleetError

HERE = Path(__file__).parent
_libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MNT_DETACH = 4096, 2


def mount(source: str, target: Path, kind: str | None, options: str = "", flags: int = 0) -> None:
    """mount(2); a refusal is a SimfleetError."""
    done = _libc.mount(
        source.encode(), str(target).encode(), kind.encode() if kind else None, ctypes.c_ulong(flags), options.encode()
    )
    if done:
        raise SimfleetError(f"mount of {kind or 'bind'} on {target}: {os.strerror(ctypes.get_errno())}")


def unmount(target: Path) -> None:
    """Detach the mount on `target`, if there is one."""
    _libc.umount2(str(target).encode(), MNT_DETACH)


def fresh_tmpfs(target: Path, size: str, mode: str = "755") -> Path:
    """An empty tmpfs on `target`, in place of the one that was there."""
    unmount(target)
    target.mkdir(parents=True, exist_ok=True)
    mount("tmpfs", target, "tmpfs", f"size={size},mode={mode}")
    return target


def overlay(target: Path, lower: list[Path], upper: Path, work: Path) -> None:
    """Mount an overlay; `lower` goes from the top layer to the bottom one."""
    for path in (target, upper, work):
        path.mkdir(parents=True, exist_ok=True)
    layers = ":".join(str(path) for path in lower)
    mount("overlay", target, "overlay", f"lowerdir={layers},upperdir={upper},workdir={work}")


_NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}


def fill_dev(dev: Path) -> None:
    """The device nodes every machine has."""
    for name, (major, minor) in _NODES.items():
        make_device(dev / name, major, minor)
    links = {
        "ptmx": "pts/ptmx",
        "fd": "/proc/self/fd",
        "stdin": "/proc/self/fd/0",
        "stdout": "/proc/self/fd/1",
        "stderr": "/proc/self/fd/2",
    }
    for name, target in links.items():
        os.symlink(target, dev / name)


def make_device(path: Path, major: int, minor: int) -> None:
    """A character device that everybody may open."""
    path.parent.mkdir(exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    os.chmod(path, 0o666)


def fill_proc_sys(target: Path, own: dict[str, str]) -> None:
    """A private copy of the settings under /proc/sys, with `own` values: what a node sets never reaches the host."""
    shutil.rmtree(target, ignore_errors=True)
    for part in ("kernel", "vm", "fs", "net/core"):
        for folder, _, names in os.walk(f"/proc/sys/{part}"):
            place = target / os.path.relpath(folder, "/proc/sys")
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                _copy_setting(Path(folder) / name, place / name)
    for name, value in own.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(value + "\n", encoding="utf-8")


def _copy_setting(source: Path, target: Path) -> None:
    try:
        target.write_bytes(source.read_bytes())
    except OSError:
        target.write_bytes(b"")


def _time_offsets() -> list[str]:
    # With its own clock a node's uptime starts at zero at each boot; without that namespace it shows the host's.
    if not os.path.exists("/proc/self/ns/time"):
        return []
    return [
        "--time",
        "--boottime",
        f"-{int(time.clock_gettime(time.CLOCK_BOOTTIME))}",
        "--monotonic",
        f"-{int(time.monotonic())}",
    ]


class World:
    """The namespaces of one running node (or of one build), from start to stop."""

    def __init__(self, root: Path, files: Path, name: str, command: list[str], log: Path) -> None:
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL", *_time_offsets(),
                 "sh", str(HERE / "enter.sh"), str(root), str(files), name, *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def init(self) -> int | None:
        """The process id of the node's pid 1, as the supervisor sees it."""
        pid = self.process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(children[0]) if children else None

    def pids(self) -> list[tuple[int, str]]:
        """Every process of the node as (process id, command name)."""
        init = self.init()
        if init is None:
            return []
        space = os.readlink(f"/proc/{init}/ns/pid")
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space:
                    found.append((int(entry), Path(f"/proc/{entry}/comm").read_text(encoding="utf-8").strip()))
            except OSError:
                continue
        return found

    def spawn(self, command: list[str], name: str | None = None) -> subprocess.Popen[bytes]:
        """Start a process inside the running node; `name` is what it is called there."""
        init = self.init()
        if init is None:
            raise SimfleetError("the node is not running")
        inside = ["bash", "-c", 'name=$1; shift; exec -a "$name" "$@"', "bash", name or command[0], *command]
        return subprocess.Popen(
            ["nsenter", "-t", str(init), "-m", "-p", "-u", "-i", *inside],
            stdin=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
        )  # fmt: skip

    def stop(self) -> None:
        """Kill everything inside and wait until it is gone: then the addresses are free again."""
        init = self.init()
        if init is not None:
            try:
                os.kill(init, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
