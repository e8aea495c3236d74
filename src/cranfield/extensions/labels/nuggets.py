"""Nugget recall: how many of the facts (nuggets) that an answer should contain are in it.

There are no rankings: the answers, of one system each, come with judgments of every nugget.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats, mean, ratio
from cranfield.extensions.labels.nugget_files import FAILED, read_nuggets
from cranfield.formats.shapes import ArrowTable
from cranfield.formats.source import Path
from cranfield.notes import Note, format_notes
from cranfield.render.numbers import format_count, format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Table

SCORES = ("all", "all_strict", "vital", "vital_strict", "weighted", "weighted_strict")
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, FAILED: 0.0}
_OKAY = 0.5  # what an okay nugget counts in the weighted scores, where a vital one counts 1


@dataclass(frozen=True, eq=False, repr=False)
class NuggetScores(Shown):
    """The scores of answers, query by query, and their means.

    `values` is (n_answers, n_queries, 6), the last in the order of SCORES; `query_ids` are in the
    order of their bytes, `answers` as they came. `missing` (n_answers,) counts the nuggets for
    which an answer has no row; `remarks` say which queries have no nuggets, and what failed.

    >>> scores = nugget_recall([("q", "run", "n1", "vital", "support")])
    >>> scores.answers, scores.query_ids, scores.per_query("vital")
    (['run'], ['q'], {'run': {'q': 1.0}})
    """

    header = ("answer", "score", "query_id", "value")

    answers: Sequence[str]
    query_ids: Sequence[str]
    values: Floats
    missing: Sequence[int]
    remarks: Sequence[Note] = ()

    def means(self) -> dict[str, dict[str, float]]:
        """Return {answer: {score: mean over the queries}}."""
        return {
            answer: {score: mean(query_scores[:, i]) for i, score in enumerate(SCORES)}
            for answer, query_scores in zip(self.answers, self.values, strict=True)
        }

    def per_query(self, score: str) -> dict[str, dict[str, float]]:
        """Return {answer: {query_id: value}} of one score."""
        return {
            answer: {query: scores[score] for query, scores in scores_of_query.items()}
            for answer, scores_of_query in self.to_dict().items()
        }

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return {answer: {query_id: {score: value}}}."""
        return {
            answer: {
                query: dict(zip(SCORES, row, strict=True))
                for query, row in zip(self.query_ids, rows, strict=True)
            }
            for answer, rows in zip(self.answers, self.values.tolist(), strict=True)
        }

    def _score_lines(self, per_query: bool) -> list[tuple[str, str, dict[str, float]]]:
        """Return (answer, query, scores), the query "all" being the last of each answer."""
        means = self.means()
        return [
            (answer, query, scores)
            for answer, scores_of_query in self.to_dict().items()
            for query, scores in [
                *(scores_of_query.items() if per_query else ()),
                ("all", means[answer]),
            ]
        ]

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each answer and score, the query_id of which is "all".

        `per_query` adds rows for each query, before those of the answer's "all".
        """
        return self._rows_as_dicts(
            (answer, score, query, value)
            for answer, query, scores in self._score_lines(per_query)
            for score, value in scores.items()
        )

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        queries = {"queries": self.to_dict()} if per_query else {}
        return {"means": self.means(), **queries, "notes": [note.to_dict() for note in self.notes]}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know beside the numbers."""
        n_queries = len(self.query_ids)
        notes = [Note("queries", "info", f"{format_query_count(n_queries)} averaged.", n_queries)]
        for answer, n in zip(self.answers, self.missing, strict=True):
            if n:
                text = (
                    f"{format_count(n, 'nugget')} without an assignment: counted as not supported."
                )
                notes.append(Note("unassigned", "info", text, source=answer, count=n))
        return (*notes, *self.remarks)

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return the scores as a table, four decimals each; `per_query` adds each query's."""
        labels = ["answer", "query_id"] if per_query else ["answer"]
        rows = [
            [*(answer, query)[: len(labels)], *(f"{value:.4f}" for value in scores.values())]
            for answer, query, scores in self._score_lines(per_query)
        ]
        return [Table([*labels, *SCORES], rows, format_notes(self.notes), len(labels))]


