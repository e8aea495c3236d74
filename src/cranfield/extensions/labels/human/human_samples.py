"""What people labelled, beside the labels of a model: whole queries, or single documents."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from cranfield.arrays.ids import ids_of
from cranfield.arrays.ranked import Floats, Ints, means
from cranfield.comparison.alignment import Aligned, Evaluated, align
from cranfield.comparison.mean_interval import on_intervals
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import TIE
from cranfield.comparison.units import Units
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, as_qrels
from cranfield.errors import InputError, NothingSharedError, printable
from cranfield.extensions.labels.human.labelled_documents import LEAST_P, ROUNDING, sample_documents
from cranfield.extensions.labels.human.powered import Powered, Sample, by_queries, off_by_chance
from cranfield.notes import Note
from cranfield.render.numbers import number, number_of, plain, probability, share_of, short
from cranfield.scoring.arguments import Reading

_FEW_EFFECTIVE = 20  # labelled queries, as many equally likely ones as they are worth
_FEW_DIFFER = 10  # queries on which two systems differ
_FILLED = ("without-score", "dropped", "percent")  # notes on the human scores to repeat


class LabelledQueries(Units):
    """The queries that people labelled, each a unit of its own."""

    words = "labelled queries"


def sampled(
    ours: Aligned,
    human: Any,
    alignment: Alignment,
    judging: Judging,
    reading: Reading,
    lam: float | None,
    base: int,
) -> tuple[Aligned, Sample]:
    """Return the scores by the model's labels, and what people labelled beside.

    Where people gave a higher grade than the model, its labels are on their scale, as theirs are on
    the model's: measures such as ERR depend on the highest grade. `base` is the baseline's place.
    `human` are judgments where these are scores of runs, and scores where these were given. Raises
    the errors of `prediction_powered`.
    """
    source = ours.source
    if source is None:
        return ours, _of_queries(ours, _scores(human, ours, alignment), None, lam, base)
    try:
        judged = as_qrels(human, duplicates=judging.duplicates)
    except InputError as error:
        raise error.because("These are the human labels.") from None
    left_out = [*_without_label(judged, ours)]
    judged = _with_a_grade(judged)
    tops = judged.top_grade, source.qrels.top_grade
    if tops[0] != tops[1]:
        text = (
            f"The highest grade is {plain(tops[0])} by people and {plain(tops[1])} by the model: "
            f"measures that depend on it take {plain(max(tops))}."
        )
        left_out.append(Note("highest-grade", "info", text))
    if tops[0] > tops[1]:
        model = source.qrels.with_top_grade(tops[0])
        runs, measures = dict(source.runs), list(ours.measures)
        ours = align(model, runs, measures, alignment, source.judging, reading)
        source = ours.source or source
    elif tops[0] < tops[1]:
        judged = judged.with_top_grade(tops[1])
    found = _of_labels(ours, source, judged, alignment, lam, base)
    notes = [*left_out, *_unknown(source, judged), *found.notes]
    return ours, found._replace(notes=notes)


def _with_a_grade(judged: Qrels) -> Qrels:
    """Return the judgments of queries that have a grade of at least 0."""
    some = np.bincount(judged.query, judged.grade >= 0, len(judged.query_ids)) > 0
    if not some.any():
        raise InputError(
            "all human labels are below 0, which says that nobody judged the document",
            source=judged.source,
        )
    return judged if some.all() else judged.of([*compress(judged.query_ids, some)])


def _unknown(source: Evaluated, judged: Qrels) -> Iterator[Note]:
    """Warn of labelled documents that the model did not label, and no run has."""
    there = set(source.qrels.query_ids)
    ids = [one for one in judged.query_ids if one in there]
    known = {query: set(docs) for query, docs in source.qrels.of(ids).to_dict().items()}
    for run in source.runs.values():
        rankings = run.rankings(ids, source.judging)
        for query in ids:
            known[query].update(rankings[query].of(query).docs)
    labelled = judged.of(ids).to_dict()
    unknown = [(q, doc) for q, docs in labelled.items() for doc in docs if doc not in known[q]]
    if unknown:
        query, doc = unknown[0]
        text = (
            f"{number_of(len(unknown), 'labelled document is', 'labelled documents are')} in no "
            f"run and without a model's label, as {doc!r:.80} of query {query!r:.80}: are the ids "
            "spelled alike?"
        )
        yield Note("unknown-labelled", "warning", text, count=len(unknown))


def _of_labels(
    ours: Aligned,
    source: Evaluated,
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
        raise error.because("These are the human labels and the runs.") from None
    return _of_queries(ours, theirs, judged, lam, base)


def _without_label(judged: Qrels, ours: Aligned) -> Iterator[Note]:
    """Warn where rows of the human labels were left out, or say nothing."""
    known = judged.codes_of(ids_of(ours.query_ids))
    of_ours = np.zeros(len(judged.query_ids), np.bool_)
    of_ours[known[known >= 0]] = True
    if n := int((~of_ours[judged.query]).sum()):
        other = judged.query_ids[int(np.flatnonzero(~of_ours)[0])]
        text = (
            f"{number_of(n, 'human label')} of queries without a model's label left out, as of "
            f"{other!r:.80}."
        )
        yield Note("no-model-label", "warning", text, int((~of_ours).sum()), count=n)
    if n := int((judged.grade < 0).sum()):
        text = (
            f"{number_of(n, 'human label')} below 0, which says that nobody judged the document: "
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
            f"{number_of(n, 'row')} of the human labels left out, the first for this: "
            f"{judged.left_out.first().problem}. What remains is not drawn by chance."
        )
        yield Note("labels-left-out", "warning", text, count=n)


def _scores(human: Any, ours: Aligned, alignment: Alignment) -> Aligned:
    """Return the scores of the queries that people judged, of the same systems and measures."""
    try:
        theirs = align(human, None, list(ours.measures), alignment)
    except InputError as error:
        raise error.because("These are the human scores, as the model's are scores.") from None
    if set(theirs.names) != set(ours.names):
        raise InputError(
            f"the human scores are of {', '.join(map(printable, theirs.names))}, the model's of "
            f"{', '.join(map(printable, ours.names))}",
            hint="Both need the same systems, under the same names.",
        )
    order = [theirs.names.index(name) for name in ours.names]
    return replace(theirs, names=ours.names, values=theirs.values[:, :, order])


def _of_queries(
    ours: Aligned, theirs: Aligned, judged: Qrels | None, lam: float | None, base: int
) -> Sample:
    """Return the sample where people labelled whole queries; `judged` None: they gave scores."""
    place = {query: i for i, query in enumerate(ours.query_ids)}
    shared = [i for i, query in enumerate(theirs.query_ids) if query in place]
    if len(shared) < 2:
        raise InputError(
            f"{number_of(len(shared), 'query has', 'queries have')} both human and model labels: "
            "an interval needs two at least",
            hint=f"The human labels have {theirs.query_ids[0]!r:.80}, the model's "
            f"{ours.query_ids[0]!r:.80}.",
        )
    rows = np.array([place[theirs.query_ids[i]] for i in shared])
    others = np.delete(np.arange(len(ours.query_ids)), rows)
    y, f, rest = theirs.values[:, shared], ours.values[:, rows], ours.values[:, others]
    chance = None if judged is None else _chances(judged, [theirs.query_ids[i] for i in shared])

    def estimate(m: int, i: int, base: int | None) -> Powered:
        columns = [
            part[m, :, i] - (0.0 if base is None else part[m, :, base]) for part in (y, f, rest)
        ]
        return by_queries(columns[0], columns[1], columns[2], chance, lam)

    notes = [*_on_sample(len(shared), len(ours.query_ids), chance, scores=judged is None)]
    filled = [note for note in theirs.notes if note.is_grave or note.code in _FILLED]
    notes += [replace(note, text=f"Human scores: {note}") for note in filled]
    if judged is None and (n_alone := len(theirs.query_ids) - len(shared)):
        text = f"{number_of(n_alone, 'query', 'queries')} with human scores alone: left out."
        notes.append(Note("no-model-label", "warning", text, n_alone))
    notes += _not_by_chance(ours, f, chance, base)
    for m, measure in enumerate(ours.measures):
        named = [f"{name} ({measure})" for name in ours.names]
        notes += on_intervals(y[m], named, LabelledQueries())
    little = [*_little_labelled(ours, theirs, np.array(shared), rows)]
    notes += little or _few_of_all(ours, judged, rows)
    if len(ours.names) > 1:
        notes += _few_differ(ours, y)
    n = len(shared)
    return Sample("query", n, len(ours.query_ids), n - 1, estimate, notes, y)


def _chances(judged: Qrels, query_ids: Sequence[str]) -> Floats | None:
    """Return the probability with which each query was drawn, as the labels state it."""
    column = judged.columns.get("query_probability")
    if column is None:
        return None
    codes = judged.codes_of(ids_of(query_ids))
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


def _on_sample(n: int, n_all: int, chance: Floats | None, *, scores: bool) -> Iterator[Note]:
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
        how = f"{short(low)} each" if low == high else f"from {short(low)} to {short(high)}"
        text = f"{n:,} queries drawn by chance, with a probability of {how} (query_probability)."
        yield Note("sample", "info", text, n)
        worth = float((1 / chance).sum() ** 2 / (1 / chance**2).sum())
        if low < high and worth < _FEW_EFFECTIVE:
            text = (
                f"Their probabilities differ so much that the {n:,} labelled queries are worth "
                f"about {number(worth, 1)} equally likely ones: with fewer than {_FEW_EFFECTIVE}, "
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


def _not_by_chance(ours: Aligned, f: Floats, chance: Floats | None, base: int) -> Iterator[Note]:
    """Warn where the labelled queries do not look drawn by chance, by the model's own labels.

    By the mean over the systems, and by each difference from the baseline.
    """
    n = f.shape[1]
    weight = np.ones(n) if chance is None else 1 / chance
    others = [i for i in range(len(ours.names)) if i != base]
    for m, measure in enumerate(ours.measures):
        for other in (None, *others):
            mine, every = (
                means(part.T) if other is None else part[:, other] - part[:, base]
                for part in (f[m], ours.values[m])
            )
            found = off_by_chance(mine, every, chance)
            if found is None or found[1] >= LEAST_P / (1 if other is None else len(others)):
                continue
            off, p = found
            what, how = f"mean {measure}", "easy" if (off > 0) == ours.rising(measure) else "hard"
            if other is not None:
                names = printable(ours.names[other]), printable(ours.names[base])
                what = f"mean difference of {names[0]} and {names[1]} ({measure})"
                how = "those with a large difference"
            text = (
                f"The labelled queries do not look drawn by chance: by the model's labels their "
                f"{what} is {number(float(np.average(mine, weights=weight)))}, that of all "
                f"queries {number(float(means(every[:, None])[0]))} (p {probability(p)}). Were "
                f"{how} {'ones ' * (other is None)}chosen? Then the interval does not hold."
            )
            yield Note("not-by-chance", "warning", text, n)
            return


def _few_differ(ours: Aligned, y: Floats) -> Iterator[Note]:
    """Say where human labels show few differences between systems."""
    n_differing = [int((np.ptp(scores, axis=1) > TIE).sum()) for scores in y]
    pairs = zip(ours.measures, n_differing, strict=True)
    few = [f"{measure} {n}" for measure, n in pairs if n < _FEW_DIFFER]
    if few:
        text = (
            f"By human labels, systems differ on fewer than {_FEW_DIFFER} queries "
            f"({', '.join(few)}): a rare, large difference is not ruled out, and intervals may be "
            "too narrow."
        )
        yield Note("few-differ", "warning", text, y.shape[1])


def _little_labelled(ours: Aligned, theirs: Aligned, shared: Ints, rows: Ints) -> Iterator[Note]:
    """Warn where people labelled less than the model of what a measure looks at."""
    if ours.judged is None or theirs.judged is None:
        return
    for m, measure in enumerate(ours.measures):
        mine, others = ours.judged[m][rows], theirs.judged[m][shared]
        if not (others < mine - ROUNDING).any():
            continue
        text = (
            f"In the labelled queries, people labelled {share_of(others.mean().item())} of the "
            f"retrieved documents that {measure} looks at, the model "
            f"{share_of(mine.mean().item())}: those without a "
            "human label count as not relevant there. Label them, too; or draw documents by "
            "chance (cranfield pool --by chance --draw documents), whose labels have a column "
            "probability."
        )
        yield Note("little-labelled", "warning", text, len(rows))
        return


def _few_of_all(ours: Aligned, judged: Qrels | None, rows: Ints) -> Iterator[Note]:
    """Warn where the model's scores depend on documents that people did not label.

    Of the labelled queries, the model's own labels of those documents alone that people labelled
    are to give the same scores.
    """
    source = ours.source
    if judged is None or source is None or source.qrels.in_groups or judged.in_groups:
        return
    query_ids = [ours.query_ids[row] for row in rows.tolist()]
    model, people = (one.of(query_ids).to_dict() for one in (source.qrels, judged))
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
        whole = ours.values[m][rows]
        part = np.array(
            [
                less.values[m][place[query]] if query in place else np.zeros(len(ours.names))
                for query in query_ids
            ]
        )
        if not (np.abs(whole - part) > ROUNDING).any():
            continue
        text = (
            f"{measure} depends on documents that the model labelled and people did not, such as "
            "relevant ones that no run found: by the model's labels its mean over the labelled "
            f"queries is {number(whole.mean().item())}, and {number(part.mean().item())} without "
            "these. So far off may the human scores be, which the interval does not know: label "
            "what is missing, or take a measure of retrieved documents alone, such as P@10."
        )
        yield Note("few-of-all", "warning", text, len(rows))
        return
