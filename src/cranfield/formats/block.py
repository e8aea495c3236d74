"""Block: a piece of a run or of judgments, in columns, that knows where its rows came from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import InputError, one_of
from cranfield.formats.source import Source
from cranfield.render.numbers import number_of

LARGEST_GRADE = 2**31 - 1  # so that nothing computed from grades can overflow

Order = Literal["score", "rank", "given"]
Errors = Literal["strict", "skip"]
# What becomes of a document that is twice.
Duplicates = Literal["refuse", "first", "best", "once", "each", "joined"]
Keep = Literal["first", "best", "sum"]  # which of its chunks ranks a document
ListsOf = Literal["ids", "grades"]
# What to do about a document that is twice, in errors.
TWICE = (
    "Remove one of the two; or say which one counts: duplicates='first' or 'best' (--duplicates "
    "best)."
)
TWICE_IN_LIST = (  # where no number says which of the two is better
    "Remove one of the two; or count the first one: duplicates='first' (--duplicates first)."
)


def twice_hint(doc: object, *hints: str) -> str | None:
    """Return what to do about a document that occurs twice: some hints, and one on -1.

    With -1, scikit-learn and faiss fill up a list for which they found too few.

    >>> print(twice_hint("d1"), twice_hint(-1, "Remove one."), sep="; ")
    None; Does -1 only fill up a short list? Then it is no document: leave it out. Remove one.
    """
    fills = "Does -1 only fill up a short list? Then it is no document: leave it out."
    return " ".join([fills, *hints] if str(doc) == "-1" else hints) or None


Role = str  # what a column is for: a key of `columns.COLUMNS`


@dataclass
class Sizes:
    """How much is read, or held, at once; what is read does not depend on it."""

    bytes: int = 2 << 20  # of text, in a block
    tail: int = 1 << 17  # bytes at the end of a block, in which its last query is looked for first
    rows: int = 131_072  # of a table, or a dict, in a block
    lists: int = 1 << 14  # rows of a table whose cells hold lists
    stored_rows: int = 1 << 19  # in a row group of Parquet


SIZES = Sizes()  # set by tests only


@dataclass(frozen=True)
class LeftOut:
    """Rows with a fault: for each kind of fault, how often, and how to say the first.

    Those that errors="skip" left out; or those whose document stands above them already.

    To say it may mean to read the file once more, for the number of the line.
    """

    faults: Mapping[str, tuple[int, Callable[[], InputError]]] = field(default_factory=dict)
    at: int = 0  # the row of the first, where rows come in another order than they were given

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy needs: the errors, not how to find them."""
        known = {
            kind: (count, partial(_same, first())) for kind, (count, first) in self.faults.items()
        }
        return LeftOut, (known, self.at)

    @property
    def count(self) -> int:
        """How many rows were left out."""
        return sum(count for count, _ in self.faults.values()) if self.faults else 0

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
        if not self.faults:
            return other
        faults = dict(self.faults)
        for kind, (count, error) in other.faults.items():
            before, first = faults.get(kind, (0, error))
            faults[kind] = before + count, error if other.at < self.at else first
        return LeftOut(faults, min(self.at, other.at))


def _same(error: InputError) -> InputError:
    return error


NONE_LEFT_OUT = LeftOut()


def check_errors(errors: Errors) -> None:
    """Raise OptionError unless `errors` says what becomes of rows with a fault."""
    if errors != "strict":  # as most often
        one_of("errors", errors, get_args(Errors))


