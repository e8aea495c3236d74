"""evaluate: makes scores of judgments, runs and measures."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, Unpack, overload

from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.threads import limit_threads
from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import MeasureError
from cranfield.extensions import load_families
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.shapes import is_table
from cranfield.lazy import MAX_CACHED_ROWS
from cranfield.measures import Measure, find_plan, parse_all
from cranfield.measures.parameters import Depth
from cranfield.notes import warn_about
from cranfield.options import check_flag, check_option, keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.scoring.arguments import Reading, Threads, open_arguments
from cranfield.scoring.assembly import Assembly
from cranfield.scoring.ends import NO_ENDS, EndsOptions
from cranfield.scoring.job import Job, JobScores, MeasureGroup
from cranfield.scoring.scores import Scores, Systems

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows

FAMILIES = load_families("evaluate")
DEFAULT_MEASURES = "nDCG@10 AP RR P@10 R@100 Judged@10"
RETRIEVED_COUNT = Measure("NumRet")

MeasuresLike = str | Measure | Iterable[str | Measure]


@overload
def evaluate(
    qrels: QrelsLike,
    runs: list[list[int]] | list[list[str]],  # of ids
    measures: MeasuresLike = ...,
    **options: "Unpack[keywords.Evaluate]",
) -> Scores: ...
@overload
def evaluate(
    qrels: QrelsLike,
    runs: SeveralRuns,
    measures: MeasuresLike = ...,
    **options: "Unpack[keywords.Evaluate]",
) -> Systems: ...
@overload
def evaluate(
    qrels: QrelsLike,
    runs: RunLike,
    measures: MeasuresLike = ...,
    **options: "Unpack[keywords.Evaluate]",
) -> Scores: ...
@overload
def evaluate(
    qrels: Any,
    runs: None = ...,
    measures: MeasuresLike = ...,
    **options: "Unpack[keywords.Evaluate]",
) -> Any: ...
@add_progress
@takes(Reading, Judging, Threads, *FAMILIES, Watching)
def evaluate(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns | None = None,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *_more: Never,
    slices: Any = None,
    fingerprints: bool = False,
    errors: Errors = "strict",
    **judging: Any,
) -> Scores | Systems:
    """Score one run, or several, against judgments.

    A row is a query, a document and a number; what a row does not say, its place says (key, list,
    group, matrix row), and `columns` states what has another name.

    A table that holds both sides, the expected and the retrieved documents of each query, or the
    grade and the score of each document, is given alone: `evaluate(rows, "recall@5")`.

    Args:
        qrels: the judgments: a Qrels, the path of a file (any that `read_qrels` reads), a dict
            `{query_id: {doc_id: grade}}`, or a table (any that `Qrels` takes: pandas, polars,
            Arrow, rows, arrays) with the columns query_id, doc_id, relevance. Or a table, a file
            or a list of dicts that holds both sides; several of them, a list or a dict `{name:
            table}`, are several systems over the same judgments.
        runs: a Run, the path of a file (any that `read_run` reads), a dict
            `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}`, or a table with the
            columns query_id, doc_id, score. A list of these, or a dict `{name: run}`, gives
            Systems, one table for all; a list of rows is one run. Where both sides are lists of
            lists of ids, each list has the relevant documents, or the ranking, of a query: "1",
            "2", ... None, or the measures instead of runs: the first argument holds both sides.
            Where these hold both sides, too, each table is a system, as of a list of tables.
        measures: names or Measure values; a string may hold several, separated by blanks or
            commas. Without grades in the judgments, the default has no Judged@10: it would be
            P@10.
        slices: labels of queries, to average over those of each label, too: a dict
            `{query_id: label}` or `{name: {query_id: label}}`, or a file or table with a column of
            query ids and one or more of labels. `scores.slice("how to")` has those of one.
        fingerprints: also keep, in the recipe, a hash of the judgments, a sketch of the ids that
            were retrieved, and the share judged of the documents that each measure looks at, for
            scores that will be saved: by them, `compare`, `gate` and `trend` see whether two files
            have the same judgments, and how much was judged. It reads runs once more.
        errors: "strict" refuses the first row that cannot be used; "skip" leaves such rows out,
            and says how many under the result. For what is not yet a Qrels or a Run.
        **judging: each option of `Reading`, `Judging`, `Threads` and `Watching`, and of extensions.

    Returns:
        Scores, with the value over all queries, each query's, and the counts of queries; or
        Systems for several runs.

    Warns:
        CranfieldWarning: once, if a number may not mean what it seems to: ranks that contradict the
            scores or are in their place, equal scores throughout, ids that do not match.
            `scores.notes` says so, too.

    Raises:
        InputError: qrels or a run that cannot be scored, with file, line and what to do.
        MeasureError: a measure or parameter that does not exist, with the nearest ones.
        OptionError: an option with an unknown value, or one that another option excludes.

    >>> evaluate({"q1": {"d1": 3, "d2": 2}}, {"q1": ["d1", "d4", "d2"]}, "nDCG@5 RR").means()
    {'nDCG@5': 0.9385574520455129, 'RR': 1.0}
    >>> rows = [{"question": "Why?", "expected_ids": ["d1", "d2"], "retrieved_ids": ["d1", "d4"]}]
    >>> evaluate(rows, "recall@5").means()
    {'R@5': 0.5}

    """
    refuse_unknown_options(evaluate, judging, _more)
    check_errors(errors)
    refuse_mapping(measures)
    reading = Reading.of(judging)
    judging_options = Judging.of(judging)
    families = [family.of(judging) for family in FAMILIES]
    with limit_threads(Threads.of(judging).threads):
        judgments, run, names = open_arguments(
            qrels,
            runs,
            measures,
            DEFAULT_MEASURES,
            reading=reading,
            duplicates=judging_options.duplicates,
            errors=errors,
            verb=evaluate,
        )
        run_of_name = reading.leave_out({run.name: run} if isinstance(run, Run) else run)
        if isinstance(judgments, QrelsReader) and not any(
            family.reads_in_parts(judgments, run_of_name.values()) for family in families
        ):
            judgments = judgments.read()
        uses_default_measures = names is DEFAULT_MEASURES
        if uses_default_measures:
            names = choose_default_measures(judgments)
        measure_group = MeasureGroup(list_measures(names), judging_options)
        labels = None if slices is None else _read_labels(slices)
        wants_digest = check_option("fingerprints", fingerprints, check_flag)
        score = score_job
        for family in families:
            score = family.wrap(score)
        job = Job(
            judgments,
            run_of_name,
            [measure_group],
            labels,
            uses_default_measures,
            wants_digest=wants_digest,
        )
        (systems,), digest = score(job)
        if wants_digest:
            systems = _add_fingerprints(systems, judgments, run_of_name, digest)
        scores = systems[run.name] if isinstance(run, Run) else systems
    warn_about(scores.notes)
    return scores


def score_job(job: Job) -> JobScores:
    """Score runs against judgments that are held in memory, with each group of measures."""
    assert isinstance(job.judgments, Qrels)  # noqa: S101 - else an extension scores them
    systems = [
        score_runs(
            job.judgments,
            job.runs,
            measure_group.measures,
            measure_group.judging,
            ends=job.ends,
            slices=job.slices,
        )
        for measure_group in job.measure_groups
    ]
    if len(job.judgments) > MAX_CACHED_ROWS:
        release_free_memory()
    return JobScores(systems)


def _add_fingerprints(
    systems: Systems, qrels: Qrels | QrelsReader, runs: Mapping[str, Run], digest: str | None
) -> Systems:
    """Add to the recipes the judgments' hash, or `digest`, sketches of runs, and judged shares."""
    from cranfield.data.fingerprint import hash_judgments, sketch_documents

    recipes = {
        name: {**scores.recipe, "retrieved": sketch_documents(runs[name])}
        for name, scores in systems.items()
    }
    if isinstance(qrels, Qrels):  # else there are too many to be in memory
        digest, share_of_measure, shares = digest or hash_judgments(qrels), {}, systems
        if has_judged_shares(qrels):
            judging = Judging.of(next(iter(systems.values())).recipe)
            share_of_measure = {str(m): judged_share_measure(m) for m in systems.measures}
            shares = score_runs(qrels, runs, {*share_of_measure.values(), RETRIEVED_COUNT}, judging)
        for name, recipe in recipes.items():
            recipe["judged"] = {
                measure: _mean_share(shares[name], share)
                for measure, share in share_of_measure.items()
            }
    return Systems(
        replace(scores, recipe={**recipes[name], "judgments_sha256": digest})
        for name, scores in systems.items()
    )


