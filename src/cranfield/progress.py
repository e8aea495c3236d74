"""Progress: how far a call has come; shown as a bar, or told to a function.

Work that may take longer than a second is a `stage`, or a loop over `watch_steps`; files report the
bytes that are read. A verb takes `progress=` by `add_progress`; the command line watches every
command. Without either, nothing is counted.

The watch is kept in the context of the call (`contextvars`), as NumPy's `errstate` is: neither
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
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from cranfield.errors import escape_unprintable
from cranfield.options import Options, check_option, option

ByteListener = Callable[[int], None]
ProgressLike = bool | ByteListener | None

_In = TypeVar("_In")
_Verb = TypeVar("_Verb", bound=Callable[..., Any])

SHOW_AFTER = 1.0  # seconds before a bar is shown
_REDRAW_INTERVAL = 0.1  # seconds between two drawings of the bar
_MAX_ACTIVITY_LENGTH = 32  # characters of an activity; of a longer text, the end is shown
_WIDTH = 20  # characters of the bar


def _check_progress(value: Any) -> ProgressLike:
    if value is not None and not isinstance(value, bool) and not callable(value):
        raise ValueError("True, or a function to call with numbers of bytes")
    return cast(ProgressLike, value)


@dataclass(frozen=True, kw_only=True)
class Watching(Options):
    """The option of a verb to report its progress."""

    progress: ProgressLike = option(
        None,
        "True shows what is done, how far it is and how long it still takes, from the second "
        "second on: on the standard error, if that is a terminal, or below the cell of a notebook. "
        "A function is called with a number of bytes whenever some of a file were read; it hears "
        "of nothing else.",
        _check_progress,
    )


class SizedFile(Protocol):
    """A file to be read."""

    name: str

    @property
    def size(self) -> int | None:
        """How many bytes it has, None where that is not known."""


class Stage:
    """An activity, and how much of it is done; called with the number of further units done."""

    def __init__(self, watch: "Watch", activity: str, total: int | None, unit: str) -> None:
        self.activity = activity
        self.total = total  # None: not known
        self.unit = unit
        self.n_done = 0
        self.worked_share = 1.0  # of the units done, the share with which all work is done
        self.n_inner = 0  # stages that have ended within the step, if these are steps
        self._n_usual: int | None = None  # stages within the step before
        self._watch = watch

    def __call__(self, n: int = 1) -> None:
        """Count n more units as done."""
        self.n_done += n
        self._n_usual, self.n_inner = self.n_inner, 0
        self._watch.redraw()

    def share(self, inner_share: float | None) -> float | None:
        """Return the share done, 0..1, with `inner_share` of the next of "steps"; None: unknown.

        A step is taken to have as many stages as the step before; each stage of the first step is
        taken to be half of what is left of it.
        """
        if not self.total:
            return None
        if self.unit != "steps":
            return min(1.0, self.n_done * (1 + self.worked_share) / 2 / self.total)
        if self._n_usual is None:
            begun_share = 1 - 0.5**self.n_inner * (1 - (inner_share or 0.0) / 2)
        else:
            n_stages = max(self._n_usual, self.n_inner + 1)
            begun_share = (self.n_inner + (inner_share or 0.0)) / n_stages
        return min(1.0, (self.n_done + begun_share) / self.total)


class Watch:
    """Watches a call: reports bytes to a function, or shows a bar."""

    def __init__(self, listener: ByteListener | None = None, *, shows_bar: bool = False) -> None:
        self.listener = listener
        self.stages: list[Stage] = []  # the outermost first
        self._shows_bar = shows_bar
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._began = 0.0  # when the outermost stage began
        self._share = 0.0  # of the outermost stage, done
        self._next_draw: float | None = None  # when the bar may be drawn next; None: no stage yet

    def begin(self, activity: str, total: int | None, unit: str) -> Stage:
        """Begin a stage within the stages that have not ended, and return it."""
        if not self.stages:
            self._began, self._share = monotonic(), 0.0
            if self._next_draw is None:
                self._next_draw = self._began + SHOW_AFTER
        self.stages.append(stage := Stage(self, activity, total, unit))
        self.redraw()
        return stage

    def end(self, stage: Stage) -> None:
        """End a stage; the bar is removed with the last stage, before anything is printed."""
        position = self.stages.index(stage)
        if position:
            self.stages[position - 1].n_inner += 1
        self.stages.remove(stage)
        if not self.stages:
            self.close()

    def redraw(self) -> None:
        """Draw the bar, if it is time to."""
        if not (self._shows_bar and self.stages) or self._next_draw is None:
            return
        if (now := monotonic()) < self._next_draw:
            return
        self._next_draw = now + _REDRAW_INTERVAL
        if self._bar is None:
            self._bar = find_bar()
        if self._bar is None:  # there is nowhere to show it
            self._shows_bar = False
            return
        share: float | None = None
        for stage in reversed(self.stages):
            share = stage.share(share)
        if share is not None:  # it never falls, and is not shown where all is done but the end
            share = self._share = max(self._share, share)
            share = share if share < 1 else None
        # Files of which no byte is read are shown last: rows of a bucket come from another file.
        shown_stages = (
            open_stage
            for open_stage in reversed(self.stages)
            if open_stage.n_done or open_stage.unit != "bytes"
        )
        seconds_left = (now - self._began) * (1 - share) / share if share else None
        stage = next(shown_stages, self.stages[-1])
        self._bar.draw(Status(stage.activity, share, stage.n_done, stage.unit, seconds_left))

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


_WATCH: ContextVar[Watch | None] = ContextVar("_WATCH", default=None)


def waiting_callback() -> Callable[[], None] | None:
    """Return a function to call now and then while waiting; None if nobody watches."""
    watch = _WATCH.get()
    return None if watch is None else watch.redraw


def _ignore_progress(n: int = 1) -> None:
    """Ignore that n units are done: nobody watches."""


@contextlib.contextmanager
def stage(
    activity: str, total: int | None = None, unit: str = "steps"
) -> Iterator[Callable[..., None]]:
    """Report an activity in the block, as "flips"; yield a function to call as units are done.

    `total` is the number of units in all, None if not known. `unit` is what is counted:
    "bytes", "flips", ...; a stage of "steps" may have other stages within each step, and is then
    as far as these are. What has a share of 1 goes on until the block ends: no share is shown then.

    >>> with stage("flips", 100, "flips") as advance:
    ...     advance(50)
    """
    watch = _WATCH.get()
    if watch is None:
        yield _ignore_progress
        return
    begun_stage = watch.begin(activity, total, unit)
    try:
        yield begun_stage
    finally:
        watch.end(begun_stage)


def watch_steps(inputs: Iterable[_In], activity: str, total: int | None = None) -> Iterable[_In]:
    """Return the inputs, each a step of an activity, to be looped over at once; `total`: how many.

    >>> [*watch_steps("abc", "letters")]
    ['a', 'b', 'c']
    """
    return inputs if _WATCH.get() is None else _watch_steps(inputs, activity, total)


def _watch_steps(inputs: Iterable[_In], activity: str, total: int | None) -> Iterator[_In]:
    n_total = getattr(inputs, "__len__", lambda: None)() if total is None else total
    with stage(activity, n_total) as advance:
        for step_input in inputs:
            yield step_input
            advance()


def watch_slices(slices: Iterable[slice], activity: str, n_total: int) -> Iterator[slice]:
    """Yield slices of 0 to `n_total`, the parts in which an activity is done; it is the unit, too.

    >>> [*watch_slices([slice(0, 8), slice(8, 10)], "resamples", 10)]
    [slice(0, 8, None), slice(8, 10, None)]
    """
    with stage(activity, n_total, activity) as advance:
        for part in slices:
            yield part
            advance(part.stop - part.start)


@contextlib.contextmanager
def watch_reading(source: SizedFile) -> Iterator[ByteListener | None]:
    """Report the reading of a file; yield a function that counts bytes, None if nobody watches.

    Within a stage of "bytes", the file is a part of that stage.
    """
    watch = _WATCH.get()
    if watch is None:
        yield None
        return
    activity = f"reading {source.name.rpartition('/')[2]}"
    outer_stage = watch.stages[-1] if watch.stages and watch.stages[-1].unit == "bytes" else None
    stage = outer_stage or watch.begin(activity, source.size, "bytes")
    stage.activity = activity

    def hear_bytes(n: int) -> None:
        if watch.listener is not None:
            watch.listener(n)
        stage(n)

    try:
        yield hear_bytes
    finally:
        if stage is not outer_stage:
            watch.end(stage)


@contextlib.contextmanager
def watch_files(sources: Sequence[SizedFile]) -> Iterator[Callable[[float], None]]:
    """Report the reading of several files in the block; yield a function for work that follows.

    Where what was read waits for more, as rows do that are fused with those of other files, it is
    called with the share of it that was worked on, 0..1; work and reading count alike.
    """
    if _WATCH.get() is None or not sources:
        yield lambda _: None
        return
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with stage("reading", total, "bytes") as reading:
        yield functools.partial(setattr, reading, "worked_share")


@contextlib.contextmanager
def watch_calls(progress: ProgressLike) -> Iterator[None]:
    """Watch the calls in the block as `progress=` says; None and False change nothing."""
    progress_option = check_option("progress", progress, _check_progress)
    if progress_option is None or progress_option is False:
        yield
        return
    watch = Watch(shows_bar=True) if progress_option is True else Watch(progress_option)
    outer_watch = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(outer_watch)
        watch.close()


@contextlib.contextmanager
def hide_progress() -> Iterator[None]:
    """Report nothing of the block, such as a second reading of a file's beginning."""
    outer_watch = _WATCH.set(None)
    try:
        yield
    finally:
        _WATCH.reset(outer_watch)


