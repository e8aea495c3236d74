"""The sentences of a page: the headline on the best system, its facts, the leaderboard's note."""

from collections.abc import Iterator, Sequence

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.judged_share import describe_judged
from cranfield.comparison.method import TESTS, deciding_p_name
from cranfield.comparison.result import System
from cranfield.comparison.scale import is_geometric
from cranfield.extensions.report.digits import format_change, format_digits, format_interval
from cranfield.extensions.report.element import Markup, element, escape, join_markup, name_element
from cranfield.extensions.report.evidence import Evidence
from cranfield.render.numbers import format_count, format_percent, format_query_count, format_share
from cranfield.render.typed_names import as_typed

_MAX_NAME_LETTERS = 120  # characters of a name in these sentences
_UP, _DOWN, _NEITHER = "▲▼○"  # the marks of a pair's verdict
_NEARLY_ALL = 0.95  # of the largest judged share: with less of it, a first system has its beside it
_MAX_NAMED_SYSTEMS = 3  # systems named of those that share the first place


def describe_families(evidence: Evidence) -> tuple[str | None, str | None]:
    """Return in words how pairs with the baseline were tested, and all pairs; None for no pairs.

    The two are corrected for their own numbers of comparisons, and may come from different tests.
    """
    if len(evidence.systems) == 1:
        return None, None
    measure = evidence.measures[0]
    pair_family = _describe_family(evidence.pair_comparison, measure, "all {} pairs")
    if evidence.baseline is None:
        return None, pair_family
    comparisons_template = (
        f"the {{}} comparisons with the baseline{'s' * bool(evidence.more_baselines)}"
    )
    return _describe_family(evidence.comparison, measure, comparisons_template), pair_family


def _describe_family(comparison: Comparison, measure: str, comparisons_template: str) -> str:
    """Return what p-values are called, the comparisons they are corrected for, and the test.

    Of a Bayesian test, which has no p-values, the name alone. In `comparisons_template`, {} is the
    number of comparisons.
    """
    settings, result = comparison.settings, comparison[measure]
    test = TESTS[settings.test]
    if settings.test == "bayes":
        return test
    comparisons_text = comparisons_template.format(f"{result.comparisons:,}")
    if result.comparisons == 1:
        comparisons_text = "the only pair"
    comparisons_text += " under all measures" if settings.family == "all" else ""
    return f"{deciding_p_name(result, settings)} of {comparisons_text}, {test}"


def write_headlines(evidence: Evidence) -> Markup:
    """Return the headline of each measure: the first is visible until a measure is chosen."""
    return join_markup(
        element("span", write_headline(evidence, measure), data_m=i, hidden=i > 0)
        for i, measure in enumerate(evidence.measures)
    )


def write_headline(evidence: Evidence, measure: str) -> Markup:
    """Return the sentences on which system is best and how sure that is; of one, on its mean."""
    result = evidence.comparison[measure]
    first, *rivals = result.ranked_systems
    judged_sentence = _qualify_first(measure, result.ranked_systems)
    is_by_model = any(note.code == "model-labels" for note in evidence.notes)
    ending = " by a model's labels that no person checked." if is_by_model else "."
    if not rivals:
        mean_parts = _mean_with_interval(measure, first)
        return join_markup([_name_systems([first]), ": ", *mean_parts, ending, judged_sentence])
    extreme = "highest" if result.higher_is_better else "lowest"
    unplaced_systems = evidence.unplaced_systems(measure)
    if first.little_judged and unplaced_systems:
        return _withhold_headline(measure, result.ranked_systems, extreme, ending)
    placed_systems = [system for system in rivals if system not in unplaced_systems]
    leaders = [first, *(system for system in placed_systems if system.mean == first.mean)]
    direction_note = "" if result.higher_is_better else " (less is better)"
    if all(system.mean == first.mean for system in rivals):
        subject = "Both systems have" if len(rivals) == 1 else f"All {len(rivals) + 1} systems have"
        parts = [f"{subject} the same {as_typed(measure)}, ", _mean_element(first), ending]
    else:
        verb = f"score {extreme}" if len(leaders) > 1 else f"scores {extreme}"
        lead = [_name_systems(leaders), f" {verb}: ", *_mean_with_interval(measure, first)]
        parts = [*lead, direction_note, *_baseline_clause(evidence, measure, first), ending]
        if n_rivals := len(placed_systems) - len(leaders) + 1:
            parts += [" ", _significance_sentence(evidence, measure, leaders, n_rivals)]
    parts.append(judged_sentence)
    if unplaced_systems:
        reason = describe_judged(unplaced_systems, measure)
        parts += [" ", _name_systems(unplaced_systems), f" cannot be placed: {reason}."]
    return join_markup(parts)


