"""Scores: the result of `evaluate`: the values of runs, query by query and over all queries."""

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
RUN_KEYS = ("run", "made_of", "retrieved", "judged")  # of a recipe: each run has its own
Direction = Literal["worse", "better", "same"]  # what a query became


class _ScoresTable(Shown):
    """The scores of runs as one table: of one run or of several."""

    measures: tuple[Measure, ...]

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns of `rows`; with slices, "label", "slice", "queries", too."""
        slice_columns = ("label", "slice", "queries") if self._slices else ()
        return ("run", "measure", *slice_columns, "query_id", "value")

    @property
    @abstractmethod
    def _runs(self) -> "Sequence[Scores]":
        """The scores of each run."""

    @property
    def _slices(self) -> "dict[tuple[str, str], list[Scores]]":
        """{(kind of label, label): the scores of each run that has queries with that label}."""
        scores_of_slice: dict[tuple[str, str], list[Scores]] = {}
        for run in self._runs:
            for label, name, slice_scores in run.slices:
                scores_of_slice.setdefault((label, name), []).append(slice_scores)
        return scores_of_slice

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return the scores as a table, counts whole, others with four decimals; runs are its rows.

        `per_query` adds a row for each query; ids that are all numbers are in the order in which
        one counts. Without it, the best of several runs is strong, if higher is better. Slices have
        a table for each kind of label.
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
        definitions = ((str(measure), measure.definition) for measure in self.measures)
        names = [
            name
            for name, definition in definitions
            if definition.of == "queries" and not definition.is_text
        ]
        if per_query and names and len(self._runs[0].query_ids) > 1:
            from shlex import quote

            words = f"-m {quote(names[0])}, or explain(..., measure={names[0]!r}) in Python."
            notes.append(f"The worst queries first: cranfield explain ... {words}")
        header = [*labels, *map(str, self.measures)]
        table = Table(header, rows, notes, len(labels), best_cells, frozenset(rules - {0}))
        kinds = dict.fromkeys(kind for kind, _ in self._slices)
        return [table, *map(self._table_of_slices, kinds)]

    @property
    def _page_title(self) -> str:
        names = [scores.name for scores in self._runs]
        subject = ", ".join(names) if len(names) <= 3 else format_count(len(names), "run")
        return f"Scores of {subject}"

    def _table_of_slices(self, label: str) -> Table:
        """Return the table of one kind of label: the runs as its rows, label after label."""
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
        """Return a row for each run and measure with a value over all, query_id "all".

        `per_query` adds rows for each query that a measure averages, before those of the run's
        "all". Rows of a slice have what is labelled, as "type", the label and "all"; `queries` is
        how many were averaged.
        """
        rows = []
        for run in self._runs:
            scores_of_query = run.to_dict().items() if per_query else ()
            groups: list[tuple[Any, ...]]  # (kind, label, queries, query_id, {measure: score})
            groups = [(None, None, 1, query, scores) for query, scores in scores_of_query]
            for kind, label, part in ((None, None, run), *run.slices):
                groups.append((kind, label, len(part.query_ids), "all", part.means()))
            for *slice_cells, query, scores in groups:
                cells = slice_cells if self._slices else []
                rows += [
                    (run.name, measure, *cells, query, score)
                    for measure, score in run.round_counts(scores).items()
                    if score is not None
                ]
        return self._rows_as_dicts(rows)

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return the scores as JSON has them, with the recipe that all runs share."""
        runs = []
        for scores in self._runs:
            run: dict[str, Any] = {
                "run": scores.name,
                "read_as": scores.recipe["run"],
                "counts": vars(scores.counts),
                "notes": [note.to_dict() for note in scores.notes],
                "all": scores.round_counts(scores.means()),
            }
            run |= {key: scores.recipe[key] for key in RUN_KEYS[1:] if key in scores.recipe}
            run |= scores.ends.to_dict(scores.measures)
            if scores.slices:
                run["slices"] = [
                    {
                        "label": kind,
                        "slice": label,
                        "counts": {
                            name: getattr(part.counts, name)
                            for name in ("queries", "without_results", "without_relevant")
                        },
                        "all": part.round_counts(part.means()),
                    }
                    for kind, label, part in scores.slices
                ]
            if per_query:
                run["queries"] = {
                    query: scores.round_counts(query_scores)
                    for query, query_scores in scores.to_dict().items()
                }
            runs.append(run)
        recipe = dict(self._runs[0].recipe)
        for key in RUN_KEYS:
            recipe.pop(key, None)
        return {"recipe": recipe, "runs": runs}

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: a row for each run and query, a column for each measure."""
        import pyarrow as pa

        runs = self._runs
        columns = {
            "run": arrow_column([scores.name for scores in runs for _ in scores.query_ids]),
            "query_id": arrow_column([query for scores in runs for query in scores.query_ids]),
        }
        for name, (measure, _) in runs[0].columns.items():
            values = np.concatenate([scores.columns[name][1] for scores in runs])
            if measure.definition.is_text or (values != values).any():  # NaN: no value
                cells = values.tolist()
                columns[name] = arrow_column([None if cell != cell else cell for cell in cells])
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
    notes: tuple[Note, ...] = ()  # what to know of the data and of how they were judged
    ends: Ends = NO_ENDS  # intervals around the values, which an extension has found
    # The kind of label, a label, and the scores of its queries; see `slice`.
    slices: "tuple[tuple[str, str, Scores], ...]" = ()
    # To how many decimals the value of each column over all queries is rounded; None, (): not.
    decimals: tuple[int | None, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)  # measures as asked -> as computed

    @property
    def _runs(self) -> "Sequence[Scores]":
        return [self]

    def slice(self, name: str, label: str | None = None) -> "Scores":
        """Return the scores of the queries with label `name`, of kind `label` if any; or KeyError.

        >>> from cranfield import evaluate
        >>> judgments, run = {"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1"], "q2": ["d3"]}
        >>> scores = evaluate(judgments, run, "P@1", slices={"q1": "how to", "q2": "fact"})
        >>> scores["P@1"], scores.slice("how to")["P@1"], scores.slice("fact")["P@1"]
        (0.5, 1.0, 0.0)
        """
        for kind, slice_name, scores in self.slices:
            if slice_name == name and label in (None, kind):
                return scores
        labels = ", ".join(slice_name for _, slice_name, _ in self.slices)
        raise KeyError(f"{name}: there are {labels or 'none: evaluate(..., slices=) makes them'}")

    @property
    def bounds(self) -> Any:
        """The bounds, None if they were not asked for."""
        return None if self.ends is NO_ENDS else self.ends

    def select_queries(self, is_selected: Bools, counts: Counts) -> "Scores":
        """Return the scores of the queries in a mask, (n_queries,), with `counts` and its notes."""
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
        """Return the name of a measure's column, "AP@10" or "AP@10 low"; MeasureError if none."""
        suffix = ""
        if isinstance(measure, str):
            if match := re.fullmatch(r"(.+) ([a-z]+)", measure):
                measure, suffix = match.groups()
            measure = parse(measure)
        name = f"{measure} {suffix}".rstrip()
        name = self.renamed.get(name, name)
        if name not in self.columns:
            raise MeasureError(f"{name} was not evaluated; these were: {', '.join(self.columns)}")
        return name

    def __getitem__(self, measure: Measure | str) -> float:
        """Return the value of one measure over all queries; MeasureError if not evaluated."""
        return self._aggregate(self._find_column(measure))

    def keys(self) -> list[str]:
        """Return the measures that have a value over all queries; so `dict(scores)` has `means`."""
        return [*self.means()]

    def _aggregate(self, name: str, *, exact: bool = False) -> float:
        """Return the value of a column over all queries, rounded as `decimals` say."""
        measure, values = self.columns[name]
        if not self.decimals:
            return measure.aggregate(values, exact=exact)
        decimals = self.decimals[[*self.columns].index(name)]
        numbers = values[values == values]  # not NaN
        score = measure.aggregate(numbers, exact=exact) if len(numbers) else math.nan
        return score if decimals is None else round(score, decimals)

    def means(self, *, exact: bool = False) -> dict[str, float]:
        """Return {measure: value over all queries} for the measures that have such a value.

        Values are added up from query to query, in the order of `query_ids`, as trec_eval does;
        with `exact`, sums are exact and rounded once: the same bits in any order, as those of a
        `Tally` are.

        >>> from cranfield import evaluate
        >>> judged = {str(i): dict.fromkeys("abcdefghij", 1) for i in range(10)}
        >>> scores = evaluate(judged, dict.fromkeys(judged, ["a"]), "R@1")
        >>> scores.means(), scores.means(exact=True)
        ({'R@1': 0.09999999999999999}, {'R@1': 0.1})
        """
        means = {
            name: self._aggregate(name, exact=exact)
            for name, (measure, _) in self.columns.items()
            if not measure.definition.is_text
        }
        if self.decimals:  # a convention: a measure may average none of the queries of a slice
            return {name: mean for name, mean in means.items() if mean == mean}
        return means

    def per_query(self, measure: Measure | str) -> dict[str, Any]:
        """Return {query_id: value} of one measure, number or text, for the queries it averages."""
        values = self.columns[self._find_column(measure)][1].tolist()
        pairs = self._put_in_order(zip(self.query_ids, values, strict=True))
        return {query: value for query, value in pairs if value == value}  # not NaN

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {query_id: {measure: value}}; None for what a measure is not averaged over."""
        columns = [scores.tolist() for _, scores in self.columns.values()]
        if self.decimals:
            columns = [list(map(finite_or_none, column)) for column in columns]
        rows = self._put_in_order(zip(self.query_ids, *columns, strict=True))
        return {query: dict(zip(self.columns, row, strict=True)) for query, *row in rows}

    def _put_in_order(self, rows: Iterable[Any]) -> Iterable[Any]:
        """Return a row for each query; queries that are named by place as one counts: 1, 2, 10."""
        most_digits = len(str(3 * len(self.query_ids) // 2))  # of places, though some are left out
        if max(map(len, self.query_ids), default=0) > most_digits:
            return rows
        return map([*rows].__getitem__, numeric_order(self.query_ids))

    def round_counts(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Return {column: score} with every digit, but with counts as whole numbers."""
        columns = self.columns.items()
        counts = {name for name, (measure, _) in columns if measure.definition.aggregation == "sum"}
        return {
            name: int(score) if name in counts and score is not None else score
            for name, score in scores.items()
        }

    def format_cells(self) -> list[list[str]]:
        """Return the cells of a table: a row for each query, and one for all; a cell per measure.

        With bounds, a cell is `0.5058 [0.4312, 0.7120]`.
        """
        means = self.means()
        texts = {
            name: [
                format_score(measure, score) for score in (*scores.tolist(), means.get(name, "-"))
            ]
            for name, (measure, scores) in self.columns.items()
        }
        columns = []
        for name in map(str, self.measures):
            column = texts[name]
            end_names = [f"{name} {suffix}" for suffix in self.ends.suffixes]
            end_texts = [texts[end_name] for end_name in end_names if end_name in texts]
            if end_texts:
                column = [*map(self.ends.format_cell, column, *end_texts)]
            columns.append(column)
        return [list(row) for row in zip(*columns, strict=True)]

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
        self._scores = {run_scores.name: run_scores for run_scores in scores}
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

        A note that does not apply to all runs names, as its source, the runs that it applies to.
        """
        notes_of_runs = ((name, note) for name, scores in self.items() for note in scores.notes)
        return tuple(merge_notes(notes_of_runs, n_sources=len(self)))

    def __repr__(self) -> str:
        return f"Systems({', '.join(map(repr, self))})"


def _find_best_cells(runs: Sequence[Scores], row: int, n_labels: int) -> frozenset[tuple[int, int]]:
    """Return (row, column) of the best of unequal scores if more is better, from `row` on."""
    best_cells = set()
    for column, measure in enumerate(runs[0].measures, n_labels):
        if measure.definition.is_text or not measure.definition.higher_is_better:
            continue
        means = [scores[measure] for scores in runs]
        if min(means) < max(means):
            best_cells |= {(row + i, column) for i, mean in enumerate(means) if mean == max(means)}
    return frozenset(best_cells)


def format_score(measure: Measure, score: float | str) -> str:
    """Return a score as tables show it: counts whole, other numbers with four decimals."""
    if isinstance(score, str):
        return score
    if math.isnan(score):
        return "-"
    return f"{score:.0f}" if measure.definition.aggregation == "sum" else f"{score:.4f}"
