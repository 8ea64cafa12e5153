# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Questions and answers as lines of JSON over a socket in a directory, however long the directory's path is."""

from __future__ import annotations

import json
import os
import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simfleet.errors import SimfleetError

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def listen(folder: Path) -> socket.socket:
    """Listen at `folder`/control; bound through /proc, for a path may be longer than a socket's."""
    server = socket.socket(socket.AF_UNIX)
    (folder / "control").unlink(missing_ok=True)
    place = os.open(folder, os.O_PATH)
    server.bind(f"/proc/self/fd/{place}/control")
    os.close(place)
    server.listen(64)
    return server


def talk(link: socket.socket, answer: Answer) -> None:
    """Answer the one question of a connection; what goes wrong is answered with `error`."""
    with link:
        try:
            said = answer(json.loads(link.makefile().readline()))
        except SimfleetError as error:
            said = {"error": str(error)}
        except Exception as error:  # the fleet must outlive a bad request; the log has the details
            traceback.print_exc()
            said = {"error": f"{type(error).__name__}: {error}"}
        try:
            link.sendall(json.dumps(said).encode() + b"\n")
        except OSError:  # whoever asked has gone
            return


def serve(server: socket.socket, answer: Answer, over: threading.Event | None = None) -> None:
    """Answer questions, each in a thread, until `over` is set."""
    server.settimeout(0.2 if over else None)
    while over is None or not over.is_set():
        try:
            link, _ = server.accept()
        except TimeoutError:
            continue
        link.settimeout(None)
        threading.Thread(target=talk, args=(link, answer), daemon=True).start()


def ask(folder: Path, request: dict[str, Any], whom: str) -> dict[str, Any]:
    """Ask who listens in `folder`; raises SimfleetError with its words when it refuses, or when it is not there."""
    with socket.socket(socket.AF_UNIX) as link:
        place = os.open(folder, os.O_PATH)
        try:
            link.connect(f"/proc/self/fd/{place}/control")
            link.sendall(json.dumps(request).encode() + b"\n")
            line = link.makefile().readline()
        except OSError as error:
            raise SimfleetError(f"{whom} does not answer: {error.strerror}") from error
        finally:
            os.close(place)
    answer: dict[str, Any] = json.loads(line) if line else {"error": f"{whom} went away"}
    if answer.get("error"):
        raise SimfleetError(answer["error"])
    return answer
