"""Spark: judgments and runs that are DataFrames, evaluated where they are.

`evaluate` returns a DataFrame with a row for each query; `summarize` and `compare` make means,
intervals and tests of it. All three are lazy, as Spark is: every action on a result computes it
again, so that the scores of queries are best written to a table first.

Rows are dealt to buckets by the hash of their query. `cranfield.evaluate`'s functions evaluate each
bucket on one core, with the bits of one machine. Only `mapInArrow` and `applyInArrow` are used,
which work under Spark Connect, too.
"""

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.relevance import no_judgment_error
from cranfield.data.run import Run
from cranfield.data.spelling import no_judged_doc_note
from cranfield.errors import CranfieldWarning, InputError, MeasureError, OptionError, check_choice
from cranfield.extensions.scale.tally import depends_on_top_grade
from cranfield.extensions.scale.tasks import (
    ANSWERED,
    BUCKET,
    QUERY,
    Names,
    Task,
    score_arrays,
    score_bucket,
    score_partition,
)
from cranfield.extensions.scale.totals import (
    MEASURE,
    ROLE,
    attach_counts,
    column_of_name,
    compare,
    quote_name,
    summarize,
)
from cranfield.formats.block import Errors, FaultyRows, Role, check_errors
from cranfield.formats.columns import IDS, ColumnsLike, ColumnsOfBoth, Side, plain_name
from cranfield.formats.fields import Fields, choose_fields
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.stated_columns import select_columns, select_side_columns
from cranfield.formats.systems import SYSTEMS
from cranfield.measures import Measure
from cranfield.options import (
    check_option,
    keywords,
    level_check,
    refuse_unknown_options,
    takes,
    whole_check,
)
from cranfield.scoring.evaluate import DEFAULT_MEASURES, MeasuresLike, list_measures
from cranfield.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


__all__ = ["compare", "evaluate", "summarize"]

_SPARK_MEASURES = DEFAULT_MEASURES.removesuffix(" Judged@10")
_ROWS_PER_BUCKET = 1_000_000
_DOCUMENTS_PER_ARRAY = 100  # about as many, as recommenders return
_ROWS_WORTH_A_BUCKET = 20_000  # with fewer, starting a task takes longer than its work
_SAMPLE_JUDGMENTS = 1_000  # are looked for in a run before all are
_SAMPLE_ROWS = 10_000  # of each side, for the reason why nothing is shared


