"""Firefox, driven by Marionette: pages are opened, read, pictured and printed, as in Chromium.

The browser of the distribution's packages listens on a port of this machine (`--marionette`) for
JSON messages, each after its length: [0, number, command, parameters]; it answers
[1, number, error, result].
"""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.browser import PATIENCE, BrowserError

NAMES = ("firefox-esr", "firefox")
PREFERENCES = {
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "network.captive-portal-service.enabled": False,
    "app.update.disabledForTesting": True,
}


def find_firefox() -> str | None:
    """Return the path of a Firefox, or None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Firefox:
    """One headless Firefox with one page, ended when its `with` block ends."""

    def __init__(self) -> None:
        path = find_firefox()
        if path is None:
            raise BrowserError(f"none of {', '.join(NAMES)} is installed")
        self._profile = Path(tempfile.mkdtemp(prefix="firefox-"))
        with socket.socket() as free_socket:
            free_socket.bind(("127.0.0.1", 0))
            port = free_socket.getsockname()[1]
        preferences = PREFERENCES | {"marionette.port": port}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in preferences.items()]
        (self._profile / "user.js").write_text("\n".join(lines), "utf-8")
        self._process = subprocess.Popen(
            [path, "--headless", "--no-remote", "--marionette", "--profile", self._profile],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._profile)},
            start_new_session=True,
        )
        self._number = 0
        self._socket = self._connect(port)
        self._receive()  # a greeting
        self.call("WebDriver:NewSession")

    def _connect(self, port: int) -> socket.socket:
        """Return a connection, once the browser listens."""
        for _ in range(10 * PATIENCE):
            try:
                return socket.create_connection(("127.0.0.1", port), PATIENCE)
            except OSError:
                time.sleep(0.1)
        self.close()
        raise BrowserError(f"Firefox did not listen in {PATIENCE} seconds")

    def __enter__(self) -> "Firefox":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.close()

    def close(self) -> None:
        """End the browser, and what it started; remove its profile."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, command: str, **parameters: Any) -> Any:
        """Send one command and return its result."""
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, number, error, result = self._receive()
        assert number == self._number
        if error is not None:
            raise BrowserError(f"{command}: {error.get('message')}")
        return result

    def _receive(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._read(1)
        return json.loads(self._read(int(length[:-1])))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                raise BrowserError("Firefox ended")
            data += chunk
        return data

    @contextmanager
    def open(self, path: Path, *, size: tuple[int, int] = (1280, 900)) -> Iterator["Firefox"]:
        """Open a report in a frame of this size, wait until it has drawn everything, and yield.

        No window of Firefox is as narrow as a phone.
        """
        page = self._profile / "frame.html"
        width, height = size
        style = f"border: 0; width: {width}px; height: {height}px"
        page.write_text(f'<body style="margin: 0"><iframe style="{style}" src="{path.as_uri()}">')
        self.call("WebDriver:SetWindowRect", width=width + 100, height=height + 200)
        self.call("WebDriver:Navigate", url=page.as_uri() if width < 500 else path.as_uri())
        if width < 500:
            self.call("WebDriver:SwitchToFrame", id=0)
        for _ in range(10 * PATIENCE):
            if self.evaluate("document.documentElement.dataset.ready != null"):
                break
            time.sleep(0.1)
        yield self

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise, as JSON has it."""
        return self.call("WebDriver:ExecuteScript", script=f"return ({expression})", args=[])[
            "value"
        ]

    def read_all(self, selector: str, expression: str = "it.textContent") -> list[Any]:
        """Return an expression's value for each element (`it`) that a selector finds."""
        elements = f"[...document.querySelectorAll({json.dumps(selector)})]"
        values: list[Any] = self.evaluate(f"{elements}.map((it) => {expression})")
        return values

    def choose_option(self, selector: str, text: str) -> None:
        """Choose the option of a select whose text is this."""
        quoted_text = json.dumps(text)
        self.evaluate(
            f"((it) => {{ it.value = [...it.options].find((one) => one.text === {quoted_text})"
            '.value; it.dispatchEvent(new Event("change", {bubbles: true})); })'
            f"(document.querySelector({json.dumps(selector)}))"
        )
        # What depends on it is drawn one piece in each task.
        self.evaluate("new Promise((done) => setTimeout(() => requestIdleCallback(done), 500))")

    def screenshot(self, path: Path) -> None:
        """Write a picture (PNG) of the window."""
        data = self.call("WebDriver:TakeScreenshot", full=False)["value"]
        path.write_bytes(base64.b64decode(data))

    def print_pdf(self, path: Path) -> None:
        """Print the page on A4."""
        page = {"width": 21.0, "height": 29.7}
        data = self.call("WebDriver:Print", page=page, background=True)["value"]
        path.write_bytes(base64.b64decode(data))
