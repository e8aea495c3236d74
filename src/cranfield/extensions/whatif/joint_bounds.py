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
directly (`RatioExtremes`), and are reached as well.

As in `cranfield.extensions.whatif.bounds`, the documents that were retrieved may have any grade.
What nobody retrieved stays unjudged: RBP is without its tail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from cranfield.arrays.grades import are_whole_grades
from cranfield.arrays.products import block_slices
from cranfield.arrays.ranked import Bools, Floats, Ints, means
from cranfield.data.judged import NO_CUTOFF
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, SeveralRuns
from cranfield.errors import MeasureError, NothingSharedError, OptionError, check_choice
from cranfield.extensions import keywords
from cranfield.extensions.whatif.completions import find_reachable_grade
from cranfield.extensions.whatif.extremes import ROUNDING, LinearExtremes, RatioExtremes
from cranfield.extensions.whatif.options import Bounding
from cranfield.extensions.whatif.unjudged import UnjudgedDocuments, find_unjudged
from cranfield.formats.block import Errors
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_below_table, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress, watch_slices, watch_steps
from cranfield.render.numbers import format_query_count, format_shortest
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import MeasuresLike, list_measures, refuse_mapping, score_runs
from cranfield.scoring.scores import Systems

Method = Literal["exact", "separate"]


class _MeanEnds:
    """The ends of mean differences, (n,), from the ends of each query's: (n_queries, n).

    A query's documents are graded apart from another's, so that the lowest mean is the mean of the
    lowest differences. The means are added left to right.
    """

    query_low: Floats
    query_high: Floats

    @cached_property
    def low(self) -> Floats:
        """The lowest mean difference of each column."""
        return means(self.query_low)

    @cached_property
    def high(self) -> Floats:
        """The highest mean difference of each column."""
        return means(self.query_high)

    @property
    def robust(self) -> Bools:
        """Whether each difference is above 0, or is below 0, however the unjudged are graded."""
        return (self.low > ROUNDING) | (self.high < -ROUNDING)


@dataclass(frozen=True, eq=False)
class PairBounds(_MeanEnds):
    """The bounds of each pair's difference, left - right, for one measure.

    `query_low` and `query_high` are (n_queries, n_pairs), each query's; `low`, `high` and `robust`
    (n_pairs,), of the means. `method` is "exact" if some way to grade the unjudged reaches each
    end, or "separate": the difference of the two runs' own bounds, wider than necessary.
    """

    method: Method
    query_low: Floats
    query_high: Floats

    def select_queries(self, rows: Bools | Ints) -> "PairBounds":
        """Return the bounds for some of the queries; no run needs to be read again.

        `rows` is a mask (n_queries,), or the numbers of the rows of one query or more.
        """
        return PairBounds(self.method, self.query_low[rows], self.query_high[rows])


