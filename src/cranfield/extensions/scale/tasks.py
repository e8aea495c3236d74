"""Tasks: each scores a part of the rows on a machine of an engine; Arrow in, Arrow out.

A task has whole queries: the judgments and the runs of a bucket of queries, or a batch of a table
with a row for each query. It computes on one core, as the engine has a task for each.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.arrays.threads import limit_threads
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.relevance import NO_JUDGMENT
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.extensions.scale.part import judge_part
from cranfield.formats import read_both_sides, read_rows
from cranfield.formats.block import Errors, Rows
from cranfield.formats.columns import ColumnsLike, ColumnsOfBoth, Side
from cranfield.measures import Measure, find_plan
from cranfield.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterator["pa.RecordBatch"]
Names = Literal["plain", "safe"]  # of columns of scores: as measures are written, or `_safe_name`
# Columns of what tasks get or return.
BUCKET = "__bucket"
QUERY = "query_id"
ANSWERED = "answered"  # whether the run has a document for the query
SINGLE_SYSTEM = "run"  # the name of a run of one system
_MAX_QUERY_ROWS = 50_000_000  # rows of one query, which one core has to hold


@dataclass(frozen=True)
class Task:
    """The measures and options of an evaluation, which every task gets."""

    measures: tuple[Measure, ...]
    judging: Judging
    errors: Errors
    version: str  # of the package, where the job was started
    qrels_columns: ColumnsLike | None = None  # {role: name}, as the user stated them
    run_columns: ColumnsLike | None = None
    query_columns: tuple[str, str] = ("", "")  # of the judgments, of the run
    by: str | None = None  # the run's column of systems; None: the run has one system
    systems: tuple[str, ...] = ()  # that are scored, with `by`
    keep: tuple[str, ...] = ()  # columns of the judgments, which scores get, too
    top_grade: float | None = None  # of the collection; None: no measure depends on it
    names: Names = "plain"

    @property
    def score_columns(self) -> list[str]:
        """The names of the columns of scores."""
        return [
            _safe_name(str(measure)) if self.names == "safe" else str(measure)
            for measure in self.measures
        ]

    @property
    def system_names(self) -> tuple[str, ...]:
        """The names of all systems."""
        return self.systems or (SINGLE_SYSTEM,)

    def check_version(self) -> None:
        """Raise InputError if another version of the package evaluates."""
        if self.version != __version__:
            raise InputError(
                f"cranfield is {self.version} where the job was started and {__version__} where it "
                "runs: install one version on all machines"
            )


def _safe_name(name: str) -> str:
    """Return a measure's name with letters, digits and _ alone.

    >>> _safe_name("nDCG(gain='exp2')@10")
    'nDCG_gain_exp2_at_10'
    """
    return re.sub("[^0-9A-Za-z]+", "_", name.replace("@", " at ")).strip("_")


def score_bucket(task: Task, qrels_table: "pa.Table", run_table: "pa.Table") -> "pa.Table":
    """Return the scores of the queries of a bucket."""
    import pyarrow as pa

    return pa.Table.from_batches(
        _score_queries(task, qrels_table, run_table), _make_schema(task, qrels_table)
    )


def score_partition(task: Task, batches: Batches) -> Batches:
    """Yield the scores of the queries of a partition, whose rows are pairs of both sides."""
    import pyarrow as pa

    batch_list = list(batches)
    if not batch_list:
        return
    table = pa.Table.from_batches(batch_list)
    sides = (table[name].combine_chunks().drop_null() for name in ("judged", "ranked"))
    yield from _score_queries(task, *map(pa.Table.from_struct_array, sides))


def _score_queries(
    task: Task, qrels_table: "pa.Table", run_table: "pa.Table"
) -> "list[pa.RecordBatch]":
    """Return the scores of some queries, system by system."""
    task.check_version()
    plan, batches = find_plan(task.measures), []
    with limit_threads(1):  # Spark has a task for each core
        qrels_rows = _gather_queries(qrels_table, task.query_columns[0])
        run_rows = _gather_queries(run_table, task.query_columns[1])
        qrels, first_row_of_query = None, {}
        if qrels_rows.num_rows:
            judgments = qrels_rows.drop_columns(list(task.keep))
            qrels = _make_qrels(_read_side(judgments, Side.QRELS, task.qrels_columns, task), task)
            first_row_of_query = _first_row_of_queries(qrels_rows, task)
        for system, system_rows in _split_by_system(run_rows, task):
            run = None
            if system_rows.num_rows:
                rows = _read_side(system_rows, Side.RUN, task.run_columns, task)
                run = Run(rows, system, errors=task.errors)
            matched_run = judge_part(qrels, run, plan, task.judging, task.top_grade)
            if matched_run.query_ids:
                batches.append(
                    _make_batch(task, system, matched_run, qrels_rows, first_row_of_query)
                )
    return batches


def _read_side(table: "pa.Table", side: Side, user_columns: ColumnsLike | None, task: Task) -> Rows:
    """Return the rows of one side, whose errors say what to do with tables of Spark."""
    rows = read_rows(table, side, columns=user_columns, errors=task.errors)
    rows.description = f"Spark {side.word}"
    return rows


def _make_qrels(rows: Any, task: Task) -> Qrels | None:
    """Return judgments; None where errors="skip" leaves all rows of a part out."""
    try:
        return Qrels(rows, None, task.errors, task.judging.duplicates)
    except InputError as error:
        if error.kind != NO_JUDGMENT or task.errors != "skip":
            raise
        return None


def _gather_queries(table: "pa.Table", query_column: str) -> "pa.Table":
    """Return a table with the rows of each query one after the other, without their bucket.

    Raises InputError for a query with more rows than one core can hold.
    """
    table = table.combine_chunks()
    if BUCKET in table.column_names:
        table = table.drop_columns([BUCKET])
    if not table.num_rows:
        return table
    column = table[query_column].combine_chunks().dictionary_encode()
    codes = np.asarray(column.indices.fill_null(-1))
    if len(codes) > _MAX_QUERY_ROWS:
        sizes = np.bincount(codes + 1)
        longest = int(sizes.argmax())
        if sizes[longest] > _MAX_QUERY_ROWS:
            name = None if longest == 0 else column.dictionary[longest - 1].as_py()
            raise InputError(
                f"query {name!r} has {sizes[longest]:,} rows, more than {_MAX_QUERY_ROWS:,}: keep "
                "its highest-ranked ones in SQL before (row_number() over a window)"
            )
    starts = np.count_nonzero(codes[1:] != codes[:-1]) + 1
    if starts > len(column.dictionary) + bool(column.null_count):
        table = table.take(np.argsort(codes, kind="stable"))
    return table


def _split_by_system(run_table: "pa.Table", task: Task) -> "Iterator[tuple[str, pa.Table]]":
    """Yield the rows of each system; InputError for rows of none, or of one that is not listed.

    With errors="skip", such rows are left out. Without `task.by`, there is one system.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if task.by is None:
        yield SINGLE_SYSTEM, run_table
        return
    names = run_table[task.by].cast(pa.string())
    rows = run_table.drop_columns([task.by])
    unlisted_systems = {*names.unique().to_pylist()} - {*task.systems}
    if None in unlisted_systems and task.errors == "strict":
        raise InputError(
            f"the run has rows without a system: {task.by} is null",
            hint="errors='skip' leaves them out.",
        )
    if unlisted_systems and task.errors == "strict":
        raise InputError(
            f"the run has rows of system {min(unlisted_systems)!r:.80}, and systems= lists "
            f"{', '.join(task.systems):.200}",
            hint="Add it there; errors='skip' leaves such rows out.",
        )
    for system in task.systems:
        yield system, rows.filter(pc.equal(names, system)) if len(names) else rows


