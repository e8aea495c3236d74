"""intervals: the means of scores, each with its own confidence interval."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Unpack

from cranfield.comparison.level import Level
from cranfield.comparison.mean_interval import describe_error, mean_intervals, note_intervals
from cranfield.comparison.remarks import note_few_queries
from cranfield.comparison.result import IntervalName
from cranfield.comparison.score_columns import drop_query_counts, find_measure, system_columns
from cranfield.comparison.units import EACH_QUERY, Units, find_units
from cranfield.errors import InputError
from cranfield.extensions import load_families
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.render.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_query_count,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.scoring.scores import Scores, Systems

FAMILIES = load_families("intervals")


@dataclass(frozen=True)
class MeanWithInterval:
    """A system's mean under one measure, and the ends of its interval; None for one query."""

    system: str
    measure: str
    queries: int
    clusters: int | None  # of the queries, if some depend on one another
    mean: float
    low: float | None
    high: float | None
    interval: IntervalName  # by Student's t, or Wilson's score of zeros and ones


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Shown):
    """Means with their intervals: a row for each system and measure.

    >>> from cranfield import evaluate, intervals
    >>> found = intervals(evaluate("demo/qrels.txt", "demo/bm25.run", "nDCG@10 AP"))
    >>> [(one.measure, round(one.low, 2), round(one.high, 2)) for one in found.means]
    [('nDCG@10', 0.34, 0.56), ('AP', 0.24, 0.44)]
    """

    header = tuple(field.name for field in fields(MeanWithInterval))

    means: Sequence[MeanWithInterval]
    alpha: float
    notes: tuple[Note, ...]
    units: Units = EACH_QUERY

    def tables(self) -> list[Table]:
        """Return one table, with a row for each system and measure."""
        level = f"{format_percent(1 - self.alpha)} interval"
        method = describe_error((mean.interval for mean in self.means), self.units)
        columns = [
            Column("system", lambda row: row.system),
            Column("measure", lambda row: row.measure),
            Column("mean", lambda row: format_number(row.mean)),
            Column(
                level,
                lambda row: format_interval(row.low, row.high, signs=False),
                f"Each interval belongs to one mean ({method}). Whether two systems differ is "
                "another question: `cranfield compare`.",
            ),
        ]
        counts = dict.fromkeys(
            format_query_count(mean.queries, mean.clusters) for mean in self.means
        )
        title = [f"Means of {' or '.join(counts)}"]
        return [make_table(self.means, columns, notes=self.notes, title=title, n_labels=2)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each system and measure; what does not exist is None."""
        return [asdict(mean) for mean in self.means]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "alpha": self.alpha,
            "means": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }


@takes(Level, *FAMILIES)
def intervals(scores: Scores | Systems, **options: "Unpack[keywords.Intervals]") -> Intervals:
    """Return the means of scores, each with its own confidence interval.

    The interval is Student's, of the queries as a sample of queries like these; of zeros and ones,
    such as Success@5, it is Wilson's score interval (JASA 22, 1927); with `clusters`, its error is
    cluster-robust (Liang & Zeger, Biometrika 1986). Ends are cut to the measure's range. For a
    measure with a geometric mean, such as GMAP, it is that of the logarithms, transformed back. A
    measure that has a sum or a text over the queries has none, and is named.

    Args:
        scores: what `evaluate` returns, of one run or several.
        **options: each option of `Level` and of extensions.

    Returns:
        Intervals, which print as a table; `means` has a MeanWithInterval for each number.

    Raises:
        InputError: anything but scores; no measure that has a mean; labels of clusters that cannot
            be used.
        OptionError: an option with an impossible value.

    >>> from cranfield import evaluate
    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    >>> found = intervals(evaluate(qrels, {"q1": ["a"], "q2": ["b", "a"], "q3": ["a"]}, "RR"))
    >>> [(round(one.mean, 4), round(one.low, 4), one.high) for one in found.means]
    [(0.8333, 0.1162, 1.0)]

    """
    refuse_unknown_options(intervals, options)
    alpha, families = Level.of(options).alpha, [family.of(options) for family in FAMILIES]
    if not isinstance(scores, Scores | Systems):
        raise InputError(
            f"expected what evaluate() returns, not a {type(scores).__name__}",
            hint="intervals(evaluate(qrels, run)).",
        )
    systems = Systems([scores]) if isinstance(scores, Scores) else scores
    means: list[MeanWithInterval] = []
    notes = drop_query_counts(systems.notes)  # the title has it
    for (measure, name), (query_ids, column) in system_columns(systems).items():
        parsed_measure = find_measure(measure)
        if not _has_mean(parsed_measure):
            continue
        units, data_notes = find_units(families, query_ids)
        (mean_interval,) = mean_intervals(parsed_measure, column[:, None], alpha, units)
        n_clusters = units.n_groups
        means.append(MeanWithInterval(name, measure, len(query_ids), n_clusters, *mean_interval))
        if mean_interval.low is not None:
            data_notes += note_few_queries(n_clusters or len(query_ids), units.full_words)
            names = [f"{name} {measure}"]
            data_notes += note_intervals(parsed_measure, column[:, None], names, units)
        notes += [note for note in data_notes if note not in notes]
    measures_left_out = [str(measure) for measure in systems.measures if not _has_mean(measure)]
    if measures_left_out:
        text = f"No mean over the queries, and no interval: {', '.join(measures_left_out)}."
        notes.append(Note("no-mean", "info", text, len(measures_left_out)))
    if not means:
        raise InputError("none of the measures has a mean over the queries")
    rank_of_system = {name: i for i, name in enumerate(systems)}
    means.sort(key=lambda mean: rank_of_system[mean.system])
    return Intervals(means, alpha, tuple(merge_notes(("", note) for note in notes)), units)


def _has_mean(measure: Measure | None) -> bool:
    """Tell whether a measure's value over the queries is a mean, arithmetic or geometric."""
    return measure is not None and measure.definition.aggregation in ("mean", "geometric")
