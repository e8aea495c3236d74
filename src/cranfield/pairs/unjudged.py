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

As in `cranfield.bounds`, it is the documents that were retrieved that may have any grade. What
nobody retrieved stays unjudged: RBP is without its tail.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from cranfield.bounds import check_bounded
from cranfield.errors import MeasureError, NothingSharedError, one_of
from cranfield.evaluation import MeasuresLike, evaluate
from cranfield.formats.block import Errors, Load, Order
from cranfield.ids import Ids, keyed
from cranfield.judge import Queries
from cranfield.judged import Judged
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.qrels import Qrels, QrelsLike, as_qrels
from cranfield.ranked import Bools, Floats, Ints, Ranked, mean, means, ratio
from cranfield.ranking import Precision, Ties, grouped, in_threads, ranks, regrouped, sorting_scores
from cranfield.render import Table, text, to_html
from cranfield.runs import Run, RunLike, as_run
from cranfield.scores import Systems

Method = Literal["exact", "fixed ideal", "separate"]
_PROBED = 2 ** np.arange(12)  # ranks, to see where their weights end
_NEGLIGIBLE = 1e-17  # of all weights: less than the last bit of a sum
_ROUNDING = 1e-12  # a bound so near to 0 may be 0
_ROWS = 1 << 16  # of the pseudo-queries in one Judged
_ENDLESS = 2**62


@dataclass(frozen=True, eq=False)
class PairBounds:
    """The bounds of each pair's mean difference, left - right: `low` and `high` are (n_pairs,).

    `method` is "exact"; "fixed ideal" (nDCG): of the gains alone, by the ideal ranking of what is
    judged now, so that nDCG's own difference may lie outside; or "separate": the difference of the
    two runs' own bounds, wider than need be.

    `robust` (n_pairs,): whether the sign of the difference is the same however the unjudged are
    graded. At fixed ideal, each query's difference keeps its sign under every ideal, but the ideals
    of some queries grow more than those of others: so that the mean does so only if no query has
    the other sign in any way, and one has this sign in every way.

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
    _signs: tuple[Ints, Ints] | None = None  # fixed ideal: each query's lowest and highest sign

    @classmethod
    def of(
        cls, method: Method, low: Floats, high: Floats, signs: tuple[Ints, Ints] | None = None
    ) -> "PairBounds":
        """Return the bounds of means of which each query's are `low` and `high`.

        All are (n_queries, n_pairs); `signs` says, at fixed ideal, of what sign each query's
        difference may be, -1, 0 or 1: at least, and at most.
        """
        ends = means(low), means(high)
        robust = _apart(*ends) if signs is None else _of_one_sign(*signs)
        return cls(*ends, method, robust, (low, high), signs)

    def among(self, rows: Bools | Ints) -> "PairBounds":
        """Return the bounds for some of the queries, of which each query's were asked for.

        `rows` is a mask (n_queries,), or the numbers of the queries' rows, of one at least.
        """
        if self.of_queries is None:
            raise ValueError("these bounds were not kept for each query: ask for per_query=True")
        low, high = (end[rows] for end in self.of_queries)
        signs = None if self._signs is None else (self._signs[0][rows], self._signs[1][rows])
        return PairBounds.of(self.method, low, high, signs)


def _apart(low: Floats, high: Floats) -> Bools:
    """Return whether 0 is neither between the two nor one of them."""
    return (low > _ROUNDING) | (high < -_ROUNDING)


def _sign(values: Floats) -> Ints:
    return ((values > _ROUNDING).astype(np.int8) - (values < -_ROUNDING)).astype(np.int8)


def _of_one_sign(least: Ints, most: Ints) -> Bools:
    """Return whether queries' signs (n_queries, ...) give their mean, however weighed, one sign."""
    above = (least >= 0).all(axis=0) & (least > 0).any(axis=0)
    below = (most <= 0).all(axis=0) & (most < 0).any(axis=0)
    found: Bools = np.asarray(above | below)
    return found


