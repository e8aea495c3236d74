"""StabilityTables: tables of how systems are ordered under two assessors' judgments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.extensions.labels.assessors.stability import Stability, SystemPair
from cranfield.notes import Note
from cranfield.render.numbers import format_number, format_p, format_signed
from cranfield.render.table import Column, Table, make_table

_MAX_PAIRS = 10  # pairs of systems of each measure in a table


@dataclass(frozen=True)
class StabilityTables:
    """The tables of the orderings of systems under A and a second assessor."""

    orderings: Sequence[Stability]  # of each measure; none without runs
    second: str  # the name of the second assessor
    has_second: bool  # whether there are judgments of the second, and not rates alone
    recipe: Mapping[str, Any]  # of `Agreement`
    notes: Sequence[Note]  # on the runs

    def tables(self) -> list[Table]:
        """Return the means of the systems, their orderings, and the pairs that change most."""
        if not self.orderings:
            return []
        tables = [self._systems_table()]
        if self.orderings[0].pairs:
            tables.append(self._orderings_table())
            pairs_table = self._pairs_table()
            tables += [pairs_table] if pairs_table.rows else []
        return tables

    def _orderings_table(self) -> Table:
        """Return a table of how alike the orderings are, a row for each measure."""
        has_second = self.has_second
        ordering_phrase = "the same" if has_second else "Kendall's tau-b of the ordering under A"
        columns = [
            Column("measure", lambda stability: stability.measure),
            Column("systems", lambda stability: str(len(stability.systems))),
            Column("pairs", lambda stability: str(len(stability.pairs))),
            Column(
                "tau",
                lambda stability: format_number(stability.tau),
                f"tau: Kendall's tau-b of the ordering under A with that under {self.second}: 1 "
                "the same, -1 reversed. swapped: pairs of systems in the other order; sig.: of "
                "these, significant under both.",
                has_second,
            ),
            Column("swapped", lambda stability: str(stability.swapped), "", has_second),
            Column("sig.", lambda stability: str(stability.swapped_significant), "", has_second),
            Column(
                "mean tau",
                lambda stability: format_number(stability.mean_tau),
                f"mean tau, min tau: {ordering_phrase} with that under each of "
                f"{self._mixtures_phrase}.",
            ),
            Column("min tau", lambda stability: format_number(stability.min_tau)),
        ]
        return make_table(
            self.orderings,
            columns,
            title=[f"Whether the systems are ordered alike{self._title_suffix}"],
        )

    def _systems_table(self) -> Table:
        """Return each system's mean under A, the second and the mixtures, best under A first."""
        has_second = self.has_second
        rows = [
            (stability.measure, system_means)
            for stability in self.orderings
            for system_means in stability.list_system_means()
        ]
        mixture_sentence = "Generated qrels have all grades of A drawn again, by the rates"
        if self.recipe["confusion"] is None:
            mixture_sentence = "A mixture has, for each query, the judgments of A or those of "
            mixture_sentence += f"{self.second}, drawn by chance"
        sentences = (
            f"{f'A and {self.second}' if has_second else 'A'}: the mean over the queries. mixed, "
            "lowest, highest: the mean, the lowest and the highest of that under "
            f"{self._mixtures_phrase}.",
            f"{mixture_sentence} (seed {self.recipe['seed']}).",
        )
        columns = [
            Column("measure", lambda row: str(row[0])),
            Column("system", lambda row: str(row[1]["system"])),
            Column("A", lambda row: format_number(row[1]["mean_a"])),
            Column(self.second, lambda row: format_number(row[1]["mean_b"]), "", has_second),
            Column("mixed", lambda row: format_number(row[1]["mean_mixed"])),
            Column("lowest", lambda row: format_number(row[1]["low"])),
            Column("highest", lambda row: format_number(row[1]["high"])),
        ]
        rules = range(len(self.orderings[0].systems), len(rows), len(self.orderings[0].systems))
        title = [f"What each system scores{self._title_suffix}"]
        notes = self.notes
        return make_table(
            rows, columns, sentences=sentences, notes=notes, title=title, n_labels=2, rules=rules
        )

    def _pairs_table(self) -> Table:
        """Return the pairs of systems that differ under some mixture, the least stable first.

        At most `_MAX_PAIRS` of each measure; `Agreement.to_dict` has all.
        """
        rows: list[tuple[str, SystemPair]] = []
        rules, sentences = set(), []
        for stability in self.orderings:
            rules.add(len(rows))
            changing_pairs = [
                pair for pair in stability.pairs if min(pair.same_sign, pair.same_verdict) < 1
            ]
            changing_pairs.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            rows += [(stability.measure, pair) for pair in changing_pairs[:_MAX_PAIRS]]
            remainder = (
                f", {len(changing_pairs) - _MAX_PAIRS:,} more are not"
                if changing_pairs[_MAX_PAIRS:]
                else ""
            )
            sentences.append(
                f"{stability.measure}: {len(stability.pairs) - len(changing_pairs):,} of "
                f"{len(stability.pairs):,} pairs are the same under each{remainder}: not shown "
                "(--format csv or json has all)."
            )
        columns = self._pair_columns("\n".join(sentences))
        title = [f"The pairs of systems that change most{self._title_suffix}"]
        return make_table(rows, columns, title=title, n_labels=3, rules=rules - {0, len(rows)})

    def _pair_columns(self, omitted_sentences: str) -> list[Column]:
        """Return the columns of pairs; `omitted_sentences` say how many pairs are not shown."""
        has_second, alpha, second = self.has_second, self.recipe["alpha"], self.second

        def make_cell(show: Callable[[float | None], str], name: str) -> Callable[[Any], str]:
            return lambda row: show(getattr(row[1], name))

        return [
            Column("measure", lambda row: str(row[0]), omitted_sentences),
            Column("system", make_cell(str, "left")),
            Column("against", make_cell(str, "right")),
            Column(
                "diff A",
                make_cell(format_signed, "difference_a"),
                "diff: the difference of the means, system minus against. p: of a two-sided paired "
                "t test, not corrected for the number of pairs.",
            ),
            Column("p A", make_cell(format_p, "p_a")),
            Column(f"diff {second}", make_cell(format_signed, "difference_b"), "", has_second),
            Column(f"p {second}", make_cell(format_p, "p_b"), "", has_second),
            Column(
                f"A - {second}",
                make_cell(format_signed, "change"),
                f"A - {second}: diff A less diff {second}, and p of a paired t test of that: "
                f"whether A and {second} see two systems differently. Significant under one of "
                "them only does not show that they do.",
                has_second,
            ),
            Column(f"p A - {second}", make_cell(format_p, "p_change"), "", has_second),
            Column(
                "same sign",
                make_cell(format_number, "same_sign"),
                f"same sign: the share of {self._mixtures_phrase} where the difference has the "
                f"sign that it has under A. same verdict: where it is significant (p <= {alpha}) "
                "if it is so under A, and not if not, with the same sign.",
            ),
            Column("same verdict", make_cell(format_number, "same_verdict")),
        ]

    @property
    def _title_suffix(self) -> str:
        """What follows a title where there are more than two assessors."""
        return f", under A and {self.second}" if self.recipe.get("assessors", 2) > 2 else ""

    @property
    def _mixtures_phrase(self) -> str:
        noun = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {noun}"
