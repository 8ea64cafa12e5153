# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One BMC, one work at a time: whoever changes something waits for its turn at a lock below the fleet directory.

The lock is held by the address, for one BMC may serve several nodes. The kernel gives it back with the process that
held it, however that one ended, so that nothing has to be cleaned up.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError

_POLL = 0.5
_HTTPS = 443


def folder(here: Mapping[str, Any] | None, fleet_dir: str) -> str:
    """The fleet directory: that of the rollout, the fact fleet_rollout, where there is one."""
    directory = (here or {}).get("dir")
    return os.path.dirname(os.path.dirname(directory)) if directory else fleet_dir


def lock_path(fleet_dir: str, address: str) -> str:
    """Where the lock of a BMC is, however its address is written."""
    parts = urlsplit(address if "://" in address else f"https://{address}")
    place = parts.netloc.lower().removesuffix(f":{_HTTPS}")
    return os.path.join(fleet_dir, "bmc-locks", re.sub(r"[^a-z0-9.-]", "_", place))


@contextlib.contextmanager
def turn(
    fleet_dir: str,
    address: str,
    who: Mapping[str, Any],
    seconds: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Iterator[None]:
    """Hold the lock of a BMC, once it is free.

    :param who: what others are told of us while we hold it: ``who``, ``host``, ``pid``, ``what`` and ``since``.
    :param seconds: so long it is waited for.
    :raises BmcError: bmc_busy: another one holds it still. no_lock: it cannot be made.
    """
    path, end = lock_path(fleet_dir, address), clock() + seconds
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        stream = open(path, "a+b")  # noqa: SIM115
    except OSError as problem:
        raise _no_lock(path, problem) from problem
    with stream:
        while not _taken(stream, path):
            if clock() > end:
                seen = f"{_holder(stream)} is at work with it, and was waited for {seconds:.0f} s"
                fix = "wait for it, or see whether it hangs; the lock goes with the process, and is not to be deleted"
                raise BmcError("bmc_busy", f"BMC {address}", seen, "a BMC that nobody else is changing", fix)
            sleep(_POLL)
        stream.truncate(0)
        stream.write(json.dumps(dict(who)).encode())
        stream.flush()
        yield


def _taken(stream: Any, path: str) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        raise _no_lock(path, problem) from problem
    return True


def _holder(stream: Any) -> str:
    """Who holds the lock, by its own words."""
    stream.seek(0)
    try:
        told = json.loads(stream.read())
        return f"{told['what']} by {told['who']} on {told['host']} (process {told['pid']}, since {told['since']})"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"


def _no_lock(path: str, problem: OSError) -> BmcError:
    return BmcError(
        "no_lock",
        path,
        f"cannot be locked: {problem.strerror}",
        "a fleet directory where files can be locked",
        "see who owns it, and df; or give fleet_dir",
    )