def _qualify_first(measure: str, systems: Sequence[System]) -> str:
    """Return a sentence on how much of the first system is judged; empty where that is enough.

    Less than 0.95 times the largest share is not, nor is less than half.
    """
    first, top = systems[0], max(systems, key=lambda system: system.judged or 0.0)
    if first.judged is None or top.judged is None:
        return ""
    lead = f" {describe_judged([first], measure)}"
    if first.judged < _NEARLY_ALL * top.judged:
        lead += f", {format_share(top.judged)} of "
        return join_markup([lead, name_element(top.name, _MAX_NAME_LETTERS), "'s."])
    return f"{lead}." if first.judged < 1 / 2 else ""


def _withhold_headline(
    measure: str, systems: Sequence[System], extreme: str, ending: str
) -> Markup:
    """Return why no system can be called best: the first one is little judged."""
    first, top = systems[0], max(systems, key=lambda system: system.judged or 0.0)
    first_name, top_name = (name_element(s.name, _MAX_NAME_LETTERS) for s in (first, top))
    parts = [element("b", f"No system can be called best{ending}"), " ", first_name]
    parts += [f" has the {extreme} {as_typed(measure)}, ", _mean_element(first)]
    parts += [f", but {describe_judged([first], measure)}; of ", top_name]
    parts += [f"'s, {format_share(top.judged or 0.0)}. Judge more: "]
    return join_markup([*parts, element("code", "cranfield pool"), "."])


def _name_systems(systems: Sequence[System]) -> Markup:
    """Return the names of the systems that are first, three at most, and the number of others."""
    names = [
        element("b", name_element(system.name, _MAX_NAME_LETTERS), class_="who")
        for system in systems[:_MAX_NAMED_SYSTEMS]
    ]
    n_more = len(systems) - _MAX_NAMED_SYSTEMS
    if n_more > 0:
        return join_markup([join_markup(names, ", "), f" and {n_more:,} more"])
    if len(names) < 3:
        return join_markup(names, " and ")
    return join_markup([join_markup(names[:2], ", "), " and ", names[2]])


def _mean_element(system: System) -> Markup:
    return element("b", format_digits(system.mean, 3), class_="nw")


def _mean_with_interval(measure: str, system: System) -> Iterator[Markup]:
    """Yield a system's mean under a measure, and its interval if there is one."""
    yield join_markup([f"{as_typed(measure)} ", _mean_element(system)])
    if system.low is not None and system.high is not None:
        ends = format_interval(system.low, system.high)
        yield join_markup([" ", element("span", f"({ends})", class_="iv")])


def _baseline_clause(evidence: Evidence, measure: str, first: System) -> Iterator[Markup]:
    """Yield how the first system compares with the baseline, unless it is that or there is none."""
    pair = evidence.baseline_pairs(measure).get(first.name)
    if pair is not None:
        yield join_markup(
            [", ", element("b", format_change(pair, 3), class_="nw"), " against the baseline "]
        )
        yield name_element(pair.other, _MAX_NAME_LETTERS)