@takes(Judging)
def evaluate(
    qrels: "DataFrame",
    run: "DataFrame | MeasuresLike | None" = None,
    measures: MeasuresLike = _SPARK_MEASURES,
    *,
    by: str | None = None,
    systems: Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    columns: ColumnsOfBoth | None = None,
    errors: Errors = "strict",
    top_grade: float | None = None,
    buckets: int | None = None,
    names: Names = "plain",
    **judging: "Unpack[keywords.Judging]",
) -> "DataFrame":
    """Return a DataFrame with the scores of each query, computed by Spark.

    Its columns are the system (with `by`), `query_id`, what `keep` names, `answered` (whether the
    run has the query), and one for each measure. It is lazy: write it to a table before it is used
    twice. Spark jobs look at once for what the two sides have in common, and count what they have
    not. docs/background/scale.md has an example.

    Args:
        qrels: judgments, with columns such as query_id, doc_id and relevance, found by their names
            as everywhere. A column of arrays holds several documents. Or a table with the expected
            and the retrieved documents of each query in arrays; then there is no `run`.
        run: what was retrieved, with columns such as query_id, doc_id and score or rank; or, where
            there is none, the measures.
        measures: names or Measure values, as `cranfield.evaluate` takes them.
        by: the column of the run with the name of the system, if it holds several. Every system
            has a row for every query that is averaged.
        systems: all the names in that column. None: a Spark job looks for them.
        keep: columns of the judgments to keep, which have one value for each query, as its type.
        columns: which column is which, where that cannot be told by their names, as in
            `cranfield.evaluate`.
        errors: "strict" ends the job at the first row that cannot be used; "skip" leaves such rows
            out.
        top_grade: the highest grade. None: a Spark job looks for it, if a measure depends on it.
        buckets: into how many parts the queries are divided; each is held in memory by one task.
            None: one for a million rows of the run, which a Spark job counts.
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
    refuse_unknown_options(evaluate, judging)
    check_errors(errors)
    check_choice("names", names, ("plain", "safe"))
    settings = Judging(**judging)
    if isinstance(run, str | Measure | list | tuple):
        run, measures = None, run  # type: ignore[assignment] # measures in the place of the run
    if not all(hasattr(frame, "mapInArrow") for frame in (qrels, qrels if run is None else run)):
        raise InputError("Spark DataFrames are needed: cranfield.evaluate takes what is in memory")
    measure_list = list_measures(measures)
    if local_measure := next(
        (measure.name for measure in measure_list if measure.definition.module == "__main__"), None
    ):
        raise MeasureError(
            f"{local_measure} is declared in the program itself, which the machines of Spark do "
            "not import: declare it in a module that is installed there, or added to the session"
        )
    keep = (keep,) if isinstance(keep, str) else tuple(keep)
    top_grade = None if top_grade is None else check_option("top_grade", top_grade, level_check())
    task = Task(
        measure_list, settings, errors, __version__, keep=keep, names=names, top_grade=top_grade
    )
    if run is None:
        if by is not None or systems is not None:
            raise OptionError("by and systems are for a run of its own: the table has one system")
        return _score_arrays(qrels, task, columns)
    assert hasattr(run, "mapInArrow")  # noqa: S101 - a DataFrame
    if settings.order == "given":
        raise OptionError("order='given': Spark keeps no order of rows; rank by a score or a rank")
    qrels_side = _SideFrame.from_frame(
        qrels, Side.QRELS, select_columns(columns, Side.QRELS), errors, keep, ()
    )
    run_side = _SideFrame.from_frame(
        run, Side.RUN, select_columns(columns, Side.RUN), errors, (), [by] if by else ()
    )
    if top_grade is None and any(map(depends_on_top_grade, measure_list)):
        top_grade = qrels_side.find_highest_grade()
    if by is not None and systems is None:
        systems = run_side.find_systems(by, errors)
    n_buckets = (
        run_side.count_buckets()
        if buckets is None
        else check_option("buckets", buckets, whole_check(1))
    )
    task = replace(
        task,
        qrels_columns=qrels_side.user_columns,
        run_columns=run_side.user_columns,
        query_columns=(qrels_side.query_column, run_side.query_column),
        by=by,
        systems=tuple(systems or ()),
        top_grade=top_grade,
    )
    _refuse_unjudged_systems(qrels_side, run_side, systems or [_SINGLE_SYSTEM])
    scores = _score_in_buckets(qrels_side, run_side, n_buckets, task)
    return attach_counts(scores, qrels_side.rows, run_side.rows, systems or [_SINGLE_SYSTEM])


_SINGLE_SYSTEM = "run"  # the name of a run of one system
_WHOLE_NUMBERS = r"tinyint|smallint|int|bigint"
_ID_TYPES = (
    rf"{_WHOLE_NUMBERS}|(string|(var)?char).*|binary|decimal\(\d+,0\)",
    "text or whole numbers",
)
_NUMBER_TYPES = rf"{_WHOLE_NUMBERS}|float|double|boolean|decimal\(.*\)", "numbers"
_FAULT_OF_ID = "{0} IS NULL OR CAST({0} AS string) = ''".format
_FAULT_OF_NUMBER = "{0} IS NULL OR isnan(CAST({0} AS double))".format


@dataclass(frozen=True, kw_only=True)
class _SideFrame:
    """The DataFrame of one side, with the columns that are needed.

    `rows` has the columns `system`, `query` and `docs` (an array of ids), all texts, and `is_lost`:
    whether errors="skip" leaves the row out.
    """

    frame: "DataFrame"
    rows: "DataFrame"
    query_column: str
    doc_column: str
    grade_column: str | None
    user_columns: ColumnsLike | None
    has_arrays: bool  # of documents: a row is a query

    @classmethod
    def from_frame(
        cls,
        frame: "DataFrame",
        side: Side,
        user_columns: ColumnsLike | None,
        errors: Errors,
        keep: Sequence[str],
        system_columns: Sequence[str],
    ) -> "_SideFrame":
        """Find the columns, by their names or as stated; InputError for one that is missing.

        Or for one of another type. Without `by`, columns that may be those of systems stay, too.
        """
        for name in (*keep, *system_columns):
            if name not in frame.columns:
                problem = f"has no column {name!r}; it has {', '.join(frame.columns)}"
                raise InputError(problem, source=side.name_in_errors, kind="columns")
        names = [name for name in frame.columns if name not in {*keep, *system_columns}]
        fields, field_columns = _find_fields(frame, names, side, user_columns)
        column_names = [*names, *fields]
        arrays = {name for name, dtype in frame.dtypes if dtype.startswith("array")}.union(fields)
        cells: list[object] = [[] if name in arrays else None for name in column_names]
        source, cell_of_column = side.name_in_errors, cells.__getitem__
        positions = take_columns(column_names, side, field_columns, source, cell_of_column)
        lists = list_columns(column_names, positions, side, field_columns, cell_of_column)
        name_of_role = lists or {role: column_names[i] for role, i in positions.items()}
        path_of_role = {role: fields.get(name, (name,)) for role, name in name_of_role.items()}
        paths = [".".join(map(quote_name, path)) for path in path_of_role.values()]
        faults = []
        dtypes = frame.selectExpr(*paths).dtypes
        for (role, name), path, (_, dtype) in zip(name_of_role.items(), paths, dtypes, strict=True):
            is_array = role != "query" and name in arrays
            _check_column_type(role, name, dtype, source, is_array and bool(lists))
            if errors == "skip" and (role != "rank" or "score" not in name_of_role):
                fault = _FAULT_OF_ID if role in IDS else _FAULT_OF_NUMBER
                faults.append(f"exists({path}, x -> {fault('x')})" if is_array else fault(path))
        table_columns = dict.fromkeys(path[0] for path in path_of_role.values())
        if not system_columns:
            table_columns |= dict.fromkeys(name for name in names if plain_name(name) in SYSTEMS)
        query, doc = paths[:2]
        docs = f"split({doc}, ';')" if lists else f"array({doc})"
        docs = doc if name_of_role["doc"] in arrays else docs
        system = quote_name(system_columns[0]) if system_columns else repr(_SINGLE_SYSTEM)
        rows = frame.selectExpr(
            f"CAST({system} AS string) AS system",
            f"CAST({query} AS string) AS query",
            f"CAST({docs} AS array<string>) AS docs",
            # A list that is null holds no judgment, or is that of a query without an answer.
            f"coalesce({' OR '.join(faults) or 'false'}, {side is Side.QRELS}) AS is_lost",
        )
        if side is Side.QRELS and rows.where("NOT is_lost").isEmpty():
            raise no_judgment_error(None, FaultyRows())
        return cls(
            frame=frame.select(*map(column_of_name, (*table_columns, *keep, *system_columns))),
            rows=rows,
            query_column=name_of_role["query"],
            doc_column=name_of_role["doc"],
            grade_column=None if lists else name_of_role.get("grade"),
            user_columns=user_columns,
            has_arrays=bool(lists),
        )

    def find_highest_grade(self) -> float:
        """Return the highest grade, by a Spark job."""
        if self.grade_column is None:
            raise OptionError("top_grade: state the highest grade, on which a measure depends")
        highest = f"max(try_cast({quote_name(self.grade_column)} AS double))"  # "10" is above "9"
        (row,) = self.frame.selectExpr(highest).collect()
        return float(check_option("top_grade", max(row[0] or 0.0, 0.0), level_check()))

    def find_systems(self, by: str, errors: Errors) -> list[str]:
        """Return the systems of a run, by a Spark job; InputError for rows that have none."""
        systems = [row[0] for row in self.frame.select(column_of_name(by)).distinct().collect()]
        system_names = sorted(str(system) for system in systems if system is not None)
        if len(system_names) < len(systems) and errors == "strict":
            raise InputError(
                f"the run has rows without a system: {by} is null",
                hint="errors='skip' leaves them out.",
            )
        if not system_names:
            raise InputError(f"the run has no system in {by}: state systems=[...] if it is empty")
        return system_names

    def count_buckets(self) -> int:
        """Return into how many buckets the rows are divided, by a Spark job that counts them."""
        n_rows = int(self.frame.count()) * (_DOCUMENTS_PER_ARRAY if self.has_arrays else 1)
        usual = int(self.frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        n_worthwhile = min(usual, math.ceil(n_rows / _ROWS_WORTH_A_BUCKET))
        return max(1, n_worthwhile, math.ceil(n_rows / _ROWS_PER_BUCKET))


def _check_column_type(
    role: Role, name: str, column_type: str, source: str, has_lists: bool
) -> None:
    """Raise InputError unless a column, or its arrays, has ids or numbers, by its type in SQL."""
    cell = column_type.removeprefix("array<").removesuffix(">") if has_lists else column_type
    pattern, expected = _ID_TYPES if role in IDS else _NUMBER_TYPES
    if not re.fullmatch(pattern, cell):
        casts = ("long", "string") if role in IDS else ("double",)
        remedies = (f'.cast("{column_type.replace(cell, cast)}")' for cast in casts)
        raise InputError(
            f"column {name!r} holds {column_type:.80}, expected {expected}",
            source=source,
            hint="explode makes a row of each element."
            if cell.startswith("array")
            else f"Cast it before: {' or '.join(remedies)}",
            kind="columns",
        )


def _find_fields(
    frame: "DataFrame", names: Sequence[str], side: Side, user_columns: ColumnsLike | None
) -> tuple[Fields, ColumnsLike | None]:
    """Return the fields of structs in arrays, and the columns by role: see `choose_fields`."""
    from pyspark.sql.types import ArrayType, StructType

    fields_of_column = {
        field.name: field.dataType.elementType.names
        for field in frame.schema
        if isinstance(field.dataType, ArrayType)
        and isinstance(field.dataType.elementType, StructType)
    }
    return choose_fields(names, fields_of_column, side, user_columns)


def _score_in_buckets(
    qrels_side: _SideFrame, run_side: _SideFrame, n_buckets: int, task: Task
) -> "DataFrame":
    """Return the scores, computed bucket by bucket."""
    from pyspark.sql import functions

    schema = _make_schema(task, qrels_side.frame)
    sides = []
    types = {dict(side.frame.dtypes)[side.query_column] for side in (qrels_side, run_side)}
    for side in (qrels_side, run_side):
        query = column_of_name(side.query_column)
        query = query.cast("string") if len(types) > 1 else query  # 7 and "7" are one query
        bucket = functions.pmod(functions.xxhash64(query), functions.lit(n_buckets))
        sides.append(side.frame.withColumn(BUCKET, bucket))
    qrels_groups, run_groups = (side.groupBy(BUCKET) for side in sides)
    cogroups = qrels_groups.cogroup(run_groups)
    if _accepts_arrow(cogroups):
        return cogroups.applyInArrow(partial(score_bucket, task), schema)
    return _pair_sides(sides, n_buckets).mapInArrow(partial(score_partition, task), schema)


def _accepts_arrow(cogroups: Any) -> bool:
    """Tell whether two sides can be given to a function as Arrow tables: from Spark 4 on."""
    return hasattr(cogroups, "applyInArrow")


def _pair_sides(sides: "Sequence[DataFrame]", n_buckets: int) -> "DataFrame":
    """Return both sides as one DataFrame of pairs, whose partitions are buckets."""
    from pyspark.sql import functions

    qrels_rows, run_rows = (
        side.select(
            BUCKET, functions.struct(*map(column_of_name, side.drop(BUCKET).columns)).alias(name)
        )
        for side, name in zip(sides, ("judged", "ranked"), strict=True)
    )
    pairs = qrels_rows.unionByName(run_rows, allowMissingColumns=True)
    return pairs.repartition(n_buckets, column_of_name(BUCKET))


def _make_schema(task: Task, qrels_frame: "DataFrame") -> Any:
    """Return the columns of the scores."""
    from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType

    type_of_column = {field.name: field.dataType for field in qrels_frame.schema}
    fields = [StructField(QUERY, StringType())]
    if task.by is not None:
        fields.insert(0, StructField(task.by, StringType(), metadata={ROLE: "system"}))
    for name in task.keep:
        if type_of_column[name].typeName() in ("array", "map", "struct", "variant"):
            raise OptionError(
                f"keep: column {name!r} holds an {type_of_column[name].simpleString():.60}: keep "
                "columns of single values, and join others to the scores"
            )
        fields.append(StructField(name, type_of_column[name]))
    fields.append(StructField(ANSWERED, BooleanType()))
    measure_of_column: dict[str, Measure] = {}
    for measure, name in zip(task.measures, task.score_columns, strict=True):
        if (first := measure_of_column.setdefault(name, measure)) is not measure:
            raise OptionError(
                f"{first} and {measure} would both be column {name!r}: evaluate them separately, "
                "or with names='plain'"
            )
        column_type = StringType() if measure.definition.is_text else DoubleType()
        fields.append(StructField(name, column_type, metadata={MEASURE: str(measure)}))
    repeated_names = [
        name for name in task.keep if name in {QUERY, ANSWERED, task.by, *task.score_columns}
    ]
    if repeated_names:
        raise OptionError(
            f"keep: the scores have a column {repeated_names[0]!r}, too: rename it before"
        )
    return StructType(fields)


def _score_arrays(frame: "DataFrame", task: Task, columns: ColumnsOfBoth | None) -> "DataFrame":
    """Return the scores of a table with a row for each query, batch by batch; nothing is moved."""
    measure = next(filter(depends_on_top_grade, task.measures), None)
    if measure is not None and task.top_grade is None:
        raise OptionError(f"{measure} depends on the highest grade: state it, top_grade=3")
    qrels_side, run_side = (
        _SideFrame.from_frame(
            frame, side, select_side_columns(columns, side), task.errors, task.keep, ()
        )
        for side in (Side.QRELS, Side.RUN)
    )
    if (
        not (qrels_side.has_arrays and run_side.has_arrays)
        or qrels_side.doc_column == run_side.doc_column
    ):
        raise InputError(
            "a table alone has the expected and the retrieved documents of each query in arrays; "
            "judgments and a run with a row for each document are two DataFrames"
        )
    _refuse_mixed_systems(qrels_side)
    _refuse_unjudged_systems(qrels_side, run_side, [_SINGLE_SYSTEM])
    scores = frame.mapInArrow(partial(score_arrays, task, columns), _make_schema(task, frame))
    return attach_counts(scores, qrels_side.rows, run_side.rows, [_SINGLE_SYSTEM])


def _refuse_mixed_systems(table: _SideFrame) -> None:
    """Raise InputError for a query with lists of two systems, which a Spark job looks for."""
    from pyspark.sql import functions

    for name in table.frame.columns:
        if plain_name(name) in SYSTEMS and name != table.query_column:
            extremes = functions.min(column_of_name(name)), functions.max(column_of_name(name))
            queries = (
                table.frame.groupBy(column_of_name(table.query_column))
                .agg(*extremes)
                .toDF("query", "a", "b")
            )
            for query, first, last in queries.where("a != b").limit(1).collect():
                raise InputError(
                    f"the table: column {name!r} has several values, and query {query!r:.80} "
                    f"occurs under {first!r:.80} and under {last!r:.80}",
                    hint="If these are systems, give a table of each: table.where(...).",
                )


def _refuse_unjudged_systems(
    qrels_side: _SideFrame, run_side: _SideFrame, systems: Iterable[str]
) -> None:
    """Raise the error, or warn, as memory does of a system none of whose documents is judged.

    The reason is looked for in the first rows by query.
    """
    from pyspark.sql import functions

    judgments, run_docs = (
        side.rows.where("NOT is_lost").selectExpr("system", "query", "explode(docs) AS doc")
        for side in (qrels_side, run_side)
    )
    judgment_samples = functions.broadcast(judgments.limit(_SAMPLE_JUDGMENTS)), judgments
    for system in systems:
        ranking = run_docs.where(column_of_name("system") == functions.lit(system))
        if any(
            not ranking.join(sample, ["query", "doc"], "left_semi").isEmpty()
            for sample in judgment_samples
        ):
            continue
        lists = _read_first_lists(judgments, ranking), _read_first_lists(ranking, judgments)
        if all(lists):
            qrels, run = Qrels(lists[0]), Run(lists[1], system)
            text = no_judged_doc_note(judge(qrels, run).facts.query_sketches).text
            warnings.warn(f"the run {system!r}: {text}", CranfieldWarning, stacklevel=3)


def _read_first_lists(pairs: "DataFrame", other_pairs: "DataFrame") -> dict[str, dict[str, int]]:
    """Return {query: {document: 1}} of some pairs, those of queries of both DataFrames first."""
    shared = other_pairs.selectExpr("query", "true AS is_shared").distinct()
    rows = pairs.dropna(subset=["query", "doc"]).join(shared, "query", "left")
    rows = rows.sort("is_shared", "query", "doc", ascending=[False, True, True])
    lists: dict[str, dict[str, int]] = {}
    for row in rows.limit(_SAMPLE_ROWS).collect():
        lists.setdefault(row["query"], {})[row["doc"]] = 1
    return lists
