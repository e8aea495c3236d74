"""Rankings: what every system ranked for a query, side by side, with the grades."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, ids_of
from cranfield.arrays.ranked import Ints
from cranfield.captions import without_text
from cranfield.comparison.alignment import Aligned, Evaluated
from cranfield.data.qrels import Qrels
from cranfield.data.ranking import Rankings
from cranfield.explanation.scene import Seen
from cranfield.extensions.report.blob import members_within
from cranfield.formats.small.texts import TextsLike, texts_of
from cranfield.notes import Note
from cranfield.progress import steps

DEPTH = 20  # ranks of each system
BUDGET = 600_000  # bytes
LONGEST = 330  # characters of a document's text
MOST_QUERIES = 3_000  # that have rankings
MOST_ROWS = 6_000_000  # of rankings that are held at once: some 20 bytes each


@dataclass(frozen=True)
class SideBySide:
    """What several systems ranked for one query.

    `docs` are the first documents of every system, those nearest to the top first, and then the
    relevant ones that are not among them. `ranks` has, for each system, the rank of each of
    `docs`, as measures see it, 0 if it was not retrieved. A grade is None if the document is
    not judged; for judgments in groups, it is the best of all groups.
    """

    query_id: str
    docs: Sequence[str]
    grades: Sequence[float | None]
    ranks: Ints  # (n_systems, n_docs)
    retrieved: Sequence[int]  # by each system
    relevant: int  # documents of the judgments
    first: int  # how many of `docs` are among the first of some system

    @classmethod
    def of(cls, query_id: str, rankings: Sequence[Ids], judged: Qrels, depth: int) -> "SideBySide":
        """Put the rankings of one query side by side; `judged` are its judgments alone."""
        n = [*map(len, rankings)]
        every = Ids.joined([*rankings, judged.docs])
        _, at, code = np.unique(every.numbers(), return_index=True, return_inverse=True)
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
            "d": self.docs,
            "g": self.grades,
            "r": self.ranks.tolist(),
            "n": self.retrieved,
            "rel": self.relevant,
        }
        if texts is not None:
            shown = (_cut(texts.get(doc, "")) for doc in self.docs[: self.first])
            found["t"] = [*shown, *[""] * (len(self.docs) - self.first)]
        return json.dumps(found, separators=(",", ":"))


@dataclass(frozen=True)
class EmbeddedRankings:
    """The rankings of some queries as the page holds them.

    `data` is base64 of gzip of a JSON object, by the number of the query: see `SideBySide.to_json`.
    """

    data: str
    n: int  # queries that it has
    of: int  # queries there are
    notes: Sequence[Note]


def rankings(
    aligned: Aligned,
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
    source = aligned.source
    if source is None:
        return None
    order = by_spread(aligned)
    # A query's ranks take at least so many bytes.
    least = 32 + len(aligned.names) * depth // 2
    most = min(1 + budget // least, MOST_QUERIES)
    wanted = [aligned.query_ids[i] for i in order[:most]]
    place = dict(zip(aligned.query_ids, range(len(aligned.query_ids)), strict=True))

    def pieces(sides: Iterable[SideBySide], texts: Mapping[str, str] | None) -> Iterator[str]:
        return (f'"{place[one.query_id]}":{one.to_json(texts)}' for one in sides)

    sides: list[SideBySide] = []

    def kept() -> Iterator[SideBySide]:
        for one in each_side_by_side(source, wanted, depth):
            sides.append(one)
            yield one

    data, n = members_within(pieces(kept(), None), budget)
    notes = [*_notes(source)]
    if doc_texts is not None:
        shown = dict.fromkeys(doc for one in sides[:n] for doc in one.docs[: one.first])
        texts = texts_of(doc_texts, shown, "the texts of documents", of="doc")
        data, n = members_within(pieces(sides[:n], texts), budget)
        notes += without_text(shown, texts, "documents")
    return EmbeddedRankings(data, n, len(aligned.query_ids), notes)


def by_spread(aligned: Aligned) -> list[int]:
    """Return the queries' places, that with the largest spread of the first measure's scores first.

    The spread is over the systems; queries with the same spread keep their order.
    """
    found: list[int] = np.argsort(-np.ptp(aligned.values[0], axis=1), kind="stable").tolist()
    return found


def each_side_by_side(
    source: Evaluated, query_ids: Sequence[str], depth: int
) -> Iterator[SideBySide]:
    """Yield the rankings of some queries, in this order: as many as fit in memory together."""
    judging = source.judging
    judged, n_rows = source.qrels.of(query_ids), 0
    every: list[dict[str, Rankings]] = []  # of each system, by query
    for n, run in enumerate(steps(source.runs.values(), "rankings"), 1):
        its = run.against(judged.spans, judging.overlap).rankings(query_ids, judging)
        every.append(its)
        n_rows += sum(its[query].rows[query].stop - its[query].rows[query].start for query in its)
        # If the other systems' rankings are as long, so many queries fit.
        fit = n * len(query_ids) * MOST_ROWS // max(n_rows * len(source.runs), 1)
        query_ids = query_ids[: max(fit, 1)]
    for query in query_ids:
        alone = judged.of([query])
        seen = (Seen.of(alone, one[query].of(query), judging).kept for one in every)
        yield SideBySide.of(query, [ids_of(one.docs) for one in seen], alone, depth)


def _notes(source: Evaluated) -> Iterator[Note]:
    """Yield notes on rankings that are shown in one order, with one grade for each document."""
    judging = source.judging
    if source.qrels.in_groups:
        text = "Judgments are in groups: the grade of a document is the best that any group has."
        yield Note("best-of-groups", "info", text)
    if source.qrels.spans is not None:
        text = "Documents are judged spans, and retrieved ones that meet none: document[start:end]."
        yield Note("spans-shown", "info", text)
    if judging.ties == "expected":
        text = "Measures average over tied documents; the rankings show these by id, descending."
        yield Note("ties-shown", "info", text)
    if judging.keeps_repeated:
        text = "If a system retrieved a document several times, the best rank is shown."
        yield Note("best-rank-shown", "info", text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
