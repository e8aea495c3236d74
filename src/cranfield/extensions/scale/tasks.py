"""Tasks: what each machine of an engine does with its part of the rows; Arrow in, Arrow out.

A task has whole queries: the judgments and the runs of a bucket of queries, or a batch of a table
with a row for each query. It computes on one core, as the engine has a task for each.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.arrays.threads import at_most
from cranfield.data.judging import Judging
from cranfield.data.meeting import Meeting
from cranfield.data.qrels import Qrels
from cranfield.data.relevance import NO_JUDGMENT
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.extensions.scale.part import judged_part
from cranfield.formats import both_rows_of, rows_of
from cranfield.formats.block import Errors, Rows
from cranfield.formats.columns import ColumnsLike, ColumnsOfBoth, What
from cranfield.measures import Measure, plan_of
from cranfield.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterator["pa.RecordBatch"]
Names = Literal["plain", "safe"]
BUCKET = "__bucket"
QUERY = "query_id"
ANSWERED = "answered"
_LONGEST = 50_000_000  # rows of one query, which one core has to hold


@dataclass(frozen=True)
class Task:
    """What a task has to know."""

    measures: tuple[Measure, ...]
    judging: Judging
    errors: Errors
    version: str
    judged: ColumnsLike | None = None  # which columns are which, as stated
    ranked: ColumnsLike | None = None
    query: tuple[str, str] = ("", "")  # the column of each side
    by: str | None = None
    systems: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    top_grade: float | None = None
    names: Names = "plain"

    @property
    def columns(self) -> list[str]:
        """The names of the columns of scores."""
        return [_safe(str(one)) if self.names == "safe" else str(one) for one in self.measures]

    def check_version(self) -> None:
        """Raise InputError if another version of the package evaluates."""
        if self.version != __version__:
            raise InputError(
                f"cranfield is {self.version} where the job was started and {__version__} where it "
                "runs: install one version on all machines"
            )


def _safe(name: str) -> str:
    """Return a measure's name with letters, digits and _ alone.

    >>> _safe("nDCG(gain='exp2')@10")
    'nDCG_gain_exp2_at_10'
    """
    return re.sub("[^0-9A-Za-z]+", "_", name.replace("@", " at ")).strip("_")


def of_bucket(task: Task, judged: "pa.Table", ranked: "pa.Table") -> "pa.Table":
    """Return the scores of the queries of a bucket."""
    import pyarrow as pa

    return pa.Table.from_batches(_scores(task, judged, ranked), _schema(task, judged))


def of_partition(task: Task, batches: Batches) -> Batches:
    """Yield the scores of the queries of a partition, whose rows are pairs of both sides."""
    import pyarrow as pa

    several = list(batches)
    if not several:
        return
    whole = pa.Table.from_batches(several)
    pairs = (whole[name].combine_chunks().drop_null() for name in ("judged", "ranked"))
    yield from _scores(task, *map(pa.Table.from_struct_array, pairs))


def _scores(task: Task, judged: "pa.Table", ranked: "pa.Table") -> "list[pa.RecordBatch]":
    """Return the scores of some queries, system by system."""
    task.check_version()
    plan, batches = plan_of(task.measures), []
    with at_most(1):  # Spark has a task for each core
        left = _together(judged, task.query[0])
        right = _together(ranked, task.query[1])
        qrels, values = None, {}
        if left.num_rows:
            rows = left.drop_columns(list(task.keep))
            qrels = _judgments(_rows_of_side(rows, What.QRELS, task.judged, task), task)
            values = _values_of_queries(left, task)
        for system, its in _by_system(right, task):
            run = None
            if its.num_rows:
                rows = _rows_of_side(its, What.RUN, task.ranked, task)
                run = Run(rows, system, errors=task.errors)
            met = judged_part(qrels, run, plan, task.judging, task.top_grade)
            if met.query_ids:
                batches.append(_batch(task, system, met, left, values))
    return batches


def _rows_of_side(table: "pa.Table", what: What, columns: ColumnsLike | None, task: Task) -> Rows:
    """Return the rows of one side, whose errors say what to do with tables of Spark."""
    rows = rows_of(table, what, columns=columns, errors=task.errors)
    rows.form = f"Spark {what.word}"
    return rows


def _judgments(rows: Any, task: Task) -> Qrels | None:
    """Return judgments; None where all rows of a part are left out."""
    try:
        return Qrels(rows, None, task.errors, task.judging.duplicates)
    except InputError as error:
        if error.kind != NO_JUDGMENT or task.errors != "skip":
            raise
        return None


def _together(table: "pa.Table", query: str) -> "pa.Table":
    """Return a table with the rows of each query one after the other, without their bucket.

    Raises InputError for a query with more rows than one core can hold.
    """
    table = table.combine_chunks()
    if BUCKET in table.column_names:
        table = table.drop_columns([BUCKET])
    if not table.num_rows:
        return table
    column = table[query].combine_chunks().dictionary_encode()
    codes = np.asarray(column.indices.fill_null(-1))
    if len(codes) > _LONGEST:
        sizes = np.bincount(codes + 1)
        longest = int(sizes.argmax())
        if sizes[longest] > _LONGEST:
            name = None if longest == 0 else column.dictionary[longest - 1].as_py()
            raise InputError(
                f"query {name!r} has {sizes[longest]:,} rows, more than {_LONGEST:,}: keep its "
                "highest-ranked ones in SQL before (row_number() over a window)"
            )
    starts = np.count_nonzero(codes[1:] != codes[:-1]) + 1
    if starts > len(column.dictionary) + bool(column.null_count):
        table = table.take(np.argsort(codes, kind="stable"))
    return table


def _by_system(ranked: "pa.Table", task: Task) -> "Iterator[tuple[str, pa.Table]]":
    """Yield the rows of each system; InputError for rows of none, or of one that is not listed.

    With errors="skip", such rows are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if task.by is None:
        yield "run", ranked
        return
    names = ranked[task.by].cast(pa.string())
    rows = ranked.drop_columns([task.by])
    others = {*names.unique().to_pylist()} - {*task.systems}
    if None in others and task.errors == "strict":
        raise InputError(
            f"the run has rows without a system: {task.by} is null",
            hint="errors='skip' leaves them out.",
        )
    if others and task.errors == "strict":
        raise InputError(
            f"the run has rows of system {min(others)!r:.80}, and systems= lists "
            f"{', '.join(task.systems):.200}",
            hint="Add it there; errors='skip' leaves such rows out.",
        )
    for system in task.systems:
        yield system, rows.filter(pc.equal(names, system)) if len(names) else rows


