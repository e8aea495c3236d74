"""Job: what is to be scored, and how options of an extension change who scores it.

`evaluate` makes a Job and hands it to a function that scores it; an extension may wrap that
function.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.measures import Measure, Plan, find_plan
from cranfield.options import Options
from cranfield.scoring.ends import EndsOptions
from cranfield.scoring.scores import Systems

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows


class MeasureGroup(NamedTuple):
    """Measures that are evaluated together, and how runs are judged for them."""

    measures: tuple[Measure, ...]
    judging: Judging

    @property
    def plan(self) -> Plan:
        """How the measures are computed."""
        return find_plan(self.measures)


@dataclass(frozen=True)
class Job:
    """Judgments, the runs to score against them, and each group of measures."""

    judgments: Qrels | QrelsReader
    runs: Mapping[str, Run]
    measure_groups: Sequence[MeasureGroup]
    slices: "LabelRows | None" = None
    uses_default_measures: bool = False  # whether the user named no measure
    ends: EndsOptions | None = None
    wants_digest: bool = False  # whether the hash of the judgments is returned, if it is known


class JobScores(NamedTuple):
    """The scores of each group of measures, and the hash of the judgments if it is known."""

    systems: Sequence[Systems]
    digest: str | None = None


Scorer = Callable[[Job], JobScores]


class ScoringOptions(Options):
    """Options that change how runs are scored: a family of an extension."""

    def adjust_measure(self, measure: Measure, judging: Judging) -> tuple[Measure, Judging]:
        """Return how one measure is computed, and how runs are judged for it."""
        return measure, judging

    def reads_in_parts(self, judgments: Qrels | QrelsReader, runs: Iterable[Run]) -> bool:
        """Tell whether judgments are read some queries at a time, not at once."""
        return False

    def announce(self, judgments: Qrels | QrelsReader, runs: Iterable[Run]) -> str | None:
        """Return what people at a terminal should know before the work begins."""
        return None

    def wrap(self, score: Scorer) -> Scorer:
        """Return the function that scores a job: `score` unless an option asks for another."""
        return score
