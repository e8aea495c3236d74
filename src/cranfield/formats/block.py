"""Block: some rows of a run or of judgments, in columns, and where each is in its source.

Every format hands its rows on as `Rows`, which yield blocks; `data` makes Qrels and runs of them.
"""

from abc import ABC
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

Order = Literal["score", "rank", "given"]  # what a run's documents are ranked by
Errors = Literal["strict", "skip"]  # a row with a fault is an error, or is left out
# What is done with a document that occurs twice.
Duplicates = Literal["refuse", "first", "best", "once", "each", "joined"]
Keep = Literal["first", "best", "sum"]  # which chunk's score, or the sum of all, ranks a document
ListKind = Literal["ids", "grades"]  # what the lists of a query hold, where they are plain lists
# In errors: what to do about a document that occurs twice.
DUPLICATE_HINT = (
    "Remove one of the two; or choose which one counts: duplicates='first' or 'best' (--duplicates "
    "best)."
)
LIST_DUPLICATE_HINT = (  # where no number shows which of the two is better
    "Remove one of the two; or count the first one: duplicates='first' (--duplicates first)."
)


def duplicate_hint(doc: object, *hints: str) -> str | None:
    """Return what to do about a document that occurs twice: `hints`, for -1 and 0 after another.

    Tools fill up a list with such an id if they found too few documents: scikit-learn and faiss
    with -1, recommenders with 0.

    >>> print(duplicate_hint("d1"), duplicate_hint(-1, "Remove one."), sep="; ")
    None; Does -1 only fill up lists? Leave it out: [[i for i in row if i != -1] for row in ids]. \
Remove one.
    """
    filler_hint = (
        f"Does {doc} only fill up lists? "
        f"Leave it out: [[i for i in row if i != {doc}] for row in ids]."
    )
    return " ".join([filler_hint, *hints] if str(doc) in {"-1", "0"} else hints) or None


Role = str  # what a column is for: a key of `columns.COLUMNS`
# Finds the number of a row's line, from 1, and its text; None where they are unknown.
FindLine = Callable[[int], tuple[int | None, str | None]]


@dataclass
class Sizes:
    """How many bytes or rows are read, or held, at once; no score depends on them."""

    bytes: int = 2 << 20  # of text, in a block
    tail: int = 1 << 17  # bytes at a block's end, where its last query is searched for first
    rows: int = 131_072  # in a block, from a table or a dict
    lists: int = 1 << 14  # rows of a table whose cells hold lists
    stored_rows: int = 1 << 19  # in a row group of Parquet


SIZES = Sizes()  # set by tests only


@dataclass(frozen=True)
class FaultyRows:
    """How many rows have a fault, by the kind of fault, with the first error of each kind.

    These rows were left out by errors="skip", or their document occurs in a row above. `faults` is
    {kind: (rows, function that makes the first error)}; the function may read the file once more,
    for the number of the line.
    """

    faults: Mapping[str, tuple[int, Callable[[], InputError]]] = field(default_factory=dict)
    first_row: int = 0  # of the first fault, where rows were reordered

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy needs: the errors instead of the functions that make them."""
        stored_faults = {
            kind: (count, partial(_identity, make_error()))
            for kind, (count, make_error) in self.faults.items()
        }
        return FaultyRows, (stored_faults, self.first_row)

    @property
    def count(self) -> int:
        """The number of faulty rows."""
        return sum(count for count, _ in self.faults.values()) if self.faults else 0

    def first_error(self, kind: str | None = None) -> InputError:
        """Return the error of the first row of a `kind`, else of the kind that was added first."""
        return self.faults[next(iter(self.faults)) if kind is None else kind][1]()

    def describe(self, name: str) -> str:
        """Return how many rows of the table `name` were left out, and the `first_error`."""
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
    """Raises the first fault of some rows if `errors` are "strict", else counts the faulty rows."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors
        self.left_out = NO_FAULTY_ROWS

    def add(
        self, kind: str, make_error: Callable[[], InputError], count: int = 1, first_row: int = 0
    ) -> None:
        """Raise, or count, the fault of `count` rows; `first_row` is as in FaultyRows."""
        if self._errors == "strict":
            raise make_error()
        self.left_out += FaultyRows({kind: (count, make_error)}, first_row)


def _unknown_line(row: int) -> tuple[int | None, str | None]:
    return None, None


