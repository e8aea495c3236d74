"""conventions: one number under every convention, what differs, and which choice moves it most."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, Unpack

from cranfield.data.judge import list_warnings
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import CranfieldError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.tools.computations import Computation, compute_values
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.extensions.tools.departures import list_departures
from cranfield.extensions.tools.rule import rounding_text
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, join_names, warn_about
from cranfield.options import finite_number, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import finite_or_none, format_count, format_number, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import list_measures

_DEFAULT_MEASURE = "nDCG@10"
_DEFAULT_CONVENTION = "cranfield"  # the name of what is computed without a convention
_WHOLE_NUMBER_DECIMALS = 4  # to so many decimals a number without a point is compared
_MAX_NAMES = 6  # conventions that a row of the table names
_MAX_DECIMALS = 17  # that are shown: a number of 64 bits has no more
_ROUNDING = Decimal("1e-12")  # of sums in another order, as a share of the value


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
    judgments, parsed_runs, measure_text = arrange_arguments(
        qrels,
        run,
        measure,
        _DEFAULT_MEASURE,
        reading=Reading.of(reading),
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
    if not math.isfinite(float(decimal)):
        raise OptionError(f"value={value!r:.40}: expected a number, as in 0.8155")
    return decimal


@dataclass(frozen=True)
class UnderConvention:
    """A number under one convention.

    `choices` are the options and parameters that differ from the default; `most` is the choice that
    alone moves the number most, by `moves`. `problem` says why there is no value. `departure` is
    the measure as it was tried, "AP(rel=2)", if that is not the measure as it was named.
    """

    convention: str
    tool: str
    measure: str
    value: float | None
    choices: tuple[str, ...] = ()
    most: str | None = None
    moves: float | None = None
    problem: str | None = None
    departure: str | None = None


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
    # Where no convention gives the value: what gives it with departures, and those that were tried.
    departures: tuple[UnderConvention, ...] = ()
    departure_texts: tuple[str, ...] = ()
    header = (
        *("run", "measure", "convention", "tool", "computed", "value", "choices", "moves_most"),
        *("change", "problem", "is_same"),
    )

    @classmethod
    def of(cls, qrels: Qrels, run: Run, measure: Measure, target: Decimal | None) -> "SideBySide":
        """Compute a measure of a run under every convention that has it."""
        lines = [*_compute_lines(qrels, run, {Computation(measure, Judging()): ()}).values()]
        names = [line.convention for line in lines]
        lacking = tuple(name for name in CONVENTIONS if name not in names)
        side_by_side = cls(measure, run.name, (*lines,), lacking, target)
        if target is None or side_by_side.same:
            return side_by_side
        departures_of_variant = list_departures(qrels, measure)
        matches: dict[tuple[tuple[str, ...], str], UnderConvention] = {}
        for (variant, name), line in _compute_lines(qrels, run, departures_of_variant).items():
            departures = departures_of_variant[variant]
            parts = {((departure,), name) for departure in departures}
            if side_by_side.is_same(line) and not matches.keys() & parts:
                matches[departures, name] = line
        texts = [names[0] for names in departures_of_variant.values() if len(names) == 1]
        return replace(side_by_side, departures=(*matches.values(),), departure_texts=(*texts,))

    def __getitem__(self, name: str) -> UnderConvention:
        """Return the number under a convention."""
        for line in self.every:
            if line.convention == name:
                return line
        names = ", ".join(line.convention for line in self.every)
        raise KeyError(f"{name!r:.80}: there are {names}")

    def is_same(self, line: UnderConvention) -> bool:
        """Tell whether a convention's value is the value that was asked for, to its digits."""
        if self._target is None or line.value is None:
            return False
        tolerance = max(self._unit / 2 * Decimal("1.000001"), _ROUNDING * abs(self._target))
        return abs(Decimal(line.value) - self._target) <= tolerance

    @property
    def _target(self) -> Decimal | None:
        """The value that was asked for."""
        return self.wanted

    @property
    def _unit(self) -> Decimal:
        """One in the last decimal that is compared: as many as the value was typed with."""
        exponent = 0 if self._target is None else int(self._target.as_tuple().exponent)
        return Decimal(1).scaleb(exponent if exponent < 0 else -_WHOLE_NUMBER_DECIMALS)

    @property
    def _decimals(self) -> int:
        """The number of decimals that are shown: those that are compared, four at least."""
        n_decimals = max(-int(self._unit.as_tuple().exponent), _WHOLE_NUMBER_DECIMALS)
        return min(n_decimals, _MAX_DECIMALS)

    @cached_property
    def same(self) -> list[str]:
        """The conventions that give the value that was asked for."""
        return [line.convention for line in self.every if self.is_same(line)]

    @property
    def answer(self) -> str:
        """What gives the value that was asked for, in a sentence; "" if none was asked for."""
        if self._target is None:
            return ""
        names_of_measure: dict[str, list[str]] = {}
        same_lines = sorted(filter(self.is_same, self.every), key=self._distance)
        for line in [*same_lines, *self.departures]:
            names = names_of_measure.setdefault(line.departure or f"{self.measure}", [])
            names.append(line.convention)
        if not names_of_measure:
            nearest = min(self.every, key=self._distance)
            number_text = f"{nearest.convention}, {format_number(nearest.value, self._decimals)}"
            text = f"Nothing that was tried gives {self._target}. The nearest is {number_text}."
            if all((line.value or 0) <= 1 for line in self.every) and self._target > 1:
                share = self._target.scaleb(-2)
                text += f" Is it a percentage? value={share} (--value {share})."
            return text
        texts = []
        for text, names in names_of_measure.items():
            more_text = f" and {len(names) - 3} more" if len(names) > 3 else ""
            under_text = f" under {', '.join(names[:3])}{more_text}"
            if _DEFAULT_CONVENTION in names:
                under_text = " by default" if text == f"{self.measure}" else ""
            texts.append(text + under_text)
        list_ending = f" Several give it: also {'; '.join(texts[1:3])}" if texts[1:] else ""
        list_ending += f", and {len(texts) - 3} more" if len(texts) > 3 else ""
        return f"{self._target} is {texts[0]}.{list_ending and list_ending + '.'}"

    @property
    def notes(self) -> Sequence[Note]:
        """Notes on what gives the value that was asked for, and on who lacks the measure."""
        notes = [*self.run_warnings]
        if self._target is not None and self.same:
            notes.append(Note("same", "info", self.answer, count=len(self.same)))
        elif self._target is not None:
            text = f"{self.answer} Tried, one at a time and two: {', '.join(self.departure_texts)}."
            if not self.departures:
                text += " It may be another depth, other queries or documents, or another tool."
            elif "Several give it" in self.answer:
                text += " Of so many, some may give it by chance: more decimals would tell."
            code = "departures" if self.departures else "none-same"
            notes.append(Note(code, "info", text, count=len(self.departures) or None))
        if self.lacking:
            text = f"No such measure under {', '.join(self.lacking)}."
            notes.append(Note("lacking", "info", text, count=len(self.lacking)))
        return notes

    def tables(self) -> list[Table]:
        """Return the table: a row for each value, with the conventions that give it.

        The default is first, or, where a value was asked for, what gives it or is nearest to it.
        """
        lines = sorted(self.every, key=self._distance) if self._target is not None else self.every
        lines_of_row: dict[tuple[Any, ...], list[UnderConvention]] = {}
        for line in (*self.departures, *lines):
            problem = None if line.problem is None else line.problem.split("\n", 1)[0]
            row_key = format_number(line.value, self._decimals), line.departure, problem
            lines_of_row.setdefault(row_key, []).append(line)
        rows: list[list[str]] = []
        strong_cells = set()
        for (value_text, _, problem), row_lines in lines_of_row.items():
            if self.is_same(row_lines[0]):
                strong_cells |= {(len(rows), 0), (len(rows), 1)}
            line = min(row_lines, key=lambda line: len(line.choices))
            shared = set(line.choices).intersection(*(line.choices for line in row_lines))
            choices = [
                f"{choice} ({format_signed(line.moves)})" if choice == line.most else choice
                for choice in line.choices
                if choice in shared or not shared
            ]
            names = join_names([line.convention for line in row_lines], _MAX_NAMES)
            rows.append([value_text, names, problem or ", ".join(choices)])
        count = format_count(len(lines) - 1, "convention")
        title = [*filter(None, [self.answer]), f"{self.measure} of {self.run}, under {count}"]
        header = ["value", "conventions", "differs in (largest effect)"]
        texts = [str(note).removeprefix(self.answer).strip() for note in self.notes]
        cells = frozenset(strong_cells)
        return [Table(header, rows, [*filter(None, texts)], 1, cells, title=title, n_sentences=2)]

    def _distance(self, line: UnderConvention) -> float:
        """Return how far a convention's value, as it is shown, is from the value asked for."""
        if self._target is None or line.value is None:
            return math.inf
        return abs(round(line.value, self._decimals) - float(self._target))

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
                None if self._target is None else self.is_same(line),
            )
            for line in (*self.departures, *self.every)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "run": self.run,
            "measure": str(self.measure),
            "value": None if self._target is None else str(self._target),
            "conventions": [
                {**vars(line), "choices": [*line.choices], "is_same": self.is_same(line)}
                for line in self.every
            ],
            "departures": [{**vars(line), "choices": [*line.choices]} for line in self.departures],
            "lacking": [*self.lacking],
            "notes": [note.to_dict() for note in self.notes],
        }