@dataclass(frozen=True, eq=False)
class JointBounds:
    """What the mean difference of two runs may be, over every way to grade the unjudged.

    The columns are (n_measures,): `difference`, left - right; its bounds `low` and `high`; and
    `methods`, which say what these are (see `joint_bounds`). Each query's are (n_queries,
    n_measures), the queries in the order of `query_ids`.

    >>> found = joint_bounds({"q": {"a": 1}}, {"q": ["a", "u"]}, {"q": ["u", "v"]}, "P@2 RR")
    >>> found.low.tolist(), found.high.tolist(), found.robust.tolist()
    ([0.0, 0.0], [0.5, 1.0], [False, False])
    """

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

    def table(self) -> Table:
        """Return the bounds as a table to be shown, a row for each measure."""
        rows = []
        for measure, row in self.to_dict()["measures"].items():
            ends = [row[name] for name in ("difference", "low", "high")]
            numbers = [f"{round(end, 4) + 0.0:+.4f}" for end in ends]  # no negative zero
            rows.append([measure, *numbers, row["bounds"], "robust" if row["robust"] else "open"])
        n = len(self.query_ids)
        notes = [
            f"Mean difference, {self.left} - {self.right}, over {n:,} "
            f"{'query' if n == 1 else 'queries'}.",
            "low, high: over every way to grade the unjudged documents that were retrieved, from "
            f"0 to {self.top_grade}.",
            *(_NOTES[method] for method in _NOTES if method in self.methods),
            "robust: the sign is the same in every way; open: it is not, or may not be.",
        ]
        header = ["measure", "difference", "low", "high", "bounds", "sign"]
        return Table(header, rows, notes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the runs, how they were judged, and each measure's bounds."""
        columns = (self.difference, self.low, self.high, self.robust)
        rows = zip(*(column.tolist() for column in columns), self.methods, strict=True)
        names = ("difference", "low", "high", "robust", "bounds")
        return {
            "left": self.left,
            "right": self.right,
            "n_queries": len(self.query_ids),
            "top_grade": self.top_grade,
            "measures": {
                str(measure): dict(zip(names, row, strict=True))
                for measure, row in zip(self.measures, rows, strict=True)
            },
            "recipe": dict(self.recipe),
        }

    def __str__(self) -> str:
        return text(self.table())

    def _repr_html_(self) -> str:
        return to_html(self.table())


_NOTES: Mapping[str, str] = {
    "exact": "exact: a document of both runs has one grade in both; both ends are reached.",
    "fixed ideal": "fixed ideal: bounds of the gains, divided by the ideal ranking of what is "
    "judged now. They are no bounds of nDCG itself: new grades make the ideal better, too, and its "
    "difference may lie outside. robust does hold for nDCG.",
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
    stays unjudged), SetP, counts, C/W/L of users who go on whatever they find.

    For nDCG they are of the gains, at "fixed ideal": divided by the ideal ranking of what is judged
    now, so that an end may be beyond 1. They are no bounds of nDCG itself: with the ideal of the
    new grades, a query's difference is nearer to 0, of the same sign, so that it, and the mean, may
    be below a low above 0. A query of which nothing judged gains anything has 0. `robust` is of
    nDCG itself: it asks that no query's difference can have the other sign.

    For other measures that no document moves but those of the run itself, as Success, RR and ERR,
    they are "separate": the lowest value of the one less the highest of the other. Measures that
    hang on how much there is to be found, as R and AP, have none.

    The options are those of `evaluate`; `ties` are by id, "document" or "ascending".

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
    systems = evaluate(
        judgments,
        runs,
        measures,
        queries=queries,
        order=order,
        scores=scores,
        ties=ties,
        depth=depth,
        errors=errors,
    )
    assert isinstance(systems, Systems)  # noqa: S101 - of a dict of runs
    query_ids = _shared_queries(systems)
    if not query_ids:
        raise NothingSharedError(f"the runs {names[0]!r} and {names[1]!r} share no query")
    pair = np.array([0]), np.array([1])
    found = pair_bounds(judgments, runs, systems, *pair, per_query=True)
    without = [str(one) for one, its in zip(systems.measures, found, strict=True) if its is None]
    if without:
        raise MeasureError(
            f"{', '.join(without)}: there are no bounds of the difference; there are of P, DCG, "
            "nDCG, RBP, AP, RR, R, and others that evaluate(bounds=True) calls bounds"
        )
    have = [one for one in found if one is not None]
    each = [one.of_queries for one in have if one.of_queries is not None]
    values = _values(systems, query_ids).astype(np.float64)
    return JointBounds(
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
    )


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
    linear = [_Linear(measures[i], some) for i in usable if measures[i].linear != "no"]
    if linear:
        depth = min(max(one.deepest for one in linear), recipe["depth"] or _ENDLESS)
        unjudged = _unjudged(some, list(runs.values()), depth, recipe)
        places = [i for i in usable if measures[i].linear != "no"]
        for i, one in zip(places, linear, strict=True):
            found[i] = _joint(
                one, unjudged, values[:, :, i].astype(np.float64), left, right, per_query
            )
    if separate:
        for i in usable:
            if measures[i].linear == "no":
                found[i] = _separate(measures[i], qrels, runs, recipe, query_ids, left, right)
    return found


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
    for each query, `scale` says how much more or less a document adds beside the query's own ideal.
    """

    def __init__(self, measure: Measure, qrels: Qrels) -> None:
        self.method: Method = "fixed ideal" if measure.linear == "fixed ideal" else "exact"
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
        # Queries of which nothing judged gains anything: nDCG is 0, and may not stay so.
        self.gainless = np.zeros(len(qrels.query_ids), np.bool_)
        if self.method == "fixed ideal":
            first = np.ones(len(self.gainless), np.int64)
            self.gainless = self._added(first, first, self._grade, self._ideal) == 0
        gain = measure.parameters.get("gain")
        self._costs = isinstance(gain, Mapping) and min(gain.values()) < 0

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
        """Return what each of a run's unjudged documents adds: (rows,).

        In a query without gain, what it would add if the ideal were but of the highest grade.
        """
        n_retrieved = np.maximum(run.n_retrieved, 1)  # 0: no document asks for the scale
        first = np.ones(len(n_retrieved), np.int64)
        beside = self._added(first, n_retrieved, self._grade, self._ideal)
        scale = np.where(self.gainless, 1.0, ratio(beside, self._of_places(first, n_retrieved)))
        return self._of_places(run.rank, n_retrieved[run.query]) * scale[run.query]

    def signs(self, low: Floats, high: Floats) -> tuple[Ints, Ints]:
        """Return the least and the greatest sign of a query's difference between two ends.

        Where a grade costs something, an ideal may be 0 or less, and any sign is possible.
        """
        if self._costs:
            return np.full(len(low), -1, np.int8), np.full(len(low), 1, np.int8)
        return _sign(low), _sign(high)

    def _of_places(self, rank: Ints, n_retrieved: Ints) -> Floats:
        """Return the weight of each (rank, number retrieved): (rows,). Each is asked once."""
        deepest = int(rank.max(initial=0)) + 1
        places, which = np.unique(n_retrieved * deepest + rank, return_inverse=True)
        return self._alone(places % deepest, places // deepest, self._grade)[which]


def _joint(
    one: _Linear,
    unjudged: Sequence[_Unjudged],
    values: Floats,
    left: Ints,
    right: Ints,
    per_query: bool,
) -> PairBounds:
    """Return the bounds of each pair; `values` is (n_queries, n_systems)."""
    n_queries = len(values)
    tables: dict[int, tuple[Ints, Ints, Floats]] = {}
    for system in {*left.tolist(), *right.tolist()}:
        run = unjudged[system]
        rows = np.flatnonzero(run.rank <= one.deepest)
        run = _Unjudged(run.query[rows], run.rank[rows], run.document[rows], run.n_retrieved)
        weight = one.weights(run)
        rows = np.flatnonzero(weight)
        tables[system] = run.query[rows], run.document[rows], weight[rows]
    n_documents = 1 + max((int(d.max(initial=0)) for _, d, _ in tables.values()), default=0)
    mine, theirs = np.zeros(n_documents), np.zeros(n_documents)
    ends, robust = np.empty((2, len(left))), np.zeros(len(left), np.bool_)
    kept = len(left) if per_query else 0
    queries, signs = np.empty((2, kept, n_queries)), np.empty((2, kept, n_queries), np.int8)
    fixed = one.method == "fixed ideal"
    # A pair is always taken in the same order, so that the swapped one is its negative to the bit.
    first, second = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((second, first))
    for i in dict.fromkeys(first.tolist()):
        query, document, weight = tables[i]
        mine[document] = weight
        for pair in order[first[order] == i].tolist():
            j = int(second[pair])
            its_query, its_document, its_weight = tables[j]
            theirs[its_document] = its_weight
            only = np.flatnonzero(mine.take(its_document) == 0)
            moved = np.concatenate((weight - theirs.take(document), -its_weight.take(only)))
            at = np.concatenate((query, its_query.take(only)))
            # Both sums at once: of what is below 0, and of what is above.
            sums = np.bincount(2 * at + (moved > 0), moved, 2 * n_queries)
            less, more = sums[::2], sums[1::2]
            theirs[its_document] = 0
            difference = values[:, i] - values[:, j]
            low = difference + (one.most * less + one.least * more)
            high = difference + (one.most * more + one.least * less)
            if left[pair] != i:
                low, high = 0 - high, 0 - low
            if fixed:
                its_signs = one.signs(low, high)
                robust[pair] = _of_one_sign(*its_signs)
                low[one.gainless] = high[one.gainless] = 0.0
            ends[:, pair] = mean(low), mean(high)
            if per_query:
                queries[:, pair] = low, high
                if fixed:
                    signs[:, pair] = its_signs
        mine[document] = 0
    return PairBounds(
        ends[0],
        ends[1],
        one.method,
        robust if fixed else _apart(*ends),
        (queries[0].T, queries[1].T) if per_query else None,
        (signs[0].T, signs[1].T) if per_query and fixed else None,
    )


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
    # What only the other run retrieved may be relevant, too, which changes how much there is to be
    # found: a run's own bounds know nothing of it. Measures that this moves are not "extremes".
    if measure.bounds != "extremes":
        return None
    options = {key: recipe[key] for key in ("order", "scores", "ties", "depth")}
    systems = evaluate(qrels, runs, measure, bounds=True, **options)
    assert isinstance(systems, Systems)  # noqa: S101 - of a dict of runs
    ends = [one.bounds for one in systems.values() if one.bounds is not None]
    if not all(one.proved.all() for one in ends):
        return None
    row = {query: i for i, query in enumerate(qrels.query_ids)}
    rows = [row[query] for query in query_ids]
    lows, highs = (np.hstack([getattr(one, end)[rows] for one in ends]) for end in ("low", "high"))
    low, high = lows[:, left] - highs[:, right], highs[:, left] - lows[:, right]
    return PairBounds.of("separate", low, high)
