"""judge: a run meets the judgments, and is ranked. Over which queries: see `averaged`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.grades import levels_of
from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked
from cranfield.arrays.rows import changes, sizes, spans
from cranfield.data.averaged import Averaged, averaged, none_averaged
from cranfield.data.judged import ENDLESS, Judged, Parts
from cranfield.data.judging import Judging, Ties
from cranfield.data.lists import check_lists
from cranfield.data.match import Match, matches
from cranfield.data.meeting import Meeting, Met
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import OptionError


def judge(
    qrels: Qrels,
    run: Run,
    judging: Judging = Judging(),
    *,
    costs: bool = False,
    whole: bool = True,
) -> Meeting:
    """Match a run with the judgments and rank it: `judge_all` for one run."""
    (found,) = judge_all(qrels, [run], judging, costs=costs, whole=whole)
    return found


def judge_all(
    qrels: Qrels,
    runs: Sequence[Run],
    judging: Judging = Judging(),
    *,
    costs: bool = False,
    whole: bool = True,
    part: bool = False,
) -> Iterator[Meeting]:
    """Match runs with the judgments and rank them, one after the other, on all cores.

    With ties="expected", the places that a tied document may have are kept, for measures that
    average over all orders; `depth` cuts such orders, too. `judged_only` drops documents after
    that, and closes the ranks up. `costs`: keep what it costs to
    look at each document, if a run says so. `whole`: that no document is judged
    says something of the run, not only of one query of it; it is refused if one is judged but for
    its spelling. `part`: these are some of the queries, and whether run and judgments have anything
    in common is seen once all have met (`check_met`).

    Raises InputError if a run cannot be read, or shares no query with the qrels; OptionError for
    an option of `judging` that these judgments or runs do not go with.
    """
    _check(qrels, runs, judging)
    runs = [run.against(qrels.spans, judging.overlap) for run in runs]
    for run, match in zip(runs, matches(qrels, runs, judging, costs), strict=True):
        yield _met(qrels, run, match, judging, whole, part)


def _check(qrels: Qrels, runs: Sequence[Run], judging: Judging) -> None:
    """Raise OptionError for an option that these judgments or runs do not go with."""
    if qrels.in_groups and judging.keeps_repeated:
        raise OptionError(
            f"duplicates={judging.duplicates!r} gives a document several ranks, and these "
            "judgments are in groups, where it has one: take 'first' or 'best'"
        )
    if qrels.in_groups and judging.queries == "run":
        raise OptionError(
            "queries='run' counts queries without judgments, and these judgments are in groups, of "
            "which such a query has none: take 'retrieved'"
        )
    if qrels.in_groups and not judging.in_one_order:
        raise OptionError(
            f"ties={judging.ties!r} takes one grade for each document, and these judgments are in "
            "groups"
        )
    if qrels.spans is None and judging.overlap != Judging.overlap:
        raise OptionError(
            f"overlap={judging.overlap!r} has no effect: the judgments are not of spans (columns "
            "start and end)"
        )
    if qrels.spans is not None and judging.identical_ids == "drop":
        raise OptionError(
            "identical_ids='drop' compares the ids of documents with those of queries, and these "
            "judgments are of spans: leave it out"
        )
    for run in runs:
        if judging.scores_above is not None and not run.has_scores:
            raise OptionError(
                f"scores_above={judging.scores_above:g} (--scores-above) compares scores, and the "
                f"run {run.name!r} has none"
            )


def check_met(met: Met, qrels: Qrels | None = None) -> None:
    """Raise InputError if a run and the judgments have nothing in common, or none is averaged.

    `qrels` are judgments of the queries at the beginning of the run, if those of all are not held.
    """
    run, whole = met.run, met.whole
    if whole and "ids" in (met.qrels.lists_of, run.lists_of):
        check_lists(met.qrels, run, met.seen.n_shared + len(met.unknown))
    if not met.n_hits:
        from cranfield.data.spelling import nothing_shared, other_spelling

        if not met.seen.n_shared:
            raise nothing_shared(met.qrels, run, met.unknown, met.seen.left_out)
        other = other_spelling(met.qrels if qrels is None else qrels, run) if whole else None
        if other is not None:
            raise other
    if not met.n_queries:
        raise none_averaged(met.judging.queries, met.not_averaged, run.source)


def _met(
    qrels: Qrels, run: Run, match: Match, judging: Judging, whole: bool, part: bool
) -> Meeting:
    over = averaged(qrels, match, judging.queries)
    depth = None if judging.depth is None else min(judging.depth, ENDLESS)
    n_retrieved, cost, every, n_below = over.n_retrieved, match.cost, match, 0
    if judging.unretrieved == "below":
        from cranfield.data.unretrieved import with_unretrieved

        every, added = with_unretrieved(qrels, match, judging)
        added = over.column(added)
        n_retrieved = added + np.minimum(n_retrieved, depth or ENDLESS)
        n_below, depth = int(added.sum()), None  # it is cut
    row, rank, hits = _ranked(qrels, every, judging)
    if cost is not None and judging.ties in ("best", "worst"):
        begins = (np.cumsum(match.n_retrieved) - match.n_retrieved)[qrels.query[row]] - 1
        cost = _moved(cost, begins + match.placed.rank, begins + rank)
    ideal, n_retrieved = qrels.ideal, n_retrieved[:, None]
    if judging.duplicates == "joined":
        ideal = _with_repeated(qrels, ideal, row)
    if over.place is not None:
        hits, ideal = over.of(hits), over.of(ideal)
        if cost is not None:
            cost = _costs_of(over, match.n_retrieved, cost)
    if depth is not None:
        hits, n_retrieved, cost = _cut(hits, n_retrieved, cost, depth)

    def parts() -> Parts:
        rank_of = np.zeros(len(qrels), np.int64)
        best = rank.argsort()[::-1] if match.repeated.count else slice(None)  # the last one counts
        rank_of[row[best]] = rank[best] if depth is None else np.where(rank <= depth, rank, 0)[best]
        of = qrels.levels if over.place is None else qrels.levels.of_queries(over.place)
        return Parts(len(over.query_ids), of, rank_of[of.row], judging.judged_only, qrels)

    if judging.judged_only:
        hits, n_retrieved, cost = without_unjudged(hits, n_retrieved, cost)
    judged = Judged(
        *(hits, ideal, n_retrieved, qrels.top_grade, qrels.in_groups, parts, cost),
        ties=judging.ties,
        is_cut=judging.depth is not None,
    )
    met = Meeting(judged, over, qrels, run, match, judging, whole, n_below)
    if not part:
        check_met(met)
    return met


def _ranked(qrels: Qrels, match: Match, judging: Judging) -> tuple[Ints, Ints, Ranked]:
    """Return the hits as rows of the qrels, their ranks, and both in order of query and rank."""
    row, rank, ties = match.row, match.placed.rank, judging.ties
    query, first, size = qrels.query[row], match.placed.tie_first, match.placed.tie_size
    if ties in ("best", "worst"):
        rank = _dealt_by_grade(ties, query, rank, qrels.grade[row], first, size)
    n_queries, ordered, rank_of, query_of = len(qrels.query_ids), row, rank, query
    dealt = ties in ("best", "worst")
    if dealt or not match.in_order:
        keys = rank if n_queries == 1 else query * (int(rank.max(initial=0)) + 1) + rank
        # A run in order needs no sorting. (One query is sorted as soon as looked through.)
        if n_queries == 1 or not (keys[1:] >= keys[:-1]).all():
            by_key = keys.argsort()
            ordered, rank_of, query_of = row[by_key], rank[by_key], query[by_key]
            if ties == "expected":
                first, size = first[by_key], size[by_key]
    columns = {name: column[ordered] for name, column in qrels.sampling.items()}
    if ties == "expected":
        columns |= {"tie_first": first, "tie_size": size}
    hits = Ranked(n_queries, query_of, rank_of, qrels.grade[ordered], columns=columns)
    return row, rank, hits


def _with_repeated(qrels: Qrels, ideal: Ranked, row: Ints) -> Ranked:
    """Return the ideal ranking with the repeated ones among the hits, `row` (hits,), once more."""
    hits = np.sort(row)
    again = hits[1:][hits[1:] == hits[:-1]]
    query = np.append(ideal.query, qrels.query[again])
    grade = np.append(ideal.grade, qrels.grade[again])
    order = np.lexsort((-grade, query))
    rank = spans(1, np.bincount(query, minlength=ideal.n_queries))
    return Ranked(ideal.n_queries, query[order], rank, grade[order])


def _costs_of(over: Averaged, n_retrieved: Ints, cost: Floats) -> Floats:
    """Return the costs of the averaged queries' documents; those of all in the qrels are given."""
    assert over.place is not None  # noqa: S101 - else there is nothing to leave out
    if over.n_unjudged:
        raise OptionError(
            "queries='run' counts queries without judgments, and the costs of their documents are "
            "not known: take 'retrieved'"
        )
    return cost[np.repeat(over.place >= 0, n_retrieved)]