def _values_of_queries(judged: "pa.Table", task: Task) -> dict[str, int]:
    """Return the first row of each query; InputError where a kept column has two values."""
    import pyarrow as pa

    if not task.keep:
        return {}
    query = judged[task.query[0]].cast(pa.string())
    keyed = judged.select(task.keep).append_column("__query", query)
    row = pa.array(np.arange(len(query)))
    grouped = keyed.append_column("__row", row).group_by("__query", use_threads=False)
    found = grouped.aggregate([("__row", "min")])
    rows = dict(zip(found["__query"].to_pylist(), found["__row_min"].to_pylist(), strict=True))
    different = keyed.group_by([*task.keep, "__query"], use_threads=False).aggregate([])
    if len(different) > len(rows):
        names = different["__query"].to_pylist()
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the rows of query {twice!r} have several values in {', '.join(task.keep)}: what is "
            "kept must be a property of the query"
        )
    return rows


def _schema(task: Task, judged: "pa.Table") -> "pa.Schema":
    """Return the columns of the scores; what is kept has the types of the judgments' columns."""
    import pyarrow as pa

    fields = [] if task.by is None else [(task.by, pa.string())]
    fields.append((QUERY, pa.string()))
    fields += [(name, judged.schema.field(name).type) for name in task.keep]
    fields.append((ANSWERED, pa.bool_()))
    for one, name in zip(task.measures, task.columns, strict=True):
        fields.append((name, pa.string() if one.definition.is_text else pa.float64()))
    return pa.schema(fields)


def _batch(
    task: Task, system: str, meeting: Meeting, judged: "pa.Table", rows: Mapping[str, int]
) -> "pa.RecordBatch":
    """Return the scores of a system's queries as rows; `rows` has a query's row of `judged`."""
    import pyarrow as pa

    schema, query_ids = _schema(task, judged), list(meeting.query_ids)
    places = pa.array([rows.get(query_id) for query_id in query_ids], pa.int64())
    scores = plan_of(task.measures).values(meeting.judged)
    answered = np.broadcast_to(meeting.judged.n_retrieved[:, 0] > 0, len(query_ids))
    known: dict[str, Any] = dict(zip(task.columns, scores.T.tolist(), strict=True))
    known |= {QUERY: query_ids, ANSWERED: answered.tolist()}
    if task.by is not None:
        known[task.by] = [system] * len(query_ids)
    arrays = []
    for field in schema:
        if field.name in task.keep:
            kept = judged[field.name].combine_chunks()
            none = pa.nulls(len(query_ids), field.type)
            arrays.append(kept.take(places) if len(kept) else none)
        else:
            arrays.append(pa.array(known[field.name], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_of_arrays(task: Task, columns: ColumnsOfBoth | None, batches: Batches) -> Batches:
    """Yield the scores of a table with a row for each query, batch by batch."""
    import pyarrow as pa

    task.check_version()
    for batch in batches:
        with at_most(1):
            found = _of_arrays(task, columns, pa.Table.from_batches([batch]))
        if found is not None:
            yield found


def _of_arrays(
    task: Task, columns: ColumnsOfBoth | None, table: "pa.Table"
) -> "pa.RecordBatch | None":
    """Return the scores of a batch of queries; None if none of them counts."""
    if not table.num_rows:
        return None
    plan, rows = plan_of(task.measures), table.drop_columns(list(task.keep))
    judged, ranked = both_rows_of(rows, columns=columns, errors=task.errors)
    qrels = _judgments(judged, task)
    run = Run(ranked, "run", errors=task.errors)
    met = judged_part(qrels, run, plan, task.judging, task.top_grade)
    if not met.query_ids:
        return None
    own = replace(task, query=(judged.taken["query"], ""))
    return _batch(task, "run", met, table, _values_of_queries(table, own))