def _compute_lines(
    qrels: Qrels, run: Run, departures_of_variant: Mapping[Computation, tuple[str, ...]]
) -> dict[tuple[Computation, str], UnderConvention]:
    """Return the number of each variant by default, and under each convention that has it.

    Which choice moves a number most is looked for where there are no departures; then, too, the
    error of the default is raised if nothing gives a number.
    """
    computations: dict[tuple[Computation, str], Computation] = {}
    choices: dict[tuple[Computation, str], dict[str, Computation]] = {}
    for variant in departures_of_variant:
        computations[variant, _DEFAULT_CONVENTION] = variant
        for name, convention in CONVENTIONS.items():
            with suppress(MeasureError):  # no such measure, or not with these parameters
                computations[variant, name] = convention.find_computation(*variant[:2])
        for key in computations.keys() - choices.keys():
            choices[key] = dict(_list_choices(variant, computations[key]))
    has_departures = any(departures_of_variant.values())
    choice_computations = chain.from_iterable(by_name.values() for by_name in choices.values())
    all_computations = [
        *computations.values(),
        *(() if has_departures else choice_computations),
    ]
    outcomes = compute_values(qrels, run, all_computations)
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, CranfieldError)]
    if len(errors) == len(outcomes) and not has_departures:
        raise errors[0]
    lines = {}
    for (variant, name), computation in computations.items():
        default_outcome, departures = outcomes[variant], departures_of_variant[variant]
        outcome, decimals = outcomes[computation], computation.decimals
        value = None if isinstance(outcome, CranfieldError) else outcome
        moves = {
            choice: choice_outcome - default_outcome
            for choice, choice_computation in choices[variant, name].items()
            if value is not None
            and isinstance(default_outcome, float)
            and isinstance(choice_outcome := outcomes.get(choice_computation), float)
            and choice_outcome != default_outcome
        }
        largest = max(moves, key=lambda choice: abs(moves[choice]), default=None)
        judged_only_text = ", judged_only=True" * variant.judging.judged_only
        rounding_texts = [] if decimals is None else [rounding_text(decimals)]
        lines[variant, name] = UnderConvention(
            name,
            CONVENTIONS[name].tool if name in CONVENTIONS else "the default",
            str(computation.measure),
            value,
            (*dict.fromkeys([*departures, *choices[variant, name], *rounding_texts]),),
            largest,
            None if largest is None else moves[largest],
            str(outcome) if value is None else None,
            f"{variant.measure}{judged_only_text}" if departures else None,
        )
    return lines


def _list_choices(
    default: Computation, computation: Computation
) -> Iterator[tuple[str, Computation]]:
    """Yield each choice that differs from the default, as text, and the default with it alone."""
    measure, judging, *_ = default
    tool_measure, tool_judging, adjustments, _ = computation
    for name, value in tool_judging.changed_options().items():
        yield f"{name}={value!r}", Computation(measure, replace(judging, **{name: value}))
    for adjustment in adjustments:
        yield adjustment.words, Computation(measure, judging, (adjustment,))
    if tool_measure.name != measure.name:
        yield tool_measure.name, Computation(tool_measure, judging)
        return
    for name, value in tool_measure.given:
        if measure.parameters[name] != value:
            changed_measure = measure.with_parameters({name: value})
            yield f"{name}={value!r}", Computation(changed_measure, judging)
