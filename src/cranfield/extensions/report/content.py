"""The data that the page's script draws from: format 1, as plain values for JSON.

Systems, queries and measures are numbers here; each name is written once, as in its file.
Where a measure's `scale` is "ratio", `diff` and its ends are ratios. A `verdict` is 1 for better,
-1 for worse, 0 for neither, null where nothing was compared, or a system cannot be placed.
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
from cranfield.extensions.report.figures.relevant_counts import (
    count_relevant,
    lowest_relevant_grade,
)
from cranfield.extensions.report.headline import describe_families, describe_means
from cranfield.extensions.report.scores_block import ScoresBlock
from cranfield.extensions.report.sheets import find_explain_command
from cranfield.render.numbers import format_percent, format_query_count
from cranfield.render.typed_names import as_typed, write_as_typed

MAX_QUESTION_LETTERS = 300  # characters
Point = Mapping[str, Any]
_VERDICTS: dict[Outcome | None, int] = {"better": 1, "worse": -1, None: 0}


def make_content(evidence: Evidence, scores: ScoresBlock) -> dict[str, Any]:
    """Return everything except the scores, the rankings and the worksheets."""
    index_of_system = {name: i for i, name in enumerate(evidence.systems)}
    comparison, baseline, rankings = evidence.comparison, evidence.baseline, evidence.rankings
    settings = comparison.settings
    sheets = evidence.sheets
    explain_command = find_explain_command(comparison)
    lowest_grades = _lowest_grades(comparison)
    distinct_grades = list(dict.fromkeys(lowest_grades))
    baseline_family, pair_family = describe_families(evidence)
    return {
        "v": 1,
        "title": evidence.title,
        "command": evidence.provenance.command,
        "systems": list(evidence.systems),
        "baseline": None if baseline is None else index_of_system[baseline],
        "measures": [
            _measure_object(evidence, i, scores)
            | {"relevant": None if grade is None else distinct_grades.index(grade), "from": grade}
            for i, grade in enumerate(lowest_grades)
        ],
        "queries": list(evidence.query_ids),
        "texts": _list_questions(evidence),
        "n_relevant": _count_relevant(comparison, lowest_grades),
        "level": format_percent(1 - settings.alpha),
        "tests": {"baseline": baseline_family, "pairs": pair_family},
        "board": [_board_rows(evidence, measure, index_of_system) for measure in evidence.measures],
        "alike": [
            [index_of_system[name] for name in evidence.indistinct_systems(measure)]
            for measure in evidence.measures
        ],
        "pairs": [_pair_rows(evidence, measure, index_of_system) for measure in evidence.measures],
        "cutoffs": evidence.cutoffs,
        "recall": evidence.recall,
        "judged": evidence.judged,
        "slices": _slice_rows(evidence, index_of_system),
        "grades": _grade_range(comparison),
        "depth": evidence.depth,
        "lists": {"n": rankings.n_queries, "of": rankings.n_total}
        if rankings is not None and rankings.n_queries
        else None,
        "sheets": None if sheets is None else {"systems": [*sheets.systems], "n": sheets.n_queries},
        "explain": explain_command and explain_command.template,
        "pool": explain_command and explain_command.pool,
        "runs": explain_command and [*explain_command.runs],
        "why": _explain_missing_rankings(evidence),
        "said": _list_remarks(evidence),
    }


def _measure_object(evidence: Evidence, measure_index: int, scores: ScoresBlock) -> dict[str, Any]:
    """Return a measure's name, direction, scale, range and remarks, and where its scores are."""
    name, aligned_scores = evidence.measures[measure_index], evidence.comparison.aligned
    measure, column = aligned_scores.find_measure(name), aligned_scores.measure_scores(name)
    low, high = score_range(measure, column)
    return {
        "name": as_typed(name),
        "rising": aligned_scores.is_higher_better(name),
        "scale": "ratio" if is_geometric(measure) else "difference",
        "low": low if abs(low) < float("inf") else column.min().item(),
        "high": high if abs(high) < float("inf") else column.max().item(),
        "queries": scores.block_index[measure_index],
        "unit": scores.unit_steps[measure_index],
        "said": describe_means(evidence, name),
        "doubts": [
            write_as_typed(note.text, [name], evidence.systems)
            for note in evidence.comparison[name].notes
            if note.is_grave
        ],
    }


def _list_questions(evidence: Evidence) -> list[str] | None:
    """Return the text of each query, cut, "" where it has none; None if no texts were given."""
    texts = evidence.query_texts
    if texts is None:
        return None
    questions = (texts.get(query, "") for query in evidence.query_ids)
    longest = MAX_QUESTION_LETTERS
    return [
        question if len(question) <= longest else f"{question[: longest - 1]}…"
        for question in questions
    ]