def _cut(
    hits: Ranked, n_retrieved: Ints, cost: Floats | None, depth: int
) -> tuple[Ranked, Ints, Floats | None]:
    """Keep the best so many documents of each query."""
    # Of equal scores at that depth, any may be among those kept.
    hits = hits.where(hits.columns.get("tie_first", hits.rank) <= depth)
    if cost is not None:
        cost = cost[spans(0, n_retrieved[:, 0]) < depth]
    return hits, np.minimum(n_retrieved, depth), cost


def without_unjudged(
    hits: Ranked, n_retrieved: Ints, cost: Floats | None
) -> tuple[Ranked, Ints, Floats | None]:
    """Drop what is unjudged or has a negative grade, and close the ranks up."""
    hits = hits.relevant(0)
    if cost is not None:
        cost = cost[(np.cumsum(n_retrieved) - n_retrieved[:, 0])[hits.query] + hits.rank - 1]
    if "tie_first" in hits.columns:
        begins = changes(hits.query, hits.columns["tie_first"])
        lengths = sizes(begins)
        first, size = (np.repeat(each, lengths) for each in (hits.ordinal[begins], lengths))
        hits = replace(hits, columns={**hits.columns, "tie_first": first, "tie_size": size})
    hits = replace(hits, rank=hits.ordinal)
    return hits, hits.count(), cost