@dataclass(frozen=True, eq=False, repr=False)
class JointBounds(_MeanEnds, Shown):
    """What the mean difference of two runs may be, over every way to grade the unjudged.

    The columns are (n_measures,): `difference`, left - right; its bounds `low` and `high`;
    `robust`, whether it is above 0, or below 0, in every way; and `methods`, which say what the
    bounds are (see `joint_bounds`). Each query's, `query_low` and `query_high`, are (n_queries,
    n_measures), the queries in the order of `query_ids`.

    >>> bounds = joint_bounds({"q": {"a": 1}}, [{"q": ["a", "u"]}, {"q": ["u", "v"]}], "P@2 RR")
    >>> bounds.low.tolist(), bounds.high.tolist(), bounds.robust.tolist()
    ([0.0, 0.0], [0.5, 1.0], [False, False])
    """

    header = ("measure", "difference", "low", "high", "robust", "bounds")

    left: str
    right: str
    measures: tuple[Measure, ...]
    query_ids: Sequence[str]
    difference: Floats
    methods: tuple[Method, ...]
    query_low: Floats
    query_high: Floats
    top_grade: float  # the highest grade that an unjudged document may have
    recipe: Mapping[str, Any]  # how the runs were judged
    notes: tuple[Note, ...] = ()  # what to know of the data and of how it was judged

    def tables(self) -> list[Table]:
        """Return a row for each measure, four decimals each."""
        rows = []
        for measure, *ends, robust, bounds in (row.values() for row in self.rows()):
            numbers = [f"{round(end, 4) + 0.0:+.4f}" for end in ends]  # no negative zero
            rows.append([measure, *numbers, bounds, "robust" if robust else "open"])
        queries_text = format_query_count(len(self.query_ids))
        legend = [
            f"Mean difference, {self.left} - {self.right}, over {queries_text}.",
            "low, high: over every way to grade the unjudged documents that were retrieved, from "
            f"0 to {format_shortest(self.top_grade)}.",
            *(_METHOD_NOTES[method] for method in _METHOD_NOTES if method in self.methods),
            "robust: the sign is the same in every way; open: it is not, or may not be.",
        ]
        header = ["measure", "difference", "low", "high", "bounds", "sign"]
        return [Table(header, rows, lines_below_table(legend, self.notes))]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure: the mean difference, its bounds, and what these are."""
        columns = (self.difference, self.low, self.high, self.robust)
        cells = (column.tolist() for column in columns)
        return self._rows_as_dicts(zip(map(str, self.measures), *cells, self.methods, strict=True))

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


_METHOD_NOTES: Mapping[str, str] = {
    "exact": "exact: a document of both runs has one grade in both; both ends are reached.",
    "separate": "separate: the lowest of one run less the highest of the other; wider than "
    "necessary, since a document may have two grades there.",
}


_DEFAULT_MEASURES = "nDCG@10 P@10"


@add_progress
@takes(Reading, Judging, Watching, omit=("judged_only", "unretrieved"))
def joint_bounds(
    qrels: QrelsLike,
    runs: SeveralRuns | None = None,
    measures: MeasuresLike = _DEFAULT_MEASURES,
    *,
    errors: Errors = "strict",
    **judging: "Unpack[keywords.JointBounds]",
) -> JointBounds:
    """Return the lowest and the highest difference of two runs, however the unjudged are graded.

    Every unjudged document that a run retrieved may have any grade from 0 to the collection's
    highest, the same one in both runs. The bounds are "exact" for measures to which documents add
    one by one: P, DCG, RBP without gains (and without its tail: what is below the end of a run
    stays unjudged), SetP, counts, C/W/L of users who go on with any document. They are exact for
    nDCG, too: new grades make the ideal ranking better, so that a run's own nDCG may fall.

    For other measures that depend on no document but those that the run itself retrieved, such as
    Success, RR and ERR, they are "separate": the lowest value of the one less the highest of the
    other. Measures that depend on how much there is to be found, such as R, AP and SetF, have none.

    Args:
        qrels: the judgments, as `evaluate` takes them.
        runs: two runs, as `evaluate` takes several: the difference is the first minus the second.
        measures: what to bound, as `evaluate` takes it.
        errors: as in `evaluate`.
        **judging: each option of `Reading`, and of `Judging` but `judged_only` and `unretrieved`;
            `ties` are "document", "ascending" or "given", `duplicates` none that keeps every row,
            `queries` none that depends on grades.

    Gives one CranfieldWarning, as `evaluate` does, if a number may not mean what it seems to; the
    result's `notes` say so, too.

    Raises MeasureError for a measure that has no bounds, InputError and OptionError as `evaluate`
    does.

    >>> left, right = {"q": ["a", "u", "c"]}, {"q": ["u", "b", "a"]}
    >>> bounds = joint_bounds({"q": {"a": 1, "b": 0, "c": 1}}, [left, right], "P@3")
    >>> bounds.low.round(4).tolist(), bounds.high.round(4).tolist()
    ([0.3333], [0.3333])

    """
    refuse_unknown_options(joint_bounds, judging)
    judging_options = Judging.of(judging)
    refuse_mapping(measures)
    judgments, run_of_name, measures = arrange_arguments(
        qrels,
        runs,
        measures,
        _DEFAULT_MEASURES,
        reading=Reading.of(judging),
        duplicates=judging_options.duplicates,
        errors=errors,
        verb=joint_bounds,
    )
    if isinstance(run_of_name, Run) or len(run_of_name) != 2:
        n = 1 if isinstance(run_of_name, Run) else len(run_of_name)
        raise OptionError(
            f"the difference of two runs has bounds, and runs holds {n}: put both into one list, "
            "joint_bounds(qrels, [old, new], measures)"
        )
    left, right = run_of_name
    parsed_measures = list_measures(measures)
    check_choice("ties", judging_options.ties, ("document", "ascending", "given"))
    check_choice("duplicates", judging_options.duplicates, ("refuse", "first", "best"))
    check_choice("queries", judging_options.queries, ("judged", "both", "retrieved", "run"))
    systems = score_runs(judgments, run_of_name, parsed_measures, judging_options)
    query_ids = _list_shared_queries(systems)
    if not query_ids:
        raise NothingSharedError(f"the runs {left!r} and {right!r} share no query")
    bounds = pair_bounds(judgments, run_of_name, systems, np.array([0]), np.array([1]), query_ids)
    bounds_of_measure = [measure_bounds for measure_bounds in bounds if measure_bounds is not None]
    if len(bounds_of_measure) < len(bounds):
        raise _no_bounds_error(systems.measures, bounds)
    score = _stack_values(systems, query_ids).astype(np.float64)
    warn_about(systems.notes)
    return JointBounds(
        left,
        right,
        systems.measures,
        query_ids,
        means(score[:, 0] - score[:, 1]),
        tuple(measure_bounds.method for measure_bounds in bounds_of_measure),
        np.hstack([measure_bounds.query_low for measure_bounds in bounds_of_measure]),
        np.hstack([measure_bounds.query_high for measure_bounds in bounds_of_measure]),
        find_reachable_grade(judgments),
        {**systems[left].recipe, "run": [scores.recipe["run"] for scores in systems.values()]},
        systems.notes,
    )


def _no_bounds_error(
    measures: Sequence[Measure], bounds: Sequence[PairBounds | None]
) -> MeasureError:
    """Return the error for the measures that have no bounds: None in `bounds` (measures,)."""
    unbounded_names = [
        str(measure)
        for measure, measure_bounds in zip(measures, bounds, strict=True)
        if measure_bounds is None
    ]
    return MeasureError(
        f"{', '.join(unbounded_names)}: there are no bounds of the difference; there are of P, "
        "DCG, nDCG, RBP, SetP, Success, RR, ERR, and other measures that do not depend on "
        "documents that the run did not retrieve"
    )


def pair_bounds(
    qrels: Qrels,
    runs: Mapping[str, Run],
    systems: Systems,
    left_system: Ints,
    right_system: Ints,
    query_ids: Sequence[str],
    *,
    separate: bool = True,
) -> list[PairBounds | None]:
    """Return the bounds of many pairs' differences, for each measure of `systems`.

    `systems` is what `evaluate` gave for these `runs`, under the same names and in the same order;
    it says how they were judged. `left_system` and `right_system` (n_pairs,) are the numbers of the
    systems. `query_ids` are the queries to average over, in the order of their bytes, which every
    system has. The result takes memory for 2 n_queries n_pairs numbers for each measure.

    A measure has None if its difference has no bounds: a measure of groups, of preferences, of
    costs that a run has, of a mapping of gains where grades are fractions, or of texts; a measure
    that needs more than the run's own bounds, or for which these are not proved; or any measure, if
    unjudged documents were left out, repeated documents count each time, equal scores were ranked
    by grade or in all orders, or documents that were not retrieved below others. Where `separate`
    is false, all but linear measures and nDCG have None, too: the others take two evaluations of
    each run and unjudged document.
    """
    measures = systems.measures
    bounds: list[PairBounds | None] = [None] * len(measures)
    judging = Judging.of(next(iter(systems.values())).recipe)
    if judging.judged_only or not judging.has_one_tie_order or qrels.has_groups:
        return bounds
    if judging.keeps_repeats or judging.unretrieved == "below":
        return bounds
    averaged_qrels = (
        qrels if len(query_ids) == len(qrels.query_ids) else qrels.select_queries(query_ids)
    )
    score = _stack_values(systems, query_ids)
    has_costs = any("cost" in run.extra_roles for run in runs.values())
    extremes_of_index: dict[int, LinearExtremes | RatioExtremes] = {}
    for i, measure in enumerate(measures):
        if has_costs and measure.definition.traits.takes_cost:
            continue
        if not are_whole_grades(qrels.grade) and isinstance(
            measure.parameters.get("gain"), Mapping
        ):
            continue  # a grade between the grades that it names is never worth the most
        if measure.linear == "exact":
            extremes_of_index[i] = LinearExtremes(measure, averaged_qrels)
        elif measure.linear == measure.bounds == "ratio":
            extremes_of_index[i] = RatioExtremes(measure, averaged_qrels)
        elif separate and measure.linear == "no":
            bounds[i] = _bound_separately(
                measure, qrels, runs, judging, query_ids, left_system, right_system
            )
    if extremes_of_index:
        depth = min(
            max(extremes.max_rank for extremes in extremes_of_index.values()),
            judging.depth or NO_CUTOFF,
        )
        unjudged = find_unjudged(averaged_qrels, list(runs.values()), depth, judging)
        for i, extremes in watch_steps(extremes_of_index.items(), "joint bounds"):
            range_low, range_high = measures[i].definition.range
            max_difference = math.inf if range_high is None else range_high - range_low
            measure_score = score[:, :, i].astype(np.float64)
            bounds[i] = _bound_jointly(
                extremes, unjudged, measure_score, left_system, right_system, max_difference
            )
    return bounds


def _list_shared_queries(systems: Systems) -> list[str]:
    """Return the queries that all systems have, in the order of the first."""
    first_scores, *other_scores = systems.values()
    query_sets = [set(scores.query_ids) for scores in other_scores]
    return [query for query in first_scores.query_ids if all(query in ids for ids in query_sets)]


def _stack_values(systems: Systems, query_ids: Sequence[str]) -> Floats:
    """Return the scores of some queries: (n_queries, n_systems, n_measures)."""
    columns = []
    for scores in systems.values():
        row_of_query = {query_id: i for i, query_id in enumerate(scores.query_ids)}
        columns.append(scores.values[[row_of_query[query_id] for query_id in query_ids]])
    return np.stack(columns, axis=1)


# ---- measures to which documents add one by one, and nDCG -------------------------------------


def _bound_jointly(
    extremes: LinearExtremes | RatioExtremes,
    unjudged: Sequence[UnjudgedDocuments],
    score: Floats,
    left_system: Ints,
    right_system: Ints,
    max_difference: float,
) -> PairBounds:
    """Return the bounds of each pair; `score` is (n_queries, n_systems).

    `max_difference` is the greatest difference that the measure's range allows. User-defined gains
    may make greater ones, rounding alone makes none.
    """
    rows_of_system: dict[int, tuple[Ints, Ints, Floats]] = {}
    for system in {*left_system.tolist(), *right_system.tolist()}:
        documents = extremes.select_documents(unjudged[system])
        rows_of_system[system] = documents.query, documents.document, extremes.weights(documents)
    n_documents = 1 + max((int(d.max(initial=0)) for _, d, _ in rows_of_system.values()), default=0)
    is_in_first, second_weight = np.zeros(n_documents, np.bool_), np.zeros(n_documents)
    ends = np.empty((2, len(left_system), len(score)))
    # Both orders of a pair are computed as one, so that their bounds are negatives to the bit.
    first_system = np.minimum(left_system, right_system)
    second_system = np.maximum(left_system, right_system)
    pair_order = np.lexsort((second_system, first_system))
    for i in watch_steps(dict.fromkeys(first_system.tolist()), "joint bounds"):
        query, document, weight = rows_of_system[i]
        is_in_first[document] = True
        pairs = pair_order[first_system[pair_order] == i]
        n_rows = 2 * max(len(query) for query, _, _ in rows_of_system.values())
        for block in watch_slices(block_slices(len(pairs), n_rows), "joint bounds", len(pairs)):
            block_pairs = pairs[block]
            queries, weight_differences = [], []
            for n_before, j in enumerate(second_system[block_pairs].tolist()):
                other_query, other_document, other_weight = rows_of_system[j]
                second_weight[other_document] = other_weight
                other_rows = np.flatnonzero(~is_in_first.take(other_document))
                weight_differences += [weight - second_weight.take(document)]
                weight_differences += [-other_weight.take(other_rows)]
                queries += [query + n_before * len(score)]
                queries += [other_query.take(other_rows) + n_before * len(score)]
                second_weight[other_document] = 0
            difference = score[:, [i]] - score[:, second_system[block_pairs]]
            ends_of_pair = np.stack(
                extremes.ends(
                    np.concatenate(queries),
                    np.concatenate(weight_differences),
                    difference.T.ravel(),
                )
            )
            is_in_range = np.abs(ends_of_pair) <= max_difference * (1 + ROUNDING)
            low, high = np.where(
                is_in_range, np.clip(ends_of_pair, -max_difference, max_difference), ends_of_pair
            ).reshape(2, len(block_pairs), len(score))
            is_forward = (left_system[block_pairs] == i)[:, None]
            ends[:, block_pairs] = (
                np.where(is_forward, low, 0 - high),
                np.where(is_forward, high, 0 - low),
            )
        is_in_first[document] = False
    return PairBounds("exact", ends[0].T, ends[1].T)


# ---- measures that do not add up --------------------------------------------------------------


def _bound_separately(
    measure: Measure,
    qrels: Qrels,
    runs: Mapping[str, Run],
    judging: Judging,
    query_ids: Sequence[str],
    left_system: Ints,
    right_system: Ints,
) -> PairBounds | None:
    """Return the differences of the runs' own bounds; None if not proved by what was retrieved."""
    cuts_at_relevant = isinstance(measure.cutoff, Depth) and measure.cutoff.at_relevant
    if measure.bounds != "retrieved" or cuts_at_relevant or measure.definition.traits.takes_groups:
        return None
    judging = replace(judging, queries="judged")
    systems = score_runs(qrels, runs, [measure], judging, ends=Bounding(bounds=True))
    bounds_of_system: Any = [scores.ends for scores in systems.values()]
    if not all(bounds.proved.all() for bounds in bounds_of_system):
        return None
    row_of_query = {query_id: i for i, query_id in enumerate(qrels.query_ids)}
    rows = [row_of_query[query_id] for query_id in query_ids]
    lows, highs = (
        np.hstack([getattr(bounds, end)[rows] for bounds in bounds_of_system])
        for end in ("low", "high")
    )
    low = lows[:, left_system] - highs[:, right_system]
    high = highs[:, left_system] - lows[:, right_system]
    return PairBounds("separate", low, high)
