"""What people labelled, beside the labels of a model: whole queries, or single documents."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode_ids
from cranfield.arrays.ranked import Floats, Ints, means
from cranfield.comparison.alignment import AlignedScores, EvaluatedRuns, align
from cranfield.comparison.mean_interval import note_intervals
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import TIE
from cranfield.comparison.units import Units
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.errors import InputError, NothingSharedError, escape_unprintable
from cranfield.extensions.labels.human.labelled_documents import MIN_P, ROUNDING, sample_documents
from cranfield.extensions.labels.human.powered import PoweredEstimate, Sample, estimate_by_queries, deviation_from_chance
from cranfield.notes import Note
from cranfield.render.numbers import format_number, format_count, format_shortest, format_p, format_share, format_short
from cranfield.scoring.arguments import Reading

_MIN_EFFECTIVE_QUERIES = 20  # labelled queries, as many equally likely ones as they are worth
_MIN_DIFFERING_QUERIES = 10  # queries on which two systems differ
_REPEATED_NOTES = ("without-score", "dropped", "percent")  # notes on the human scores to repeat


class LabelledQueries(Units):
    """The queries that people labelled, each a unit of its own."""

    words = "labelled queries"


def sample_labels(
    scores: AlignedScores,
    human: Any,
    alignment: Alignment,
    judging: Judging,
    reading: Reading,
    lam: float | None,
    baseline: int,
) -> tuple[AlignedScores, Sample]:
    """Return the scores by the model's labels, and what people labelled beside.

    Where people gave a higher grade than the model, its labels are on their scale, as theirs are on
    the model's: measures such as ERR depend on the highest grade. `base` is the baseline's place.
    `human` are judgments where these are scores of runs, and scores where these were given. Raises
    the errors of `prediction_powered`.
    """
    source = scores.evaluated_runs
    if source is None:
        return scores, _sample_queries(scores, _align_human_scores(human, scores, alignment), None, lam, baseline)
    try:
        judged = make_qrels(human, duplicates=judging.duplicates)
    except InputError as error:
        raise error.add_reason("These are the human labels.") from None
    left_out = [*_lost_label_notes(judged, scores)]
    judged = _drop_ungraded(judged)
    tops = judged.top_grade, source.qrels.top_grade
    if tops[0] != tops[1]:
        text = (
            f"The highest grade is {format_shortest(tops[0])} by people and {format_shortest(tops[1])} by the model: "
            f"measures that depend on it take {format_shortest(max(tops))}."
        )
        left_out.append(Note("highest-grade", "info", text))
    if tops[0] > tops[1]:
        model = source.qrels.with_top_grade(tops[0])
        runs, measures = dict(source.runs), list(scores.measures)
        scores = align(model, runs, measures, alignment, source.judging, reading)
        source = scores.evaluated_runs or source
    elif tops[0] < tops[1]:
        judged = judged.with_top_grade(tops[1])
    found = _make_sample(scores, source, judged, alignment, lam, baseline)
    notes = [*left_out, *_unknown_document_notes(source, judged), *found.notes]
    return scores, found._replace(notes=notes)


def _drop_ungraded(judged: Qrels) -> Qrels:
    """Return the judgments of queries that have a grade of at least 0."""
    some = np.bincount(judged.query, judged.grade >= 0, len(judged.query_ids)) > 0
    if not some.any():
        raise InputError(
            "all human labels are below 0, which says that nobody judged the document",
            source=judged.source,
        )
    return judged if some.all() else judged.select_queries([*compress(judged.query_ids, some)])


def _unknown_document_notes(source: EvaluatedRuns, judged: Qrels) -> Iterator[Note]:
    """Warn of labelled documents that the model did not label, and no run has."""
    there = set(source.qrels.query_ids)
    ids = [one for one in judged.query_ids if one in there]
    known = {query: set(docs) for query, docs in source.qrels.select_queries(ids).to_dict().items()}
    for run in source.runs.values():
        rankings = run.read_rankings(ids, source.judging)
        for query in ids:
            known[query].update(rankings[query].select_query(query).docs)
    labelled = judged.select_queries(ids).to_dict()
    unknown = [(q, doc) for q, docs in labelled.items() for doc in docs if doc not in known[q]]
    if unknown:
        query, doc = unknown[0]
        text = (
            f"{format_count(len(unknown), 'labelled document is', 'labelled documents are')} in no "
            f"run and without a model's label, as {doc!r:.80} of query {query!r:.80}: are the ids "
            "spelled alike?"
        )
        yield Note("unknown-labelled", "warning", text, count=len(unknown))


def _make_sample(
    ours: AlignedScores,
    source: EvaluatedRuns,
    judged: Qrels,
    alignment: Alignment,
    lam: float | None,
    base: int,
) -> Sample:
    if "probability" in judged.columns:
        return sample_documents(ours, source, judged, lam)
    try:
        theirs = align(*(judged, dict(source.runs), list(ours.measures), alignment, source.judging))
    except NothingSharedError as error:
        raise error.add_reason("These are the human labels and the runs.") from None
    return _sample_queries(ours, theirs, judged, lam, base)


def _lost_label_notes(judged: Qrels, ours: AlignedScores) -> Iterator[Note]:
    """Warn where rows of the human labels were left out, or say nothing."""
    known = judged.find_codes(encode_ids(ours.query_ids))
    of_ours = np.zeros(len(judged.query_ids), np.bool_)
    of_ours[known[known >= 0]] = True
    if n := int((~of_ours[judged.query]).sum()):
        other = judged.query_ids[int(np.flatnonzero(~of_ours)[0])]
        text = (
            f"{format_count(n, 'human label')} of queries without a model's label left out, as of "
            f"{other!r:.80}."
        )
        yield Note("no-model-label", "warning", text, int((~of_ours).sum()), count=n)
    if n := int((judged.grade < 0).sum()):
        text = (
            f"{format_count(n, 'human label')} below 0, which says that nobody judged the document: "
            "it counts as one without a label, and so does a query that has no other. What remains "
            "is not drawn by chance."
        )
        yield Note("labels-below-0", "warning", text, count=n)
    if not judged.graded:
        text = (
            "No grades: every human label says relevant, grade 1. Is the column relevance missing?"
        )
        yield Note("no-grades", "warning", text, len(judged.query_ids))
    if n := judged.left_out.count:
        text = (
            f"{format_count(n, 'row')} of the human labels left out, the first for this: "
            f"{judged.left_out.first_error().problem}. What remains is not drawn by chance."
        )
        yield Note("labels-left-out", "warning", text, count=n)


def _align_human_scores(human: Any, ours: AlignedScores, alignment: Alignment) -> AlignedScores:
    """Return the scores of the queries that people judged, of the same systems and measures."""
    try:
        theirs = align(human, None, list(ours.measures), alignment)
    except InputError as error:
        raise error.add_reason("These are the human scores, as the model's are scores.") from None
    if set(theirs.system_names) != set(ours.system_names):
        raise InputError(
            f"the human scores are of {', '.join(map(escape_unprintable, theirs.system_names))}, the model's of "
            f"{', '.join(map(escape_unprintable, ours.system_names))}",
            hint="Both need the same systems, under the same names.",
        )
    order = [theirs.system_names.index(name) for name in ours.system_names]
    return replace(theirs, names=ours.system_names, values=theirs.scores[:, :, order])


def _sample_queries(
    ours: AlignedScores, theirs: AlignedScores, judged: Qrels | None, lam: float | None, base: int
) -> Sample:
    """Return the sample where people labelled whole queries; `judged` None: they gave scores."""
    place = {query: i for i, query in enumerate(ours.query_ids)}
    shared = [i for i, query in enumerate(theirs.query_ids) if query in place]
    if len(shared) < 2:
        raise InputError(
            f"{format_count(len(shared), 'query has', 'queries have')} both human and model labels: "
            "an interval needs two at least",
            hint=f"The human labels have {theirs.query_ids[0]!r:.80}, the model's "
            f"{ours.query_ids[0]!r:.80}.",
        )
    rows = np.array([place[theirs.query_ids[i]] for i in shared])
    others = np.delete(np.arange(len(ours.query_ids)), rows)
    y, f, rest = theirs.scores[:, shared], ours.scores[:, rows], ours.scores[:, others]
    chance = None if judged is None else _read_query_chances(judged, [theirs.query_ids[i] for i in shared])

    def estimate(m: int, i: int, base: int | None) -> PoweredEstimate:
        columns = [
            part[m, :, i] - (0.0 if base is None else part[m, :, base]) for part in (y, f, rest)
        ]
        return estimate_by_queries(columns[0], columns[1], columns[2], chance, lam)

    notes = [*_sample_notes(len(shared), len(ours.query_ids), chance, scores=judged is None)]
    filled = [note for note in theirs.notes if note.is_grave or note.code in _REPEATED_NOTES]
    notes += [replace(note, text=f"Human scores: {note}") for note in filled]
    if judged is None and (n_alone := len(theirs.query_ids) - len(shared)):
        text = f"{format_count(n_alone, 'query', 'queries')} with human scores alone: left out."
        notes.append(Note("no-model-label", "warning", text, n_alone))
    notes += _chance_notes(ours, f, chance, base)
    for m, measure in enumerate(ours.measures):
        named = [f"{name} ({measure})" for name in ours.system_names]
        notes += note_intervals(y[m], named, LabelledQueries())
    little = [*_little_labelled_notes(ours, theirs, np.array(shared), rows)]
    notes += little or _few_of_all_notes(ours, judged, rows)
    if len(ours.system_names) > 1:
        notes += _few_differ_notes(ours, y)
    n = len(shared)
    return Sample("query", n, len(ours.query_ids), n - 1, estimate, notes, y)


def _read_query_chances(judged: Qrels, query_ids: Sequence[str]) -> Floats | None:
    """Return the probability with which each query was drawn, as the labels state it."""
    column = judged.columns.get("query_probability")
    if column is None:
        return None
    codes = judged.find_codes(encode_ids(query_ids))
    begins, ends = judged.starts[codes], judged.starts[codes + 1]
    for query, begin, end in zip(query_ids, begins.tolist(), ends.tolist(), strict=True):
        if begin == end or np.ptp(column[begin:end]) > 0:
            raise InputError(
                f"query {query!r:.80} has different values of query_probability",
                source=judged.source,
                hint="A query was drawn with one probability: give all its documents the same.",
            )
    found: Floats = np.asarray(column, np.float64)[begins]
    return found


def _sample_notes(n: int, n_all: int, chance: Floats | None, *, scores: bool) -> Iterator[Note]:
    """Say how the labelled queries were drawn, as far as that is known."""
    if n == n_all:
        text = "All queries have human labels: the model's count for nothing."
        yield Note("all-labelled", "info", text, n)
    elif chance is None:
        text = (
            f"The {n:,} labelled queries are taken to be drawn by chance, each as likely as "
            f"another: {'scores do not say' if scores else 'nothing in the labels says'} how they "
            "were drawn."
        )
        yield Note("sample", "info", text, n)
    else:
        low, high = chance.min().item(), chance.max().item()
        how = f"{format_short(low)} each" if low == high else f"from {format_short(low)} to {format_short(high)}"
        text = f"{n:,} queries drawn by chance, with a probability of {how} (query_probability)."
        yield Note("sample", "info", text, n)
        worth = float((1 / chance).sum() ** 2 / (1 / chance**2).sum())
        if low < high and worth < _MIN_EFFECTIVE_QUERIES:
            text = (
                f"Their probabilities differ so much that the {n:,} labelled queries are worth "
                f"about {format_number(worth, 1)} equally likely ones: with fewer than {_MIN_EFFECTIVE_QUERIES}, "
                "95% intervals held in 82 to 92% of simulated cases."
            )
            yield Note("unequal", "warning", text, n)
        stood_for = float((1 / chance).sum())
        if abs(stood_for - n_all) > 1e-6 * n_all:
            far = not n_all / 2 <= stood_for <= 2 * n_all
            text = (
                f"By these probabilities, {n:,} labelled queries stand for {stood_for:,.0f}, and "
                f"there are {n_all:,}: "
                + ("is query_probability right?" if far else "are all labelled that were drawn?")
            )
            yield Note("probabilities", "warning" if far else "info", text, n)


def _chance_notes(ours: AlignedScores, f: Floats, chance: Floats | None, base: int) -> Iterator[Note]:
    """Warn where the labelled queries do not look drawn by chance, by the model's own labels.

    By the mean over the systems, and by each difference from the baseline.
    """
    n = f.shape[1]
    weight = np.ones(n) if chance is None else 1 / chance
    others = [i for i in range(len(ours.system_names)) if i != base]
    for m, measure in enumerate(ours.measures):
        for other in (None, *others):
            mine, every = (
                means(part.T) if other is None else part[:, other] - part[:, base]
                for part in (f[m], ours.scores[m])
            )
            found = deviation_from_chance(mine, every, chance)
            if found is None or found[1] >= MIN_P / (1 if other is None else len(others)):
                continue
            off, p = found
            what, how = f"mean {measure}", "easy" if (off > 0) == ours.is_higher_better(measure) else "hard"
            if other is not None:
                names = escape_unprintable(ours.system_names[other]), escape_unprintable(ours.system_names[base])
                what = f"mean difference of {names[0]} and {names[1]} ({measure})"
                how = "those with a large difference"
            text = (
                f"The labelled queries do not look drawn by chance: by the model's labels their "
                f"{what} is {format_number(float(np.average(mine, weights=weight)))}, that of all "
                f"queries {format_number(float(means(every[:, None])[0]))} (p {format_p(p)}). Were "
                f"{how} {'ones ' * (other is None)}chosen? Then the interval does not hold."
            )
            yield Note("not-by-chance", "warning", text, n)
            return


def _few_differ_notes(ours: AlignedScores, y: Floats) -> Iterator[Note]:
    """Say where human labels show few differences between systems."""
    n_differing = [int((np.ptp(scores, axis=1) > TIE).sum()) for scores in y]
    pairs = zip(ours.measures, n_differing, strict=True)
    few = [f"{measure} {n}" for measure, n in pairs if n < _MIN_DIFFERING_QUERIES]
    if few:
        text = (
            f"By human labels, systems differ on fewer than {_MIN_DIFFERING_QUERIES} queries "
            f"({', '.join(few)}): a rare, large difference is not ruled out, and intervals may be "
            "too narrow."
        )
        yield Note("few-differ", "warning", text, y.shape[1])


def _little_labelled_notes(ours: AlignedScores, theirs: AlignedScores, shared: Ints, rows: Ints) -> Iterator[Note]:
    """Warn where people labelled less than the model of what a measure looks at."""
    if ours.judged_share is None or theirs.judged_share is None:
        return
    for m, measure in enumerate(ours.measures):
        mine, others = ours.judged_share[m][rows], theirs.judged_share[m][shared]
        if not (others < mine - ROUNDING).any():
            continue
        text = (
            f"In the labelled queries, people labelled {format_share(others.mean().item())} of the "
            f"retrieved documents that {measure} looks at, the model "
            f"{format_share(mine.mean().item())}: those without a "
            "human label count as not relevant there. Label them, too; or draw documents by "
            "chance (cranfield pool --by chance --draw documents), whose labels have a column "
            "probability."
        )
        yield Note("little-labelled", "warning", text, len(rows))
        return


def _few_of_all_notes(ours: AlignedScores, judged: Qrels | None, rows: Ints) -> Iterator[Note]:
    """Warn where the model's scores depend on documents that people did not label.

    Of the labelled queries, the model's own labels of those documents alone that people labelled
    are to give the same scores.
    """
    source = ours.evaluated_runs
    if judged is None or source is None or source.qrels.has_groups or judged.has_groups:
        return
    query_ids = [ours.query_ids[row] for row in rows.tolist()]
    model, people = (one.select_queries(query_ids).to_dict() for one in (source.qrels, judged))
    both = {
        query: {doc: grade for doc, grade in model[query].items() if doc in people.get(query, {})}
        for query in query_ids
        if query in model
    }
    both = {query: docs for query, docs in both.items() if docs}
    if not both:
        return
    measures, alignment = list(ours.measures), Alignment(missing="zero")
    less = align(Qrels(both), dict(source.runs), measures, alignment, source.judging)
    place = {query: i for i, query in enumerate(less.query_ids)}
    for m, measure in enumerate(ours.measures):
        whole = ours.scores[m][rows]
        part = np.array(
            [
                less.scores[m][place[query]] if query in place else np.zeros(len(ours.system_names))
                for query in query_ids
            ]
        )
        if not (np.abs(whole - part) > ROUNDING).any():
            continue
        text = (
            f"{measure} depends on documents that the model labelled and people did not, such as "
            "relevant ones that no run found: by the model's labels its mean over the labelled "
            f"queries is {format_number(whole.mean().item())}, and {format_number(part.mean().item())} without "
            "these. So far off may the human scores be, which the interval does not know: label "
            "what is missing, or take a measure of retrieved documents alone, such as P@10."
        )
        yield Note("few-of-all", "warning", text, len(rows))
        return
