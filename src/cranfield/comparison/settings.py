"""Settings: the options of `compare` and `gate`, each with its default, its help and its check."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from cranfield.comparison.anova import PERMUTATIONS
from cranfield.comparison.flips import DEFAULT_FLIPS, DEFAULT_SEED, MAX_FLIPS, Flips
from cranfield.comparison.gate_tests import GateTest, find_gate_test
from cranfield.comparison.level import ALPHA
from cranfield.comparison.significance import TIE
from cranfield.errors import OptionError
from cranfield.formats.small.score_files import Layout
from cranfield.options import (
    Check,
    Options,
    check_numbers_by_name,
    is_whole_number,
    number_check,
    option,
    share_check,
    whole_check,
)
from cranfield.version import __version__

Test = Literal["randomization", "t", "wilcoxon", "sign", "bootstrap", "bayes"]
Correction = Literal["holm", "maxt", "tukey", "rtukey", "bonferroni", "bh", "by", "none"]
Family = Literal["measure", "all"]
GateTestName = Literal["randomization", "t", "bounded"]
UndecidedCount = Literal["pass", "fail"]
Differing = Literal["error", "allow"]
Missing = Literal["error", "zero", "drop"]


# ---- checks -------------------------------------------------------------------------------------


def count_check(minimum: int, maximum: int | None = None) -> Check:
    """Return a check for counts in a range, of an integer type: 2.0 is refused."""
    check = whole_check(minimum, maximum)
    return lambda value: check(value if is_whole_number(value) else None)


def read_names(value: Any) -> tuple[str, ...]:
    """Return a name, or a list of names, as a tuple, each once, or raise ValueError."""
    names = (value,) if isinstance(value, str) else tuple(value) if _is_iterable(value) else ()
    if (value and not names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("a name, or a list of names")
    return tuple(dict.fromkeys(names))


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Mapping | bytes)


def read_baselines(value: Any) -> Any:
    """Return several baselines as a tuple, one alone as it is; raise ValueError for none."""
    if not isinstance(value, list | tuple):
        return value
    if not value:
        raise ValueError("the name of a system, or several")
    return tuple(value) if len(value) > 1 else value[0]


def read_range(value: Any) -> tuple[float, float]:
    """Return two numbers, the lower one first, or raise ValueError."""
    try:
        low, high = (number_check()(end) for end in value)
    except (TypeError, ValueError):
        low = high = 0.0
    if not low < high:
        raise ValueError(
            "two numbers, the least and the greatest score that a query may have, as in (0, 1)"
        )
    return low, high


# ---- the families -------------------------------------------------------------------------------

# Options of several families: default, help, check.
BASELINE_OPTION = (
    None,
    "The system that the others are compared with, or a list of several: each other system is "
    "compared with each of them, and they once with each other. [default: the first]",
    read_baselines,
)
FLIPS_OPTION = (
    DEFAULT_FLIPS,
    "How many flips of signs, or resamples, to draw. Up to 20 queries, all flips are tried; above "
    "7,000 queries, only as many are drawn as p needs.",
    count_check(1),
)
SEED_OPTION = DEFAULT_SEED, "The same seed draws the same by chance.", count_check(0)


@dataclass(frozen=True, kw_only=True)
class Alignment(Options):
    """How the scores of several systems are aligned, query by query."""

    missing: Missing | None = option(
        None,
        'What to do with a query that a system has no score for. "error": refuse it. "zero": count '
        'it as 0. "drop": leave it out for all. [default: "zero" for runs, which retrieved '
        'nothing; "error" for saved scores]',
    )
    layout: Layout = option(
        "measures", "What the columns of a table of saved scores are: measures, or systems."
    )
    differing: Differing = option(
        "error",
        "What to do with saved scores that were made with other options or judgments than the "
        'first: "error" refuses them, "allow" takes them, and says so.',
    )
    percent: bool = option(
        False,
        "Saved scores are percentages: divide by 100 those of each system and measure with some "
        "above 1.",
    )
    less_is_better: Sequence[str] = option(
        (),
        "A measure in saved scores of which less is better, such as 'latency_ms', or several. "
        "[default: of those that cranfield does not know, more is better]",
        read_names,
    )


class BaselineNames:
    """The baselines of a family of options that has the option `baseline`."""

    baseline: str | Sequence[str] | None

    @property
    def baselines(self) -> tuple[str, ...]:
        """The names of the baselines; empty if all pairs are compared, or no system is named."""
        names = self.baseline
        if names is None:
            return ()
        return names if isinstance(names, tuple) else (cast("str", names),)

    @property
    def first_baseline(self) -> str | None:
        """The first baseline, which pictures and pages set apart; None without."""
        return next(iter(self.baselines), None)

    @property
    def only_baseline(self) -> str | None:
        """The baseline, if there is one alone; None for several, as for none."""
        return self.first_baseline if len(self.baselines) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Settings(BaselineNames, Options):
    """How systems are compared: all that is needed to repeat it with the same scores.

    `correction` is never None; in the settings of a Comparison, `baseline` is None only if all
    pairs are compared, and a tuple if there are several.
    """

    baseline: str | Sequence[str] | None = option(*BASELINE_OPTION)
    all_pairs: bool = option(False, "Compare each system with each other instead.")
    test: Test = option(
        "randomization",
        'The test of each difference. "randomization" flips the signs of queries\' differences; '
        '"t", "wilcoxon" and "sign" are the classical tests (the last two do not test the mean); '
        '"bootstrap" is Sakai\'s studentised one; "bayes" says how probable it is that a system '
        "is better.",
    )
    correction: Correction = option(
        None,
        'How p-values are corrected for several comparisons. "holm", "bonferroni"; "maxt": '
        'step-down, by the greatest t of each flip; "tukey": two-way analysis of variance; '
        '"rtukey": the same, randomised; "bh" and "by": the share of false alarms; "none". '
        '[default: "holm"]',
    )
    family: Family = option(
        "measure",
        'The comparisons that are corrected together: those of one "measure", or "all". A slice is '
        "always a family of its own.",
    )
    alpha: float = option(*ALPHA)
    flips: int = option(*FLIPS_OPTION)
    seed: int = option(*SEED_OPTION)
    tie: float = option(TIE, "Scores that differ by at most this are tied.", number_check(0))
    rope: float | None = option(
        None,
        "Mean differences below this do not matter in practice: adds the probabilities that a "
        "system is better, the same, worse.",
        number_check(0),
    )
    bounds: bool = option(
        False,
        "Show how much unjudged documents can change each difference. Without it, only differences "
        "of a system that is little judged have bounds, in csv and json, where they are quick.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        test, correction = self.test, self.correction
        if vars(self)["correction"] is None:
            object.__setattr__(self, "correction", "none" if test == "bayes" else "holm")
        check_test(self.flips, test, self.correction, self.baseline, all_pairs=self.all_pairs)
        if correction not in (None, "none") and test == "bayes":
            raise OptionError("test='bayes' has no p-values to correct: leave correction out")
        if correction in ("tukey", "rtukey") and test not in ("randomization", "t"):
            raise OptionError(
                f"correction={correction!r} goes with test='t' or test='randomization', not with "
                f"test={test!r}"
            )
        if correction in ("tukey", "rtukey") and self.family == "all":
            raise OptionError(
                f"correction={correction!r} corrects the pairs of one measure: leave out "
                "family='all'"
            )

    @property
    def is_familywise(self) -> bool:
        """Whether the correction bounds the chance of any false alarm among its comparisons."""
        return self.test != "bayes" and self.correction not in ("bh", "by", "none")

    @property
    def permutations(self) -> int | None:
        """The number of permutations of randomised Tukey; None for another correction."""
        return PERMUTATIONS if self.correction == "rtukey" else None

    @property
    def decisive_probability(self) -> float:
        """The least probability of being better, or worse, that marks a system, with test="bayes".

        Without a rope each side has half of alpha, so that equal systems are marked as often as by
        a test.
        """
        return 1 - self.alpha if self.rope else 1 - self.alpha / 2

    def to_dict(self) -> dict[str, Any]:
        """Return {name: value}, with what depends on the options, and the version."""
        return {**vars(self), "permutations": self.permutations, "cranfield": __version__}


def check_test(
    flips: int, test: str, correction: str, baseline: object, *, all_pairs: bool
) -> None:
    """Raise OptionError for too many flips, and for options that never go together."""
    if flips > MAX_FLIPS:
        raise OptionError(f"flips={flips}: expected at most {MAX_FLIPS:,}")
    if correction == "maxt" and test != "randomization":
        raise OptionError("correction='maxt' corrects the randomization test only")
    if all_pairs and baseline is not None:
        raise OptionError("all_pairs=True compares with no baseline: leave one of the two out")


@dataclass(frozen=True, kw_only=True)
class GateSettings(Options):
    """How a gate judges systems against a baseline or a number."""

    equivalence: bool = option(False, "Require, too, that a system is not better by the margin.")
    alpha: float = option(
        0.05, "The probability that a system at the margin passes, below 0.5.", share_check(0.5)
    )
    test: GateTestName = option(
        "randomization",
        'The test of each difference. "randomization" flips the signs of the differences; "t" is '
        'the paired t test; "bounded" holds for any number of queries, however rare the losses, '
        "and however often one looks (Waudby-Smith & Ramdas, JRSS-B 2024), but needs two to three "
        "times as many queries.",
    )
    flips: int = option(*FLIPS_OPTION)
    seed: int = option(*SEED_OPTION)
    range: tuple[float, float] | None = option(
        None,
        "The least and the greatest score that a query may have. [default: the measure's own]",
        read_range,
    )
    changes: int | None = option(
        None,
        "How many of the changed queries to keep for each verdict, the worst first; for "
        "at_least, how many of the lowest scores. [default: 5 unless it is PASS; all if fewer than "
        "10 changed]",
        count_check(0),
    )

    at_least: Mapping[str, float] | None = option(
        None,
        "Numbers that the means must reach, by measure, as {'R@5': 0.8}; neither a baseline nor a "
        "margin is then needed. With these, both must hold.",
        check_numbers_by_name,
    )
    limit: bool = option(
        False, "Require the mean's lower limit by the test, not only the mean, to be that high."
    )
    undecided: UndecidedCount | None = option(
        None, "Count UNDECIDED as a pass, or as a fail. [default: neither]"
    )

    tried: int = option(
        1,
        "How many candidates were tried, of which the best is judged here: the level of its test "
        "becomes 1 - (1 - alpha)^(1/tried).",
        count_check(1, 1_000_000_000),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit and self.at_least is None:
            raise OptionError(
                "limit=True goes with at_least, a number that the mean must reach: state that, too "
                "(--at-least)"
            )

    def correct_alpha(self) -> "GateSettings":
        """Return the settings with the alpha of one of the candidates that were tried.

        If all are worse by just the margin, any of them passes with a chance of alpha (Šidák,
        Journal of the American Statistical Association 62, 1967).
        """
        n_candidates = self.tried
        if n_candidates == 1:
            return self
        return replace(self, alpha=-math.expm1(math.log1p(-self.alpha) / n_candidates))

    @property
    def gate_test(self) -> GateTest:
        """The gate test that `test` names."""
        return find_gate_test(self.test)

    def make_flips(self, n_queries: int) -> Flips | None:
        """Return the flips of the queries' signs; None for a test without flips."""
        if self.test != "randomization":
            return None
        return Flips(n_queries, self.flips, self.seed)
