"""Removals: what each run's scores would be without the judgments that one of the runs brought."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.data.judge import judge_match
from cranfield.data.match import Match
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.lazy import MAX_CACHED_ROWS
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.progress import watch_steps


class Removals:
    """The judgments to remove for each run: columns (n_removals,), with a run and a query each.

    No judgment is removed twice. Removals from the same query of which the measure sees the same
    have one kind: a run that retrieved nothing of what they remove has the same value after each.
    """

    def __init__(self, judgments: Qrels, rows_of_run: Sequence[Ints], measure: Measure) -> None:
        n_queries, rows = len(judgments.query_ids), np.concatenate(rows_of_run)
        run_of_row = np.repeat(np.arange(len(rows_of_run)), [*map(len, rows_of_run)])
        order = np.lexsort((judgments.grade[rows], judgments.query[rows], run_of_row))
        codes, removal_of_row = np.unique(
            (run_of_row * n_queries + judgments.query[rows])[order], return_inverse=True
        )
        self.judgments, self.run, self.query = judgments, codes // n_queries, codes % n_queries
        self.of_judgment = np.full(len(judgments), -1)  # -1: it is never removed
        self.of_judgment[rows[order]] = removal_of_row
        ends = np.cumsum(np.bincount(removal_of_row, minlength=len(codes)))
        grades = np.split(_find_visible_grades(judgments, rows[order], measure), ends)
        kind_of_key: dict[object, int] = {}
        self.kind = np.zeros(len(codes), np.int64)
        for i, query in enumerate(self.query.tolist()):
            # What was sampled stands for other documents, too: each removal has its own kind.
            visible_grades = grades[i][grades[i] > -np.inf]
            key = i if judgments.sampling else (query, *visible_grades.tolist())
            self.kind[i] = kind_of_key.setdefault(key, len(kind_of_key))

    def score(self, matched_runs: Sequence[MatchedRun], measure: Measure) -> Floats:
        """Return each run's value for the query of each removal after it: (n_removals, n_runs)."""
        numbers, first_of_kind = np.arange(len(self.kind)), np.unique(self.kind, True)[1]
        values = np.zeros((len(self.kind), len(matched_runs)))
        matches = [_cut_match(run, measure) for run in matched_runs]
        for part in self._split(first_of_kind):
            for i, run in enumerate(matched_runs):
                values[part.numbers, i] = part.score(run, matches[i], measure)
        for i, run in enumerate(watch_steps(matched_runs, "leaving out")):
            is_retrieved = np.isin(numbers, self.of_judgment[matches[i].row])
            kinds, first_unmet = np.unique(self.kind[~is_retrieved], True)
            substitute = np.zeros(len(first_of_kind), np.int64)
            substitute[kinds] = numbers[~is_retrieved][first_unmet]
            other_numbers = np.setdiff1d(
                np.append(numbers[is_retrieved], substitute[kinds]), first_of_kind
            )
            for part in self._split(other_numbers):
                values[part.numbers, i] = part.score(run, matches[i], measure)
            values[:, i] = values[np.where(is_retrieved, numbers, substitute[self.kind]), i]
        return values

    def _split(self, numbers: Ints) -> "Iterator[_ReducedQueries]":
        """Yield the queries of some removals, in parts of few enough judgments to keep columns."""
        most_judgments = int(np.diff(self.judgments.starts).max(initial=1))
        step = max(1, MAX_CACHED_ROWS // most_judgments)
        for begin in range(0, len(numbers), step):
            yield _ReducedQueries(self, numbers[begin : begin + step])


class _ReducedQueries:
    """The queries of some removals, each a query of one Qrels, without what it removes."""

    def __init__(self, removals: Removals, numbers: Ints) -> None:
        judgments = removals.judgments
        self.numbers, self.query = numbers, removals.query[numbers]
        counts = np.diff(judgments.starts)[self.query]
        place = np.repeat(np.arange(len(numbers)), counts)  # of each row with those to remove
        rows = consecutive_numbers(judgments.starts[self.query], counts)
        self._is_left = removals.of_judgment[rows] != numbers[place]
        self._new_row = np.cumsum(self._is_left) - 1
        self._first_row = np.cumsum(counts) - counts - judgments.starts[self.query]
        left_rows = rows[self._is_left]
        n_left = np.bincount(place[self._is_left], minlength=len(numbers))
        self._qrels = judgments.replace_fields(
            query_ids=[judgments.query_ids[code] for code in self.query.tolist()],
            starts=np.append(0, np.cumsum(n_left)),
            documents=judgments.docs.take(left_rows),
            grade=judgments.grade[left_rows],
            columns={role: column[left_rows] for role, column in judgments.columns.items()},
            stated_top_grade=judgments.top_grade,
        )

    def score(self, run: MatchedRun, match: Match, measure: Measure) -> Floats:
        """Return a run's value for each query; `match` has hits query after query."""
        hit_counts = np.bincount(run.qrels.query[match.row], minlength=len(run.qrels.query_ids))
        counts = hit_counts[self.query]
        hits = consecutive_numbers((np.cumsum(hit_counts) - hit_counts)[self.query], counts)
        position = np.repeat(self._first_row, counts) + match.row[hits]
        is_left = self._is_left[position]
        reduced_match = replace(
            _select_hits(match, hits[is_left]),
            row=self._new_row[position[is_left]],
            n_retrieved=match.n_retrieved[self.query],
            is_in_run=match.is_in_run[self.query],
        )
        if match.cost is not None:
            first_cost = np.cumsum(match.n_retrieved) - match.n_retrieved
            reduced_match.cost = match.cost[
                consecutive_numbers(first_cost[self.query], reduced_match.n_retrieved)
            ]
        judged = judge_match(self._qrels, run.run, reduced_match, run.judging, False).judged
        values: Floats = measure.values(judged)[:, 0]
        return values


def _find_visible_grades(judgments: Qrels, rows: Ints, measure: Measure) -> Floats:
    """Return what a measure sees of judgments that a run did not retrieve: a grade, or -inf.

    Measures of the retrieved see nothing; to measures of what is relevant or not, grades from `rel`
    on are the same, and those below; nDCG sees those of the first k of its ideal ranking.
    """
    grade: Floats = judgments.grade[rows].astype(np.float64)
    cutoff = measure.cutoff
    if measure.bounds == "retrieved":
        grade[:] = -np.inf
    elif measure.bounds == "split" and "rel" in measure.parameters:
        rel = measure.parameters["rel"]
        grade = np.where(grade >= rel, rel, np.minimum(grade, 0.0))
    elif measure.linear == "ratio" and isinstance(cutoff, Depth) and not cutoff.at_relevant:
        ideal, least_grade = judgments.ideal, np.full(len(judgments.query_ids), -np.inf)
        is_last = ideal.rank == cutoff.n_ranks
        least_grade[ideal.query[is_last]] = ideal.grade[is_last]
        grade[grade < least_grade[judgments.query[rows]]] = -np.inf
    return grade


def _select_hits(match: Match, hits: Ints) -> Match:
    """Return the match with some of its hits, in this order."""
    rank, tie_first, tie_size = (column[hits] for column in match.placement[:3])
    placement = match.placement._replace(rank=rank, tie_first=tie_first, tie_size=tie_size)
    return replace(match, row=match.row[hits], placement=placement)


def _cut_match(run: MatchedRun, measure: Measure) -> Match:
    """Return a run's match, query after query, without hits that a measure's cutoff leaves out."""
    match, cutoff = run.match, measure.cutoff
    hits = np.argsort(run.qrels.query[match.row], kind="stable")
    moves_ties = run.judging.ties in ("best", "worst", "expected")  # to ranks by other documents
    adds_up = measure.linear in ("exact", "ratio")  # documents, each at its rank
    if isinstance(cutoff, Depth) and adds_up and not (cutoff.at_relevant or moves_ties):
        hits = hits[match.placement.rank[hits] <= cutoff.n_ranks]
    return _select_hits(match, hits)
