"""Human samples: what people labelled, whole queries or single documents, beside a model's labels.

Gives a `Sample`, from which `human_labels.py` estimates means and differences.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode_ids
from cranfield.arrays.ranked import Floats, Ints, means
from cranfield.comparison.aligned_scores import AlignedScores, EvaluatedRuns
from cranfield.comparison.alignment import align
from cranfield.comparison.mean_interval import note_intervals
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import TIE
from cranfield.comparison.units import Units
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.errors import InputError, NothingSharedError, escape_unprintable
from cranfield.extensions.labels.human.labelled_documents import (
    MIN_P,
    ROUNDING,
    describe_chances,
    sample_documents,
)
from cranfield.extensions.labels.human.powered import QueryScores, Sample, deviation_from_chance
from cranfield.extensions.labels.pools.draw import select_drawn
from cranfield.notes import Note
from cranfield.render.numbers import (
    format_count,
    format_names,
    format_number,
    format_p,
    format_share,
    format_shortest,
)

_MIN_EFFECTIVE_QUERIES = 20  # labelled queries, counted as equally likely ones
_MIN_DIFFERING_QUERIES = 10  # queries on which two systems differ
# Codes of notes on human scores to repeat.
_REPEATED_NOTES = "without-score", "dropped", "percent"


class LabelledQueries(Units):
    """The queries that people labelled, each a unit of its own."""

    unit_words = "labelled queries"


def sample_labels(
    scores: AlignedScores,
    human: Any,
    alignment: Alignment,
    judging: Judging,
    lam: float | None,
    baseline: int,
) -> tuple[AlignedScores, Sample]:
    """Return the scores by the model's labels, and the sample that people labelled.

    Both kinds of labels are put on one scale, as measures such as ERR depend on the highest grade:
    the scores are computed again where people's highest grade is higher. `baseline` is the number
    of a system. `human` are judgments where `scores` come from runs, else scores. Raises the errors
    of `prediction_powered`.
    """
    source = scores.evaluated_runs
    if source is None:
        human_scores = _align_human_scores(human, scores, alignment)
        return scores, _sample_queries(scores, human_scores, None, lam, baseline)
    try:
        human_labels = select_drawn(make_qrels(human, duplicates=judging.duplicates))
    except InputError as error:
        raise error.add_reason("These are the human labels.") from None
    refuse_models(human_labels, source.qrels)
    label_notes = [*_lost_label_notes(human_labels, scores)]
    human_labels = _drop_ungraded(human_labels)
    human_top, model_top = human_labels.top_grade, source.qrels.top_grade
    if human_top != model_top:
        text = (
            f"The highest grade is {format_shortest(human_top)} by people and "
            f"{format_shortest(model_top)} by the model: measures that depend on it take "
            f"{format_shortest(max(human_top, model_top))}."
        )
        label_notes.append(Note("highest-grade", "info", text))
    if human_top > model_top:
        model = source.qrels.with_top_grade(human_top)
        runs, measures = dict(source.runs), list(scores.measures)
        scores = align(model, runs, measures, alignment, source.judging)
        source = scores.evaluated_runs or source
    elif human_top < model_top:
        human_labels = human_labels.with_top_grade(model_top)
    sample = _make_sample(scores, source, human_labels, alignment, lam, baseline)
    notes = [*label_notes, *_unknown_document_notes(source, human_labels), *sample.notes]
    return scores, sample._replace(notes=notes)


def _drop_ungraded(human_labels: Qrels) -> Qrels:
    """Return the judgments of queries with a grade of at least 0; InputError if there are none."""
    query_ids = human_labels.query_ids
    has_grade = np.bincount(human_labels.query, human_labels.grade >= 0, len(query_ids)) > 0
    if not has_grade.any():
        raise InputError(
            "all human labels are below 0, which says that nobody judged the document",
            source=human_labels.source,
        )
    if has_grade.all():
        return human_labels
    return human_labels.select_queries([*compress(query_ids, has_grade)])


def _unknown_document_notes(source: EvaluatedRuns, human_labels: Qrels) -> Iterator[Note]:
    """Yield a warning of labelled documents that the model did not label and no run has."""
    model_query_ids = set(source.qrels.query_ids)
    query_ids = [query_id for query_id in human_labels.query_ids if query_id in model_query_ids]
    model_grades = source.qrels.select_queries(query_ids).to_dict()
    docs_of_query = {query: set(docs) for query, docs in model_grades.items()}
    for run in source.runs.values():
        rankings = run.read_rankings(query_ids, source.judging)
        for query in query_ids:
            docs_of_query[query].update(rankings[query].select_query(query).docs)
    labelled_docs = human_labels.select_queries(query_ids).to_dict()
    unknown_docs = [
        (q, doc) for q, docs in labelled_docs.items() for doc in docs if doc not in docs_of_query[q]
    ]
    if unknown_docs:
        query, doc = unknown_docs[0]
        text = (
            f"{format_count(len(unknown_docs), 'labelled document is', 'labelled documents are')} "
            f"in no run and without a model's label, as {doc!r:.80} of query {query!r:.80}: are "
            "the ids spelled alike?"
        )
        yield Note("unknown-labelled", "warning", text, count=len(unknown_docs))


def _make_sample(
    scores: AlignedScores,
    source: EvaluatedRuns,
    human_labels: Qrels,
    alignment: Alignment,
    lam: float | None,
    baseline: int,
) -> Sample:
    """Return the sample of documents, if labels have their probabilities, else of queries."""
    if "probability" in human_labels.columns:
        return sample_documents(scores, source, human_labels, lam)
    runs, measures = dict(source.runs), list(scores.measures)
    try:
        human_scores = align(human_labels, runs, measures, alignment, source.judging)
    except NothingSharedError as error:
        raise error.add_reason("These are the human labels and the runs.") from None
    return _sample_queries(scores, human_scores, human_labels, lam, baseline)


def refuse_models(human_labels: Qrels, model_labels: Qrels) -> None:
    """Raise InputError if a model gave some of the labels of people, or both are one file."""
    paths = [labels.source for labels in (human_labels, model_labels) if labels.source]
    if len(paths) == 2 and all(map(os.path.isfile, paths)) and os.path.samefile(*paths):
        hint = "QRELS are the labels of a model, --human those of people."
        raise InputError("is named twice, as QRELS and as --human", source=paths[0], hint=hint)
    if counts := human_labels.judges.count_models():
        models = [f"{count['judgments']:,} are by {count['model']}" for count in counts]
        problem = f"--human takes people's labels: {format_names(models)}"
        raise InputError(problem, source=human_labels.source)


def _lost_label_notes(human_labels: Qrels, scores: AlignedScores) -> Iterator[Note]:
    """Yield warnings where human labels were left out, are below 0, or have no grades."""
    label_codes = human_labels.find_codes(encode_ids(scores.query_ids))
    has_model_label = np.zeros(len(human_labels.query_ids), np.bool_)
    has_model_label[label_codes[label_codes >= 0]] = True
    if n := int((~has_model_label[human_labels.query]).sum()):
        other = human_labels.query_ids[int(np.flatnonzero(~has_model_label)[0])]
        text = (
            f"{format_count(n, 'human label')} of queries without a model's label left out, as of "
            f"{other!r:.80}."
        )
        yield Note("no-model-label", "warning", text, int((~has_model_label).sum()), count=n)
    if n := int((human_labels.grade < 0).sum()):
        text = (
            f"{format_count(n, 'human label')} below 0, which says that nobody judged the "
            "document: it counts as one without a label, and so does a query that has no other. "
            "What remains is not drawn by chance."
        )
        yield Note("labels-below-0", "warning", text, count=n)
    if not human_labels.graded:
        text = (
            "No grades: every human label says relevant, grade 1. Is the column relevance missing?"
        )
        yield Note("no-grades", "warning", text, len(human_labels.query_ids))
    if n := human_labels.left_out.count:
        text = (
            f"{format_count(n, 'row')} of the human labels left out, the first for this: "
            f"{human_labels.left_out.first_error().problem}. What remains is not drawn by chance."
        )
        yield Note("labels-left-out", "warning", text, count=n)


def _align_human_scores(human: Any, scores: AlignedScores, alignment: Alignment) -> AlignedScores:
    """Return human scores with the systems and measures of the model's, in the same order."""
    try:
        human_scores = align(human, None, list(scores.measures), alignment)
    except InputError as error:
        raise error.add_reason("These are the human scores, as the model's are scores.") from None
    if set(human_scores.system_names) != set(scores.system_names):
        raise InputError(
            "the human scores are of "
            f"{', '.join(map(escape_unprintable, human_scores.system_names))}, the model's of "
            f"{', '.join(map(escape_unprintable, scores.system_names))}",
            hint="Both need the same systems, under the same names.",
        )
    names = scores.system_names
    order = [human_scores.system_names.index(name) for name in names]
    return replace(human_scores, system_names=names, scores=human_scores.scores[:, :, order])


