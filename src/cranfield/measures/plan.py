"""Measure and Plan: a measure with its parameters is a value; a plan computes several together."""

import re
import typing
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.arrays.exact import count_units
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.judge import judge
from cranfield.data.judged import NO_CUTOFF, Judged
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import MeasureError
from cranfield.measures.aggregation import AGGREGATIONS, aggregate_exact_sum, to_summands
from cranfield.measures.call import CUTOFF_SYNONYMS, Call, unknown_parameter_text, usage_text
from cranfield.measures.parameters import NUMBER, Depth, Gains, write_parameters
from cranfield.measures.refusals import check_fractions, check_ties, groups_error
from cranfield.measures.registry import DEFINITIONS, USER_DEFINITIONS, Definition
from cranfield.measures.traits import BoundsMethod, Linearity
from cranfield.options import finite_number
from cranfield.render.typed_names import TypedName


class _Documentation:
    """The documentation of the class; of a measure, its own page, so that `help(AP)` shows it."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, measure: Any, _: object = None) -> str | None:
        if measure is None:
            return self._text
        definition: Definition = measure.definition
        return definition.page + usage_text(definition)


def _make_measure(definition: Definition, *values: Any) -> "Measure":
    return Measure(definition.name, *values)


@dataclass(frozen=True, repr=False)
class Measure:
    """A measure with its parameters: a value, hashable, equal by meaning.

    Written as `nDCG@10`, `P(rel=2)@5`, in Python as in text. `str()` gives the text, which
    `parse()` takes. Called with a truth and a ranking, it scores a single list; called with a
    list of grades alone, best rank first, that list against these grades, sorted:

    >>> from cranfield import nDCG, AP, P, parse
    >>> AP({"d3"}, ["d1", "d2", "d3"])
    0.3333333333333333
    >>> (nDCG@5)({"d1": 3, "d2": 2}, ["d1", "d4", "d2"])
    0.9385574520455129
    >>> (nDCG@5)([3, 0, 2])
    0.9385574520455129
    >>> P(rel=2)@5 == parse("P(rel=2)@5")
    True
    """

    name: str
    cutoff: Depth | float | None = None  # a recall point is a float
    given: tuple[tuple[str, Any], ...] = field(default=())  # not the default, or the unnamed one
    # What was stated, be it as the default: where grades are fractions, `rel` has to be; and a
    # convention leaves such parameters alone.
    stated: frozenset[str] = field(default=frozenset(), compare=False)
    typed_name: TypedName | None = field(default=None, compare=False)  # as typed by the user

    def __post_init__(self) -> None:
        if self.name not in DEFINITIONS:
            from cranfield.measures.absent import unknown_measure_error

            raise unknown_measure_error(self.name, self.name)
        if not isinstance(self.cutoff, Depth | float | None):
            raise MeasureError(f"write {self.name}@{self.cutoff}")
        positional = self.definition.names.unnamed
        if positional is not None and positional not in dict(self.given):
            parameters = ((positional, self.definition.defaults[positional]), *self.given)
            object.__setattr__(self, "given", parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it with its definition: another process imports what declares it."""
        return _make_measure, (
            self.definition,
            self.cutoff,
            self.given,
            self.stated,
            self.typed_name,
        )

    @property
    def definition(self) -> Definition:
        """The declaration of the measure, which knows no values of parameters."""
        return DEFINITIONS[self.name]

    @property
    def bounds(self) -> BoundsMethod:
        """How its bounds are found, with these parameters."""
        method = self.definition.traits.bounds
        return method(self.parameters) if callable(method) else method

    @property
    def fractions(self) -> str:
        """What becomes of grades that are not whole, with these parameters: see `Traits`."""
        return self.definition.fractions(self.parameters)

    @property
    def linear(self) -> Linearity:
        """How documents add to it, with these parameters and this cutoff: see `Traits.linear`."""
        linearity = self.definition.traits.linear
        if isinstance(self.cutoff, Depth) and self.cutoff.at_relevant:  # which depends on grades
            return "no"
        return linearity(self.parameters) if callable(linearity) else linearity

    @property
    def imperfect(self) -> list[str]:
        """Why a perfect ranking may have less than 1, with these parameters and this cutoff."""
        reasons = [self.definition.perfect]
        if self.cutoff is not None:
            reasons.append(self.definition.perfect_cut)
        texts = (reason(self.parameters) if callable(reason) else reason for reason in reasons)
        return [text for text in texts if text]

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter and its value."""
        values = {**self.definition.defaults, **dict(self.given)}
        return {k: dict(v) if isinstance(v, Gains) else v for k, v in values.items()}

    def __str__(self) -> str:
        cutoff: Any = self.cutoff
        if isinstance(cutoff, float):
            cutoff = np.format_float_positional(cutoff, trim="-")
        cutoff_text = "" if cutoff is None else f"@{cutoff}"
        parameters_text = write_parameters(self.given, self.definition.names.unnamed)
        text = self.name + parameters_text + cutoff_text
        return self.typed_name if self.typed_name == text else text  # equal: it tells more

    __repr__ = __str__

    def __matmul__(self, cutoff: "int | float | str | Depth | Measure") -> "Measure":
        """Cut the ranking: `nDCG@10`, `P@R`, `nDCG@"min(100,R)"`; `IPrec@0.1`."""
        cutoff_kind, requirement = self.definition.cutoff_kind, self.definition.cutoff
        if requirement == "none":
            raise MeasureError(f"{self.name} takes no cutoff: write {self.name}")
        if cutoff_kind == "recall":
            point = finite_number(cutoff)
            if isinstance(cutoff, str) and re.fullmatch(NUMBER, cutoff):
                point = float(cutoff)
            if point is None or not 0 <= point <= 1:
                raise MeasureError(
                    f"{self.name}@{cutoff}: expected a recall from 0 to 1, as in {self.name}@0.1"
                )
            return replace(self, cutoff=float(point) + 0.0)  # no negative zero
        depth = cutoff if isinstance(cutoff, Depth) else Depth.parse(str(cutoff))
        if depth is None and isinstance(cutoff, str) and re.fullmatch("[0-9]{16,}", cutoff):
            raise MeasureError(f"{self.name}@{cutoff:.20}...: there are no rankings so long")
        if depth is None or isinstance(cutoff, bool):
            raise MeasureError(
                f"{self.name}@{cutoff}: expected a number of ranks, 1 or more, "
                f"as in {self.name}@10; or {self.name}@R, {self.name}@min(10,R)"
                + f"; everything retrieved is {self.name} alone"
                * (requirement == "optional")
            )
        return replace(self, cutoff=depth)

    @typing.overload
    def __call__(
        self,
        *,
        truth: Mapping[Any, int] | Iterable[Any],
        ranking: Mapping[Any, float] | Sequence[Any] | Set[Any],
        k: int | str | None = None,
    ) -> float: ...
    @typing.overload
    def __call__(self, *unnamed: str, **parameters: Any) -> "Measure": ...
    @typing.overload
    def __call__(
        self,
        truth: Mapping[Any, float] | Iterable[Any],
        ranking: Mapping[Any, float] | Sequence[Any] | Set[Any],
        *,
        k: int | str | None = None,
    ) -> float: ...
    @typing.overload
    def __call__(
        self,
        grades: Iterable[float | None],
        /,
        *,
        n_relevant: int | None = None,
        k: int | str | None = None,
    ) -> float: ...
    def __call__(self, *lists: Any, **parameters: Any) -> "Measure | float":
        """Set parameters, `P(rel=2)`; or score one list, `AP({"d3"}, ["d1", "d2", "d3"])`.

        The truth is a dict {document: grade} or a set of relevant documents; the ranking a list
        of documents, best first, or a dict {document: score}, or a set, for measures to which the
        order does not matter (SetP, SetR, ...). `truth=` and `ranking=` name them. Or one list of
        grades, best rank first, None being unjudged: `AP([0, 0, 1])`; nothing else is judged then,
        except that `n_relevant` documents are relevant in all: `AP([0, 0, 1], n_relevant=5)`. See
        `cranfield.grades`. Returns the value. A cutoff comes before, `(AP@5)(truth, ranking)`, or
        is `k`: `AP(truth, ranking, k=5)`.
        """
        cutoff_names = CUTOFF_SYNONYMS & parameters.keys()
        if len(cutoff_names) == 1 and self.cutoff is None and (lists or "truth" in parameters):
            cutoff = parameters.pop(*cutoff_names)
            measure = self if cutoff is None else self @ cutoff
            return measure(*lists, **parameters)
        call = Call(self.definition, str(self), self.parameters.get("rel"), self.cutoff is None)
        truth_and_ranking = call.read_lists(lists, parameters)
        if truth_and_ranking is None:
            positional = self.definition.names.unnamed
            return self.with_parameters(parameters | ({str(positional): lists[0]} if lists else {}))
        self.check_complete()
        # The run has the query even if nothing was retrieved for it.
        grade_of_doc, score_of_doc = truth_and_ranking
        matched_run = judge(Qrels({"the list": grade_of_doc}), Run({"the list": score_of_doc}))
        value = self.values(matched_run.judged)[0, 0]
        return value if self.definition.is_text else float(value)

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Measure":
        """Return the measure with some parameters set; MeasureError for names or values unknown."""
        parameter_of_name = self.definition.parameters
        values = dict(self.given)
        name, own_parameters = self.definition.names.translate(
            self.name, {key.lower(): value for key, value in parameters.items()}
        )
        if name != self.name:
            return Measure(name, self.cutoff).with_parameters(own_parameters)
        for key, value in own_parameters.items():
            if key not in parameter_of_name:
                raise MeasureError(unknown_parameter_text(self.definition, key, value))
            try:
                values[key] = parameter_of_name[key].check(value)
            except ValueError as error:
                meaning = parameter_of_name[key].meaning
                raise MeasureError(
                    f"{self.name}({key}={value!r:.80}): expected {error} ({meaning})"
                ) from None
        defaults = self.definition.defaults
        # A parameter that `translate` adds as None was not stated.
        reset_names = {key for key, value in own_parameters.items() if value is None}
        reset_names -= {*parameters}
        in_order = ((key, values[key]) for key in parameter_of_name if key in values)
        return replace(
            self,
            given=tuple((k, v) for k, v in in_order if v != defaults[k]),
            stated=(self.stated - reset_names).union({*own_parameters} - reset_names),
        )

    def check_complete(self) -> None:
        """Raise MeasureError if the measure lacks a cutoff, or `Traits.fits` refuses it."""
        if self.definition.cutoff == "required" and self.cutoff is None:
            example = self @ ("0.1" if self.definition.cutoff_kind == "recall" else "10")
            set_name = f"Set{self.name}"
            set_hint = f"; over everything retrieved it is {set_name}"
            set_hint = set_hint if set_name in DEFINITIONS else ""
            raise MeasureError(f"{self} needs a cutoff: {example}{set_hint}")
        if self.definition.traits.fits is not None:
            self.definition.traits.fits(self)

    def aggregate(self, values: Floats, *, exact: bool = False) -> float:
        """Return the value over all queries from their values, (n_queries,).

        It is added up left to right, as trec_eval does, or `exact`: rounded once, at the end, and
        so the same for any order of the queries.
        """
        if self.definition.is_text:
            raise MeasureError(f"{self} is a string for each query; it has no value over all")
        aggregation = self.definition.aggregation
        if exact:
            sum_units = count_units(to_summands(aggregation, values))
            return aggregate_exact_sum(aggregation, sum_units, len(values))
        return AGGREGATIONS[aggregation](values)

    def values(self, judged: Judged) -> Floats:
        """Return each query's value: (n_queries, 1)."""
        return find_plan([self]).values(judged)

    if not typing.TYPE_CHECKING:
        __doc__ = _Documentation(__doc__)


class CutoffGroup:
    """Measures that differ only in their cutoff: one pass for all, or one for each recall point."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._first_measure = measures[0]
        self._definition = self._first_measure.definition
        self._parameters = self._first_measure.parameters
        self.takes_groups = bool(self._definition.traits.takes_groups)
        for measure in measures:
            measure.check_complete()
        self._cutoffs = [measure.cutoff for measure in measures]
        self._depths: list[Depth] = []
        # The cutoffs (1, n_cutoffs), where they do not depend on the judgments.
        self.fixed_cutoffs: Ints | None = None
        if any(isinstance(cutoff, Depth) for cutoff in self._cutoffs):
            self._depths = [c if isinstance(c, Depth) else Depth(NO_CUTOFF) for c in self._cutoffs]
            if not any(depth.at_relevant for depth in self._depths):
                ranks = tuple(depth.n_ranks or 0 for depth in self._depths)
                self.fixed_cutoffs = _make_cutoffs(ranks)

    def check(self, judged: Judged) -> None:
        """Raise MeasureError unless the measures are defined for such grades, groups and ties."""
        if judged.ties not in ("document", "ascending"):
            check_ties(self._first_measure, judged)
        if judged.has_groups and not self._definition.traits.takes_groups:
            raise groups_error(self._first_measure)
        if not judged.has_whole_grades:
            check_fractions(self._first_measure, self._depths, judged)

    def values(self, judged: Judged) -> Floats:
        """Return values whose shape broadcasts to (n_queries, n_measures); see `check`."""
        kernel, parameters = self._definition.kernel, self._parameters
        columns: Floats
        self.check(judged)
        if self.fixed_cutoffs is not None:
            columns = kernel(judged, self.fixed_cutoffs, **parameters)
        elif self._depths:
            # Of judgments in groups, each group has its own number of relevant documents.
            takes_groups = self._definition.traits.takes_groups is True
            counted = judged.groups.judged if takes_groups else judged
            rel = parameters.get("rel", 1)
            cutoffs = [depth.cutoff_column(counted, rel) for depth in self._depths]
            n_rows = max(map(len, cutoffs))
            k = np.hstack([np.broadcast_to(cutoff, (n_rows, 1)) for cutoff in cutoffs])
            columns = kernel(judged, k, **parameters)
        elif self._cutoffs[0] is not None:
            columns = np.hstack([kernel(judged, point, **parameters) for point in self._cutoffs])
        else:
            columns = kernel(judged, **parameters)
        if self._definition.is_user_defined:
            self._check_columns(columns, judged)
        return columns

    def _check_columns(self, columns: object, judged: Judged) -> None:
        """Raise MeasureError unless a user's function returned numbers in the expected shape."""
        expected_shape = len(judged.n_retrieved), len(self._cutoffs)
        shape = columns.shape if isinstance(columns, np.ndarray) else ()
        pairs = zip(shape, expected_shape, strict=False)
        if len(shape) != 2 or any(n not in (1, expected) for n, expected in pairs):
            actual = f"one of the shape {shape}" if shape else type(columns).__name__
            raise MeasureError(
                f"{self._first_measure}: the function of @measure has to return an array of the "
                f"shape (queries, cutoffs), here {expected_shape}, and returned {actual}"
            )
        assert isinstance(columns, np.ndarray)  # noqa: S101 - it has a shape
        finite_numbers = columns.dtype.kind in "biuf" and bool(np.isfinite(columns).all())
        if not (self._definition.is_text or finite_numbers):
            name = self._first_measure
            raise MeasureError(f"{name}: the function of @measure returned no numbers")


def _to_slice(positions: list[int]) -> slice | list[int]:
    """Return adjacent positions as a slice, with which numpy is quicker; others as they are."""
    is_adjacent = positions == list(range(positions[0], positions[0] + len(positions)))
    return slice(positions[0], positions[-1] + 1) if is_adjacent else positions


@lru_cache(maxsize=64)
def _make_cutoffs(ranks: tuple[int, ...]) -> Ints:
    """Return the cutoffs (1, n_cutoffs) as an array made once, by which Ranked recognizes them."""
    cutoffs = np.array([ranks])
    cutoffs.setflags(write=False)
    return cutoffs


class Plan:
    """Measures in the order of their columns, computed in few passes over the rows."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._measures = measures
        positions_of_key: dict[tuple[Any, ...], list[int]] = {}
        for i, measure in enumerate(measures):
            positions_of_key.setdefault((measure.name, measure.given), []).append(i)
        self._cutoff_groups = [
            (_to_slice(positions), CutoffGroup([measures[i] for i in positions]))
            for positions in positions_of_key.values()
        ]
        has_texts = any(measure.definition.is_text for measure in measures)
        self.kind = object if has_texts else np.float64  # the type of the values
        self.takes_cost = any(measure.definition.traits.takes_cost for measure in measures)
        depths = [measure.parameters.get("depth") for measure in measures]
        self._depth = max([depth for depth in depths if isinstance(depth, int)], default=0)

    def __reduce__(self) -> tuple[type["Plan"], tuple[Sequence[Measure]]]:
        return Plan, (self._measures,)  # for other processes

    def values(self, judged: Judged) -> Floats:
        """Return every query's value of every measure: (n_queries, n_measures)."""
        values = np.empty((len(judged.n_retrieved), len(self._measures)), self.kind)
        groups_at_once = self._cutoff_groups
        step = judged.queries_at_once(self._depth)
        if step < len(values):  # measures of groups look at all of them
            groups_at_once = [group for group in self._cutoff_groups if group[1].takes_groups]
            groups_in_pieces = [group for group in self._cutoff_groups if not group[1].takes_groups]
            for _, group in groups_in_pieces:
                group.check(judged)  # all of them, so that an error says what all grades are
            for rows, piece in judged.split_queries(step):
                _fill_columns(values[rows], piece, groups_in_pieces)
        _fill_columns(values, judged, groups_at_once)
        return values


