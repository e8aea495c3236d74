"""Another assessor: how far two qrels agree, and what that does to the ordering of systems."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Union

import numpy as np

from cranfield.comparison.flips import SEED
from cranfield.comparison.orderings import check_options, shown
from cranfield.comparison.stability import Stability, stabilities
from cranfield.errors import MeasureError, OptionError
from cranfield.evaluation import MeasuresLike, evaluate
from cranfield.judge import judge_all
from cranfield.judged import Judged
from cranfield.measures import Measure, Plan
from cranfield.pairs.assessors import (
    Agreed,
    agreed,
    agreed_of_matrix,
    confusion,
    two_judgments,
)
from cranfield.qrels import Qrels, QrelsLike, as_qrels
from cranfield.ranked import Floats, Ints, Ranked, mean
from cranfield.render import Table, text, to_html
from cranfield.runs import Run, RunLike, SeveralRuns, as_run, several_runs
from cranfield.scores import Systems
from cranfield.version import __version__

MIXTURES = 1_000
_CELLS = 1_000_000  # of a batch
_PAIRS_SHOWN = 10

# {(true grade, given grade): rate}, or {true grade: {given grade: rate}}
Rates = Union[  # noqa: UP007
    Mapping[tuple[int, int], float], Mapping[int, Mapping[int, float]]
]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two assessors agree, and what it does to the ordering of systems.

    `pooled` is of all documents together, `per_query` of each query (empty without a second
    qrels). `matrix` (n_grades, n_grades) counts the documents judged in both: rows are A's
    `grades`, columns B's. `orderings` has one entry for each measure, if runs were given.

    >>> found = agreement({"q": {"d1": 1, "d2": 1, "d3": 0}}, {"q": {"d1": 1, "d2": 0, "d3": 0}})
    >>> found.pooled.overlap, found.matrix.tolist()
    (0.5, [[1, 0], [1, 1]])
    """

    pooled: Agreed
    per_query: Mapping[str, Agreed]
    grades: Sequence[int]
    matrix: Floats
    orderings: Sequence[Stability]
    recipe: Mapping[str, Any]
    remarks: Sequence[str] = ()  # what else to know of the judgments
    notes: Sequence[str] = ()  # and of the runs

    @cached_property
    def rates(self) -> dict[int, dict[int, float]]:
        """How often B gives each grade to what has a grade in A: {A's grade: {B's grade: rate}}."""
        rows = zip(self.grades, self.matrix.tolist(), strict=True)
        return {
            true: {given: count / sum(row) for given, count in zip(self.grades, row, strict=True)}
            for true, row in rows
            if sum(row)
        }

    def table(self, *, per_query: bool = False) -> Table:
        """Return the agreement as a table: of each query if wanted, the mean of these, of all."""
        rows = [[query, *_cells(asdict(one))] for query, one in self.per_query.items()]
        n_queries, rel = len(rows), self.recipe["rel"]
        if not per_query:
            rows = []
        rules = frozenset({n_queries} if rows else ())
        if n_queries > 1:
            means = [_mean_of(self.per_query, name) for name in _COLUMNS]
            rows.append(
                [f"mean of {n_queries:,}", *_cells(dict(zip(_COLUMNS, means, strict=True)))]
            )
        rows.append(["all together", *_cells(asdict(self.pooled))])
        one_sided = [
            f"{n:,} of these queries' documents are judged in {name} only."
            for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b))
            if n
        ]
        notes = [
            *self.remarks,
            *one_sided,
            "both: documents judged in both. rel. A, rel. B: relevant there (grade "
            f"{rel} or more).",
            "agree: the share of both on which A and B agree whether it is relevant. kappa: the "
            "same beyond chance, 1 at best, 0 as by chance (Cohen).",
            "same: the share with the same grade. w. kappa: kappa of grades, a disagreement "
            "counting by its square.",
            "overlap: documents relevant in A and in B / in A or in B, of both. of all: the same "
            "of all documents, one that is not judged being not relevant.",
            "-: no value: nothing to divide by, or chance alone would agree on all.",
        ]
        title = ["How far A, the first qrels, and B, the second, agree"]
        if not self.per_query:
            title = ["How far A, the qrels, and B, which the rates make of it, would agree"]
        return Table(["query_id", *_COLUMNS.values()], rows, notes, rules=rules, title=title)

    def confusion_table(self) -> Table:
        """Return how often each grade of A met each grade of B, as a table."""
        whole = bool(self.per_query)
        rows = [
            [f"A: {grade}", *(f"{n:,}" if whole else f"{n:,.1f}" for n in counts)]
            for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True)
        ]
        what = "judged in both" if whole else "to be expected"
        title = [f"Documents {what}, by the grades that A and B give"]
        notes = ["A row for each grade of A, a column for each of B."]
        return Table(["", *(f"B: {grade}" for grade in self.grades)], rows, notes, title=title)

    def ordering_table(self) -> Table:
        """Return what it does to the ordering of the systems, a row for each measure."""
        header = ["measure", "systems", "pairs"]
        rows = [[one.measure, str(len(one.systems)), str(len(one.pairs))] for one in self.orderings]
        notes = []
        if self.per_query:
            header += ["tau", "swapped", "sig."]
            for row, one in zip(rows, self.orderings, strict=True):
                row += [shown(one.tau), str(one.swapped), str(one.swapped_significant)]
            notes.append(
                "tau: Kendall's tau-b of the ordering under A with that under B: 1 the same, -1 "
                "reversed. swapped: pairs of systems that stand the other way round; sig.: of "
                "these, significant under both."
            )
        header += ["mean tau", "min tau"]
        for row, one in zip(rows, self.orderings, strict=True):
            row += [shown(one.mean_tau), shown(one.min_tau)]
        what = "the same" if self.per_query else "Kendall's tau-b of the ordering under A"
        notes.append(f"mean tau, min tau: {what} with that under each of {self._mixtures}.")
        return Table(header, rows, notes, title=["Whether the systems are ordered alike"])

    def system_table(self) -> Table:
        """Return each system's mean under A, under B and under the mixtures, best under A first."""
        rows: list[list[str]] = []
        rules = set()
        for one in self.orderings:
            rules.add(len(rows))
            of_b = [] if one.mean_b is None else [one.mean_b]
            columns = [one.mean_a, *of_b, one.mean_mixed, one.low, one.high]
            for name, *means in zip(one.systems, *columns, strict=True):
                rows.append([one.measure, name, *map(shown, means)])
        second = ["B"] if self.per_query else []
        notes = [
            *self.notes,
            f"{' and '.join(['A', *second])}: the mean over the queries. mixed, lowest, highest: "
            f"the mean, the lowest and the highest of that under {self._mixtures}.",
            self._how,
        ]
        header = ["measure", "system", "A", *second, "mixed", "lowest", "highest"]
        title = ["What each system scores"]
        return Table(header, rows, notes, 2, rules=frozenset(rules - {0}), title=title)

    def pair_table(self) -> Table:
        """Return the pairs of systems that are not the same under every mixture, most shaky first.

        At most 10 of each measure; `to_dict` has all.
        """
        rows: list[list[str]] = []
        rules, notes = set(), []
        for one in self.orderings:
            rules.add(len(rows))
            moved = [pair for pair in one.pairs if min(pair.same_sign, pair.same_verdict) < 1]
            moved.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            for pair in moved[:_PAIRS_SHOWN]:
                of_a = [_signed(pair.difference_a), _p_value(pair.p_a)]
                of_b = [_signed(pair.difference_b), _p_value(pair.p_b)] if self.per_query else []
                shares = [shown(pair.same_sign), shown(pair.same_verdict)]
                rows.append([one.measure, pair.left, pair.right, *of_a, *of_b, *shares])
            notes.append(
                f"{one.measure}: {len(one.pairs) - len(moved):,} of {len(one.pairs):,} pairs are "
                "the same under each"
                + (f", {len(moved) - _PAIRS_SHOWN:,} more are not" if moved[_PAIRS_SHOWN:] else "")
                + ": not shown (--format csv or json has all)."
            )
        header = ["measure", "system", "against", "diff A", "p A"]
        header += ["diff B", "p B"] if self.per_query else []
        notes += [
            "diff: the difference of the means, system minus against. p: of a two-sided paired t "
            "test, not corrected for the number of pairs.",
            f"same sign: the share of {self._mixtures} where the difference has the sign that it "
            f"has under A. same verdict: where it is significant (p <= {self.recipe['alpha']}) if "
            "it is so under A, and not if not, with the same sign.",
        ]
        header += ["same sign", "same verdict"]
        rules = rules - {0, len(rows)}
        title = ["The pairs of systems that change most"]
        return Table(header, rows, notes, 3, rules=frozenset(rules), title=title)

    @property
    def _mixtures(self) -> str:
        what = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {what}"

    @property
    def _how(self) -> str:
        """How the mixtures were made."""
        seed = self.recipe["seed"]
        if self.recipe["confusion"] is None:
            return (
                "A mixture has, for each query, the judgments of A or those of B, drawn by chance "
                f"(seed {seed})."
            )
        return f"Generated qrels have all grades of A drawn anew, by the rates (seed {seed})."

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return all tables, in the order in which they are to be read."""
        found = [self.table(per_query=per_query), self.confusion_table()]
        if self.orderings:
            found.append(self.system_table())
            if self.orderings[0].pairs:
                found.append(self.ordering_table())
                changing = self.pair_table()
                found += [changing] if changing.rows else []
        return found

    def rows(self, *, per_query: bool = False) -> Iterator[tuple[str, str, str, str, str, Any]]:
        """Yield (part, measure, name, other, quantity, value), a row for each number."""
        of = [*(self.per_query.items() if per_query else ()), ("all", self.pooled)]
        for query, one in of:
            for quantity, value in asdict(one).items():
                yield "agreement", "", query, "", quantity, value
        for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True):
            for other, count in zip(self.grades, counts, strict=True):
                yield "confusion", "", str(grade), str(other), "documents", count
        for ordering in self.orderings:
            whole = ordering.to_dict()
            measure, systems, pairs = (whole.pop(key) for key in ("measure", "systems", "pairs"))
            for quantity, value in whole.items():
                yield "ordering", measure, "", "", quantity, value
            for system in systems:
                name = system.pop("system")
                for quantity, value in system.items():
                    yield "system", measure, name, "", quantity, value
            for pair in pairs:
                left, right = pair.pop("left"), pair.pop("right")
                for quantity, value in pair.items():
                    yield "pair", measure, left, right, quantity, value

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "recipe": dict(self.recipe),
            "remarks": list(self.remarks),
            "pooled": asdict(self.pooled),
            "per_query": {query: asdict(one) for query, one in self.per_query.items()},
            "grades": list(self.grades),
            "matrix": self.matrix.tolist(),
            "notes": list(self.notes),
            "orderings": [one.to_dict() for one in self.orderings],
        }

    def __str__(self) -> str:
        return "\n".join(text(table) for table in self.tables())

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name} {shown(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"

    def _repr_html_(self) -> str:
        return "".join(to_html(table) for table in self.tables())


_COLUMNS = {
    "both": "both",
    "relevant_a": "rel. A",
    "relevant_b": "rel. B",
    "agreement": "agree",
    "kappa": "kappa",
    "same_grade": "same",
    "weighted_kappa": "w. kappa",
    "overlap": "overlap",
    "overlap_all": "of all",
}


def _cells(numbers: Mapping[str, float | None]) -> list[str]:
    """Return the cells of a row: counts whole, or with one decimal if they are expected ones."""
    cells = []
    for name in _COLUMNS:
        value = numbers[name]
        if value is None or not name.startswith(("both", "rel")):
            cells.append(shown(value))
        else:
            cells.append(f"{value:,}" if isinstance(value, int) else f"{value:,.1f}")
    return cells


def _mean_of(per_query: Mapping[str, Agreed], name: str) -> float | None:
    """Return the mean over the queries that have a value."""
    values = [value for one in per_query.values() if (value := getattr(one, name)) is not None]
    return mean(np.array(values) * 1.0) if values else None


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:+.4f}"


def _p_value(value: float | None) -> str:
    return "-" if value is None else "<.0001" if value < 0.0001 else f"{value:.4f}"


def _queries(n: int) -> str:
    return "1 query is" if n == 1 else f"{n:,} queries are"


# ---- the function ---------------------------------------------------------------------------


def agreement(
    a: QrelsLike,
    b: QrelsLike | None = None,
    runs: RunLike | SeveralRuns | None = None,
    measures: MeasuresLike = "nDCG@10",
    *,
    rel: int = 1,
    mixtures: int = MIXTURES,
    seed: int = SEED,
    confusion: Rates | None = None,
    alpha: float = 0.05,
) -> Agreement:
    """Compare two assessors' judgments, and what they make of systems.

    Every number of agreement is of the queries that both qrels have; `Agreed` says what each is.

    With runs, the systems are scored under A, under B, and under mixtures, in which the judgments
    of each query are those of an assessor drawn by chance (Voorhees, SIGIR 1998). A query's score
    depends on its own judgments and on the highest grade of the scale, which is that of both qrels
    together: so each query is scored twice, and the mixtures put these scores together.

    Without a second assessor, `confusion` says how often one would give which grade to a document
    of A's: all of A's grades are drawn anew, each from its rates, and the systems are scored under
    each of the qrels made so. What is not judged stays so.

    Args:
        a: judgments, as `evaluate` takes them.
        b: another assessor's.
        runs: what the systems returned, as `evaluate` takes them; None compares the qrels alone.
        measures: by which the systems are ordered; those whose value over all is a mean or a sum.
        rel: the lowest grade that is relevant, for kappa and overlap (a measure states its own).
        mixtures: how many mixtures, or, with `confusion`, how many qrels are made.
        seed: of everything that is drawn.
        confusion: in place of b: {(true grade, given grade): rate}, or {true: {given: rate}}; rates
            or counts: those of each true grade are divided by their sum.
        alpha: a difference is significant if p is not above it. p is that of the t test in every
            mixture, under A and under B, as M sign-flip tests of each pair would take too long.

    Raises:
        NothingSharedError: qrels without a common query, or document.
        InputError: judgments in groups; qrels or a run that cannot be read.
        OptionError: both or neither of b and confusion, or an option with an impossible value.
        MeasureError: a measure by which systems cannot be ordered so.

    >>> found = agreement({"q": {"d": 1, "e": 0}}, {"q": {"d": 0, "e": 1}}, [{"q": ["d", "e"]},
    ...                    {"q": ["e", "d"]}], "RR", mixtures=10)
    >>> found.orderings[0].tau
    -1.0

    """
    if (b is None) == (confusion is None):
        raise OptionError("agreement takes a second qrels, or confusion=..., and not both")
    check_options(alpha, seed, mixtures=mixtures)
    if not _is_number(rel, int) or rel < 0:
        raise OptionError(f"rel={rel!r:.40}: expected a grade, 0 or more")
    first = as_qrels(a)
    several = None if runs is None else _several(runs)
    recipe: dict[str, Any] = {
        "cranfield": __version__,
        "rel": int(rel),
        "mixtures": int(mixtures),
        "seed": int(seed),
        "alpha": alpha,
        "confusion": None,
    }
    if b is not None:
        return _of_two(first, as_qrels(b), several, measures, recipe)
    assert confusion is not None  # noqa: S101 - one of the two
    return _of_rates(first, confusion, several, measures, recipe)


def _several(runs: RunLike | SeveralRuns) -> dict[str, Run]:
    several = several_runs(runs, "strict")
    if several is None:
        one = as_run(runs, "strict")  # type: ignore[arg-type] # of one
        return {one.name: one}
    return several


def _of_two(
    a: Qrels,
    b: Qrels,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    recipe: dict[str, Any],
) -> Agreement:
    two = two_judgments(a, b)
    pooled = agreed(two, recipe["rel"], pooled=True)[0]
    each = agreed(two, recipe["rel"], pooled=False)
    recipe["queries"] = len(two.query_ids)
    remarks = [f"{_queries(len(two.query_ids))} judged in both qrels."]
    for name, n in (("A", two.queries_only_a), ("B", two.queries_only_b)):
        if n:
            remarks.append(f"{_queries(n)} judged in {name} only: left out.")
    found: list[Stability] = []
    notes: list[str] = []
    if runs is not None:
        top = max(a.top_grade, b.top_grade)
        if a.top_grade != b.top_grade:
            remarks.append(
                f"The highest grade is {a.top_grade} in A and {b.top_grade} in B: measures that "
                f"ask for it take {top}."
            )
        under_a, under_b = (
            evaluate(_on_scale(one, top, two.query_ids), dict(runs), measures) for one in (a, b)
        )
        notes = _notes(under_a, under_b)
        values = _values(under_a), _values(under_b)
        source = np.random.Generator(np.random.PCG64(recipe["seed"]))

        def mixed() -> Iterator[Floats]:
            for size in _batches(recipe["mixtures"], values[0].size):
                from_a = source.random((size, len(two.query_ids))) < 0.5
                yield np.where(from_a[:, :, None, None], *values)

        wanted = _orderable(under_a.measures)
        found = stabilities(wanted, list(runs), *values, mixed(), recipe["alpha"])
    grades, matrix = confusion(two)
    per_query = dict(zip(two.query_ids, each, strict=True))
    return Agreement(pooled, per_query, grades, matrix, found, recipe, remarks, notes)


def _of_rates(
    a: Qrels,
    rates: Rates,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    recipe: dict[str, Any],
) -> Agreement:
    if a.in_groups or a.columns:
        raise OptionError(
            "confusion=... takes one grade for each document: not judgments in groups, nor those "
            "that are a sample"
        )
    there, counts = np.unique(a.grade, return_counts=True)
    table = _nested(rates, there.tolist())
    recipe["confusion"] = {
        str(true): {str(g): r for g, r in row.items()} for true, row in table.items()
    }
    recipe["queries"] = len(a.query_ids)
    grades = sorted({*table, *(given for row in table.values() for given in row)})
    matrix = np.zeros((len(grades), len(grades)))
    for true, count in zip(there.tolist(), counts.tolist(), strict=True):
        for given, rate in table[true].items():
            matrix[grades.index(true), grades.index(given)] = rate * count
    found: list[Stability] = []
    notes: list[str] = []
    if runs is not None:
        top = max(a.top_grade, *grades)
        scored = evaluate(_on_scale(a, top, a.query_ids), dict(runs), measures)
        wanted, notes = _orderable(scored.measures), scored.notes()
        made = _Generated(a, list(runs.values()), wanted, top)
        batches = made.scores(table, recipe["mixtures"], recipe["seed"])
        found = stabilities(wanted, list(runs), _values(scored), None, batches, recipe["alpha"])
    remarks = ["B is made of A by rates: what is said of it is to be expected, not counted."]
    pooled = agreed_of_matrix(grades, matrix, recipe["rel"])
    return Agreement(pooled, {}, grades, matrix, found, recipe, remarks, notes)


def _nested(rates: Rates, there: Sequence[int]) -> dict[int, dict[int, float]]:
    """Return {true: {given: rate}}, the rates of each true grade adding up to 1."""
    found: dict[int, dict[int, float]] = {}
    for key, value in rates.items():
        true: Any = key
        if isinstance(value, Mapping):
            cells = dict(value)
        elif isinstance(key, tuple) and len(key) == 2:
            true, cells = key[0], {key[1]: value}
        else:
            raise OptionError(
                f"confusion: {key!r:.40}: expected (true grade, given grade): rate, or true grade: "
                "{given grade: rate}"
            )
        for given, rate in cells.items():
            if not all(_is_number(one, int) for one in (true, given)):
                raise OptionError(f"confusion: grades are whole numbers, not {true!r}, {given!r}")
            if not _is_number(rate, float) or not 0 <= rate < np.inf:
                raise OptionError(f"confusion: {true} to {given}: {rate!r:.40} is no rate")
            found.setdefault(int(true), {})[int(given)] = float(rate)
    for true in there:
        if sum(found.get(true, {}).values()) <= 0:
            raise OptionError(
                f"confusion: the qrels have grade {true}, of which it says nothing; add the rates "
                f"of what is given in its place, {{{true}: {{{true}: 1}}}} if it is always kept"
            )
    return {
        true: {given: rate / sum(row.values()) for given, rate in row.items()}
        for true, row in found.items()
        if sum(row.values()) > 0
    }


def _is_number(value: object, kind: type) -> bool:
    allowed = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    return isinstance(value, allowed) and not isinstance(value, bool)


def _on_scale(qrels: Qrels, top: int, query_ids: Sequence[str]) -> Qrels:
    """Return the judgments of some queries, on a scale that ends at `top`."""
    some = copy.copy(qrels) if len(query_ids) == len(qrels.query_ids) else qrels.of(query_ids)
    some.__dict__["top_grade"] = top
    some.__dict__.pop("ideal", None)
    return some


def _orderable(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Return the measures, all of which order systems by a mean over queries."""
    for one in measures:
        if one.definition.aggregation not in ("mean", "sum"):
            raise MeasureError(
                f"{one}: agreement orders systems by the mean over their queries, and this measure "
                "has another value over all"
            )
    return measures


