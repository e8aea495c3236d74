"""Pool: what people should label, as rows, tables and files for labelling tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cranfield.arrays.ids import encode_ids
from cranfield.errors import OptionError, check_choice
from cranfield.extensions.labels.label_files import argilla_records, label_studio_tasks
from cranfield.extensions.labels.pools.answers import list_answered_ids
from cranfield.extensions.labels.pools.draw import NOT_DRAWN
from cranfield.extensions.labels.pools.options import IN_ORDER, PoolSettings, RequestSettings
from cranfield.extensions.labels.pools.prompts import read_prompt
from cranfield.extensions.labels.pools.requests import REQUEST_FORMS, Question, Requests
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT
from cranfield.notes import Note
from cranfield.render.numbers import format_count
from cranfield.render.shown import FORMS, Shown, as_json
from cranfield.render.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Shown):
    """What people should label: a row for each document, with the place for its grade.

    `to_csv()`, or the command's `-o labels.csv`, is the file for labelling: fill in the column
    `relevance`, and read it as judgments. `probability` is that of a document to be drawn,
    `query_probability` that of its query, `stratum` its part of the pool; without chance there is
    none. The rows to label come first. Those of a query are in an order by chance, which hides what
    is ranked high, or, with decide and move-to-front, all are in the order in which to judge.
    `to_label_studio()` and `to_argilla()` are those to label as JSON for these tools; `collect`
    reads what comes back.

    >>> from cranfield import pool
    >>> runs = {"a": {"q1": ["d1", "d2"], "q2": ["d3"]}, "b": {"q1": ["d2", "d4"], "q2": ["d3"]}}
    >>> found = pool({"q1": {"d1": 1}, "q2": {"d3": 1}}, runs, by="chance", n=2)
    >>> len(found.rows()), found.n_pooled, found.rows()[0]["probability"]
    (2, 4, 0.5)
    """

    forms: ClassVar[Mapping[str, str]] = {
        **FORMS,
        "label-studio": ".label-studio.json",
        "argilla": ".argilla.json",
    }

    query_ids: Sequence[str]  # of each row
    doc_ids: Sequence[str]
    settings: PoolSettings
    n_queries: int  # with a pooled document
    n_pooled: int  # documents; with an order of judging, unjudged ones
    recipe: Mapping[str, Any]  # version, names of the runs, options of `Judging`
    notes: tuple[Note, ...] = ()
    drawing: Mapping[Role, Sequence[float]] = field(default_factory=dict)  # how each row was drawn
    grades: Sequence[int | None] | None = None  # of each row: None (to label) or NOT_DRAWN
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # {column: {id: text}}

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the file for labelling."""
        query, doc, grade = (COLUMNS[role].public for role in ("query", "doc", "grade"))
        drawing = (COLUMNS[role].public for role in self.drawing)
        text_column_of_ids = {query: QUERY_TEXT, doc: DOC_TEXT}
        ids = (
            name
            for id_column, text_column in text_column_of_ids.items()
            for name in (id_column, text_column)
        )
        return (
            *(column for column in ids if column in text_column_of_ids or column in self.texts),
            grade,
            *drawing,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document; the grade of one to label is None, to be filled in."""
        columns: list[Iterable[Any]] = [self.query_ids, self.doc_ids]
        ids_of_text_column = {QUERY_TEXT: self.query_ids, DOC_TEXT: self.doc_ids}
        for i, (name, ids) in enumerate(ids_of_text_column.items()):
            if name in self.texts:
                columns.insert(2 * i + 1, [self.texts[name].get(text_id) for text_id in ids])
        columns.append(self.grades or [None] * len(self.doc_ids))
        return self._rows_as_dicts(zip(*columns, *self.drawing.values(), strict=True))

    def _rows_to_label(self) -> list[dict[str, Any]]:
        """Return the rows that need a label."""
        return [row for row in self.rows() if row[COLUMNS["grade"].public] is None]

    def to_label_studio(self) -> str:
        """Return the documents to label as tasks that Label Studio imports: JSON."""
        return as_json(label_studio_tasks(self._rows_to_label()), indent=2) + "\n"

    def to_argilla(self) -> str:
        """Return the documents to label as records that Argilla reads (`records.from_json`)."""
        return as_json(argilla_records(self._rows_to_label()), indent=2) + "\n"

    def requests(self, form: str, **options: Any) -> Requests:
        """Return requests that ask a model for the grades of the documents to label.

        `form` is "openai" or "anthropic", `options` are those of `RequestSettings`. Documents, and
        queries, without a text are not asked about. Raises OptionError without a model or texts,
        InputError if nothing is to be asked, or for a prompt or answers that cannot be read.

        >>> from cranfield import pool
        >>> texts = {"query_texts": {"q1": "Why?"}, "doc_texts": {"d1": "Because."}}
        >>> requests = pool(None, [{"q1": ["d1"]}], **texts).requests("openai", model="model-a")
        >>> len([*requests.lines()])
        1
        """
        check_choice("form", form, tuple(REQUEST_FORMS))
        settings = RequestSettings(**options)
        if not settings.model or not settings.model.isprintable():
            raise OptionError("requests need the name of a model: --model NAME (model=...)")
        if not {QUERY_TEXT, DOC_TEXT} <= self.texts.keys():
            raise OptionError("a model needs texts: --topics and --doc-texts")
        prompt = read_prompt(settings.prompt, settings.grades)
        rows = [row for row in self._rows_to_label() if row[QUERY_TEXT] and row[DOC_TEXT]]
        place_of_query: dict[str, int] = {}
        rows.sort(key=lambda row: place_of_query.setdefault(row["query_id"], len(place_of_query)))
        questions = [Question(*(row[name] for name in Question._fields)) for row in rows]
        answered_ids = list_answered_ids(settings.answered, prompt)
        return Requests(form, settings, prompt, questions, answered_ids)

    def tables(self) -> list[Table]:
        """Return a table of how many queries and documents are pooled, and are to be labelled."""
        grades = self.grades or [None] * len(self.doc_ids)
        rows_to_label = np.flatnonzero([grade is None for grade in grades])
        queries = encode_ids(self.query_ids).take(rows_to_label)
        n_queries = len({*queries.take(queries.find_changes()).to_list()})
        rows = [
            ["queries", f"{self.n_queries:,}", f"{n_queries:,}"],
            ["documents", f"{self.n_pooled:,}", f"{len(rows_to_label):,}"],
            *self._stratum_rows(),
        ]
        note_lines = [str(note) for note in self.notes]
        method_phrase = {
            "fusion": " by their fusion",
            "rbp": " by RBP",
            "move-to-front": " by move-to-front",
        }.get(self.settings.by, "")
        title = [f"The pool of {self.recipe.get('pool')}"]
        if "runs" in self.recipe:
            n_runs = format_count(len(self.recipe["runs"]), "run")
            title = [f"Pool of {n_runs}{method_phrase}, {self.settings.depth} deep"]
        if self.settings.by == "decide":
            title = ["What decides between two runs: unjudged documents, the weightiest first"]
        pooled_heading = "unjudged" if self.settings.by in IN_ORDER else "pooled"
        return [Table(["", pooled_heading, "to label"], rows, note_lines, title=title)]

    def _stratum_rows(self) -> Iterable[list[str]]:
        """Yield a row for each stratum: how many documents are pooled, and are to be labelled."""
        if self.settings.shares is None:
            return
        stratum_of_row, grades = np.array(self.drawing["stratum"]), np.array(self.grades)
        first_rank = 1
        for stratum, last_rank in enumerate(self.settings.shares, 1):
            is_in_stratum = stratum_of_row == stratum
            n_to_label = np.count_nonzero(is_in_stratum & (grades != NOT_DRAWN))
            yield [
                f"  best rank {first_rank} to {last_rank}",
                f"{np.count_nonzero(is_in_stratum):,}",
                f"{n_to_label:,}",
            ]
            first_rank = last_rank + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, their counts and notes, and the settings that draw them again."""
        return {
            "settings": vars(self.settings),
            "recipe": dict(self.recipe),
            "queries": self.n_queries,
            "documents": self.n_pooled,
            "rows": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }
