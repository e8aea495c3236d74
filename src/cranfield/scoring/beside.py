"""Beside: what an extension finds of a run beside its values, and how it scores runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.arrays.ranked import Bools, Floats
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.options import Options

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows
    from cranfield.scoring.scores import Systems


class Beside:
    """What is found beside the values of a run: here nothing."""

    ends: Sequence[str] = ()  # of the names of its columns: "low", "high"
    recipe: Mapping[str, Any] = {}

    def of(self, rows: Bools) -> "Beside":
        """Return the same of some queries."""
        return self

    def columns(self, i: int) -> Mapping[str, Floats]:
        """Return the columns beside measure i, (n_queries,) each, by the end of their names."""
        return {}

    def cell(self, text: str, *ends: str) -> str:
        """Return what a table shows of a value, given its text and those of its columns."""
        return text

    def notes(self, measures: Sequence[Measure]) -> list[Note]:
        """Return what to know of it."""
        return []

    def to_dict(self, measures: Sequence[Measure]) -> dict[str, Any]:
        """Return what JSON has of it, of a run."""
        return {}


NOTHING = Beside()


class Aside(Options):
    """Options that find something beside the values of a run."""

    def check(self, measures: Iterable[Measure], judging: Judging) -> None:
        """Raise OptionError or MeasureError if it does not go with these."""

    def find(self, measures: Sequence[Measure], judged: Judged) -> Beside:
        """Return it for a run that has met the judgments."""
        return NOTHING


class Way(NamedTuple):
    """Measures that are evaluated together, and how runs are judged for them."""

    measures: Sequence[Measure]
    judging: Judging


@dataclass(frozen=True)
class Job:
    """What is to be scored."""

    judgments: Qrels | QrelsReader
    runs: Mapping[str, Run]
    ways: Sequence[Way]
    slices: "LabelRows | None" = None
    is_usual: bool = False  # whether the user named no measure
    aside: Aside | None = None
    digests: bool = False  # whether to return the hash of the judgments, if it is known


class Scored(NamedTuple):
    """The scores by each way, and the hash of the judgments if it is known."""

    systems: Sequence["Systems"]
    digest: str | None = None


Scorer = Callable[[Job], Scored]


class Scoring(Options):
    """Options of evaluate that change how runs are scored: a family of an extension."""

    def keeps_open(self, judgments: Any, runs: Iterable[Run]) -> bool:
        """Tell whether judgments are read some queries at a time, not at once."""
        return False

    def wrap(self, score: Scorer) -> Scorer:
        """Return what scores runs: `score` itself unless an option asks for something else."""
        return score
