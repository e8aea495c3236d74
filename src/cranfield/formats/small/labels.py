"""Labels: reads labels of queries, for slices and clusters, from files, tables, dicts and rows."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DuplicateError
from cranfield.formats.columns import NAMES
from cranfield.formats.identifiers import escape_surrogates
from cranfield.formats.small.read import (
    NestedObject,
    Origin,
    Table,
    TableForm,
    parse_number,
    read_table,
)
from cranfield.notes import Note

QUERY = (*NAMES["query"], "_id", "id")
UNNAMED_KIND = "slice"  # the name of labels without a name
MANY_LABELS = 50  # if more labels, and more than half as many as queries: texts, not labels
FEW_LABELS = 10  # if more numbers: ranges; if more labels, each with one query: not labels
RANGES = 4  # of numbers, at most
_FORM = TableForm(
    "the labels",
    ("query_id", UNNAMED_KIND),
    header_names=QUERY,
    bare_description="a query and its label,",
)
_NO_LABEL_ERROR = (
    "holds no label of a query",
    "Expected a column query_id, and one of labels beside it.",
)
_CLUSTERS = TableForm(
    "the clusters",
    ("query_id", "cluster"),
    header_names=QUERY,
    bare_description="a query and its label,",
)

_Cell = tuple[int | None, Any, str, Any]  # the row, the query, the label's name, the label


@dataclass(frozen=True)
class LabelRows:
    """Labels of queries: {kind: {query: label}}, with notes, as on labels that were changed.

    Labels are in the order of the file; ranges of numbers are in rising order.
    """

    labels: Mapping[str, Mapping[str, str]]
    notes: tuple[Note, ...] = ()


def read_labels(data: Any) -> LabelRows:
    """Return the labels of queries in a file, a table, a dict or rows.

    A table has a column of queries, and one for each kind of label. Lines of two fields without
    names, rows of two values, and a dict {query: label} hold one kind, which is named `slice`; a
    dict {name: {query: label}} holds several. An empty cell is not a label. A kind with more than
    ten labels, all numbers, is put into up to four ranges of about equally many queries. A kind is
    left out as texts if more than ten queries all have different labels, or if there are more than
    fifty labels and more than half as many labels as queries.

    Raises InputError for cells that cannot be labels, and where no kind is left, as of the queries'
    texts; DuplicateError for a query with two labels of a kind.
    """
    labels_of_kind, origin = _read_kinds(data, _FORM)
    return _check_labels(labels_of_kind, origin)


def read_cluster_labels(data: Any, by: str | None = None) -> dict[str, str]:
    """Return {query: label} for the clusters of queries in a file, a table, a dict or rows.

    The data have the forms that `read_labels` takes; any number of labels are clusters, and numbers
    are labels as they are. An empty cell is no label. `by` names the kind of labels, if there are
    several.

    Raises InputError for values that cannot be labels, for several kinds of labels without `by`, an
    unknown `by`, or if there is no label; DuplicateError for a query with two labels.
    """
    labels_of_kind, origin = _read_kinds(data, _CLUSTERS)
    names = ", ".join(labels_of_kind)
    if by is None and len(labels_of_kind) > 1:
        problem = f"has {len(labels_of_kind)} columns of labels: {names}"
        hint = f"Name one: cluster_by={next(iter(labels_of_kind))!r}."
        raise origin.row_error(None, problem, hint)
    if by is not None and by not in labels_of_kind:
        raise origin.row_error(None, f"has no labels {by!r:.80}; it has {names}")
    label_of_query = next(iter(labels_of_kind.values()), {}) if by is None else labels_of_kind[by]
    if not label_of_query:
        raise origin.row_error(None, *_NO_LABEL_ERROR)
    return {query: _format_label(label) for query, label in label_of_query.items()}


def _read_kinds(data: Any, form: TableForm) -> tuple[dict[str, dict[str, str | float]], Origin]:
    """Return {kind: {query: label}}, and the source of the labels."""
    source = read_table(data, form)
    cells = _cells_of_table(source) if isinstance(source, Table) else _cells_of_dict(source)
    return _gather_labels(cells, source), source


def _cells_of_table(table: Table) -> Iterator[_Cell]:
    """Yield the labels in a table: each cell beside the column of queries."""
    if not table.n_rows:
        return
    query_position = table.find_query_column(QUERY)
    label_columns = table.other_columns([query_position])
    for row, cells in enumerate(table.rows()):
        for position, kind in label_columns:
            yield row, cells[query_position], kind, cells[position]


def _cells_of_dict(source: NestedObject) -> Iterator[_Cell]:
    """Yield the labels in {query: label} or {kind: {query: label}}."""
    is_dict = [isinstance(member, Mapping) for member in source.members.values()]
    if not any(is_dict):
        source = NestedObject(source.name, {UNNAMED_KIND: source.members}, source.find_line)
    elif not all(is_dict):
        raise source.row_error(None, "expected {query: label} or {name: {query: label}}, got both")
    for kind, query, label in source.read_leaves(2):
        yield None, query, str(kind), label


def _gather_labels(cells: Iterable[_Cell], origin: Origin) -> dict[str, dict[str, str | float]]:
    """Return {kind: {query: label}}; InputError for a bad label or id, or two labels of a query."""
    labels_of_kind: dict[str, dict[str, str | float]] = {}
    for row, query, kind, cell in cells:
        query = origin.read_id(row, query)
        labels = labels_of_kind.setdefault(kind, {})
        label = escape_surrogates(cell.strip()) if isinstance(cell, str) else cell
        if label is None or label == "" or (isinstance(label, float) and math.isnan(label)):
            continue
        if isinstance(label, Mapping | list | tuple | set | bytes):
            problem = f"expected a label of query {query!r:.80}, got {label!r:.80}"
            raise origin.row_error(row, problem)
        if isinstance(label, bool) or not isinstance(label, int | float):
            label = str(label)
        if labels.setdefault(query, label) != label:
            raise origin.row_error(
                row,
                f"query {query!r:.80} is {label!r:.80} as {kind!r:.80} here, and "
                f"{labels[query]!r:.80} above",
                kind=DuplicateError,
            )
    return labels_of_kind


def _check_labels(
    labels_of_kind: Mapping[str, Mapping[str, str | float]], origin: Origin
) -> LabelRows:
    """Return the labels for slices, ranges for numbers; InputError if no kind has few enough."""
    labels: dict[str, dict[str, str]] = {}
    notes: list[Note] = []
    for kind, label_of_query in labels_of_kind.items():
        distinct_labels = set(label_of_query.values())
        n_labels, n_queries = len(distinct_labels), len(label_of_query)
        number_of_label = {label: _to_finite_number(label) for label in distinct_labels}
        limit = FEW_LABELS if n_labels == n_queries else max(MANY_LABELS, n_queries / 2)
        if n_labels > FEW_LABELS and None not in number_of_label.values():
            number_of_query = {
                query: number
                for query, label in label_of_query.items()
                if (number := number_of_label[label]) is not None
            }
            labels[kind] = _make_ranges(number_of_query)
            text = (
                f"{kind}: {n_labels:,} different numbers, put into ranges at the quartiles of "
                f"{n_queries:,} queries."
            )
            notes.append(Note("ranges", "info", text))
        elif n_labels > limit:
            text = f"{kind}: left out, {n_labels:,} labels of {n_queries:,} queries."
            notes.append(Note("labels-left-out", "info", text))
        elif label_of_query:
            if n_labels == n_queries > 1:
                text = f"{kind}: each label has one query only."
                notes.append(Note("one-query-each", "info", text))
            text_of_label = {label: _format_label(label) for label in distinct_labels}
            labels[kind] = {query: text_of_label[label] for query, label in label_of_query.items()}
    if not labels and notes:
        raise origin.row_error(
            None,
            f"no labels for slices: {', '.join(note.text for note in notes)}",
            "Many queries must share a label, such as a type or a language. Texts are not labels; "
            "numbers, such as lengths, are put into ranges.",
        )
    if not labels:
        raise origin.row_error(None, *_NO_LABEL_ERROR)
    return LabelRows(labels, tuple(notes))


def _to_finite_number(label: str | float) -> float | None:
    number = parse_number(label)
    return number if number is not None and math.isfinite(number) else None


def _format_label(label: str | float) -> str:
    return f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label)


def _make_ranges(numbers: Mapping[str, float]) -> dict[str, str]:
    """Return the range of each query's number, the lowest ranges first.

    The i-th range ends with the number at position i n / 4, rounded up; equal numbers stay
    together.
    """
    queries = sorted(numbers, key=numbers.__getitem__)
    ends = [numbers[queries[-(-len(queries) * i // RANGES) - 1]] for i in range(1, RANGES + 1)]
    groups: list[list[str]] = [[] for _ in ends]
    for query in queries:
        groups[next(i for i, end in enumerate(ends) if numbers[query] <= end)].append(query)
    range_of_query: dict[str, str] = {}
    for group in groups:
        if group:
            low, high = numbers[group[0]], numbers[group[-1]]
            separator = "-" if low >= 0 and low.is_integer() and high.is_integer() else " to "
            label = _format_label(low) + (f"{separator}{_format_label(high)}" if low < high else "")
            range_of_query |= dict.fromkeys(group, label)
    return range_of_query
