"""Units: what tests and intervals take as independent of one another."""

from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.flips import Paired
from cranfield.notes import Note


class Units:
    """Each query is a unit of its own. An extension may make a unit of several queries."""

    word, words, of_queries = "query", "queries", "queries"
    error = "Student's t"  # how intervals of means are made
    n_groups: int | None = None  # None: each query is one
    labels: Sequence[str | None] | None = None

    def among(self, rows: Bools) -> "Units":
        """Return the units of some of the queries: (n_queries,)."""
        return self

    def pair_up(self, paired: Paired) -> Paired:
        """Return pairs of systems on queries as pairs on units."""
        return paired

    def add_up(self, values: Floats) -> Floats:
        """Return the sums of each unit's values: (n_queries, n) -> (n_units, n)."""
        return values

    def check(self, settings: Any) -> None:
        """Raise OptionError for a test or a correction that these units do not allow."""

    def columns(self, of_units: Any, moments: Any, changed: Ints) -> dict[str, Any]:
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
