"""Rankings: the documents that every system ranked for a query, side by side, with the grades."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.captions import missing_text_notes
from cranfield.comparison.aligned_scores import AlignedScores, EvaluatedRuns
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Rankings
from cranfield.explanation.scene import SceneRankings
from cranfield.extensions.report.blob import pack_members
from cranfield.formats.small.texts import TextsLike, read_texts
from cranfield.notes import Note
from cranfield.progress import watch_steps

DEPTH = 20  # ranks of each system
BUDGET = 600_000  # bytes of the archive
MAX_TEXT_LETTERS = 330  # characters of a document's text
MAX_QUERIES = 3_000  # that have rankings
MAX_ROWS = 6_000_000  # of rankings to be held at once, about: some 20 bytes each


@dataclass(frozen=True)
class QueryRankings:
    """The documents that several systems ranked for one query.

    `doc_ids` are the first documents of every system, the documents nearest to the top first, and
    then the relevant documents that are not among them. `ranks` has, for each system, the rank of
    each document, as measures see it, 0 if it was not retrieved. A grade is None if the document is
    not judged; for judgments in groups, it is the best grade of all groups.
    """

    query_id: str
    doc_ids: Sequence[str]
    grades: Sequence[float | None]
    ranks: Ints  # (n_systems, n_docs)
    n_retrieved: Sequence[int]  # rows of each system's ranking
    n_relevant: int  # documents of a grade above 0 in the judgments
    n_first: int  # how many of `doc_ids` are among the first documents of a system

    @classmethod
    def of(
        cls, query_id: str, rankings: Sequence[Ids], judged: Qrels, depth: int
    ) -> "QueryRankings":
        """Put a query's rankings, ids by rank, side by side; `judged` are its judgments alone."""
        lengths = [*map(len, rankings)]
        all_ids = Ids.concatenate([*rankings, judged.docs])
        _, first_row, code = np.unique(all_ids.sort_keys(), return_index=True, return_inverse=True)
        system = np.repeat(np.arange(len(lengths)), lengths)
        rank = np.concatenate(
            [*(np.arange(1, size + 1) for size in lengths), np.zeros(0, np.int64)]
        )
        no_rank = max(lengths, default=0) + 1  # more than any rank
        best_rank = np.full((len(lengths), len(first_row)), no_rank)
        grade = np.full(len(first_row), np.nan)
        np.minimum.at(best_rank, (system, code[: len(rank)]), rank)
        grade[code[len(rank) :]] = judged.grade
        top_rank = best_rank.min(axis=0, initial=no_rank)
        is_first, is_relevant = top_rank <= min(depth, no_rank - 1), grade > 0
        rows = np.flatnonzero(is_first | is_relevant)
        rows = rows[np.lexsort((np.where(is_first, top_rank, -grade)[rows], ~is_first[rows]))]
        has_whole_grades = judged.grade.dtype != np.float64
        grades = [
            None if number != number else int(number) if has_whole_grades else number
            for number in grade[rows].tolist()
        ]
        return cls(
            query_id,
            all_ids.take(first_row[rows]).to_texts(),
            grades,
            np.where(best_rank < no_rank, best_rank, 0)[:, rows],
            lengths,
            int(np.count_nonzero(is_relevant)),
            int(np.count_nonzero(is_first)),
        )

    def to_json(self, texts: Mapping[str, str] | None = None) -> str:
        """Return the object that the page's script reads, as compact JSON; `texts`: {doc: text}."""
        json_object: dict[str, Any] = {
            "d": self.doc_ids,
            "g": self.grades,
            "r": self.ranks.tolist(),
            "n": self.n_retrieved,
            "rel": self.n_relevant,
        }
        if texts is not None:
            doc_texts = (_cut_text(texts.get(doc, "")) for doc in self.doc_ids[: self.n_first])
            json_object["t"] = [*doc_texts, *[""] * (len(self.doc_ids) - self.n_first)]
        return json.dumps(json_object, separators=(",", ":"))


@dataclass(frozen=True)
class EmbeddedRankings:
    """The rankings of some queries as the page holds them.

    `archive` is base64 of gzip of a JSON object, {number of the query: `QueryRankings.to_json`},
    or empty if not even one fits.
    """

    archive: str
    n_queries: int  # queries whose rankings it has
    n_total: int  # all queries
    notes: Sequence[Note]


