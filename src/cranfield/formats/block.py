"""Block: a part of a run or of judgments, in columns, with the place of each row in its source."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import InputError, check_choice
from cranfield.formats.source import Source
from cranfield.notes import Note
from cranfield.render.numbers import format_count

LARGEST_GRADE = 2**31 - 1  # so that nothing computed from grades can overflow

Order = Literal["score", "rank", "given"]
Errors = Literal["strict", "skip"]
# What is done with a document that occurs twice.
Duplicates = Literal["refuse", "first", "best", "once", "each", "joined"]
Keep = Literal["first", "best", "sum"]  # which chunk's score ranks a document
ListKind = Literal["ids", "grades"]
# In errors: what to do about a document that occurs twice.
DUPLICATE_HINT = (
    "Remove one of the two; or choose which one counts: duplicates='first' or 'best' (--duplicates "
    "best)."
)
LIST_DUPLICATE_HINT = (  # where no number shows which of the two is better
    "Remove one of the two; or count the first one: duplicates='first' (--duplicates first)."
)


def duplicate_hint(doc: object, *hints: str) -> str | None:
    """Return what to do about a document that occurs twice: the hints, and one about the id -1.

    scikit-learn and faiss fill up a list with -1 if they found too few documents.

    >>> print(twice_hint("d1"), twice_hint(-1, "Remove one."), sep="; ")
    None; Does -1 only fill up a short list? Then it is not a document: leave it out. Remove one.
    """
    fills = "Does -1 only fill up a short list? Then it is not a document: leave it out."
    return " ".join([fills, *hints] if str(doc) == "-1" else hints) or None


Role = str  # what a column is for: a key of `columns.COLUMNS`


@dataclass
class Sizes:
    """How much is read, or held, at once; the result does not depend on it."""

    bytes: int = 2 << 20  # of text, in a block
    tail: int = 1 << 17  # bytes at a block's end, where its last query is searched for first
    rows: int = 131_072  # in a block, from a table or a dict
    lists: int = 1 << 14  # rows of a table whose cells hold lists
    stored_rows: int = 1 << 19  # in a row group of Parquet


SIZES = Sizes()  # set by tests only


@dataclass(frozen=True)
class FaultyRows:
    """Rows with a fault: for each kind of fault, their number, and how to describe the first.

    They are the rows that errors="skip" left out, or rows whose document occurs above them.

    Describing it may read the file once more, for the number of the line.
    """

    faults: Mapping[str, tuple[int, Callable[[], InputError]]] = field(default_factory=dict)
    first_row: int = 0  # the row of the first, where rows were reordered

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy needs: the errors, without the functions that find them."""
        stored_faults = {
            kind: (count, partial(_identity, make_error()))
            for kind, (count, make_error) in self.faults.items()
        }
        return FaultyRows, (stored_faults, self.first_row)

    @property
    def count(self) -> int:
        """How many rows were left out."""
        return sum(count for count, _ in self.faults.values()) if self.faults else 0

    def first_error(self, kind: str | None = None) -> InputError:
        """Return the first fault, of one kind or of all; there must be one."""
        return self.faults[next(iter(self.faults)) if kind is None else kind][1]()

    def describe(self, name: str) -> str:
        """Return what was left out of `name`, in words; there must be something."""
        first = str(self.first_error()).split("\n")[0]
        rows = format_count(self.count, "row")
        return f"{rows} of {name} left out (errors='skip'); the first: {first}"

    def __add__(self, other: "FaultyRows") -> "FaultyRows":
        if not other.faults:
            return self
        if not self.faults:
            return other
        faults = dict(self.faults)
        for kind, (count, make_error) in other.faults.items():
            n_before, make_first_error = faults.get(kind, (0, make_error))
            faults[kind] = (
                n_before + count,
                make_error if other.first_row < self.first_row else make_first_error,
            )
        return FaultyRows(faults, min(self.first_row, other.first_row))


