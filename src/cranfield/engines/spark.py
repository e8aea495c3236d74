"""Spark: judgments and runs that are DataFrames, evaluated where they are.

`evaluate` returns a DataFrame with a row for each query; `summarize` and `compare` make means,
intervals and tests of it. All three are lazy, as Spark is: every action on a result computes it
again, so that the scores of queries are best written to a table first.

Rows are dealt to buckets by the hash of their query, and each bucket is evaluated by the functions
that `cranfield.evaluate` uses, on one core. So each query's score has the bits that it has on one
machine, and exact sums give the same means for any number of partitions. Only `mapInArrow` and
`applyInArrow` are used, which work under Spark Connect, too.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from cranfield.data.judging import Judging, JudgingOptions
from cranfield.data.relevance import no_judgment
from cranfield.engines.sharing import count_queries, refuse_strangers
from cranfield.engines.tasks import (
    ANSWERED,
    BUCKET,
    QUERY,
    Names,
    Task,
    of_bucket,
    of_partition,
    rows_of_arrays,
    two_frames_error,
)
from cranfield.engines.totals import COUNTS, MEASURE, ROLE, column, compare, quoted, summarize
from cranfield.errors import DuplicateError, InputError, MeasureError, OptionError, one_of
from cranfield.formats.block import Errors, LeftOut, Role, check_errors
from cranfield.formats.columns import IDS, ColumnsLike, ColumnsOfBoth, What, plain_name
from cranfield.formats.fields import Fields, fields_of
from cranfield.formats.header import columns_for, take_columns
from cranfield.formats.systems import SYSTEMS
from cranfield.measures import Measure
from cranfield.options import checked, level, refuse_others, takes, whole
from cranfield.scoring.evaluate import DEFAULT_MEASURES, MeasuresLike, measures_of
from cranfield.scoring.tally import depends_on_top
from cranfield.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["compare", "evaluate", "summarize"]

_USUAL = DEFAULT_MEASURES.removesuffix(" Judged@10")
_ROWS_IN_BUCKET = 1_000_000
_DOCUMENTS_IN_ARRAY = 100  # about as many, as recommenders return
_ROWS_WORTH_A_BUCKET = 20_000  # with fewer, starting a task takes longer than its work


# ---- evaluate -----------------------------------------------------------------------------------


@takes(Judging)
def evaluate(
    qrels: "DataFrame",
    run: "DataFrame | MeasuresLike | None" = None,
    measures: MeasuresLike = _USUAL,
    *,
    by: str | None = None,
    systems: Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    columns: ColumnsOfBoth | None = None,
    errors: Errors = "strict",
    top_grade: float | None = None,
    buckets: int | None = None,
    names: Names = "plain",
    **judging: Unpack[JudgingOptions],
) -> "DataFrame":
    """Return a DataFrame with the scores of each query, computed by Spark.

    Its columns are the system (with `by`), `query_id`, what `keep` names, `answered` (whether the
    run has the query), and one for each measure. It is lazy: write it to a table before it is used
    twice. What is counted is counted at once: rows, queries, and whether the two sides have any
    document in common. docs/background/scale.md has an example.

    Args:
        qrels: judgments, with columns such as query_id, doc_id and relevance, found by their names
            as everywhere. A column of arrays holds several documents. Or a table with the expected
            and the retrieved documents of each query in arrays; then there is no `run`.
        run: what was retrieved, with columns such as query_id, doc_id and score or rank; or, where
            there is none, the measures.
        measures: names or Measure values, as `cranfield.evaluate` takes them.
        by: the column of the run with the name of the system, if it holds several. Every system
            has a row for every query that is averaged.
        systems: all the names in that column. None: those that occur.
        keep: columns of the judgments to keep, which have one value for each query, as its type.
        columns: which column is which, where that cannot be told by their names, as in
            `cranfield.evaluate`.
        errors: "strict" ends the job at the first row that cannot be used; "skip" leaves such rows
            out.
        top_grade: the highest grade. None: the highest that occurs.
        buckets: into how many parts the queries are divided; each is held in memory by one task.
            None: one for a million rows of the run.
        names: "plain" names columns as measures are written, nDCG@10; "safe" with letters, digits
            and _ alone, for tables that take nothing else.
        **judging: each option of `Judging`; not order="given", as Spark keeps no order of rows.

    Raises:
        InputError: a column is missing or of another type, or there is no judgment. What is wrong
            with rows is raised by the action that reads them, and names query and document.
        NothingSharedError: a system shares no query with the judgments, or ids are spelt otherwise.
        MeasureError: a measure that does not exist, or is declared where no other machine finds it.
        OptionError: an option with a value that is not one of its choices.

    """
    refuse_others(evaluate, judging)
    check_errors(errors)
    one_of("names", names, ("plain", "safe"))
    how = Judging(**judging)
    _check_frame(qrels)
    if run is not None and not hasattr(run, "mapInArrow"):
        if not isinstance(run, str | Measure | list | tuple):
            _check_frame(run)
        run, measures = None, run  # type: ignore[assignment] # measures in the place of the run
    wanted = measures_of(measures)
    _check_found_elsewhere(wanted)
    kept = [keep] if isinstance(keep, str) else list(keep)
    task = Task(wanted, how, errors, __version__, keep=tuple(kept), names=names)
    if run is None:
        if by is not None or systems is not None:
            raise OptionError("by and systems are for a run of its own: the table has one system")
        return _of_arrays(qrels, task, columns, top_grade)
    assert hasattr(run, "mapInArrow")  # noqa: S101 - a DataFrame
    if how.order == "given":
        raise OptionError("order='given': Spark keeps no order of rows; rank by a score or a rank")
    judged = _Side.of(qrels, What.QRELS, columns_for(columns, What.QRELS), kept)
    ranked = _Side.of(run, What.RUN, columns_for(columns, What.RUN), by=by)
    n_lost, highest = judged.count_judgments(errors)
    if top_grade is None and any(map(depends_on_top, wanted)):
        if highest is None:
            raise OptionError("top_grade: state the highest grade, on which a measure depends")
        top_grade = highest
    if top_grade is not None:
        top_grade = checked("top_grade", top_grade, level())
    counts = count_queries(judged.rows(), ranked.rows())
    if by is not None and systems is None:
        systems = _system_names(counts, by, errors)
    listed = {name: counts[name] for name in systems or [_ALONE] if name in counts}
    if errors == "skip" or not n_lost + sum(count.n_lost for count in counts.values()):
        refuse_strangers(judged.rows(), ranked.rows(), listed)  # else a task names the row
    if buckets is None:
        buckets = ranked.n_buckets(sum(count.n_rows for count in counts.values()))
    n_buckets = checked("buckets", buckets, whole(1))
    task = replace(
        task,
        judged=judged.stated,
        ranked=ranked.stated,
        query=(judged.query, ranked.query),
        by=by,
        systems=tuple(systems or ()),
        top_grade=top_grade,
        counts={name: (one.n_unjudged, one.n_lost + n_lost) for name, one in listed.items()},
    )
    return _in_buckets(judged, ranked, n_buckets, task)


def _check_found_elsewhere(measures: Iterable[Measure]) -> None:
    """Raise MeasureError for a measure that is declared in the program itself."""
    for one in measures:
        if one.definition.module == "__main__":
            raise MeasureError(
                f"{one.name} is declared in the program itself, which the machines of Spark do not "
                "import: declare it in a module that is installed there, or added to the session"
            )


def _check_frame(data: object) -> None:
    """Raise InputError unless the data are a DataFrame of Spark."""
    if not hasattr(data, "mapInArrow"):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        raise InputError(
            f"Spark DataFrames are needed, got {kind.removeprefix('builtins.')}",
            hint="cranfield.evaluate takes what is in memory; rdd.toDF() makes one of an RDD.",
        )


_ALONE = "run"  # the name of a run of one system
_ID_KIND = re.compile(
    r"string|binary|tinyint|smallint|int|bigint|(var)?char\(\d+\)|decimal\(\d+,0\)"
)
_NUMBER_KIND = re.compile(r"tinyint|smallint|int|bigint|float|double|boolean|decimal\(.*\)")
_FAULT_OF_ID = "{0} IS NULL OR CAST({0} AS string) = ''".format
_FAULT_OF_NUMBER = "{0} IS NULL OR isnan(CAST({0} AS double))".format


@dataclass(frozen=True, kw_only=True)
class _Side:
    """The DataFrame of one side, with the columns that are needed.

    `docs`, `system` and `fault` are expressions of SQL: the documents of a row, its system, and
    whether it cannot be used.
    """

    data: "DataFrame"
    query: str
    docs: str
    grade: str | None
    system: str
    fault: str
    stated: ColumnsLike | None
    has_arrays: bool  # of documents: a row is a query

    @classmethod
    def of(
        cls,
        data: "DataFrame",
        what: What,
        stated: ColumnsLike | None,
        keep: Sequence[str] = (),
        by: str | None = None,
    ) -> "_Side":
        """Find the columns, by their names or as stated; InputError for one that is missing.

        Or for one of another type. Without `by`, columns that may be those of systems stay, too.
        """
        called = "the judgments" if what is What.QRELS else "the run"
        apart = [*keep, *([] if by is None else [by])]
        for name in apart:
            if name not in data.columns:
                problem = f"has no column {name!r}; it has {', '.join(data.columns)}"
                raise InputError(problem, source=called, kind="columns")
        names = [name for name in data.columns if name not in apart]
        fields, known = _fields(data, names, what, stated)
        every = [*names, *fields]
        found = take_columns(every, what, known, called)
        taken = {role: every[at] for role, at in found.items()}
        used = dict.fromkeys(_in_data(one, fields) for one in taken.values())
        if by is None:
            used |= dict.fromkeys(name for name in names if plain_name(name) in SYSTEMS)
        paths = {role: _path(name, fields) for role, name in taken.items()}
        kinds = data.selectExpr(*paths.values()).dtypes
        has_arrays = dict(zip(taken, kinds, strict=True))["doc"][1].startswith("array")
        faults = [f"{paths['doc']} IS NULL"] if has_arrays and what is What.QRELS else []
        for (role, path), (_, kind) in zip(paths.items(), kinds, strict=True):
            is_array = has_arrays and role != "query"
            if is_array and not kind.startswith("array"):
                continue  # a number of the query, which is not read
            _check_kind(role, taken[role], kind, called, is_array)
            if role != "rank" or "score" not in taken:
                fault = _FAULT_OF_ID if role in IDS else _FAULT_OF_NUMBER
                faults.append(f"exists({path}, x -> {fault('x')})" if is_array else fault(path))
        return cls(
            data=data.select(*map(column, (*used, *apart))),
            query=taken["query"],
            docs=f"CAST({paths['doc']} AS {'array<string>' if has_arrays else 'string'})",
            grade=taken.get("grade") if taken.get("grade") not in fields else None,
            system=f"'{_ALONE}'" if by is None else f"CAST({quoted(by)} AS string)",
            fault=f"coalesce({' OR '.join(faults)}, false)",
            stated=stated,
            has_arrays=has_arrays,
        )

    def rows(self) -> "DataFrame":
        """Return the rows as `engines.sharing` takes them."""
        query = f"CAST({quoted(self.query)} AS string) AS query"
        docs, fault = f"{self.docs} AS docs", f"{self.fault} AS is_lost"
        return self.data.selectExpr(f"{self.system} AS system", query, docs, fault)

    def count_judgments(self, errors: Errors) -> tuple[int, float | None]:
        """Return how many rows cannot be used, and the highest grade, by a Spark job.

        The grade is 0 or more, and None where grades are not in a column of their own. Raises
        InputError if there is no judgment.
        """
        from pyspark.sql import functions

        grade = "NULL" if self.grade is None else f"greatest(max({quoted(self.grade)}), 0)"
        counts = (f"count_if({self.fault})", f"CAST({grade} AS double)", "count(1)")
        ((n_lost, highest, n_rows),) = self.data.agg(*map(functions.expr, counts)).collect()
        if n_rows == (n_lost if errors == "skip" else 0):
            raise no_judgment(None, LeftOut())
        return n_lost, highest

    def n_buckets(self, n_rows: int) -> int:
        """Return into how many buckets the rows are divided."""
        rows = n_rows * (_DOCUMENTS_IN_ARRAY if self.has_arrays else 1)
        usual = int(self.data.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        few = min(usual, math.ceil(rows / _ROWS_WORTH_A_BUCKET))
        return max(1, few, math.ceil(rows / _ROWS_IN_BUCKET))


def _system_names(counts: Mapping[str | None, Any], by: str, errors: Errors) -> list[str]:
    """Return the systems of a run; InputError for rows that have none."""
    names = sorted(name for name in counts if name is not None)
    if len(names) < len(counts) and errors == "strict":
        raise InputError(
            f"the run has rows without a system: {by} is null",
            hint="errors='skip' leaves them out.",
        )
    if not names:
        raise InputError(f"the run has no system in {by}: state systems=[...] if it is empty")
    return names


def _check_kind(role: Role, name: str, kind: str, called: str, is_array: bool) -> None:
    """Raise InputError unless a column, or its arrays, has ids or numbers; `kind` is SQL's word."""
    cell = kind.removeprefix("array<").removesuffix(">") if is_array else kind
    if not (_ID_KIND if role in IDS else _NUMBER_KIND).fullmatch(cell):
        to = "double" if role not in IDS else "long" if _NUMBER_KIND.fullmatch(cell) else "string"
        raise InputError(
            f"column {name!r} holds {kind:.80}, expected "
            + ("text or whole numbers" if role in IDS else "numbers"),
            source=called,
            hint=f'Cast it before: .cast("{f"array<{to}>" if is_array else to}")',
            kind="columns",
        )


