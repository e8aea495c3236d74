"""Tables of what two assessors' judgments do to the ordering of systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.extensions.labels.assessors.stability import Stability, SystemPair
from cranfield.notes import Note
from cranfield.render.numbers import format_number, format_p, format_signed
from cranfield.render.table import Column, Table, make_table

_MAX_PAIRS = 10


@dataclass(frozen=True)
class StabilityTables:
    """How an agreement of A with a second assessor shows the orderings of systems."""

    orderings: Sequence[Stability]  # of each measure; none without runs
    second: str  # the name of the second assessor
    has_second: bool  # whether there are judgments of the second, and not rates alone
    recipe: Mapping[str, Any]
    notes: Sequence[Note]

    def tables(self) -> list[Table]:
        """Return the means of the systems, their orderings, and the pairs that change most."""
        if not self.orderings:
            return []
        found = [self._systems_table()]
        if self.orderings[0].pairs:
            found.append(self._orderings_table())
            changing = self._pairs_table()
            found += [changing] if changing.rows else []
        return found

    def _orderings_table(self) -> Table:
        """Return what it does to the ordering of the systems, a row for each measure."""
        both = self.has_second
        what = "the same" if both else "Kendall's tau-b of the ordering under A"
        columns = [
            Column("measure", lambda one: one.measure),
            Column("systems", lambda one: str(len(one.systems))),
            Column("pairs", lambda one: str(len(one.pairs))),
            Column(
                "tau",
                lambda one: format_number(one.tau),
                f"tau: Kendall's tau-b of the ordering under A with that under {self.second}: 1 "
                "the same, -1 reversed. swapped: pairs of systems in the other order; sig.: of "
                "these, significant under both.",
                both,
            ),
            Column("swapped", lambda one: str(one.swapped), "", both),
            Column("sig.", lambda one: str(one.swapped_significant), "", both),
            Column(
                "mean tau",
                lambda one: format_number(one.mean_tau),
                f"mean tau, min tau: {what} with that under each of {self._mixtures_phrase}.",
            ),
            Column("min tau", lambda one: format_number(one.min_tau)),
        ]
        return make_table(
            self.orderings, columns, title=[f"Whether the systems are ordered alike{self._title_suffix}"]
        )

    def _systems_table(self) -> Table:
        """Return each system's mean under A, under B and under the mixtures, best under A first."""
        both = self.has_second
        rows = [(each.measure, one) for each in self.orderings for one in each.list_system_means()]
        how = "Generated qrels have all grades of A drawn again, by the rates"
        if self.recipe["confusion"] is None:
            how = "A mixture has, for each query, the judgments of A or those of "
            how += f"{self.second}, drawn by chance"
        said = (
            f"{f'A and {self.second}' if both else 'A'}: the mean over the queries. mixed, lowest, "
            f"highest: the mean, the lowest and the highest of that under {self._mixtures_phrase}.",
            f"{how} (seed {self.recipe['seed']}).",
        )
        columns = [
            Column("measure", lambda row: str(row[0])),
            Column("system", lambda row: str(row[1]["system"])),
            Column("A", lambda row: format_number(row[1]["mean_a"])),
            Column(self.second, lambda row: format_number(row[1]["mean_b"]), "", both),
            Column("mixed", lambda row: format_number(row[1]["mean_mixed"])),
            Column("lowest", lambda row: format_number(row[1]["low"])),
            Column("highest", lambda row: format_number(row[1]["high"])),
        ]
        rules = range(len(self.orderings[0].systems), len(rows), len(self.orderings[0].systems))
        title = [f"What each system scores{self._title_suffix}"]
        notes = self.notes
        return make_table(rows, columns, sentences=said, notes=notes, title=title, n_labels=2, rules=rules)

    def _pairs_table(self) -> Table:
        """Return the pairs of systems that are not the same under every mixture, most shaky first.

        At most 10 of each measure; `to_dict` has all.
        """
        rows: list[tuple[str, SystemPair]] = []
        rules, said = set(), []
        for one in self.orderings:
            rules.add(len(rows))
            moved = [pair for pair in one.pairs if min(pair.same_sign, pair.same_verdict) < 1]
            moved.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            rows += [(one.measure, pair) for pair in moved[:_MAX_PAIRS]]
            more = f", {len(moved) - _MAX_PAIRS:,} more are not" if moved[_MAX_PAIRS:] else ""
            said.append(
                f"{one.measure}: {len(one.pairs) - len(moved):,} of {len(one.pairs):,} pairs are "
                f"the same under each{more}: not shown (--format csv or json has all)."
            )
        columns = self._pair_columns("\n".join(said))
        title = [f"The pairs of systems that change most{self._title_suffix}"]
        return make_table(rows, columns, title=title, n_labels=3, rules=rules - {0, len(rows)})

    def _pair_columns(self, omitted_sentences: str) -> list[Column]:
        """Return the columns of two systems; `same` says which of them are not shown."""
        both, alpha, second = self.has_second, self.recipe["alpha"], self.second

        def of(show: Callable[[float | None], str], name: str) -> Callable[[Any], str]:
            return lambda row: show(getattr(row[1], name))

        return [
            Column("measure", lambda row: str(row[0]), omitted_sentences),
            Column("system", of(str, "left")),
            Column("against", of(str, "right")),
            Column(
                "diff A",
                of(format_signed, "difference_a"),
                "diff: the difference of the means, system minus against. p: of a two-sided paired "
                "t test, not corrected for the number of pairs.",
            ),
            Column("p A", of(format_p, "p_a")),
            Column(f"diff {second}", of(format_signed, "difference_b"), "", both),
            Column(f"p {second}", of(format_p, "p_b"), "", both),
            Column(
                f"A - {second}",
                of(format_signed, "change"),
                f"A - {second}: diff A less diff {second}, and p of a paired t test of that: "
                f"whether A and {second} see two systems differently. Significant under one of "
                "them only does not show that they do.",
                both,
            ),
            Column(f"p A - {second}", of(format_p, "p_change"), "", both),
            Column(
                "same sign",
                of(format_number, "same_sign"),
                f"same sign: the share of {self._mixtures_phrase} where the difference has the sign that "
                "it has under A. same verdict: where it is significant (p <= "
                f"{alpha}) if it is so under A, and not if not, with the same sign.",
            ),
            Column("same verdict", of(format_number, "same_verdict")),
        ]

    @property
    def _title_suffix(self) -> str:
        """What follows a title where there are more than two assessors."""
        return f", under A and {self.second}" if self.recipe.get("assessors", 2) > 2 else ""

    @property
    def _mixtures_phrase(self) -> str:
        what = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {what}"
