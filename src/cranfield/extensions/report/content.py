"""The data that the page's script draws from: format 1, as plain values for JSON.

A system, a query and a measure are their numbers here; each name is written once, as in its file.
Where a measure's `scale` is "ratio", `diff` and its ends are ratios. A `verdict` is 1 for better,
-1 for worse, 0 for neither, null where nothing was compared.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome
from cranfield.comparison.scale import is_geometric, score_range
from cranfield.extensions.report.evidence import Evidence
from cranfield.extensions.report.figures.choice import find_measure
from cranfield.extensions.report.figures.forest import by_slice, leaderboard
from cranfield.extensions.report.figures.matrix import pair_matrix
from cranfield.extensions.report.figures.relevant_counts import count_relevant, lowest_relevant_grade
from cranfield.extensions.report.headline import describe_families, describe_means
from cranfield.extensions.report.scores_block import ScoresBlock
from cranfield.extensions.report.sheets import find_explain_command
from cranfield.render.numbers import format_percent, format_query_count

MAX_QUESTION_LETTERS = 300  # characters
Point = Mapping[str, Any]
_VERDICTS: dict[Outcome | None, int] = {"better": 1, "worse": -1, None: 0}


def make_content(evidence: Evidence, scores: ScoresBlock) -> dict[str, Any]:
    """Return everything except the scores, the rankings and the worksheets."""
    place = {name: i for i, name in enumerate(evidence.systems)}
    found, baseline, lists = evidence.comparison, evidence.baseline, evidence.rankings
    settings, sheets, how = found.settings, evidence.sheets, find_explain_command(found)
    levels = _lowest_grades(found)
    known = list(dict.fromkeys(levels))
    against, of_pairs = describe_families(evidence)
    return {
        "v": 1,
        "title": evidence.title,
        "command": evidence.provenance.command,
        "systems": list(evidence.systems),
        "baseline": None if baseline is None else place[baseline],
        "measures": [
            _measure_object(evidence, i, scores)
            | {"relevant": None if one is None else known.index(one), "from": one}
            for i, one in enumerate(levels)
        ],
        "queries": list(evidence.query_ids),
        "texts": _list_questions(evidence),
        "n_relevant": _count_relevant(found, levels),
        "level": format_percent(1 - settings.alpha),
        "tests": {"baseline": against, "pairs": of_pairs},
        "board": [_board_rows(found, measure, place) for measure in evidence.measures],
        "alike": [[place[name] for name in evidence.indistinct_systems(one)] for one in evidence.measures],
        "pairs": [_pair_rows(evidence.pair_comparison, measure, place) for measure in evidence.measures],
        "cutoffs": evidence.cutoffs,
        "recall": evidence.recall,
        "judged": evidence.judged,
        "slices": _slice_rows(found, place),
        "grades": _grade_range(found),
        "depth": evidence.depth,
        "lists": {"n": lists.n_queries, "of": lists.n_total} if lists is not None and lists.n_queries else None,
        "sheets": None if sheets is None else {"systems": [*sheets.systems], "n": sheets.n_queries},
        "explain": how and how.template,
        "runs": how and [*how.runs],
        "why": _explain_missing_rankings(evidence),
        "said": _list_remarks(evidence),
    }


def _measure_object(evidence: Evidence, at: int, scores: ScoresBlock) -> dict[str, Any]:
    """Return what a measure is called, which way it goes, and where its scores are."""
    name, aligned = evidence.measures[at], evidence.comparison.aligned
    known, column = aligned.find_measure(name), aligned.measure_scores(name)
    low, high = score_range(known, column)
    return {
        "name": name,
        "rising": aligned.is_higher_better(name),
        "scale": "ratio" if is_geometric(known) else "difference",
        "low": low if abs(low) < float("inf") else column.min().item(),
        "high": high if abs(high) < float("inf") else column.max().item(),
        "queries": scores.block_index[at],
        "unit": scores.unit_steps[at],
        "said": describe_means(evidence, name),
        "doubts": [one.text for one in evidence.comparison[name].notes if one.is_grave],
    }


def _list_questions(evidence: Evidence) -> list[str] | None:
    """Return what each query asks, None if no texts were given."""
    texts = evidence.query_texts
    if texts is None:
        return None
    every = (texts.get(query, "") for query in evidence.query_ids)
    longest = MAX_QUESTION_LETTERS
    return [one if len(one) <= longest else f"{one[: longest - 1]}…" for one in every]


def _board_rows(found: Comparison, measure: str, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard, the best system first."""
    letters = found[measure].letters
    return [
        {
            **_system_row(one, place),
            "judged": one["judged"],
            "little": one["little_judged"],
            **({} if letters is None else {"letters": letters[place[one["system"]]]}),
        }
        for one in leaderboard(found, measure).points
    ]