def _sample_queries(
    scores: AlignedScores,
    human_scores: AlignedScores,
    human_labels: Qrels | None,
    lam: float | None,
    baseline: int,
) -> Sample:
    """Return the sample where people labelled whole queries; without labels, of their scores."""
    row_of_query = {query: i for i, query in enumerate(scores.query_ids)}
    shared_rows = [i for i, query in enumerate(human_scores.query_ids) if query in row_of_query]
    if len(shared_rows) < 2:
        raise InputError(
            f"{format_count(len(shared_rows), 'query has', 'queries have')} both human and model "
            "labels: an interval needs two at least",
            hint=f"The human labels have {human_scores.query_ids[0]!r:.80}, the model's "
            f"{scores.query_ids[0]!r:.80}.",
        )
    model_rows = np.array([row_of_query[human_scores.query_ids[i]] for i in shared_rows])
    other_rows = np.delete(np.arange(len(scores.query_ids)), model_rows)
    y, f = human_scores.scores[:, shared_rows], scores.scores[:, model_rows]
    other_scores, query_chance = scores.scores[:, other_rows], None
    if human_labels is not None:
        shared_ids = [human_scores.query_ids[i] for i in shared_rows]
        query_chance = _read_query_chances(human_labels, shared_ids)

    def select(m: int, i: int, base: int | None) -> QueryScores:
        """Return the scores of system i by measure m, or their differences from system `base`."""
        y_i, f_i, other_i = (
            part[m, :, i] - (0.0 if base is None else part[m, :, base])
            for part in (y, f, other_scores)
        )
        return QueryScores(y_i, f_i, other_i, query_chance)

    n, n_all = len(shared_rows), len(scores.query_ids)
    notes = [*_sample_notes(n, n_all, query_chance, has_labels=human_labels is not None)]
    notes += [
        replace(note, text=f"Human scores: {note}")
        for note in human_scores.notes
        if note.is_grave or note.code in _REPEATED_NOTES
    ]
    if human_labels is None and (n_alone := len(human_scores.query_ids) - len(shared_rows)):
        text = f"{format_count(n_alone, 'query', 'queries')} with human scores alone: left out."
        notes.append(Note("no-model-label", "warning", text, n_alone))
    notes += _chance_notes(scores, f, query_chance, baseline)
    for m, measure in enumerate(scores.measures):
        column_names = [f"{name} ({measure})" for name in scores.system_names]
        notes += note_intervals(None, y[m], column_names, LabelledQueries())
    human_rows = np.array(shared_rows)
    warnings = [*_little_labelled_notes(scores, human_scores, human_rows, model_rows)]
    notes += warnings or _unseen_label_notes(scores, human_labels, model_rows)
    if len(scores.system_names) > 1:
        notes += _difference_notes(scores, y)
    return Sample("query", n, n_all, n - 1, lam, select, notes, n_all, human_scores=y)


