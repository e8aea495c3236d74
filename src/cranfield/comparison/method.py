"""The method of a comparison in words: the test, the correction, the p-value that decides."""

from collections.abc import Sequence

from cranfield.comparison.result import Result
from cranfield.comparison.settings import Settings
from cranfield.render.numbers import format_count

# {option: its name in words}
TESTS = {
    "randomization": "randomization test, two-sided",
    "t": "t-test, two-sided",
    "wilcoxon": "Wilcoxon's signed-rank test, two-sided",
    "sign": "sign test, two-sided",
    "bootstrap": "studentised bootstrap test, two-sided",
    "bayes": "Bayesian estimate",
}
CORRECTIONS = {
    "holm": "Holm",
    "maxt": "maxT",
    "tukey": "Tukey",
    "rtukey": "r. Tukey",
    "bonferroni": "Bonferroni",
    "bh": "BH",
    "by": "BY",
}


def describe_test(results: Sequence[Result], settings: Settings) -> str:
    """Return the name of the test, with the flips or resamples, if any, behind its p-values."""
    test = TESTS[settings.test]
    if settings.test in ("randomization", "wilcoxon"):
        is_exact = [pair.exact for result in results for pair in result.pairs[:1]]
        methods = {pair.method for result in results for pair in result.pairs}
        up_to_phrase = "up to " if methods & {"sequential", "bound"} else ""
        units = results[0].units.unit_words
        flips_phrase = "flips" if results[0].units.n_groups is None else f"flips of {units}"
        draws_phrase = f"{up_to_phrase}{settings.flips:,} {flips_phrase}, seed {settings.seed}"
        draws_phrase += f"; exact up to 20 {units}" if any(is_exact) else ""
        test += f", exact: all {flips_phrase}" if all(is_exact) else f", {draws_phrase}"
    elif settings.test == "bootstrap":
        test += f", {settings.flips:,} resamples, seed {settings.seed}"
    return test


def describe_method(results: Sequence[Result], settings: Settings) -> str:
    """Return the line above a table: the test, the rope, and the correction (none of "bayes")."""
    first = results[0]
    phrases = [describe_test(results, settings)]
    if settings.test == "bayes" or settings.rope is not None:
        phrases.append(f"the same: within {settings.rope or 0:g}")
    if settings.test != "bayes":
        comparisons_phrase = format_count(first.comparisons, "comparison")
        comparisons_phrase += " in each slice" if first.label is not None else ""
        comparisons_phrase += " of all measures" if settings.family == "all" else ""
        permutations_phrase = (
            f", {settings.permutations:,} permutations" if settings.permutations else ""
        )
        correction = CORRECTIONS.get(settings.correction)  # None of "none"
        if deciding_p_name(first, settings) == "p" and first.comparisons == 1:
            phrases.append(comparisons_phrase)  # there is nothing to correct
        else:
            phrases.append(
                f"{correction} over {comparisons_phrase}{permutations_phrase}"
                if correction
                else f"uncorrected, {comparisons_phrase}"
            )
    return "; ".join(phrases)


def describe_marking_test(result: Result, settings: Settings) -> str:
    """Return the name of the test that marks pairs, and the condition for a mark."""
    return f"{TESTS[settings.test]}; {mark_condition(result, settings)}"


def mark_condition(result: Result, settings: Settings) -> str:
    """Return the condition for a mark, such as "p Holm at most 0.05"."""
    if settings.test == "bayes":
        return f"with a probability of at least {settings.decisive_probability:g}"
    return f"{deciding_p_name(result, settings)} at most {settings.alpha:g}"


def deciding_p_name(result: Result, settings: Settings) -> str:
    """Return the name of the p-value that decides: "p" if uncorrected, or of one comparison."""
    # From all systems, also of one comparison not the same as p.
    uses_all_systems = settings.correction in ("tukey", "rtukey")
    if settings.correction == "none" or (result.comparisons <= 1 and not uses_all_systems):
        return "p"
    return f"p {CORRECTIONS[settings.correction]}"
