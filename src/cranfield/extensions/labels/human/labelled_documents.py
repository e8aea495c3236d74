"""Labelled documents: the sample where people labelled single documents, not whole queries."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ids import encode_ids
from cranfield.arrays.ranked import Bools, Floats, Ints, means
from cranfield.comparison.aligned_scores import AlignedScores, EvaluatedRuns
from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError, NothingSharedError, OptionError
from cranfield.extensions.labels.added import deepest_rank, score_contributions
from cranfield.extensions.labels.human.powered import DocumentScores, Sample
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_number, format_p, format_short

MIN_P = 0.01  # with a smaller p, what people labelled does not look drawn by chance
ROUNDING = 1e-9  # of shares and scores: what differs by no more is the same
_MIN_DOCUMENTS = 30  # with fewer labelled documents, intervals held less often in trials
_MIN_RELEVANT = 10  # and with fewer relevant documents among them
_MANY_PER_QUERY = 3  # with so many labelled documents to a query, few queries have none by chance


class _Contributions(NamedTuple):
    """What each document that people labelled adds to scores: (n_measures, n_systems, ...).

    0 for a document that is not retrieved, or that the measure does not look at.
    """

    y: Floats  # (..., rows) by people's labels
    f: Floats  # (..., rows) by the model's labels
    is_looked_at: Bools  # (..., rows)
    model_scores: Floats  # (..., n_queries) the scores by the model's labels
    n_looked_at: Ints  # (...) how many retrieved documents the measure looks at

    def select(self, rows: Ints) -> "_Contributions":
        """Return the contributions of some of the labelled documents."""
        y, f, looked_at = (column[:, :, rows] for column in (self.y, self.f, self.is_looked_at))
        return self._replace(y=y, f=f, is_looked_at=looked_at)


def describe_chances(chance: Floats) -> str:
    """Return a phrase of the probabilities with which a sample was drawn."""
    low, high = format_short(chance.min().item()), format_short(chance.max().item())
    return f"{low} each" if chance.min() == chance.max() else f"from {low} to {high}"


def sample_documents(
    scores: AlignedScores, source: EvaluatedRuns, human_labels: Qrels, lam: float | None
) -> Sample:
    """Return the sample where people labelled single documents."""
    _check_documents(source.judging, human_labels)
    label_codes = human_labels.find_codes(encode_ids(scores.query_ids))
    query_of_code = np.full(len(human_labels.query_ids), -1)
    query_of_code[label_codes[label_codes >= 0]] = np.flatnonzero(label_codes >= 0)
    query = query_of_code[human_labels.query]
    rows = np.flatnonzero((query >= 0) & (human_labels.grade >= 0))
    # Sorted: the order of the labels changes no bit.
    rows = rows[np.lexsort((human_labels.docs.sort_keys()[rows], query[rows]))]
    if not len(rows):
        raise NothingSharedError(
            "no document with a human label belongs to a query with the model's labels",
            hint=f"The human labels have {human_labels.query_ids[0]!r:.80}, the model's "
            f"{scores.query_ids[0]!r:.80}.",
        )
    if len(scores.query_ids) < 2:
        raise InputError("one query: an interval needs two at least")
    measures = [
        measure for name in scores.measures if (measure := scores.find_measure(name)) is not None
    ]
    contributions = _compute_contributions(scores, source, human_labels, measures).select(rows)
    chance = np.asarray(human_labels.columns["probability"], np.float64)[rows]

    def select(m: int, i: int, base: int | None) -> DocumentScores:
        """Return what documents add to the scores of system i, or to those beside `base`."""
        y, f, model_scores = (
            column[m, i] - (0.0 if base is None else column[m, base])
            for column in (contributions.y, contributions.f, contributions.model_scores)
        )
        return DocumentScores(query[rows], y, f, chance, model_scores)

    text = (
        f"{format_count(len(rows), 'document')} of "
        f"{format_count(len(np.unique(query[rows])), 'query', 'queries')} drawn by chance, with a "
        f"probability of {describe_chances(chance)}, from all that the measure looks at."
    )
    notes = [Note("sample", "info", text, count=len(rows))]
    notes += _whole_query_notes(query[rows], len(scores.query_ids))
    notes += _chance_notes(scores, contributions, chance)
    notes += _document_count_notes(scores, contributions)
    is_relevant = (contributions.y != 0) | (contributions.f != 0)
    n_looked_at, n_relevant = (
        max(1, column.sum(axis=2).min()) for column in (contributions.is_looked_at, is_relevant)
    )
    n_reliable = len(rows) * max(_MIN_DOCUMENTS / n_looked_at, _MIN_RELEVANT / n_relevant)
    n, n_pooled = len(scores.query_ids), float((1 / chance).sum())
    return Sample("document", len(rows), n, n - 1, lam, select, notes, n_pooled, float(n_reliable))


def _whole_query_notes(query: Ints, n_queries: int) -> Iterator[Note]:
    """Warn where it looks as if whole queries were drawn, not single documents."""
    n_without_label, n_per_query = n_queries - len(np.unique(query)), len(query) / n_queries
    # A query would have no label with a probability of about exp(-n_per_query) by chance.
    if n_per_query >= _MANY_PER_QUERY and n_without_label > n_queries / 4:
        text = (
            f"{n_without_label:,} of {n_queries:,} queries have no labelled document, though there "
            f"are {format_number(n_per_query, 1)} to a query: were whole queries drawn? Their "
            "probabilities are in a column query_probability."
        )
        yield Note("whole-queries", "warning", text, n_without_label)


def _check_documents(judging: Judging, human_labels: Qrels) -> None:
    """Raise OptionError or InputError where labelled documents cannot be used."""
    if judging.judged_only or judging.unretrieved == "below" or judging.keeps_repeats:
        raise OptionError(
            "ranks must not depend on which documents are labelled: leave judged_only, "
            "unretrieved='below' and duplicates that keep every row out"
        )
    if not judging.has_one_tie_order:
        raise OptionError(
            f"ties={judging.ties!r} ranks by the labels: choose another rule for ties"
        )
    if "query_probability" in human_labels.columns:
        raise InputError(
            "the human labels have probabilities of queries and of documents",
            source=human_labels.source,
            hint="Leave out the column of what was not drawn by chance.",
        )


def _compute_contributions(
    scores: AlignedScores, source: EvaluatedRuns, human_labels: Qrels, measures: Sequence[Measure]
) -> _Contributions:
    """Compute what documents add to each run's scores, by people's and by the model's labels."""
    runs, n_rows = list(source.runs.values()), len(human_labels)
    numbered_labels = human_labels.replace_fields(
        columns={**human_labels.columns, "number": np.arange(n_rows)}
    )
    shape = len(measures), len(runs)
    y, f = np.zeros((2, *shape, n_rows))
    is_looked_at, n_looked_at = np.zeros((*shape, n_rows), np.bool_), np.zeros(shape, np.int64)
    model_scores = np.zeros((*shape, len(scores.query_ids)))
    row_of_query = {query_id: i for i, query_id in enumerate(scores.query_ids)}
    matches = zip(
        judge_all(source.qrels, runs, source.judging),
        judge_all(numbered_labels, runs, source.judging, defer_check=True),
        strict=True,
    )
    for s, (model_match, human_match) in enumerate(matches):
        model_query, human_query = (
            np.array([row_of_query.get(query_id, -1) for query_id in match.query_ids], np.int64)
            for match in (model_match, human_match)
        )
        hits, labelled_hits = model_match.judged.hits, human_match.judged.hits
        number_of_row = labelled_hits.columns["number"]
        _, hit_rows, labelled_rows = np.intersect1d(  # a known query and a rank occur once
            _query_rank_keys(model_query[hits.query], hits.rank),
            _query_rank_keys(human_query[labelled_hits.query], labelled_hits.rank),
            return_indices=True,
        )
        n_retrieved = model_match.judged.n_retrieved[model_query >= 0, 0]
        for m, measure in enumerate(measures):
            last_rank = deepest_rank(measure)
            hit_contributions = score_contributions(measure, model_match.judged)
            y[m, s, number_of_row] = score_contributions(measure, human_match.judged)
            f[m, s, number_of_row[labelled_rows]] = hit_contributions[hit_rows]
            is_looked_at[m, s, number_of_row] = labelled_hits.rank <= last_rank
            n_looked_at[m, s] = np.minimum(n_retrieved, last_rank).sum()
            query_sums = np.bincount(hits.query, hit_contributions, len(model_query))
            model_scores[m, s, model_query[model_query >= 0]] = query_sums[model_query >= 0]
    return _Contributions(y, f, is_looked_at, model_scores, n_looked_at)


