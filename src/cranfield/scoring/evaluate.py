"""evaluate: judgments, a run and measures to scores."""

from collections.abc import Iterable, Mapping
from typing import Unpack, cast, get_args, overload

from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging, JudgingOptions
from cranfield.data.qrels import Qrels, QrelsLike, as_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns, as_run, several_runs
from cranfield.errors import MeasureError, one_of
from cranfield.formats.block import Errors, Progress
from cranfield.measures import Measure, Plan, parse_all
from cranfield.notes import Note, warn_of
from cranfield.options import checked, flag, refuse_others, takes
from cranfield.scoring.arguments import check_judged, from_lists
from cranfield.scoring.scores import Scores, Systems
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10 AP RR P@10 R@100 Judged@10"

MeasuresLike = str | Measure | Iterable[str | Measure]


class EvaluateOptions(JudgingOptions, total=False):
    """The options of `evaluate`, for its two forms."""

    bounds: bool
    errors: Errors
    progress: Progress | None


@overload
def evaluate(
    qrels: QrelsLike,
    runs: list[list[int]] | list[list[str]],  # of ids
    measures: MeasuresLike = ...,
    **options: Unpack[EvaluateOptions],
) -> Scores: ...
@overload
def evaluate(
    qrels: QrelsLike,
    runs: SeveralRuns,
    measures: MeasuresLike = ...,
    **options: Unpack[EvaluateOptions],
) -> Systems: ...
@overload
def evaluate(
    qrels: QrelsLike,
    runs: RunLike,
    measures: MeasuresLike = ...,
    **options: Unpack[EvaluateOptions],
) -> Scores: ...
@takes(Judging)
def evaluate(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *,
    bounds: bool = False,
    errors: Errors = "strict",
    progress: Progress | None = None,
    **judging: Unpack[JudgingOptions],
) -> Scores | Systems:
    """Score one run, or several, against judgments.

    Args:
        qrels: the judgments: a Qrels, the path of a file (whatever `read_qrels` reads), a dict
            `{query_id: {doc_id: grade}}`, or a table (whatever `Qrels` takes: pandas, polars,
            Arrow, rows, arrays) with the columns query_id, doc_id, relevance.
        runs: a Run, the path of a file (whatever `read_run` reads), a dict
            `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}`, or a table with the
            columns query_id, doc_id, score. A list of these, or a dict `{name: run}`, gives
            Systems, one table for all; a list of rows is one run. Where both sides are lists of
            lists of ids, each list has the relevant documents, or the ranking, of a query: "1",
            "2", ...
        measures: names or Measure values; a string may hold several, separated by blanks or
            commas.
        bounds: also find the lowest and the highest value of each query over every way to grade
            the unjudged documents that were retrieved (kept, with `depth`): `scores["AP low"]`,
            `scores["AP high"]`, columns in every form.
        errors: "strict" refuses the first row that cannot be used; "skip" leaves such rows out,
            and says how many under the result. For what is not yet a Qrels or a Run.
        progress: called with the number of bytes whenever some of a run file were read.
        **judging: each option of `Judging`.

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
        OptionError: an option with a value that it does not know, or that goes with no other.

    >>> evaluate({"q1": {"d1": 3, "d2": 2}}, {"q1": ["d1", "d4", "d2"]}, "nDCG@5 RR").means()
    {'nDCG@5': 0.9385574520455129, 'RR': 1.0}

    """
    refuse_others(evaluate, judging)
    one_of("errors", errors, get_args(Errors))
    qrels, runs = from_lists(qrels, runs)
    check_judged(qrels, runs)
    wanted = measures_of(measures)
    judgments = as_qrels(qrels, errors)
    several = several_runs(runs, errors)
    one = None if several is not None else as_run(cast(RunLike, runs), errors)
    named = several if one is None else {one.name: one}
    systems = score_runs(
        judgments, named or {}, wanted, Judging.of(judging), bounds=bounds, progress=progress
    )
    found = systems if one is None else systems[one.name]
    warn_of(found.notes)
    return found


def score_runs(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Iterable[Measure],
    judging: Judging = Judging(),
    *,
    bounds: bool = False,
    progress: Progress | None = None,
) -> Systems:
    """Score runs, by name, against judgments: `evaluate`, without its warning."""
    wanted = tuple(measures)
    plan = Plan(wanted)
    if checked("bounds", bounds, flag):
        from cranfield.scoring.bounds import bounds_of, check_bounded

        check_bounded(wanted, judging.judged_only, judging.ties)
    ideals = ideals_of(wanted, qrels)
    costs = any(one.definition.traits.takes_cost for one in wanted)
    meetings = judge_all(qrels, list(runs.values()), judging, progress=progress, costs=costs)
    unusual = [f"{name}={value}" for name, value in judging.unusual().items()]
    options = [Note("options", "info", f"Options: {', '.join(unusual)}.")] if unusual else []
    how = {"cranfield": __version__, **judging.to_dict(), "qrels": qrels.form}
    every = []
    for (name, run), meeting in zip(runs.items(), meetings, strict=True):
        values = plan.values(meeting.judged)
        recipe = {**how, "run": run.form}
        notes, found = [*meeting.counts.notes(), *meeting.notes, *ideals], None
        if bounds:
            recipe["bounds"] = True
            found = bounds_of(wanted, meeting.judged)
            notes += found.notes(wanted)
        notes += options
        ids, counts = meeting.query_ids, meeting.counts
        every.append(Scores(name, wanted, ids, values, counts, recipe, tuple(notes), found))
    return Systems(every)


def ideals_of(measures: Iterable[Measure], qrels: Qrels) -> list[Note]:
    """Return notes on which ideal ranking each measure has, where the judgments are lists."""
    if not qrels.notes:
        return []
    meanings = {
        "top": f"has the top grade, {qrels.top_grade}, at every rank",
        "retrieved": "is what was retrieved, sorted",
    }
    found, others = [], []
    for one in measures:
        kind = one.parameters.get("ideal")
        if kind in meanings:
            text = f"{one}: the ideal ranking {meanings[kind]}."
            found.append(Note(f"ideal-{kind}", "info", text))
        else:
            others.append(one)
    if others:
        which = "another measure" if found else "a measure"
        text = f"The ideal ranking, where {which} has one: these grades, sorted."
        found.append(Note("ideal-sorted", "info", text))
    return found


def measures_of(measures: MeasuresLike) -> tuple[Measure, ...]:
    """Return the measures that are named, each once."""
    if isinstance(measures, str | Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    found: list[Measure] = []
    for one in measures:
        if isinstance(one, Measure):
            one.check_complete()
            found.append(one)
        elif isinstance(one, str):
            found += parse_all(one)
        else:
            raise MeasureError(f"expected a measure such as 'nDCG@10', got {one!r:.80}")
    if not found:
        raise MeasureError("no measure is named; try nDCG@10")
    return tuple(dict.fromkeys(found))