def embed_rankings(
    aligned_scores: AlignedScores,
    *,
    depth: int = DEPTH,
    budget: int = BUDGET,
    doc_texts: "TextsLike | None" = None,
) -> EmbeddedRankings | None:
    """Return the rankings of queries, those on which systems differ most first, 3,000 at most.

    Args:
        aligned_scores: scores that come from judgments and runs; None is returned for saved scores.
        depth: how many documents of each system are shown.
        budget: how many bytes `archive` may have. The queries with the largest spread of the first
            measure's scores over the systems come first.
        doc_texts: titles or texts of documents, as `with_texts` takes them: of documents among the
            first `depth` of a system, at most 330 characters.

    Each run is read once more.

    """
    source = aligned_scores.evaluated_runs
    if source is None:
        return None
    order = order_by_spread(aligned_scores)
    # A query's ranks are taken to need at least `min_bytes`.
    min_bytes = 32 + len(aligned_scores.system_names) * depth // 2
    max_queries = min(1 + budget // min_bytes, MAX_QUERIES)
    query_ids = [aligned_scores.query_ids[i] for i in order[:max_queries]]
    index_of_query = dict(
        zip(aligned_scores.query_ids, range(len(aligned_scores.query_ids)), strict=True)
    )

    def write_members(
        rankings_list: Iterable[QueryRankings], texts: Mapping[str, str] | None
    ) -> Iterator[str]:
        return (
            f'"{index_of_query[rankings.query_id]}":{rankings.to_json(texts)}'
            for rankings in rankings_list
        )

    rankings_list: list[QueryRankings] = []

    def collect_rankings() -> Iterator[QueryRankings]:
        for rankings in read_rankings(source, query_ids, depth):
            rankings_list.append(rankings)
            yield rankings

    archive, n_queries = pack_members(write_members(collect_rankings(), None), budget)
    notes = [*_list_notes(source)]
    if doc_texts is not None:
        shown_docs = dict.fromkeys(
            doc
            for rankings in rankings_list[:n_queries]
            for doc in rankings.doc_ids[: rankings.n_first]
        )
        texts = read_texts(doc_texts, shown_docs, "the texts of documents", role="doc")
        archive, n_queries = pack_members(write_members(rankings_list[:n_queries], texts), budget)
        notes += missing_text_notes(shown_docs, texts, "documents")
    return EmbeddedRankings(archive, n_queries, len(aligned_scores.query_ids), notes)


def order_by_spread(aligned_scores: AlignedScores) -> list[int]:
    """Return the queries' row numbers, the largest spread of the first measure's scores first.

    The spread is over the systems; queries with the same spread keep their order.
    """
    order: list[int] = np.argsort(-np.ptp(aligned_scores.scores[0], axis=1), kind="stable").tolist()
    return order


def read_rankings(
    source: EvaluatedRuns, query_ids: Sequence[str], depth: int
) -> Iterator[QueryRankings]:
    """Yield the rankings of some queries, in their order: of the first that fit in `MAX_ROWS`."""
    judging = source.judging
    qrels, n_rows = source.qrels.select_queries(query_ids), 0
    rankings_of_system: list[dict[str, Rankings]] = []  # {query: rankings} of each system
    for n, run in enumerate(watch_steps(source.runs.values(), "rankings"), 1):
        run = run.resolve_spans(qrels.spans, judging.overlap)
        rankings_of_query = run.read_rankings(query_ids, judging)
        rankings_of_system.append(rankings_of_query)
        for query_id, rankings in rankings_of_query.items():
            rows = rankings.rows_of_query[query_id]
            n_rows += rows.stop - rows.start
        # If the other systems' rankings are as long, `n_fit` queries fit.
        n_fit = n * len(query_ids) * MAX_ROWS // max(n_rows * len(source.runs), 1)
        query_ids = query_ids[: max(n_fit, 1)]
    for query_id in query_ids:
        query_qrels = qrels.select_queries([query_id])
        doc_ids = []
        for rankings_of_query in rankings_of_system:
            ranking = rankings_of_query[query_id].select_query(query_id)
            measured_ranking = SceneRankings.of(query_qrels, ranking, judging).measured_ranking
            doc_ids.append(encode_ids(measured_ranking.docs))
        yield QueryRankings.of(query_id, doc_ids, query_qrels, depth)


def _list_notes(source: EvaluatedRuns) -> Iterator[Note]:
    """Yield notes on how groups, spans, tied and repeated documents are shown in the rankings."""
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