def _path(name: str, fields: Fields) -> str:
    """Return a column, or a field of the structs in one, as SQL has it."""
    if name not in fields:
        return quoted(name)
    return f"{quoted(fields[name].column)}.{quoted(fields[name].name)}"


def _in_data(name: str, fields: Fields) -> str:
    """Return the column of a DataFrame that holds a column, which may be a field of structs."""
    return fields[name].column if name in fields else name


def _fields(
    data: "DataFrame", names: Sequence[str], what: What, stated: ColumnsLike | None
) -> tuple[Fields, ColumnsLike | None]:
    """Return the fields of structs in arrays, and which column is which: see `fields_of`."""
    from pyspark.sql.types import ArrayType, StructType

    several = {
        one.name: one.dataType.elementType.names
        for one in data.schema
        if isinstance(one.dataType, ArrayType) and isinstance(one.dataType.elementType, StructType)
    }
    return fields_of(names, several, what, stated)


def _in_buckets(judged: _Side, ranked: _Side, n_buckets: int, task: Task) -> "DataFrame":
    """Return the scores, computed bucket by bucket."""
    from pyspark.sql import functions

    schema = _schema(task, judged.data)
    sides = []
    types = [dict(one.data.dtypes)[one.query] for one in (judged, ranked)]
    for side in (judged, ranked):
        query = column(side.query)
        if types[0] != types[1]:  # 7 and "7" are one query
            query = query.cast("string")
        bucket = functions.pmod(functions.xxhash64(query), functions.lit(n_buckets))
        sides.append(side.data.withColumn(BUCKET, bucket))
    left, right = (side.groupBy(BUCKET) for side in sides)
    together = left.cogroup(right)
    if _has_cogroup(together):
        return together.applyInArrow(partial(of_bucket, task), schema)
    return _united(sides, n_buckets).mapInArrow(partial(of_partition, task), schema)


