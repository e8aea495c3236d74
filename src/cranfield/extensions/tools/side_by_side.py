"""conventions: one number under every convention, what differs, and which choice moves it most."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, Unpack

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
from cranfield.progress import Watching, add_progress, watch_steps
from cranfield.render.numbers import finite_or_none, format_count, format_number, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import list_measures, score_runs

_DEFAULT_MEASURE = "nDCG@10"
_DEFAULT_CONVENTION = "cranfield"  # the name of what is computed without a convention
_WHOLE_NUMBER_DECIMALS = 4  # to so many decimals a number without a point is compared


class Computation(NamedTuple):
    """How a number is computed: the measure, and how runs are judged for it."""

    measure: Measure
    judging: Judging


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
    >>> numbers = conventions(qrels, {"q1": {"d1": 2.0, "d9": 1.0}}, "AP@5", value=0.5)
    >>> numbers["cranfield"].value == (1 / 2 + 0) / 2, numbers["pytrec_eval"].value
    (True, 0.5)
    >>> numbers["pytrec_eval"].choices
    ("queries='both'", "scores='single'")
    >>> "pytrec_eval" in numbers.same, "ragas" in numbers.same
    (True, False)

    """
    refuse_unknown_options(conventions, reading)
    target = None if value is None else _parse_value(value)
    columns = Reading.of(reading).columns
    judgments, parsed_runs, measure_text = arrange_arguments(
        qrels,
        run,
        measure,
        _DEFAULT_MEASURE,
        columns=columns,
        duplicates="refuse",
        verb=conventions,
    )
    measures = list_measures(measure_text)
    if len(measures) > 1 or measures[0].definition.is_text:
        reason = "a string" if len(measures) == 1 else "one of several"
        raise MeasureError(
            f"{measures[0]} is {reason}: one measure of numbers is compared at a time"
        )
    if not isinstance(parsed_runs, Run) and len(parsed_runs) == 1:
        (parsed_runs,) = parsed_runs.values()
    if not isinstance(parsed_runs, Run):
        raise OptionError(f"{len(parsed_runs)} runs: the conventions are compared on one")
    side_by_side = SideBySide.of(judgments, parsed_runs, measures[0], target)
    run_warnings = tuple(list_warnings(judgments, [parsed_runs]))
    warn_about(run_warnings)
    return replace(side_by_side, run_warnings=run_warnings)


def _parse_value(value: float | str) -> Decimal:
    try:
        decimal = Decimal(value.strip() if isinstance(value, str) else repr(finite_number(value)))
    except InvalidOperation:
        decimal = Decimal("NaN")
    if not decimal.is_finite():
        raise OptionError(f"value={value!r:.40}: expected a number, as in 0.8155")
    return decimal


