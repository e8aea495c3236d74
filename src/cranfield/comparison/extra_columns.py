"""ExtraColumns: a block of values that an extension adds to the systems and pairs of a comparison.

Options add it to aligned scores (`AlignedScores.extra_columns`), or extensions' table names it;
`compare` asks it for its columns, and shows its tables and notes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.arrays.ranked import Ints
from cranfield.notes import Note
from cranfield.render.table import Table

if TYPE_CHECKING:
    from cranfield.comparison.aligned_scores import AlignedScores
    from cranfield.comparison.cells import Cell
    from cranfield.comparison.result import Result
    from cranfield.comparison.settings import Settings

ValueColumns = dict[str, Any]  # by name: an array or a list of n values, or one value for all rows


class ExtraColumns:
    """Columns that an extension adds to a comparison: here none."""

    def prepare(
        self,
        aligned_scores: "AlignedScores",
        settings: "Settings",
        left_column: Ints,
        right_column: Ints,
    ) -> "ExtraColumns":
        """Return the block for the pairs of systems to compare: their columns, (n_pairs,) each.

        Raises OptionError where options do not go together.
        """
        return self

    def pair_columns(self, cells: Sequence["Cell"], settings: "Settings") -> list[ValueColumns]:
        """Return the columns of the pairs, (n_pairs,) each, for each measure's cell."""
        return [{} for _ in cells]

    def system_columns(self, cell: "Cell") -> ValueColumns:
        """Return the columns of the systems: (n_systems,) each."""
        return {}

    def tables(self, result: "Result", settings: "Settings") -> list[Table]:
        """Return the tables that follow the table of a measure."""
        return []

    def notes(self) -> Iterator[Note]:
        """Yield what a reader should know of the columns."""
        return iter(())

    def to_dict(self, aligned_scores: "AlignedScores") -> Mapping[str, Any]:
        """Return plain values that the JSON of the comparison has, too."""
        return {}


def join_columns(blocks: Iterable[Mapping[str, Any]]) -> ValueColumns:
    """Return the columns of several blocks together; no two blocks may have the same column.

    >>> join_columns([{"runs": 3}, {"unjudged_low": -0.1}])
    {'runs': 3, 'unjudged_low': -0.1}
    """
    joined_columns: ValueColumns = {}
    for block in blocks:
        if shared := joined_columns.keys() & block.keys():
            raise ValueError(f"two extensions add {', '.join(sorted(shared))}")
        joined_columns.update(block)
    return joined_columns
