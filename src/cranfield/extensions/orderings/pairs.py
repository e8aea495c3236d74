"""Correlation: the result of `correlate`, pair by pair of orderings, with tables and rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cranfield.extensions.orderings.coefficients import Kendall
from cranfield.extensions.orderings.discrimination import Discrimination
from cranfield.extensions.orderings.options import CorrelationSettings
from cranfield.extensions.orderings.ordering import Ordering, describe_flips
from cranfield.extensions.orderings.rbo import RBO
from cranfield.notes import Note
from cranfield.render.numbers import (
    format_count,
    format_interval,
    format_names,
    format_number,
    format_percent,
    format_query_count,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.render.typed_names import write_as_typed
from cranfield.version import __version__

_MAX_NAMED_PAIRS = 5  # pairs of systems that a sentence names

Cell = str | float | int | None


@dataclass(frozen=True)
class SwappedPair:
    """Two systems that two orderings order differently, and the p-value that each ordering has.

    In the reference, `better` is above `worse`. An ordering by one query has no p-value.
    """

    better: str
    worse: str
    p_reference: float | None
    p_other: float | None

    def is_sure(self, alpha: float) -> bool:
        """Tell whether both orderings, which say the opposite, have a p-value of at most alpha."""
        p_values = self.p_reference, self.p_other
        return all(p is not None and p <= alpha for p in p_values)


@dataclass(frozen=True)
class OrderingPair:
    """How alike two orderings are, of which the first is the reference.

    `tau_ap` is None where there are ties, `tau_ap_a` where the reference has some. `interval` is
    that of tau-b, over `resamples` of the queries: those in which it has a value. It is None
    without any of these, and where the orderings are not of the same queries, or of one only.

    >>> from cranfield import correlate
    >>> runs = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run"]
    >>> [pair] = correlate("demo/qrels.txt", runs, "nDCG@10 Success@10").pairs
    >>> [(one.better, one.worse) for one in pair.swapped], pair.swapped_sure
    ([('bm25', 'tfidf')], 0)
    """

    reference: str
    other: str
    kendall: Kendall
    tau_ap: float | None
    tau_ap_a: float | None
    tau_ap_b: float | None
    weighted_tau: float | None
    spearman: float | None
    rbo: RBO
    same_queries: bool
    interval: tuple[float, float] | None
    resamples: int
    swapped: tuple[SwappedPair, ...]
    swapped_sure: int | None  # pairs of `swapped` where both are sure; None if either has one query

    @property
    def label(self) -> str:
        """Both orderings' labels."""
        return f"{self.reference} ~ {self.other}"

    def values(self) -> dict[str, Cell]:
        """Return {name: number} of each quantity."""
        low, high = self.interval or (None, None)
        counts = self.kendall
        return {
            "tau_b": counts.tau_b,
            "tau_b_low": low,
            "tau_b_high": high,
            "tau_a": counts.tau_a,
            "concordant": counts.concordant,
            "discordant": counts.discordant,
            "discordant_sure": self.swapped_sure,
            "tied_in_reference": counts.ties_x,
            "tied_in_other": counts.ties_y,
            "tied_in_both": counts.ties_both,
            "tau_ap": self.tau_ap,
            "tau_ap_a": self.tau_ap_a,
            "tau_ap_b": self.tau_ap_b,
            "weighted_tau": self.weighted_tau,
            "spearman": self.spearman,
            "rbo": self.rbo.ext,
            "rbo_min": self.rbo.min,
            "rbo_max": self.rbo.max,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "reference": self.reference,
            "other": self.other,
            **self.values(),
            "same_queries": self.same_queries,
            "resamples_with_a_value": self.resamples,
            "swapped": [asdict(swapped_pair) for swapped_pair in self.swapped],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(Shown):
    """How alike several orderings of the same systems are, pair by pair.

    >>> from cranfield import correlate
    >>> runs = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run", "demo/fusion.run"]
    >>> found = correlate("demo/qrels.txt", runs, "nDCG@10 AP")
    >>> found.pairs[0].kendall.concordant
    6
    """

    header = ("reference", "ordering", "quantity", "value")

    systems: tuple[str, ...]
    orderings: tuple[Ordering, ...]
    pairs: tuple[OrderingPair, ...]
    notes: tuple[Note, ...]  # what to know of the data, and of the intervals
    settings: CorrelationSettings
    discrimination: Discrimination | None = None

    @property
    def _measure_names(self) -> list[str]:
        return [ordering.measure for ordering in self.orderings]

    def tables(self) -> list[Table]:
        """Return tau-b of each pair, the other coefficients, and the discrimination if computed."""
        tables = [
            self._pairs_table(
                self._tau_columns(), self._title_lines(), self._pair_sentences(), self.notes
            ),
            self._pairs_table(self._coefficient_columns(), ["Other coefficients"]),
        ]
        if self.discrimination is not None:
            tables.append(self.discrimination.make_table(self.orderings, self.settings))
        return tables

    def _pairs_table(
        self,
        columns: Sequence[Column],
        title: Sequence[str],
        sentences: Iterable[str] = (),
        notes: Sequence[Note] = (),
    ) -> Table:
        """Return a table with a row for each pair of orderings."""
        names = self._measure_names
        label_column = Column("reference ~ other", lambda pair: write_as_typed(pair.label, names))
        columns = [label_column, *columns]
        if any(column.cell(pair) == "-" for column in columns for pair in self.pairs):
            no_value = "-: has no value, for want of systems, of queries, or of differences."
            sentences = [no_value, *sentences]
        return make_table(self.pairs, columns, sentences=sentences, notes=notes, title=title)

    def _tau_columns(self) -> list[Column]:
        """Return the columns of tau-b and of the pairs of systems behind it."""
        settings = self.settings
        interval_heading = f"{format_percent(1 - settings.alpha)} interval"

        def ties(pair: OrderingPair) -> int:
            return pair.kendall.ties_x + pair.kendall.ties_y + pair.kendall.ties_both

        return [
            Column(
                "tau-b",
                lambda pair: format_number(pair.kendall.tau_b),
                "tau-b: Kendall's tau, with ties allowed for: 1 is the same order, -1 the reverse, "
                "0 no relation.",
            ),
            Column(
                interval_heading,
                lambda pair: format_interval(*pair.interval or (None, None), signs=False),
                f"{interval_heading}: of tau-b, over {settings.resamples:,} resamples of the "
                "queries, the same for both (percentiles).",
            ),
            Column(
                "same",
                lambda pair: f"{pair.kendall.concordant:,}",
                "same, swapped: pairs of systems that the two order alike, and the other way "
                "round; tied: that either ties.",
            ),
            Column("swapped", lambda pair: f"{pair.kendall.discordant:,}"),
            Column("tied", lambda pair: f"{ties(pair):,}"),
            Column(
                "swapped, both sure",
                lambda pair: "-" if pair.swapped_sure is None else f"{pair.swapped_sure:,}",
                f"swapped, both sure: swapped though p <= {settings.alpha:g} under each: here it "
                "matters which of the two one believes.",
            ),
        ]

    def _coefficient_columns(self) -> list[Column]:
        return [
            Column(
                "tau-a",
                lambda pair: format_number(pair.kendall.tau_a),
                "tau-a: (same - swapped) / all pairs of systems.",
            ),
            Column(
                "tau-AP",
                lambda pair: format_number(pair.tau_ap_a),
                "tau-AP: the top counts most; the reference is the truth, and may have no ties; "
                "those of the other count in all their orders.",
            ),
            Column(
                "tau-AP,b",
                lambda pair: format_number(pair.tau_ap_b),
                "tau-AP,b: the mean of tau-AP with either of the two as the truth; ties count as "
                "such.",
            ),
            Column(
                "weighted",
                lambda pair: format_number(pair.weighted_tau),
                "weighted: tau where a pair counts 1/rank + 1/rank of its systems.",
            ),
            Column(
                "Spearman",
                lambda pair: format_number(pair.spearman),
                "Spearman: the correlation of the ranks.",
                same_line=True,
            ),
            Column(
                "RBO",
                lambda pair: format_number(pair.rbo.ext),
                f"RBO: rank-biased overlap, p = {self.settings.rbo_p:g}; at least, most: if more "
                "systems followed.",
            ),
            Column(
                "RBO at least, most",
                lambda pair: format_interval(pair.rbo.min, pair.rbo.max, signs=False),
            ),
        ]

    def _title_lines(self) -> list[str]:
        counts = sorted({len(ordering.query_ids) for ordering in self.orderings})
        range_start = f"{counts[0]:,} to " if counts[0] < counts[-1] else ""
        measures = sorted({ordering.measure for ordering in self.orderings})
        facts = [
            format_count(len(self.systems), "system"),
            f"{range_start}{format_query_count(counts[-1])}",
            *(measures if len(measures) == 1 else []),
        ]
        return [
            "   ".join(facts),
            f"two-sided sign-flip test, {describe_flips(self.orderings, self.settings.flips)}, "
            f"alpha {self.settings.alpha:g}, uncorrected; seed {self.settings.seed}",
        ]

    def _pair_sentences(self) -> Iterator[str]:
        """Yield sentences on pairs of orderings: what intervals lack, and the swapped systems."""
        for pair in self.pairs:
            if not pair.same_queries:
                yield f"{pair.label}: no interval, as the two are not of the same queries."
            elif pair.interval is not None and pair.resamples < self.settings.resamples:
                yield f"{pair.label}: tau-b had a value in {pair.resamples:,} resamples only."
            swaps: dict[bool, list[str]] = {True: [], False: []}
            for swapped_pair in pair.swapped:
                swaps[swapped_pair.is_sure(self.settings.alpha)].append(
                    f"{swapped_pair.better} above {swapped_pair.worse}"
                )
            sure_sentence, unsure_sentence = (
                f"{pair.label}: {pair.reference} has "
                f"{format_names(swaps[is_sure], _MAX_NAMED_PAIRS)}, {pair.other} below"
                for is_sure in (True, False)
            )
            if swaps[True]:
                yield f"{sure_sentence}, and both are sure."
            if 0 < len(swaps[False]) <= _MAX_NAMED_PAIRS:
                yield f"{unsure_sentence}; not both are sure."

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each number, to every digit: its orderings, its name, its value.

        Of discriminative power and swap rate, which are an ordering's own, `reference` is "".
        """
        rows: list[tuple[str, str, str, Cell]] = []
        for pair in self.pairs:
            numbers = pair.values().items()
            rows += [(pair.reference, pair.other, name, number) for name, number in numbers]
        if self.discrimination is not None:
            for label in self.discrimination.powers:
                shares = self.discrimination.values(label)
                rows += [("", label, name, share) for name, share in shares]
        return self._rows_as_dicts(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the scores, the coefficients, and everything to repeat them."""
        settings, discrimination = self.settings, self.discrimination
        fields: dict[str, Any] = {
            "cranfield": __version__,
            "settings": {
                "alpha": settings.alpha,
                "test": "sign flips, two-sided, uncorrected",
                "flips": settings.flips,
                "resamples": settings.resamples,
                "seed": settings.seed,
                "rbo_p": settings.rbo_p,
            },
            "systems": list(self.systems),
            "orderings": [
                {
                    "label": ordering.label,
                    "measure": ordering.measure,
                    "higher_is_better": ordering.higher_is_better,
                    "scores": dict(zip(self.systems, ordering.scores.tolist(), strict=True)),
                    "query_ids": list(ordering.query_ids),
                    "recipe": dict(ordering.recipe),
                }
                for ordering in self.orderings
            ],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "notes": [note.to_dict() for note in self.notes],
        }
        if discrimination is not None:
            fields["discrimination"] = {
                "splits": settings.splits,
                "power": {label: power.to_dict() for label, power in discrimination.powers.items()},
                "swap_rate": {
                    label: swap_rate.to_dict() for label, swap_rate in discrimination.swaps.items()
                },
            }
        return fields
