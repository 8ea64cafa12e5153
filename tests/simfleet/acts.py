# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults that act in a running node: what begins them and what ends them. One pair of functions per effect."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from simfleet.faults import Fault

if TYPE_CHECKING:
    from simfleet.node import Node

_LOCK = """
import fcntl, time
open("/proc/self/comm", "w").write("unattended-upgr")
files = [open(path, "w") for path in ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock")]
for file in files:
    fcntl.lockf(file, fcntl.LOCK_EX)
time.sleep({seconds})
"""
_HOLD = """
import sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
held = open("/dev/kfd")
time.sleep(10**9)
"""


def _kill(node: Node, names: tuple[str, ...]) -> None:
    for pid, name in node.world.pids() if node.world else []:
        if name in names:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _hold_sshd(node: Node) -> None:
    (node.root / "run/sshd").mkdir(parents=True, exist_ok=True)
    (node.root / "run/sshd/hold").touch()
    _kill(node, ("sshd", "sshd-session"))


def _let_sshd(node: Node) -> None:
    (node.root / "run/sshd/hold").unlink(missing_ok=True)


def _flap(node: Node, fault: Fault) -> None:
    world = node.world
    for _ in range(int(fault.args["times"])):
        if node.world is not world or fault not in node.faults:
            break
        _hold_sshd(node)
        time.sleep(fault.args["seconds"])
        _let_sshd(node)
        time.sleep(fault.args["seconds"])


def _begin_flaps(node: Node, fault: Fault) -> None:
    threading.Thread(target=_flap, args=(node, fault), daemon=True).start()


def _begin_lock(node: Node, fault: Fault) -> None:
    code = _LOCK.format(seconds=fault.args["seconds"])
    if node.world:
        node.helpers.append(node.world.spawn(["/usr/bin/python3", "-c", code], name="unattended-upgrade"))


def _begin_hold(node: Node, fault: Fault) -> None:
    if node.world:
        node.helpers.append(
            node.world.spawn(["/usr/bin/python3", "-c", _HOLD, fault.args["command"]], name=fault.args["command"])
        )


def _end_python(node: Node, fault: Fault) -> None:
    wanted = {"package_manager_locked": "lock-frontend", "kfd_busy": "/dev/kfd"}[fault.effect]
    for pid, _ in node.world.pids() if node.world else []:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "-c" in words and any(wanted in word and ("lockf" in word or "held" in word) for word in words):
            os.kill(pid, signal.SIGKILL)


def _header(node: Node) -> str:
    kernels = sorted((node.root / "usr/src").glob("linux-headers-*-common"))
    return str(kernels[-1] / "include/linux/module.h")


def _misfit(fault: Fault) -> str:
    # The module's Makefile defines the name of its release, so that only this one meets a prototype it does not fit.
    define = "AMDGPU_RELEASE_" + fault.args["driver"].replace(".", "_")
    return (
        f"\n#ifdef {define}\nextern int drm_sched_entity_init(struct module *mod, int priority);\n"
        "static inline int kcl_sched_entity(struct module *mod) { return drm_sched_entity_init(mod); }\n#endif\n"
    )


def _begin_build_failure(node: Node, fault: Fault) -> None:
    with open(_header(node), "r+", encoding="utf-8") as file:
        if _misfit(fault) not in file.read():
            file.write(_misfit(fault))


def _end_build_failure(node: Node, fault: Fault) -> None:
    with open(_header(node), "r+", encoding="utf-8") as file:
        whole = file.read().replace(_misfit(fault), "")
        file.seek(0)
        file.truncate()
        file.write(whole)


_FILLER = "var/lib/core.7213"


def _begin_full(node: Node, fault: Fault) -> None:
    try:
        with open(node.root / _FILLER, "wb") as file:
            room = os.statvfs(node.root)
            os.posix_fallocate(
                file.fileno(), 0, max(1, room.f_bavail * room.f_frsize - int(fault.args["leave_kb"]) * 1024)
            )
    except OSError:
        pass


def _end_full(node: Node, fault: Fault) -> None:
    (node.root / _FILLER).unlink(missing_ok=True)


def _nothing(node: Node, fault: Fault) -> None:
    """Ends by itself."""


ACTS: dict[str, tuple[Callable[[Node, Fault], None], Callable[[Node, Fault], None]]] = {
    "unreachable": (lambda node, fault: _hold_sshd(node), lambda node, fault: _let_sshd(node)),
    "ssh_flaps": (_begin_flaps, lambda node, fault: _let_sshd(node)),
    "package_manager_locked": (_begin_lock, _end_python),
    "kfd_busy": (_begin_hold, _end_python),
    "dkms_build_fails": (_begin_build_failure, _end_build_failure),
    "disk_full": (_begin_full, _end_full),
}


def begin(node: Node, fault: Fault) -> None:
    """Let the fault act in the running node."""
    ACTS[fault.effect][0](node, fault)


def end(node: Node, fault: Fault) -> None:
    """Undo what the fault did."""
    ACTS[fault.effect][1](node, fault)
