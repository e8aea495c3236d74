"""Progress: how far a call has come; shown as a bar, or told to a function.

All that may take longer than a second says what it does, as a `stage`, or as the `steps` of a loop;
files say themselves how much of them is read. A verb takes `progress=` by `watched`; the command
line watches every command. Without either, nothing is counted.

Who watches is known to the context of the call (`contextvars`), as NumPy's `errstate` is: neither
another thread nor another call sees it, and no function hands it down.
"""

import contextlib
import functools
import html
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar, cast

from cranfield.errors import printable
from cranfield.options import Options, checked, option

Hear = Callable[[int], None]
ProgressLike = bool | Hear | None

_In = TypeVar("_In")
_Verb = TypeVar("_Verb", bound=Callable[..., Any])

AFTER = 1.0  # seconds, before which nothing is shown
_EVERY = 0.1  # seconds between two pictures
_LONGEST = 32  # characters of what is done; of a longer text, the end is shown
_WIDTH = 20  # of the bar


def _progress(value: Any) -> ProgressLike:
    if value is not None and not isinstance(value, bool) and not callable(value):
        raise ValueError("True, or a function to call with numbers of bytes")
    return cast(ProgressLike, value)


@dataclass(frozen=True, kw_only=True)
class Watching(Options):
    """Who is to know how far a call is."""

    progress: ProgressLike = option(
        None,
        "True shows what is done, how far it is and how long it still takes, from the second "
        "second on: on the standard error, if that is a terminal, or below the cell of a notebook. "
        "A function is called with a number of bytes whenever some of a file were read; it hears "
        "of nothing else.",
        _progress,
    )


class Sized(Protocol):
    """A file to be read."""

    name: str

    @property
    def size(self) -> int | None:
        """How many bytes it has, None where that is not known."""


class Stage:
    """Something that is done, and how much of it; called with how much more is done."""

    def __init__(self, watch: "Watch", what: str, total: int | None, unit: str) -> None:
        self.what = what
        self.total = total  # None: that is not known
        self.unit = unit
        self.done = 0
        self._watch = watch

    def __call__(self, n: int = 1) -> None:
        """Hear that so much more is done."""
        self.done += n
        self._watch.look()

    def share(self, of_next: float | None) -> float | None:
        """Return how much is done, 0 to 1; of the next step, `of_next` is. None: not known."""
        if not self.total:
            return None
        begun = of_next or 0.0 if self.unit == "steps" else 0.0
        return min(1.0, (self.done + begun) / self.total)


class Watch:
    """Who watches a call: a function that hears of bytes, or a bar."""

    def __init__(self, hear: Hear | None = None, *, shows: bool = False) -> None:
        self.hear = hear
        self.stages: list[Stage] = []  # the outermost first
        self._shows = shows
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._since = 0.0  # when the stage began that is the outermost now
        self._next: float | None = None  # when the next picture may be shown; None: never yet

    def begin(self, what: str, total: int | None, unit: str) -> Stage:
        """Return a stage that begins now, within those that have not ended."""
        if not self.stages:
            self._since = monotonic()
            self._next = self._since + AFTER if self._next is None else self._next
        self.stages.append(stage := Stage(self, what, total, unit))
        self.look()
        return stage

    def end(self, stage: Stage) -> None:
        """Hear that a stage has ended; with the last of them the bar goes, for what is printed."""
        self.stages.remove(stage)
        if not self.stages:
            self.close()

    def look(self) -> None:
        """Show how far it is, if it is time to."""
        if not (self._shows and self.stages) or self._next is None:
            return
        if (now := monotonic()) < self._next:
            return
        self._next = now + _EVERY
        if self._bar is None:
            self._bar = bar_here()
        if self._bar is None:  # there is nowhere to show it
            self._shows = False
            return
        share: float | None = None
        for stage in reversed(self.stages):
            share = stage.share(share)
        # Not files that are not read: rows of a bucket come from a file of their own.
        shown = (one for one in reversed(self.stages) if one.done or one.unit != "bytes")
        now_done = next(shown, self.stages[-1])
        left = (now - self._since) * (1 - share) / share if share else None
        self._bar.draw(now_done.what, share, (now_done.done, now_done.unit), left)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


_WATCH: ContextVar[Watch | None] = ContextVar("_WATCH", default=None)


def looked_at() -> Callable[[], None] | None:
    """Return what to call now and then while one waits; None if nobody watches."""
    watch = _WATCH.get()
    return None if watch is None else watch.look


