"""Single documents that people labelled, beside the labels of a model."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ids import encode_ids
from cranfield.arrays.ranked import Bools, Floats, Ints, means
from cranfield.comparison.alignment import AlignedScores, EvaluatedRuns
from cranfield.data.judge import judge_all
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError, NothingSharedError, OptionError
from cranfield.extensions.labels.added import score_contributions, deepest_rank
from cranfield.extensions.labels.human.powered import PoweredEstimate, Sample, estimate_by_documents
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import format_number, format_count, format_p, format_short

MIN_P = 0.01  # with a smaller p, the labelled ones do not look drawn by chance
ROUNDING = 1e-9
_MIN_DOCUMENTS = 30  # labelled ones, with fewer of which intervals were seen to hold less often
_MIN_RELEVANT = 10  # and of these, relevant ones
_MANY_PER_QUERY = 3  # labelled documents to a query: with so many, few queries have none by chance


class _Contributions(NamedTuple):
    """What documents add to each score: (n_measures, n_systems, ...), of each human-labelled one.

    0 for a document that is not retrieved, or that the measure does not look at.
    """

    y: Floats  # (..., rows) by their own labels
    f: Floats  # (..., rows) by the model's
    is_looked_at: Bools  # (..., rows)
    model_scores: Floats  # (..., n_queries) the whole scores by the model's labels
    n_looked_at: Ints  # (...) of all retrieved documents

    def select(self, rows: Ints) -> "_Contributions":
        """Return the same of some of the labelled documents."""
        y, f, looked_at = (part[:, :, rows] for part in (self.y, self.f, self.is_looked_at))
        return self._replace(y=y, f=f, looked_at=looked_at)


def sample_documents(scores: AlignedScores, source: EvaluatedRuns, human_labels: Qrels, lam: float | None) -> Sample:
    """Return the sample where people labelled single documents."""
    _check_documents(source.judging, human_labels)
    known = human_labels.find_codes(encode_ids(scores.query_ids))
    of_ours = np.full(len(human_labels.query_ids), -1)
    of_ours[known[known >= 0]] = np.flatnonzero(known >= 0)
    query = of_ours[human_labels.query]
    rows = np.flatnonzero((query >= 0) & (human_labels.grade >= 0))
    rows = rows[np.lexsort((human_labels.docs.sort_keys()[rows], query[rows]))]  # in any order
    if not len(rows):
        raise NothingSharedError(
            "no document with a human label belongs to a query with the model's labels",
            hint=f"The human labels have {human_labels.query_ids[0]!r:.80}, the model's "
            f"{scores.query_ids[0]!r:.80}.",
        )
    if len(scores.query_ids) < 2:
        raise InputError("one query: an interval needs two at least")
    measures = [one for name in scores.measures if (one := scores.find_measure(name)) is not None]
    adds = _compute_contributions(scores, source, human_labels, measures).select(rows)
    chance = np.asarray(human_labels.columns["probability"], np.float64)[rows]

    def estimate(m: int, i: int, base: int | None) -> PoweredEstimate:
        y, f, of_model = (
            part[m, i] - (0.0 if base is None else part[m, base])
            for part in (adds.y, adds.f, adds.model_scores)
        )
        return estimate_by_documents(query[rows], y, f, chance, of_model, lam)

    low, high = chance.min().item(), chance.max().item()
    how = f"{format_short(low)} each" if low == high else f"from {format_short(low)} to {format_short(high)}"
    text = (
        f"{format_count(len(rows), 'document')} of "
        f"{format_count(len(np.unique(query[rows])), 'query', 'queries')} drawn by chance, with a "
        f"probability of {how}, from all that the measure looks at."
    )
    notes = [Note("sample", "info", text, count=len(rows))]
    notes += _whole_query_notes(query[rows], len(scores.query_ids))
    notes += _chance_notes(scores, adds, chance)
    notes += _few_document_notes(scores, adds)
    n = len(scores.query_ids)
    return Sample("document", len(rows), n, n - 1, estimate, notes)


def _whole_query_notes(query: Ints, n_queries: int) -> Iterator[Note]:
    """Warn where it looks as if whole queries were drawn, not single documents."""
    without = n_queries - len(np.unique(query))
    # A query would have no label with a probability of about exp(-each) by chance.
    if (each := len(query) / n_queries) >= _MANY_PER_QUERY and without > n_queries / 4:
        text = (
            f"{without:,} of {n_queries:,} queries have no labelled document, though there are "
            f"{format_number(each, 1)} to a query: were whole queries drawn? Their probabilities are in a "
            "column query_probability."
        )
        yield Note("whole-queries", "warning", text, without)


def _check_documents(judging: Judging, judged: Qrels) -> None:
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
    if "query_probability" in judged.columns:
        raise InputError(
            "the human labels have probabilities of queries and of documents",
            source=judged.source,
            hint="Leave out the column of what was not drawn by chance.",
        )


def _compute_contributions(
    ours: AlignedScores, source: EvaluatedRuns, judged: Qrels, measures: Sequence[Measure]
) -> _Contributions:
    """Ask each measure what the documents of each run add, by people's and the model's labels."""
    runs, n_rows = list(source.runs.values()), len(judged)
    numbered = judged.replace_fields(columns={**judged.columns, "number": np.arange(n_rows)})
    shape = len(measures), len(runs)
    y, f = np.zeros((2, *shape, n_rows))
    looked_at, n_looked_at = np.zeros((*shape, n_rows), np.bool_), np.zeros(shape, np.int64)
    of_model = np.zeros((*shape, len(ours.query_ids)))
    index = {one: i for i, one in enumerate(ours.query_ids)}
    both = zip(
        judge_all(source.qrels, runs, source.judging),
        judge_all(numbered, runs, source.judging, defer_check=True),
        strict=True,
    )
    for s, (by_model, by_people) in enumerate(both):
        in_ours, in_theirs = (
            np.array([index.get(one, -1) for one in met.query_ids], np.int64)
            for met in (by_model, by_people)
        )
        hits, labelled = by_model.judged.hits, by_people.judged.hits
        number_of_row = labelled.columns["number"]
        _, of_hits, of_people = np.intersect1d(  # each pair of a query and a rank is there once
            _query_rank_keys(in_ours[hits.query], hits.rank),
            _query_rank_keys(in_theirs[labelled.query], labelled.rank),
            return_indices=True,
        )
        retrieved = by_model.judged.n_retrieved[in_ours >= 0, 0]
        for m, measure in enumerate(measures):
            deepest = deepest_rank(measure)
            adds = score_contributions(measure, by_model.judged)
            y[m, s, number_of_row] = score_contributions(measure, by_people.judged)
            f[m, s, number_of_row[of_people]] = adds[of_hits]
            looked_at[m, s, number_of_row] = labelled.rank <= deepest
            n_looked_at[m, s] = np.minimum(retrieved, deepest).sum()
            sums = np.bincount(hits.query, adds, len(in_ours))
            of_model[m, s, in_ours[in_ours >= 0]] = sums[in_ours >= 0]
    return _Contributions(y, f, looked_at, of_model, n_looked_at)


def _query_rank_keys(query: Ints, rank: Ints) -> Ints:
    """Return a number for each query and rank; of an unknown query, -1, one below 0."""
    return (query.astype(np.int64) << 32) + rank


def _chance_notes(ours: AlignedScores, adds: _Contributions, chance: Floats) -> Iterator[Note]:
    """Warn where the labelled documents do not look drawn with their probabilities.

    Each stands for 1 / chance of all documents: so many they should be, and that relevant by the
    model's labels. (On average over the systems.)
    """
    from scipy.special import ndtr

    for m, measure in enumerate(ours.measures):
        n_all = float(adds.n_looked_at[m].mean())
        for whole, each, said in (
            (
                n_all,
                means(adds.is_looked_at[m] * 1.0),
                "stand for {:,.0f} of the {:,.0f} documents of a run that {measure} looks at",
            ),
            (
                float(np.sum(means(adds.model_scores[m]))),
                means(adds.f[m]),
                "make scores by the model's labels of {:.4g} in all, all documents of {:.4g}",
            ),
        ):
            seen = float(np.sum(each / chance))
            error = float(np.sqrt(np.sum((1 - chance) * (each / chance) ** 2)))
            off = abs(seen - whole)
            p = 2 * float(ndtr(-off / error)) if error > 0 else float(off <= ROUNDING * whole)
            if p >= MIN_P:
                continue
            text = (
                "The labelled documents do not look drawn with these probabilities: they "
                f"{said.format(seen, whole, measure=measure)} (p {format_p(p)}). Was the top of "
                "the rankings labelled only, is the pool less deep than the measure looks, or were "
                "some left out? Then the interval does not hold."
            )
            yield Note("not-by-chance", "warning", text, len(ours.query_ids))
            return


def _few_document_notes(ours: AlignedScores, adds: _Contributions) -> Iterator[Note]:
    """Warn where few of the labelled documents matter."""
    for m, measure in enumerate(ours.measures):
        n = int(adds.is_looked_at[m].sum(axis=1).min())
        some = (adds.y[m] != 0) | (adds.f[m] != 0)
        relevant = int(some.sum(axis=1).min())
        if n < _MIN_DOCUMENTS or relevant < _MIN_RELEVANT:
            text = (
                f"{measure} looks at {format_count(n, 'labelled document')} of a run, of which "
                f"{relevant:,} are relevant by either label: with fewer than {_MIN_DOCUMENTS}, or "
                f"than {_MIN_RELEVANT} relevant ones, intervals hold less often than they say."
            )
            yield Note("few-documents", "warning", text, count=n)
            return