def has_judged_shares(qrels: Qrels) -> bool:
    """Tell whether judged shares are known: not for groups, nor for lists of relevant documents.

    Where no grade is 0 or less, the share that is judged is a precision.
    """
    return not qrels.has_groups and bool((qrels.grade <= 0).any())


def judged_share_measure(measure: Measure) -> Measure:
    """Return the measure of the judged share of the documents that a measure looks at.

    It is Judged@10 for nDCG@10, and Judged for a measure whose cutoff is no rank.
    """
    return Measure("Judged", measure.cutoff if isinstance(measure.cutoff, Depth) else None)


def _mean_share(scores: Scores, share: Measure) -> float:
    """Return a judged share's mean over the queries for which documents were retrieved, or 0."""
    has_documents = scores.columns[str(RETRIEVED_COUNT)][1] > 0
    return scores[share] / float(has_documents.mean() or 1)


def choose_default_measures(qrels: Qrels | QrelsReader) -> str:
    """Return the names of the measures of `evaluate` if the user names no measure."""
    return DEFAULT_MEASURES if qrels.graded else DEFAULT_MEASURES.removesuffix(" Judged@10")


def score_runs(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Iterable[Measure],
    judging: Judging = Judging(),
    *,
    ends: EndsOptions | None = None,
    slices: "LabelRows | None" = None,
) -> Systems:
    """Score {name: run} against judgments: `evaluate`, without its warning."""
    measures = tuple(measures)
    plan = find_plan(measures)
    if ends is not None:
        ends.check(measures, judging)
    assembly = Assembly(measures, qrels, judging, slices)
    matched_runs = judge_all(qrels, list(runs.values()), judging, costs=plan.takes_cost)
    scores = []
    for name, matched_run in zip(runs, matched_runs, strict=True):
        values = plan.values(matched_run.judged)
        run_ends = NO_ENDS if ends is None else ends.find_ends(measures, matched_run.judged)
        scores.append(
            assembly.build_scores(
                name, matched_run, matched_run.query_ids, values, matched_run.counts, run_ends
            )
        )
    return assembly.build_systems(scores)


