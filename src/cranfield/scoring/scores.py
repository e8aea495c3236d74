"""Scores: what a run scored, query by query, over all, and how it was computed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.data.judge import Counts
from cranfield.errors import InputError, MeasureError
from cranfield.lazy import cached_property
from cranfield.measures import Measure, parse
from cranfield.notes import Note, lines_of, merged
from cranfield.render.shown import Shown, arrow_column
from cranfield.render.table import Table
from cranfield.scoring.bounds import Bounds

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER = ("run", "measure", "query_id", "value")


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Shown):
    """One run's scores: queries x measures, with the recipe that made them.

    `values` is (n_queries, n_measures); its rows are `query_ids`, in the order of their bytes,
    its columns `measures`. `scores["nDCG@10"]` is the value over all queries: the mean, or what
    the measure says (the sum of counts, the geometric mean of GMAP). A measure whose value is a
    text (RelString) has none over all queries; with one, `values` holds objects.

    >>> from cranfield import evaluate
    >>> scores = evaluate({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d3", "d1"]}, "RR P@1")
    >>> scores["RR"]
    0.25
    >>> scores.per_query("RR")
    {'q1': 0.5, 'q2': 0.0}
    """

    header = _HEADER

    name: str
    measures: tuple[Measure, ...]
    query_ids: Sequence[str]
    values: Floats
    counts: Counts
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()  # what to know of the data and of how it was judged
    bounds: Bounds | None = None  # if they were asked for

    @cached_property
    def columns(self) -> dict[str, tuple[Measure, Floats]]:
        """Return {name: (measure, each query's value)}.

        With bounds, a measure `nDCG@10` is followed by `nDCG@10 low` and `nDCG@10 high`.
        """
        found = {}
        for i, measure in enumerate(self.measures):
            found[str(measure)] = measure, self.values[:, i]
            if self.bounds is not None and not np.isnan(self.bounds.low[:, i]).any():
                found[f"{measure} low"] = measure, self.bounds.low[:, i]
                found[f"{measure} high"] = measure, self.bounds.high[:, i]
        return found

    def _column(self, measure: Measure | str) -> str:
        name, end = measure, ""
        if isinstance(name, str) and name.endswith((" low", " high")):
            name, _, end = name.rpartition(" ")
        wanted = f"{parse(name) if isinstance(name, str) else name} {end}".rstrip()
        if wanted not in self.columns:
            known = ", ".join(self.columns)
            raise MeasureError(f"{wanted} was not evaluated; these were: {known}")
        return wanted

    def __getitem__(self, measure: Measure | str) -> float:
        name = self._column(measure)
        if name in self._overall:
            return self._overall[name]
        of, values = self.columns[name]
        return of.aggregate(values)  # which says why not

    @cached_property
    def _overall(self) -> dict[str, float]:
        return {
            name: measure.aggregate(values)
            for name, (measure, values) in self.columns.items()
            if not measure.definition.is_text
        }

    def means(self) -> dict[str, float]:
        """Return {measure: value over all queries}, of those that have one."""
        return dict(self._overall)

    def per_query(self, measure: Measure | str) -> dict[str, Any]:
        """Return {query_id: value} of one measure: numbers, or texts if it is one of texts."""
        values = self.columns[self._column(measure)][1].tolist()
        return dict(zip(self.query_ids, values, strict=True))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {query_id: {measure: value}}."""
        rows = zip(*(values.tolist() for _, values in self.columns.values()), strict=True)
        return {
            query: dict(zip(self.columns, row, strict=True))
            for query, row in zip(self.query_ids, rows, strict=True)
        }

    def cells(self) -> list[list[str]]:
        """Return what a table shows of each query, a cell for each measure; the last row: of all.

        With bounds, `0.5058 [0.4312, 0.7120]`.
        """
        shown_columns = []
        for measure in self.measures:
            columns = []
            for name in (str(measure), f"{measure} low", f"{measure} high"):
                if name in self.columns:
                    every = [*self.columns[name][1].tolist(), self._overall.get(name, "-")]
                    columns.append([shown(measure, value) for value in every])
            shown_columns.append([_bracketed(*texts) for texts in zip(*columns, strict=True)])
        return [list(row) for row in zip(*shown_columns, strict=True)]

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return the scores as a table, four decimals each; `per_query` adds each query's."""
        return Systems([self]).tables(per_query=per_query)

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each measure, the query_id of which is "all"; before, each query's."""
        return Systems([self]).rows(per_query=per_query)

    def _document(self, **how: Any) -> dict[str, Any]:
        return Systems([self])._document(**how)

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: a row for each query, a column for each measure."""
        return Systems([self]).to_arrow()

    def plain(self, name: str, value: float | str) -> float | int | str:
        """Return a value of the column of this name with every digit; counts are whole."""
        return int(value) if self.columns[name][0].definition.aggregation == "sum" else value

    def __repr__(self) -> str:
        means = [f"{name}: {value:.4f}" for name, value in self.means().items()]
        return f"Scores({', '.join([repr(self.name), f'{len(self.query_ids):,} queries', *means])})"


class Systems(Shown, Mapping[str, Scores]):
    """Several runs' scores, by name: one table.

    A mapping {name: Scores}, in the order in which the runs were given.

    >>> from cranfield import evaluate
    >>> systems = evaluate("demo/qrels.txt", ["demo/bm25.run", "demo/dense.run"], "RR@10")
    >>> {name: round(scores["RR@10"], 4) for name, scores in systems.items()}
    {'bm25': 0.6274, 'dense': 0.845}
    """

    header = _HEADER

    def __init__(self, scores: Iterable[Scores]) -> None:
        self._scores = {one.name: one for one in scores}
        if not self._scores:
            raise InputError("no run is given")

    def __getitem__(self, name: str) -> Scores:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What was evaluated, the same for every run."""
        return next(iter(self._scores.values())).measures

    def means(self) -> dict[str, dict[str, float]]:
        """Return {run: {measure: value over all queries}}."""
        return {name: one.means() for name, one in self.items()}

    def per_query(self, measure: Measure | str) -> dict[str, dict[str, Any]]:
        """Return {run: {query_id: value}} of one measure."""
        return {name: one.per_query(measure) for name, one in self.items()}

    def to_dict(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return {run: {query_id: {measure: value}}}."""
        return {name: one.to_dict() for name, one in self.items()}

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return the scores as a table, four decimals each; runs are its rows.

        `per_query` adds a row for each query. The best of several runs is strong.
        """
        every = list(self.values())
        names = [str(measure) for measure in self.measures]
        rows: list[list[str]] = []
        rules, strong = set(), set()
        for one in every:
            *cells, over_all = one.cells()
            if per_query:
                rules.add(len(rows))
                rows += [
                    [one.name, query, *row] for query, row in zip(one.query_ids, cells, strict=True)
                ]
            rows.append([one.name, *(["all"] if per_query else []), *over_all])
        if len(every) > 1 and not per_query:
            strong = self._best()
        labels = ["run", "query_id"] if per_query else ["run"]
        return [
            Table(
                [*labels, *names],
                rows,
                lines_of(self.notes),
                len(labels),
                frozenset(strong),
                frozenset(rules - {0}),
            )
        ]

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each run and measure, the query_id of which is "all".

        `per_query` adds rows for each query, before those of the run's "all".
        """
        found: list[tuple[str, str, str, Any]] = []
        for run, scores in self.items():
            of_queries = scores.to_dict() if per_query else {}
            for query, values in [*of_queries.items(), ("all", scores.means())]:
                for name, value in values.items():
                    found.append((run, name, query, scores.plain(name, value)))
        return self._dicts(found)

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return the recipe, and the counts, notes and values of each run."""
        runs = []
        for name, scores in self.items():
            run: dict[str, Any] = {
                "run": name,
                "read_as": scores.recipe["run"],
                "counts": vars(scores.counts),
                "notes": [one.to_dict() for one in scores.notes],
                "all": {key: scores.plain(key, value) for key, value in scores.means().items()},
            }
            if scores.bounds is not None:
                proved = scores.bounds.proved.T.tolist()
                run["bounds"] = {
                    "highest_grade": scores.bounds.top_grade,
                    "retrieved": scores.bounds.n_retrieved,
                    "judged": scores.bounds.n_judged,
                    "proved": dict(zip(map(str, scores.measures), map(all, proved), strict=True)),
                }
            if per_query:
                run["queries"] = {
                    query: {key: scores.plain(key, value) for key, value in values.items()}
                    for query, values in scores.to_dict().items()
                }
            runs.append(run)
        recipe = dict(next(iter(self.values())).recipe)
        del recipe["run"]  # each run says its own
        return {"recipe": recipe, "runs": runs}

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: a row for each run and query, a column for each measure."""
        import pyarrow as pa

        every = list(self.values())
        columns = {
            "run": arrow_column([one.name for one in every for _ in one.query_ids]),
            "query_id": arrow_column([query for one in every for query in one.query_ids]),
        }
        for name, (measure, _) in every[0].columns.items():
            values = np.concatenate([one.columns[name][1] for one in every])
            if measure.definition.is_text:
                columns[name] = arrow_column(values.tolist())
                continue
            column = pa.py_buffer(np.ascontiguousarray(values, np.float64))
            columns[name] = pa.Array.from_buffers(pa.float64(), len(values), [None, column])
        return pa.table(columns)

    def _best(self) -> set[tuple[int, int]]:
        strong = set()
        for column, measure in enumerate(self.measures):
            if measure.definition.is_text:
                continue
            values = [one[measure] for one in self.values()]
            if measure.definition.higher_is_better and min(values) < max(values):
                best = [row for row, value in enumerate(values) if value == max(values)]
                strong |= {(row, column + 1) for row in best}
        return strong

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know beside the numbers: the queries, what was left out, the options.

        A note that does not apply to all runs names, as its source, those that it applies to.
        """
        found = ((name, note) for name, one in self.items() for note in one.notes)
        return tuple(merged(found, of_all=len(self)))

    def __repr__(self) -> str:
        return f"Systems({', '.join(map(repr, self))})"


def shown(measure: Measure, value: float | str) -> str:
    """Return a value as tables show it: counts whole, other numbers with four decimals."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if measure.definition.aggregation == "sum" else f"{value:.4f}"


def _bracketed(value: str, low: str = "", high: str = "") -> str:
    return f"{value} [{low}, {high}]" if low else value
