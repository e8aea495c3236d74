"""Explanation: shows how a query's value was computed, and what would change it."""

import math
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from cranfield.errors import NO_DOCSTRINGS, OptionError
from cranfield.explanation.entries import EMPTY, Line, Section, Sheet
from cranfield.explanation.retrieved import count_visible, ranking_sheet
from cranfield.explanation.sentences import write_sentences
from cranfield.explanation.value import QueryValue
from cranfield.measures import Measure
from cranfield.notes import format_notes
from cranfield.options import is_whole_number
from cranfield.render.shown import Shown
from cranfield.render.table import Table, to_html, to_paragraphs
from cranfield.scoring.scores import format_score

_MAX_ROWS = 20  # of a table, before some are left out


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(QueryValue, Shown):
    """Why a query has the value it has.

    `worksheet` is the measure's own computation, step by step: tables of documents with the terms
    that are added up, and the numbers computed from them; its last line is the value, to the last
    bit what `evaluate` returns. Of the first documents, unjudged ones are in its tables, too, where
    they add nothing; where no table has all the first, they are a table before it. Beside it: what
    of the ranking was not judged; the equal scores whose order mattered; the swap of two ranks
    among the first 100 that improves the value most; the judgment of one unjudged document
    that would raise it most, or lower it.

    >>> from cranfield import explain
    >>> page = explain({"q1": {"d1": 3, "d2": 1}}, {"q1": ["d1", "d4", "d2"]}, "P@3", "q1")
    >>> page.value, page.unjudged
    (0.6666666666666666, [(2, 'd4')])
    >>> print(str(page).splitlines()[-1])
    P@3 = A / 3 = 2 / 3 = 0.6666666666666666
    """

    # ---- as text --------------------------------------------------------------------------------

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the worksheet's tables; of over `limit` + 1 rows, `limit` are shown (None: all).

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        *tables, last_table = self._make_tables(limit)
        grave_lines = format_notes(note for note in self.notes if note.is_grave)
        notes = [*grave_lines, *last_table.notes, *write_sentences(self)]
        return [*tables, replace(last_table, notes=notes)]

    def _make_tables(self, limit: int | None) -> list[Table]:
        """Return the worksheet's tables; lines are below the table they follow, the first above."""
        check_limit(limit)
        tables: list[Table] = []
        definition = self.measure.definition
        variant_text = ", of which this is a variant" * _is_variant(self.measure)
        value_text = format_score(self.measure, self.value) or EMPTY
        lines = [f"{self.measure} = {value_text}: query {self.query}, run {self.run}"]
        definition_text = f"{definition.formula} ({definition.source})"
        if not definition.formula:
            definition_text = f"its formula and its source are missing here {NO_DOCSTRINGS}"
        lines.append(f"{definition.name}{variant_text}: {definition_text}")
        for section in self._list_sections():
            if isinstance(section, Line):
                lines.append(section.text())
                continue
            title = [*([] if tables else lines), section.title[:1].upper() + section.title[1:]]
            lines = section.formula_lines  # and what follows, up to the next table
            tables.append(self._add_run_ranks(section).to_table(limit, title, lines))
        return tables

    def _add_run_ranks(self, sheet: Sheet) -> Sheet:
        """Add to an ideal ranking, not by group, the run's ranks, if no document was dropped."""
        has_other_ranks = "group" in sheet.labels or self.options.get("judged_only")
        if has_other_ranks or not sheet.is_ideal or "document" not in sheet.labels:
            return sheet
        rank_of_doc = {document.document: document.rank for document in reversed(self.retrieved)}
        run_ranks = [rank_of_doc.get(doc) for doc in sheet.labels["document"]]
        return replace(sheet, labels={**sheet.labels, "rank in run": run_ranks})

    def _list_sections(self) -> list[Section]:
        """Return the worksheet's sections; before them the ranking, if none of them shows it.

        The first documents of the ranking are shown; all where there is no other table.
        """
        sections = list(self.worksheet.sections)
        tables = [section for section in sections if isinstance(section, Sheet)]
        n_docs = len(self.retrieved)
        n = count_visible(n_docs, self.cutoff) if tables else n_docs
        first_documents = self.retrieved[:n]
        first_docs = {document.document for document in first_documents}
        doc_columns = (table.labels.get("document", ()) for table in tables if not table.is_sorted)
        if any(first_docs <= {*documents} for documents in doc_columns):
            return sections
        title = "documents retrieved"
        if self.options.get("judged_only"):
            title += ", before any were dropped"
        rows = [(document.rank, document.document, document.grade) for document in first_documents]
        return [ranking_sheet(rows, n_docs, title), *sections]

    def _repr_html_(self) -> str:
        # Tables are beside each other where there is room.
        sheets = "".join(f"<div>{to_html(table)}</div>" for table in self._make_tables(_MAX_ROWS))
        tables_html = f'<div style="display: flex; flex-wrap: wrap; gap: 0 3em">{sheets}</div>'
        return tables_html + to_paragraphs(write_sentences(self))

    # ---- for programs ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON, with every digit of every number.

        A score of a document that is not finite, which JSON does not have, is "inf" or "-inf".
        """
        definition, sheet = self.measure.definition, self.worksheet
        return {
            "query": self.query,
            "run": self.run,
            "measure": str(self.measure),
            "value": self.value,
            "formula": definition.formula,
            "source": definition.source,
            "steps": [section.to_dict() for section in [*sheet.sections, sheet.value_line]],
            "complete": not sheet.is_incomplete,
            "retrieved": [
                {**asdict(document), "score": _json_score(document.score)}
                for document in self.retrieved
            ],
            "unjudged": [{"rank": rank, "document": doc} for rank, doc in self.unjudged],
            "relevant": self.n_relevant,
            "missing": [{"document": doc, "grade": grade} for doc, grade in self.missing],
            **{name: value for remark in self.remarks for name, value in remark.to_dict().items()},
            "options": dict(self.options),
            "notes": [note.to_dict() for note in self.notes],
        }

    @property
    def header(self) -> list[str]:
        """The names of the columns of `rows`."""
        return list(self.rows()[0])

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each row of each table, and one for each step that follows.

        The columns are query_id, table, group, rank, document and grade, then those of the tables,
        then `step` and `value`: what a column is added up to, and what is computed of that. The
        last row is the value.

        >>> from cranfield import explain, grades
        >>> rows = explain(*grades([5, 2, 4]), "DCG").rows()
        >>> [(row["rank"], row["grade"], row["discount"], row["sum so far"]) for row in rows[:2]]
        [(1, 5, 1.0, 5.0), (2, 2, 1.584962500721156, 6.2618595071429155)]
        >>> rows[-1]["step"], rows[-1]["value"]
        ('DCG', 8.261859507142916)
        """
        rows: list[dict[str, Any]] = []
        for section in [*self._list_sections(), self.worksheet.value_line]:
            if isinstance(section, Line):
                rows.append({"step": section.symbol, "value": section.value})
                continue
            rows += ({"table": section.title, **row} for row in section.rows(_FIXED_COLUMNS))
            for total in section.totals:
                rows += (
                    {"table": section.title, "step": total.symbol, "value": value}
                    for value in total.values
                )
        all_names = dict.fromkeys(name for row in rows for name in row)
        own_names = [name for name in all_names if name not in _FIXED_COLUMNS]
        *first_names, step, value = _FIXED_COLUMNS
        names = (*first_names, *own_names, step, value)
        return [{name: row.get(name) for name in names} | {"query_id": self.query} for row in rows]


# The columns of the rows of every explanation; before the last two are those of its tables.
_FIXED_COLUMNS = ("query_id", "table", "group", "rank", "document", "grade", "step", "value")


def check_limit(limit: int | None) -> None:
    """Raise OptionError unless `limit` is a number of rows of a table, or None: all rows."""
    if limit is not None and (not is_whole_number(limit) or limit < 1):
        raise OptionError(f"limit={limit!r:.40}: expected a number of rows, 1 or more")


def _json_score(score: float | None) -> float | str | None:
    """Return a score, as text if it is not finite."""
    return score if score is None or math.isfinite(score) else str(score)


def _is_variant(measure: Measure) -> bool:
    """Tell whether the formula lacks a changed parameter, `rel` and the unnamed one apart."""
    definition = measure.definition
    return any(
        value != definition.defaults[name]
        and name not in ("rel", definition.names.unnamed)
        and not any(
            re.search(rf"\b{re.escape(str(text))}\b", definition.formula) for text in (name, value)
        )
        for name, value in measure.given
    )