def _has_cogroup(together: Any) -> bool:
    """Tell whether two sides can be given to a function as Arrow tables: from Spark 4 on."""
    return hasattr(together, "applyInArrow")


def _united(sides: "Sequence[DataFrame]", n_buckets: int) -> "DataFrame":
    """Return both sides as one DataFrame of pairs, whose partitions are buckets."""
    from pyspark.sql import functions

    structs = []
    for at, side in enumerate(sides):
        whole = functions.struct(*(column(name) for name in side.columns if name != BUCKET))
        other = sides[1 - at]
        columns = [one for one in other.dtypes if one[0] != BUCKET]
        kinds = ", ".join(f"{quoted(name)}: {kind}" for name, kind in columns)
        none = functions.lit(None).cast(f"struct<{kinds}>")
        pair = (whole, none) if at == 0 else (none, whole)
        names = ("judged", "ranked")
        structs.append(
            side.select(BUCKET, *(one.alias(n) for one, n in zip(pair, names, strict=True)))
        )
    return structs[0].unionByName(structs[1]).repartition(n_buckets, column(BUCKET))


def _schema(task: Task, judged: "DataFrame") -> Any:
    """Return the columns of the scores."""
    from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType

    kept = {one.name: one.dataType for one in judged.schema}
    fields = [StructField(QUERY, StringType())]
    if task.by is not None:
        fields.insert(0, StructField(task.by, StringType(), metadata={ROLE: "system"}))
    fields += [StructField(name, kept[name]) for name in task.keep]
    fields.append(StructField(ANSWERED, BooleanType(), metadata={COUNTS: json.dumps(task.counts)}))
    for one, name in zip(task.measures, task.columns, strict=True):
        kind = StringType() if one.definition.is_text else DoubleType()
        fields.append(StructField(name, kind, metadata={MEASURE: str(one)}))
    for name in task.keep:
        if kept[name].typeName() in ("array", "map", "struct", "variant"):
            raise OptionError(
                f"keep: column {name!r} holds an {kept[name].simpleString():.60}: keep columns of "
                "single values, and join others to the scores"
            )
    first: dict[str, Measure] = {}
    for one, name in zip(task.measures, task.columns, strict=True):
        if first.setdefault(name, one) is not one:
            raise OptionError(
                f"{first[name]} and {one} would both be column {name!r}: evaluate them separately, "
                "or with names='plain'"
            )
    twice = [name for name in task.keep if name in {QUERY, ANSWERED, task.by, *task.columns}]
    if twice:
        raise OptionError(f"keep: the scores have a column {twice[0]!r}, too: rename it before")
    return StructType(fields)


