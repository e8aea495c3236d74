"""Part: judgments and a run of some queries, of which either side may have nothing."""

from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.formats.objects import NestedRows
from cranfield.measures import Plan


def judge_part(
    qrels: Qrels | None,
    run: Run | None,
    plan: Plan,
    judging: Judging = Judging(),
    top_grade: float | None = None,
) -> MatchedRun:
    """Return a run that met the judgments of some queries; None is a side without a row.

    A query without a run scores 0, one without judgments is counted as such. Whether the two sides
    have anything in common is for the caller to see, once all parts have met. `top_grade` is the
    highest grade of the collection; None: no measure depends on it.

    Raises InputError for what cannot be read, or a grade above `top_grade`; OptionError for an
    option that does not go with these judgments or this run.

    >>> from cranfield.measures import parse_all, plan_of
    >>> met = judged_part(Qrels({"q": {"a": 1}}), None, plan_of(parse_all("RR")))
    >>> list(met.query_ids), met.counts.without_results
    (['q'], 1)
    """
    judgments = make_empty_qrels() if qrels is None else qrels
    if top_grade is not None:
        judgments = judgments.with_top_grade(top_grade)
    ranking = make_empty_run() if run is None else run
    (matched_run,) = judge_all(
        judgments, [ranking], judging, costs=plan.takes_cost, defer_check=True
    )
    return matched_run


def make_empty_qrels() -> Qrels:
    """Return judgments without a query."""
    return Qrels({"q": {}}).select_queries([])


def make_empty_run() -> Run:
    """Return a run without a query."""
    run = Run({"q": {}})
    assert isinstance(run.rows, NestedRows)  # noqa: S101 - as those of a dict are
    return run.replace_rows(run.rows.with_data({}))