def nugget_recall(
    data: Path | ArrowTable | Iterable[Mapping[str, Any] | Sequence[Any]],
) -> NuggetScores:
    """Score answers by the nuggets that they support, as AutoNuggetizer of TREC RAG 2024 does.

    `data` are rows (query, answer, nugget, importance, assignment): a file (CSV or TSV with a
    header, JSON lines, a JSON list), a table (pandas, polars, Arrow), or a list of tuples or dicts.
    An answer is a run: it is averaged over the queries. The importance of a nugget is vital or
    okay; the assignment says whether the answer has it: support, partial_support or not_support.
    AutoNuggetizer's files of assignments are taken as they are: objects with a list `nuggets`.

    A nugget supported scores 1, one supported in part 0.5, any other 0; strictly, one supported in
    part scores 0, too. The scores of an answer to a query:

    - all, all_strict: the mean over all nuggets;
    - vital, vital_strict: over the vital ones;
    - weighted, weighted_strict: over all, an okay nugget counting half.

    A nugget of the query for which the answer has no row is not supported, so that an answer
    scores 0 for a query that it leaves out. A query without vital nuggets scores 0 for vital, one
    whose list `nuggets` is empty for all. After an error of its model, AutoNuggetizer writes
    "failed": such an assignment supports nothing, and a nugget of such an importance counts as an
    okay one, as in AutoNuggetizer's own scores; notes count them.

    Source: Pradeep, Thakur, Upadhyay, Campos, Craswell & Lin, Initial Nugget Evaluation Results for
    the TREC 2024 RAG Track with the AutoNuggetizer Framework, 2024. From 0 to 1.

    Raises InputError, with the row, for an importance or assignment that is not one of these, and
    for a nugget that comes twice for an answer, or with two importances.

    >>> rows = [("q", "run", "n1", "vital", "support"), ("q", "run", "n2", "vital", "not_support"),
    ...         ("q", "run", "n3", "okay", "partial_support")]
    >>> nugget_recall(rows).means()["run"]["weighted"] == (1 + 0 + 0.5 * 0.5) / (1 + 1 + 0.5)
    True
    """
    rows, without_nuggets = read_nuggets(data)
    pairs = [*((row.query, row.answer) for row in rows), *without_nuggets]
    row_of_answer = {name: i for i, name in enumerate(dict.fromkeys(name for _, name in pairs))}
    row_of_query = {
        query: i for i, query in enumerate(sorted({query for query, _ in pairs}, key=encode))
    }
    nuggets = {(row.query, row.nugget): row.importance for row in rows}
    answer_row = np.array([row_of_answer[row.answer] for row in rows], np.int64)
    query_row = np.array([row_of_query[row.query] for row in rows], np.int64)
    is_vital = np.array([row.importance == "vital" for row in rows], np.bool_)
    support = np.array([_SUPPORT[row.assignment] for row in rows], np.float64)
    nugget_query_row = np.array([row_of_query[query] for query, _ in nuggets], np.int64)
    nugget_is_vital = np.array([importance == "vital" for importance in nuggets.values()], np.bool_)

    def share(weight: Floats, nugget_weight: Floats, support: Floats) -> Floats:
        """Return the weighted mean of support over each query's nuggets: (answers, queries)."""
        cell = answer_row * len(row_of_query) + query_row
        n_cells = len(row_of_answer) * len(row_of_query)
        support_sum = np.bincount(cell, weight * support, n_cells).reshape(len(row_of_answer), -1)
        return ratio(support_sum, np.bincount(nugget_query_row, nugget_weight, len(row_of_query)))

    strict_support = np.floor(support)
    score_columns = []
    for okay in (1.0, 0.0, _OKAY):
        weights = np.where(is_vital, 1.0, okay), np.where(nugget_is_vital, 1.0, okay)
        score_columns += [share(*weights, support), share(*weights, strict_support)]
    missing = len(nuggets) - np.bincount(answer_row, minlength=len(row_of_answer))
    remarks = []
    if n := len(row_of_query) - len({query for query, _ in nuggets}):
        text = f"{format_query_count(n)} without nuggets: every score is 0 there."
        remarks.append(Note("no-nuggets", "warning", text, n))
    n_okay = [*nuggets.values()].count(FAILED)
    if n := [row.assignment for row in rows].count(FAILED) + n_okay:
        text = (
            f'"{FAILED}": {format_count(n_okay, "importance")}, counted as okay, not vital, and '
            f"{format_count(n - n_okay, 'assignment')}, counted as not supported."
        )
        remarks.append(Note("failed", "warning", text, count=n))
    scores = np.stack(score_columns, axis=2)
    return NuggetScores(list(row_of_answer), list(row_of_query), scores, missing.tolist(), remarks)
