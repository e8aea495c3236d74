"""Scores: what a run scored, query by query, over all, and how it was computed."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.arrays.ranked import Bools, Floats
from cranfield.data.counts import Counts
from cranfield.errors import InputError, MeasureError
from cranfield.lazy import cached_property
from cranfield.measures import Measure, parse
from cranfield.notes import Note, format_notes, merge_notes
from cranfield.render.numbers import finite_or_none, format_count, numeric_order
from cranfield.render.shown import Shown, arrow_column
from cranfield.render.table import Table
from cranfield.scoring.ends import NO_ENDS, Ends

if TYPE_CHECKING:
    import pyarrow as pa


TIE = 1e-9  # two values of a query that are no farther apart are the same
Direction = Literal["worse", "better", "same"]  # what a query became


class _ScoresTable(Shown):
    """The scores of runs as one table: of one run or of several."""

    measures: tuple[Measure, ...]

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns of `rows`; with slices, what is labelled and the label, too."""
        slice_columns = ("label", "slice", "queries") if self._slices else ()
        return ("run", "measure", *slice_columns, "query_id", "value")

    @property
    @abstractmethod
    def _runs(self) -> "Sequence[Scores]":
        """The scores of each run."""

    @property
    def _slices(self) -> "dict[tuple[str, str], list[Scores]]":
        """The scores of each run that has such queries, by what is labelled and the label."""
        scores_of_slice: dict[tuple[str, str], list[Scores]] = {}
        for run in self._runs:
            for label, name, slice_scores in run.slices:
                scores_of_slice.setdefault((label, name), []).append(slice_scores)
        return scores_of_slice

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return the scores as a table, four decimals each; runs are its rows.

        `per_query` adds a row for each query; ids that are all numbers are in the order in which
        one counts. The best of several runs is strong. Slices have a table for each kind of label.
        """
        rows: list[list[str]] = []
        rules = set()
        for scores in self._runs:
            *cells, mean_cells = scores.format_cells()
            if per_query:
                rules.add(len(rows))
                order = numeric_order(scores.query_ids)
                rows += [[scores.name, scores.query_ids[i], *cells[i]] for i in order]
            rows.append([scores.name, *(["all"] if per_query else []), *mean_cells])
        labels = ["run", "query_id"] if per_query else ["run"]
        best_cells = frozenset() if per_query else _find_best_cells(self._runs, 0, 1)
        notes = format_notes(self.notes)
        names = [str(measure) for measure in self.measures if not measure.definition.is_text]
        if per_query and names and len(self._runs[0].query_ids) > 1:
            from shlex import quote

            words = f"-m {quote(names[0])}, or explain(..., measure={names[0]!r}) in Python."
            notes.append(f"The worst queries first: cranfield explain ... {words}")
        header = [*labels, *map(str, self.measures)]
        table = Table(header, rows, notes, len(labels), best_cells, frozenset(rules - {0}))
        return [
            table,
            *map(self._table_of_slices, dict.fromkeys(label for label, _ in self._slices)),
        ]

    @property
    def _page_title(self) -> str:
        names = [scores.name for scores in self._runs]
        return (
            f"Scores of {', '.join(names) if len(names) <= 3 else format_count(len(names), 'run')}"
        )

    def _table_of_slices(self, label: str) -> Table:
        """Return the table of one kind of label: rows for each label, the runs."""
        rows: list[list[str]] = []
        best_cells: set[tuple[int, int]] = set()
        rules = set()
        for (kind, name), runs in self._slices.items():
            if kind != label:
                continue
            rules.add(len(rows))
            best_cells |= _find_best_cells(runs, len(rows), 3)
            rows += [
                [name, f"{len(scores.query_ids):,}", scores.name, *scores.format_cells()[-1]]
                for scores in runs
            ]
        header = [label, "queries", "run", *map(str, self.measures)]
        title = [f"By {label}"]
        rules = rules - {0} if len(self._runs) > 1 else set()
        return Table(header, rows, [], 3, frozenset(best_cells), frozenset(rules), title=title)

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each run and measure, the query_id of which is "all".

        `per_query` adds rows for each query that a measure averages, before those of the run's
        "all". Rows of a slice have what is labelled, as "type", the label and "all"; `queries` is
        how many were averaged.
        """
        rows = []
        for run in self._runs:
            values_of_queries = run.to_dict().items() if per_query else ()
            groups: list[tuple[Any, ...]]
            groups = [
                (None, None, 1, query, value_of_measure)
                for query, value_of_measure in values_of_queries
            ]
            for label, name, scores in ((None, None, run), *run.slices):
                groups.append((label, name, len(scores.query_ids), "all", scores.means()))
            for *slice_cells, query, value_of_measure in groups:
                slice_cells_shown = slice_cells if self._slices else []
                counted_values = run.round_counts(value_of_measure).items()
                rows += [
                    (run.name, name, *slice_cells_shown, query, value)
                    for name, value in counted_values
                    if value is not None
                ]
        return self._rows_as_dicts(rows)

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        runs = []
        for scores in self._runs:
            run: dict[str, Any] = {
                "run": scores.name,
                "read_as": scores.recipe["run"],
                "counts": vars(scores.counts),
                "notes": [note.to_dict() for note in scores.notes],
                "all": scores.round_counts(scores.means()),
            }
            run |= {
                key: scores.recipe[key] for key in ("made_of", "retrieved") if key in scores.recipe
            }
            run |= scores.ends.to_dict(scores.measures)
            if scores.slices:
                run["slices"] = [
                    {
                        "label": label,
                        "slice": name,
                        "counts": {
                            count_name: getattr(slice_scores.counts, count_name)
                            for count_name in ("queries", "without_results", "without_relevant")
                        },
                        "all": slice_scores.round_counts(slice_scores.means()),
                    }
                    for label, name, slice_scores in scores.slices
                ]
            if per_query:
                values_of_queries = scores.to_dict()
                run["queries"] = {
                    query: scores.round_counts(value_of_measure)
                    for query, value_of_measure in values_of_queries.items()
                }
            runs.append(run)
        recipe = dict(self._runs[0].recipe)
        for key in ("run", "made_of", "retrieved"):  # each run has its own
            recipe.pop(key, None)
        return {"recipe": recipe, "runs": runs}

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: a row for each run and query, a column for each measure."""
        import pyarrow as pa

        run_scores = self._runs
        columns = {
            "run": arrow_column([scores.name for scores in run_scores for _ in scores.query_ids]),
            "query_id": arrow_column(
                [query for scores in run_scores for query in scores.query_ids]
            ),
        }
        for name, (measure, _) in run_scores[0].columns.items():
            values = np.concatenate([scores.columns[name][1] for scores in run_scores])
            if measure.definition.is_text:
                columns[name] = arrow_column(values.tolist())
                continue
            buffer = pa.py_buffer(np.ascontiguousarray(values, np.float64))
            columns[name] = pa.Array.from_buffers(pa.float64(), len(values), [None, buffer])
        return pa.table(columns)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(_ScoresTable):
    """One run's scores: queries x measures, with the recipe that made them.

    `values` is (n_queries, n_measures); its rows are `query_ids`, in the order of their bytes,
    its columns `measures`; under a convention, NaN is a query that a measure is not averaged over.
    `scores["nDCG@10"]` is the value over all queries: the mean, or what
    the measure says (the sum of counts, the geometric mean of GMAP). A measure whose value is a
    text (RelString) has none over all queries; with one, `values` holds objects.

    >>> from cranfield import evaluate
    >>> scores = evaluate({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d3", "d1"]}, "RR P@1")
    >>> scores["RR"]
    0.25
    >>> scores.per_query("RR")
    {'q1': 0.5, 'q2': 0.0}
    """

    name: str
    measures: tuple[Measure, ...]
    query_ids: Sequence[str]
    values: Floats
    counts: Counts
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()  # what to know of the data and of how it was judged
    ends: Ends = NO_ENDS  # what an extension has found beside the values
    # What is labelled, a label, and the scores of its queries; see `slice`.
    slices: "tuple[tuple[str, str, Scores], ...]" = ()
    decimals: tuple[int | None, ...] = ()  # to how many each mean is rounded; (): not rounded
    renamed: Mapping[str, str] = field(default_factory=dict)  # measures as asked -> as computed

    @property
    def _runs(self) -> "Sequence[Scores]":
        return [self]

    def slice(self, name: str, label: str | None = None) -> "Scores":
        """Return the scores of the queries that have one label, of a kind if that is stated.

        >>> from cranfield import evaluate
        >>> judgments, run = {"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1"], "q2": ["d3"]}
        >>> scores = evaluate(judgments, run, "P@1", slices={"q1": "how to", "q2": "fact"})
        >>> scores["P@1"], scores.slice("how to")["P@1"], scores.slice("fact")["P@1"]
        (0.5, 1.0, 0.0)
        """
        for kind, slice_label, scores in self.slices:
            if slice_label == name and label in (None, kind):
                return scores
        labels = ", ".join(slice_label for _, slice_label, _ in self.slices)
        raise KeyError(f"{name}: there are {labels or 'none: evaluate(..., slices=) makes them'}")

    @property
    def bounds(self) -> Any:
        """The bounds, None if they were not asked for."""
        return None if self.ends is NO_ENDS else self.ends

    def select_queries(self, is_selected: Bools, counts: Counts) -> "Scores":
        """Return the scores of some queries, of which there are so many."""
        return replace(
            self,
            query_ids=[*compress(self.query_ids, is_selected.tolist())],
            values=self.values[is_selected],
            counts=counts,
            notes=tuple(counts.notes()),
            ends=self.ends.select_queries(is_selected),
        )

    @cached_property
    def columns(self) -> dict[str, tuple[Measure, Floats]]:
        """Return {name: (measure, each query's value)}.

        With bounds, a measure `nDCG@10` is followed by `nDCG@10 low` and `nDCG@10 high`.
        """
        columns = {}
        for i, measure in enumerate(self.measures):
            columns[str(measure)] = measure, self.values[:, i]
            for suffix, column in self.ends.columns(i).items():
                columns[f"{measure} {suffix}"] = measure, column
        return columns

    def _find_column(self, measure: Measure | str) -> str:
        name, suffix = measure, ""
        if isinstance(name, str) and (match := re.fullmatch(r"(.+) ([a-z]+)", name)):
            name, suffix = match.groups()  # "AP low"
        parsed_measure = parse(name) if isinstance(name, str) else name
        column_name = f"{parsed_measure} {suffix}".rstrip()
        column_name = self.renamed.get(column_name, column_name)
        if column_name not in self.columns:
            column_names = ", ".join(self.columns)
            raise MeasureError(f"{column_name} was not evaluated; these were: {column_names}")
        return column_name

    def __getitem__(self, measure: Measure | str) -> float:
        """Return the value of one measure over all queries; KeyError if it was not evaluated."""
        return self._aggregate(self._find_column(measure))

    def keys(self) -> list[str]:
        """Return the measures that have a value over all queries; so `dict(scores)` has `means`."""
        return [*self.means()]

    def _aggregate(self, name: str, *, exact: bool = False) -> float:
        measure, values = self.columns[name]
        if not self.decimals:
            return measure.aggregate(values, exact=exact)
        decimals = self.decimals[[*self.columns].index(name)]
        finite_values = values[values == values]  # not NaN
        value = measure.aggregate(finite_values, exact=exact) if len(finite_values) else math.nan
        return value if decimals is None else round(value, decimals)

    def means(self, *, exact: bool = False) -> dict[str, float]:
        """Return {measure: value over all queries}, of those that have one.

        Values are added up from query to query, in the order of `query_ids`, as trec_eval does;
        with `exact`, sums are exact and rounded once: the same bits in any order, as those of a
        `Tally` are.

        >>> from cranfield import evaluate
        >>> judged = {str(i): dict.fromkeys("abcdefghij", 1) for i in range(10)}
        >>> scores = evaluate(judged, dict.fromkeys(judged, ["a"]), "R@1")
        >>> scores.means(), scores.means(exact=True)
        ({'R@1': 0.09999999999999999}, {'R@1': 0.1})
        """
        has_number = (
            name for name, (measure, _) in self.columns.items() if not measure.definition.is_text
        )
        value_of_measure = {name: self._aggregate(name, exact=exact) for name in has_number}
        # Under a convention, a measure may average none of the queries of a slice.
        return (
            {name: value for name, value in value_of_measure.items() if value == value}
            if self.decimals
            else value_of_measure
        )

    def per_query(self, measure: Measure | str) -> dict[str, Any]:
        """Return {query_id: value} of one measure: numbers, or texts if it is one of texts."""
        values = self.columns[self._find_column(measure)][1].tolist()
        return {
            query: value
            for query, value in zip(self.query_ids, values, strict=True)
            if value == value  # not NaN
        }

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {query_id: {measure: value}}; None for what a measure is not averaged over."""
        value_lists = [values.tolist() for _, values in self.columns.values()]
        if self.decimals:
            value_lists = [[finite_or_none(value) for value in values] for values in value_lists]
        return {
            query: dict(zip(self.columns, row, strict=True))
            for query, row in zip(self.query_ids, zip(*value_lists, strict=True), strict=True)
        }

    def round_counts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of some columns, {name: value}, with every digit; counts are whole."""
        kinds = {
            name: measure.definition.aggregation for name, (measure, _) in self.columns.items()
        }
        return {
            name: int(value) if kinds[name] == "sum" and value is not None else value
            for name, value in values.items()
        }

    def format_cells(self) -> list[list[str]]:
        """Return what a table shows of each query, a cell for each measure; the last row: of all.

        With bounds, `0.5058 [0.4312, 0.7120]`.
        """
        means = self.means()
        texts = {
            name: [
                format_score(measure, value) for value in (*values.tolist(), means.get(name, "-"))
            ]
            for name, (measure, values) in self.columns.items()
        }
        cell_columns = []
        for name in map(str, self.measures):
            column = texts[name]
            end_texts = [
                texts[end_name]
                for end in self.ends.suffixes
                if (end_name := f"{name} {end}") in texts
            ]
            if end_texts:
                column = [*map(self.ends.format_cell, column, *end_texts)]
            cell_columns.append(column)
        return [list(row) for row in zip(*cell_columns, strict=True)]

    def __repr__(self) -> str:
        means = [f"{name}: {value:.4f}" for name, value in self.means().items()]
        return f"Scores({', '.join([repr(self.name), f'{len(self.query_ids):,} queries', *means])})"


class Systems(_ScoresTable, Mapping[str, Scores]):
    """Several runs' scores, by name: one table.

    A mapping {name: Scores}, in the order in which the runs were given.

    >>> from cranfield import evaluate
    >>> systems = evaluate("demo/qrels.txt", ["demo/bm25.run", "demo/dense.run"], "RR@10")
    >>> {name: round(scores["RR@10"], 4) for name, scores in systems.items()}
    {'bm25': 0.6274, 'dense': 0.845}
    """

    def __init__(self, scores: Iterable[Scores]) -> None:
        self._scores = {scores.name: scores for scores in scores}
        if not self._scores:
            raise InputError("no run is given")

    @property
    def _runs(self) -> Sequence[Scores]:
        return list(self._scores.values())

    def __getitem__(self, name: str) -> Scores:
        """Return the scores of one run; KeyError, with the names that there are, for another."""
        if name not in self._scores:
            raise KeyError(f"{name!r:.80}: the runs are {', '.join(map(repr, self._scores))}")
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    @property
    def measures(self) -> tuple[Measure, ...]:  # type: ignore[override] # the same for every run
        """What was evaluated, the same for every run."""
        return self._runs[0].measures

    def slice(self, name: str, label: str | None = None) -> "Systems":
        """Return the scores of the queries that have one label: see `Scores.slice`."""
        return Systems(scores.slice(name, label) for scores in self._runs)

    def means(self, *, exact: bool = False) -> dict[str, dict[str, float]]:
        """Return {run: {measure: value over all queries}}; for `exact` see `Scores.means`."""
        return {name: scores.means(exact=exact) for name, scores in self.items()}

    def per_query(self, measure: Measure | str) -> dict[str, dict[str, Any]]:
        """Return {run: {query_id: value}} of one measure."""
        return {name: scores.per_query(measure) for name, scores in self.items()}

    def to_dict(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return {run: {query_id: {measure: value}}}."""
        return {name: scores.to_dict() for name, scores in self.items()}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know beside the numbers: the queries, what was left out, the options.

        A note that does not apply to all runs names, as its source, those that it applies to.
        """
        notes_of_runs = ((name, note) for name, scores in self.items() for note in scores.notes)
        return tuple(merge_notes(notes_of_runs, n_sources=len(self)))

    def __repr__(self) -> str:
        return f"Systems({', '.join(map(repr, self))})"


def _find_best_cells(runs: Sequence[Scores], row: int, n_labels: int) -> frozenset[tuple[int, int]]:
    """Return the cells of the best values among runs, the first of which is in this row."""
    best_cells = set()
    for column, measure in enumerate(runs[0].measures, n_labels):
        if measure.definition.is_text or not measure.definition.higher_is_better:
            continue
        values = [scores[measure] for scores in runs]
        if min(values) < max(values):
            best_cells |= {
                (row + i, column) for i, value in enumerate(values) if value == max(values)
            }
    return frozenset(best_cells)


def format_score(measure: Measure, value: float | str) -> str:
    """Return a value as tables show it: counts whole, other numbers with four decimals."""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if measure.definition.aggregation == "sum" else f"{value:.4f}"
