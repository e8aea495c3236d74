"""Run: one system's ranking, read whenever it is evaluated."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import IdList, decode, encode
from cranfield.arrays.threads import in_threads
from cranfield.data.altered import Altered
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, come_back, placed
from cranfield.data.ranking import Ranking, Rankings
from cranfield.data.written import Written, write_run
from cranfield.errors import InputError, OptionError, one_of
from cranfield.formats import rows_of
from cranfield.formats.block import (
    Block,
    Duplicates,
    Errors,
    HeldRows,
    LeftOut,
    Load,
    Order,
    Role,
    Rows,
    joined,
    no_rows,
)
from cranfield.formats.columns import ColumnsLike, What, in_order, listed_names, may_be_distance
from cranfield.formats.frames import ArrowTable, LazyTable, Sparse
from cranfield.formats.objects import NestedRows
from cranfield.formats.source import Path, Source, named
from cranfield.formats.trec import TREC_RUN, run_tag
from cranfield.progress import ProgressLike
from cranfield.render.numbers import number_of, queries_of

RunLike = Union[
    "Run",
    Path,
    ArrowTable,
    LazyTable,
    Mapping[Any, Mapping[Any, float]],
    Mapping[Any, list[Any]],
    NDArray[Any],
    Sparse,
]


SeveralRuns = Union[  # noqa: UP007 - a class that is defined below has a name only
    list[Any],  # of RunLike; a list of one kind only would not be a list[RunLike]
    tuple[RunLike, ...],
    Mapping[str, Union["Run", str, os.PathLike[str], ArrowTable, LazyTable]],
    Mapping[str, Mapping[Any, Mapping[Any, float]]],
    Mapping[str, Mapping[Any, list[Any]]],
]


class Run(Altered):
    """One system's ranking: for each query, documents and the scores by which they are ranked.

    `data` is a dict `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}` (best first), or
    a table with the columns `query_id`, `doc_id` and `score` or `rank`, under these or the other
    names that are usual: anything that hands out Arrow data (pandas, polars, pyarrow, DuckDB, ...),
    a numpy structured array, a list of rows (tuples, named tuples, dicts), or a scipy sparse matrix
    (queries x documents, numbered from 0). `columns` says which column is which, where that cannot
    be guessed: `{"query_id": "user", "score": "prediction"}`. A table may have a row for each
    query, with a list of documents in a cell: `retrieved_ids`, and `scores` beside. A column `cost`
    may say what it costs to look at the document, for CWL. `errors="skip"` leaves out rows that
    cannot be scored, and counts them. Of a document that a query has twice, `duplicates` keeps the
    "first" row or the "best"; the run is then held in memory. `name` is what the system is called
    in results.

    >>> Run({"q1": {"d1": 12.3, "d2": 11.0}}, name="bm25")
    Run('bm25', 1 query, 2 documents)
    >>> Run([("q1", "d1", 12.3), ("q1", "d2", 11.0)]).to_dict()
    {'q1': {'d1': 12.3, 'd2': 11.0}}
    """

    def __init__(
        self,
        data: "Mapping[Any, Any] | ArrowTable | LazyTable | Iterable[Any] | Sparse | Rows",
        name: str | None = None,
        columns: ColumnsLike | None = None,
        errors: Errors = "strict",
        duplicates: Duplicates = "refuse",
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise OptionError(
                f"name={name!r:.80}: expected a string, what the run is called; what its columns "
                "are called is columns={'query_id': ...}"
            )
        self._rows = rows = rows_of(data, What.RUN, columns=columns, errors=errors)
        self.name = name if name is not None else rows.run_name or _name_of(rows.sources)
        self.errors: Errors = errors
        self.nested = getattr(rows, "data", None)
        self.sources = rows.sources
        self.left_out = rows.left_out
        if duplicates != "refuse":
            one_of("duplicates", duplicates, ("refuse", "first", "best"))
            vars(self).update(vars(self._once(duplicates)))

    def __repr__(self) -> str:
        if self.nested is not None:
            n_docs = sum(map(len, self.nested.values()))
            size = f"{queries_of(len(self.nested))}, {number_of(n_docs, 'document')}"
        elif self._rows.length is not None:
            size = number_of(self._rows.length, "row")
        else:
            sizes = [source.size for source in self.sources]
            known = [one for one in sizes if one is not None]
            size = number_of(sum(known), "byte") if known and known == sizes else ""
        return f"Run({self.name!r}, {size})" if size else f"Run({self.name!r})"

    def _as_run(self, data: Any) -> "Run":
        return as_run(data)

    @property
    def form(self) -> str:
        """What the data were understood to be, in words."""
        return self._rows.form + ("" if self.made_of is None else f"; {self.made_of.said}")

    @property
    def is_text(self) -> bool:
        """Whether it is read from lines of text."""
        return self._rows.is_text

    @property
    def numbers(self) -> frozenset[Role]:
        """Which columns of numbers the run has: "score", "rank", both or none; "cost"."""
        numbers = self._rows.numbers
        return numbers if self.made_of is None else numbers - self.made_of.drops

    @property
    def source(self) -> str | None:
        """What errors call the files that it is read from, or was; None if it came as data."""
        rows = self._rows.of if isinstance(self._rows, HeldRows) else self._rows
        return named(rows.sources)

    @property
    def tag(self) -> str | None:
        """What a TREC run calls the system, in the sixth column of its last line; else None."""
        return run_tag(self.sources[-1]) if self._rows.form == TREC_RUN else None

    def ranked_by(self, order: Order) -> Order:
        """Return by what the run is ranked if `order` is asked for: a run may have no scores."""
        if order == "rank" and "rank" not in self.numbers:
            if self.nested is not None:
                raise OptionError("order='rank': a run in memory has no rank column")
            raise _no_column(self, "rank")
        if order == "score" and "score" not in self.numbers:
            if "rank" in self.numbers:
                return "rank"
            if not self._rows.is_ranking:
                raise _no_column(self, "score")
            return "given"
        return order

    def blocks(self, order: Order = "score", *, costs: bool = False) -> Iterator[Load]:
        """Return the rows in blocks, with what they are ranked by, and their costs if it has any.

        `costs`: whether these are wanted.
        """
        return self.every_row(self.roles(order, costs=costs))

    def roles(self, order: Order = "score", *, costs: bool = False) -> tuple[Role, ...]:
        """Return the columns that are read to rank it, and for its costs if it has any."""
        by = self.ranked_by(order)
        wanted: list[Role] = [] if by == "given" else [by]
        if costs and "cost" in self.numbers:
            wanted.append("cost")
        return tuple(dict.fromkeys((*wanted, *self.needed)))

    def every_row(self, wanted: Iterable[Role]) -> Iterator[Load]:
        """Return the rows in blocks, with some of the columns of numbers that there are."""
        return self._rows.blocks(tuple(wanted), self.errors)

    def skipping(self) -> "Run":
        """Return the same run, of which rows with a fault are left out and counted."""
        rows = self._rows
        if isinstance(rows, NestedRows) and self.errors == "strict":
            rows = rows.over(rows.data, "skip")
        found = self._with(rows, self.made_of)
        found.errors = "skip"
        return found

    def write(
        self,
        path: Path,
        format: str | None = None,  # noqa: A002 - the word for it
        duplicates: Duplicates = "refuse",
        *,
        progress: ProgressLike = None,
    ) -> Written:
        """Write the run to a file, in the format that its suffix names, or `format`.

        docs/reference/formats.md lists both; .gz, .bz2, .xz, .zst or .lz4 behind the suffix
        compresses. Read back, it is the same run: the rows are in the same order, scores are the
        same doubles. A TREC file has a rank column, too: the run's own, or the ranks by score; and
        a score, where the run has but an order. JSON keeps scores, or, of a run without, the order;
        it alone keeps queries without documents.

        A file is read and written block by block; a run whose queries come back after others is
        held whole. Of a document that occurs more than once for a query, `duplicates` says which
        rows are kept, as in `evaluate`. Raises InputError for what cannot be read, or an id that
        the format cannot hold, OptionError for a suffix that names no format; what was there before
        then stays. `progress` is that of `evaluate`.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = Run({"q1": {"d1": 0.5, "d2": 2.0}}, "mine")
        ...     written = run.write(path := pathlib.Path(folder, "mine.run"))
        ...     print(path.read_text(), end="")
        q1 Q0 d1 2 0.5 mine
        q1 Q0 d2 1 2 mine
        """
        return write_run(self, path, format, duplicates, progress)

    def of(self, query: str, order: Order = "score", *, costs: bool = False) -> "Run":
        """Return the run of one query alone: see `held`."""
        return self.held([query], order, costs=costs)

    def held(
        self, query_ids: Collection[str], order: Order = "score", *, costs: bool = False
    ) -> "Run":
        """Return the run of some queries alone, in memory; it is read once, however many they are.

        A query without rows is one for which it retrieves nothing. It is there to be ranked by
        `order`; `costs`: whether those of its documents are wanted.
        """
        if isinstance(self._rows, NestedRows) and self.nested is not None:
            nested = self.nested
            return self._with(
                self._rows.over({one: nested.get(one, {}) for one in query_ids}), None
            )
        keys = set(map(encode, query_ids))

        def rows(load: Load) -> tuple[Block | None, LeftOut]:
            block = load()
            return block.among(keys), block.left_out

        parts: list[tuple[Block | None, LeftOut]] = []
        if self.errors == "strict" and self.numbers >= {"score", "rank"}:
            # A fault in the rank column does not matter, and any other is raised again below.
            with contextlib.suppress(InputError):
                parts = [*in_threads(rows, self.every_row(in_order(self.numbers)))]
        parts = parts or [*in_threads(rows, self.blocks(order, costs=costs))]
        left_out = sum((left_out for _, left_out in parts), LeftOut())
        blocks = [block for block, _ in parts if block is not None]
        found = joined(blocks) if blocks else no_rows(self.numbers)
        there = found.query.take(found.query.begins()).to_list()
        if len(set(there)) < len(there):  # a query comes back after others
            from cranfield.data.regroup import together

            found = together(found)
        empty = sorted(keys.difference(there))
        held = HeldRows(replace(found, left_out=left_out, empty=empty), self._rows)
        return self._with(held, self.made_of)

    def apart(self) -> "dict[str, Run]":
        """Return a run that `held` returned query by query, each as `of` returns it."""
        if isinstance(self._rows, NestedRows):
            return {one: self.of(one) for one in self._rows.data}
        found = {}
        for load in self._rows.blocks(self._rows.numbers, self.errors):
            every = load()
            begins = every.query.begins()
            queries = every.query.take(begins).to_texts()
            bounds = pairwise([*begins.tolist(), len(every)])
            parts = {one: every.take(slice(*its)) for one, its in zip(queries, bounds, strict=True)}
            for key in every.empty:
                parts[decode(key)] = replace(no_rows(every.columns), empty=[key])
            for query, part in parts.items():
                held = HeldRows(replace(part, left_out=every.left_out), self._rows)
                found[query] = self._with(held, self.made_of)
        return found

    def ranking(self, judging: Judging, *, costs: bool = False) -> Ranking:
        """Return the ranking of a run of one query: see `of`; with its `costs` if it has any."""
        _, found = self._in_order(next(self.blocks(judging.order, costs=costs))(), judging)
        return found._replace(docs=[*found.docs])

    def rankings(self, query_ids: Collection[str], judging: Judging) -> dict[str, Rankings]:
        """Return where the ranking of each of some queries is: `Rankings.of` returns it.

        Each is that of the query alone, without scores and costs; documents are held as bytes. The
        run is read once, block by block; one of which a query comes back after others, once more.
        """
        if self.nested is not None and len(self.nested) > len(query_ids):
            return self.held(query_ids).rankings(query_ids, judging)
        keys = set(map(encode, query_ids))

        def ranked(load: Load) -> tuple[list[bytes], Rankings] | None:
            block = load().among(keys)
            if block is None:
                return None
            whole, every = self._in_order(block, judging)
            bounds = map(slice, whole.starts[:-1].tolist(), whole.starts[1:].tolist())
            rows = dict(zip(whole.queries.to_texts(), bounds, strict=True))
            first, size = every.tie_first.astype(np.int32), every.tie_size.astype(np.int32)
            return whole.queries.to_list(), Rankings(Ranking(every.docs, first, size, None), rows)

        found = dict.fromkeys(query_ids, Rankings.none(query_ids))
        seen: set[bytes] = set()
        for part in in_threads(ranked, self.blocks(judging.order)):
            if part is None:
                continue
            if come_back(part[0], seen):
                return self.held(query_ids, judging.order).rankings(query_ids, judging)
            found |= dict.fromkeys(part[1].rows, part[1])
        return found

    def _in_order(self, block: Block, judging: Judging) -> tuple[Grouped, Ranking]:
        """Rank a block's rows: by query, and those of all queries one below the other."""
        whole = self.grouped(block, judging)
        place = placed(whole, judging, with_ties=True)
        rows = np.lexsort((place.rank, whole.group))
        ranked = whole.block.take(rows)
        docs, scores = IdList(ranked.doc.compact()), None if whole.by is None else ranked.value
        ties = place.tie_first[rows], place.tie_size[rows]
        return whole, Ranking(docs, *ties, scores, ranked.columns.get("cost"))

    def to_dict(self, duplicates: Duplicates = "refuse") -> dict[str, dict[str, float]]:
        """Return `{query_id: {doc_id: score}}`; a run without scores has minus the rank as one.

        Raises DuplicateError for a document that occurs more than once for a query, unless
        `duplicates` keeps the "first" or the "best" of its rows.
        """
        one_of("duplicates", duplicates, ("refuse", "first", "best"))
        by = self.ranked_by("score")

        def used(wholes: Callable[[], Iterator[Grouped]]) -> dict[str, dict[str, float]]:
            found: dict[str, dict[str, float]] = {}
            for whole in wholes():
                block, docs = whole.block, list(map(decode, whole.block.doc.to_list()))
                rank = placed(whole).rank if by == "given" else block.rank
                values = block.value if rank is None else -1.0 * rank
                numbers = [] if values is None else values.tolist()
                queries = whole.queries.to_texts()
                for query, rows in zip(queries, pairwise(whole.starts.tolist()), strict=True):
                    its = slice(*rows)
                    found[query] = dict(zip(docs[its], numbers[its], strict=True))
            return found

        wanted = () if by == "given" else (by,)
        return self.in_whole_queries(wanted, Judging(duplicates=duplicates, order=by), used)


