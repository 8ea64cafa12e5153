# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fleet's package mirror: plain HTTP over a directory, on a loopback address of its own."""

from __future__ import annotations

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from simfleet.errors import SimfleetError

PORT = 80


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(directory: Path, address: str) -> None:
    """Serve the directory from a thread of this process; raises SimfleetError when the address is taken."""
    handler = functools.partial(_Quiet, directory=str(directory))
    try:
        server = _Server((address, PORT), handler)
    except OSError as error:
        raise SimfleetError(
            f"mirror: {address}:{PORT} cannot be used ({error.strerror}); give the fleet another `base`"
        ) from error
    threading.Thread(target=server.serve_forever, daemon=True).start()