def _read_query_chances(human_labels: Qrels, query_ids: Sequence[str]) -> Floats | None:
    """Return the probability with which each query was drawn, (queries,); None: not stated."""
    column = human_labels.columns.get("query_probability")
    if column is None:
        return None
    codes = human_labels.find_codes(encode_ids(query_ids))
    begins, ends = human_labels.starts[codes], human_labels.starts[codes + 1]
    for query, begin, end in zip(query_ids, begins.tolist(), ends.tolist(), strict=True):
        if begin == end or np.ptp(column[begin:end]) > 0:
            raise InputError(
                f"query {query!r:.80} has different values of query_probability",
                source=human_labels.source,
                hint="A query was drawn with one probability: give all its documents the same.",
            )
    chances: Floats = np.asarray(column, np.float64)[begins]
    return chances


def _sample_notes(n: int, n_all: int, chance: Floats | None, *, has_labels: bool) -> Iterator[Note]:
    """Yield notes on how the labelled queries were drawn, as far as labels say it."""
    if n == n_all:
        text = "All queries have human labels: the model's count for nothing."
        yield Note("all-labelled", "info", text, n)
    elif chance is None:
        text = (
            f"The {n:,} labelled queries are taken to be drawn by chance, each as likely as "
            f"another: {'nothing in the labels says' if has_labels else 'scores do not say'} how "
            "they were drawn."
        )
        yield Note("sample", "info", text, n)
    else:
        low, high = chance.min().item(), chance.max().item()
        phrase = describe_chances(chance)
        text = f"{n:,} queries drawn by chance, with a probability of {phrase} (query_probability)."
        yield Note("sample", "info", text, n)
        n_effective = float((1 / chance).sum() ** 2 / (1 / chance**2).sum())
        if low < high and n_effective < _MIN_EFFECTIVE_QUERIES:
            text = (
                f"Their probabilities differ so much that the {n:,} labelled queries are worth "
                f"about {format_number(n_effective, 1)} equally likely ones: with fewer than "
                f"{_MIN_EFFECTIVE_QUERIES}, 95% intervals held in 82 to 92% of simulated cases."
            )
            yield Note("unequal", "warning", text, n)
        n_represented = float((1 / chance).sum())
        if abs(n_represented - n_all) > 1e-6 * n_all:
            is_far = not n_all / 2 <= n_represented <= 2 * n_all
            text = (
                f"By these probabilities, {n:,} labelled queries stand for {n_represented:,.0f}, "
                f"and there are {n_all:,}: "
                + ("is query_probability right?" if is_far else "are all labelled that were drawn?")
            )
            yield Note("probabilities", "warning" if is_far else "info", text, n)