@dataclass(frozen=True)
class UnderConvention:
    """A number under one convention.

    `choices` are the options and parameters that differ from the default; `most` is the choice that
    alone moves the number most, by `moves`. `problem` says why there is no value.
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

    `numbers["beir"]` is the number under a convention, `numbers["cranfield"]` the default.

    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> numbers = conventions(qrels, {"q1": {"d1": 1.0}}, "P@5")
    >>> numbers["lenskit"].value, numbers["lenskit"].most
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
        default = Computation(measure, Judging())
        convention_groups = [
            (convention, convention.group_measures([measure])[0])
            for convention in CONVENTIONS.values()
            if convention.translate(measure) is not None
        ]
        names = [convention.name for convention, _ in convention_groups]
        lacking = tuple(name for name in CONVENTIONS if name not in names)
        computations = {default: None}
        for _, group in convention_groups:
            computation = _group_computation(group)
            choices = dict(_list_choices(default, computation))
            computations |= dict.fromkeys([computation, *choices.values()])
        outcomes = _compute_values(qrels, run, computations)
        default_outcome = outcomes[default]
        has_failed = [isinstance(outcome, CranfieldError) for outcome in outcomes.values()]
        if isinstance(default_outcome, CranfieldError) and all(has_failed):
            raise default_outcome
        lines = [
            _compute_line(convention, group, default, outcomes)
            for convention, group in convention_groups
        ]
        line = UnderConvention(_DEFAULT_CONVENTION, "the default", str(measure), None)
        if isinstance(default_outcome, CranfieldError):
            line = replace(line, problem=str(default_outcome))
        else:
            line = replace(line, value=default_outcome)
        return cls(measure, run.name, (line, *lines), lacking, target)

    def __getitem__(self, name: str) -> UnderConvention:
        """Return the number under a convention."""
        for line in self.every:
            if line.convention == name:
                return line
        names = ", ".join(line.convention for line in self.every)
        raise KeyError(f"{name!r:.80}: there are {names}")

    def is_same(self, one: UnderConvention) -> bool:
        """Tell whether a convention's value is the value that was asked for, to its digits."""
        target, number = self.wanted, one.value
        if target is None or number is None:
            return False
        exponent = int(target.as_tuple().exponent)
        exponent = exponent if exponent < 0 else -_WHOLE_NUMBER_DECIMALS
        unit = Decimal(1).scaleb(exponent)
        return abs(Decimal(number) - target) <= unit / 2 * Decimal("1.000001")

    @cached_property
    def same(self) -> list[str]:
        """The conventions that give the value that was asked for."""
        return [line.convention for line in self.every if self.is_same(line)]

    @property
    def notes(self) -> Sequence[Note]:
        """Notes on the conventions that give the value that was asked for, or lack the measure."""
        notes, target, names = [*self.run_warnings], self.wanted, self.same
        if target is not None and names:
            text = f"{target} is the value under: {', '.join(names)}."
            notes.append(Note("same", "info", text, count=len(names)))
        elif target is not None:
            nearest = min(self.every, key=self._distance)
            text = (
                f"No convention gives {target}. The nearest is {nearest.convention}, "
                f"{format_number(nearest.value)}. Check that the run and the judgments are the "
                "same."
            )
            notes.append(Note("none-same", "info", text))
        if self.lacking:
            text = f"No such measure under {', '.join(self.lacking)}."
            notes.append(Note("lacking", "info", text, count=len(self.lacking)))
        return notes

    def tables(self) -> list[Table]:
        """Return the table, a row for each convention: the default, or the nearest value, first."""
        rows = []
        strong_cells = set()
        table_lines = list(self.every)
        if self.wanted is not None:
            table_lines.sort(key=self._distance)
        for i, line in enumerate(table_lines):
            if self.is_same(line):
                strong_cells |= {(i, 0), (i, 1)}
            largest_effect = (
                "" if line.most is None else f"{line.most}: {format_signed(line.moves)}"
            )
            choices = ", ".join(line.choices)
            if line.problem is not None:
                choices = line.problem.split("\n", 1)[0]
            rows.append([line.convention, format_number(line.value), choices, largest_effect])
        title = [f"{self.measure} of {self.run}, under {format_count(len(rows) - 1, 'convention')}"]
        header = ["convention", "value", "differs in", "largest effect"]
        lines = [str(note) for note in self.notes]
        return [Table(header, rows, lines, 1, frozenset(strong_cells), title=title, n_sentences=2)]

    def _distance(self, line: UnderConvention) -> float:
        """Return how far a convention's value is from the value that was asked for."""
        target, number = self.wanted, line.value
        return math.inf if target is None or number is None else abs(number - float(target))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each convention; `choices` are separated by blanks."""
        return self._rows_as_dicts(
            (
                self.run,
                str(self.measure),
                line.convention,
                line.tool,
                line.measure,
                None if line.value is None else finite_or_none(line.value),
                " ".join(line.choices),
                line.most,
                line.moves,
                line.problem,
                None if self.wanted is None else self.is_same(line),
            )
            for line in self.every
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "run": self.run,
            "measure": str(self.measure),
            "value": None if self.wanted is None else str(self.wanted),
            "conventions": [
                {**vars(line), "choices": [*line.choices], "is_same": self.is_same(line)}
                for line in self.every
            ],
            "lacking": [*self.lacking],
            "notes": [note.to_dict() for note in self.notes],
        }


def _group_computation(group: Group) -> Computation:
    """Return how the one measure of a group is computed."""
    (measure,) = group.measures
    return Computation(measure, group.judging)


def _compute_line(
    convention: Convention,
    group: Group,
    default: Computation,
    outcomes: Mapping[Computation, float | CranfieldError],
) -> UnderConvention:
    """Return the number under a convention; `outcomes` has the number of each computation."""
    computation, default_outcome = _group_computation(group), outcomes[default]
    outcome = outcomes[computation]
    computation_of_choice = dict(_list_choices(default, computation))
    choices = [
        *computation_of_choice,
        *([] if group.decimals is None else [rounding_text(group.decimals)]),
    ]
    measure = str(computation.measure)
    line = UnderConvention(convention.name, convention.tool, measure, None, (*choices,))
    if isinstance(outcome, CranfieldError):
        return replace(line, problem=str(outcome))
    line = replace(
        line, value=outcome if group.decimals is None else round(outcome, group.decimals)
    )
    if isinstance(default_outcome, CranfieldError):
        return line
    moves = {
        name: choice_outcome - default_outcome
        for name, choice in computation_of_choice.items()
        if not isinstance(choice_outcome := outcomes[choice], CranfieldError)
        and choice_outcome != default_outcome
    }
    largest = max(moves, key=lambda name: abs(moves[name]), default=None)
    return line if largest is None else replace(line, most=largest, moves=moves[largest])


def _list_choices(
    default: Computation, computation: Computation
) -> Iterator[tuple[str, Computation]]:
    """Yield each choice that differs from the default, as text, and the default with it alone."""
    (measure, judging), (tool_measure, tool_judging) = default, computation
    for name, value in tool_judging.changed_options().items():
        yield f"{name}={value!r}", Computation(measure, replace(judging, **{name: value}))
    if tool_measure.name != measure.name:
        yield tool_measure.name, Computation(tool_measure, judging)
        return
    for name, value in tool_measure.given:
        if measure.parameters[name] != value:
            changed_measure = measure.with_parameters({name: value})
            yield f"{name}={value!r}", Computation(changed_measure, judging)


def _compute_values(
    qrels: Qrels, run: Run, computations: Iterable[Computation]
) -> dict[Computation, float | CranfieldError]:
    """Return the number of each computation, or its error; measures judged alike go together."""
    outcomes: dict[Computation, float | CranfieldError] = {}
    measures_of_judging: dict[Judging, list[Measure]] = {}
    for measure, judging in computations:
        measures_of_judging.setdefault(judging, []).append(measure)
    for judging, measures in watch_steps(measures_of_judging.items(), "conventions"):
        try:
            scores = score_runs(qrels, {run.name: run}, measures, judging)[run.name]
            outcomes |= {Computation(measure, judging): scores[measure] for measure in measures}
        except CranfieldError:
            for measure in measures:
                try:
                    scores = score_runs(qrels, {run.name: run}, [measure], judging)[run.name]
                    outcomes[Computation(measure, judging)] = scores[measure]
                except CranfieldError as error:
                    outcomes[Computation(measure, judging)] = error
    return outcomes
