"""Part: what an extension adds to a comparison of systems."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.arrays.ranked import Ints
from cranfield.notes import Note
from cranfield.render.table import Table

if TYPE_CHECKING:
    from cranfield.comparison.alignment import Aligned
    from cranfield.comparison.cells import Cell
    from cranfield.comparison.result import Result
    from cranfield.comparison.settings import Settings

Columns = dict[str, Any]  # by name: (n,) each, a list, or one value for all


class Part:
    """What an extension adds: here nothing."""

    def start(self, aligned: "Aligned", settings: "Settings", left: Ints, right: Ints) -> "Part":
        """Return it for the pairs of systems that are compared: (n_pairs,) twice."""
        return self

    def of_pairs(self, cells: Sequence["Cell"], settings: "Settings") -> list[Columns]:
        """Return what it adds to the pairs of each measure, on some queries."""
        return [{} for _ in cells]

    def of_systems(self, cell: "Cell") -> Columns:
        """Return what it adds to the systems."""
        return {}

    def tables(self, result: "Result", settings: "Settings") -> list[Table]:
        """Return tables that follow that of a measure."""
        return []

    def notes(self) -> Iterator[Note]:
        """Yield what to know of it."""
        return iter(())

    def to_dict(self, aligned: "Aligned") -> Mapping[str, Any]:
        """Return what JSON has of it."""
        return {}
