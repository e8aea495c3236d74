"""Options of how systems are compared over several collections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import (
    BASELINE_OPTION,
    FLIPS_OPTION,
    SEED_OPTION,
    BaselineNames,
    check_test,
)
from cranfield.comparison.significance import TIE
from cranfield.options import Options, number_check, option

CollectionTest = Literal["randomization", "t"]
CollectionCorrection = Literal["holm", "maxt", "bonferroni", "bh", "by", "none"]


@dataclass(frozen=True, kw_only=True)
class CollectionSettings(BaselineNames, Options):
    """How systems are compared over several collections."""

    baseline: str | Sequence[str] | None = option(*BASELINE_OPTION)
    all_pairs: bool = option(False, "Compare each system with each other instead.")
    test: CollectionTest = option(
        "randomization",
        'The test of each difference. "randomization" flips the signs of differences, of queries '
        'or of whole collections; "t" is the t-test of independent collections (Welch), or of '
        "their means.",
    )
    correction: CollectionCorrection = option(
        "holm",
        'How p-values are corrected for several comparisons: "holm", "bonferroni"; "maxt": '
        'step-down, by the greatest t of each flip; "bh" and "by": the share of false alarms; '
        '"none".',
    )
    alpha: float = option(*ALPHA)
    flips: int = option(*FLIPS_OPTION)
    seed: int = option(*SEED_OPTION)
    tie: float = option(TIE, "Means that differ by at most this are tied.", number_check(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_test(self.flips, self.test, self.correction, self.baseline, all_pairs=self.all_pairs)