def _chance_notes(
    scores: AlignedScores, f: Floats, chance: Floats | None, baseline: int
) -> Iterator[Note]:
    """Warn where the labelled queries do not look drawn by chance, by the model's labels.

    Tests the mean over the systems, and each difference from the baseline. `f` (n_measures, n,
    n_systems) are the model's scores of the n labelled queries.
    """
    n = f.shape[1]
    weight = np.ones(n) if chance is None else 1 / chance
    rivals = [i for i in range(len(scores.system_names)) if i != baseline]
    for m, measure in enumerate(scores.measures):
        for other in (None, *rivals):
            labelled_scores, all_scores = (
                means(columns.T) if other is None else columns[:, other] - columns[:, baseline]
                for columns in (f[m], scores.scores[m])
            )
            deviation = deviation_from_chance(labelled_scores, all_scores, chance)
            if deviation is None or deviation[1] >= MIN_P / (1 if other is None else len(rivals)):
                continue
            n_errors, p = deviation
            is_easy = (n_errors > 0) == scores.is_higher_better(measure)
            quantity, choice = f"mean {measure}", "easy ones" if is_easy else "hard ones"
            if other is not None:
                name, baseline_name = (
                    escape_unprintable(scores.system_names[i]) for i in (other, baseline)
                )
                quantity = f"mean difference of {name} and {baseline_name} ({measure})"
                choice = "those with a large difference"
            labelled_mean = float(np.average(labelled_scores, weights=weight))
            text = (
                "The labelled queries do not look drawn by chance: by the model's labels their "
                f"{quantity} is {format_number(labelled_mean)}, that of all queries "
                f"{format_number(float(means(all_scores[:, None])[0]))} (p {format_p(p)}). Were "
                f"{choice} chosen? Then the interval does not hold."
            )
            yield Note("not-by-chance", "warning", text, n)
            return


