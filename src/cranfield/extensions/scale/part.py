"""Part: judges a run on some of the queries, where judgments or run may have no row."""

from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.formats.dict_rows import NestedRows
from cranfield.measures import Plan


def judge_part(
    qrels: Qrels | None,
    run: Run | None,
    plan: Plan,
    judging: Judging = Judging(),
    top_grade: float | None = None,
) -> MatchedRun:
    """Match a run with the judgments of some queries; None stands for a side without a row.

    A query without a run scores 0, one without judgments is counted as such. The caller checks that
    judgments and run share documents, once all parts are judged. `top_grade` is the highest grade
    of the collection; None: no measure depends on it.

    Raises InputError for what cannot be read, or a grade above `top_grade`; OptionError for an
    option that does not go with these judgments or this run.

    >>> from cranfield.measures import find_plan, parse_all
    >>> run = judge_part(Qrels({"q": {"a": 1}}), None, find_plan(parse_all("RR")))
    >>> list(run.query_ids), run.counts.without_results
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
