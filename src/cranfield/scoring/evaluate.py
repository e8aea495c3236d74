"""evaluate: judgments, a run and measures to scores."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, Unpack, overload

from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging, JudgingOptions
from cranfield.data.meeting import Meeting
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import MeasureError, OptionError
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.frames import is_table
from cranfield.measures import Measure, parse_all, plan_of
from cranfield.notes import Note, warn_of
from cranfield.options import checked, flag, refuse_others, takes
from cranfield.progress import Watching, WatchingOptions, watched
from cranfield.render.numbers import plain
from cranfield.scoring.arguments import Reading, ReadingOptions, arranged
from cranfield.scoring.scores import Scores, Systems
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows
    from cranfield.scoring.rule import Convention

DEFAULT_MEASURES = "nDCG@10 AP RR P@10 R@100 Judged@10"

MeasuresLike = str | Measure | Iterable[str | Measure]


class HowOptions(ReadingOptions, JudgingOptions, WatchingOptions, total=False):
    """How data are read, how a run is judged, and who watches, as keywords of a function."""


class EvaluateOptions(HowOptions, total=False):
    """The options of `evaluate`, for its forms."""

    convention: str | None
    bounds: bool
    slices: Any
    fingerprints: bool
    errors: Errors


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
@overload
def evaluate(
    qrels: Any,
    runs: None = ...,
    measures: MeasuresLike = ...,
    **options: Unpack[EvaluateOptions],
) -> Any: ...
@watched
@takes(Reading, Judging, Watching)
def evaluate(
    qrels: QrelsLike,
    runs: RunLike | SeveralRuns | None = None,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *_more: Never,
    convention: str | None = None,
    bounds: bool = False,
    slices: Any = None,
    fingerprints: bool = False,
    errors: Errors = "strict",
    **judging: Unpack[HowOptions],
) -> Scores | Systems:
    """Score one run, or several, against judgments.

    A table that holds both sides, the expected and the retrieved documents of each query, or the
    grade and the score of each document, stands alone: `evaluate(rows, "recall@5")`.

    Args:
        qrels: the judgments: a Qrels, the path of a file (whatever `read_qrels` reads), a dict
            `{query_id: {doc_id: grade}}`, or a table (whatever `Qrels` takes: pandas, polars,
            Arrow, rows, arrays) with the columns query_id, doc_id, relevance. Or a table, a file
            or a list of dicts that holds both sides; several of them, a list or a dict `{name:
            table}`, are several systems over the same judgments.
        runs: a Run, the path of a file (whatever `read_run` reads), a dict
            `{query_id: {doc_id: score}}` or `{query_id: [doc_id, ...]}`, or a table with the
            columns query_id, doc_id, score. A list of these, or a dict `{name: run}`, gives
            Systems, one table for all; a list of rows is one run. Where both sides are lists of
            lists of ids, each list has the relevant documents, or the ranking, of a query: "1",
            "2", ... None, or the measures in its place: the first argument holds both sides. Where
            these hold both sides, too, each table is a system, as of a list of tables.
        measures: names or Measure values; a string may hold several, separated by blanks or
            commas. Judged@10 is none of the default where judgments have no grades: it would be
            P@10.
        convention: the name of a tool whose numbers are wanted, such as "beir", "ranx" or
            "sentence-transformers": measures are computed, and queries averaged, as it does.
            `cranfield conventions` lists them. Parameters that are stated, and options that are not
            at their defaults, stay as they are.
        bounds: also find the lowest and the highest value of each query over every way to grade
            the unjudged documents that were retrieved (kept, with `depth`): `scores["AP low"]`,
            `scores["AP high"]`, columns in every form.
        slices: labels of queries, to average over those of each label, too: a dict
            `{query_id: label}` or `{name: {query_id: label}}`, or a file or table with a column of
            query ids and one or more of labels. `scores.slice("how to")` has those of one.
        fingerprints: also keep, in the recipe, a hash of the judgments and a sketch of the ids that
            were retrieved, for scores that are to be saved: `compare` and `gate` see by them
            whether two are of the same judgments. It reads runs once more.
        errors: "strict" refuses the first row that cannot be used; "skip" leaves such rows out,
            and says how many under the result. For what is not yet a Qrels or a Run.
        **judging: each option of `Reading`, `Judging` and `Watching`.

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
    >>> rows = [{"question": "Why?", "expected_ids": ["d1", "d2"], "retrieved_ids": ["d1", "d4"]}]
    >>> evaluate(rows, "recall@5").means()
    {'R@5': 0.5}

    """
    refuse_others(evaluate, judging, _more)
    check_errors(errors)
    refuse_mapping(measures)
    columns = Reading.of(judging).columns if "columns" in judging else None
    how = Judging.of(judging)
    judgments, found_runs, named = arranged(
        *(qrels, runs, measures, DEFAULT_MEASURES),
        columns=columns,
        errors=errors,
        duplicates=how.duplicates,
        verb=evaluate,
    )
    wanted = measures_of(usual_measures(judgments) if named is DEFAULT_MEASURES else named)
    given = None if slices is None else _labels(slices)
    one = found_runs if isinstance(found_runs, Run) else None
    several = {found_runs.name: found_runs} if isinstance(found_runs, Run) else found_runs
    if convention is None:
        systems = score_runs(judgments, several, wanted, how, bounds=bounds, slices=given)
    elif checked("bounds", bounds, flag):
        raise OptionError("bounds are known of this package's definitions: leave out convention")
    else:
        its = convention_of(convention)
        known = its.known(wanted) if named is DEFAULT_MEASURES else wanted
        systems = score_by(its, judgments, several, known, how, slices=given)
        if len(known) < len(wanted):
            lacking = ", ".join(str(one) for one in wanted if one not in known)
            text = f"Not computed, since {its.name} has no such measure: {lacking}."
            note = Note("lacking", "info", text)
            systems = Systems(replace(each, notes=(*each.notes, note)) for each in systems.values())
    if checked("fingerprints", fingerprints, flag):
        systems = _with_fingerprints(systems, judgments, several)
    found = systems if one is None else systems[one.name]
    warn_of(found.notes)
    return found


def _with_fingerprints(systems: Systems, qrels: Qrels, runs: Mapping[str, Run]) -> Systems:
    from cranfield.data.fingerprint import hash_of_judgments, sketch_of

    known = {"judgments_sha256": hash_of_judgments(qrels)}
    return Systems(
        replace(one, recipe={**one.recipe, **known, "retrieved": sketch_of(runs[name])})
        for name, one in systems.items()
    )


def usual_measures(qrels: Qrels) -> str:
    """Return the measures of `evaluate` where none is named."""
    return DEFAULT_MEASURES if qrels.graded else DEFAULT_MEASURES.removesuffix(" Judged@10")


def score_runs(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Iterable[Measure],
    judging: Judging = Judging(),
    *,
    bounds: bool = False,
    slices: "LabelRows | None" = None,
) -> Systems:
    """Score runs, by name, against judgments: `evaluate`, without its warning."""
    wanted = tuple(measures)
    plan = plan_of(wanted)
    if checked("bounds", bounds, flag):
        from cranfield.scoring.bounds import bounds_of, check_bounded

        check_bounded(wanted, judging)
    ideals = ideals_of(wanted, qrels)
    several = list(runs.values())
    meetings = judge_all(qrels, several, judging, costs=plan.takes_cost)
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
        whole = Scores(name, wanted, ids, values, counts, recipe, tuple(notes), found)
        if slices is not None:
            whole = _with_slices(whole, meeting, slices)
        every.append(whole)
    return Systems(every)


def _with_slices(scores: Scores, meeting: Meeting, slices: "LabelRows") -> Scores:
    from cranfield.scoring.slices import slices_of  # which few need

    parts, said = slices_of(slices, scores.query_ids)
    sliced = [
        (str(label), str(name), scores.of(rows, meeting.counts_of(rows)))
        for label, name, rows in parts
    ]
    return replace(scores, notes=(*scores.notes, *said), slices=tuple(sliced))


def _labels(slices: Any) -> "LabelRows":
    from cranfield.formats.small.labels import label_rows  # which few need

    return label_rows(slices)


def convention_of(name: str) -> "Convention":
    """Return the convention of a name; OptionError with the nearest ones if there is none."""
    from cranfield.scoring.conventions import convention_of as found  # which few need

    return found(name)


def score_by(
    convention: "Convention",
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Iterable[Measure],
    judging: Judging = Judging(),
    *,
    slices: "LabelRows | None" = None,
) -> Systems:
    """Score runs, by name, as another tool does: an evaluation for each way in which it ranks."""
    from cranfield.scoring.join import join

    wanted = [*measures]
    groups = convention.groups(wanted, judging)
    every = [score_runs(qrels, runs, one.measures, one.judging, slices=slices) for one in groups]
    return Systems(
        join(convention, wanted, groups, [found[name] for found in every]) for name in runs
    )


def ideals_of(measures: Iterable[Measure], qrels: Qrels) -> list[Note]:
    """Return notes on which ideal ranking each measure has, where the judgments are lists."""
    if qrels.lists_of != "grades":
        return []
    meanings = {
        "top": f"has the top grade, {plain(qrels.top_grade)}, at every rank",
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


def refuse_mapping(measures: object) -> None:
    """Raise MeasureError for a mapping, a table or a run where measures are expected."""
    if not isinstance(measures, str) and (
        isinstance(measures, Mapping | Run) or is_table(measures)
    ):
        what = {dict: "a mapping", Run: "a run"}.get(type(measures), "a table")
        shown = " ".join(f"{measures!r:.60}".split())
        raise MeasureError(
            f"expected measures such as 'nDCG@10', got {what}, {shown}; judgments and "
            "runs come before the measures, several runs in one list or dict: (qrels, [a, b], ...)"
        )


def measures_of(measures: MeasuresLike) -> tuple[Measure, ...]:
    """Return the measures that are named, each once."""
    if isinstance(measures, str):  # as most often: each is named once in what this returns
        return tuple(parse_all(measures))
    refuse_mapping(measures)
    if isinstance(measures, Measure) or not isinstance(measures, Iterable):
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