def _first_row_of_queries(qrels_table: "pa.Table", task: Task) -> dict[str, int]:
    """Return {query: first row}, {} if nothing is kept; InputError for two values of a query."""
    import pyarrow as pa

    if not task.keep:
        return {}
    query = qrels_table[task.query_columns[0]].cast(pa.string())
    rows_with_query = qrels_table.select(task.keep).append_column("__query", query)
    row = pa.array(np.arange(len(query)))
    rows_of_query = rows_with_query.append_column("__row", row).group_by(
        "__query", use_threads=False
    )
    first_rows = rows_of_query.aggregate([("__row", "min")])
    row_of_query = dict(
        zip(first_rows["__query"].to_pylist(), first_rows["__row_min"].to_pylist(), strict=True)
    )
    distinct_rows = rows_with_query.group_by([*task.keep, "__query"], use_threads=False).aggregate(
        []
    )
    if len(distinct_rows) > len(row_of_query):
        names = distinct_rows["__query"].to_pylist()
        mixed_query = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the rows of query {mixed_query!r} have several values in {', '.join(task.keep)}: "
            "what is kept must be a property of the query"
        )
    return row_of_query


def _make_schema(task: Task, qrels_table: "pa.Table") -> "pa.Schema":
    """Return the columns of the scores; what is kept has the types of the judgments' columns."""
    import pyarrow as pa

    fields = [] if task.by is None else [(task.by, pa.string())]
    fields.append((QUERY, pa.string()))
    fields += [(name, qrels_table.schema.field(name).type) for name in task.keep]
    fields.append((ANSWERED, pa.bool_()))
    for measure, name in zip(task.measures, task.score_columns, strict=True):
        fields.append((name, pa.string() if measure.definition.is_text else pa.float64()))
    return pa.schema(fields)