class Faults:
    """Takes the faults of some rows: raises the first, or counts them if they are to be skipped."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors
        self.left_out = NONE_LEFT_OUT

    def add(self, kind: str, error: Callable[[], InputError], count: int = 1, at: int = 0) -> None:
        """Take a fault of `count` rows; for `at` see LeftOut."""
        if self._errors == "strict":
            raise error()
        self.left_out += LeftOut({kind: (count, error)}, at)


def _nowhere(row: int) -> tuple[int | None, str | None]:
    return None, None


@dataclass(frozen=True, eq=False)
class Block:
    """Adjacent rows. Where a source keeps a query's rows together, no block begins within them.

    No identifier is empty. `columns` holds what else the rows have, as far as it was asked for:
    (rows,) for each role, ids or numbers.
    """

    query: Ids
    doc: Ids
    columns: Mapping[Role, Any] = field(default_factory=dict)
    source: str | Callable[[int], str | None] | None = None  # one for all rows, or each row's
    where: Callable[[int], tuple[int | None, str | None]] = _nowhere
    left_out: LeftOut = field(default_factory=LeftOut)
    empty: Sequence[bytes] = ()  # queries that have no rows; only JSON can say so
    given: Ints | None = None  # (rows,) their places before they were put in another order

    def __len__(self) -> int:
        return len(self.doc)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: there, no row knows its line."""
        source = None if callable(self.source) else self.source
        return {**self.__dict__, "where": _nowhere, "source": source}

    @property
    def value(self) -> Floats | Ints | None:
        """The scores, or the grades: (rows,); None where there are none or none were asked for."""
        value: Floats | Ints | None = self.columns.get("score", self.columns.get("grade"))
        return value

    @property
    def rank(self) -> Ints | None:
        """The rank column of a run: (rows,); None likewise."""
        return self.columns.get("rank")

    def take(self, rows: Ints | slice) -> "Block":
        """Return some rows; what was left out stays behind. A slice has a beginning."""

        def at(row: int) -> int:
            return row + int(rows.start) if isinstance(rows, slice) else int(rows[row])

        return Block(
            self.query.take(rows) if len(self.query) else self.query,
            self.doc.take(rows),
            {role: _taken(column, rows) for role, column in self.columns.items()},
            self.source if not callable(self.source) else lambda row: self._source(at(row)),
            lambda row: self.where(at(row)),
            given=None if self.given is None else self.given[rows],
        )

    def among(self, queries: Collection[bytes]) -> "Block | None":
        """Return the rows of some queries, in their order; None if there are none."""
        begins = self.query.begins()
        ends = np.append(begins, len(self))
        there = self.query.take(begins).to_list()
        mine = [i for i, one in enumerate(there) if one in queries]
        if not mine:
            return None
        found = self.take(np.concatenate([np.arange(ends[i], ends[i + 1]) for i in mine]))
        return replace(found, query=found.query.compact(), doc=found.doc.compact())

    def number(self, row: int) -> int:
        """Return the place of a row before it was put in another order; 0 if it was not."""
        return 0 if self.given is None else int(self.given[row])

    def _source(self, row: int) -> str | None:
        return self.source(row) if callable(self.source) else self.source

    def place(self, row: int) -> tuple[str | None, int | None, str | None]:
        """Return the file, line number and text of a row, as far as they are known."""
        return self._source(row), *self.where(row)

    def error(
        self,
        row: int,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error that names the place of a row."""
        query = decode(self.query[row])
        return kind(problem, hint=hint, query_id=query).at(*self.place(row))


def _taken(column: Any, rows: Ints | slice) -> Any:
    return column.take(rows) if isinstance(column, Ids) else column[rows]


def joined(parts: Sequence[Block]) -> Block:
    """Put blocks one below the other; they have the same columns."""
    begins = np.cumsum([0, *map(len, parts)])

    def part_of(row: int) -> int:
        return int(np.searchsorted(begins, row, side="right")) - 1

    def where(row: int) -> tuple[int | None, str | None]:
        part = part_of(row)
        return wheres[part](row - int(begins[part]))

    def source(row: int) -> str | None:
        part = part_of(row)
        name = names[part]
        return name(row - int(begins[part])) if callable(name) else name

    wheres = [part.where for part in parts]  # and no more of the parts
    names = [part.source for part in parts]
    return Block(
        Ids.joined([part.query for part in parts]),
        Ids.joined([part.doc for part in parts]),
        {role: _stacked([part.columns[role] for part in parts]) for role in parts[0].columns},
        source if len(set(names)) > 1 else names[0],
        where,
        sum((part.left_out for part in parts), LeftOut()),
        [query for part in parts for query in part.empty],
        None if parts[0].given is None else _stacked([part.given for part in parts]),
    )


def no_rows(roles: Iterable[Role]) -> Block:
    """Return the rows of queries for which nothing was retrieved, with columns of numbers."""
    none = Ids.of([])
    return Block(none, none, {role: np.zeros(0) for role in roles})


def _stacked(columns: Sequence[Any]) -> Any:
    return Ids.joined(columns) if isinstance(columns[0], Ids) else np.concatenate(columns)


class Cells(NamedTuple):
    """Some rows of a table of lists: what is in its columns, (rows,), and where each row is.

    A column is a list or an Arrow array. `faults` says why rows cannot be read: these have None.
    """

    columns: Mapping[Role, Any]
    where: Callable[[int], tuple[int | None, str]]
    faults: Mapping[int, InputError] = {}

    @classmethod
    def of(
        cls,
        roles: Iterable[Role],
        rows: Sequence[Sequence[Any] | InputError],
        where: Callable[[int], tuple[int | None, str]],
    ) -> "Cells":
        """Return rows of values in the order of the `roles`, or of what is wrong with them."""
        roles = tuple(roles)
        faults = {i: row for i, row in enumerate(rows) if isinstance(row, InputError)}
        good = [(None,) * len(roles) if isinstance(row, InputError) else row for row in rows]
        columns = zip(*good, strict=True) if good else ((),) * len(roles)
        return cls(dict(zip(roles, map(list, columns), strict=True)), where, faults)


Load = Callable[[], Block]  # makes a block when called, once, in any thread; cheap to hold


class Rows(ABC):
    """A run or judgments, wherever they are, to be read in blocks as often as needed."""

    #: What the data were understood to be, in words.
    form: str
    #: Which columns there are beside the ids of query and document.
    numbers: frozenset[Role]
    #: Whether the order of the rows is the ranking, and so there are no numbers.
    is_ranking: bool = False
    #: The files that hold them; none if they are in memory.
    sources: Sequence[Source] = ()
    #: Whether these are lines of text.
    is_text: bool = False
    #: How many there are, if that is known without reading them.
    length: int | None = None
    #: What was left out before they are read: of dicts.
    left_out: LeftOut = LeftOut()
    #: Of judgments without a column of grades: whether they have grades all the same.
    graded: bool = True
    #: If it came as lists alone, a list for each query: of what. Queries, of lists of ids, and
    #: documents, of lists of grades, then have numbers for names.
    lists_of: ListsOf | None = None
    #: Of a table: what all of its columns are called, and which of them has each role.
    names: Sequence[str] = ()
    taken: Mapping[Role, str] = {}
    #: Of a table whose cells may hold several documents: the columns to take.
    lists: Mapping[Role, str] = {}

    def cells(self) -> Iterator[Cells]:
        """Yield what the columns of `lists` hold, some rows at a time, as it is written there."""
        raise NotImplementedError

    #: What else it may mean that a document occurs twice, in errors.
    twice: str = ""
    #: Rows whose document stood above already: of judgments in groups.
    repeated: LeftOut = LeftOut()

    @abstractmethod
    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows with the `wanted` columns, all of which there must be."""


class HeldRows(Rows):
    """Some rows of others, held in memory."""

    def __init__(self, block: Block, of: Rows) -> None:
        self._block, self.of = block, of
        self.form, self.numbers, self.is_ranking = of.form, of.numbers, of.is_ranking
        self.left_out, self.lists, self.lists_of = block.left_out, of.lists, of.lists_of

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows as one block, with those of the `wanted` columns that are held."""
        held = self._block.columns
        columns = {role: held[role] for role in wanted if role in held}
        yield lambda: replace(self._block, columns=columns)
