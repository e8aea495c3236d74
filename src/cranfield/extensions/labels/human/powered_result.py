"""PredictionPowered: the result of `prediction_powered`, means and differences with tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple

from cranfield.comparison.result import Outcome
from cranfield.comparison.tables import MARKS
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.notes import Note
from cranfield.render.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_signed,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table

Order = Literal["same", "reversed", "open", "tied"]


@dataclass(frozen=True, kw_only=True)
class PoweredMean:
    """A mean, or a difference of two systems' means, by both kinds of labels and by each alone.

    `[low, high]` is the 1 - alpha interval of `mean`, by Student's t, and `error` the standard
    error; `human` is the mean by human labels alone, with its own interval; `model` that by the
    model's labels alone. `lam` is how much the model's labels count, from 0 to 1. `labelled` counts
    the queries, or documents, that people labelled, `worth` how many of these human labels alone
    would need for an error as small. `p`, for a difference, is that of the t-test, `p_adjusted`
    after Holm's correction, and `verdict` says whether the system is better or worse, if that is at
    most alpha. `off` is how far the model's number is above `mean`. `order` says whether people
    confirm ("same") or reverse the order that the model's labels make of two systems, leave it
    "open", or find it "tied" by the model; `labels_needed` is about how many labels make half the
    interval as wide as `trust` was asked for. What does not exist is None.

    >>> from cranfield import prediction_powered
    >>> model = {"a": {f"q{i}": i / 20 for i in range(20)}}
    >>> found = prediction_powered(model, human={"a": {f"q{i}": i / 20 for i in range(0, 20, 3)}})
    >>> one = found.means["score"]["a"]
    >>> round(one.human, 3), round(one.model, 3), round(one.mean, 3), one.labelled
    (0.45, 0.475, 0.48, 7)
    """

    measure: str
    system: str
    other: str | None  # of a difference: the baseline
    mean: float
    low: float | None = None
    high: float | None = None
    error: float
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Outcome | None = None
    lam: float
    labelled: int
    worth: float | None
    human: float
    human_low: float | None = None
    human_high: float | None = None
    model: float
    off: float
    off_low: float | None = None
    off_high: float | None = None
    order: Order | None = None
    labels_needed: int | None = None


class _Line(NamedTuple):
    """A row of a table: a mean, or a difference, by one kind of labels."""

    powered_mean: PoweredMean
    labels: str  # "both", "human" or "model"
    estimate: float
    low: float | None
    high: float | None
    n: str  # how many labels there are, or are worth

    def show_estimate(self) -> str:
        """Return the number, and behind a difference its mark."""
        if self.powered_mean.other is None:
            return format_number(self.estimate)
        verdict = self.powered_mean.verdict if self.labels == "both" else None
        return f"{format_signed(self.estimate)} {MARKS[verdict]}"


def _list_lines(mean: PoweredMean, n_model: str) -> list[_Line]:
    """Return the three rows of a mean; `n_model` is the text of how many labels the model gave."""
    n_human = f"{mean.labelled:,}"
    return [
        _Line(mean, "both", mean.mean, mean.low, mean.high, format_number(mean.worth, 1)),
        _Line(mean, "human", mean.human, mean.human_low, mean.human_high, n_human),
        _Line(mean, "model", mean.model, None, None, n_model),
    ]


@dataclass(frozen=True, eq=False, repr=False)
class PredictionPowered(Shown):
    """Means and differences by human and model labels together, for each measure.

    `found.means["nDCG@10"]["dense"]` is a system's PoweredMean, `found.differences` has those of
    each system and the baseline.

    >>> judged = {f"q{i}": {"a": 1} for i in range(8)}
    >>> run = {f"q{i}": ["a"] if i % 2 else ["b", "a"] for i in range(8)}
    >>> human = {"q0": {"a": 1}, "q1": {"a": 1}, "q2": {"b": 1}, "q5": {"a": 1}}
    >>> from cranfield import prediction_powered
    >>> one = prediction_powered(judged, run, "RR", human=human).means["RR"]["run"]
    >>> one.model, one.human, round(one.mean, 3), one.labelled
    (0.75, 0.875, 0.875, 4)
    """

    header = tuple(one_field.name for one_field in fields(PoweredMean))

    means: Mapping[str, Mapping[str, PoweredMean]]
    differences: Mapping[str, Mapping[str, PoweredMean]]
    settings: PoweredSettings
    notes: tuple[Note, ...]
    recipe: Mapping[str, Any]
    unit: str  # what people labelled: "query" or "document"
    n_queries: int  # with the model's labels

    def tables(self) -> list[Table]:
        """Return, for each measure, a table of the means, and one of the differences, if any."""
        tables: list[Table] = []
        for measure, mean_of_system in self.means.items():
            tables.append(
                self._means_table(measure, mean_of_system.values(), () if tables else self.notes)
            )
            if differences := self.differences.get(measure):
                tables.append(self._means_table(measure, differences.values(), ()))
        return tables

    def _means_table(
        self, measure: str, results: Iterable[PoweredMean], notes: Sequence[Note]
    ) -> Table:
        """Return a table with three rows for each number: by both kinds of labels, and by each."""
        results = list(results)
        first_mean = results[0]
        n_model = f"{self.n_queries:,}" if self.unit == "query" else ""
        lines = [line for powered_mean in results for line in _list_lines(powered_mean, n_model)]
        quantity = f"difference from {first_mean.other}" if first_mean.other is not None else "mean"
        title = (
            f"{measure}   {quantity}   {self.n_queries:,} queries with a model's labels, "
            f"{format_count(first_mean.labelled, self.unit, self._unit_plural)} with human ones"
        )
        columns = self._columns(first_mean.other is not None, has_several=len(results) > 1)
        rules = range(3, len(lines), 3)
        return make_table(lines, columns, notes=notes, title=[title], n_labels=2, rules=rules)

    @property
    def _unit_plural(self) -> str:
        return "queries" if self.unit == "query" else "documents"

    def _columns(self, is_difference: bool, *, has_several: bool) -> list[Column]:
        """Return the columns of a table of means, or of differences; `has_several`: of several."""

        def combined_cell(cell: Callable[[PoweredMean], str]) -> Callable[[_Line], str]:
            return lambda line: cell(line.powered_mean) if line.labels == "both" else ""

        error_phrase = (
            "an error as small" if self.unit == "query" else "as small an error from labelling"
        )
        return [
            Column("system", combined_cell(lambda powered_mean: powered_mean.system)),
            Column("labels", lambda line: line.labels),
            Column("diff" if is_difference else "mean", _Line.show_estimate),
            Column(
                f"{format_percent(1 - self.settings.alpha)} interval",
                lambda line: format_interval(line.low, line.high, signs=is_difference),
                "The model's labels alone have no interval that holds: they may be wrong "
                "throughout.",
            ),
            Column(
                "p", combined_cell(lambda powered_mean: format_p(powered_mean.p)), "", is_difference
            ),
            Column(
                "p Holm",
                combined_cell(lambda powered_mean: format_p(powered_mean.p_adjusted)),
                "p: of the t-test; p Holm: corrected for all comparisons.",
                is_difference and has_several,
            ),
            Column(
                "lam",
                combined_cell(lambda powered_mean: format_number(powered_mean.lam, 2)),
                "lam: how much the model's labels count, from 0 to 1.",
            ),
            Column(
                "n",
                lambda line: line.n,
                f"n: how many {self._unit_plural}; of both: how many human labels alone would "
                f"need for {error_phrase}.",
            ),
        ]

    def _all_means(self) -> list[PoweredMean]:
        return [
            powered_mean
            for means_of_measure in (self.means, self.differences)
            for mean_of_system in means_of_measure.values()
            for powered_mean in mean_of_system.values()
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each mean, then one for each difference."""
        return [asdict(powered_mean) for powered_mean in self._all_means()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with what is needed to repeat it."""
        return {
            "settings": vars(self.settings),
            "labelled": self.unit,
            "queries": self.n_queries,
            "estimates": self.rows(),
            "recipe": dict(self.recipe),
            "notes": [note.to_dict() for note in self.notes],
        }
