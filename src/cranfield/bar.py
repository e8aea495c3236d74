"""Bar: a line that shows how far something is: of a terminal, or below a notebook's cell."""

import html
import os
import sys
from typing import Any, Protocol

from cranfield.errors import printable

_LONGEST = 32  # characters of what is done; of a longer text, the end is shown
_WIDTH = 20  # of the bar


class Bar(Protocol):
    """Shows how far something is, in one place, until it is closed."""

    def draw(
        self, what: str, share: float | None, done: tuple[int, str], left: float | None
    ) -> None:
        """Show what is done; its share, 0 to 1, and the seconds left, None where not known."""

    def close(self) -> None:
        """Leave nothing of it behind."""


def bar_here() -> Bar | None:
    """Return a bar for where this process runs: a notebook, or a terminal; None for neither."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _Cell()
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    return _Line()


def _in_words(what: str) -> str:
    text = printable(what)
    return text if len(text) <= _LONGEST else f"\N{HORIZONTAL ELLIPSIS}{text[1 - _LONGEST :]}"


def _how_far(share: float | None, done: tuple[int, str], left: float | None) -> str:
    """Return how far it is, and how long it still takes: "45 %, 0:12 left"."""
    n, unit = done
    if share is None:
        return f"{n / 1e6:,.0f} MB" if unit == "bytes" else f"{n:,} {unit}"
    if left is None:
        return f"{share:.0%}"
    minutes, seconds = divmod(round(left), 60)
    clock = f"{minutes}:{seconds:02}"
    if minutes >= 60:
        clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return f"{share:.0%}, {clock} left"


class _Line:
    """A line of a terminal, on the standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._lines = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(_WIDTH),
            TextColumn("{task.fields[far]}", markup=False),
            console=Console(stderr=True),
            auto_refresh=False,  # which would take a thread
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._lines.add_task("", total=None, far="")

    def draw(
        self, what: str, share: float | None, done: tuple[int, str], left: float | None
    ) -> None:
        """Show it in the place of what was there."""
        self._lines.update(
            self._task,
            description=_in_words(what),
            total=None if share is None else 1.0,
            completed=share or 0.0,
            far=_how_far(share, done, left),
        )
        if self._lines.live.is_started:
            self._lines.refresh()
        else:
            self._lines.start()

    def close(self) -> None:
        """Erase the line."""
        self._lines.stop()


class _Cell:
    """A bar below the cell of a notebook, which is changed in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(
        self, what: str, share: float | None, done: tuple[int, str], left: float | None
    ) -> None:
        """Show it in the place of what was there."""
        words, far = html.escape(_in_words(what)), html.escape(_how_far(share, done, left))
        value = "" if share is None else f' value="{share:.3f}"'
        self._show(f"{words} <progress{value}></progress> {far}", f"{_in_words(what)} {far}")

    def close(self) -> None:
        """Leave an empty place."""
        self._show("", "")

    def _show(self, page: str, text: str) -> None:
        bundle = {"text/html": page, "text/plain": text}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
