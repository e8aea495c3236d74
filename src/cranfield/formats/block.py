"""Block: a piece of a run or of judgments, in columns, that knows where its rows stand."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from cranfield.errors import InputError
from cranfield.ids import Ids
from cranfield.ranked import Floats, Ints
from cranfield.render.numbers import number_of

LARGEST_GRADE = 2**31 - 1  # so that nothing reckoned from grades can overflow

Order = Literal["score", "rank", "given"]
Errors = Literal["strict", "skip"]
# Columns beside the ids of query and document; "group" holds ids, too: of subtopics.
Number = Literal["score", "rank", "grade", "group", "weight", "stratum", "probability", "cost"]
# Of these; the others are whole numbers.
FRACTIONS = frozenset({"score", "weight", "probability", "cost"})
Progress = Callable[[int], None]


@dataclass(frozen=True)
class LeftOut:
    """What errors="skip" left out: for each kind of fault, how often, and how to say the first.

    To say it may mean to read the file once more, for the number of the line.
    """

    faults: Mapping[str, tuple[int, Callable[[], InputError]]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy needs: what is to be said, not how to find it."""
        known = {kind: (count, _Known(first())) for kind, (count, first) in self.faults.items()}
        return LeftOut, (known,)

    @property
    def count(self) -> int:
        """How many rows were left out."""
        return sum(count for count, _ in self.faults.values())

    def first(self, kind: str | None = None) -> InputError:
        """Return the fault that was found first, of a kind or of all; there must be one."""
        return self.faults[next(iter(self.faults)) if kind is None else kind][1]()

    def said(self, name: str) -> str:
        """Return what was left out of `name`, in words; there must be something."""
        first = str(self.first()).split("\n")[0]
        rows = number_of(self.count, "row")
        return f"{rows} of {name} left out (errors='skip'); the first: {first}"

    def __add__(self, other: "LeftOut") -> "LeftOut":
        if not other.faults:
            return self
        faults = dict(self.faults)
        for kind, (count, error) in other.faults.items():
            before, first = faults.get(kind, (0, error))
            faults[kind] = before + count, first
        return LeftOut(faults)


@dataclass(frozen=True)
class _Known:
    """Returns an error that is known."""

    error: InputError

    def __call__(self) -> InputError:
        return self.error


class Faults:
    """Takes the faults of some rows: raises the first, or counts them if they are to be skipped."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors
        self.left_out = LeftOut()

    def add(self, kind: str, error: Callable[[], InputError], count: int = 1) -> None:
        """Take a fault of `count` rows."""
        if self._errors == "strict":
            raise error()
        self.left_out += LeftOut({kind: (count, error)})


def _nowhere(row: int) -> tuple[int | None, str | None]:
    return None, None


@dataclass(frozen=True, eq=False)
class Block:
    """Adjacent rows. Where a source keeps a query's rows together, no block begins within them.

    No identifier is empty. `value` (rows,) is the score or the grade, None where there is none or
    none was asked for; `rank` (rows,) is the rank column of a run, likewise.
    """

    query: Ids
    doc: Ids
    value: Floats | Ints | None
    source: str | Callable[[int], str | None] | None = None  # one for all rows, or each row's
    where: Callable[[int], tuple[int | None, str | None]] = _nowhere
    rank: Ints | None = None
    left_out: LeftOut = field(default_factory=LeftOut)
    empty: Sequence[bytes] = ()  # queries that have no rows; only JSON can say so
    group: Ids | None = None  # the subtopic of judgments by subtopic
    weight: Floats | None = None  # the subtopic's
    sampling: Mapping[Number, Floats | Ints] = field(default_factory=dict)  # see Ranked.sampling
    cost: Floats | None = None  # of looking at the document

    def __len__(self) -> int:
        return len(self.doc)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: there, no row knows its line."""
        source = None if callable(self.source) else self.source
        return {**self.__dict__, "where": _nowhere, "source": source}

    def take(self, rows: Ints) -> "Block":
        """Return the block's `rows`; what was left out stays behind."""
        return Block(
            self.query.take(rows) if len(self.query) else self.query,
            self.doc.take(rows),
            None if self.value is None else self.value[rows],
            self.source if not callable(self.source) else lambda row: self._source(int(rows[row])),
            lambda row: self.where(int(rows[row])),
            None if self.rank is None else self.rank[rows],
            group=None if self.group is None else self.group.take(rows),
            weight=None if self.weight is None else self.weight[rows],
            sampling={role: column[rows] for role, column in self.sampling.items()},
            cost=None if self.cost is None else self.cost[rows],
        )

    def slice(self, begin: int, end: int) -> "Block":
        """Return the rows from `begin` to before `end`; what was left out stays behind."""
        return Block(
            self.query.take(slice(begin, end)) if len(self.query) else self.query,
            self.doc.take(slice(begin, end)),
            None if self.value is None else self.value[begin:end],
            self.source if not callable(self.source) else lambda row: self._source(row + begin),
            lambda row: self.where(row + begin),
            None if self.rank is None else self.rank[begin:end],
            group=None if self.group is None else self.group.take(slice(begin, end)),
            weight=None if self.weight is None else self.weight[begin:end],
            sampling={role: column[begin:end] for role, column in self.sampling.items()},
            cost=None if self.cost is None else self.cost[begin:end],
        )

    def _source(self, row: int) -> str | None:
        return self.source(row) if callable(self.source) else self.source

    def error(
        self,
        row: int,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error that names the row: its file, line number and text, as far as known."""
        line, text = self.where(row)
        return kind(problem, source=self._source(row), line=line, text=text, hint=hint)


def sampling_in(found: Mapping[str, Any]) -> dict[Number, Any]:
    """Return those of some columns that say how documents were sampled to be judged."""
    every: tuple[Number, ...] = ("stratum", "probability")
    return {role: found[role] for role in every if role in found}


Load = Callable[[], Block]  # makes a block when called, once, in any thread; cheap to hold


class Rows(Protocol):
    """A run or judgments, wherever they are, to be read in blocks as often as needed."""

    @property
    def form(self) -> str:
        """What the data were understood to be, in words."""

    @property
    def numbers(self) -> frozenset[Number]:
        """Which columns of numbers there are."""

    @property
    def is_ranking(self) -> bool:
        """Whether the order of the rows is the ranking, and so there are no numbers."""

    def blocks(
        self, wanted: Iterable[Number], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows with the `wanted` columns of numbers, all of which there must be.

        "score" or "grade" becomes a block's `value`, "stratum" and "probability" its `sampling`,
        the others what they are called; "group", if it is wanted, comes first. `progress` hears of
        the bytes read.
        """