# ---- a table of arrays --------------------------------------------------------------------------


def _of_arrays(
    data: "DataFrame", task: Task, columns: ColumnsOfBoth | None, top_grade: float | None
) -> "DataFrame":
    """Return the scores of a table with a row for each query, batch by batch; nothing is moved."""
    if top_grade is None and (depend := [one for one in task.measures if depends_on_top(one)]):
        raise OptionError(f"{depend[0]} depends on the highest grade: state it, top_grade=3")
    if top_grade is not None:
        task = replace(task, top_grade=checked("top_grade", top_grade, level()))
    missing = [name for name in task.keep if name not in data.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}", kind="columns")
    judged, ranked = (
        _Side.of(data.drop(*task.keep), what, columns_for(columns, what))
        for what in (What.QRELS, What.RUN)
    )
    if not (judged.has_arrays and ranked.has_arrays) or judged.docs == ranked.docs:
        raise two_frames_error()
    _refuse_mixture(judged)
    n_lost, _ = judged.count_judgments(task.errors)
    is_shared = f"arrays_overlap({judged.docs}, {ranked.docs})"
    if (task.errors == "skip" or not n_lost) and data.where(is_shared).isEmpty():
        refuse_strangers(judged.rows(), ranked.rows(), [_ALONE])
    task = replace(task, counts={_ALONE: (0, n_lost)})
    return data.mapInArrow(partial(rows_of_arrays, task, columns), _schema(task, data))


def _refuse_mixture(table: _Side) -> None:
    """Raise DuplicateError for a query with lists of two systems, which a Spark job looks for."""
    from pyspark.sql import functions

    for name in table.data.columns:
        if plain_name(name) in SYSTEMS and name != table.query:
            bounds = [functions.expr(f"{end}({quoted(name)})").alias(end) for end in ("min", "max")]
            queries = table.data.groupBy(column(table.query)).agg(*bounds)
            for query, first, last in queries.where("min != max").limit(1).collect():
                raise DuplicateError(
                    f"the table: column {name!r} has several values, and query {query!r:.80} "
                    f"occurs under {first!r:.80} and under {last!r:.80}",
                    hint="If these are systems, evaluate each alone: "
                    f"table.where(table[{name!r}] == {first!r:.80}).",
                )