def _dealt_by_grade(
    ties: Ties, query: Ints, rank: Ints, grade: Numbers, first: Ints, size: Ints
) -> Ints:
    """Deal the places of equal scores to the hits among them by grade: (hits,) ranks.

    Unjudged documents come after all judged ones in the best order, before them in the worst.
    """
    best = ties == "best"
    order = np.lexsort((rank, by_grade(ties, first, grade), query))
    n_judged = sizes(changes(query[order], first[order]))
    nth = spans(0, n_judged)
    n_above = nth if best else nth + size[order] - np.repeat(n_judged, n_judged)
    dealt = np.empty_like(rank)
    dealt[order] = first[order] + n_above
    return dealt


def _moved(cost: Floats, before: Ints, after: Ints) -> Floats:
    """Return the costs of documents of which some moved to other rows: (documents,).

    The others take up the rows that are left, in their order.
    """
    moved, stays, is_free = np.empty_like(cost), *np.ones((2, len(cost)), np.bool_)
    stays[before] = is_free[after] = False
    moved[after], moved[is_free] = cost[before], cost[stays]
    return moved


def by_grade(ties: Ties, first: Ints, grade: Numbers) -> Ints:
    """Return numbers that rank the documents of a query, lowest first; equal ones keep their order.

    `first` (..., documents) is the first rank of a document's score. Of equal scores, the "best"
    order has the highest grade first, the "worst" the lowest.
    """
    (level,) = levels_of(grade)
    lowest, highest = int(level.min(initial=0)), int(level.max(initial=0))
    within: Ints = highest - level if ties == "best" else level - lowest
    return first * (highest - lowest + 1) + within
