"""conventions: one number under every convention, what differs, and which choice moves it most."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Unpack

from cranfield.data.judge import list_warnings
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import CranfieldError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.extensions.tools.rule import Convention, Group, rounding_text
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, warn_about
from cranfield.options import finite_number, refuse_unknown_options, takes
from cranfield.progress import Watching, watch_steps, add_progress
from cranfield.render.numbers import format_number, format_count, finite_or_none, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import list_measures, score_runs

_DEFAULT_MEASURE = "nDCG@10"
_DEFAULT_CONVENTION = "cranfield"  # the name of what is computed without a convention
_WHOLE_NUMBER_DECIMALS = 4  # to so many decimals a whole number is compared
Computation = tuple[Measure, Judging]  # how a number is computed


@add_progress
@takes(Reading, Watching)
def conventions(
    qrels: QrelsLike,
    run: RunLike | SeveralRuns | None = None,
    measure: str | Measure = _DEFAULT_MEASURE,
    *,
    value: float | str | None = None,
    **reading: "Unpack[keywords.Conventions]",
) -> "SideBySide":
    """Compute a number as every tool does that has a convention here, side by side.

    Says for each in which choices it differs from the default, and which single one of them, alone,
    moves the number most. With `value`, says which conventions give that number: "why does my tool
    say 0.82?"

    Args:
        qrels: the judgments, as `evaluate` takes them.
        run: a run, as `evaluate` takes it; None if the first argument holds both sides.
        measure: one measure.
        value: a number that some tool gave; as many decimals are compared as it has (a text keeps
            its last zeros: "0.820"), of a whole number four.
        **reading: each option of `Reading` and `Watching`.

    Raises:
        InputError: as `evaluate`.
        MeasureError: as `evaluate`; or there are several measures, or one of texts.
        OptionError: a value that is not a number.

    >>> qrels = {"q1": {"d1": 1, "d2": 1}, "q2": {"d3": 1}}
    >>> found = conventions(qrels, {"q1": {"d1": 2.0, "d9": 1.0}}, "AP@5", value=0.5)
    >>> found["cranfield"].value == (1 / 2 + 0) / 2, found["pytrec_eval"].value
    (True, 0.5)
    >>> found["pytrec_eval"].choices
    ("queries='both'", "scores='single'")
    >>> "pytrec_eval" in found.same, "ragas" in found.same
    (True, False)

    """
    refuse_unknown_options(conventions, reading)
    wanted_value = None if value is None else _parse_value(value)
    judgments, found, named = arrange_arguments(
        *(qrels, run, measure, _DEFAULT_MEASURE),
        columns=Reading.of(reading).columns,
        duplicates="refuse",
        verb=conventions,
    )
    wanted = list_measures(named)
    if len(wanted) > 1 or wanted[0].definition.is_text:
        why = "a string" if len(wanted) == 1 else "one of several"
        raise MeasureError(f"{wanted[0]} is {why}: one measure of numbers is compared at a time")
    if not isinstance(found, Run) and len(found) == 1:
        (found,) = found.values()
    if not isinstance(found, Run):
        raise OptionError(f"{len(found)} runs: the conventions are compared on one")
    side_by_side = SideBySide.of(judgments, found, wanted[0], wanted_value)
    run_warnings = tuple(list_warnings(judgments, [found]))
    warn_about(run_warnings)
    return replace(side_by_side, run_warnings=run_warnings)


def _parse_value(value: float | str) -> Decimal:
    try:
        found = Decimal(value.strip() if isinstance(value, str) else repr(finite_number(value)))
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise OptionError(f"value={value!r:.40}: expected a number, as in 0.8155")
    return found


@dataclass(frozen=True)
class UnderConvention:
    """A number under one convention.

    `choices` are the options and parameters that differ from the default; `most` is the one of them
    that alone moves the number most, by `moves`. `problem` says why there is no value.
    """

    convention: str
    tool: str
    measure: str
    value: float | None
    choices: tuple[str, ...] = ()
    most: str | None = None
    moves: float | None = None
    problem: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SideBySide(Shown):
    """One number under every convention: what `conventions` returns.

    `found["beir"]` is what is known under a convention, `found["cranfield"]` the default.

    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> found = conventions(qrels, {"q1": {"d1": 1.0}}, "P@5")
    >>> found["lenskit"].value, found["lenskit"].most
    (1.0, "over='returned'")
    """

    measure: Measure
    run: str
    every: tuple[UnderConvention, ...]
    lacking: tuple[str, ...]  # conventions of tools that have no such measure
    wanted: Decimal | None
    run_warnings: tuple[Note, ...] = ()
    header = (
        *("run", "measure", "convention", "tool", "computed", "value", "choices", "moves_most"),
        *("change", "problem", "is_same"),
    )

    @classmethod
    def of(cls, qrels: Qrels, run: Run, measure: Measure, target: Decimal | None) -> "SideBySide":
        """Compute a measure of a run under every convention that has it.

        Raises the error of the default if no convention gives a number.
        """
        default = measure, Judging()
        having = [
            (one, one.group_measures([measure])[0])
            for one in CONVENTIONS.values()
            if one.translate(measure) is not None
        ]
        lacking = tuple(one.name for one in CONVENTIONS.values() if one.translate(measure) is None)
        ways = {default: None}
        for _, group in having:
            way = _group_computation(group)
            ways |= dict.fromkeys([way, *dict(_list_choices(default, way)).values()])
        values = _compute_values(qrels, run, ways)
        usual = values[default]
        if isinstance(usual, CranfieldError):
            if all(isinstance(one, CranfieldError) for one in values.values()):
                raise usual
            its = UnderConvention(_DEFAULT_CONVENTION, "the default", str(measure), None, problem=str(usual))
        else:
            its = UnderConvention(_DEFAULT_CONVENTION, "the default", str(measure), usual)
        every = (its, *(_compute_line(one, group, default, values) for one, group in having))
        return cls(measure, run.name, every, lacking, target)

    def __getitem__(self, name: str) -> UnderConvention:
        """Return what one convention gives."""
        for one in self.every:
            if one.convention == name:
                return one
        raise KeyError(f"{name!r:.80}: there are {', '.join(one.convention for one in self.every)}")

    def is_same(self, one: UnderConvention) -> bool:
        """Tell whether a value is the one that was asked for, to the digits that this has."""
        if self.wanted is None or one.value is None:
            return False
        exponent = int(self.wanted.as_tuple().exponent)
        exponent = exponent if exponent < 0 else -_WHOLE_NUMBER_DECIMALS
        unit = Decimal(1).scaleb(exponent)
        return abs(Decimal(one.value) - self.wanted) <= unit / 2 * Decimal("1.000001")

    @cached_property
    def same(self) -> list[str]:
        """The conventions that give the value that was asked for."""
        return [one.convention for one in self.every if self.is_same(one)]

    @property
    def notes(self) -> Sequence[Note]:
        """Which conventions give the value that was asked for; what is not shown."""
        found = [*self.run_warnings]
        if self.wanted is not None and self.same:
            text = f"{self.wanted} is the value under: {', '.join(self.same)}."
            found.append(Note("same", "info", text, count=len(self.same)))
        elif self.wanted is not None:
            near = min(self.every, key=self._distance)
            text = (
                f"No convention gives {self.wanted}. The nearest is {near.convention}, "
                f"{format_number(near.value)}. Check that the run and the judgments are the same."
            )
            found.append(Note("none-same", "info", text))
        if self.lacking:
            text = f"No such measure under {', '.join(self.lacking)}."
            found.append(Note("lacking", "info", text, count=len(self.lacking)))
        return found

    def tables(self) -> list[Table]:
        """Return the table, a row for each convention: the default first; or the nearest value."""
        rows = []
        strong = set()
        ordered = list(self.every)
        if self.wanted is not None:
            ordered.sort(key=self._distance)
        for i, one in enumerate(ordered):
            if self.is_same(one):
                strong |= {(i, 0), (i, 1)}
            most = "" if one.most is None else f"{one.most}: {format_signed(one.moves)}"
            choices = ", ".join(one.choices)
            if one.problem is not None:
                choices = one.problem.split("\n", 1)[0]
            rows.append([one.convention, format_number(one.value), choices, most])
        title = [f"{self.measure} of {self.run}, under {format_count(len(rows) - 1, 'convention')}"]
        header = ["convention", "value", "differs in", "largest effect"]
        lines = [str(note) for note in self.notes]
        return [Table(header, rows, lines, 1, frozenset(strong), title=title, n_sentences=2)]

    def _distance(self, line: UnderConvention) -> float:
        """Return how far a value is from the one that was asked for."""
        if self.wanted is None or line.value is None:
            return math.inf
        return abs(line.value - float(self.wanted))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each convention; `choices` are separated by blanks."""
        return self._rows_as_dicts(
            (
                self.run,
                str(self.measure),
                one.convention,
                one.tool,
                one.measure,
                None if one.value is None else finite_or_none(one.value),
                " ".join(one.choices),
                one.most,
                one.moves,
                one.problem,
                None if self.wanted is None else self.is_same(one),
            )
            for one in self.every
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "run": self.run,
            "measure": str(self.measure),
            "value": None if self.wanted is None else str(self.wanted),
            "conventions": [
                {**vars(one), "choices": [*one.choices], "is_same": self.is_same(one)}
                for one in self.every
            ],
            "lacking": [*self.lacking],
            "notes": [note.to_dict() for note in self.notes],
        }


