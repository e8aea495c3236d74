"""Tally: exact sums of scores, which grow part by part and are merged in any order."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import permutations
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.exact import Sums
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.counts import Counts
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike, make_qrels
from cranfield.data.run import Run, RunLike, make_run
from cranfield.errors import InputError, MeasureError, NothingSharedError, OptionError
from cranfield.extensions.scale.part import judge_part
from cranfield.measures import Measure, find_plan
from cranfield.measures.aggregation import aggregate_exact_sum, to_summands
from cranfield.notes import Note, format_notes
from cranfield.options import check_option, keywords, level_check, refuse_unknown_options, takes
from cranfield.render.numbers import format_number
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.evaluate import MeasuresLike, list_measures
from cranfield.version import __version__

Labels = Mapping[str, str] | Mapping[str, Mapping[str, str]]
_JSON_VERSION = 1  # of to_json
_ALL_QUERIES = ("", "")  # where a slice has its kind and name
_UNNAMED_KIND = "slice"  # of slices without a kind
# Judgments, and all orders of some documents: where a measure depends on the highest grade of the
# collection, its value of one of them does, no matter which ranks it looks at.
_RANKINGS = {"".join(order): list(order) for order in permutations("abcx")}
_PROBE_QRELS = {query: {"a": 1, "b": 2, "c": 0, "d": 1} for query in _RANKINGS}


class Tally:
    """Exact sums of measures over queries that come in parts, in any order.

    A part is judgments and a run of some queries, with all their rows; a query must be in one part
    only. The parts may be batches of a training loop, files, or what threads, processes or machines
    have evaluated: each has its own tally, and `merge` puts them together. Sums are exact, so that
    every order and every division into parts gives the same bits, those of
    `Scores.means(exact=True)`. A tally can be pickled, or sent as JSON, and takes some 200 bytes
    for each measure and slice.

    What a part cannot know is stated: `top_grade`, the highest grade of the whole collection, for
    the few measures that depend on it, such as ERR.

    >>> first, second = Tally("RR P@1"), Tally("RR P@1")
    >>> first.update({"q1": {"a": 1}}, {"q1": ["x", "a"]})
    >>> second.update({"q2": {"b": 1}, "q3": {"c": 1}}, {"q2": ["b"]})
    >>> first.merge(second).result().means()
    {'RR': 0.5, 'P@1': 0.3333333333333333}

    """

    @takes(Judging)
    def __init__(
        self,
        measures: MeasuresLike,
        *,
        top_grade: float | None = None,
        **judging: "Unpack[keywords.Judging]",
    ) -> None:
        """Make a tally of no query yet.

        Args:
            measures: names or Measure values, as for `evaluate`; none with a string as its value.
            top_grade: the highest grade of the collection; None: no measure depends on it.
            **judging: each option of `Judging`.

        Raises:
            MeasureError: a measure that does not exist, or whose value is a string.
            OptionError: an option with an unknown value; a measure that depends on
                the highest grade where that is not stated.

        """
        refuse_unknown_options(Tally.__init__, judging)
        self.measures = list_measures(measures)
        text_measures = [str(measure) for measure in self.measures if measure.definition.is_text]
        if text_measures:
            raise MeasureError(f"{text_measures[0]} is a string for each query; it has no sum")
        self.judging = Judging(**judging)
        self.top_grade = (
            None if top_grade is None else check_option("top_grade", top_grade, level_check())
        )
        if top_grade is None:
            dependent = ", ".join(map(str, filter(depends_on_top_grade, self.measures)))
            if dependent:
                raise OptionError(
                    f"{dependent}: depends on the highest grade of the whole collection, "
                    "which a part does not know: state it, top_grade=3"
                )
        # {(kind, name) of a slice: by measure}
        self._sums: dict[tuple[str, str], list[Sums]] = {
            _ALL_QUERIES: [Sums() for _ in self.measures]
        }
        self._counts = Counts(0, 0, 0, 0)
        self._n_shared = 0  # queries of a run that have judgments

    def update(
        self, qrels: QrelsLike | None, run: RunLike | None, slices: Labels | None = None
    ) -> None:
        """Add some queries; each must come with all its rows, and in one part only.

        Either side may be None, or have no row for a query: a query without a run scores 0 as in
        `evaluate`, and one without judgments is counted as such. Nothing is added if an error is
        raised.

        Args:
            qrels: the judgments of these queries, as `evaluate` takes them, or None.
            run: what was retrieved for them, or None.
            slices: `{query_id: slice}` or `{kind: {query_id: slice}}`; other queries are in no
                slice.

        Raises:
            InputError: what cannot be read, or a grade above `top_grade`.
            OptionError: an option that does not go with these judgments or this run.

        """
        judgments = None if qrels is None else make_qrels(qrels, duplicates=self.judging.duplicates)
        ranking = None if run is None else make_run(run)
        if judgments is None and ranking is None:
            return
        plan = find_plan(self.measures)
        matched_run = judge_part(judgments, ranking, plan, self.judging, self.top_grade)
        n_queries = len(matched_run.query_ids)
        scores = plan.values(matched_run.judged) if n_queries else np.zeros((0, len(self.measures)))
        sums_of_slice = {_ALL_QUERIES: self._sum_columns(scores)}
        for key, rows in _rows_of_slices(slices, matched_run.query_ids):
            sums_of_slice[key] = self._sum_columns(scores[rows])
        counts = matched_run.counts
        self._add_sums(sums_of_slice)
        self._counts += counts
        self._n_shared += matched_run.facts.n_shared

    def _sum_columns(self, scores: Floats) -> list[Sums]:
        """Return the sums of the columns of some queries' values."""
        summands = (
            to_summands(measure.definition.aggregation, column)
            for measure, column in zip(self.measures, scores.T, strict=True)
        )
        return [Sums.of(summand) for summand in summands]

    def _add_sums(self, sums_of_slice: Mapping[tuple[str, str], Sequence[Sums]]) -> None:
        for key, sums in sums_of_slice.items():
            previous_sums = self._sums.get(key, [Sums() for _ in self.measures])
            self._sums[key] = [
                total.plus(addend) for total, addend in zip(previous_sums, sums, strict=True)
            ]

    def merge(self, other: "Tally") -> "Tally":
        """Add what another tally has to this one, and return this one; the other is not changed.

        Raises OptionError if it is no tally, or has other measures, options or `top_grade`.
        """
        if not isinstance(other, Tally):
            raise OptionError(f"a tally is merged with a tally, not with a {type(other).__name__}")
        settings, other_settings = self._shared_settings, other._shared_settings
        for name, setting in settings.items():
            if setting != other_settings[name]:
                texts = _format_setting(setting), _format_setting(other_settings[name])
                raise OptionError(f"tallies of different {name}: {texts[0]} and {texts[1]}")
        self._add_sums(other._sums)
        self._counts += other._counts
        self._n_shared += other._n_shared
        return self

    @property
    def _shared_settings(self) -> dict[str, Any]:
        """The settings that two tallies must share to be merged: {name: setting}."""
        return {"measures": self.measures, "options": self.judging, "top_grade": self.top_grade}

    def result(self) -> "Totals":
        """Return the values over all queries so far, and over those of each slice.

        Raises InputError if no query was averaged, or none of a run has judgments.
        """
        if not self._counts.queries:
            raise InputError("the tally has no query: call update() first")
        if not self._n_shared:
            raise NothingSharedError(
                "no query of a run has judgments: do both come from the same collection, with "
                "ids written in the same way?"
            )
        return Totals(self.measures, dict(self._sums), self._counts)

    def to_json(self) -> str:
        """Return all of it as JSON, some 200 bytes for each measure and slice."""
        sums = [
            [kind, name, [total.to_texts() for total in column_sums]]
            for (kind, name), column_sums in self._sums.items()
        ]
        return json.dumps(
            {
                "tally": _JSON_VERSION,
                "cranfield": __version__,
                "measures": list(map(str, self.measures)),
                "top_grade": self.top_grade,
                "judging": self.judging.changed_options(),
                "counts": asdict(self._counts),
                "shared": self._n_shared,
                "sums": sums,
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "Tally":
        """Return the tally that `to_json` wrote; InputError for anything else.

        >>> tally = Tally("AP")
        >>> tally.update({"q": {"a": 1}}, {"q": ["x", "a"]})
        >>> Tally.from_json(tally.to_json()).result().means()
        {'AP': 0.5}
        """
        try:
            state = json.loads(text)
            if state["tally"] != _JSON_VERSION or state["cranfield"] != __version__:
                raise InputError(
                    f"the tally was made by cranfield {state['cranfield']}; this is {__version__}: "
                    "evaluate again with one version"
                )
            tally = cls(state["measures"], top_grade=state["top_grade"], **state["judging"])
            counts = state["counts"]
            tally._counts = Counts(
                **{field.name: int(counts[field.name]) for field in fields(Counts)}
            )
            tally._n_shared = int(state["shared"])
            tally._sums = {
                (str(kind), str(name)): [Sums.of_texts(texts) for texts in sums]
                for kind, name, sums in state["sums"]
            }
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not the JSON of a tally: {error}") from None
        return tally


@dataclass(frozen=True, eq=False, repr=False)
class Totals(Shown):
    """The values over all queries of a `Tally`, and over those of each slice.

    `rows` has one for each measure and slice: the value, over how many queries, and the standard
    error of the mean (of the logarithms, for a geometric mean; None for sums and single queries).

    >>> tally = Tally("RR")
    >>> judged, returned = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x", "b"]}
    >>> tally.update(judged, returned, {"q1": "fact", "q2": "how to"})
    >>> [(row["slice"], row["value"]) for row in tally.result().rows()]
    [(None, 0.75), ('fact', 1.0), ('how to', 0.5)]
    """

    header = ("measure", "label", "slice", "queries", "value", "std_error")

    measures: tuple[Measure, ...]
    sums: Mapping[tuple[str, str], Sequence[Sums]]  # {(kind, name) of a slice: by measure}
    counts: Counts

    @property
    def notes(self) -> tuple[Note, ...]:
        """How many queries were averaged, and what was left out."""
        return tuple(self.counts.notes())

    def means(self, name: str | None = None, label: str | None = None) -> dict[str, float]:
        """Return {measure: value}, over all queries or those of one slice, by its name.

        `label` is its kind, if several have that name. KeyError if there is no such slice.
        """
        for (kind, slice_name), sums in self.sums.items():
            if (
                (kind, slice_name) == _ALL_QUERIES
                if name is None
                else slice_name == name and label in (None, kind)
            ):
                return {
                    str(measure): aggregate_exact_sum(
                        measure.definition.aggregation, total.n_units, total.n
                    )
                    for measure, total in zip(self.measures, sums, strict=True)
                }
        names = ", ".join(slice_name for _, slice_name in sorted(self.sums.keys() - {_ALL_QUERIES}))
        raise KeyError(f"{name}: there are {names or 'none: update(..., slices=) makes them'}")

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each slice and measure, all queries first."""
        return self._rows_as_dicts(self._rows())

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for kind, name in [_ALL_QUERIES, *sorted(self.sums.keys() - {_ALL_QUERIES})]:
            for measure, total in zip(self.measures, self.sums[kind, name], strict=True):
                aggregation = measure.definition.aggregation
                error = total.std_error if aggregation != "sum" else None
                value = aggregate_exact_sum(aggregation, total.n_units, total.n)
                yield str(measure), kind or None, name or None, total.n, value, error

    def tables(self) -> list[Table]:
        """Return the values as a table, four decimals each."""
        rows = [
            [measure, name or "all", f"{n:,}", format_number(value), format_number(error)]
            for measure, _, name, n, value, error in self._rows()
        ]
        header = ["measure", "slice", "queries", "value", "std. error"]
        return [Table(header, rows, format_notes(self.notes), 2)]

    def to_dict(self) -> dict[str, Any]:
        """Return {"rows": the rows, "notes": the notes}, as JSON has them."""
        return {"rows": self.rows(), "notes": [note.to_dict() for note in self.notes]}


def depends_on_top_grade(measure: Measure) -> bool:
    """Tell whether a measure's value depends on the highest grade of the collection."""
    plan, scores = find_plan((measure,)), []
    for top_grade in (2, 3):
        matched_run = judge_part(Qrels(_PROBE_QRELS), Run(_RANKINGS), plan, top_grade=top_grade)
        scores.append(plan.values(matched_run.judged).tolist())
    return repr(scores[0]) != repr(scores[1])  # not a number is the same as itself


def _rows_of_slices(
    slices: Labels | None, query_ids: Sequence[str]
) -> Iterator[tuple[tuple[str, str], Ints]]:
    """Yield each slice with its queries: (kind, name), the queries' numbers."""
    if not slices:
        return
    has_kinds = all(isinstance(labels, Mapping) for labels in slices.values())
    kinds: Any = slices if has_kinds else {_UNNAMED_KIND: slices}
    for kind, name_of_query in kinds.items():
        rows_of_name: dict[str, list[int]] = {}
        for i, query in enumerate(query_ids):
            if query in name_of_query:
                rows_of_name.setdefault(str(name_of_query[query]), []).append(i)
        for name, rows in rows_of_name.items():
            yield (str(kind), name), np.array(rows)


def _format_setting(setting: Any) -> str:
    return " ".join(map(str, setting)) if isinstance(setting, tuple) else str(setting)
