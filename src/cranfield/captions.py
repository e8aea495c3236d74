"""with_texts: shows the texts of queries and documents beside their ids, in any result."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cranfield.errors import OptionError
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT, IdRole, Texts, TextsLike, read_texts
from cranfield.notes import Note, format_notes
from cranfield.render.shown import Shown
from cranfield.render.table import Table

MAX_TEXT_LENGTH = 72  # characters of a text in a table

# {heading of a column of ids: (heading of the texts, their name in rows, plural of the ids' kind)}
_KINDS: Mapping[str, tuple[str, str, str]] = {
    "query_id": ("query", QUERY_TEXT, "queries"),
    "document": ("text", DOC_TEXT, "documents"),
}


def with_texts(
    result: Shown,
    *,
    query_texts: "TextsLike | None" = None,
    doc_texts: "TextsLike | None" = None,
    **table_options: Any,
) -> "WithTexts":
    """Show a result with the texts of its queries and documents beside their ids.

    Args:
        result: a result, as `explain`, `evaluate`, `compare`, `gate` and `check` return it.
        query_texts: the questions: a file (TREC topics; a table with a column of ids and one of
            texts, or two columns without names; JSON lines, as BEIR's queries.jsonl), a table in
            memory, or a dict {id: text}.
        doc_texts: titles or texts of documents, in the same forms, as BEIR's corpus.jsonl, or a
            list of files: runs with titles will do. Of JSON lines and of fields with tabs between
            them, only the documents shown are looked at.
        **table_options: what the result's tables and rows take, such as per_query=True.

    Returns:
        A result in all forms that the given one has. Tables that show such ids have one more
        column for the texts of each kind, cut at 72 characters; rows have a column `query_text`, or
        `document_text`, with all of it.

    Raises:
        OptionError: for what is no result.
        InputError: when it is shown, for a file that holds no texts.

    >>> from cranfield import explain
    >>> runs = {"old": {"q1": ["d1"], "q2": ["d2"]}, "new": {"q1": ["d2"], "q2": ["d2"]}}
    >>> result = explain({"q1": {"d1": 1}, "q2": {"d2": 1}}, runs, "RR")
    >>> shown = with_texts(result, query_texts={"q1": "read a CSV file"})
    >>> shown.tables()[0].rows
    [['q1', '1.0000', '0.0000', '-1.0000', 'worse', 'read a CSV file']]

    """
    if not isinstance(result, Shown):
        raise OptionError(
            f"result={result!r:.80}: expected a result, as evaluate or explain returns"
        )
    texts_of_kind = {"query_id": query_texts, "document": doc_texts}
    return WithTexts(
        result,
        {kind: texts for kind, texts in texts_of_kind.items() if texts is not None},
        table_options,
    )


@dataclass(frozen=True, eq=False, repr=False)
class WithTexts(Shown):
    """A result that is shown with texts beside its ids: see `with_texts`."""

    plain_result: Shown
    sources: Mapping[str, TextsLike]  # {heading of a column of ids: texts}
    table_options: Mapping[str, Any]
    # {heading: {id: text}}; None: the id has no text.
    _text_of_id: dict[str, dict[str, str | None]] = field(default_factory=dict)
    _columns_of_kind: dict[str, str] = field(default_factory=dict)  # of a table of texts

    @property
    def forms(self) -> Mapping[str, str]:  # type: ignore[override] # those of the result
        """The forms of the result, and the suffix of each."""
        return self.plain_result.forms

    def to_junit(self) -> str:
        """Return the JUnit report of a gate, with the texts beside the ids of its queries."""
        gate: Any = self.plain_result
        report: str = gate.to_junit(lambda gate_alone: str(replace(self, plain_result=gate_alone)))
        return report

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns of `rows`."""
        text_columns = (
            _KINDS[kind][1] for kind in self.sources if kind in self.plain_result.header
        )
        return (*self.plain_result.header, *text_columns)

    @property
    def notes(self) -> Sequence[Note]:
        """The notes of the result, and notes on ids without text."""
        rows = self.plain_result.rows(**self.table_options)
        missing = (
            self._missing_notes(kind, [row.get(kind) for row in rows]) for kind in self.sources
        )
        return (*self.plain_result.notes, *(note for notes in missing for note in notes))

    def tables(self, **options: Any) -> list[Table]:
        """Return the result's tables, with last columns of texts, and a query's in the title."""
        tables = self.plain_result.tables(**{**self.table_options, **options})
        for kind in self.sources:
            ids = self._collect_ids(tables, kind)
            texts = self._find_texts(kind, ids)  # of all tables at once: a file is read once
            missing = format_notes(self._missing_notes(kind, ids))
            tables = [self._add_text_column(table, kind) for table in tables]
            if kind == "query_id" and (query := self._query) in texts:
                first, *lines = tables[0].title
                title = [first, f"{query}: {_shorten(texts[query])}", *lines]
                tables[0] = replace(tables[0], title=title)
            tables[-1] = replace(tables[-1], notes=[*missing, *tables[-1].notes])
        return tables

    @property
    def _measure_names(self) -> Iterable[str]:
        return self.plain_result._measure_names

    @property
    def _system_names(self) -> Iterable[str]:
        return self.plain_result._system_names

    def _draw_table(self, table: Table, width: int | None, color: bool) -> str:
        return self.plain_result._draw_table(table, width, color)

    @property
    def _query(self) -> str:
        """The query that the whole result explains; empty if there is none."""
        return str(getattr(self.plain_result, "query", ""))

    def _collect_ids(self, tables: Iterable[Table], kind: str) -> list[str]:
        """Return the ids of a kind in tables; of queries also the one that is explained, or ''."""
        return [
            *([self._query] if kind == "query_id" else []),
            *(name for table in tables for name in _table_ids(table, kind)),
        ]

    def _add_text_column(self, table: Table, kind: str) -> Table:
        ids = _table_ids(table, kind)
        texts = self._find_texts(kind, ids)
        if not texts:
            return table
        cells = [_shorten(texts.get(name, "")) for name in ids]
        return replace(
            table,
            header=[*table.header, _KINDS[kind][0]],
            rows=[[*row, cell] for row, cell in zip(table.rows, cells, strict=True)],
            n_sentences=table.n_sentences + 1,
        )

    def _find_texts(self, kind: str, ids: Collection[Any]) -> Texts:
        """Return {id: text} of the ids that have a text."""
        is_first = kind not in self._text_of_id
        text_of_id = self._text_of_id.setdefault(kind, {})
        names = {row_id for row_id in ids if isinstance(row_id, str) and row_id not in _NON_IDS}
        new_ids = names - text_of_id.keys()
        if new_ids or is_first:  # a file that is not there is refused where nothing is shown, too
            role: IdRole = "doc" if kind == "document" else "query"
            new_texts = read_texts(
                self.sources[kind], new_ids, f"the texts of {_KINDS[kind][2]}", role=role
            )
            text_of_id.update({name: new_texts.get(name) for name in new_ids})
            self._columns_of_kind[kind] = new_texts.columns
        texts = Texts({name: text for name in names if (text := text_of_id[name])})
        texts.columns = self._columns_of_kind[kind]
        return texts

    def _missing_notes(self, kind: str, ids: Collection[Any]) -> list[Note]:
        """Return a note on the ids without text, if there are any."""
        names = dict.fromkeys(
            row_id for row_id in ids if isinstance(row_id, str) and row_id not in _NON_IDS
        )
        return missing_text_notes(names, self._find_texts(kind, names), _KINDS[kind][2])

    def rows(self, **options: Any) -> list[dict[str, Any]]:
        """Return the result's rows, with columns of texts: None where an id has no text."""
        rows = self.plain_result.rows(**{**self.table_options, **options})
        for kind in self.sources:
            if kind in self.plain_result.header:
                texts = self._find_texts(kind, [row[kind] for row in rows])
                name = _KINDS[kind][1]
                rows = [{**row, name: texts.get(row[kind])} for row in rows]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with `query_texts` and `document_texts`."""
        return self._add_texts(
            self.plain_result.to_dict(), self.plain_result.rows(**self.table_options)
        )

    def _document(self, **options: Any) -> dict[str, Any]:
        options = {**self.table_options, **options}
        return self._add_texts(
            self.plain_result._document(**options), self.plain_result.rows(**options)
        )

    def _add_texts(
        self, document: dict[str, Any], rows: Iterable[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write {id: text} of each kind into a document of plain values, and return it."""
        all_rows = list(rows)
        tables = self.plain_result.tables(**self.table_options)
        for kind in self.sources:
            ids = [*(row.get(kind) for row in all_rows), *self._collect_ids(tables, kind)]
            document[f"{_KINDS[kind][1]}s"] = dict(sorted(self._find_texts(kind, ids).items()))
        return document


def missing_text_notes(ids: Collection[str], texts: Texts, ids_name: str) -> list[Note]:
    """Return a note on the ids that are not in `texts`, if there are any.

    >>> [str(note) for note in missing_text_notes(["q1", "q2"], Texts(q1="read"), "queries")]
    ["1 of the 2 queries shown have no text; for instance 'q2'."]
    """
    ids_without_text = [name for name in ids if name not in texts]
    if not ids_without_text:
        return []
    subject = f"{len(ids_without_text):,} of the {len(ids):,} {ids_name} shown have no text"
    sentence = f"{subject}; for instance {ids_without_text[0]!r}.{texts.name_columns()}"
    return [Note("no-text", "info" if texts else "warning", sentence, count=len(ids_without_text))]


_NON_IDS = ("all", "")  # of rows over all queries


def _table_ids(table: Table, kind: str) -> list[str]:
    """Return the ids in the column `kind` of a table; an empty list if there is no such column."""
    labels = list(table.header[: table.n_labels])
    if kind not in labels:
        return []
    column = labels.index(kind)
    # Where the middle of a table is left out, a row says so.
    return ["" if row[-1] == "..." else row[column] for row in table.rows]


def _shorten(text: str) -> str:
    """Return a text, cut to the length that a table shows."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    return f"{text[: MAX_TEXT_LENGTH - 3].rsplit(' ', 1)[0] or text[: MAX_TEXT_LENGTH - 3]}..."
