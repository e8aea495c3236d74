"""Job: what is to be scored, and how options of an extension change that.

`evaluate` makes a Job and hands it to a function that scores it. An extension may wrap that
function (ScoringOptions), or have the ends of each value found beside it (EndsOptions).
"""

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


class Ends:
    """The ends of an interval around each value of a run, as columns beside it: here no columns."""

    suffixes: Sequence[str] = ()  # of the columns' names, as "low" of "AP low"
    recipe: Mapping[str, Any] = {}

    def among(self, rows: Bools) -> "Ends":
        """Return the ends of some of the queries: (n_queries,)."""
        return self

    def columns(self, measure_index: int) -> Mapping[str, Floats]:
        """Return the columns of one measure, (n_queries,) each, by their suffixes."""
        return {}

    def cell(self, text: str, *texts_of_ends: str) -> str:
        """Return what a table shows of a value, given its text and those of its ends."""
        return text

    def notes(self, measures: Sequence[Measure]) -> list[Note]:
        """Return what a reader should know of the ends."""
        return []

    def to_dict(self, measures: Sequence[Measure]) -> dict[str, Any]:
        """Return the ends of the means as plain values, as for JSON."""
        return {}


NO_ENDS = Ends()


class EndsOptions(Options):
    """Options that ask for the ends of values."""

    def check(self, measures: Iterable[Measure], judging: Judging) -> None:
        """Raise OptionError or MeasureError where there are no ends to be had."""

    def find_ends(self, measures: Sequence[Measure], judged: Judged) -> Ends:
        """Return the ends of each query's values."""
        return NO_ENDS


class Way(NamedTuple):
    """Measures that are evaluated together, and how runs are judged for them."""

    measures: tuple[Measure, ...]
    judging: Judging


@dataclass(frozen=True)
class Job:
    """What is to be scored."""

    judgments: Qrels | QrelsReader
    runs: Mapping[str, Run]
    ways: Sequence[Way]
    slices: "LabelRows | None" = None
    is_usual: bool = False  # whether the user named no measure
    ends: EndsOptions | None = None
    digests: bool = False  # whether the hash of the judgments is returned, if it is known


class Scored(NamedTuple):
    """The scores by each way, and the hash of the judgments if it is known."""

    systems: Sequence["Systems"]
    digest: str | None = None


Scorer = Callable[[Job], Scored]


class ScoringOptions(Options):
    """Options of evaluate that change how runs are scored: a family of an extension."""

    def keeps_open(self, judgments: Qrels | QrelsReader, runs: Iterable[Run]) -> bool:
        """Tell whether judgments are read some queries at a time, not at once."""
        return False

    def wrap(self, score: Scorer) -> Scorer:
        """Return what scores a job: `score` itself unless an option asks for something else."""
        return score