@dataclass(frozen=True, eq=False)
class Block:
    """Adjacent rows, as columns: `query` and `doc`, (rows,) ids, and {role: (rows,)} `columns`.

    `columns` are those that were requested, ids or numbers. No identifier is empty. If a source
    keeps a query's rows together, no block begins within them. `query` is (0,) if not kept here.
    """

    query: Ids
    doc: Ids
    columns: Mapping[Role, Any] = field(default_factory=dict)
    source: str | Callable[[int], str | None] | None = None  # the file's name, or that of a row
    find_line: FindLine = _unknown_line
    left_out: FaultyRows = field(default_factory=FaultyRows)  # of the part of the source it is from
    empty_queries: Sequence[bytes] = ()  # queries without rows, as JSON, lists and selections have
    input_row: Ints | None = None  # (rows,) the rows' numbers before they were reordered

    def __len__(self) -> int:
        return len(self.doc)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: there, the lines of rows are unknown.

        So is the file of each row if there are several.
        """
        source = None if callable(self.source) else self.source
        return {**self.__dict__, "find_line": _unknown_line, "source": source}

    @property
    def score_or_grade(self) -> Floats | Ints | None:
        """The score of each row, or its grade, (rows,); None if neither was requested."""
        return self.columns.get("score", self.columns.get("grade"))  # type: ignore[no-any-return]

    @property
    def rank(self) -> Ints | None:
        """The rank of each row of a run, (rows,); None if ranks were not requested."""
        return self.columns.get("rank")

    def take(self, rows: Ints | slice) -> "Block":
        """Return the block of rows, a slice with a start; `left_out`, `empty_queries` are empty."""

        def to_own_row(row: int) -> int:
            return row + int(rows.start) if isinstance(rows, slice) else int(rows[row])

        return Block(
            self.query.take(rows) if len(self.query) else self.query,
            self.doc.take(rows),
            {
                role: column.take(rows) if isinstance(column, Ids) else column[rows]
                for role, column in self.columns.items()
            },
            self.source
            if not callable(self.source)
            else lambda row: self._source_name(to_own_row(row)),
            lambda row: self.find_line(to_own_row(row)),
            input_row=None if self.input_row is None else self.input_row[rows],
        )

    def select_queries(self, queries: Collection[bytes]) -> "Block | None":
        """Return the block of the rows of these queries, in this one's order; None without any."""
        first_row = self.query.find_changes()  # (queries,) of each query's adjacent rows
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
        """Return the number of a row before rows were reordered; 0 if they were not."""
        return 0 if self.input_row is None else int(self.input_row[row])

    def _source_name(self, row: int) -> str | None:
        return self.source(row) if callable(self.source) else self.source

    def locate_row(self, row: int) -> tuple[str | None, int | None, str | None]:
        """Return the file's name, the line's number and the text of a row, as far as known."""
        return self._source_name(row), *self.find_line(row)

    def row_error(
        self, row: int, problem: str, hint: str | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        """Return an error with the file and the line of a row, as far as known, and its query."""
        query = decode(self.query[row])
        return kind(problem, hint=hint, query_id=query).locate(*self.locate_row(row))


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Return one block with the rows of several, which must have the same columns."""
    first_row = np.cumsum([0, *map(len, blocks)])

    def split_row(row: int) -> tuple[int, int]:
        """Return the position of the block that a row comes from, and the row's number there."""
        position = int(np.searchsorted(first_row, row, side="right")) - 1
        return position, row - int(first_row[position])

    def find_line(row: int) -> tuple[int | None, str | None]:
        position, block_row = split_row(row)
        return line_finders[position](block_row)

    def find_source(row: int) -> str | None:
        position, block_row = split_row(row)
        source = block_sources[position]
        return source(block_row) if callable(source) else source

    line_finders = [block.find_line for block in blocks]  # so that the blocks can be freed
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
    """Return a block without rows, with empty columns of numbers for these roles."""
    no_ids = Ids.of([])
    return Block(no_ids, no_ids, {role: np.zeros(0) for role in roles})


def _stack_columns(columns: Sequence[Any]) -> Any:
    return Ids.concatenate(columns) if isinstance(columns[0], Ids) else np.concatenate(columns)


class Cells(NamedTuple):
    """Some rows of a table whose cells may be lists: {role: (rows,)}, a list or an Arrow array.

    `faults` is {row: error} of the rows that cannot be read; their cells are None.
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
        """Return the cells of rows; a row is its cells in the order of `roles`, or its error."""
        roles = tuple(roles)
        faults = {i: row for i, row in enumerate(rows) if isinstance(row, InputError)}
        row_cells = [(None,) * len(roles) if isinstance(row, InputError) else row for row in rows]
        columns = zip(*row_cells, strict=True) if row_cells else ((),) * len(roles)
        return cls(dict(zip(roles, map(list, columns), strict=True)), find_line, faults)


Load = Callable[[], Block]  # makes a block when called, once, in any thread; cheap to hold


class Rows(ABC):
    """The rows of a run or of judgments from any source, read in blocks as often as needed."""

    #: As which format and columns the data were understood, in words.
    description: str
    #: The roles of the columns besides the ids of query and document.
    extra_roles: frozenset[Role]
    #: Whether the order of the rows is the ranking, so that there are no numbers.
    is_ranking: bool = False
    #: The files that hold the rows; empty if the rows are in memory.
    sources: Sequence[Source] = ()
    #: For columns with white space between them: whether # begins a comment, even in a row.
    ignores_hash_rows: bool = False
    #: The name of a run that is read from a folder or a glob.
    run_name: str | None = None
    #: Whether the files are lines of text.
    is_text: bool = False
    #: The number of rows, if it is known without reading them.
    n_rows: int | None = None
    #: Of queries that are numbered: the rows in files above, and, once it was read, up to its end.
    n_rows_above: int = 0
    n_rows_below: int = 0
    #: The rows that were left out before reading, as of a dict.
    left_out: FaultyRows = FaultyRows()
    #: Whether judgments have grades; False if they only list relevant documents.
    has_grades: bool = True
    #: For plain lists, one for each query: what they hold. Queries (for lists of ids) and documents
    #: (for lists of grades) then have numbers as names.
    list_kind: ListKind | None = None
    #: Whether the queries have no names, and are called by their places in a list of responses.
    is_numbered = False
    #: For a table: the names of all its columns, and the name of the column of each role.
    column_names: Sequence[str] = ()
    name_of_role: Mapping[Role, str] = {}
    #: For a table whose cells may hold several documents: {role: name} of the columns to read.
    list_columns: Mapping[Role, str] = {}
    #: Whether documents are texts, in the place of ids.
    holds_texts: bool = False

    def cells(self) -> Iterator[Cells]:
        """Yield the cells of `list_columns` unchanged, some rows at a time."""
        raise NotImplementedError

    @property
    def distance_column(self) -> str | None:
        """The name of the column of distances, if the scores are minus the distances."""
        return self.name_of_role.get("distance")

    #: In errors: another possible reason why a document occurs twice.
    duplicate_reason: str = ""
    #: For judgments in groups: the rows whose document occurs in a row above.
    duplicate_rows: FaultyRows = FaultyRows()

    #: What is odd about the rows; complete once they were read to their end.
    notes: tuple[Note, ...] = ()
    #: Which column is which, as the user states it.
    user_columns: Mapping[str, Any] | None = None
    #: The system whose rows alone these are, of a table of several; else empty.
    system: str = ""
    #: The columns that may name systems, and their values: see `find_systems`; None: not read yet.
    system_names: Any = None
    #: Which of the columns that the user states for several files these rows do not have.
    statement_notes: tuple[Note, ...] = ()

    def read_side(self, side: Any, user_columns: Any) -> "Rows":
        """Return the rows of the same table as judgments, or as a run, with stated columns."""
        raise NotImplementedError

    def take_facts(self, rows: "Rows") -> None:
        """Take over what is known of other rows of the same table, and how it is read again."""
        vars(self).update(vars(rows))
        self.is_text = rows.is_text
        self.read_side = rows.read_side  # type: ignore[method-assign]

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield functions that load the rows, block by block, with the columns of these roles.

        The columns must exist. Rows that are read as cells alone do not have blocks.
        """
        raise NotImplementedError


class MemoryRows(Rows):
    """A block in memory whose rows come from `source_rows`.

    The description and the roles may be stated; without score and rank it is then a ranking.
    """

    def __init__(
        self,
        block: Block,
        source_rows: Rows,
        description: str | None = None,
        extra_roles: Iterable[Role] | None = None,
    ) -> None:
        self._block, self.source_rows = block, source_rows
        self.description = source_rows.description if description is None else description
        self.extra_roles, self.is_ranking = source_rows.extra_roles, source_rows.is_ranking
        if extra_roles is not None:
            self.extra_roles = frozenset(extra_roles)
            self.is_ranking = not self.extra_roles & {"score", "rank"}
        self.left_out, self.n_rows = block.left_out, len(block)
        self.list_columns, self.list_kind = source_rows.list_columns, source_rows.list_kind
        self.name_of_role, self.holds_texts = source_rows.name_of_role, source_rows.holds_texts
        self.notes = (*source_rows.statement_notes, *source_rows.notes)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield what loads the rows as one block, with the requested columns that it has."""
        held_columns = self._block.columns
        columns = {role: held_columns[role] for role in roles if role in held_columns}
        yield lambda: replace(self._block, columns=columns)


class DistanceRows(Rows):
    """The rows of a run with distances; a score is minus its distance, so that the lowest leads."""

    def __init__(self, rows: Rows) -> None:
        self.take_facts(rows)
        self._rows, self.name_of_role = rows, {"distance": "distance", **rows.name_of_role}
        self.extra_roles = rows.extra_roles - {"distance"} | {"score"}

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the blocks of the run with distances, with scores in their place."""
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
