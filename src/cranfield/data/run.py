"""Run: the ranking of one system, which `judge` reads whenever it is evaluated."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.ids import IdList, decode, encode
from cranfield.arrays.threads import map_in_threads
from cranfield.data.altered import RunOperations
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, rank_documents, register_queries
from cranfield.data.ranking import Ranking, Rankings
from cranfield.data.written import Written, write_run
from cranfield.errors import InputError, OptionError, check_choice
from cranfield.formats import read_rows
from cranfield.formats.block import (
    Block,
    Duplicates,
    Errors,
    FaultyRows,
    Load,
    MemoryRows,
    Order,
    Role,
    Rows,
    empty_block,
    join_blocks,
)
from cranfield.formats.columns import ColumnsLike, Side, describe_names, may_be_distance, sort_roles
from cranfield.formats.dict_rows import NestedRows
from cranfield.formats.shapes import ArrowTable, LazyTable, Sparse
from cranfield.formats.source import File, Path, describe_sources
from cranfield.formats.trec import TREC_RUN, run_tag
from cranfield.notes import Note
from cranfield.progress import ProgressLike
from cranfield.render.numbers import format_count, format_query_count

RunLike = Union[
    "Run",
    File,
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


class Run(RunOperations):
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
        self._rows = rows = read_rows(data, Side.RUN, columns=columns, errors=errors)
        if name is None and rows.run_name is None and rows.sources:
            from cranfield.formats.files import stem_of

            name = stem_of(rows.sources[0])
        self.name = rows.run_name or "run" if name is None else name
        self.errors: Errors = errors
        self.docs_of_query = getattr(rows, "data", None)
        self.sources = rows.sources
        self.left_out = rows.left_out
        self.notes: tuple[Note, ...] = ()  # on the table that holds it
        if duplicates != "refuse":
            check_choice("duplicates", duplicates, ("refuse", "first", "best"))
            vars(self).update(vars(self._drop_repeats(duplicates)))

    def __repr__(self) -> str:
        if self.docs_of_query is not None:
            n_docs = format_count(sum(map(len, self.docs_of_query.values())), "document")
            size = f"{format_query_count(len(self.docs_of_query))}, {n_docs}"
        elif self._rows.n_rows is not None:
            size = format_count(self._rows.n_rows, "row")
        else:
            sizes = [source.size for source in self.sources]
            n_bytes = [size for size in sizes if size is not None]
            size = format_count(sum(n_bytes), "byte") if n_bytes and n_bytes == sizes else ""
        return f"Run({self.name!r}, {size})" if size else f"Run({self.name!r})"

    def _make_run(self, run: Any) -> "Run":
        return make_run(run)

    @property
    def description(self) -> str:
        """The format that the data were read as, in words."""
        return self._rows.description + (
            "" if self.conversion is None else f"; {self.conversion.description}"
        )

    @property
    def is_text(self) -> bool:
        """Whether it is read from lines of text."""
        return self._rows.is_text

    @property
    def extra_roles(self) -> frozenset[Role]:
        """Which columns of numbers the run has: "score", "rank", both or none; "cost"."""
        numbers = self._rows.extra_roles
        return numbers if self.conversion is None else numbers - self.conversion.dropped_roles

    @property
    def source(self) -> str | None:
        """What errors call the files that it is read from, or was; None if it came as data."""
        rows = self._rows.source_rows if isinstance(self._rows, MemoryRows) else self._rows
        return describe_sources(rows.sources)

    @property
    def tag(self) -> str | None:
        """What a TREC run calls the system, in the sixth column of its last line; else None."""
        return run_tag(self.sources[-1]) if self._rows.description == TREC_RUN else None

    def resolve_order(self, order: Order) -> Order:
        """Return what ranks the run if `order` is asked for: a run may have no scores."""
        if order == "rank" and "rank" not in self.extra_roles:
            if self.docs_of_query is not None:
                raise OptionError("order='rank': a run in memory has no rank column")
            raise _missing_column_error(self, "rank")
        if order == "score" and "score" not in self.extra_roles:
            if "rank" in self.extra_roles:
                return "rank"
            if not self._rows.is_ranking:
                raise _missing_column_error(self, "score")
            return "given"
        return order

    def blocks(self, order: Order = "score", *, costs: bool = False) -> Iterator[Load]:
        """Return the rows in blocks, with the column that ranks them, and costs.

        `costs`: whether a column of costs is read, if there is one.
        """
        return self.read_columns(self.roles(order, costs=costs))

    def roles(self, order: Order = "score", *, costs: bool = False) -> tuple[Role, ...]:
        """Return the columns that are read to rank the run, and for its costs if it has any."""
        ranking_role = self.resolve_order(order)
        roles: list[Role] = [] if ranking_role == "given" else [ranking_role]
        if costs and "cost" in self.extra_roles:
            roles.append("cost")
        return tuple(dict.fromkeys((*roles, *self.needed_roles)))

    def skip_faults(self) -> "Run":
        """Return the same run, which leaves rows with a fault out and counts them."""
        rows = self._rows
        if isinstance(rows, NestedRows) and self.errors == "strict":
            rows = rows.with_data(rows.data, "skip")
        run = self._replace_rows(rows, self.conversion)
        run.errors = "skip"
        return run

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

    def select_query(self, query: str, order: Order = "score", *, costs: bool = False) -> "Run":
        """Return the run of one query alone: see `select_queries`."""
        return self.select_queries([query], order, costs=costs)

    def select_queries(
        self, query_ids: Collection[str], order: Order = "score", *, costs: bool = False
    ) -> "Run":
        """Return the run of some queries alone, in memory; the run is read once.

        For a query without rows, it retrieves nothing. The rows have what ranks them by `order`;
        `costs`: whether they have the costs of documents, too.
        """
        if isinstance(self._rows, NestedRows) and self.docs_of_query is not None:
            docs_of_query = {query: self.docs_of_query.get(query, {}) for query in query_ids}
            return self._replace_rows(self._rows.with_data(docs_of_query), None)
        keys = set(map(encode, query_ids))

        def select_rows(load: Load) -> tuple[Block | None, FaultyRows]:
            block = load()
            return block.select_queries(keys), block.left_out

        selections: list[tuple[Block | None, FaultyRows]] = []
        if self.errors == "strict" and self.extra_roles >= {"score", "rank"}:
            # A fault in the rank column does not matter, and any other is raised again below.
            with contextlib.suppress(InputError):
                loads = self.read_columns(sort_roles(self.extra_roles))
                selections = [*map_in_threads(select_rows, loads)]
        selections = selections or [*map_in_threads(select_rows, self.blocks(order, costs=costs))]
        left_out = sum((left_out for _, left_out in selections), FaultyRows())
        blocks = [block for block, _ in selections if block is not None]
        block = join_blocks(blocks) if blocks else empty_block(self.extra_roles)
        queries = block.query.take(block.query.find_changes()).to_list()
        if len(set(queries)) < len(queries):  # a query comes back after others
            from cranfield.data.regroup import gather_queries

            block = gather_queries(block)
        empty_queries = sorted(keys.difference(queries))
        block = replace(block, left_out=left_out, empty_queries=empty_queries)
        return self._replace_rows(MemoryRows(block, self._rows), self.conversion)

    def split_queries(self) -> "dict[str, Run]":
        """Return {query: run of that query} of a run that `select_queries` returned."""
        if isinstance(self._rows, NestedRows):
            return {query: self.select_query(query) for query in self._rows.data}
        run_of_query = {}
        for load in self.read_columns(self._rows.extra_roles):
            block = load()
            first_rows = block.query.find_changes()
            queries = block.query.take(first_rows).to_texts()
            bounds = pairwise([*first_rows.tolist(), len(block)])
            block_of_query = {
                query: block.take(slice(begin, end))
                for query, (begin, end) in zip(queries, bounds, strict=True)
            }
            for key in block.empty_queries:
                no_rows = replace(empty_block(block.columns), empty_queries=[key])
                block_of_query[decode(key)] = no_rows
            for query, query_block in block_of_query.items():
                rows = MemoryRows(replace(query_block, left_out=block.left_out), self._rows)
                run_of_query[query] = self._replace_rows(rows, self.conversion)
        return run_of_query

    def read_ranking(self, judging: Judging, *, costs: bool = False) -> Ranking:
        """Return the ranking of a run of one query, of `select_query`; with costs if it has any."""
        _, ranking = self._rank_block(next(self.blocks(judging.order, costs=costs))(), judging)
        return ranking._replace(docs=[*ranking.docs])

    def read_rankings(self, query_ids: Collection[str], judging: Judging) -> dict[str, Rankings]:
        """Return {query: rankings that hold the query's ranking}, for `Rankings.select_query`.

        Rankings have no scores and costs; documents are held as bytes. The run is read once, block
        by block; once more if a query comes back after others.
        """
        if self.docs_of_query is not None and len(self.docs_of_query) > len(query_ids):
            return self.select_queries(query_ids).read_rankings(query_ids, judging)
        keys = set(map(encode, query_ids))

        def rank_load(load: Load) -> tuple[list[bytes], Rankings] | None:
            block = load().select_queries(keys)
            if block is None:
                return None
            grouped_block, ranking = self._rank_block(block, judging)
            queries, starts = grouped_block.queries, grouped_block.starts
            bounds = map(slice, starts[:-1].tolist(), starts[1:].tolist())
            rows_of_query = dict(zip(queries.to_texts(), bounds, strict=True))
            tie_first = ranking.tie_first.astype(np.int32)
            tie_size = ranking.tie_size.astype(np.int32)
            ranking = Ranking(ranking.docs, tie_first, tie_size, None)
            return queries.to_list(), Rankings(ranking, rows_of_query)

        rankings_of_query = dict.fromkeys(query_ids, Rankings.empty(query_ids))
        earlier_queries: set[bytes] = set()
        for ranked_block in map_in_threads(rank_load, self.blocks(judging.order)):
            if ranked_block is None:
                continue
            queries, rankings = ranked_block
            if register_queries(queries, earlier_queries):
                run = self.select_queries(query_ids, judging.order)
                return run.read_rankings(query_ids, judging)
            rankings_of_query |= dict.fromkeys(rankings.rows_of_query, rankings)
        return rankings_of_query

    def _rank_block(self, block: Block, judging: Judging) -> tuple[GroupedBlock, Ranking]:
        """Return a block's rows by query, and the rankings of its queries one after the other."""
        grouped_block = self.group_block(block, judging)
        placement = rank_documents(grouped_block, judging)
        rows = np.lexsort((placement.rank, grouped_block.group))
        block = grouped_block.block.take(rows)
        ranking = Ranking(
            IdList(block.doc.compact()),
            placement.tie_first[rows],
            placement.tie_size[rows],
            None if grouped_block.sort_score is None else block.score_or_grade,
            block.columns.get("cost"),
        )
        return grouped_block, ranking

    def to_dict(self, duplicates: Duplicates = "refuse") -> dict[str, dict[str, float]]:
        """Return `{query_id: {doc_id: score}}`; a run without scores has minus the rank as one.

        Raises DuplicateError for a document that occurs more than once for a query, unless
        `duplicates` keeps the "first" or the "best" of its rows.
        """
        check_choice("duplicates", duplicates, ("refuse", "first", "best"))
        ranking_role = self.resolve_order("score")

        def convert_blocks(
            grouped_blocks: Callable[[], Iterator[GroupedBlock]],
        ) -> dict[str, dict[str, float]]:
            docs_of_query: dict[str, dict[str, float]] = {}
            for grouped_block in grouped_blocks():
                block = grouped_block.block
                docs = list(map(decode, block.doc.to_list()))
                rank = rank_documents(grouped_block).rank if ranking_role == "given" else block.rank
                score = block.score_or_grade if rank is None else -1.0 * rank
                scores = [] if score is None else score.tolist()
                queries, bounds = grouped_block.queries.to_texts(), grouped_block.starts.tolist()
                for query, (begin, end) in zip(queries, pairwise(bounds), strict=True):
                    pairs = zip(docs[begin:end], scores[begin:end], strict=True)
                    docs_of_query[query] = dict(pairs)
            return docs_of_query

        roles = () if ranking_role == "given" else (ranking_role,)
        judging = Judging(duplicates=duplicates, order=ranking_role)
        return self.read_whole_queries(roles, judging, convert_blocks)


def _missing_column_error(run: Run, name: str) -> InputError:
    """Return the error of a run without scores, or ranks, to rank it by."""
    names = f"; {describe_names(run.rows.column_names)}" if run.rows.column_names else ""
    has_distances = name == "score" and any(map(may_be_distance, run.rows.column_names))
    role = "distance" if has_distances else name
    return InputError(
        f"the run {run.name!r} has no column {name!r}: it was read as {run.description}{names}",
        source=run.source,
        hint=f"To say which is which: columns={{{role!r}: ...}} (or 'rank'), --columns "
        f"{role}=...; order='given' (--order given) takes the rows in their order.",
        kind="columns",
    )


def read_run(
    path: File | Sequence[File],
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
        path: the path of a file or folder, a glob, a URL, an open file, or several of them.
        name: the name of the run; None: that of the file.
        format: the name of the format; None: it is found.
        columns: which column is which, where that cannot be told by their names.
        errors: "strict" refuses what cannot be used; "skip" leaves it out.

    >>> read_run("demo/bm25.run")
    Run('bm25', 35,069 bytes)

    """
    rows = read_rows(path, Side.RUN, columns=columns, errors=errors, format=format, is_path=True)
    return Run(rows, name, errors=errors)


def make_run(
    run: RunLike,
    errors: Errors = "strict",
    columns: ColumnsLike | None = None,
    format: str | None = None,  # noqa: A002 - the word for it
) -> Run:
    """Return a run from data of any kind: Run, a path, a dict or a table."""
    if isinstance(run, str | os.PathLike):
        return read_run(run, format=format, errors=errors, columns=columns)
    return run if isinstance(run, Run) else Run(run, columns=columns, errors=errors)
