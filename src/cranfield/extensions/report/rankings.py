"""Rankings: what every system ranked for a query, side by side, with the grades."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.captions import missing_text_notes
from cranfield.comparison.alignment import AlignedScores, EvaluatedRuns
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Rankings
from cranfield.explanation.scene import SceneRankings
from cranfield.extensions.report.blob import pack_members
from cranfield.formats.small.texts import TextsLike, read_texts
from cranfield.notes import Note
from cranfield.progress import watch_steps

DEPTH = 20  # ranks of each system
BUDGET = 600_000  # bytes
MAX_TEXT_LETTERS = 330  # characters of a document's text
MAX_QUERIES = 3_000  # that have rankings
MAX_ROWS = 6_000_000  # of rankings that are held at once: some 20 bytes each


@dataclass(frozen=True)
class QueryRankings:
    """What several systems ranked for one query.

    `docs` are the first documents of every system, those nearest to the top first, and then the
    relevant ones that are not among them. `ranks` has, for each system, the rank of each of
    `docs`, as measures see it, 0 if it was not retrieved. A grade is None if the document is
    not judged; for judgments in groups, it is the best of all groups.
    """

    query_id: str
    doc_ids: Sequence[str]
    grades: Sequence[float | None]
    ranks: Ints  # (n_systems, n_docs)
    n_retrieved: Sequence[int]  # by each system
    n_relevant: int  # documents of the judgments
    n_first: int  # how many of `docs` are among the first of some system

    @classmethod
    def of(cls, query_id: str, rankings: Sequence[Ids], judged: Qrels, depth: int) -> "QueryRankings":
        """Put the rankings of one query side by side; `judged` are its judgments alone."""
        n = [*map(len, rankings)]
        every = Ids.concatenate([*rankings, judged.docs])
        _, at, code = np.unique(every.sort_keys(), return_index=True, return_inverse=True)
        system = np.repeat(np.arange(len(n)), n)
        place = np.concatenate([*(np.arange(1, size + 1) for size in n), np.zeros(0, np.int64)])
        most = max(n, default=0) + 1  # more than any rank
        best_of, grade = np.full((len(n), len(at)), most), np.full(len(at), np.nan)
        np.minimum.at(best_of, (system, code[: len(place)]), place)
        grade[code[len(place) :]] = judged.grade
        best = best_of.min(axis=0, initial=most)
        is_first, is_relevant = best <= min(depth, most - 1), grade > 0
        rows = np.flatnonzero(is_first | is_relevant)
        rows = rows[np.lexsort((np.where(is_first, best, -grade)[rows], ~is_first[rows]))]
        whole = judged.grade.dtype != np.float64
        grades = [
            None if one != one else int(one) if whole else one for one in grade[rows].tolist()
        ]
        return cls(
            query_id,
            every.take(at[rows]).to_texts(),
            grades,
            np.where(best_of < most, best_of, 0)[:, rows],
            n,
            int(np.count_nonzero(is_relevant)),
            int(np.count_nonzero(is_first)),
        )

    def to_json(self, texts: Mapping[str, str] | None = None) -> str:
        """Return the object that the page's script reads, as compact JSON."""
        found: dict[str, Any] = {
            "d": self.doc_ids,
            "g": self.grades,
            "r": self.ranks.tolist(),
            "n": self.n_retrieved,
            "rel": self.n_relevant,
        }
        if texts is not None:
            shown = (_cut_text(texts.get(doc, "")) for doc in self.doc_ids[: self.n_first])
            found["t"] = [*shown, *[""] * (len(self.doc_ids) - self.n_first)]
        return json.dumps(found, separators=(",", ":"))


@dataclass(frozen=True)
class EmbeddedRankings:
    """The rankings of some queries as the page holds them.

    `data` is base64 of gzip of a JSON object, by the number of the query: see `SideBySide.to_json`.
    """

    archive: str
    n_queries: int  # queries that it has
    n_total: int  # queries there are
    notes: Sequence[Note]