def _fill_columns(
    values: Floats, judged: Judged, cutoff_groups: Iterable[tuple[slice | list[int], CutoffGroup]]
) -> None:
    """Write the values of some measures into their columns of `values` (n_queries, n_measures)."""
    for columns, group in cutoff_groups:
        group_values = group.values(judged)
        # Among texts, numbers are doubles, too.
        to_float = values.dtype == object and group_values.dtype.kind in "biu"
        values[:, columns] = group_values * 1.0 if to_float else group_values


def find_plan(measures: Iterable[Measure]) -> Plan:
    """Return the plan of some measures, made once for the same measures."""
    all_measures = tuple(measures)
    # Equal measures may differ in what was stated.
    states_rel = tuple("rel" in measure.stated for measure in all_measures)
    return _make_plan(all_measures, states_rel, tuple(USER_DEFINITIONS.values()))


@lru_cache(maxsize=256)
def _make_plan(measures: tuple[Measure, ...], *_: tuple[Any, ...]) -> Plan:
    return Plan(measures)


# ---- an example -----------------------------------------------------------------------------

EXAMPLE: tuple[Mapping[str, int], Sequence[str]] = (
    {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0},
    ["b", "x", "e", "a", "y"],
)


def make_example(definition: Definition) -> tuple[Measure, float | str]:
    """Return a measure, cut if it has to be, and the value that it gives to EXAMPLE.

    >>> from cranfield import definitions
    >>> make_example(definitions()[0])
    (nDCG, 0.6339926449953394)
    """
    measure = Measure(definition.name)
    if definition.cutoff == "required":
        measure = measure @ ("0.5" if definition.cutoff_kind == "recall" else 4)
    return measure, measure(*EXAMPLE)
