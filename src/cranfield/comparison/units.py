"""Units: what tests and intervals take as independent of one another."""

from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.flips import PairedScores
from cranfield.notes import Note


class Units:
    """Each query is a unit of its own. An extension may make a unit of several queries."""

    unit_word, unit_words, full_words = "query", "queries", "queries"
    error_method = "Student's t"  # how intervals of means are made
    n_groups: int | None = None  # None: each query is one
    labels: Sequence[str | None] | None = None

    def select_queries(self, is_included: Bools) -> "Units":
        """Return the units of some of the queries: (n_queries,)."""
        return self

    def pair_units(self, paired_scores: PairedScores) -> PairedScores:
        """Return pairs of systems on queries as pairs on units."""
        return paired_scores

    def sum_queries(self, query_values: Floats) -> Floats:
        """Return the sums of each unit's values: (n_queries, n) -> (n_units, n)."""
        return query_values

    def check(self, settings: Any) -> None:
        """Raise OptionError for a test or a correction that these units do not allow."""

    def columns(self, unit_moments: Any, moments: Any, n_changed: Ints) -> dict[str, Any]:
        """Return more values of pairs, by name; `changed` (n_pairs,) counts units that differ."""
        return {}


EACH_QUERY = Units()


def find_units(
    families: Iterable[ComparingOptions], query_ids: Sequence[str]
) -> tuple[Units, list[Note]]:
    """Return the units of some queries, as options of extensions say, and notes on them."""
    units = EACH_QUERY
    notes: list[Note] = []
    for family in families:
        units, notes_on_units = family.find_units(query_ids, units)
        notes += notes_on_units
    return units, notes