def add_progress(verb: _Verb) -> _Verb:
    """Make a verb take `progress=`; see `Watching`, which `takes` names in its signature."""

    @functools.wraps(verb)
    def with_progress(*args: Any, progress: ProgressLike = None, **options: Any) -> Any:
        if progress is None:  # as most often
            return verb(*args, **options)
        with watch_calls(progress):
            return verb(*args, **options)

    return cast(_Verb, with_progress)


# ---- bars: a line of a terminal, or what is below a notebook's cell


def _shorten_activity(activity: str) -> str:
    text = escape_unprintable(activity)
    if len(text) <= _MAX_ACTIVITY_LENGTH:
        return text
    return f"\N{HORIZONTAL ELLIPSIS}{text[1 - _MAX_ACTIVITY_LENGTH :]}"


class Status(NamedTuple):
    """How far a call is."""

    activity: str
    share: float | None  # done, 0 to 1; None: not known
    n_done: int  # units of the activity
    unit: str
    seconds_left: float | None  # None: not known

    def describe(self) -> str:
        """Return the share done and the time left, "45%, 0:12 left", or what is done: "12 MB"."""
        if self.share is None and self.unit == "bytes":
            return f"{self.n_done / 1e6:,.0f} MB"
        if self.share is None:
            return f"{self.n_done:,} {self.unit}"
        if self.seconds_left is None:
            return f"{self.share:.0%}"
        minutes, seconds = divmod(round(self.seconds_left), 60)
        clock = f"{minutes}:{seconds:02}"
        if minutes >= 60:
            clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        return f"{self.share:.0%}, {clock} left"


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

    def draw(self, status: Status) -> None:
        """Show an activity, and how far it is."""
        self._lines.update(
            self._task,
            description=_shorten_activity(status.activity),
            total=None if status.share is None else 1.0,
            completed=status.share or 0.0,
            far=status.describe(),
        )
        if self._lines.live.is_started:
            self._lines.refresh()
        else:
            self._lines.start()

    def close(self) -> None:
        """Erase the line."""
        self._lines.stop()


class _NotebookBar:
    """A bar below the cell of a notebook, which is redrawn in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, status: Status) -> None:
        """Show an activity, and how far it is, below the cell."""
        activity, far = _shorten_activity(status.activity), html.escape(status.describe())
        value_attribute = "" if status.share is None else f' value="{status.share:.3f}"'
        bar = f"<progress{value_attribute}></progress>"
        self._show(f"{html.escape(activity)} {bar} {far}", f"{activity} {far}")

    def close(self) -> None:
        """Show nothing in the place of the bar."""
        self._show("", "")

    def _show(self, page: str, text: str) -> None:
        bundle = {"text/html": page, "text/plain": text}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def find_bar() -> _TerminalBar | _NotebookBar | None:
    """Return a bar for the notebook or the terminal that this process runs in; None for neither."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _NotebookBar()
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    return _TerminalBar()