def _make_batch(
    task: Task,
    system: str,
    matched_run: MatchedRun,
    qrels_table: "pa.Table",
    row_of_query: Mapping[str, int],
) -> "pa.RecordBatch":
    """Return the scores of a system's queries; `row_of_query` are rows of `qrels_table`."""
    import pyarrow as pa

    schema, query_ids = _make_schema(task, qrels_table), list(matched_run.query_ids)
    row = pa.array([row_of_query.get(query_id) for query_id in query_ids], pa.int64())
    scores = find_plan(task.measures).values(matched_run.judged)
    is_answered = np.broadcast_to(matched_run.judged.n_retrieved[:, 0] > 0, len(query_ids))
    column_of_name: dict[str, Any] = dict(zip(task.score_columns, scores.T.tolist(), strict=True))
    column_of_name |= {QUERY: query_ids, ANSWERED: is_answered.tolist()}
    if task.by is not None:
        column_of_name[task.by] = [system] * len(query_ids)
    arrays = []
    for field in schema:
        if field.name in task.keep:
            source_column = qrels_table[field.name].combine_chunks()
            nulls = pa.nulls(len(query_ids), field.type)
            arrays.append(source_column.take(row) if len(source_column) else nulls)
        else:
            arrays.append(pa.array(column_of_name[field.name], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def score_arrays(task: Task, columns: ColumnsOfBoth | None, batches: Batches) -> Batches:
    """Yield the scores of a table with a row for each query, batch by batch, if there are any."""
    import pyarrow as pa

    task.check_version()
    for batch in batches:
        for system, rows in _split_by_system(pa.Table.from_batches([batch]), task):
            with limit_threads(1):
                scores = _score_batch(task, columns, system, rows)
            if scores is not None:
                yield scores


def _score_batch(
    task: Task, columns: ColumnsOfBoth | None, system: str, table: "pa.Table"
) -> "pa.RecordBatch | None":
    """Return the scores of a system's queries of a batch; None if no query is averaged."""
    if not table.num_rows:
        return None
    plan, rows = find_plan(task.measures), table.drop_columns(list(task.keep))
    qrels_rows, run_rows = read_both_sides(rows, columns=columns, errors=task.errors)
    qrels = _make_qrels(qrels_rows, task)
    run = Run(run_rows, system, errors=task.errors)
    matched_run = judge_part(qrels, run, plan, task.judging, task.top_grade)
    if not matched_run.query_ids:
        return None
    table_task = replace(task, query_columns=(qrels_rows.name_of_role["query"], ""))
    return _make_batch(task, system, matched_run, table, _first_row_of_queries(table, table_task))