def _difference_notes(scores: AlignedScores, y: Floats) -> Iterator[Note]:
    """Warn where systems differ on few queries; `y` (n_measures, n, n_systems) are human scores."""
    n_differing = [int((np.ptp(measure_scores, axis=1) > TIE).sum()) for measure_scores in y]
    pairs = zip(scores.measures, n_differing, strict=True)
    counts = [f"{measure} {n}" for measure, n in pairs if n < _MIN_DIFFERING_QUERIES]
    if counts:
        text = (
            f"By human labels, systems differ on fewer than {_MIN_DIFFERING_QUERIES} queries "
            f"({', '.join(counts)}): a rare, large difference is not ruled out, and intervals may "
            "be too narrow."
        )
        yield Note("few-differ", "warning", text, y.shape[1])


def _little_labelled_notes(
    scores: AlignedScores, human_scores: AlignedScores, human_rows: Ints, model_rows: Ints
) -> Iterator[Note]:
    """Warn where people labelled fewer documents than the model of those a measure looks at."""
    if scores.judged_share is None or human_scores.judged_share is None:
        return
    for m, measure in enumerate(scores.measures):
        model_share = np.nan_to_num(scores.judged_share[m][model_rows])
        human_share = np.nan_to_num(human_scores.judged_share[m][human_rows])
        if not (human_share < model_share - ROUNDING).any():
            continue
        text = (
            f"In the labelled queries, people labelled {format_share(human_share.mean().item())} "
            f"of the retrieved documents that {measure} looks at, the model "
            f"{format_share(model_share.mean().item())}: those without a human label count as not "
            "relevant there. Label them, too; or draw documents by chance (cranfield pool --by "
            "chance --draw documents), whose labels have a column probability."
        )
        yield Note("little-labelled", "warning", text, len(model_rows))
        return


def _unseen_label_notes(
    scores: AlignedScores, human_labels: Qrels | None, model_rows: Ints
) -> Iterator[Note]:
    """Warn where the model's scores depend on documents that people did not label.

    On the labelled queries, the model's labels of the documents that people labelled should give
    the scores that all its labels give.
    """
    source = scores.evaluated_runs
    if human_labels is None or source is None or source.qrels.has_groups or human_labels.has_groups:
        return
    query_ids = [scores.query_ids[row] for row in model_rows.tolist()]
    model_docs, human_docs = (
        qrels.select_queries(query_ids).to_dict() for qrels in (source.qrels, human_labels)
    )
    shared_docs: dict[str, dict[str, Any]] = {}  # {query: {document: the model's grade}}
    for query in query_ids:
        for doc, grade in model_docs.get(query, {}).items():
            if doc in human_docs.get(query, {}):
                shared_docs.setdefault(query, {})[doc] = grade
    if not shared_docs:
        return
    runs, measures = dict(source.runs), list(scores.measures)
    alignment = Alignment(missing="zero")
    partial = align(Qrels(shared_docs), runs, measures, alignment, source.judging)
    row_of_query = {query: i for i, query in enumerate(partial.query_ids)}
    zeros = np.zeros(len(scores.system_names))
    for m, measure in enumerate(scores.measures):
        full_scores = scores.scores[m][model_rows]
        rows = [row_of_query.get(query) for query in query_ids]
        partial_scores = np.array(
            [zeros if row is None else partial.scores[m][row] for row in rows]
        )
        if not (np.abs(full_scores - partial_scores) > ROUNDING).any():
            continue
        text = (
            f"{measure} depends on documents that the model labelled and people did not, such as "
            "relevant ones that no run found: by the model's labels its mean over the labelled "
            f"queries is {format_number(full_scores.mean().item())}, and "
            f"{format_number(partial_scores.mean().item())} without these. So far off may the "
            "human scores be, which the interval does not know: label what is missing, or take a "
            "measure of retrieved documents alone, such as P@10."
        )
        yield Note("few-of-all", "warning", text, len(model_rows))
        return
