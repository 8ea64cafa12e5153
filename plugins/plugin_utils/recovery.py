# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller itself does about a node that is silent: knock at its port, run the site's recovery command."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.plugin_utils.diagnosis import Recovered

# The resets that may bring a silent host back through its BMC, in the order in which they are wanted. A host that hangs
# cannot be asked to shut down, and one that is off is switched on, so no others are here.
RESETS = ("ForceRestart", "PowerCycle", "ForceOff")
PLACE = "{node}"
KNOCK_SECONDS = 5.0
COMMAND_SECONDS = 300.0
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_JUMP = re.compile(r"ProxyJump|ProxyCommand|(?:^|\s)-J", re.IGNORECASE)
_SHOWN = 200
_SSH_OPTIONS = ("ssh_args", "ssh_common_args", "ssh_extra_args")

Noted = Callable[[str, Callable[[], Recovered]], Recovered]


def resets(policy: Mapping[str, Any]) -> Sequence[str]:
    """The resets that may be ordered of a BMC, the one that is wanted most first; ForceOff is followed by On."""
    return policy.get("reboot_recovery_reset") or RESETS


def own_boot_id(path: str = _BOOT_ID) -> str | None:
    """The boot id of this machine; None where it has none."""
    try:
        return Path(path).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def unshared(ssh_args: str | None) -> str:
    """The arguments of ssh for a connection that shares no socket with another one: of an option the first counts."""
    return f"-o ControlMaster=no -o ControlPath=none {ssh_args or ''}".strip()


def knock(connection: Any, name: str) -> bool | None:
    """Whether the SSH port that a connection goes to takes one from here; None for a connection that is none of SSH.

    :param name: where it goes if nothing says another host.
    """
    if connection.transport != "ssh":
        return None
    host, port, *words = (connection.get_option(key) for key in ("host", "port", *_SSH_OPTIONS))
    return port_answers(host or name, int(port or 22), words)


def port_answers(host: str, port: int, options: Iterable[str | None], seconds: float = KNOCK_SECONDS) -> bool | None:
    """Whether a TCP port takes a connection from here; None behind a jump host, where that says nothing.

    :param options: the options that ssh is called with, as texts.
    """
    if any(_JUMP.search(text or "") for text in options):
        return None
    try:
        with socket.create_connection((host, port), timeout=seconds):
            return True
    except OSError:
        return False


def chosen(
    policy: Mapping[str, Any], node: str, noted: Noted, by_bmc: Callable[[], Recovered]
) -> Callable[[], Recovered] | None:
    """What brings a silent node back by the policy, None where it says nothing of that.

    :param noted: does what it is given and writes it down: (kind, act).
    :param by_bmc: orders a reset of the node's BMC.
    """
    kind = policy.get("reboot_recovery", "none")
    ways = {"command": lambda: Recovered(run_command(policy["reboot_recovery_command"], node)), "bmc": by_bmc}
    return (lambda: noted(kind, ways[kind])) if kind in ways else None


def run_command(command: Sequence[str], node: str, seconds: float = COMMAND_SECONDS) -> str:
    """Run the site's command for a node, without a shell; an empty text where it ended with 0, else what went wrong.

    :param command: program and arguments, each with ``{node}`` for the node's name in the inventory.
    """
    argv = [word.replace(PLACE, node) for word in command]
    with tempfile.TemporaryFile() as output:
        try:
            # A session of its own: what the program started is ended with it.
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True)  # fmt: skip
        except OSError as error:
            return f"{argv[0]} cannot be run: {error.strerror}"
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{argv[0]} did not end within {seconds:.0f} s and was ended"
        return "" if status == 0 else f"{argv[0]} ended with status {status}: {_said(output)}"


def _said(output: IO[bytes]) -> str:
    output.seek(0)
    return masked(output.read().decode("utf-8", errors="replace").strip()[-_SHOWN:])