def _query_rank_keys(query: Ints, rank: Ints) -> Ints:
    """Return a number for each pair of query and rank, below 0 for an unknown query, -1."""
    return (query.astype(np.int64) << 32) + rank


def _chance_notes(
    scores: AlignedScores, contributions: _Contributions, chance: Floats
) -> Iterator[Note]:
    """Warn where the labelled documents do not look drawn with their probabilities.

    A labelled document stands for 1 / chance of all documents. On average over the systems, the sum
    of these should be the number of documents that the measure looks at; and the weighted sum of
    the labelled documents' contributions by the model's labels should be the sum of its scores.
    """
    from scipy.special import ndtr

    for m, measure in enumerate(scores.measures):
        n_all = float(contributions.n_looked_at[m].mean())
        for expected_sum, contribution, phrase in (
            (
                n_all,
                means(contributions.is_looked_at[m] * 1.0),
                "stand for {:,.0f} of the {:,.0f} documents of a run that {measure} looks at",
            ),
            (
                float(np.sum(means(contributions.model_scores[m]))),
                means(contributions.f[m]),
                "make scores by the model's labels of {:.4g} in all, all documents of {:.4g}",
            ),
        ):
            estimated_sum = float(np.sum(contribution / chance))
            error = float(np.sqrt(np.sum((1 - chance) * (contribution / chance) ** 2)))
            deviation = abs(estimated_sum - expected_sum)
            p = (
                2 * float(ndtr(-deviation / error))
                if error > 0
                else float(deviation <= ROUNDING * expected_sum)
            )
            if p >= MIN_P:
                continue
            text = (
                "The labelled documents do not look drawn with these probabilities: they "
                f"{phrase.format(estimated_sum, expected_sum, measure=measure)} (p {format_p(p)}). "
                "Was the top of the rankings labelled only, is the pool less deep than the measure "
                "looks, or were some left out? Then the interval does not hold."
            )
            yield Note("not-by-chance", "warning", text, len(scores.query_ids))
            return


def _document_count_notes(scores: AlignedScores, contributions: _Contributions) -> Iterator[Note]:
    """Warn where a measure looks at few labelled documents, or few of these are relevant."""
    for m, measure in enumerate(scores.measures):
        n = int(contributions.is_looked_at[m].sum(axis=1).min())
        is_relevant = (contributions.y[m] != 0) | (contributions.f[m] != 0)
        n_relevant = int(is_relevant.sum(axis=1).min())
        if n < _MIN_DOCUMENTS or n_relevant < _MIN_RELEVANT:
            text = (
                f"{measure} looks at {format_count(n, 'labelled document')} of a run, of which "
                f"{n_relevant:,} are relevant by either label: with fewer than {_MIN_DOCUMENTS}, "
                f"or than {_MIN_RELEVANT} relevant ones, intervals hold less often than they say."
            )
            yield Note("few-documents", "warning", text, count=n)
            return