def _significance_sentence(
    evidence: Evidence, measure: str, leaders: Sequence[System], n_rivals: int
) -> Markup:
    """Return from how many of the others that can be placed the leaders do not all differ."""
    n_alike = len({*evidence.indistinct_systems(measure)} - {leader.name for leader in leaders})
    lead, leaders_text = ("It differs", "it") if len(leaders) == 1 else ("They differ", "them")
    queries_text = format_query_count(len(evidence.query_ids))
    owner = "that can be placed" if evidence.unplaced_systems(measure) else ""
    rivals_text = f"the other {'system' if n_rivals == 1 else f'{n_rivals:,}'} {owner}".rstrip()
    if not n_alike:
        each_text = "" if n_rivals == 1 else "each of "
        return escape(f"{lead} significantly from {each_text}{rivals_text}.")
    if n_alike == n_rivals:
        none_text = (
            f"{rivals_text.capitalize()} does not differ"
            if n_rivals == 1
            else f"None of {rivals_text} differs"
        )
        return escape(
            f"{none_text} significantly from {leaders_text} on {queries_text} (marked ≈1)."
        )
    verb = "does" if n_alike == 1 else "do"
    return escape(
        f"{n_alike:,} of {rivals_text} {verb} not differ significantly from {leaders_text} on "
        f"{queries_text} (marked ≈1)."
    )


def list_facts(evidence: Evidence) -> Iterator[Markup]:
    """Yield numbers of queries, clusters, systems, and judgments with grades, if there are any."""
    yield _fact_markup(len(evidence.query_ids), "query", "queries")
    n_clusters = evidence.comparison[evidence.measures[0]].units.n_groups
    if n_clusters is not None:
        yield _fact_markup(n_clusters, "cluster")
    yield _fact_markup(len(evidence.systems), "system")
    source = evidence.comparison.aligned.evaluated_runs
    if source is None:
        yield escape("precomputed scores")
        return
    n_judgments = len(source.qrels.grade)
    grades = f", grades {source.qrels.grade_range}" if n_judgments and source.qrels.graded else ""
    yield join_markup([_fact_markup(n_judgments, "judgment"), grades])


def _fact_markup(n: int, singular: str, plural: str | None = None) -> Markup:
    count, _, noun = format_count(n, singular, plural).partition(" ")
    return join_markup([element("b", count), " ", noun])


def describe_means(evidence: Evidence, measure: str) -> str:
    """Return what the leaderboard's means under a measure are."""
    result, queries_text = evidence.comparison[measure], format_query_count(len(evidence.query_ids))
    has_geometric_mean = is_geometric(evidence.comparison.aligned.find_measure(measure))
    mean = ", the geometric mean over" if has_geometric_mean else " over"
    sentence = f"{'' if has_geometric_mean else 'Mean '}{as_typed(measure)}{mean} {queries_text}"
    if any(system.low is not None for system in result.systems):  # one query has no interval
        sentence += f", with its {format_percent(1 - evidence.comparison.settings.alpha)} interval"
    return sentence + ("." if result.higher_is_better else "; less is better.")


def write_board_note(evidence: Evidence) -> Markup:
    """Return how to read the leaderboard, and which p-values are in it."""
    baseline, result = evidence.baseline, evidence.comparison[evidence.measures[0]]
    # The script puts another measure's sentence in its place.
    means_element = element("span", describe_means(evidence, result.measure), id="means-said")
    parts: list[str] = [means_element]
    baseline_family, pair_family = describe_families(evidence)
    if baseline is not None:
        marks = ((_UP, "up", " significantly better, "), (_DOWN, "down", " significantly worse, "))
        parts += [
            " The dashed line is the baseline, ",
            name_element(baseline, _MAX_NAME_LETTERS),
            ": ",
        ]
        parts += [
            join_markup([element("b", sign, class_=kind), clause]) for sign, kind, clause in marks
        ]
        parts += [
            element("b", _NEITHER, class_="none"),
            f" no evidence of a difference ({baseline_family}).",
        ]
        if any(evidence.unplaced_pairs[measure] for measure in evidence.measures):
            parts += [" ", element("b", "?"), " cannot be placed: too little is judged."]
    elif result.letters is not None and len(evidence.systems) > 1:
        parts += [f" Systems that share a letter do not differ significantly ({pair_family})."]
    if len(evidence.systems) > 1 and evidence.indistinct_systems(result.measure):
        parts += [
            " ",
            element("b", "≈1"),
            f" not significantly different from the first ({pair_family}).",
        ]
    return join_markup(parts)
