"""The headline: which system is best, by how much, how sure that is; which p-values are used."""

from collections.abc import Iterator

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import TESTS, told_by
from cranfield.comparison.result import System
from cranfield.comparison.scale import is_geometric
from cranfield.extensions.report.digits import change, digits, interval
from cranfield.extensions.report.element import Markup, element, escaped, joined, name_of
from cranfield.extensions.report.evidence import Evidence
from cranfield.render.numbers import number_of, percent, queries_of

_LONGEST = 120  # characters of a name in the headline
_UP, _DOWN, _NEITHER = "▲▼○"  # the marks of a pair's verdict
_NAMED = 3  # systems that share the first place


def families(evidence: Evidence) -> tuple[str | None, str | None]:
    """Return in words which p-values there are: those against the baseline, those of all pairs.

    The two are corrected for different numbers of comparisons, and may come from different tests.
    """
    if len(evidence.systems) == 1:
        return None, None
    measure = evidence.measures[0]
    of_pairs = _family(evidence.pairs, measure, "all {} pairs")
    if evidence.baseline is None:
        return None, of_pairs
    return _family(evidence.found, measure, "the {} comparisons with the baseline"), of_pairs


def _family(found: Comparison, measure: str, several: str) -> str:
    """Return the name of p-values, the comparisons that they are corrected for, and the test."""
    settings, result = found.settings, found[measure]
    test = TESTS[settings.test]
    if settings.test == "bayes":
        return test
    which = several.format(f"{result.comparisons:,}")
    if result.comparisons == 1:
        which = "the only pair"
    which += " under all measures" if settings.family == "all" else ""
    return f"{told_by(result, settings)} of {which}, {test}"


def headline(evidence: Evidence) -> Markup:
    """Return the sentences that answer which system is best, how sure that is, and against what."""
    measure = evidence.measures[0]
    result = evidence.found[measure]
    first, *others = result.ordered
    if not others:
        return joined([_who([first]), ": ", *_value(measure, first), "."])
    level = [one for one in others if one.mean == first.mean]
    if len(level) == len(others):
        every = "Both systems have" if len(others) == 1 else f"All {len(others) + 1} systems have"
        return joined([f"{every} the same {measure}, ", _mean(first), "."])
    how = "highest" if result.rising else "lowest"
    verb = f"score {how}" if level else f"scores {how}"
    better = "" if result.rising else " (less is better)"
    lead = [_who([first, *level]), f" {verb}: ", *_value(measure, first), better]
    return joined([*lead, *_against_baseline(evidence, first), ". ", _told_apart(evidence)])


def _who(systems: list[System]) -> Markup:
    """Return the names of the systems that are first."""
    names = [element("b", name_of(one.name, _LONGEST), class_="who") for one in systems[:_NAMED]]
    more = len(systems) - _NAMED
    if more > 0:
        return joined([joined(names, ", "), f" and {more:,} more"])
    return (
        joined(names, " and ")
        if len(names) < 3
        else joined([joined(names[:2], ", "), " and ", names[2]])
    )


def _mean(system: System) -> Markup:
    return element("b", digits(system.mean, 3), class_="nw")


def _value(measure: str, system: System) -> Iterator[Markup]:
    """Yield a measure's mean with its interval."""
    yield joined([f"{measure} ", _mean(system)])
    if system.low is not None and system.high is not None:
        ends = interval(system.low, system.high)
        yield joined([" ", element("span", f"({ends})", class_="iv")])


def _against_baseline(evidence: Evidence, first: System) -> Iterator[Markup]:
    """Yield how the first system compares with the baseline."""
    pair = evidence.against_baseline(evidence.measures[0]).get(first.name)
    if pair is not None:
        yield joined([", ", element("b", change(pair, 3), class_="nw"), " against the baseline "])
        yield name_of(pair.other, _LONGEST)


def _told_apart(evidence: Evidence) -> Markup:
    """Return from how many others the first system differs significantly, tested in all pairs."""
    others, alike = len(evidence.systems) - 1, len(evidence.alike(evidence.measures[0]))
    n = queries_of(len(evidence.query_ids))
    rest = "the other system" if others == 1 else f"the other {others:,}"
    if not alike:
        each = "" if others == 1 else "each of "
        return escaped(f"It differs significantly from {each}{rest}.")
    if alike == others:
        none = "The other system does not differ" if others == 1 else f"None of {rest} differs"
        return escaped(f"{none} significantly from it on {n} (marked ≈1).")
    do = "does" if alike == 1 else "do"
    return escaped(f"{alike:,} of {rest} {do} not differ significantly from it on {n} (marked ≈1).")


def facts(evidence: Evidence) -> Iterator[Markup]:
    """Yield what was compared: how many queries, systems and judgments, and which grades."""
    yield _fact(len(evidence.query_ids), "query", "queries")
    n_clusters = evidence.found[evidence.measures[0]].units.n_groups
    if n_clusters is not None:
        yield _fact(n_clusters, "cluster")
    yield _fact(len(evidence.systems), "system")
    source = evidence.found.aligned.source
    if source is None:
        yield escaped("precomputed scores")
        return
    n = len(source.qrels.grade)
    grades = f", grades {source.qrels.range_of_grades}" if n and source.qrels.graded else ""
    yield joined([_fact(n, "judgment"), grades])


def _fact(n: int, one: str, several: str | None = None) -> Markup:
    count, _, what = number_of(n, one, several).partition(" ")
    return joined([element("b", count), " ", what])


def what_means_are(evidence: Evidence, measure: str) -> str:
    """Return what the leaderboard's means under a measure are."""
    result, n = evidence.found[measure], queries_of(len(evidence.query_ids))
    geometric = is_geometric(evidence.found.aligned.known(measure))
    mean = ", the geometric mean over" if geometric else " over"
    said = f"{'' if geometric else 'Mean '}{measure}{mean} {n}"
    if any(one.low is not None for one in result.systems):  # one query has no interval
        said += f", with its {percent(1 - evidence.found.settings.alpha)} interval"
    return said + ("." if result.rising else "; less is better.")


def board_note(evidence: Evidence) -> Markup:
    """Return how to read the leaderboard, and which p-values are in it."""
    base, result = evidence.baseline, evidence.found[evidence.measures[0]]
    # The script puts another measure's sentence in its place.
    said = element("span", what_means_are(evidence, result.measure), id="means-said")
    parts: list[str] = [said]
    against, of_pairs = families(evidence)
    if base is not None:
        marks = ((_UP, "up", " significantly better, "), (_DOWN, "down", " significantly worse, "))
        parts += [" The dashed line is the baseline, ", name_of(base, _LONGEST), ": "]
        parts += [joined([element("b", sign, class_=kind), said]) for sign, kind, said in marks]
        parts += [
            element("b", _NEITHER, class_="none"),
            f" no evidence of a difference ({against}).",
        ]
    elif result.letters is not None and len(evidence.systems) > 1:
        parts += [f" Systems that share a letter do not differ significantly ({of_pairs})."]
    if len(evidence.systems) > 1 and evidence.alike(result.measure):
        parts += [
            " ",
            element("b", "≈1"),
            f" not significantly different from the first ({of_pairs}).",
        ]
    return joined(parts)