def _no_column(run: Run, name: str) -> InputError:
    """Return the error of a run without scores, or ranks, to rank it by."""
    names = f"; {listed_names(run.rows.names)}" if run.rows.names else ""
    has_distances = name == "score" and any(map(may_be_distance, run.rows.names))
    role = "distance" if has_distances else name
    return InputError(
        f"the run {run.name!r} has no column {name!r}: it was read as {run.form}{names}",
        source=run.source,
        hint=f"To say which is which: columns={{{role!r}: ...}} (or 'rank'), --run-columns "
        f"{role}=...; order='given' (--order given) takes the rows in their order.",
        kind="columns",
    )


def _name_of(sources: Sequence[Source]) -> str:
    """Return the name of a run from some files, or in memory."""
    if not sources:
        return "run"
    from cranfield.formats.files import stem_of

    return stem_of(sources[0])


def read_run(
    path: Path | Sequence[Path],
    name: str | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the word for it
    columns: ColumnsLike | None = None,
    errors: Errors = "strict",
) -> Run:
    """Open a run: a file, a URL, or several files (a list, a glob, a folder) as one table.

    The format is found from content and name, unless `format` says it: one of those that
    docs/reference/formats.md lists.
    Columns are found by name, or as `columns` says, as in `read_qrels`.

    A file is read, in blocks of a few megabytes, whenever the run is evaluated; it may be larger
    than the memory (a run whose queries come back after others has to be held whole). One that has
    changed since it was first read is an InputError: open it again. `-` is the standard input. The
    run's name is the file's, without `.run`, `.txt`, `.gz` and the like, unless `name` says
    otherwise. What is wrong with the file is an InputError of the evaluation, or, with
    `errors="skip"`, left out and counted.

    Args:
        path: the path of a file or folder, a glob, a URL, or several paths.
        name: the name of the run; None: that of the file.
        format: the name of the format; None: it is found.
        columns: which column is which, where that cannot be told by their names.
        errors: "strict" refuses what cannot be used; "skip" leaves it out.

    >>> read_run("demo/bm25.run")
    Run('bm25', 35,069 bytes)

    """
    rows = rows_of(path, What.RUN, columns=columns, errors=errors, format=format, is_path=True)
    return Run(rows, name, errors=errors)


def as_run(data: RunLike, errors: Errors = "strict", columns: ColumnsLike | None = None) -> Run:
    """Return a run from data of any kind: Run, a path, a dict or a table."""
    if isinstance(data, str | os.PathLike):
        return read_run(data, errors=errors, columns=columns)
    return data if isinstance(data, Run) else Run(data, columns=columns, errors=errors)
