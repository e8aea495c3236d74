"""Joint bounds: what the difference of two runs may be, however the unjudged are graded.

A document that both runs retrieved has one grade, which nobody knows, in both. Where a measure adds
up the documents one by one (its declaration says so, `@measure(linear=...)`), an unjudged document
u moves the difference by what its grade is worth times w_u, its weight in the one run less its
weight in the other (0 where a run does not have it). So the difference lies between

    D + most * sum of min(0, w_u) + least * sum of max(0, w_u)   and
    D + most * sum of max(0, w_u) + least * sum of min(0, w_u),

where D is the difference as it is, and `least` and `most` are what the grades from 0 to the
collection's highest may be worth. Both ends are reached. The difference of the two runs' own bounds
(the lowest value of the one less the highest of the other) is far wider: there a document may be
relevant in one run and not relevant in the other.

nDCG divides such a sum by the ideal ranking, which new grades make better, too. Its ends are sought
directly (`_Ratio`), and are reached as well.

As in `cranfield.bounds`, it is the documents that were retrieved that may have any grade. What
nobody retrieved stays unjudged: RBP is without its tail.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from cranfield.bounds import check_bounded
from cranfield.errors import MeasureError, NothingSharedError, one_of
from cranfield.evaluation import Judging, MeasuresLike, measures_of, score_runs
from cranfield.formats.block import Errors, Load, Order
from cranfield.ids import Ids, keyed
from cranfield.judge import Queries
from cranfield.judged import Judged
from cranfield.measures import Measure
from cranfield.measures.gain import worth
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, around, warn_of
from cranfield.qrels import Qrels, QrelsLike, as_qrels
from cranfield.ranked import Bools, Floats, Ints, Ranked, mean, means, ratio
from cranfield.ranking import Precision, Ties, grouped, in_threads, ranks, regrouped, sorting_scores
from cranfield.render.numbers import queries_of
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.runs import Run, RunLike, as_run
from cranfield.scores import Systems

Method = Literal["exact", "separate"]
_PROBED = 2 ** np.arange(12)  # ranks, to see where their weights end
_NEGLIGIBLE = 1e-17  # of all weights: less than the last bit of a sum
_ROUNDING = 1e-12  # a bound so near to 0 may be 0
_ROWS = 1 << 16  # of the pseudo-queries in one Judged
_ENDLESS = 2**62
_SOME_GRADES = 20
_MORE = (1, 2, 5, 20, 100)  # documents that were not retrieved, to see whether they matter


@dataclass(frozen=True, eq=False)
class PairBounds:
    """The bounds of each pair's mean difference, left - right: `low` and `high` are (n_pairs,).

    `method` is "exact" if some way to grade the unjudged reaches each end, or "separate": the
    difference of the two runs' own bounds, wider than need be.

    `robust` (n_pairs,): whether the sign of the difference is the same however the unjudged are
    graded.

    `of_queries`, if it was asked for, holds each query's bounds: two (n_queries, n_pairs), rows in
    the order of the query ids that were asked for. Those of the mean are the means of its columns,
    added left to right (`ranked.means`). For some of the queries, say a slice, take `among`, which
    needs no run to be read again.
    """

    low: Floats
    high: Floats
    method: Method
    robust: Bools
    of_queries: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, method: Method, low: Floats, high: Floats) -> "PairBounds":
        """Return the bounds of means of which each query's are `low` and `high`.

        Both are (n_queries, n_pairs). A query's documents are graded apart from another's, so that
        the lowest mean is the mean of the lowest.
        """
        ends = means(low), means(high)
        return cls(*ends, method, _apart(*ends), (low, high))

    def among(self, rows: Bools | Ints) -> "PairBounds":
        """Return the bounds for some of the queries, of which each query's were asked for.

        `rows` is a mask (n_queries,), or the numbers of the queries' rows, of one at least.
        """
        if self.of_queries is None:
            raise ValueError("these bounds were not kept for each query: ask for per_query=True")
        low, high = (end[rows] for end in self.of_queries)
        return PairBounds.of(self.method, low, high)


def _apart(low: Floats, high: Floats) -> Bools:
    """Return whether 0 is neither between the two nor one of them."""
    return (low > _ROUNDING) | (high < -_ROUNDING)


@dataclass(frozen=True, eq=False, repr=False)
class JointBounds(Shown):
    """What the mean difference of two runs may be, over every way to grade the unjudged.

    The columns are (n_measures,): `difference`, left - right; its bounds `low` and `high`; and
    `methods`, which say what these are (see `joint_bounds`). Each query's are (n_queries,
    n_measures), the queries in the order of `query_ids`.

    >>> found = joint_bounds({"q": {"a": 1}}, {"q": ["a", "u"]}, {"q": ["u", "v"]}, "P@2 RR")
    >>> found.low.tolist(), found.high.tolist(), found.robust.tolist()
    ([0.0, 0.0], [0.5, 1.0], [False, False])
    """

    header = ("measure", "difference", "low", "high", "robust", "bounds")

    left: str
    right: str
    measures: tuple[Measure, ...]
    query_ids: Sequence[str]
    difference: Floats
    low: Floats
    high: Floats
    methods: tuple[Method, ...]
    robust: Bools  # whether the sign is the same however the unjudged are graded
    query_low: Floats
    query_high: Floats
    top_grade: int  # the highest grade that an unjudged document may have
    recipe: Mapping[str, Any]  # how the runs were judged
    notes: tuple[Note, ...] = ()  # what to know of the data and of how it was judged

    def tables(self) -> list[Table]:
        """Return a row for each measure, four decimals each."""
        rows = []
        for measure, *ends, robust, bounds in (row.values() for row in self.rows()):
            numbers = [f"{round(end, 4) + 0.0:+.4f}" for end in ends]  # no negative zero
            rows.append([measure, *numbers, bounds, "robust" if robust else "open"])
        legend = [
            f"Mean difference, {self.left} - {self.right}, over {queries_of(len(self.query_ids))}.",
            "low, high: over every way to grade the unjudged documents that were retrieved, from "
            f"0 to {self.top_grade}.",
            *(_NOTES[method] for method in _NOTES if method in self.methods),
            "robust: the sign is the same in every way; open: it is not, or may not be.",
        ]
        header = ["measure", "difference", "low", "high", "bounds", "sign"]
        return [Table(header, rows, around(legend, self.notes))]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure: the mean difference, its bounds, and what these are."""
        columns = (self.difference, self.low, self.high, self.robust)
        values = (column.tolist() for column in columns)
        return self._dicts(zip(map(str, self.measures), *values, self.methods, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the runs, how they were judged, and each measure's bounds."""
        return {
            "left": self.left,
            "right": self.right,
            "n_queries": len(self.query_ids),
            "top_grade": self.top_grade,
            "measures": {row.pop("measure"): row for row in self.rows()},
            "recipe": dict(self.recipe),
            "notes": [note.to_dict() for note in self.notes],
        }


_NOTES: Mapping[str, str] = {
    "exact": "exact: a document of both runs has one grade in both; both ends are reached.",
    "separate": "separate: the lowest of one run less the highest of the other; wider than need "
    "be, since a document may have two grades there.",
}


def joint_bounds(
    qrels: QrelsLike,
    left: RunLike,
    right: RunLike,
    measures: MeasuresLike = "nDCG@10 P@10",
    *,
    queries: Queries = "judged",
    order: Order = "score",
    scores: Precision = "double",
    ties: Ties = "document",
    depth: int | None = None,
    errors: Errors = "strict",
) -> JointBounds:
    """Return the lowest and the highest difference of two runs, however the unjudged are graded.

    Every unjudged document that a run retrieved may have any grade from 0 to the collection's
    highest, the same one in both runs. The bounds are "exact" for measures to which documents add
    one by one: P, DCG, RBP without gains (and without its tail: what is below the end of a run
    stays unjudged), SetP, counts, C/W/L of users who go on whatever they find. They are for nDCG,
    too: new grades make the ideal ranking better, so that a run's own nDCG may fall.

    For other measures that depend on no document but those that the run itself retrieved, such as
    Success, RR and ERR, they are "separate": the lowest value of the one less the highest of the
    other. Measures that depend on how much there is to be found, such as R, AP and SetF, have none.

    The options are those of `evaluate`; `ties` are by id, "document" or "ascending".

    Gives one CranfieldWarning, as `evaluate` does, if a number may not mean what it seems to; the
    result's `notes` say so, too.

    Raises MeasureError for a measure that has no bounds, InputError and OptionError as `evaluate`
    does.

    >>> left, right = {"q": ["a", "u", "c"]}, {"q": ["u", "b", "a"]}
    >>> found = joint_bounds({"q": {"a": 1, "b": 0, "c": 1}}, left, right, "P@3")
    >>> found.low.round(4).tolist(), found.high.round(4).tolist()
    ([0.3333], [0.3333])
    """
    judgments = as_qrels(qrels, errors)
    first, second = as_run(left, errors), as_run(right, errors)
    names = first.name, second.name if second.name != first.name else f"{second.name} (2)"
    runs = dict(zip(names, (first, second), strict=True))
    one_of("ties", ties, ("document", "ascending"))
    systems = score_runs(
        judgments,
        runs,
        measures_of(measures),
        queries=queries,
        order=order,
        scores=scores,
        ties=ties,
        depth=depth,
    )
    query_ids = _shared_queries(systems)
    if not query_ids:
        raise NothingSharedError(f"the runs {names[0]!r} and {names[1]!r} share no query")
    pair = np.array([0]), np.array([1])
    found = pair_bounds(judgments, runs, systems, *pair, per_query=True)
    without = [str(one) for one, its in zip(systems.measures, found, strict=True) if its is None]
    if without:
        raise MeasureError(
            f"{', '.join(without)}: there are no bounds of the difference; there are of P, DCG, "
            "nDCG, RBP, SetP, Success, RR, ERR, and others to which what a run did not retrieve "
            "does not matter"
        )
    have = [one for one in found if one is not None]
    each = [one.of_queries for one in have if one.of_queries is not None]
    values = _values(systems, query_ids).astype(np.float64)
    bounds = JointBounds(
        *names,
        systems.measures,
        query_ids,
        means(values[:, 0] - values[:, 1]),
        np.concatenate([one.low for one in have]),
        np.concatenate([one.high for one in have]),
        tuple(one.method for one in have),
        np.concatenate([one.robust for one in have]),
        np.hstack([low for low, _ in each]),
        np.hstack([high for _, high in each]),
        _top_grade(judgments),
        {**systems[names[0]].recipe, "run": [systems[name].recipe["run"] for name in names]},
        systems.notes,
    )
    warn_of(systems.notes)
    return bounds


def judged_measure(measure: Measure) -> Measure:
    """Return the share of what a measure looks at that is judged: Judged@10 beside nDCG@10.

    Of the whole ranking where a measure is not cut at a rank.
    """
    return Measure("Judged", measure.cutoff if isinstance(measure.cutoff, Depth) else None)


def pair_bounds(
    qrels: Qrels,
    runs: Mapping[str, Run],
    systems: Systems,
    left: Ints,
    right: Ints,
    *,
    query_ids: Sequence[str] | None = None,
    separate: bool = True,
    per_query: bool = False,
) -> list[PairBounds | None]:
    """Return the bounds of many pairs' mean differences, for each measure of `systems`.

    `systems` is what `evaluate` gave for these `runs`, under the same names and in the same order;
    it says how they were judged. `left` and `right` (n_pairs,) are their numbers. `query_ids` are
    those to average over, in the order of their bytes, all that every system has unless given.
    `per_query` keeps each query's bounds, in that order, for `PairBounds.among`: so several subsets
    of the queries take one reading of the runs, and memory for 2 n_queries n_pairs numbers.

    None for a measure whose difference has no bounds: one of groups or preferences, or of costs
    that a run has, or a text; one of which a run's own bounds are not proved; or any, if unjudged
    documents were left out, or equal scores ranked by grade or in all orders. Where `separate` is
    false, None, too, for all but linear measures and nDCG: the others take two evaluations of each
    run and unjudged document.
    """
    recipe = next(iter(systems.values())).recipe
    measures = systems.measures
    found: list[PairBounds | None] = [None] * len(measures)
    by_id = recipe["ties"] in ("document", "ascending")
    if recipe["judged_only"] or not by_id or qrels.in_groups:
        return found
    query_ids = _shared_queries(systems) if query_ids is None else query_ids
    some = qrels if len(query_ids) == len(qrels.query_ids) else qrels.of(query_ids)
    values = _values(systems, query_ids)
    costly = any("cost" in run.numbers for run in runs.values())
    usable = [i for i, one in enumerate(measures) if not (costly and one.definition.takes_cost)]
    adding: dict[int, _Linear | _Ratio] = {
        i: _Linear(measures[i], some) for i in usable if measures[i].linear == "exact"
    }
    adding |= {i: _Ratio(measures[i], some) for i in usable if _is_ratio(measures[i])}
    if adding:
        depth = min(max(one.deepest for one in adding.values()), recipe["depth"] or _ENDLESS)
        unjudged = _unjudged(some, list(runs.values()), depth, recipe)
        for i, one in adding.items():
            of_measure = values[:, :, i].astype(np.float64)
            least, most = measures[i].definition.range
            reach = math.inf if most is None else most - least
            found[i] = _joint(one, unjudged, of_measure, left, right, per_query, reach)
    for i in usable:
        if separate and measures[i].linear == "no":
            found[i] = _separate(measures[i], qrels, runs, recipe, query_ids, left, right)
    return found


def _is_ratio(measure: Measure) -> bool:
    """Return whether a measure is an nDCG of which the ends are known."""
    known = measure.linear == "ratio" and measure.bounds == "ratio"
    return known and not _at_relevant(measure)


def _at_relevant(measure: Measure) -> bool:
    """Return whether a measure is cut at the number of relevant documents, as P@R is."""
    return isinstance(measure.cutoff, Depth) and measure.cutoff.at_relevant


def _shared_queries(systems: Systems) -> list[str]:
    """Return the queries that every system has, in the order of their bytes."""
    every = [set(one.query_ids) for one in systems.values()]
    return [q for q in next(iter(systems.values())).query_ids if all(q in one for one in every)]


def _values(systems: Systems, query_ids: Sequence[str]) -> Floats:
    """Return the values of these queries: (n_queries, n_systems, n_measures)."""
    columns = []
    for one in systems.values():
        row = {query: i for i, query in enumerate(one.query_ids)}
        columns.append(one.values[[row[query] for query in query_ids]])
    return np.stack(columns, axis=1)


def _top_grade(qrels: Qrels) -> int:
    return max(qrels.top_grade, 1)  # where nothing was found relevant, something may be


# ---- what was retrieved and not judged --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Retrieved:
    """The documents of a run down to a depth, in no order."""

    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    docs: Ids  # (rows,)
    n_retrieved: Ints  # (n_queries,) of the whole run


@dataclass(frozen=True, eq=False)
class _Unjudged:
    """A run's unjudged documents, query after query, best rank first.

    A document of a query has the same number in every run.
    """

    query: Ints  # (rows,)
    rank: Ints  # (rows,)
    document: Ints  # (rows,)
    n_retrieved: Ints  # (n_queries,)


def _unjudged(
    qrels: Qrels, runs: Sequence[Run], depth: int, recipe: Mapping[str, Any]
) -> list[_Unjudged]:
    """Return each run's unjudged documents, of rank <= depth; each run is read once."""
    every = [_retrieved(qrels, run, depth, recipe) for run in runs]
    query = np.concatenate([qrels.query, *(one.query for one in every)])
    number = _numbered(query, Ids.joined([qrels.docs, *(one.docs for one in every)]))
    judged = np.zeros(len(number), np.bool_)
    judged[number[: len(qrels)]] = True
    found, begin = [], len(qrels)
    for one in every:
        document = number[begin : begin + len(one.rank)]
        rows = np.flatnonzero(~judged[document])
        rows = rows[np.lexsort((one.rank[rows], one.query[rows]))]
        found.append(_Unjudged(one.query[rows], one.rank[rows], document[rows], one.n_retrieved))
        begin += len(one.rank)
    return found


def _numbered(query: Ints, docs: Ids) -> Ints:
    """Return numbers (rows,), the same for the same query and document, query after query."""
    keys = keyed(docs.hash(), query)
    order = keys.argsort(kind="stable")
    new = np.append(True, keys[order[1:]] != keys[order[:-1]])[: len(order)]
    again = np.flatnonzero(~new)
    a, b = order[again], order[again - 1]
    if docs.compare(a, docs, b).any() or (query[a] != query[b]).any():  # two of the same hash
        exact = docs.numbers()
        order = np.lexsort((exact, query))
        a, b = order[1:], order[:-1]
        new = np.append(True, (exact[a] != exact[b]) | (query[a] != query[b]))
    firsts = order[new]
    place = np.empty(len(firsts), np.int64)
    place[query[firsts].argsort(kind="stable")] = np.arange(len(firsts))
    number = np.empty(len(order), np.int64)
    number[order] = place[np.cumsum(new) - 1]
    return number


def _retrieved(qrels: Qrels, run: Run, depth: int, recipe: Mapping[str, Any]) -> _Retrieved:
    part = partial(_part, qrels.codes, run.errors, depth, recipe)
    n_queries = len(qrels.query_ids)

    def read(loads: Iterator[Load]) -> _Retrieved | None:
        """Return what the blocks hold; None if a query is in two places."""
        n_retrieved, met = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.bool_)
        parts = []
        for queries, one in in_threads(part, loads):
            if met[queries].any() or len(set(queries.tolist())) < len(queries):
                return None
            met[queries] = True
            n_retrieved += one.n_retrieved
            parts.append(one)
        none = np.zeros(0, np.int64)
        return _Retrieved(
            np.concatenate([none, *(one.query for one in parts)]),
            np.concatenate([none, *(one.rank for one in parts)]),
            Ids.joined([one.docs for one in parts]),
            np.minimum(n_retrieved, recipe["depth"] or _ENDLESS),
        )

    whole = read(run.blocks(recipe["order"])) or read(regrouped(run.blocks(recipe["order"])))
    assert whole is not None  # noqa: S101 - each query's rows were brought together
    return whole


def _part(
    codes: Mapping[bytes, int], errors: Errors, depth: int, recipe: Mapping[str, Any], load: Load
) -> tuple[Ints, _Retrieved]:
    """Return the queries of a block, and its documents of rank <= depth. In a thread of its own."""
    block = grouped(load(), errors)
    code = np.array([codes.get(query, -1) for query in block.queries], np.int64)
    rows = np.flatnonzero(code[block.group] >= 0)
    by = sorting_scores(block.block, recipe["order"], recipe["scores"])
    rank = ranks(block, by, recipe["ties"], rows)
    rows, rank = rows[rank <= depth], rank[rank <= depth]
    queries = code[code >= 0]
    n_retrieved = np.bincount(queries, np.diff(block.starts)[code >= 0], len(codes))
    docs = block.block.doc.take(rows).compact()
    return queries, _Retrieved(code[block.group[rows]], rank, docs, n_retrieved.astype(np.int64))


# ---- what a document adds ---------------------------------------------------------------------


class _Linear:
    """What an unjudged document adds to a measure, found by asking the measure.

    A pseudo-query has one document: at rank r of n retrieved, with the grade that is worth most
    (or costs most). What it adds is the weight of (r, n). Another grade adds from `least` to `most`
    times as much. The ideal ranking of pseudo-queries holds a document of each of the grades tried;
    for each query, a scale says how much more or less a document adds beside the query's own ideal.
    """

    def __init__(self, measure: Measure, qrels: Qrels) -> None:
        self._measure, self._ideal = measure, qrels.ideal
        self._top_grade = _top_grade(qrels)
        self._grades = self._tried()
        one = np.array([1])
        worth = np.array([self._alone(one, one, grade)[0] for grade in self._grades.tolist()])
        chief = int(np.abs(worth).argmax())
        self._grade = int(self._grades[chief])
        share = ratio(worth, worth[chief : chief + 1])
        self.least, self.most = float(share.min()), float(share.max())
        self.deepest = self._depth()

    def _tried(self) -> Ints:
        """Return the grades of which one is worth the most and one the least, highest first."""
        gain, top = self._measure.parameters.get("gain"), self._top_grade
        grades = {0, top}
        if isinstance(gain, Mapping):  # a grade that it does not name is worth itself
            grades |= {near for g in gain for near in (g - 1, g, g + 1) if 0 <= near <= top}
        return np.array(sorted(grades, reverse=True))

    def _depth(self) -> int:
        """Return a rank below which all weights, which fall, are lost in rounding."""
        cutoff = self._measure.cutoff
        if isinstance(cutoff, Depth) and cutoff.ranks is not None:
            return cutoff.ranks
        rank = _PROBED
        weight = np.abs(self._alone(rank, np.full(len(rank), rank[-1]), self._grade))
        left = np.cumsum((weight * rank)[::-1])[::-1]  # at least what all from this rank on weigh
        matters = left > _NEGLIGIBLE * left[0]
        return _ENDLESS if matters[-1] else int(rank[np.count_nonzero(matters)])

    def _alone(self, rank: Ints, n_retrieved: Ints, grade: int) -> Floats:
        """Return what one document of this grade adds at each rank, of so many: (rows,)."""
        n_grades = len(self._grades)
        step = max(1, _ROWS // max(n_grades, self._measure.parameters.get("depth", 128)))
        found = [np.zeros(0)]
        for begin in range(0, len(rank), step):
            r, n_all = rank[begin : begin + step], n_retrieved[begin : begin + step]
            n = len(r)
            ideal = Ranked(
                n,
                np.repeat(np.arange(n), n_grades),
                np.tile(np.arange(1, n_grades + 1), n),
                np.tile(self._grades, n),
            )
            found.append(self._added(r, n_all, grade, ideal))
        return np.concatenate(found)

    def _added(self, rank: Ints, n_retrieved: Ints, grade: int, ideal: Ranked) -> Floats:
        n = len(rank)
        query, none = np.arange(n), np.zeros(0, np.int64)
        hit = Ranked(n, query, rank, np.full(n, grade))
        with_it, without = (
            self._measure.values(Judged(hits, ideal, n_retrieved[:, None], self._top_grade))
            for hits in (hit, Ranked(n, none, none, none))
        )
        added: Floats = (with_it - without)[:, 0]
        return added

    def weights(self, run: _Unjudged) -> Floats:
        """Return what each of a run's unjudged documents adds: (rows,)."""
        n_retrieved = np.maximum(run.n_retrieved, 1)  # 0: no document asks for the scale
        first = np.ones(len(n_retrieved), np.int64)
        beside = self._added(first, n_retrieved, self._grade, self._ideal)
        scale = ratio(beside, self._of_places(first, n_retrieved))
        return self._of_places(run.rank, n_retrieved[run.query]) * scale[run.query]

    def alone(self, n: int) -> Floats:
        """Return what one document adds at the ranks from 1 to n: (n,)."""
        return self._alone(np.arange(1, n + 1), np.full(n, n), self._grade)

    def ends(self, at: Ints, moved: Floats, difference: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query: (n_queries,) twice.

        `moved` (rows,) is what each unjudged document adds to the one run less what it adds to the
        other, `at` (rows,) its query; `difference` (n_queries,) as it is.
        """
        # Both sums at once: of what is below 0, and of what is above.
        sums = np.bincount(2 * at + (moved > 0), moved, 2 * len(difference))
        less, more = sums[::2], sums[1::2]
        low = difference + (self.most * less + self.least * more)
        return low, difference + (self.most * more + self.least * less)

    def _of_places(self, rank: Ints, n_retrieved: Ints) -> Floats:
        """Return the weight of each (rank, number retrieved): (rows,). Each is asked once."""
        deepest = int(rank.max(initial=0)) + 1
        places, which = np.unique(n_retrieved * deepest + rank, return_inverse=True)
        return self._alone(places % deepest, places // deepest, self._grade)[which]


class _Ratio:
    """What unjudged documents may do to a difference of two nDCG: to its gains and to the ideal.

    The difference is (D + sum of gain times d_u) / I, where d_u is the discount of an unjudged
    document u in the one run less that in the other, and I, the ideal ranking's DCG, depends only
    on how many documents have each gain. So of the completions with so many documents of each gain,
    the highest has the higher gains where d_u is greater; what matters is how many documents have
    at least each gain, s_1 <= s_2 <= ... Then D - t I is a sum of terms, each of one s, of which a
    pass over s for each gain finds the greatest; t is the ratio found before, until it rises no
    more (Dinkelbach, Management Science 1967), as in `cranfield.bounds`. Documents of which d_u is
    0 are all taken or none: they change the ideal alone.
    """

    def __init__(self, measure: Measure, qrels: Qrels) -> None:
        known = Measure("DCG").definition.parameters
        given = tuple((key, value) for key, value in measure.given if key in known)
        self._sums = _Linear(Measure("DCG", measure.cutoff, given), qrels)
        self._gain = measure.parameters["gain"]
        self._top_grade = _top_grade(qrels)
        ideal, n_queries = qrels.ideal, len(qrels.query_ids)
        # What stands below the cutoff k counts in the ideal ranking, too, which has k documents.
        # Among 2 k more than are judged, k are neither judged nor in the other run's first k.
        n_judged = int(np.bincount(ideal.query, minlength=1).max(initial=0))
        cut = isinstance(measure.cutoff, Depth)
        self.deepest = 3 * self._sums.deepest + n_judged if cut else _ENDLESS
        # What an unjudged document may gain, most first; and all that any document may.
        levels = np.unique(ideal.grade)
        may_have = {0, self._top_grade, *levels[(levels >= 0) & (levels <= self._top_grade)]}
        if isinstance(self._gain, Mapping):  # a grade that it does not name is worth itself
            may_have |= {near for g in self._gain for near in (g - 1, g, g + 1)}
        grades = np.array(sorted(g for g in may_have if 0 <= g <= self._top_grade))
        self._worth = -np.unique(-self._worths(grades))
        judged = self._worths(ideal.grade)
        rungs = np.unique(np.concatenate((judged, self._worth)))
        self._rungs = rungs[rungs > 0]
        self._rises = np.diff(self._rungs, prepend=0.0)
        # How many judged documents of each query gain at least so much: (n_queries, n_rungs).
        place = np.searchsorted(self._rungs, judged, side="right")
        cells = ideal.query * (len(self._rungs) + 1) + place
        counts = np.bincount(cells, minlength=n_queries * (len(self._rungs) + 1))
        counts = counts.reshape(n_queries, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        self._n_judged = counts[:, 1:]

    def _worths(self, grades: Ints) -> Floats:
        found: Floats = worth(grades, self._gain, self._top_grade) * 1.0
        return found

    def weights(self, run: _Unjudged) -> Floats:
        """Return the discount of each of a run's unjudged documents: (rows,).

        Here and in `ends`, discounts are times what the best grade gains, which changes no ratio.
        """
        found = np.zeros(len(run.rank))
        rows = np.flatnonzero(run.rank <= self._sums.deepest)
        some = _Unjudged(run.query[rows], run.rank[rows], run.document[rows], run.n_retrieved)
        found[rows] = self._sums.weights(some)
        return found

    def ends(self, at: Ints, moved: Floats, difference: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query: (n_queries,) twice.

        `moved` (rows,) is the discount of each unjudged document in the one run less that in the
        other, `at` (rows,) its query; `difference` (n_queries,) as it is.
        """
        n_queries = len(difference)
        low, high = np.empty(n_queries), np.empty(n_queries)
        # All documents of which the discount is 0 are one row.
        n_alike = np.bincount(at[moved == 0], minlength=n_queries)
        at = np.concatenate((at[moved != 0], np.arange(n_queries)))
        moved = np.concatenate((moved[moved != 0], np.zeros(n_queries)))
        n = np.bincount(at, minlength=n_queries)
        order = np.lexsort((moved, at))
        starts = np.cumsum(n) - n
        longest = int((n + n_alike + self._n_judged.max(axis=1, initial=0)).max(initial=0))
        within = min(longest, self._sums.deepest)
        best = np.concatenate(([0.0], np.cumsum(self._sums.alone(max(within, 1)))))
        begin = 0
        while begin < n_queries:
            widest = np.maximum.accumulate(n[begin : begin + _ROWS]) + 2
            fits = widest * np.arange(1, len(widest) + 1) <= _ROWS
            end = begin + max(1, int(np.count_nonzero(fits)))
            some = slice(begin, end)
            rows = order[starts[begin] : starts[end - 1] + n[end - 1]]
            rising = np.zeros((end - begin, int(n[some].max())))
            place = np.arange(len(rows)) - np.repeat(starts[some] - starts[begin], n[some])
            rising[at[rows] - begin, place] = moved[rows]
            judged, alike = self._n_judged[some], n_alike[some]
            ideal = (best[np.minimum(judged, within)] * self._rises).sum(axis=1)
            fixed = difference[some] * ideal
            # The lowest is the highest of the difference the other way round.
            low[some] = 0.0 - self._highest(-rising, n[some], alike, 0.0 - fixed, judged, best)
            last = np.arange(rising.shape[1])
            falling = np.take_along_axis(rising, np.maximum(n[some, None] - 1 - last, 0), axis=1)
            high[some] = self._highest(falling, n[some], alike, fixed, judged, best)
            if self._worth[-1] == 0:  # as it is, is one of the completions
                np.minimum(low[some], difference[some], out=low[some])
                np.maximum(high[some], difference[some], out=high[some])
            begin = end
        return low, high

    def _highest(
        self, falling: Floats, n: Ints, alike: Ints, fixed: Floats, judged: Ints, best: Floats
    ) -> Floats:
        """Return the highest ratio of each query: (n_queries,).

        `falling` (n_queries, longest) are discounts, the greatest first, of which a query has the
        first `n`; the one that is 0 stands for `alike` documents. `fixed` (n_queries,) is what
        judged documents gain, `judged` (n_queries, n_rungs) how many of them gain at least as much
        as each rung, `best` what so many documents add to an ideal ranking.
        """
        n_queries, longest = falling.shape
        taken = np.arange(longest + 1)
        beyond = taken > n[:, None]
        falling = np.where(beyond[:, 1:], 0.0, falling)
        past = taken > np.count_nonzero(falling > 0, axis=1)[:, None]
        documents = taken + past * (alike[:, None] - 1)  # so many are taken
        above = np.concatenate((np.zeros((n_queries, 1)), falling.cumsum(axis=1)), axis=1)
        steps = -np.diff(self._worth)  # what each level gains above the next
        # Which level an unjudged document has to have, to gain as much as a rung; -1: none does.
        owner = np.searchsorted(-self._worth, -self._rungs, side="right") - 1
        ideal = np.zeros((len(self._worth), n_queries, longest + 1))
        base = np.zeros(n_queries)
        for rung, level in enumerate(owner.tolist()):
            count = judged[:, rung, None]
            if level < 0:
                base += self._rises[rung] * best[np.minimum(count[:, 0], len(best) - 1)]
            else:
                down_to = np.minimum(count + documents, len(best) - 1)
                ideal[level] += self._rises[rung] * best[down_to]
        every = np.arange(n_queries)
        base += ideal[-1, every, n]  # of the lowest level, which they all have
        fixed = fixed + self._worth[-1] * above[every, n]
        found = np.full(n_queries, -np.inf)
        chosen = np.repeat(n[None], len(steps), axis=0)
        open_ = every
        while len(open_):
            gained, shared = fixed[open_], base[open_]
            for level, count in enumerate(chosen):
                gained = gained + steps[level] * above[open_, count]
                shared = shared + ideal[level, open_, count]
            t = ratio(gained, shared)
            higher = t > found[open_]
            found[open_] = np.where(higher, t, found[open_])
            open_ = open_[higher]
            if not len(open_) or not len(steps):
                break
            total, choices = np.zeros((len(open_), longest + 1)), []
            for level, step in enumerate(steps.tolist()):
                total = total + step * above[open_] - found[open_, None] * ideal[level, open_]
                total[beyond[open_]] = -np.inf
                greatest = np.maximum.accumulate(total, axis=1)
                choices.append(np.maximum.accumulate(np.where(total == greatest, taken, 0), axis=1))
                total = greatest
            last, chosen = n[open_], np.empty((len(steps), len(open_)), np.int64)
            for level in range(len(steps) - 1, -1, -1):
                last = chosen[level] = choices[level][np.arange(len(open_)), last]
        # Where nothing that was judged gains anything, nothing may.
        nothing = (judged.max(axis=1, initial=0) == 0) & (self._worth[-1] == 0)
        return np.where(nothing, np.maximum(found, 0.0), found) + 0.0


def _joint(
    one: _Linear | _Ratio,
    unjudged: Sequence[_Unjudged],
    values: Floats,
    left: Ints,
    right: Ints,
    per_query: bool,
    reach: float,
) -> PairBounds:
    """Return the bounds of each pair; `values` is (n_queries, n_systems).

    `reach`: the greatest difference that the measure's range allows. With gains of one's own there
    may be greater ones; rounding alone makes none.
    """
    tables: dict[int, tuple[Ints, Ints, Floats]] = {}
    for system in {*left.tolist(), *right.tolist()}:
        run = unjudged[system]
        rows = np.flatnonzero(run.rank <= one.deepest)
        run = _Unjudged(run.query[rows], run.rank[rows], run.document[rows], run.n_retrieved)
        tables[system] = run.query, run.document, one.weights(run)
    n_documents = 1 + max((int(d.max(initial=0)) for _, d, _ in tables.values()), default=0)
    mine, theirs = np.zeros(n_documents), np.zeros(n_documents)
    is_mine = np.zeros(n_documents, np.bool_)
    ends = np.empty((2, len(left)))
    queries = np.empty((2, len(left) if per_query else 0, len(values)))
    # A pair is always taken in the same order, so that the swapped one is its negative to the bit.
    first, second = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((second, first))
    for i in dict.fromkeys(first.tolist()):
        query, document, weight = tables[i]
        mine[document], is_mine[document] = weight, True
        for pair in order[first[order] == i].tolist():
            j = int(second[pair])
            its_query, its_document, its_weight = tables[j]
            theirs[its_document] = its_weight
            only = np.flatnonzero(~is_mine.take(its_document))
            moved = np.concatenate((weight - theirs.take(document), -its_weight.take(only)))
            at = np.concatenate((query, its_query.take(only)))
            theirs[its_document] = 0
            both = np.stack(one.ends(at, moved, values[:, i] - values[:, j]))
            rounded = np.abs(both) <= reach * (1 + _ROUNDING)
            low, high = np.where(rounded, np.clip(both, -reach, reach), both)
            if left[pair] != i:
                low, high = 0 - high, 0 - low
            ends[:, pair] = mean(low), mean(high)
            if per_query:
                queries[:, pair] = low, high
        mine[document], is_mine[document] = 0, False
    of_queries = (queries[0].T, queries[1].T) if per_query else None
    return PairBounds(ends[0], ends[1], "exact", _apart(*ends), of_queries)


# ---- measures that do not add up --------------------------------------------------------------


def _separate(
    measure: Measure,
    qrels: Qrels,
    runs: Mapping[str, Run],
    recipe: Mapping[str, Any],
    query_ids: Sequence[str],
    left: Ints,
    right: Ints,
) -> PairBounds | None:
    """Return the differences of the runs' own bounds; None if these are not proved."""
    try:
        check_bounded([measure], recipe["judged_only"], recipe["ties"])
    except MeasureError:
        return None
    if measure.bounds != "extremes" or _at_relevant(measure):
        return None
    if _depends_on_the_others(measure, _top_grade(qrels)):
        return None
    options: Judging = {key: recipe[key] for key in ("order", "scores", "ties", "depth")}  # type: ignore[assignment]
    systems = score_runs(qrels, runs, [measure], bounds=True, **options)
    ends = [one.bounds for one in systems.values() if one.bounds is not None]
    if not all(one.proved.all() for one in ends):
        return None
    row = {query: i for i, query in enumerate(qrels.query_ids)}
    rows = [row[query] for query in query_ids]
    lows, highs = (np.hstack([getattr(one, end)[rows] for one in ends]) for end in ("low", "high"))
    low, high = lows[:, left] - highs[:, right], highs[:, left] - lows[:, right]
    return PairBounds.of("separate", low, high)


def _depends_on_the_others(measure: Measure, top_grade: int) -> bool:
    """Return whether documents that a run did not retrieve change its value: SetR, NumRel, P@R.

    What only the other run retrieved may be relevant, too, which changes how much there is to be
    found, and a run's own bounds do not know of it. The measure is asked: some rankings are
    measured with no other document in the judgments, and with more and more of each grade.
    """
    cycle = np.array([top_grade, 0, 1, -1, top_grade, -1, 0, top_grade])
    rankings = [np.roll(cycle, i)[:n] for n in (1, 3, 8) for i in range(n)]
    rankings += [np.full(n, grade) for n in (1, 3, 8) for grade in (0, 1, top_grade)]
    rankings += [np.append(np.full(n, grade), top_grade) for n in (1, 3, 8) for grade in (-1, 0)]
    grades = {*range(-1, min(top_grade, _SOME_GRADES) + 1), top_grade}
    others = [np.zeros(0, np.int64)]
    others += [np.full(n, grade) for grade in sorted(grades) for n in _MORE]
    hits = [ranking for ranking in rankings for _ in others]
    ideal = [-np.sort(-np.append(ranking, more)) for ranking in rankings for more in others]
    n_retrieved = np.array([[len(one)] for one in hits])
    values = measure.values(Judged(_ranked(hits), _ranked(ideal), n_retrieved, top_grade))
    values = values[:, 0].reshape(len(rankings), len(others))
    return bool((np.abs(values - values[:, :1]) > _ROUNDING).any())


def _ranked(grades: Sequence[Ints]) -> Ranked:
    """Return rankings of documents of these grades, the first at rank 1."""
    n = [len(one) for one in grades]
    rank = np.concatenate([np.arange(1, one + 1) for one in n])
    return Ranked(len(n), np.repeat(np.arange(len(n)), n), rank, np.concatenate(grades))
