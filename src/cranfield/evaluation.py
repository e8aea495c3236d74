"""evaluate: judgments, a run and measures to scores."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, overload

from cranfield.errors import MeasureError
from cranfield.formats.objects import ArrowTable, is_table
from cranfield.formats.trec import Order
from cranfield.judge import Precision, Queries, Ties, judge
from cranfield.measures import Measure, Plan, parse_all
from cranfield.scores import Scores, Systems
from cranfield.tables import QrelsLike, Run, RunLike, as_qrels, as_run
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10 AP RR P@10 R@100 Judged@10"

SeveralRuns = (
    list[Any]  # of RunLike; a list of one kind only would not be a list[RunLike]
    | tuple[RunLike, ...]
    | Mapping[str, Run | str | os.PathLike[str] | ArrowTable]
    | Mapping[str, Mapping[Any, Mapping[Any, float]]]
    | Mapping[str, Mapping[Any, list[Any]]]
)
MeasuresLike = str | Measure | Iterable[str | Measure]


@overload
def evaluate(
    qrels: QrelsLike,
    run: SeveralRuns,
    measures: MeasuresLike = ...,
    *,
    queries: Queries = ...,
    order: Order = ...,
    scores: Precision = ...,
    ties: Ties = ...,
    depth: int | None = ...,
    judged_only: bool = ...,
    progress: Callable[[int], None] | None = ...,
) -> Systems: ...
@overload
def evaluate(
    qrels: QrelsLike,
    run: RunLike,
    measures: MeasuresLike = ...,
    *,
    queries: Queries = ...,
    order: Order = ...,
    scores: Precision = ...,
    ties: Ties = ...,
    depth: int | None = ...,
    judged_only: bool = ...,
    progress: Callable[[int], None] | None = ...,
) -> Scores: ...
def evaluate(
    qrels: QrelsLike,
    run: RunLike | SeveralRuns,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *,
    queries: Queries = "judged",
    order: Order = "score",
    scores: Precision = "double",
    ties: Ties = "document",
    depth: int | None = None,
    judged_only: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scores | Systems:
    """Score one run, or several, against judgments.

    Args:
        qrels: the judgments: a Qrels, the path of a TREC qrels file, a dict
            `{query_id: {doc_id: grade}}`, or a table (pandas, polars, Arrow) with the columns
            query_id, doc_id, relevance.
        run: a Run, the path of a TREC run file, a dict `{query_id: {doc_id: score}}` or
            `{query_id: [doc_id, ...]}`, or a table with the columns query_id, doc_id, score.
            A list of these, or a dict `{name: run}`, gives Systems, one table for all.
        measures: names or Measure values; a string may hold several, separated by blanks.
        queries: "judged" averages over every query of the qrels; one that the run does not
            answer scores 0 (`trec_eval -c`). "both" leaves such queries out.
        order: rank by "score" (ties by doc_id, descending), by the "rank" column, or as "given".
        scores: "single" compares scores as 32-bit floats, as trec_eval 9 and pytrec_eval do.
        ties: equal scores stand by "document" id, descending, or "ascending".
        depth: keep only the best so many documents of each query (`trec_eval -M`).
        judged_only: drop unjudged documents, and those of negative grade, before measuring
            (`trec_eval -J`).
        progress: called with the number of bytes whenever some of a run file were read.

    Returns:
        Scores, with the value over all queries, each query's, and the counts of queries; or
        Systems for several runs.

    Raises:
        InputError: qrels or a run that cannot be scored, with file, line and what to do.
        MeasureError: a measure or parameter that does not exist, with the nearest ones.
        OptionError: an option with a value that it does not know.

    >>> evaluate({"q1": {"d1": 3, "d2": 2}}, {"q1": ["d1", "d4", "d2"]}, "nDCG@5 RR").means()
    {'nDCG@5': 0.9385574520455129, 'RR': 1.0}

    """
    wanted = _measures(measures)
    plan = Plan(wanted)
    judgments = as_qrels(qrels)
    options: dict[str, Any] = {
        "queries": queries,
        "order": order,
        "scores": scores,
        "ties": ties,
        "depth": depth,
        "judged_only": judged_only,
    }

    def scored(one: Run, name: str) -> Scores:
        meeting = judge(judgments, one, progress=progress, **options)
        values = plan.values(meeting.judged)
        recipe = {"cranfield": __version__, **options}
        return Scores(name, wanted, meeting.query_ids, values, meeting.counts, recipe)

    several = _several(run)
    if several is None:
        one = as_run(cast(RunLike, run))
        return scored(one, one.name)
    return Systems([scored(one, name) for name, one in several.items()])


def _measures(measures: MeasuresLike) -> tuple[Measure, ...]:
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


def _several(run: Any) -> dict[str, Run] | None:
    """Return the runs of a list, or of a dict {name: run}, by name; None if it is one run."""
    if isinstance(run, list | tuple):
        runs: dict[str, Run] = {}
        for one in map(as_run, run):
            name, n = one.name, 1
            while name in runs:  # a number is added where two have the same name
                n += 1
                name = f"{one.name} ({n})"
            runs[name] = one
        return runs
    if isinstance(run, Mapping):
        first = next((one for one in run.values() if not hasattr(one, "__len__") or len(one)), None)
        nested = isinstance(first, Mapping) and any(
            isinstance(docs, Mapping | list | tuple) for docs in first.values()
        )
        if nested or isinstance(first, Run | str | os.PathLike) or is_table(first):
            return {str(name): as_run(one) for name, one in run.items()}
    return None
