"""Spark: judgments and runs that are DataFrames, evaluated where they are.

`evaluate` returns a DataFrame with a row for each query; `summarize` and `compare` make means,
intervals and tests of it. All three are lazy, as Spark is: every action on a result computes it
again, so that the scores of queries are best written to a table first.

Rows are dealt to buckets by the hash of their query. `cranfield.evaluate`'s functions evaluate each
bucket on one core, with the bits of one machine. Only `mapInArrow` and `applyInArrow` are used,
which work under Spark Connect, too.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.relevance import no_judgment_error
from cranfield.data.run import Run
from cranfield.data.spelling import no_judged_doc_note
from cranfield.errors import CranfieldWarning, InputError, MeasureError, OptionError, check_choice
from cranfield.extensions.scale.side_frame import SideFrame, number_rows
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
    summarize,
)
from cranfield.formats.block import Errors, FaultyRows, check_errors
from cranfield.formats.columns import ColumnsOfBoth, Side, plain_name
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
_SAMPLE_JUDGMENTS = 100  # are looked for in a run before all are
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

    Its columns are the system (if there are several), `query_id`, what `keep` names, `answered`
    (whether the run has the query), and one for each measure. It is lazy: write it to a table
    before it is used twice. Spark jobs look at once for what the two sides have in common, and
    count what they have not. docs/background/scale.md has an example.

    Args:
        qrels: judgments, with columns such as query_id, doc_id and relevance, found by their names
            as everywhere. A column of arrays holds several documents. Or a table with the expected
            and the retrieved documents of each query in arrays; then there is no `run`.
        run: what was retrieved, with columns such as query_id, doc_id and score or rank; or, where
            there is none, the measures.
        measures: names or Measure values, as `cranfield.evaluate` takes them.
        by: the column of the run with the name of the system, if it holds several, as
            columns={"system": ...} says, too. Every system has a row for every query that is
            averaged. None: a column called system, run, run_name, retriever, model or method, if
            a Spark job finds a document, or a list, of two systems.
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
    columns = dict(columns or {})
    stated_system: Any = columns.pop("system", None)
    by = stated_system if by is None else by
    if run is None:
        return _score_arrays(qrels, task, columns, by, systems)
    assert hasattr(run, "mapInArrow")  # noqa: S101 - a DataFrame
    if settings.order == "given":
        raise OptionError("order='given': Spark keeps no order of rows; rank by a score or a rank")
    qrels_side = SideFrame.from_frame(
        qrels, Side.QRELS, select_columns(columns, Side.QRELS), errors, keep, ()
    )
    read_run = partial(
        SideFrame.from_frame, run, Side.RUN, select_columns(columns, Side.RUN), errors, ()
    )
    run_side = read_run([by] if by else ())
    if by is None and (by := _find_mixed_systems(run_side)):
        run_side = read_run([by])
    task = _complete_task(task, qrels_side, run_side, by, systems)
    n_buckets = (
        run_side.count_buckets()
        if buckets is None
        else check_option("buckets", buckets, whole_check(1))
    )
    _refuse_unjudged_systems(qrels_side, run_side, task, _join_shared(qrels_side, run_side))
    scores = _score_in_buckets(qrels_side, run_side, n_buckets, task)
    return attach_counts(
        scores, qrels_side.rows, run_side.rows, task.system_names, errors, is_one_table=False
    )


def _complete_task(
    task: Task,
    qrels_side: SideFrame,
    run_side: SideFrame,
    by: str | None,
    systems: Sequence[str] | None,
) -> Task:
    """Return the task with the columns of both sides, and with what is not stated.

    The highest grade and the systems are then looked for by Spark jobs.
    """
    top_grade = task.top_grade
    if top_grade is None and any(map(depends_on_top_grade, task.measures)):
        top_grade = qrels_side.find_highest_grade()
    if by is not None and systems is None:
        systems = run_side.find_systems(by, task.errors)
    return replace(
        task,
        qrels_columns=qrels_side.user_columns,
        run_columns=run_side.user_columns,
        query_columns=(qrels_side.query_column, run_side.query_column),
        by=by,
        systems=tuple(systems or ()),
        top_grade=top_grade,
    )


def _score_in_buckets(
    qrels_side: SideFrame, run_side: SideFrame, n_buckets: int, task: Task
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


def _score_arrays(
    frame: "DataFrame",
    task: Task,
    columns: ColumnsOfBoth | None,
    by: str | None,
    systems: Sequence[str] | None,
) -> "DataFrame":
    """Return the scores of a table with a row for each query, batch by batch; nothing is moved."""
    measure = next(filter(depends_on_top_grade, task.measures), None)
    if measure is not None and task.top_grade is None:
        raise OptionError(f"{measure} depends on the highest grade: state it, top_grade=3")

    errors, keep = task.errors, task.keep

    def read_sides(*system_columns: str) -> list[SideFrame]:
        return [
            SideFrame.from_frame(
                frame, side, select_side_columns(columns, side), errors, keep, system_columns
            )
            for side in (Side.QRELS, Side.RUN)
        ]

    qrels_side, run_side = read_sides(*filter(None, [by]))
    if (
        not (qrels_side.has_arrays and run_side.has_arrays)
        or qrels_side.doc_column == run_side.doc_column
    ):
        raise InputError(
            "a table alone has the expected and the retrieved documents of each query in arrays; "
            "judgments and a run with a row for each document are two DataFrames"
        )
    if by is None and (by := _find_mixed_systems(qrels_side)):
        qrels_side, run_side = read_sides(by)
    if by is not None:
        systems = run_side.find_systems(by, task.errors) if systems is None else systems
        task = replace(task, by=by, systems=tuple(systems))
        _refuse_differing_judgments(qrels_side, task)
    shared_columns = (
        "{1[system]} AS system",
        "arrays_overlap({0[docs]}, {1[docs]}) AND NOT ({0[is_lost]} OR {1[is_lost]}) AS is_shared",
    )
    expressions = qrels_side.expressions, run_side.expressions
    shared = frame.selectExpr(*(column.format(*expressions) for column in shared_columns))
    _refuse_unjudged_systems(qrels_side, run_side, task, [shared.where("is_shared")])
    if qrels_side.query_column not in frame.columns:
        frame = number_rows(frame)
    scores = frame.mapInArrow(partial(score_arrays, task, columns), _make_schema(task, frame))
    return attach_counts(
        scores, qrels_side.rows, run_side.rows, task.system_names, errors, is_one_table=True
    )


def _find_mixed_systems(side: SideFrame) -> str | None:
    """Return the column of systems, of two of which a document has rows, or a query lists.

    Spark jobs look for it in columns whose names are usual for systems.
    """
    from pyspark.sql import functions

    keys = [side.query_column] if side.has_arrays else [side.query_column, side.doc_column]
    for name in side.frame.columns:
        if plain_name(name) in SYSTEMS and name not in keys:
            extremes = functions.min(column_of_name(name)), functions.max(column_of_name(name))
            groups = side.frame.groupBy(*map(column_of_name, keys)).agg(*extremes)
            if not groups.toDF(*map(str, range(len(keys))), "a", "b").where("a != b").isEmpty():
                return str(name)
    return None


def _refuse_differing_judgments(qrels_side: SideFrame, task: Task) -> None:
    """Raise InputError for a query whose judgments are not the same with all systems."""
    from pyspark.sql import functions

    query, system = qrels_side.query_column, str(task.by)
    judged = [name for name in qrels_side.frame.columns if name not in (query, system, *task.keep)]
    judgments = functions.struct(*map(column_of_name, judged))
    groups = qrels_side.frame.groupBy(column_of_name(query)).agg(
        functions.min(judgments), functions.max(judgments), functions.count_distinct(system)
    )
    differing = groups.toDF("query", "a", "b", "n").where(f"a != b OR n != {len(task.systems)}")
    for row in differing.limit(1).collect():
        raise InputError(
            f"the judgments of the systems in column {system!r} differ: query {row[0]!r:.80} has "
            "other judgments with one than with another, or none"
        )


def _list_documents(side: SideFrame) -> "DataFrame":
    """Return a row for each document of a side, with the columns `system`, `query` and `doc`."""
    return side.rows.where("NOT is_lost").selectExpr("system", "query", "explode(docs) AS doc")


def _join_shared(qrels_side: SideFrame, run_side: SideFrame) -> "Sequence[DataFrame]":
    """Return the run's rows that some judgments share, and those that any judgment shares."""
    from pyspark.sql import functions

    judgments, run_docs = map(_list_documents, (qrels_side, run_side))
    sample = judgments.dropna(subset=["query", "doc"]).limit(_SAMPLE_JUDGMENTS).collect()
    pair = functions.concat_ws("\0", "query", "doc")
    return [
        run_docs.where(pair.isin([f"{row['query']}\0{row['doc']}" for row in sample])),
        run_docs.join(judgments, ["query", "doc"], "left_semi"),
    ]


def _refuse_unjudged_systems(
    qrels_side: SideFrame, run_side: SideFrame, task: Task, shared: "Iterable[DataFrame]"
) -> None:
    """Raise the error, or warn, as memory does of a system none of whose documents is judged.

    `shared` are judged rows of the run, some of them first, with the column `system`. The reason is
    looked for in the first rows by query.
    """
    from pyspark.sql import functions

    judgments, run_docs = map(_list_documents, (qrels_side, run_side))
    for system in task.system_names:
        is_of_system = column_of_name("system") == functions.lit(system)
        if any(not rows.where(is_of_system).isEmpty() for rows in shared):
            continue
        if qrels_side.rows.where("NOT is_lost").isEmpty():
            raise no_judgment_error(None, FaultyRows())
        ranking = run_docs.where(is_of_system)
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
