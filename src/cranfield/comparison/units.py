"""Units: the queries, or clusters of queries, that tests and intervals take as independent."""

from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.flips import PairedScores
from cranfield.notes import Note


class Units:
    """Units of a test: each query is a unit; an extension may join several queries to one unit."""

    # A unit in words: one, several, and several with what they consist of.
    unit_word, unit_words, full_words = "query", "queries", "queries"
    error_method = "Student's t"  # how the error of a mean is estimated
    n_groups: int | None = None  # the number of clusters; None: each query is a unit
    labels: Sequence[str | None] | None = None  # of the queries' clusters; None: no clusters

    def select_queries(self, is_included: Bools) -> "Units":
        """Return the units of the queries that the mask `is_included` (n_queries,) selects."""
        return self

    def pair_units(self, paired_scores: PairedScores) -> PairedScores:
        """Return the scores of pairs of systems, given on queries, on units."""
        return paired_scores

    def sum_queries(self, query_values: Floats) -> Floats:
        """Return the sum over each unit of its queries' values: (n_queries, n) -> (n_units, n)."""
        return query_values

    def check(self, settings: Any) -> None:
        """Raise OptionError for a test or a correction that these units do not allow."""

    def columns(self, unit_moments: Any, moments: Any, n_changed: Ints) -> dict[str, Any]:
        """Return {name: column} of values that units add to pairs of systems, (n_pairs,) each.

        The moments are those of the units' and of the queries' differences; on `n_changed` units
        (n_pairs,) the two systems differ.
        """
        return {}


EACH_QUERY = Units()


def find_units(
    families: Iterable[ComparingOptions], query_ids: Sequence[str]
) -> tuple[Units, list[Note]]:
    """Return the units of the queries that options of extensions ask for, and notes on them."""
    units = EACH_QUERY
    notes: list[Note] = []
    for family in families:
        units, notes_on_units = family.find_units(query_ids, units)
        notes += notes_on_units
    return units, notes
