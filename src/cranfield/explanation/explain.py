"""explain: why a number is what it is."""

from typing import Unpack, get_args

from cranfield.data.judging import Judging, JudgingOptions
from cranfield.data.qrels import QrelsLike, as_qrels
from cranfield.data.run import RunLike, SeveralRuns, runs_of
from cranfield.errors import MeasureError, OptionError, one_of
from cranfield.explanation.difference import Difference, differing
from cranfield.explanation.mean import MeanExplanation
from cranfield.explanation.query import Explanation
from cranfield.explanation.scene import Scene
from cranfield.formats.block import Errors, Progress
from cranfield.formats.identifiers import is_id
from cranfield.measures import Measure
from cranfield.notes import warn_of
from cranfield.options import refuse_others, takes
from cranfield.scoring.arguments import check_judged
from cranfield.scoring.evaluate import measures_of


@takes(Judging)
def explain(
    qrels: QrelsLike,
    run: RunLike | SeveralRuns,
    measure: str | Measure = "nDCG@10",
    query: str | int | None = None,
    *,
    errors: Errors = "strict",
    progress: Progress | None = None,
    **judging: Unpack[JudgingOptions],
) -> Explanation | MeanExplanation | Difference:
    """Explain a number: of one query, over all queries, or the difference of two runs on a query.

    The measure itself is run, on values that remember how they were made: what is shown is what
    was computed, for every measure there is and for one's own. Of one query, it is run on that
    query alone: one's own measure must give a query the value that it has among others, too.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        run: a run, as `evaluate` takes it; or two of them, a list or a dict {name: run}.
        measure: one measure.
        query: the query whose value is explained. None: the only one there is, or the value over
            all queries. Two runs need one. A whole number is its decimal text.
        errors: as in `evaluate`.
        progress: as in `evaluate`.
        **judging: each option of `Judging`; `queries` where no query is named.

    Returns:
        Explanation of a query's value, MeanExplanation of the value over all queries, or
        Difference of two runs. Printed, they are text to read; `to_dict()` has every digit.

    Raises:
        InputError: as `evaluate`; or the query is not in the judgments.
        MeasureError: as `evaluate`; or there are several measures.
        OptionError: as `evaluate`; or the number of runs is neither one nor two, or two come
            without a query; or `query` can be no id.
        TypeError: an option that there is not.

    >>> print(explain({"q1": {"a": 2, "b": 1}}, {"q1": ["b", "x", "a"]}, "RR(rel=2)", "q1"))
    RR(rel=2) = 0.3333: query q1, run run
    RR: 1 / rank of the first relevant document (Kantor & Voorhees, Inf. Retr. 2000; trec_eval \
recip_rank)
    Judged documents retrieved, of grade 2 or more
    <BLANKLINE>
     rank   document   grade   1 / rank
     ──────────────────────────────────
     3      a              2   0.333333
    <BLANKLINE>
    A = 1 / rank in the first row, 0 if there is none = 0.333333
    Not judged, of the 3 documents retrieved: 1, at rank 2 (x).
    Of all swaps of two ranks, that of 1 (b) and 3 (a) would raise it most: 1.0000 (+0.6667).
    Of all judgments of one unjudged document, grade 2 for x at rank 2 would raise it most: \
0.5000 (+0.1667).
    Numbers are rounded to six decimals (below 0.001: to six significant digits); the value is not.
    RR(rel=2) = A = 0.3333333333333333
    <BLANKLINE>

    """
    refuse_others(explain, judging)
    if query is not None and not is_id(query):
        raise OptionError(f"query={query!r:.80}: a query id is a text or a whole number")
    check_judged(qrels, run)
    wanted = measures_of(measure)
    if len(wanted) > 1:
        raise MeasureError(f"one measure is explained at a time: {wanted[0]}, say")
    one_of("errors", errors, get_args(Errors))
    how = Judging.of(judging)
    if query is not None and how.queries != "judged":
        raise OptionError(f"queries={how.queries!r} has no effect where one query is explained")
    one, judgments = wanted[0], as_qrels(qrels, errors, how.duplicates)
    named = runs_of(run, errors)
    runs = [*named.values()]
    if len(runs) > 2:
        raise OptionError(f"{len(runs)} runs: one is explained, or the difference of two")
    if len(runs) == 2 and how.duplicates == "each":
        raise OptionError(
            "duplicates='each' gives a document several ranks, and a difference is explained "
            "document by document: take 'first' or 'best'"
        )
    if len(runs) == 2 and one.definition.is_text:
        raise MeasureError(f"{one} is a text: two of them have no difference")
    if query is None and len(judgments.query_ids) == 1:
        query = judgments.query_ids[0]
    if query is None and len(runs) == 2:
        worst = differing(judgments, named, one, how)
        apart = f"They differ most in {worst}" if worst else f"By {one} they do not differ"
        raise OptionError(
            f"the difference of two runs is explained query by query: name one. {apart}"
        )
    found: Explanation | MeanExplanation | Difference
    if query is None:
        found = MeanExplanation.of_run(judgments, runs[0], one, how, progress)
    else:
        costs = one.definition.traits.takes_cost
        scene, *other = (
            Scene.of(judgments, its, str(query), how, costs=costs, progress=progress)
            for its in runs
        )
        if other:
            found = Difference.of(scene, other[0], tuple(named), one)
        else:
            found = Explanation.of(scene, one)
    warn_of(found.notes)
    return found
