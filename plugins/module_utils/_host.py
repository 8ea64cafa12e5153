# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The seam to the machine: everything that reads, writes or runs goes through a Host.

Collectors and planners take a Host, so a test hands them a recorded machine instead.
"""

from __future__ import annotations

import builtins
import errno
import os
import shutil
import stat
import subprocess
import tempfile
import time
from typing import Any, Callable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import (
    CommandFailed,
    TransactionFailed,
    Unreadable,
)

# A record of /dev/kmsg is given whole or not at all, and is never longer than this.
_CHUNK = 65536
_LAST_WORDS_SECONDS = 5.0


class Completed(NamedTuple):
    """The end of a program: ``rc`` is its exit status; both outputs are text."""

    rc: int
    out: str
    err: str


class Stat(NamedTuple):
    """Size in bytes, mode: the bits of the permissions, and the time of the last change in seconds since 1970."""

    size: int
    mode: int
    modified: float | None = None


class Host:
    """The machine this code runs on.

    Paths are absolute. Every reader raises :class:`Unreadable`, whose ``missing`` tells absent from unreadable.
    """

    def read(self, path: str) -> str:
        """Whole text of a file; undecodable bytes are replaced, nothing is stripped."""
        return self.read_bytes(path).decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes:
        """Whole content of a file."""
        try:
            # A node has a thousand small files: without Python's buffers each costs half.
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return b"".join(iter(lambda: os.read(handle, _CHUNK), b""))
            finally:
                os.close(handle)
        except OSError as error:
            raise _unreadable(path, error) from error

    def made(self, make: Callable[[Host], Any]) -> Any:
        """What ``make`` makes of this host; one that keeps what it has read keeps that as well."""
        return make(self)

    def read_again(self, path: str) -> str:
        """As :meth:`read`, of a file whose next reading may differ from the last one."""
        return self.read(path)

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset``, which counts from the end where it is negative."""
        try:
            # Unbuffered: of a device's registers no more is read than was asked for.
            with open(path, "rb", buffering=0) as handle:
                start = offset if offset >= 0 else max(0, os.fstat(handle.fileno()).st_size + offset)
                handle.seek(start)
                return handle.read(size)
        except OSError as error:
            raise _unreadable(path, error) from error

    def read_records(self, path: str, limit: int, seconds: float) -> bytes:
        """What a device such as /dev/kmsg holds now, or a file: at most about ``limit`` bytes, for at most ``seconds``.

        Records that the kernel overwrote while they were read are passed over.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise _unreadable(path, error) from error
        try:
            return _drain(handle, path, limit, time.monotonic() + seconds)
        finally:
            os.close(handle)

    def exists(self, path: str) -> bool:
        """True where the path is there (links are followed)."""
        return os.path.exists(path)

    def list(self, path: str) -> builtins.list[str]:
        """Sorted names in a folder."""
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise _unreadable(path, error) from error

    def readlink(self, path: str) -> str:
        """Text of a symbolic link, as stored."""
        try:
            return os.readlink(path)
        except OSError as error:
            raise _unreadable(path, error) from error

    def realpath(self, path: str) -> str:
        """The path with every link resolved."""
        return os.path.realpath(path)

    def stat(self, path: str) -> Stat:
        """Size and mode of a file (links are followed)."""
        try:
            seen = os.stat(path)
        except OSError as error:
            raise _unreadable(path, error) from error
        return Stat(seen.st_size, stat.S_IMODE(seen.st_mode), seen.st_mtime)

    def free_bytes(self, path: str) -> int:
        """Bytes a process of root may still write to the file system that holds the path."""
        try:
            seen = os.statvfs(path)
        except OSError as error:
            raise _unreadable(path, error) from error
        return seen.f_bavail * seen.f_frsize

    def run(
        self, argv: builtins.list[str], timeout: float = 60.0, stdin: str = "", env: dict[str, str] | None = None
    ) -> Completed:
        """Run a program to its end, in the C locale; a time-out and a missing program raise :class:`CommandFailed`."""
        environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": "C", **(env or {})}
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, text=True, errors="replace"
            )
        except OSError as error:
            raise CommandFailed(argv[0], f"cannot be started: {error.strerror}") from error
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            seen = f"no end after {timeout:.0f} s"
            raise CommandFailed(argv[0], seen, "an end", output=_given_up(process)) from error
        return Completed(process.returncode, out, err)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Replace a file as a whole, or not at all: a reader never sees half of it."""
        self.write_bytes(path, text.encode("utf-8"), mode)

    def write_bytes(self, path: str, content: bytes, mode: int | None = None) -> None:
        """As :meth:`write`, for content that need not be text, such as a keyring.

        :param mode: where there is none, owner and mode of the file that is replaced, or 0644.
        :raises TransactionFailed: disk_full, where there is no space left, and of unknown kind for another reason.
        """
        try:
            _replace(path, content, mode)
        except OSError as error:
            raise unwritable(path, error) from error

    def make_private_folder(self, path: str) -> None:
        """Make a folder that only its owner may enter; one that is there gets the mode as well."""
        os.makedirs(path, mode=0o700, exist_ok=True)
        os.chmod(path, 0o700)

    def write_in_place(self, path: str, text: str) -> None:
        """Write into a file of /proc or /sys, which cannot be replaced.

        :raises Unreadable: where the kernel does not take the value, or there is no such file.
        """
        try:
            handle = os.open(path, os.O_WRONLY)
            try:
                os.write(handle, text.encode("utf-8"))
            finally:
                os.close(handle)
        except OSError as error:
            raise _unreadable(path, error) from error

    def remove(self, path: str) -> None:
        """Remove a file; one that is not there is fine."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all that is in it; links in it are not followed, a folder that is not there is fine."""
        if os.path.isdir(path):
            shutil.rmtree(path)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def _given_up(process: subprocess.Popen[str]) -> str:
    """Kill a program and give what it had printed; one that a dead device holds cannot even be killed and is left."""
    process.kill()
    try:
        return process.communicate(timeout=_LAST_WORDS_SECONDS)[0] or ""
    except subprocess.TimeoutExpired:
        return ""


def _drain(handle: int, path: str, limit: int, end: float) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while size < limit and time.monotonic() < end:
        try:
            chunk = os.read(handle, _CHUNK)
        except BlockingIOError:
            break
        except BrokenPipeError:
            continue
        except OSError as error:
            raise _unreadable(path, error) from error
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _replace(path: str, content: bytes, mode: int | None) -> None:
    folder = os.path.dirname(path)
    earlier = os.stat(path) if mode is None and os.path.exists(path) else None
    os.makedirs(folder, mode=0o755, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".fleetops-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if earlier is not None:
            os.chown(temporary, earlier.st_uid, earlier.st_gid)
        os.chmod(temporary, mode or (stat.S_IMODE(earlier.st_mode) if earlier else 0o644))
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def unwritable(path: str, error: OSError) -> TransactionFailed:
    """The error for a file or folder that could not be written: disk_full, or unknown for another reason."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    seen = f"cannot be written: {error.strerror}"
    return TransactionFailed("disk_full" if full else "unknown", path, seen, "a file that can be written")


def _unreadable(path: str, error: OSError) -> Unreadable:
    reason = f"{type(error).__name__}: {error.strerror}"
    return Unreadable(path, reason, missing=isinstance(error, (FileNotFoundError, NotADirectoryError)))