def _identity(error: InputError) -> InputError:
    return error


NO_FAULTY_ROWS = FaultyRows()


def check_errors(errors: Errors) -> None:
    """Raise OptionError unless `errors` is a known way to treat rows with a fault."""
    if errors != "strict":  # the usual case first
        check_choice("errors", errors, get_args(Errors))


class FaultLog:
    """Takes the faults of some rows: raises the first, or counts them if they are to be skipped."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors
        self.left_out = NO_FAULTY_ROWS

    def add(
        self, kind: str, make_error: Callable[[], InputError], count: int = 1, first_row: int = 0
    ) -> None:
        """Take a fault of `count` rows; for `at` see LeftOut."""
        if self._errors == "strict":
            raise make_error()
        self.left_out += FaultyRows({kind: (count, make_error)}, first_row)


def _unknown_line(row: int) -> tuple[int | None, str | None]:
    return None, None


@dataclass(frozen=True, eq=False)
class Block:
    """Adjacent rows. If a source keeps a query's rows together, no block begins within them.

    No identifier is empty. `columns` holds the other columns that were requested: (rows,) for each
    role, ids or numbers.
    """

    query: Ids
    doc: Ids
    columns: Mapping[Role, Any] = field(default_factory=dict)
    source: str | Callable[[int], str | None] | None = None  # one for all rows, or each row's
    find_line: Callable[[int], tuple[int | None, str | None]] = _unknown_line
    left_out: FaultyRows = field(default_factory=FaultyRows)
    empty_queries: Sequence[bytes] = ()  # queries without rows; only JSON can have them
    input_row: Ints | None = None  # (rows,) their places before they were reordered

    def __len__(self) -> int:
        return len(self.doc)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: there, the lines of rows are unknown."""
        source = None if callable(self.source) else self.source
        return {**self.__dict__, "where": _unknown_line, "source": source}

    @property
    def score_or_grade(self) -> Floats | Ints | None:
        """The scores, or the grades: (rows,); None if there are none or they were not requested."""
        score_or_grade: Floats | Ints | None = self.columns.get("score", self.columns.get("grade"))
        return score_or_grade

    @property
    def rank(self) -> Ints | None:
        """The rank column of a run: (rows,); None if there is none or it was not requested."""
        return self.columns.get("rank")

    def take(self, rows: Ints | slice) -> "Block":
        """Return some rows, without `left_out`. A slice must have a start."""

        def source_row(row: int) -> int:
            return row + int(rows.start) if isinstance(rows, slice) else int(rows[row])

        return Block(
            self.query.take(rows) if len(self.query) else self.query,
            self.doc.take(rows),
            {role: _take_rows(column, rows) for role, column in self.columns.items()},
            self.source
            if not callable(self.source)
            else lambda row: self._source_name(source_row(row)),
            lambda row: self.find_line(source_row(row)),
            input_row=None if self.input_row is None else self.input_row[rows],
        )

    def select_queries(self, queries: Collection[bytes]) -> "Block | None":
        """Return the rows of some queries, in their order; None if there are none."""
        first_row = self.query.find_changes()
        boundaries = np.append(first_row, len(self))
        query_ids = self.query.take(first_row).to_list()
        positions = [i for i, query_id in enumerate(query_ids) if query_id in queries]
        if not positions:
            return None
        block = self.take(
            np.concatenate([np.arange(boundaries[i], boundaries[i + 1]) for i in positions])
        )
        return replace(block, query=block.query.compact(), doc=block.doc.compact())

    def find_input_row(self, row: int) -> int:
        """Return the place of a row before rows were reordered; 0 if they were not."""
        return 0 if self.input_row is None else int(self.input_row[row])

    def _source_name(self, row: int) -> str | None:
        return self.source(row) if callable(self.source) else self.source

    def locate_row(self, row: int) -> tuple[str | None, int | None, str | None]:
        """Return the file, line number and text of a row, as far as they are known."""
        return self._source_name(row), *self.find_line(row)

    def row_error(
        self, row: int, problem: str, hint: str | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        """Return an error that names the place of a row."""
        query = decode(self.query[row])
        return kind(problem, hint=hint, query_id=query).locate(*self.locate_row(row))


def _take_rows(column: Any, rows: Ints | slice) -> Any:
    return column.take(rows) if isinstance(column, Ids) else column[rows]


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Concatenate blocks, which must have the same columns."""
    first_row = np.cumsum([0, *map(len, blocks)])

    def find_block(row: int) -> int:
        return int(np.searchsorted(first_row, row, side="right")) - 1

    def find_line(row: int) -> tuple[int | None, str | None]:
        position = find_block(row)
        return line_finders[position](row - int(first_row[position]))

    def find_source(row: int) -> str | None:
        position = find_block(row)
        block_source = block_sources[position]
        return (
            block_source(row - int(first_row[position])) if callable(block_source) else block_source
        )

    line_finders = [block.find_line for block in blocks]  # so that the parts can be freed
    block_sources = [block.source for block in blocks]
    return Block(
        Ids.concatenate([block.query for block in blocks]),
        Ids.concatenate([block.doc for block in blocks]),
        {
            role: _stack_columns([block.columns[role] for block in blocks])
            for role in blocks[0].columns
        },
        find_source if len(set(block_sources)) > 1 else block_sources[0],
        find_line,
        sum((block.left_out for block in blocks), FaultyRows()),
        [query for block in blocks for query in block.empty_queries],
        None
        if blocks[0].input_row is None
        else _stack_columns([block.input_row for block in blocks]),
    )


def empty_block(roles: Iterable[Role]) -> Block:
    """Return the rows of queries for which nothing was retrieved, with columns of numbers."""
    no_ids = Ids.of([])
    return Block(no_ids, no_ids, {role: np.zeros(0) for role in roles})


def _stack_columns(columns: Sequence[Any]) -> Any:
    return Ids.concatenate(columns) if isinstance(columns[0], Ids) else np.concatenate(columns)


class Cells(NamedTuple):
    """Some rows of a table of lists: its columns, (rows,), and the place of each row.

    A column is a list or an Arrow array. `faults` has the reason for each row that cannot be read;
    its cells are None.
    """

    columns: Mapping[Role, Any]
    find_line: Callable[[int], tuple[int | None, str]]
    faults: Mapping[int, InputError] = {}

    @classmethod
    def from_rows(
        cls,
        roles: Iterable[Role],
        rows: Sequence[Sequence[Any] | InputError],
        find_line: Callable[[int], tuple[int | None, str]],
    ) -> "Cells":
        """Return cells from rows; a row is its values in the order of `roles`, or its fault."""
        roles = tuple(roles)
        faults = {i: row for i, row in enumerate(rows) if isinstance(row, InputError)}
        row_cells = [(None,) * len(roles) if isinstance(row, InputError) else row for row in rows]
        columns = zip(*row_cells, strict=True) if row_cells else ((),) * len(roles)
        return cls(dict(zip(roles, map(list, columns), strict=True)), find_line, faults)


Load = Callable[[], Block]  # makes a block when called, once, in any thread; cheap to hold


class Rows(ABC):
    """A run or judgments from any source, read in blocks as often as needed."""

    #: What the data were understood to be, in words.
    description: str
    #: Which columns there are besides the ids of query and document.
    extra_roles: frozenset[Role]
    #: Whether the order of the rows is the ranking, so that there are no numbers.
    is_ranking: bool = False
    #: The files that hold them; empty if they are in memory.
    sources: Sequence[Source] = ()
    #: For columns with white space between them: whether # begins a comment, even in a row.
    ignores_hash_rows: bool = False
    #: What a run of a folder, or of a glob, is called.
    run_name: str | None = None
    #: Whether the files are lines of text.
    is_text: bool = False
    #: How many there are, if that is known without reading them.
    n_rows: int | None = None
    #: For dicts: what was left out before reading.
    left_out: FaultyRows = FaultyRows()
    #: For judgments without a column of grades: whether they still have grades.
    has_grades: bool = True
    #: For plain lists, one for each query: what they hold. Queries (for lists of ids) and documents
    #: (for lists of grades) then have numbers as names.
    list_kind: ListKind | None = None
    #: For a table: the names of all its columns, and which column has each role.
    column_names: Sequence[str] = ()
    name_of_role: Mapping[Role, str] = {}
    #: For a table whose cells may hold several documents: the columns to read.
    list_columns: Mapping[Role, str] = {}

    def cells(self) -> Iterator[Cells]:
        """Yield the columns of `lists` unchanged, some rows at a time."""
        raise NotImplementedError

    @property
    def distance_column(self) -> str | None:
        """The column of distances, if the scores are minus these."""
        return self.name_of_role.get("distance")

    #: In errors: another possible reason why a document occurs twice.
    duplicate_reason: str = ""
    #: For judgments in groups: rows whose document occurs above.
    duplicate_rows: FaultyRows = FaultyRows()

    #: What is odd about rows that are made of others, once they were read to their end.
    notes: tuple[Note, ...] = ()
    #: Why a table is refused in which a document has rows of two systems, if that was looked for.
    mixture_errors: Sequence[InputError] | None = None

    def read_side(self, side: Any, user_columns: Any) -> "Rows":
        """Return the rows of the same table, read as judgments or a run, with columns stated."""
        raise NotImplementedError

    @abstractmethod
    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows with the `wanted` columns, which must all exist."""


class MemoryRows(Rows):
    """Some rows of other Rows, held in memory; `form` and `numbers` say what became of them."""

    def __init__(
        self,
        block: Block,
        origin: Rows,
        description: str | None = None,
        extra_roles: Iterable[Role] | None = None,
    ) -> None:
        self._block, self.origin = block, origin
        self.description = origin.description if description is None else description
        self.extra_roles = origin.extra_roles if extra_roles is None else frozenset(extra_roles)
        self.is_ranking = origin.is_ranking
        if extra_roles is not None:
            self.is_ranking = not self.extra_roles & {"score", "rank"}
        self.left_out, self.n_rows = block.left_out, len(block)
        self.list_columns, self.list_kind = origin.list_columns, origin.list_kind
        self.name_of_role, self.notes = origin.name_of_role, origin.notes

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows as one block, with the `wanted` columns that are held."""
        held_columns = self._block.columns
        columns = {role: held_columns[role] for role in roles if role in held_columns}
        yield lambda: replace(self._block, columns=columns)


class DistanceRows(Rows):
    """The rows of a run with distances: their scores are minus these, so that the lowest leads."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.name_of_role = rows, {"distance": "distance", **rows.name_of_role}
        self.extra_roles = rows.extra_roles - {"distance"} | {"score"}
        self.description, self.sources, self.is_text = rows.description, rows.sources, rows.is_text
        self.column_names, self.list_columns = rows.column_names, rows.list_columns
        self.n_rows, self.left_out, self.duplicate_reason = (
            rows.n_rows,
            rows.left_out,
            rows.duplicate_reason,
        )

    def read_side(self, side: Any, user_columns: Any) -> Rows:
        """Return the rows of the same table with other columns."""
        return self._rows.read_side(side, user_columns)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in the blocks of the others, with scores in the place of distances."""
        roles = ["distance" if role == "score" else role for role in roles]
        for load in self._rows.blocks(roles, errors):
            yield partial(_negate_distances, load)
        self.notes = self._rows.notes


def _negate_distances(load: Load) -> Block:
    block = load()
    columns = dict(block.columns)
    if "distance" in columns:
        columns["score"] = 0.0 - columns.pop("distance")
    return replace(block, columns=columns)