def embed_rankings(
    aligned_scores: AlignedScores,
    *,
    depth: int = DEPTH,
    budget: int = BUDGET,
    doc_texts: "TextsLike | None" = None,
) -> EmbeddedRankings | None:
    """Return the rankings of all queries or, within a budget, of those that systems differ on most.

    Args:
        aligned: scores that come from judgments and runs; for saved ones, None is returned.
        depth: how many documents of each system are shown.
        budget: how many bytes `data` may have. The queries with the largest spread of the first
            measure's scores over the systems come first.
        doc_texts: titles or texts of documents, as `with_texts` takes them: of those among the
            first `depth` of a system, the first 330 characters.

    Each run is read once more.

    """
    source = aligned_scores.evaluated_runs
    if source is None:
        return None
    order = order_by_spread(aligned_scores)
    # A query's ranks take at least so many bytes.
    least = 32 + len(aligned_scores.system_names) * depth // 2
    most = min(1 + budget // least, MAX_QUERIES)
    wanted = [aligned_scores.query_ids[i] for i in order[:most]]
    place = dict(zip(aligned_scores.query_ids, range(len(aligned_scores.query_ids)), strict=True))

    def pieces(sides: Iterable[QueryRankings], texts: Mapping[str, str] | None) -> Iterator[str]:
        return (f'"{place[one.query_id]}":{one.to_json(texts)}' for one in sides)

    sides: list[QueryRankings] = []

    def kept() -> Iterator[QueryRankings]:
        for one in read_rankings(source, wanted, depth):
            sides.append(one)
            yield one

    data, n = pack_members(pieces(kept(), None), budget)
    notes = [*_list_notes(source)]
    if doc_texts is not None:
        shown = dict.fromkeys(doc for one in sides[:n] for doc in one.doc_ids[: one.n_first])
        texts = read_texts(doc_texts, shown, "the texts of documents", role="doc")
        data, n = pack_members(pieces(sides[:n], texts), budget)
        notes += missing_text_notes(shown, texts, "documents")
    return EmbeddedRankings(data, n, len(aligned_scores.query_ids), notes)


def order_by_spread(aligned_scores: AlignedScores) -> list[int]:
    """Return the queries' places, that with the largest spread of the first measure's scores first.

    The spread is over the systems; queries with the same spread keep their order.
    """
    found: list[int] = np.argsort(-np.ptp(aligned_scores.scores[0], axis=1), kind="stable").tolist()
    return found


def read_rankings(
    source: EvaluatedRuns, query_ids: Sequence[str], depth: int
) -> Iterator[QueryRankings]:
    """Yield the rankings of some queries, in this order: as many as fit in memory together."""
    judging = source.judging
    judged, n_rows = source.qrels.select_queries(query_ids), 0
    every: list[dict[str, Rankings]] = []  # of each system, by query
    for n, run in enumerate(watch_steps(source.runs.values(), "rankings"), 1):
        its = run.resolve_spans(judged.spans, judging.overlap).read_rankings(query_ids, judging)
        every.append(its)
        n_rows += sum(its[query].rows_of_query[query].stop - its[query].rows_of_query[query].start for query in its)
        # If the other systems' rankings are as long, so many queries fit.
        fit = n * len(query_ids) * MAX_ROWS // max(n_rows * len(source.runs), 1)
        query_ids = query_ids[: max(fit, 1)]
    for query in query_ids:
        alone = judged.select_queries([query])
        seen = (SceneRankings.of(alone, one[query].select_query(query), judging).measured_ranking for one in every)
        yield QueryRankings.of(query, [encode_ids(one.docs) for one in seen], alone, depth)


def _list_notes(source: EvaluatedRuns) -> Iterator[Note]:
    """Yield notes on rankings that are shown in one order, with one grade for each document."""
    judging = source.judging
    if source.qrels.has_groups:
        text = "Judgments are in groups: the grade of a document is the best that any group has."
        yield Note("best-of-groups", "info", text)
    if source.qrels.spans is not None:
        text = "Documents are judged spans, and retrieved ones that meet none: document[start:end]."
        yield Note("spans-shown", "info", text)
    if judging.ties == "expected":
        text = "Measures average over tied documents; the rankings show these by id, descending."
        yield Note("ties-shown", "info", text)
    if judging.keeps_repeats:
        text = "If a system retrieved a document several times, the best rank is shown."
        yield Note("best-rank-shown", "info", text)


def _cut_text(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LETTERS else f"{text[: MAX_TEXT_LETTERS - 1]}…"
