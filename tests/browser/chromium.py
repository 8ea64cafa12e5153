# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, spoken to through its debugging pipe: no driver, no port and nothing from PyPI."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--force-color-profile=srgb", "--no-proxy-server",
)  # fmt: skip
PATIENCE = 60.0


def find_chromium() -> str | None:
    """The program, or None where there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser died, does not answer, or says that a command failed."""


class Chromium:
    """One browser with one page. Use it as a context manager."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._commands = os.pipe()
        self._answers, to_write = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={folder / 'profile'}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # The pipe is descriptors 3 and 4 of the browser.
        wiring = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._log = open(folder / "chromium.log", "wb")  # noqa: SIM115 (closed with the browser)
        self._process = subprocess.Popen(
            ["bash", "-c", wiring, "bash", program, *flags, "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._answers, selectors.EVENT_READ)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *reason: object) -> None:
        self._session = ""
        with suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for descriptor in (self._commands, self._answers):
            os.close(descriptor)
        self._selector.close()
        self._log.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol and its result.

        :raises BrowserError: where it fails, or no answer comes.
        """
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            told["sessionId"] = self._session
        os.write(self._commands, json.dumps(told).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            message = self._message(end, method)
            if message.get("id") == self._number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def _message(self, end: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not self._selector.select(max(0.0, end - time.monotonic())):
                raise BrowserError(f"{waiting_for}: no answer within {PATIENCE:.0f} s")
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise BrowserError(f"{waiting_for}: the browser has ended; see chromium.log")
            self._buffer += read
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path: Path, ready: str = "document.readyState === 'complete'", fragment: str = "") -> None:
        """Load a file from disk and wait until an expression holds in it."""
        self.send("Page.navigate", url="about:blank")
        self.until("location.protocol === 'about:'")
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri() + fragment)
        self.until(f"location.protocol === 'file:' && document.documentElement !== null && ({ready})")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of the page.

        :raises BrowserError: with the page's own error.
        """
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise BrowserError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until an expression is true; its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            if time.monotonic() > end:
                raise BrowserError(f"not true within {PATIENCE:.0f} s: {expression}")
            time.sleep(0.02)
        return value

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press and release a key, by its DOM name (2 of ``modifiers`` is Ctrl)."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      modifiers=modifiers, windowsVirtualKeyCode=KEY_CODES.get(key, 0))  # fmt: skip

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def look(self, path: Path, scheme: str = "light", width: int = 1600, height: int = 1000) -> bytes:
        """A screenshot in a colour scheme; the PNG is written to ``path`` too."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.prefer(scheme)
        image = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        return image

    def prefer(self, scheme: str) -> None:
        """Set what the system prefers: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def told(self, method: str, where: Callable[[dict[str, Any]], bool] = lambda event: True) -> list[dict[str, Any]]:
        """The events of a kind since the page was opened."""
        self.evaluate("0")
        return [e["params"] for e in self.events if e.get("method") == method and where(e["params"])]


KEY_CODES = {
    "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9,
}  # fmt: skip