def _notes(a: Systems, b: Systems) -> list[str]:
    """Return what is to be known of the runs under both qrels, and under one of them."""
    ours, theirs = a.notes(), b.notes()
    return [
        *(note for note in ours if note in theirs),
        *(f"Under A: {note}" for note in ours if note not in theirs),
        *(f"Under B: {note}" for note in theirs if note not in ours),
    ]


def _values(scores: Systems) -> Floats:
    """Return (n_queries, n_systems, n_measures)."""
    return np.stack([one.values for one in scores.values()], axis=1)


def _batches(n: int, cells: int) -> Iterator[int]:
    """Yield how many to look at at once, if each takes so many cells."""
    step = max(1, _CELLS // max(cells, 1))
    for begin in range(0, n, step):
        yield min(step, n - begin)


class _Generated:
    """Systems under qrels that have other grades: the runs are ranked once."""

    def __init__(
        self, qrels: Qrels, runs: Sequence[Run], measures: Sequence[Measure], top: int
    ) -> None:
        for one in measures:
            if one.definition.takes_groups:
                raise MeasureError(
                    f"{one} takes judgments in groups, too, or preferences: not with confusion=..."
                )
        self._qrels, self._plan, self._top = qrels, Plan(measures), top
        self._n_measures = len(measures)
        # Where a grade is the row of the judgment, the hits say which judgments they met.
        numbered = copy.copy(qrels)
        numbered.grade = np.arange(len(qrels))
        for name in ("ideal", "top_grade"):
            numbered.__dict__.pop(name, None)
        costs = any(one.definition.takes_cost for one in measures)
        self._systems = [one.judged for one in judge_all(numbered, runs, costs=costs)]

    def scores(
        self, rates: Mapping[int, Mapping[int, float]], n: int, seed: int
    ) -> Iterator[Floats]:
        """Yield scores (n_qrels, n_queries, n_systems, n_measures), some qrels at once."""
        source = np.random.Generator(np.random.PCG64(seed))
        true = self._qrels.grade
        for size in _batches(n, len(true)):
            drawn = source.random((size, len(true)))
            grades = np.empty(drawn.shape, np.int64)
            for grade in np.unique(true).tolist():
                rows = np.flatnonzero(true == grade)
                given = np.array(list(rates[grade]))
                ends = np.cumsum(list(rates[grade].values()))[:-1]
                grades[:, rows] = given[np.searchsorted(ends, drawn[:, rows], side="right")]
            yield self._under(grades)

    def _under(self, grades: Ints) -> Floats:
        """Return the scores under grades (n_qrels, rows), each query of each qrels one query."""
        n, n_queries = len(grades), len(self._qrels.query_ids)
        query = (np.arange(n)[:, None] * n_queries + self._qrels.query).ravel()
        span = self._top - int(grades.min(initial=0)) + 1
        below = np.sort(query * span + self._top - grades.ravel()) % span
        ideal = Ranked(n * n_queries, query, np.zeros(0), self._top - below)
        ideal = replace(ideal, rank=ideal.ordinal)
        found = []
        for one in self._systems:
            of = (np.arange(n)[:, None] * n_queries + one.hits.query).ravel()
            rank, grade = np.tile(one.hits.rank, n), grades[:, one.hits.grade].ravel()
            cost = None if one.cost is None else np.tile(one.cost, n)
            hits = Ranked(n * n_queries, of, rank, grade)
            retrieved = np.tile(one.n_retrieved, (n, 1))
            judged = Judged(hits, ideal, retrieved, self._top, cost=cost)
            found.append(self._plan.values(judged).reshape(n, n_queries, self._n_measures))
        return np.stack(found, axis=2)