def _unheard(n: int = 1) -> None:
    """Hear of nothing: nobody watches."""


@contextlib.contextmanager
def stage(
    what: str, total: int | None = None, unit: str = "steps"
) -> Iterator[Callable[..., None]]:
    """Say that something is done in the block, as "flips"; call what it gives with each part done.

    `total` is how many there are in all, None where that is not known. `unit` is what is counted:
    "bytes", "flips", ...; a stage of "steps" may have other stages within each step, and is then
    as far as these are.

    >>> with stage("flips", 100, "flips") as done:
    ...     done(50)
    """
    watch = _WATCH.get()
    if watch is None:
        yield _unheard
        return
    begun = watch.begin(what, total, unit)
    try:
        yield begun
    finally:
        watch.end(begun)


def steps(items: Iterable[_In], what: str, total: int | None = None) -> Iterable[_In]:
    """Return the items, each of which is a step of what is done, to be looped over at once.

    >>> [*steps("abc", "letters")]
    ['a', 'b', 'c']
    """
    return items if _WATCH.get() is None else _steps(items, what, total)


def _steps(items: Iterable[_In], what: str, total: int | None) -> Iterator[_In]:
    n = getattr(items, "__len__", lambda: None)() if total is None else total
    with stage(what, n) as done:
        for item in items:
            yield item
            done()


def parts(slices: Iterable[slice], what: str, n: int) -> Iterator[slice]:
    """Yield slices of 0 to n, which are the parts in which something is done n times.

    >>> [*parts([slice(0, 8), slice(8, 10)], "resamples", 10)]
    [slice(0, 8, None), slice(8, 10, None)]
    """
    with stage(what, n, what) as done:
        for some in slices:
            yield some
            done(some.stop - some.start)


@contextlib.contextmanager
def reading(source: Sized) -> Iterator[Hear | None]:
    """Say that a file is read; give what hears of its bytes, None if nobody watches.

    Where the files of a stage of "bytes" are read, it is a part of that.
    """
    watch = _WATCH.get()
    if watch is None:
        yield None
        return
    what = f"reading {source.name.rpartition('/')[2]}"
    within = watch.stages[-1] if watch.stages and watch.stages[-1].unit == "bytes" else None
    stage = within or watch.begin(what, source.size, "bytes")
    stage.what = what

    def heard(n: int) -> None:
        if watch.hear is not None:
            watch.hear(n)
        stage(n)

    try:
        yield heard
    finally:
        if stage is not within:
            watch.end(stage)


@contextlib.contextmanager
def of_files(sources: Sequence[Sized]) -> Iterator[None]:
    """Say that some files are read in the block, one after the other."""
    if _WATCH.get() is None or not sources:
        yield
        return
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with stage("reading", total, "bytes"):
        yield


@contextlib.contextmanager
def watching(progress: ProgressLike) -> Iterator[None]:
    """Have the calls in the block watched as `progress=` says; None and False change nothing."""
    asked = checked("progress", progress, _progress)
    if asked is None or asked is False:
        yield
        return
    watch = Watch(shows=True) if asked is True else Watch(asked)
    before = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(before)
        watch.close()


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Let nobody know of the block: of a look at what is read in full, too."""
    before = _WATCH.set(None)
    try:
        yield
    finally:
        _WATCH.reset(before)


def watched(verb: _Verb) -> _Verb:
    """Have a verb take `progress=`; see `Watching`, which `takes` names in its signature."""

    @functools.wraps(verb)
    def with_progress(*args: Any, progress: ProgressLike = None, **how: Any) -> Any:
        if progress is None:  # as most often
            return verb(*args, **how)
        with watching(progress):
            return verb(*args, **how)

    return cast(_Verb, with_progress)


# ---- bars: a line of a terminal, or what is below a notebook's cell


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


class _TerminalBar:
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
        """Show what is done; its share, 0 to 1, and the seconds left, None where not known."""
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


class _NotebookBar:
    """A bar below the cell of a notebook, which is changed in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(
        self, what: str, share: float | None, done: tuple[int, str], left: float | None
    ) -> None:
        """Show the same as a line of a terminal."""
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


def bar_here() -> _TerminalBar | _NotebookBar | None:
    """Return a bar for where this process runs: a notebook, or a terminal; None for neither."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _NotebookBar()
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    return _TerminalBar()