def _read_labels(slices: Any) -> "LabelRows":
    from cranfield.formats.small.labels import read_labels  # which few need

    return read_labels(slices)


def refuse_mapping(measures: object) -> None:
    """Raise MeasureError for a mapping, a table or a run where measures are expected."""
    if not isinstance(measures, str) and (
        isinstance(measures, Mapping | Run) or is_table(measures)
    ):
        description = {dict: "a mapping", Run: "a run"}.get(type(measures), "a table")
        excerpt = " ".join(f"{measures!r:.60}".split())
        raise MeasureError(
            f"expected measures such as 'nDCG@10', got {description}, {excerpt}; judgments and "
            "runs come before the measures, several runs in one list or dict: (qrels, [a, b], ...)"
        )


def list_measures(measures: MeasuresLike) -> tuple[Measure, ...]:
    """Return the measures that are named, each of them once."""
    if isinstance(measures, str):  # as most often: `parse_all` returns each measure once
        return tuple(parse_all(measures))
    refuse_mapping(measures)
    if isinstance(measures, Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    measure_list: list[Measure] = []
    for measure in measures:
        if isinstance(measure, Measure):
            measure.check_complete()
            measure_list.append(measure)
        elif isinstance(measure, str):
            measure_list += parse_all(measure)
        else:
            raise MeasureError(f"expected a measure such as 'nDCG@10', got {measure!r:.80}")
    if not measure_list:
        raise MeasureError("no measure is named; try nDCG@10")
    return tuple(dict.fromkeys(measure_list))
