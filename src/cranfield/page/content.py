"""The data that the page's script draws from: format 1, as plain values for JSON.

A system, a query and a measure are their numbers here; names stand once, as they are in the files.
Where a measure's `scale` is "ratio", `diff` and its ends are ratios. A `verdict` is 1 for better,
-1 for worse, 0 for neither, null where nothing was compared.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.result import Outcome
from cranfield.comparison.scale import is_geometric, range_of
from cranfield.figures.forest import by_slice, leaderboard
from cranfield.figures.matrix import pair_matrix
from cranfield.page.evidence import Evidence
from cranfield.page.headline import families
from cranfield.page.scores_block import ScoresBlock
from cranfield.page.sheets import how_to_explain
from cranfield.render.numbers import percent, queries_of

LONGEST_QUESTION = 300  # characters
Point = Mapping[str, Any]
_VERDICTS: dict[Outcome | None, int] = {"better": 1, "worse": -1, None: 0}


def content_of(evidence: Evidence, scores: ScoresBlock) -> dict[str, Any]:
    """Return everything but the scores, the rankings and the worksheets."""
    place = {name: i for i, name in enumerate(evidence.systems)}
    found, baseline, lists = evidence.found, evidence.baseline, evidence.rankings
    settings, sheets, how = found.settings, evidence.sheets, how_to_explain(found)
    against, of_pairs = families(evidence)
    return {
        "v": 1,
        "title": evidence.title,
        "command": evidence.made.command,
        "systems": list(evidence.systems),
        "baseline": None if baseline is None else place[baseline],
        "measures": [_measure(evidence, i, scores) for i in range(len(evidence.measures))],
        "queries": list(evidence.query_ids),
        "texts": _questions(evidence),
        "n_relevant": _n_relevant(found),
        "alpha": settings.alpha,
        "level": percent(1 - settings.alpha),
        "tests": {"baseline": against, "pairs": of_pairs},
        "board": [_board(found, measure, place) for measure in evidence.measures],
        "alike": [[place[name] for name in evidence.alike(one)] for one in evidence.measures],
        "pairs": [_pairs(evidence.pairs, measure, place) for measure in evidence.measures],
        "cutoffs": evidence.cutoffs,
        "recall": evidence.recall,
        "judged": evidence.judged,
        "slices": _slices(found, place),
        "grades": _grades(found),
        "depth": evidence.depth,
        "lists": {"n": lists.n, "of": lists.of} if lists is not None and lists.n else None,
        "sheets": None if sheets is None else {"systems": [*sheets.systems], "n": sheets.n},
        "explain": how and how.template,
        "runs": how and [*how.runs],
        "why": _why(evidence),
        "said": _said(evidence),
    }


def _measure(evidence: Evidence, at: int, scores: ScoresBlock) -> dict[str, Any]:
    """Return what a measure is called, which way it goes, and where its scores are."""
    name, aligned = evidence.measures[at], evidence.found.aligned
    known, column = aligned.known(name), aligned.column(name)
    low, high = range_of(known, column)
    return {
        "name": name,
        "rising": aligned.rising(name),
        "scale": "ratio" if is_geometric(known) else "difference",
        "low": low if abs(low) < float("inf") else column.min().item(),
        "high": high if abs(high) < float("inf") else column.max().item(),
        "queries": scores.place[at],
        "unit": scores.unit[at],
        "doubts": [one.text for one in evidence.found[name].notes if one.is_grave],
    }


def _questions(evidence: Evidence) -> list[str] | None:
    """Return what each query asks, None if no texts were given."""
    texts = evidence.query_texts
    if texts is None:
        return None
    every = (texts.get(query, "") for query in evidence.query_ids)
    longest = LONGEST_QUESTION
    return [one if len(one) <= longest else f"{one[: longest - 1]}…" for one in every]


def _board(found: Comparison, measure: str, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard, the best system first."""
    return [
        {
            "s": place[one["system"]],
            **{name: one[name] for name in ("mean", "low", "high", "judged")},
            "little": one["little_judged"],
            **_change(one, "difference_low", "difference_high"),
            **{name: one[name] for name in ("p", "p_adjusted", "wins", "ties", "losses")},
            "verdict": None if one["difference"] is None else _VERDICTS[one["verdict"]],
        }
        for one in leaderboard(found, measure).points
    ]


def _change(point: Point, low: str, high: str) -> dict[str, float | None]:
    """Return a difference with its interval; of geometric means, their ratio with its interval."""
    by_ratio = point["ratio"] is not None
    names = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", low, high)
    return dict(zip(("diff", "diff_low", "diff_high"), (point[one] for one in names), strict=True))


def _pairs(pairs: Comparison, measure: str, place: Mapping[str, int]) -> list[list[Any]]:
    """Return every pair of systems, as compact rows; none of one system."""
    points = pair_matrix(pairs, measure).points if len(place) > 1 else []
    return [
        [
            place[one["system"]],
            place[one["other"]],
            *_change(one, "low", "high").values(),
            one["p_adjusted"],
            _VERDICTS[one["verdict"]],
            *(one[name] for name in ("wins", "ties", "losses")),
        ]
        for one in points
    ]


def _slices(found: Comparison, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the leaderboard of the first measure on each slice of the queries."""
    if all(one.slice is None for one in found.results):
        return []
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in by_slice(found).points:
        key = one["label"], one["slice"]
        of = rows.setdefault(
            key,
            {
                **dict(zip(("label", "slice"), key, strict=True)),
                "queries": one["queries"],
                "rows": [],
            },
        )
        of["rows"].append(
            {
                "s": place[one["system"]],
                **{name: one[name] for name in ("mean", "low", "high", "p_adjusted")},
                "diff": one["difference"],
                "diff_low": one["difference_low"],
                "diff_high": one["difference_high"],
                "verdict": None if one["difference"] is None else _VERDICTS[one["verdict"]],
            }
        )
    return list(rows.values())


def _grades(found: Comparison) -> dict[str, float] | None:
    """Return the lowest and the highest grade, None of judgments without."""
    source = found.aligned.source
    if source is None or not len(source.qrels.grade):
        return None
    return {"least": source.qrels.grade.min().item(), "top": source.qrels.top_grade}


def _n_relevant(found: Comparison) -> list[int] | None:
    """Return how many documents of each query are relevant; None where that is not known."""
    source = found.aligned.source
    if source is None or source.qrels.in_groups:
        return None
    qrels = source.qrels
    n = np.bincount(qrels.query[qrels.grade > 0], minlength=len(qrels.query_ids)).tolist()
    of = dict(zip(qrels.query_ids, n, strict=True))
    return [of.get(query, 0) for query in found.aligned.query_ids]


def _why(evidence: Evidence) -> str | None:
    """Return why there are no rankings, or not those of all queries."""
    lists = evidence.rankings
    if lists is None:
        return (
            "These are scores that were made before, and come without rankings. A report of the "
            "judgments and runs themselves shows what each system ranked."
        )
    if lists.n < lists.of:
        return (
            f"The page has the rankings of {lists.n:,} of {queries_of(lists.of)}, those on which "
            "the systems' scores differ most; more would make it too large (a larger budget: "
            "--budget, or budget=)."
        )
    return None


def _said(evidence: Evidence) -> dict[str, list[str]]:
    """Return what to know of a part of the page, where it is read: sentences by the part."""
    lists = evidence.rankings
    said = {
        "pairs": [one.text for one in evidence.notes if one.code == "pairs-by-t"],
        "lists": [one.text for one in lists.notes] if lists is not None else [],
    }
    return {part: sentences for part, sentences in said.items() if sentences}
