"""Block: a piece of a run or of judgments, in columns, that knows where its rows stand."""

from collections.abc import Callable
from dataclasses import dataclass

from cranfield.errors import InputError
from cranfield.ids import Ids
from cranfield.ranked import Floats, Ints

LARGEST_GRADE = 2**31 - 1  # so that nothing reckoned from grades can overflow


def _nowhere(row: int) -> tuple[int | None, str | None]:
    return None, None


@dataclass(frozen=True, eq=False)
class Block:
    """Adjacent rows. Where a source keeps a query's rows together, no block begins within them.

    No identifier is empty. `value` (rows,) is the score or the grade, None for a run that has
    only an order.
    """

    query: Ids
    doc: Ids
    value: Floats | Ints | None
    source: str | None = None
    where: Callable[[int], tuple[int | None, str | None]] = _nowhere

    def __len__(self) -> int:
        return len(self.query)

    def error(
        self,
        row: int,
        problem: str,
        hint: str | None = None,
        kind: type[InputError] = InputError,
    ) -> InputError:
        """Return an error that names the row: its file, line number and text, as far as known."""
        line, text = self.where(row)
        return kind(problem, source=self.source, line=line, text=text, hint=hint)


Load = Callable[[], Block]  # makes a block when called, once, in any thread; cheap to hold
