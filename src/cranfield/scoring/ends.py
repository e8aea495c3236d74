"""Ends: an interval around each value of a run, which an extension finds beside the value.

`evaluate` asks an EndsOptions for them; Scores shows them and exports them as columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cranfield.arrays.ranked import Bools, Floats
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.options import Options


class Ends:
    """The ends of an interval around each value of a run, as columns beside it: here no columns."""

    suffixes: Sequence[str] = ()  # of the columns' names, as "low" of "AP low"
    recipe: Mapping[str, Any] = {}  # what the recipe of the scores says of them

    def select_queries(self, is_selected: Bools) -> "Ends":
        """Return the ends of the selected queries; `is_selected` is a mask, (n_queries,)."""
        return self

    def columns(self, measure_index: int) -> Mapping[str, Floats]:
        """Return the columns of one measure, (n_queries,) each, by their suffixes."""
        return {}

    def format_cell(self, text: str, *end_texts: str) -> str:
        """Return the cell of a table for a value, given the texts of the value and of its ends."""
        return text

    def notes(self, measures: Sequence[Measure]) -> list[Note]:
        """Return notes on what a reader should know of the ends."""
        return []

    def to_dict(self, measures: Sequence[Measure]) -> dict[str, Any]:
        """Return the ends of the means as plain values, as for JSON."""
        return {}


NO_ENDS = Ends()


class EndsOptions(Options):
    """Options that ask for the ends of values."""

    def check(self, measures: Iterable[Measure], judging: Judging) -> None:
        """Raise OptionError or MeasureError for measures whose values have no ends."""

    def find_ends(self, measures: Sequence[Measure], judged: Judged) -> Ends:
        """Return the ends of each query's values."""
        return NO_ENDS