def _system_row(point: Point, place: Mapping[str, int]) -> dict[str, Any]:
    """Return a system's mean, and how it compares with the baseline."""
    return {
        "s": place[point["system"]],
        **{name: point[name] for name in ("mean", "low", "high")},
        **_change_numbers(point, "difference_low", "difference_high"),
        **{name: point[name] for name in ("p_adjusted", "wins", "ties", "losses")},
        **dict(zip(_PROBABILITIES, _probabilities(point), strict=False)),
        "verdict": None if point["difference"] is None else _VERDICTS[point["verdict"]],
    }


_PROBABILITIES = ("better", "same", "worse")


def _probabilities(point: Point) -> list[float]:
    """Return how probable it is that a system is better, the same, worse; empty if not computed."""
    if point["probability_better"] is None:
        return []
    return [point[f"probability_{one}"] for one in _PROBABILITIES]


def _change_numbers(point: Point, low: str, high: str) -> dict[str, float | None]:
    """Return a difference with its interval; for geometric means, their ratio with its interval."""
    by_ratio = point["ratio"] is not None
    names = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", low, high)
    return dict(zip(("diff", "diff_low", "diff_high"), (point[one] for one in names), strict=True))


def _pair_rows(pairs: Comparison, measure: str, place: Mapping[str, int]) -> list[list[Any]]:
    """Return every pair of systems, as compact rows; empty for one system."""
    points = pair_matrix(pairs, measure).points if len(place) > 1 else []
    return [
        [
            place[one["system"]],
            place[one["other"]],
            *_change_numbers(one, "low", "high").values(),
            one["p_adjusted"],
            _VERDICTS[one["verdict"]],
            *(one[name] for name in ("wins", "ties", "losses")),
            *_probabilities(one),
        ]
        for one in points
    ]


def _slice_rows(found: Comparison, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the leaderboard of the first measure on each slice of the queries."""
    if all(one.slice is None for one in found.results):
        return []
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in by_slice(found).points:
        about = {name: one[name] for name in ("label", "slice", "queries")}
        of = rows.setdefault((one["label"], one["slice"]), {**about, "rows": []})
        of["rows"].append(_system_row(one, place))
    return list(rows.values())


def _grade_range(found: Comparison) -> dict[str, float] | None:
    """Return the lowest and the highest grade, None if there are no judgments."""
    source = found.aligned.evaluated_runs
    if source is None or not len(source.qrels.grade):
        return None
    return {"least": source.qrels.grade.min().item(), "top": source.qrels.top_grade}


def _count_relevant(found: Comparison, levels: Iterable[float | None]) -> list[list[int]] | None:
    """Return how many documents of each query are relevant, by the levels: a list for each."""
    source = found.aligned.evaluated_runs
    if source is None or source.qrels.has_groups:
        return None
    known = dict.fromkeys(level for level in levels if level is not None)
    return [count_relevant(found, source, level).tolist() for level in known]


def _lowest_grades(found: Comparison) -> list[float | None]:
    """Return the lowest grade that each measure counts as relevant; None if not known."""
    source, measures = found.aligned.evaluated_runs, found.aligned.measures
    if source is None or source.qrels.has_groups:
        return [None] * len(measures)
    return [lowest_relevant_grade(source, find_measure(found, one)) for one in measures]


def _explain_missing_rankings(evidence: Evidence) -> str | None:
    """Return why there are no rankings, or not those of all queries."""
    lists = evidence.rankings
    if lists is None:
        return (
            "These are precomputed scores, which come without rankings. A report made from the "
            "judgments and runs shows what each system ranked."
        )
    if lists.n_queries < lists.n_total:
        return (
            f"The page has the rankings of {lists.n_queries:,} of {format_query_count(lists.n_total)}, those on which "
            "the systems' scores differ most; more would make it too large (a larger budget: "
            "--budget, or budget=)."
        )
    return None


def _list_remarks(evidence: Evidence) -> dict[str, list[str]]:
    """Return remarks on a part of the page, shown there: sentences by part."""
    lists = evidence.rankings
    said = {
        "pairs": [one.text for one in evidence.notes if one.code == "pairs-by-t"],
        "lists": [one.text for one in lists.notes] if lists is not None else [],
    }
    return {part: sentences for part, sentences in said.items() if sentences}
