"""Reproduction: how near each reproduced run came to its original, as tables, rows and values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cranfield.comparison.score_columns import canonical_name
from cranfield.extensions.orderings.options import ReproductionSettings
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import (
    format_interval,
    format_number,
    format_percent,
    format_query_count,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.version import __version__


class Estimate(NamedTuple):
    """The value of a quantity and the ends of its interval over the queries; None: no end."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ReproducedRun:
    """How near one run came to the original, by one measure.

    What does not exist is None: RMSE, nRMSE, tau and RBO for judgments of another collection; tau
    and RBO for saved scores; nRMSE for a measure without a greatest value; the effect ratio and the
    improvements for the baseline itself, or where they would be divided by 0.

    >>> from cranfield import reproduce
    >>> judged, run = {"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1", "d3"], "q2": ["d4"]}
    >>> found = reproduce(judged, run, {"q1": ["d3", "d1"], "q2": ["d2"]}, "RR")["RR"]["run"]
    >>> found.mean, found.reproduced_mean, round(found.rmse.value, 4)
    (0.5, 0.75, 0.7906)
    """

    run: str
    reproduced: str
    mean: float
    reproduced_mean: float
    rmse: Estimate | None = None
    nrmse: Estimate | None = None
    kendall_union: Estimate | None = None
    rbo: Estimate | None = None
    effect_ratio: Estimate | None = None
    improvement: float | None = None  # (the run's mean - the baseline's) / the baseline's
    reproduced_improvement: float | None = None
    delta_improvement: Estimate | None = None

    @property
    def quantities(self) -> dict[str, Estimate]:
        """{name: estimate} of those of `QUANTITIES` that exist."""
        estimates = {name: getattr(self, name) for name in QUANTITIES}
        return {name: estimate for name, estimate in estimates.items() if estimate is not None}


class Quantity(NamedTuple):
    """What an exact copy of the original has, the heading in a table, and what it means."""

    exact: float
    heading: str
    meaning: str


QUANTITIES: Mapping[str, Quantity] = {
    "rmse": Quantity(
        0, "RMSE", "RMSE: root of the mean squared difference of a query's two scores."
    ),
    "nrmse": Quantity(0, "nRMSE", "nRMSE: the same, as a share of the greatest that it could be."),
    "kendall_union": Quantity(
        1,
        "Kendall's tau",
        "Kendall's tau: of the two orders of the documents, mean over the queries, on the union of "
        "both lists: numbered as the original has it, then as the other one has it. Lists that "
        "share nothing have 1, too: read RBO beside it.",
    ),
    "rbo": Quantity(1, "RBO", "RBO: rank-biased overlap of the two lists, mean over the queries."),
    "effect_ratio": Quantity(
        1,
        "effect ratio",
        "effect ratio: the mean gain over the baseline, as a share of the original one; 0 or less: "
        "the effect is gone.",
    ),
    "delta_improvement": Quantity(
        0,
        "delta RI",
        "delta RI: relative improvement over the baseline, original minus reproduced.",
    ),
}


class _Line(NamedTuple):
    """A row of a table: a run, a quantity, and its estimate."""

    run: ReproducedRun
    quantity: Quantity
    estimate: Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Shown):
    """How near a second experiment came to a first one, by each measure and of each run.

    `found["AP"]["dense"]` is one run's ReproducedRun, by the name that it has in the original.

    >>> from cranfield import reproduce
    >>> found = reproduce("demo/qrels.txt", ["demo/bm25.run"], ["demo/tfidf.run"], "AP RR")
    >>> one = found["AP"]["bm25"]
    >>> round(one.rmse.value, 3), round(one.rbo.value, 3), one.effect_ratio
    (0.119, 0.624, None)
    """

    header = ("measure", "run", "reproduced", "quantity", "value", "low", "high")

    measures: Mapping[str, Mapping[str, ReproducedRun]]
    n_queries: int
    n_reproduced: int | None  # queries of the other collection, if there is one
    notes: tuple[Note, ...]
    settings: ReproductionSettings
    recipes: tuple[Mapping[str, Any], Mapping[str, Any]]  # of the original and the other scores

    def __getitem__(self, measure: str | Measure) -> Mapping[str, ReproducedRun]:
        """Return each run's numbers by one measure, by the run's name in the original."""
        measure_name = canonical_name(measure, self.measures)
        if measure_name not in self.measures:
            raise KeyError(f"{measure}: there are {', '.join(self.measures)}")
        return self.measures[measure_name]

    def tables(self) -> list[Table]:
        """Return a table for each measure, with a row for each quantity of each run."""
        return [self._table(measure) for measure in self.measures]

    def _table(self, measure: str) -> Table:
        interval_heading = f"{format_percent(1 - self.settings.alpha)} interval"
        lines: list[_Line] = []
        rules = []
        for run in self.measures[measure].values():
            rules.append(len(lines))
            lines += [
                _Line(run, QUANTITIES[name], estimate) for name, estimate in run.quantities.items()
            ]
        meanings = list(dict.fromkeys(line.quantity.meaning for line in lines))
        columns = [
            Column("run", lambda line: line.run.run),
            Column("reproduced", lambda line: line.run.reproduced),
            Column("quantity", lambda line: line.quantity.heading),
            Column("value", lambda line: format_number(line.estimate.value)),
            Column(
                interval_heading,
                lambda line: format_interval(*line.estimate[1:], signs=False),
            ),
            Column(
                "exact copy",
                lambda line: str(line.quantity.exact),
                "exact copy: what a copy of the original would have.",
            ),
        ]
        mean_sentences = [
            f"{run.run}: mean {format_number(run.mean)}; {run.reproduced}, reproduced: "
            f"{format_number(run.reproduced_mean)}."
            for run in self.measures[measure].values()
        ]
        return make_table(
            lines,
            columns,
            sentences=[*meanings, *mean_sentences],
            notes=self.notes,
            title=[self._title(measure)],
            n_labels=3,
            rules=rules[1:],
        )

    def _title(self, measure: str) -> str:
        queries = format_query_count(self.n_queries)
        if self.n_reproduced is not None:
            queries += f", {self.n_reproduced:,} in the other collection"
        return f"{measure}   {queries}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each mean and each quantity of each run, to every digit."""
        return self._rows_as_dicts(
            (measure, run.run, run.reproduced, name, *estimate)
            for measure, runs in self.measures.items()
            for run in runs.values()
            for name, estimate in [
                ("mean", Estimate(run.mean, None, None)),
                ("reproduced_mean", Estimate(run.reproduced_mean, None, None)),
                *run.quantities.items(),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: every number, and what is needed to repeat it."""

        def run_fields(run: ReproducedRun) -> dict[str, Any]:
            estimates = {name: estimate._asdict() for name, estimate in run.quantities.items()}
            return {**asdict(run), **dict.fromkeys(QUANTITIES), **estimates}

        return {
            "cranfield": __version__,
            "settings": vars(self.settings),
            "queries": self.n_queries,
            "reproduced_queries": self.n_reproduced,
            "measures": {
                measure: [run_fields(run) for run in runs.values()]
                for measure, runs in self.measures.items()
            },
            "recipes": [dict(recipe) for recipe in self.recipes],
            "notes": [note.to_dict() for note in self.notes],
        }