def _group_computation(group: Group) -> Computation:
    """Return how the one measure of a group is computed."""
    (measure,) = group.measures
    return measure, group.judging


def _compute_line(
    convention: Convention, group: Group, default: Computation, values: Mapping[Computation, float | CranfieldError]
) -> UnderConvention:
    """Return what is known under a convention, of the numbers that each way gives."""
    way, usual = _group_computation(group), values[default]
    found, steps = values[way], dict(_list_choices(default, way))
    choices = [*steps, *([] if group.decimals is None else [rounding_text(group.decimals)])]
    its = UnderConvention(convention.name, convention.tool, str(way[0]), None, (*choices,))
    if isinstance(found, CranfieldError):
        return replace(its, problem=str(found))
    its = replace(its, value=found if group.decimals is None else round(found, group.decimals))
    if isinstance(usual, CranfieldError):
        return its
    moves = {
        name: change - usual
        for name, step in steps.items()
        if not isinstance(change := values[step], CranfieldError) and change != usual
    }
    most = max(moves, key=lambda name: abs(moves[name]), default=None)
    return its if most is None else replace(its, most=most, moves=moves[most])


def _list_choices(default: Computation, way: Computation) -> Iterator[tuple[str, Computation]]:
    """Yield each choice of a way that differs from the default, alone, with its name."""
    (measure, judging), (its, how) = default, way
    for name, value in how.changed_options().items():
        yield f"{name}={value!r}", (measure, replace(judging, **{name: value}))
    if its.name != measure.name:
        yield its.name, (its, judging)
        return
    for name, value in its.given:
        if measure.parameters[name] != value:
            yield f"{name}={value!r}", (measure.with_parameters({name: value}), judging)


def _compute_values(qrels: Qrels, run: Run, ways: Iterable[Computation]) -> dict[Computation, float | CranfieldError]:
    """Return the number in each way, or why there is none: measures judged alike go together."""
    found: dict[Computation, float | CranfieldError] = {}
    by_judging: dict[Judging, list[Measure]] = {}
    for measure, judging in ways:
        by_judging.setdefault(judging, []).append(measure)
    for judging, measures in watch_steps(by_judging.items(), "conventions"):
        try:
            scores = score_runs(qrels, {run.name: run}, measures, judging)[run.name]
            found |= {(one, judging): scores[one] for one in measures}
        except CranfieldError:
            for one in measures:
                try:
                    alone = score_runs(qrels, {run.name: run}, [one], judging)[run.name]
                    found[one, judging] = alone[one]
                except CranfieldError as error:
                    found[one, judging] = error
    return found
