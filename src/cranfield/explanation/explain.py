"""explain: why a number is what it is."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack, cast

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import MeasureError, OptionError
from cranfield.explanation.difference import Difference
from cranfield.explanation.mean import MeanExplanation
from cranfield.explanation.queries import QueryDifferences
from cranfield.explanation.query import Explanation
from cranfield.explanation.scene import Scene
from cranfield.extensions import load_families
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.identifiers import is_id
from cranfield.measures import Measure, find_measure
from cranfield.notes import warn_about
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import list_measures

FAMILIES = load_families("explain")
_DEFAULT_MEASURE = "nDCG@10"


@add_progress
@takes(Reading, Judging, *FAMILIES, Watching)
def explain(
    qrels: QrelsLike,
    run: RunLike | SeveralRuns | None = None,
    measure: str | Measure | None = None,
    query: str | int | None = None,
    *,
    errors: Errors = "strict",
    **judging: "Unpack[keywords.Explain]",
) -> Explanation | MeanExplanation | Difference | QueryDifferences:
    """Explain a number: of one query, over all queries, or the difference of two runs.

    The measure itself is run, on values that remember how they were made: what is shown is what
    was computed, for every measure, your own included. For one query, it is run on that query
    alone: your own measure must give a query the same value alone as among others.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        run: a run, as `evaluate` takes it; or two of them, a list or a dict {name: run}. A table
            that holds both sides is given alone, as in `evaluate`: `explain(rows, "AP", "q1")`.
        measure: one measure. [default: nDCG@10]
        query: the query whose value is explained. None: the only one there is, or the value over
            all queries; of two runs, on which queries the second is worse, and on which better. A
            whole number is its decimal text.
        errors: as in `evaluate`.
        **judging: each option of `Reading`, `Judging` and `Watching`, and of extensions; `queries`
            where no query is named.

    Returns:
        Explanation of a query's value, MeanExplanation of the value over all queries; of two
        runs, Difference on one query, or QueryDifferences on all. Printed, they are text to read;
        `to_dict()` has every digit.

    Raises:
        InputError: as `evaluate`; or the query is not in the judgments.
        MeasureError: as `evaluate`; or there are several measures.
        OptionError: as `evaluate`; or the number of runs is neither one nor two; or `query` cannot
            be an id.
        TypeError: an unknown option.

    >>> print(explain({"q1": {"a": 2, "b": 1}}, {"q1": ["b", "x", "a"]}, "RR(rel=2)", "q1"))
    RR(rel=2) = 0.3333: query q1, run run
    RR: 1 / rank of the first relevant document (Kantor & Voorhees, Inf. Retr. 2000; trec_eval \
recip_rank)
    Documents retrieved
    <BLANKLINE>
     rank  document  grade
     ─────────────────────
     1     b             1
     2     x             -
     3     a             2
    <BLANKLINE>
    Judged documents retrieved, of grade 2 or more
    <BLANKLINE>
     rank  document  grade  1 / rank
     ───────────────────────────────
     3     a             2  0.333333
    <BLANKLINE>
    A = 1 / rank in the first row, 0 if there is none = 0.333333
    Unjudged: 1 of the 3 documents retrieved, at rank 2 (x).
    Best swap of two ranks: 1 (b) and 3 (a): 1.0000 (+0.6667).
    Highest value with one more judgment: grade 2 for x at rank 2: 0.5000 (+0.1667).
    Numbers are rounded to six decimals (below 0.001: to six significant digits); the value is not.
    RR(rel=2) = A = 0.3333333333333333
    <BLANKLINE>

    """
    refuse_unknown_options(explain, judging)
    check_errors(errors)
    options = Judging.of(judging)
    second_measure = None if query is None else measure
    judgments, all_runs, shifted_measure = arrange_arguments(
        qrels,
        run,
        second_measure,
        None,
        reading=Reading.of(judging),
        duplicates=options.duplicates,
        errors=errors,
        verb=explain,
    )
    if query is None and shifted_measure is not None:  # explain(rows, "AP", "q1")
        measure, query = shifted_measure, cast(Any, measure)
    elif query is not None:
        measure = shifted_measure
    if query is not None and not is_id(query):
        raise OptionError(f"query={query!r:.80}: a query id is a string or a whole number")
    try:
        measures = list_measures(_DEFAULT_MEASURE if measure is None else measure)
    except MeasureError as error:
        if isinstance(query, str) and find_measure(query) is not None:
            raise MeasureError(f"{error} The order is: qrels, run, measure, query.") from None
        raise
    chosen_measure = measures[0]
    if len(measures) > 1:
        raise MeasureError(f"one measure is explained at a time: for example {chosen_measure}")
    if query is not None and options.queries != "judged":
        raise OptionError(f"queries={options.queries!r} has no effect where one query is explained")
    for family in FAMILIES:
        chosen_measure, options = family.of(judging).adjust_measure(chosen_measure, options)
    if query is not None:
        options = replace(options, queries="judged")
    run_of_name = {all_runs.name: all_runs} if isinstance(all_runs, Run) else all_runs
    if len(run_of_name) != 1:
        _check_pair(len(run_of_name), chosen_measure, options)
    if query is None and len(judgments.query_ids) == 1:
        query = judgments.query_ids[0]
    explanation = _explain(judgments, run_of_name, chosen_measure, query, options)
    warn_about(explanation.notes)
    return explanation


def _explain(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measure: Measure,
    query: str | int | None,
    judging: Judging,
) -> Explanation | MeanExplanation | Difference | QueryDifferences:
    """Return the explanation of one or two runs on a query, or, if it is None, on all queries."""
    first_run, *second_runs = runs.values()
    if query is None and second_runs:
        return QueryDifferences.of_runs(qrels, runs, measure, judging)
    if query is None:
        return MeanExplanation.of_run(qrels, first_run, measure, judging)
    costs = measure.definition.traits.takes_cost
    scene, *second_scenes = (
        Scene.of(qrels, run, str(query), judging, costs=costs) for run in runs.values()
    )
    if second_scenes:
        return Difference.of(scene, second_scenes[0], tuple(runs), measure)
    return Explanation.of(scene, measure)


def explain_queries(
    qrels: Qrels, run: Run, measure: Measure, query_ids: Collection[str], judging: Judging
) -> Iterator[Explanation]:
    """Yield what `explain` returns of some queries of a run, which is read once."""
    costs = measure.definition.traits.takes_cost
    for scene in Scene.of_queries(qrels, run, query_ids, judging, costs=costs):
        yield Explanation.of(scene, measure)


def _check_pair(n_runs: int, measure: Measure, judging: Judging) -> None:
    """Raise OptionError or MeasureError if there is no difference of runs to explain."""
    if n_runs != 2:
        raise OptionError(f"{n_runs} runs: one is explained, or the difference of two")
    if judging.keeps_repeats:
        raise OptionError(
            f"duplicates={judging.duplicates!r} gives a document several ranks, and a difference "
            "is explained document by document: take 'first' or 'best'"
        )
    if measure.definition.is_text:
        raise MeasureError(f"{measure} is a string: two of them have no difference")
