# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sockets of many BMCs in one process: each its own address, closed while its BMC is away."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from simfleet.bmc.machine import Bmc
from simfleet.bmc.messages import Request
from simfleet.bmc.routes import answer
from simfleet.errors import SimfleetError

QUIET_SECONDS = 60


class _Handler(BaseHTTPRequestHandler):
    """One connection; `server` is the Door it came through."""

    protocol_version = "HTTP/1.1"
    server: Door  # type: ignore[assignment]
    timeout = QUIET_SECONDS
    wbufsize = -1

    def log_message(self, format: str, *args: object) -> None:
        return

    def _one(self) -> None:
        split = urlsplit(self.path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        length = int(headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it died at it
            self.close_connection = True
            return
        bmc = self.server.bmc
        request = Request(self.command, unquote(split.path), dict(parse_qsl(split.query)), headers, body)
        if bmc.spec.latency:
            time.sleep(bmc.spec.latency)
        if not bmc.reachable or self.server.watch(request, "seen"):
            self.close_connection = True
            return
        response = answer(bmc, request)
        if self.server.watch(request, "done") or response.drop:
            self.close_connection = True
            return
        data = response.data()
        self.send_response(response.status)
        if data:
            self.send_header("Content-Type", response.headers.pop("Content-Type", "application/json; charset=utf-8"))
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = do_PUT = _one


class Door:
    """The address of one BMC.

    `watch` is told of each request before it is carried out ("seen") and before it is answered ("done"); where it is
    true, the request goes no further.
    """

    def __init__(self, bmc: Bmc, address: str, port: int) -> None:
        self.bmc, self.address, self.port = bmc, address, port
        self.socket: socket.socket | None = None
        self.links: set[socket.socket] = set()
        self.watch: Callable[[Request, str], bool] = lambda request, moment: False
        self.lock = threading.Lock()

    def open(self) -> socket.socket:
        """Listen; raises SimfleetError when the address is taken."""
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((self.address, self.port))
        except OSError as error:
            raise SimfleetError(f"BMC: {self.address}:{self.port} cannot be used ({error.strerror})") from error
        server.listen(64)
        server.setblocking(False)
        self.port, self.socket = server.getsockname()[1], server
        return server

    def cut(self) -> None:
        """End all connections, as a BMC that goes down does."""
        with self.lock:
            for link in self.links:
                try:
                    link.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def serve(self, raw: socket.socket, context: ssl.SSLContext) -> None:
        """Answer one connection to its end."""
        raw.settimeout(QUIET_SECONDS)
        with self.lock:
            self.links.add(raw)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(raw, server_side=True) as link:
                with self.lock:
                    self.links.add(link)
                try:
                    _Handler(link, (self.address, 0), self)  # type: ignore[arg-type]
                finally:
                    with self.lock:
                        self.links.discard(link)
        except (OSError, ValueError):  # the client went away, or does not trust us: its own matter
            pass
        finally:
            with self.lock:
                self.links.discard(raw)
            raw.close()


class Wire:
    """All doors of a process, and the thread that takes connections."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self.doors: dict[str, Door] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._selector.register(self._wake_out, selectors.EVENT_READ, None)
        self._todo: list[tuple[str, Door, threading.Event]] = []
        self._lock = threading.Lock()

    def add(self, bmc: Bmc, address: str, port: int) -> Door:
        """Open a door for a BMC; it follows the BMC's restarts. Port 0 takes any."""
        door = Door(bmc, address, port)
        self.doors[bmc.spec.node] = door
        self._selector.register(door.open(), selectors.EVENT_READ, door)
        bmc.on_change = self._changed
        return door

    def _changed(self, bmc: Bmc) -> None:
        done = threading.Event()
        with self._lock:
            self._todo.append(("open" if bmc.reachable else "close", self.doors[bmc.spec.node], done))
        self._wake_in.send(b".")
        done.wait(5)

    def start(self) -> None:
        """Take connections from now on, in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._wake_out.recv(4096)
                    self._do()
                else:
                    self._take(key.fileobj, key.data)

    def _do(self) -> None:
        with self._lock:
            todo, self._todo = self._todo, []
        for what, door, done in todo:
            if what == "close" and door.socket is not None:
                self._selector.unregister(door.socket)
                door.socket.close()
                door.socket = None
                door.cut()
            elif what == "open" and door.socket is None:
                self._selector.register(door.open(), selectors.EVENT_READ, door)
            done.set()

    def _take(self, server: Any, door: Door) -> None:
        try:
            raw, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=door.serve, args=(raw, self.context), daemon=True).start()
