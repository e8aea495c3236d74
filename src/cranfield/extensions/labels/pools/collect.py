"""collect: labels that people gave, checked against the pool that they labelled, as judgments."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from cranfield.arrays.ids import encode
from cranfield.data.combined import COUNTED_GRADE, DifferingGrades
from cranfield.data.judges import PERSON, Judge
from cranfield.data.qrels import Qrels
from cranfield.errors import DuplicateError, InputError, OptionError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.labels.label_files import Label, read_labels
from cranfield.extensions.labels.pools.answers import holds_answers, read_answer_labels
from cranfield.extensions.labels.pools.draw import NOT_DRAWN
from cranfield.extensions.labels.pools.label_checks import (
    N_SHOWN,
    GradedLabel,
    QueryDoc,
    check_drawing,
    collect_drawing,
    grade_labels,
    is_task,
    list_requests,
    simplify_grade,
)
from cranfield.extensions.labels.pools.options import CollectSettings
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, ColumnsLike, Side
from cranfield.formats.files import stem_of
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import refuse_unread, select_columns
from cranfield.notes import Note
from cranfield.options import refuse_unknown_options, takes
from cranfield.render.numbers import format_count as count_of
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.scoring.arguments import Reading
from cranfield.version import __version__

if TYPE_CHECKING:
    LabelsLike = str | os.PathLike[str] | Iterable[Any]


@dataclass(frozen=True)
class Assessor:
    """One person's labels.

    >>> from cranfield import collect
    >>> rows = [("q1", "d1", 1), ("q1", "d2", 0)]
    >>> collect({"ann": rows}).assessors[0]
    Assessor(assessor='ann', labels=2, relevant=1, shared=0, differing=0)
    """

    assessor: str
    labels: int  # documents labelled
    relevant: int  # of these, with grade 1 or more
    shared: int  # documents that another assessor labelled, too
    differing: int  # of these, documents with different labels


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Shown):
    """Labels as judgments, with who gave them, and what is missing.

    `rows()`, `to_csv()` or the command's `-o labels.csv` are read as judgments; `qrels()` are these
    judgments. How a document was drawn (`probability`, `stratum`) goes with it.

    >>> from cranfield import collect
    >>> found = collect({"ann": [("q1", "d1", 1)], "ben": [("q1", "d1", 1), ("q1", "d2", 0)]})
    >>> found.qrels().to_dict()
    {'q1': {'d1': 1, 'd2': 0}}
    >>> [row["assessor"] for row in found.rows()]
    ['ann; ben', 'ben']
    """

    pairs: Sequence[QueryDoc]  # with a label, or not drawn
    grades: Sequence[float]  # of each pair; NOT_DRAWN if it was not drawn
    by: Sequence[Sequence[str]]  # who labelled each document
    drawing: Mapping[Role, Sequence[Any]]
    # Of each pair: who gave its grade, and why, where some are a model's; else empty.
    judges: Sequence[tuple[Judge, str]]
    assessors: Sequence[Assessor]
    missing: Sequence[QueryDoc]  # asked for and not labelled
    settings: CollectSettings
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the labels."""
        roles: list[Role] = ["query", "doc", "grade", *self.drawing]
        provenance = ("judge_model", "judge_prompt", "reason") if self.judges else ()
        return (*(COLUMNS[role].public for role in roles), "assessor", *provenance)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document that has a label, or that was not drawn."""
        queries, docs = zip(*self.pairs, strict=True)
        assessor_names = ["; ".join(names) for names in self.by]
        columns = [queries, docs, self.grades, *self.drawing.values(), assessor_names]
        if self.judges:
            columns += zip(*((*judge, reason) for judge, reason in self.judges), strict=True)
        return self._rows_as_dicts(zip(*columns, strict=True))

    def qrels(self) -> Qrels:
        """Return the labels as judgments."""
        names = [name for name in self.header if name not in ("assessor", "reason")]
        return Qrels([{name: row[name] for name in names} for row in self.rows()])

    def tables(self) -> list[Table]:
        """Return a table of the people who labelled."""
        columns = [
            Column("assessor", lambda assessor: assessor.assessor),
            Column("labels", lambda assessor: f"{assessor.labels:,}"),
            Column(
                "relevant",
                lambda assessor: f"{assessor.relevant:,}",
                "relevant: labels of grade 1 or more.",
            ),
            Column(
                "shared",
                lambda assessor: f"{assessor.shared:,}",
                "shared: documents that another assessor labelled, too; differing: of these, those "
                "with different labels.",
            ),
            Column("differing", lambda assessor: f"{assessor.differing:,}"),
        ]
        title = [f"{count_of(sum(map(bool, self.by)), 'document')} with a label"]
        return [make_table(self.assessors, columns, notes=self.notes, title=title)]

    def to_dict(self) -> dict[str, Any]:
        """Return the labels, and how they came about."""
        return {
            "recipe": dict(self.recipe),
            "settings": vars(self.settings),
            "assessors": [vars(assessor) for assessor in self.assessors],
            "missing": [list(query_doc) for query_doc in self.missing],
            "rows": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }


@takes(CollectSettings, Reading, omit=("without", "texts"))
def collect(
    labels: "LabelsLike | Mapping[str, LabelsLike]",
    *,
    pool: Any = None,
    **options: "Unpack[keywords.Collect]",
) -> Labels:
    """Return the labels that people gave as judgments, checked against what was asked.

    Labels come from the file of `pool` filled in, from what Label Studio or Argilla exports as
    JSON, or from files of a model's answers to `Pool.requests`, which need the pool: an answer
    without a grade is no label. Several labels of a document, by one assessor or by several, are
    counted; which one counts is an option. With the pool, what is missing is named, a label of a
    document that nobody asked for is refused, and how each document was drawn goes with its label.

    Args:
        labels: a file, a table or rows with the columns `query_id`, `doc_id`, `relevance`, and
            `assessor` where several people's labels are in one; a list of files; or a dict
            {assessor: labels}. Without a name, a file's name is the person.
        pool: what was to be labelled: a Pool, or the file that it wrote.
        **options: each option of `CollectSettings`, and `columns` of `Reading`.

    Returns:
        Labels: a table of who labelled how much, and the judgments.

    Raises:
        InputError: a label that is no grade, one of a document that the pool lacks, no label, or
            rows that contradict one another, or say nothing, on how documents were drawn.
        DuplicateError: a document with different labels, unless `differing` says which counts.
        OptionError: an option with an impossible value, or without effect.

    >>> from cranfield import pool
    >>> asked = pool({"q1": {"d9": 1}}, {"q1": ["d1", "d2"]}, k=2)
    >>> given = [{"query_id": "q1", "doc_id": "d1", "relevance": "yes", "assessor": "ann"}]
    >>> found = collect(given, pool=asked, grades_of={"no": 0, "yes": 1})
    >>> found.qrels().to_dict(), found.missing
    ({'q1': {'d1': 1}}, [('q1', 'd2')])

    """
    refuse_unknown_options(collect, options)
    settings, columns = CollectSettings.of(options), Reading.of(options).columns
    label_columns, sources = select_columns(columns, Side.QRELS), dict(_list_sources(labels))
    people = {name: source for name, source in sources.items() if not holds_answers(source)}
    paths = [os.fspath(source) for name, source in sources.items() if name not in people]
    all_labels, named_assessors = _read_sources(people, label_columns)
    requests = list_requests(all_labels, pool, label_columns)
    answer_notes: list[Note] = []
    if paths:
        if pool is None:
            hint = "pool=... (--pool FILE), as cranfield pool wrote it."
            problem = "answers of a model name documents by a hash: state the pool"
            raise InputError(problem, source=paths[0], hint=hint)
        labels_of_models, answer_notes = read_answer_labels(paths, requests, settings)
        all_labels += labels_of_models
    elif settings.grades is not None:
        raise OptionError("grades (--grades) applies to answers of a model")
    refuse_unread(columns)
    check_drawing(all_labels if pool is None else requests.values())
    if not requests and pool is not None:
        raise InputError("the pool names no document", source=_pool_name(pool))
    graded_labels, notes = grade_labels(all_labels, requests, settings)
    if not graded_labels:
        raise InputError(
            "no document has a label",
            source=", ".join(
                os.fspath(source) if isinstance(source, str | os.PathLike) else name
                for name, source in sources.items()
            ),
            hint="The column relevance is to be filled in with grades.",
        )
    labels_of_document: dict[QueryDoc, list[GradedLabel]] = {}
    for graded_label in graded_labels:
        query_doc = graded_label.label.query, graded_label.label.doc
        labels_of_document.setdefault(query_doc, []).append(graded_label)
    notes = [*answer_notes, *notes, *_check_repeated(labels_of_document, settings)]
    grade_of_document = _settle_grades(labels_of_document, settings.differing)
    for pair, request in requests.items():
        if request.label is not None:
            grade_of_document[pair] = NOT_DRAWN
    pairs = sorted(grade_of_document, key=lambda pair: (encode(pair[0]), encode(pair[1])))
    missing = [pair for pair in requests if pair not in grade_of_document]
    notes += _missing_notes(missing, sum(request.label is None for request in requests.values()))
    notes += _drawing_notes(requests.values(), has_pool=pool is not None)
    assessors_of_pairs = (
        dict.fromkeys(str(label.assessor) for label, _ in labels_of_document.get(pair, ()))
        for pair in pairs
    )
    # A provider's file of errors may be empty.
    assessors_to_list = named_assessors if settings.assessor is None and not paths else []
    return Labels(
        pairs,
        [simplify_grade(grade_of_document[pair]) for pair in pairs],
        [list(assessors) for assessors in assessors_of_pairs],
        collect_drawing(pairs, requests),
        [_find_judge(labels_of_document.get(pair, ()), grade_of_document[pair]) for pair in pairs]
        if paths
        else [],
        list(_count_assessors(labels_of_document, assessors_to_list)),
        missing,
        settings,
        {"cranfield": __version__, "labels": [*sources], "pool": _pool_name(pool)},
        tuple(notes),
    )


def _find_judge(graded_labels: Sequence[GradedLabel], grade: float) -> tuple[Judge, str]:
    """Return who gave the grade that counts, and why: the models, if no person gave it."""
    labels = [label for label, given_grade in graded_labels if given_grade == grade]
    labels = labels or [label for label, _ in graded_labels]  # of a mean, which nobody gave
    if not labels or any(label.judge == PERSON for label in labels):
        return PERSON, ""
    names = zip(*(label.judge for label in labels), strict=True)
    return Judge(*(", ".join(dict.fromkeys(filter(None, n))) for n in names)), labels[0].reason


def _list_sources(labels: Any) -> Iterator[tuple[str, Any]]:
    """Yield each source of labels, behind the name of the person for rows that have none."""
    if isinstance(labels, Mapping):
        yield from ((str(name), source) for name, source in labels.items())
        return
    are_files = isinstance(labels, list | tuple) and all(
        isinstance(path, str | os.PathLike) for path in labels
    )
    if isinstance(labels, list | tuple) and not labels:
        raise InputError("no labels were given")
    if not are_files:
        is_file = isinstance(labels, str | os.PathLike)
        yield stem_of(Source(labels)) if is_file else "assessor", labels
        return
    paths = [os.fspath(path) for path in labels]
    if len({*map(os.path.realpath, paths)}) < len(paths):
        raise InputError(f"a file is named twice: {', '.join(paths):.200}")
    stems = [stem_of(Source(path)) for path in paths]
    for path, stem in zip(paths, stems, strict=True):
        yield (stem if stems.count(stem) == 1 else path), path


def _read_sources(
    sources: Mapping[str, Any], columns: ColumnsLike | None
) -> tuple[list[Label], dict[str, None]]:
    """Return the labels of all sources, with stated columns, and the assessors that rows name.

    A file without any label is an assessor, too.
    """
    all_labels: list[Label] = []
    named_assessors: dict[str, None] = {}
    for name, source in sources.items():
        rows = read_labels(source, columns)
        names = [label.assessor for label in rows if label.assessor is not None]
        named_assessors |= dict.fromkeys(names)
        if not names and all(label.label is None for label in rows):
            named_assessors[name] = None
        all_labels += [label._replace(assessor=label.assessor or name) for label in rows]
    return all_labels, named_assessors


def _drawing_notes(requests: Collection[Label], *, has_pool: bool) -> Iterator[Note]:
    """Yield a note if nothing tells how documents were drawn."""
    if has_pool and any(is_task(request) for request in requests):
        text = (
            "The pool has tasks of a labelling tool, which do not tell how documents were drawn: "
            "of a sample by chance, state the .csv that cranfield pool wrote beside it."
        )
        yield Note("tasks", "warning", text)
    if not has_pool and not any(request.drawing for request in requests):
        text = "No pool is stated, to tell what is missing and how documents were drawn."
        yield Note("no-pool", "info", text)


def _pool_name(pool: Any) -> str | None:
    """Return how the recipe names a pool: its path, or "in memory"; None without a pool."""
    if pool is None:
        return None
    return os.fspath(pool) if isinstance(pool, str | os.PathLike) else "in memory"


def _check_repeated(
    labels_of_document: Mapping[QueryDoc, Sequence[GradedLabel]], settings: CollectSettings
) -> list[Note]:
    """Return notes on documents with several labels; DuplicateError where they may not differ."""
    n_labelled_twice, n_shared, n_differing = 0, 0, 0
    for (query, doc), graded_labels in labels_of_document.items():
        n_labels_of_assessor = Counter(str(label.assessor) for label, _ in graded_labels)
        n_labelled_twice += any(n > 1 for n in n_labels_of_assessor.values())
        n_shared += len(n_labels_of_assessor) > 1
        if len({grade for _, grade in graded_labels}) > 1:
            n_differing += 1
            if settings.differing == "refuse":
                grade_texts = ", ".join(
                    f"{grade:g} by {escape_unprintable(str(label.assessor))}"
                    for label, grade in graded_labels
                )
                last_label = graded_labels[-1][0]
                problem = f"query {query!r:.80}, document {doc!r:.80} has different labels: "
                problem += f"{grade_texts:.200}"
                hint = (
                    "differing='latest', 'highest' or 'majority' (--differing) says which counts; "
                    "assessor='NAME' (--assessor) takes one person's, as for cranfield agreement."
                )
                raise last_label.origin.row_error(
                    last_label.row, problem, hint, kind=DuplicateError
                )
    notes = []
    if n_labelled_twice:
        text = f"{count_of(n_labelled_twice, 'document')} labelled twice by one assessor."
        notes.append(Note("labelled-twice", "warning", text, count=n_labelled_twice))
    if n_shared:
        text = f"{count_of(n_shared, 'document')} labelled by several assessors."
        notes.append(Note("labelled-by-several", "info", text, count=n_shared))
    if n_differing:
        counting_rule = COUNTED_GRADE[settings.differing]
        text = f"{count_of(n_differing, 'document')} with different labels: {counting_rule} counts."
        notes.append(Note("differing", "warning", text, count=n_differing))
    return notes


def _settle_grades(
    labels_of_document: Mapping[QueryDoc, Sequence[GradedLabel]], differing: DifferingGrades
) -> dict[QueryDoc, float]:
    """Return {(query, document): the grade that counts}, as when judgments are merged.

    Of one person's labels of a document, the last counts.
    """
    judgments_of_turn: list[dict[str, dict[str, float]]] = []
    for (query, doc), graded_labels in labels_of_document.items():
        last_grades = {  # of a model, each counts
            (str(label.assessor), label.judge != PERSON and place): (place, grade)
            for place, (label, grade) in enumerate(graded_labels)
        }
        for turn, (_, grade) in enumerate(sorted(last_grades.values())):
            if turn == len(judgments_of_turn):
                judgments_of_turn.append({})
            judgments_of_turn[turn].setdefault(query, {})[doc] = grade
    judgments, *later_judgments = map(Qrels, judgments_of_turn)
    if later_judgments:
        judgments = judgments.merge(*later_judgments, differing=differing)
    return {
        (query, doc): grade
        for query, docs in judgments.to_dict().items()
        for doc, grade in docs.items()
    }


def _missing_notes(missing: Sequence[QueryDoc], n_requests: int) -> list[Note]:
    """Return a warning of documents that were to be labelled and have no label."""
    if not missing:
        return []
    examples = ", ".join(
        f"{escape_unprintable(query)} {escape_unprintable(doc)}" for query, doc in missing[:N_SHOWN]
    )
    remainder = f" and {len(missing) - N_SHOWN:,} more" if len(missing) > N_SHOWN else ""
    text = (
        f"{len(missing):,} of {n_requests:,} documents have no label: {examples:.200}{remainder}. "
        "Of a sample drawn by chance, all need one."
    )
    return [Note("missing", "warning", text, count=len(missing))]


def _count_assessors(
    labels_of_document: Mapping[QueryDoc, Sequence[GradedLabel]], named_assessors: Iterable[str]
) -> Iterator[Assessor]:
    """Yield the counts of each assessor by name, also of assessors without a label."""
    labels, relevant, shared, differing = (Counter[str]() for _ in range(4))
    for graded_labels in labels_of_document.values():
        grade_of_assessor = {str(label.assessor): grade for label, grade in graded_labels}
        for name, grade in grade_of_assessor.items():
            labels[name] += 1
            relevant[name] += grade >= 1
            shared[name] += len(grade_of_assessor) > 1
            differing[name] += len(grade_of_assessor) > 1 and len({*grade_of_assessor.values()}) > 1
    for name in sorted({*labels, *named_assessors}, key=encode):
        yield Assessor(name, labels[name], relevant[name], shared[name], differing[name])
