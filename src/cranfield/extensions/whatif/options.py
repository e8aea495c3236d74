"""bounds=: the lowest and the highest value that unjudged documents leave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.measures import Measure
from cranfield.options import check_flag, option
from cranfield.scoring.ends import Ends, EndsOptions
from cranfield.scoring.job import Scorer, ScoringOptions


@dataclass(frozen=True, kw_only=True)
class Bounding(EndsOptions, ScoringOptions):
    """Whether to find bounds."""

    heading: ClassVar = "Unjudged documents"
    flags: ClassVar = {
        "bounds": {
            "group": "Options",
            "help": "Show the lowest and highest value over every way to grade the unjudged "
            "documents that were retrieved.",
        }
    }

    bounds: bool = option(
        False,
        "Also find the lowest and the highest value of each query over every way to grade the "
        'unjudged documents that were retrieved (kept, with `depth`): `scores["AP low"]`, '
        '`scores["AP high"]`, columns in every form.',
        check_flag,
    )

    def wrap(self, score: Scorer) -> Scorer:
        """Return a scorer that finds bounds beside the values, if `bounds` is set."""
        return (lambda job: score(replace(job, ends=self))) if self.bounds else score

    def check(self, measures: Iterable[Measure], judging: Judging) -> None:
        """Raise OptionError or MeasureError if a measure has no bounds with these options."""
        from cranfield.extensions.whatif.bounds import check_bounded

        check_bounded(measures, judging)

    def find_ends(self, measures: Sequence[Measure], judged: Judged) -> Ends:
        """Return the bounds of each query's value of each measure."""
        from cranfield.extensions.whatif.bounds import find_bounds

        return find_bounds(measures, judged)