def _board_rows(
    evidence: Evidence, measure: str, index_of_system: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard, the best system first."""
    result, ranks = evidence.comparison[measure], evidence.pair_comparison[measure].ranks or {}
    rows = []
    for point in leaderboard(evidence.comparison, measure).points:
        row = _system_row(point, index_of_system, evidence, measure)
        row |= {"judged": point["judged"], "less": point["judged_lags"]}
        if result.letters is not None:
            row["letters"] = result.letters[row["s"]]
        for i, baseline in enumerate(evidence.more_baselines):
            if pair := result.pair_of_names.get((point["system"], baseline)):
                row[f"vs{i}"] = pair.difference if pair.ratio is None else pair.ratio
                row[f"vs{i}_verdict"] = _find_verdict(evidence, measure, vars(pair))
        if rank := ranks.get(point["system"]):
            row |= {"ranks": rank.low, "ranks_text": str(rank)}
        rows.append(row)
    return rows


def _system_row(
    point: Point, index_of_system: Mapping[str, int], evidence: Evidence, measure: str
) -> dict[str, Any]:
    """Return a system's mean and interval, and how it compares with the baseline."""
    verdict = _find_verdict(evidence, measure, {"other": evidence.baseline, **point})
    return {
        "s": index_of_system[point["system"]],
        **{name: point[name] for name in ("mean", "low", "high")},
        **_change_numbers(point, "difference_low", "difference_high"),
        **{name: point[name] for name in ("p_adjusted", "wins", "ties", "losses")},
        **dict(zip(_PROBABILITIES, _probabilities(point), strict=False)),
        "verdict": None if point["difference"] is None else verdict,
    }


def _find_verdict(evidence: Evidence, measure: str, pair: Point) -> int | None:
    """Return the number of a pair's verdict; None if one of its systems cannot be placed."""
    is_unplaced = {pair["system"], pair["other"]} in evidence.unplaced_pairs[measure]
    return None if is_unplaced else _VERDICTS[pair["verdict"]]


_PROBABILITIES = ("better", "same", "worse")


def _probabilities(point: Point) -> list[float]:
    """Return the probabilities that a system is better, the same, worse; empty without them."""
    if point["probability_better"] is None:
        return []
    return [point[f"probability_{outcome}"] for outcome in _PROBABILITIES]


def _change_numbers(point: Point, low: str, high: str) -> dict[str, float | None]:
    """Return a difference, or a ratio of geometric means, with its interval.

    `low` and `high` are the point's names of the ends of the difference's interval.
    """
    by_ratio = point["ratio"] is not None
    names = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", low, high)
    return dict(
        zip(("diff", "diff_low", "diff_high"), (point[name] for name in names), strict=True)
    )


def _pair_rows(
    evidence: Evidence, measure: str, index_of_system: Mapping[str, int]
) -> list[list[Any]]:
    """Return every pair of systems, as compact rows; empty for one system."""
    pairs = evidence.pair_comparison
    points = pair_matrix(pairs, measure).points if len(index_of_system) > 1 else []
    return [
        [
            index_of_system[point["system"]],
            index_of_system[point["other"]],
            *_change_numbers(point, "low", "high").values(),
            point["p_adjusted"],
            _find_verdict(evidence, measure, point),
            *(point[name] for name in ("wins", "ties", "losses")),
            *_probabilities(point),
        ]
        for point in points
    ]


def _slice_rows(evidence: Evidence, index_of_system: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the leaderboard of the first measure on each slice of the queries."""
    comparison = evidence.comparison
    if all(result.slice is None for result in comparison.results):
        return []
    slice_of_name: dict[tuple[str, str], dict[str, Any]] = {}
    for point in by_slice(comparison).points:
        fields = {name: point[name] for name in ("label", "slice", "queries")}
        slice_row = slice_of_name.setdefault(
            (point["label"], point["slice"]), {**fields, "rows": []}
        )
        row = _system_row(point, index_of_system, evidence, evidence.measures[0])
        slice_row["rows"].append(row)
    return list(slice_of_name.values())


def _grade_range(comparison: Comparison) -> dict[str, float] | None:
    """Return the lowest and the highest grade, None if there are no judgments."""
    source = comparison.aligned.evaluated_runs
    if source is None or not len(source.qrels.grade):
        return None
    return {"least": source.qrels.grade.min().item(), "top": source.qrels.top_grade}


def _count_relevant(
    comparison: Comparison, levels: Iterable[float | None]
) -> list[list[int]] | None:
    """Return how many documents of each query are relevant: a list for each distinct level."""
    source = comparison.aligned.evaluated_runs
    if source is None or source.qrels.has_groups:
        return None
    distinct_levels = dict.fromkeys(level for level in levels if level is not None)
    return [count_relevant(comparison, source, level).tolist() for level in distinct_levels]


def _lowest_grades(comparison: Comparison) -> list[float | None]:
    """Return the lowest grade that each measure counts as relevant; None if not known."""
    source, measures = comparison.aligned.evaluated_runs, comparison.aligned.measures
    if source is None or source.qrels.has_groups:
        return [None] * len(measures)
    return [lowest_relevant_grade(source, find_measure(comparison, name)) for name in measures]


def _explain_missing_rankings(evidence: Evidence) -> str | None:
    """Return why the page has no rankings, or not those of all queries; None if it has all."""
    rankings = evidence.rankings
    if rankings is None:
        return (
            "These are precomputed scores, which come without rankings. A report made from the "
            "judgments and runs shows what each system ranked."
        )
    if rankings.n_queries < rankings.n_total:
        return (
            f"The page has the rankings of {rankings.n_queries:,} of "
            f"{format_query_count(rankings.n_total)}, those on which the systems' scores differ "
            "most; more would make it too large (a larger budget: --budget, or budget=)."
        )
    return None


def _list_remarks(evidence: Evidence) -> dict[str, list[str]]:
    """Return the remarks on parts of the page: {part: sentences}."""
    rankings = evidence.rankings
    remarks = {
        "pairs": [note.text for note in evidence.notes if note.code == "pairs-by-t"],
        "lists": [note.text for note in rankings.notes] if rankings is not None else [],
    }
    return {part: sentences for part, sentences in remarks.items() if sentences}
