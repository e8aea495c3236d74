"""Chromium, driven over a pipe: pages are opened, read, clicked and looked at as a reader would.

The browser of the distribution's packages speaks its DevTools protocol over two file descriptors
(`--remote-debugging-pipe`): a JSON message each, ended by a NUL. So no library is needed, and no
port is opened.
"""

import base64
import json
import os
import select
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"),
)
PATIENCE = 120  # seconds, after which the browser is taken to answer never

# What is told of a page from its first moment on: long tasks, refusals by the policy, first paint.
WATCH = """
globalThis.watched = {tasks: [], refused: [], ready: null};
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) watched.tasks.push([one.startTime, one.duration]);
}).observe({type: "longtask", buffered: true});
addEventListener("securitypolicyviolation", (event) =>
  watched.refused.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`), true);
new MutationObserver((_, observer) => {
  if (document.documentElement?.dataset.ready == null) return;
  watched.ready = performance.now();
  observer.disconnect();
}).observe(document, {subtree: true, attributes: true, attributeFilter: ["data-ready"]});
"""

# name: (code, number, text)
KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    " ": ("Space", 32, " "),
    "Escape": ("Escape", 27, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}


class BrowserError(AssertionError):
    """The browser refused, or did not answer in time; or a script that it ran failed."""


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One headless Chromium, ended when its `with` block ends."""

    def __init__(self) -> None:
        path = find_chromium()
        if path is None:
            raise BrowserError(f"none of {', '.join(NAMES)} is installed")
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        command = [path, *SWITCHES, f"--user-data-dir={self._profile}", "about:blank"]
        # The child's ends are moved away from 3 and 4 first, which the child has them as.
        read, self._write = _pipe(child=0)
        self._read, write = _pipe(child=1)
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        descriptor_pairs = [(read, 3), (write, 4), (nowhere, 0), (nowhere, 1), (nowhere, 2)]
        moves = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in descriptor_pairs]
        environment = {**os.environ, "HOME": self._profile}
        try:
            self._process = os.posix_spawn(
                path, command, environment, file_actions=moves, setpgroup=0
            )
        finally:
            for end in (read, write, nowhere):
                os.close(end)
        self._unread = b""
        self._message_number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, and what it started; remove its profile."""
        with suppress(BrowserError, OSError):  # it is ended below
            self.call("Browser.close")
        timer = threading.Timer(PATIENCE, os.kill, (self._process, signal.SIGKILL))
        timer.start()
        os.waitpid(self._process, 0)
        timer.cancel()
        with suppress(ProcessLookupError):  # its children, which may still write their profile
            os.killpg(self._process, signal.SIGKILL)
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Send one message and return the browser's answer; pages get the events before it."""
        self._message_number += 1
        number = self._message_number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        _send(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            page = self._pages.get(answer.get("sessionId", ""))
            if page is not None and "method" in answer:
                page._handle_event(answer["method"], answer["params"])

    def _receive(self, method: str) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise BrowserError(f"{method}: no answer in {PATIENCE} seconds")
            self._unread += chunk
        line, self._unread = self._unread.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    @contextmanager
    def open(
        self,
        path: Path | str,
        *,
        fragment: str = "",
        size: tuple[int, int] = (1280, 900),
        script: bool = True,
        ready: bool = True,
        **media: str,
    ) -> Iterator["Page"]:
        """Open a file in a tab of its own, with storage of its own, and close it at the end.

        Args:
            path: the file, or an address.
            fragment: what follows `#` in the address.
            size: of the window, in pixels of the page.
            script: whether the page's scripts run.
            ready: wait until the page says that it has drawn everything.
            media: what `Page.media` takes.

        """
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        target_id = target["targetId"]
        session = self.call("Target.attachToTarget", targetId=target_id, flatten=True)["sessionId"]
        page = Page(self, session)
        self._pages[session] = page
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            page.call("Emulation.setScriptExecutionDisabled", value=not script)
            page.resize(*size)
            page.emulate_media(**media)
            page.load(path, fragment)
            if script and ready:
                page.wait_ready()
            yield page
        finally:
            del self._pages[session]
            self.call("Target.disposeBrowserContext", browserContextId=context)


class Page:
    """One open page: what it says, asks for and shows.

    Attributes:
        messages: what came to the console: messages, errors, refusals.
        requests: addresses that it asked for, beside its own.

    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._is_loaded = False
        self._address = ""
        self.messages: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, **parameters: Any) -> Any:
        """Send one message of the protocol for this page and return the browser's answer."""
        return self._browser.call(method, self._session, **parameters)

    def _handle_event(self, method: str, event: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            words = [
                str(argument.get("value", argument.get("description")))
                for argument in event["args"]
            ]
            self.messages.append(f"{event['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            exception = event["exceptionDetails"]
            self.messages.append(
                f"thrown: {exception.get('exception', exception).get('description')}"
            )
        elif method == "Log.entryAdded":
            self.messages.append(f"{event['entry']['level']}: {event['entry']['text']}")
        elif method == "Page.javascriptDialogOpening":
            self.messages.append(f"dialog: {event['message']}")
        elif method == "Network.requestWillBeSent":
            url = event["request"]["url"]
            if url.split("#")[0] != self._address and not url.startswith("data:"):
                self.requests.append(url)
        elif method == "Page.loadEventFired":
            self._is_loaded = True

    def load(self, path: Path | str, fragment: str = "") -> None:
        """Load a file or an address, again where it is the one that is shown."""
        self._address = path.resolve().as_uri() if isinstance(path, Path) else path
        self._is_loaded = False
        self.call("Page.navigate", url=self._address + (f"#{fragment}" if fragment else ""))
        self._wait_until(lambda: self._is_loaded, "the page was not loaded")

    def wait_ready(self) -> None:
        """Wait until the page says that it has drawn everything."""
        self.wait_for("document.documentElement.dataset.ready != null")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        self._wait_until(lambda: self.evaluate(f"Boolean({condition})"), f"never true: {condition}")

    def _wait_until(self, condition: Any, failure_message: str) -> None:
        for _ in range(100 * PATIENCE):
            if condition():
                return
            self.call("Runtime.getIsolateId")  # so that what has happened is heard
            time.sleep(0.01)
        raise BrowserError("; ".join([failure_message, *self.messages]))

    def settle(self) -> None:
        """Wait until two frames were drawn and the page has been idle once."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
            " requestIdleCallback(() => done(true), {timeout: 60000}))))"
        )

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise, as JSON has it."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            exception = answer["exceptionDetails"]
            raise BrowserError(
                exception.get("exception", exception).get("description", str(exception))
            )
        return answer["result"].get("value")

    def read_all(self, selector: str, expression: str = "it.textContent") -> list[Any]:
        """Return an expression's value for each element (`it`) that a selector finds."""
        elements = f"[...document.querySelectorAll({json.dumps(selector)})]"
        values: list[Any] = self.evaluate(f"{elements}.map((it) => {expression})")
        return values

    def read_first(self, selector: str, expression: str = "it.textContent") -> Any:
        """Return an expression's value for the first element (`it`) that a selector finds."""
        element = f"document.querySelector({json.dumps(selector)})"
        if self.evaluate(f"{element} == null"):
            raise BrowserError(f"there is no {selector}")
        return self.evaluate(f"((it) => {expression})({element})")

    def click(self, selector: str) -> None:
        """Click the middle of the first element that a selector finds, as a mouse does."""
        x, y = self._find_middle(selector)
        for event_type in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if event_type == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=event_type, x=x, y=y, **button)
        self.settle()

    def hover(self, selector: str) -> None:
        """Move the pointer to the middle of the first element that a selector finds."""
        x, y = self._find_middle(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def _find_middle(self, selector: str) -> tuple[float, float]:
        self.read_first(selector, 'it.scrollIntoView({block: "center", behavior: "instant"})')
        self.settle()
        x, y, width, height = self.read_first(
            selector, "((at) => [at.x, at.y, at.width, at.height])(it.getBoundingClientRect())"
        )
        return x + width / 2, y + height / 2

    def focus(self, selector: str) -> None:
        self.read_first(selector, "it.focus()")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, where the focus is."""
        for key in keys:
            code, number, text = KEYS[key]
            facts = {"key": key, "code": code, "windowsVirtualKeyCode": number}
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **facts)
            self.call("Input.dispatchKeyEvent", type="keyUp", **facts)
        self.settle()

    def type(self, text: str) -> None:
        """Write a text where the focus is."""
        self.call("Input.insertText", text=text)
        self.settle()

    def choose_option(self, selector: str, value: str) -> None:
        """Choose the option of a select whose value, or whose text, is this."""
        quoted_value = json.dumps(value)
        self.read_first(
            selector,
            f"(it.value = [...it.options].find((one) => one.value === {quoted_value}"
            f" || one.text === {quoted_value}).value,"
            ' it.dispatchEvent(new Event("change", {bubbles: true})))',
        )
        self.settle()

    def emulate_media(self, kind: str = "", **features: str) -> None:
        """Show the page as on paper (kind="print"), or with features of media.

        `scheme="dark"`, `motion="reduce"`, `forced="active"`, `contrast="more"`.
        """
        names = {
            "scheme": "prefers-color-scheme",
            "motion": "prefers-reduced-motion",
            "forced": "forced-colors",
            "contrast": "prefers-contrast",
        }
        media_features = [{"name": names[name], "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=kind, features=media_features)

    def emulate_vision(self, deficiency: str) -> None:
        """Show the page as with a deficiency of vision: "deuteranopia", "achromatopsia", ..."""
        self.call("Emulation.setEmulatedVisionDeficiency", type=deficiency)

    def resize(self, width: int, height: int) -> None:
        """Make the window this large, in pixels of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path: Path, *, full_page: bool = False) -> None:
        """Write a picture (PNG) of the window, or of the full page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=full_page)["data"]
        path.write_bytes(base64.b64decode(data))

    def print_pdf(self, path: Path) -> None:
        """Print the page on A4."""
        data = self.call(
            "Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69
        )["data"]
        path.write_bytes(base64.b64decode(data))

    def list_refusals(self) -> list[str]:
        """Return the refusals by the page's policy, a text each."""
        refusals: list[str] = self.evaluate("watched.refused")
        return refusals

    def long_tasks(self) -> list[float]:
        """Return how long each task of more than 50 ms took, in ms, and forget them."""
        self.settle()
        tasks = self.evaluate("watched.tasks.splice(0)")
        return [duration for _, duration in tasks]


def _pipe(child: int) -> tuple[int, int]:
    """Return a pipe's ends for reading and writing; the child's one is 10 or above."""
    ends = list(os.pipe())
    new_descriptor = fcntl(ends[child], F_DUPFD_CLOEXEC, 10)
    os.close(ends[child])
    ends[child] = new_descriptor
    return ends[0], ends[1]


def _send(descriptor: int, message: bytes) -> None:
    unwritten_bytes = memoryview(message)
    while unwritten_bytes:
        unwritten_bytes = unwritten_bytes[os.write(descriptor, unwritten_bytes) :]
