"""Trust: the result of `trust`, with its tables, rows and plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from cranfield.extensions.labels.assessors.beyond_chance import Coefficient
from cranfield.extensions.labels.human.powered_result import PoweredMean, PredictionPowered
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.extensions.labels.trust.grade_pairs import GradePairs
from cranfield.extensions.orderings.coefficients import kendall
from cranfield.options import MIN_SHARE, level_check, number_check, option
from cranfield.render.numbers import (
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_query_count,
    format_shortest,
    format_signed,
)
from cranfield.render.table import Column, Table, make_table

_N_DOCUMENTS = 5  # of those on which people and the model are farthest apart


@dataclass(frozen=True, kw_only=True)
class TrustSettings(PoweredSettings):
    """The options of `trust`."""

    rel: float = option(
        1,
        "The lowest grade that is relevant, for how far people and the model agree (a measure "
        "states its own).",
        level_check(),
    )
    width: float | None = option(
        None,
        "Half the width that the interval of a difference is to have: tells about how many labels "
        "that takes.",
        number_check(MIN_SHARE),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Trust(PredictionPowered):
    """How far a model's labels go, by those of people: see `trust`.

    Beside what a PredictionPowered has: `pairs["P@10"]` are the differences of each two systems,
    the better by the model first, each with its `order`; `agreement["kappa"]` is a coefficient of
    agreement, of the documents in `grades`. How far the model favours a system is the `off` of its
    difference from the baseline.

    >>> from cranfield import trust
    >>> model = {f"q{i}": {"a": 1, "b": i % 2} for i in range(8)}
    >>> found = trust(model, human={query: {"a": 1, "b": 0} for query in model})
    >>> found.agreement["specificity"].value, found.pairs
    (0.5, {})
    """

    settings: TrustSettings
    pairs: Mapping[str, Sequence[PoweredMean]]
    agreement: Mapping[str, Coefficient]
    grades: GradePairs
    n_pooled: float  # documents that those with a label stand for; 0 without runs

    @property
    def tau(self) -> dict[str, float | None]:
        """{measure: Kendall's tau of the systems' order by the model and the corrected order}."""
        return {
            measure: kendall(
                [mean.model for mean in means.values()], [mean.mean for mean in means.values()]
            ).tau_b
            for measure, means in self.means.items()
        }

    def tables(self) -> list[Table]:
        """Return tables of each measure's systems and pairs, of agreement, grades and documents."""
        tables: list[Table] = []
        for measure, means in self.means.items():
            n_labelled = next(iter(means.values())).labelled
            words = "queries" if self.unit == "query" else "pooled documents"
            title = f"{measure}   {format_query_count(self.n_queries)}, {n_labelled:,} of about "
            title += f"{self.n_pooled:,.0f} {words} labelled by people"
            orders = [note for note in self.notes if note.code == "orders"]
            sentences = [str(replace(n, source=None)) for n in orders if n.source == measure]
            notes = [] if tables else [note for note in self.notes if note not in orders]
            columns = self._mean_columns(self.differences.get(measure, {}))
            tables.append(
                make_table(means.values(), columns, notes=notes, title=[title, *sentences])
            )
            if pairs := self.pairs[measure]:
                sentence = f"Kendall's tau of both orders: {format_number(self.tau[measure])}"
                title = f"{measure}   each two systems, the better by the model first"
                columns = self._pair_columns()
                tables.append(make_table(pairs, columns, sentences=[sentence], title=[title]))
        return [*tables, self._agreement_table(), self._grades_table(), self._documents_table()]

    def _interval_column(self, ends: str = "", *, signs: bool = False) -> Column:
        """Return the column of the interval between the fields `{ends}low` and `{ends}high`."""
        find_ends = attrgetter(f"{ends}low", f"{ends}high")
        heading = f"{format_percent(1 - self.settings.alpha)} interval"
        return Column(heading, lambda mean: format_interval(*find_ends(mean), signs=signs))

    def _mean_columns(self, differences: Mapping[str, PoweredMean]) -> list[Column]:
        def show_favour(mean: PoweredMean) -> str:
            difference = differences.get(mean.system)
            if difference is None:
                return "-"
            low, high = difference.off_low, difference.off_high
            is_sure = low is not None and high is not None and not low <= 0 <= high
            return f"{format_signed(difference.off)}{' !'[is_sure]}"

        people_legend = (
            "people: the mean, corrected by people's labels. off: the model's - people's."
        )
        favour_legend = "favoured: off, minus the baseline's; ! its interval leaves 0 out."
        return [
            Column("system", attrgetter("system")),
            Column("model", lambda mean: format_number(mean.model)),
            Column("people", lambda mean: format_number(mean.mean), people_legend),
            self._interval_column(),
            Column("off", lambda mean: format_signed(mean.off)),
            self._interval_column("off_"),
            Column("favoured", show_favour, favour_legend, bool(differences)),
        ]

    def _pair_columns(self) -> list[Column]:
        width, alpha = self.settings.width, self.settings.alpha
        order_legend = f"order: same, or reversed, where p Holm is at most {alpha:g}."
        labels_legend = f"labels: about how many make the interval +-{width} wide; -: with every "
        labels_legend += "document labelled it stays wider: more queries."
        return [
            Column("pair", lambda pair: f"{pair.system} - {pair.other}"),
            Column("model", lambda pair: format_signed(pair.model)),
            Column("people", lambda pair: format_signed(pair.mean)),
            self._interval_column(signs=True),
            Column("p Holm", lambda pair: format_p(pair.p_adjusted)),
            Column("order", attrgetter("order"), order_legend),
            Column(
                "labels",
                lambda pair: format_number(pair.labels_needed, 0),
                labels_legend,
                bool(width),
            ),
        ]

    def _agreement_table(self) -> Table:
        columns = [
            Column("", attrgetter("name")),
            Column("", lambda coefficient: format_number(coefficient.value)),
            self._interval_column(),
            Column("documents", lambda coefficient: f"{coefficient.documents:,}"),
        ]
        sentence = (
            "sensitivity, specificity: of what people call relevant (a grade of "
            f"{self.settings.rel:g} or more; --rel), or not, the share that the model calls so. "
            "w. kappa: of grades, by squares. off: the model's grade - people's."
        )
        title = ["How far the model agrees with people, each document / its probability"]
        return make_table(self.agreement.values(), columns, sentences=[sentence], title=title)

    def count_grades(self) -> dict[tuple[float, float], tuple[int, float]]:
        """Return {(people's grade, the model's): (documents, their weighted share)}."""
        pairs, counts = self.grades, {}
        for human in np.unique(pairs.human).tolist():
            for model in np.unique(pairs.model).tolist():
                is_cell = (pairs.human == human) & (pairs.model == model)
                share = (pairs.weight[is_cell].sum() / pairs.weight.sum()).item()
                counts[human, model] = int(is_cell.sum()), share
        return counts

    def _grades_table(self) -> Table:
        """Return how many documents, and which share, have each grade by people and the model."""
        counts = self.count_grades()
        humans, models = (sorted(set(grades)) for grades in zip(*counts, strict=True))
        rows = [
            [
                f"people: {human:g}",
                *(f"{n:,} {x:6.1%}" if n else "" for n, x in (counts[human, m] for m in models)),
            ]
            for human in humans
        ]
        header = ["", *(f"model: {model:g}" for model in models)]
        return Table(header, rows, title=["Documents by their grades, and their weighted shares"])

    def _documents_table(self) -> Table:
        """Return the documents on which people and the model are farthest apart."""
        pairs = self.grades
        order = np.argsort(-np.abs(pairs.model - pairs.human), kind="stable")[:_N_DOCUMENTS]
        rows = [
            [*pairs.documents[i], format_shortest(pairs.human[i]), format_shortest(pairs.model[i])]
            for i in order
        ]
        title = ["Where people and the model are farthest apart"]
        return Table(["query_id", "doc_id", "people", "model"], rows, n_labels=2, title=title)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each mean and pair, and for each coefficient, which is a "measure"."""
        means = [mean for by_system in self.means.values() for mean in by_system.values()]
        pairs = [pair for measure_pairs in self.pairs.values() for pair in measure_pairs]
        rows = [asdict(mean) for mean in (*means, *pairs)]
        names = "measure", "mean", "low", "high", "labelled"
        find_cells = attrgetter("name", "value", "low", "high", "documents")
        for coefficient in self.agreement.values():
            cells = zip(names, find_cells(coefficient), strict=True)
            rows.append({**dict.fromkeys(self.header), **dict(cells)})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with what is needed to repeat it."""
        return {
            **super().to_dict(),
            "tau": self.tau,
            "grades": [
                {"people": human, "model": model, "documents": n, "share": share}
                for (human, model), (n, share) in self.count_grades().items()
            ],
        }
