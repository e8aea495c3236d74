"""conventions: one number under every convention, what differs, and which choice moves it most."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Unpack

from cranfield.data.judge import list_warnings
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import CranfieldError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.tools.computations import Computation, Outcome, compute_values
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.extensions.tools.departures import search_departures
from cranfield.extensions.tools.rule import rounding_text
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, warn_about
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
    # Where no convention gives the value: what gives it with another relevance level, another
    # cutoff, or judged documents only, and a sentence on what was tried.
    departures: tuple[UnderConvention, ...] = ()
    search_text: str = ""
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
        computations, problems = {_DEFAULT_CONVENTION: default}, dict[str, CranfieldError]()
        for name, convention in CONVENTIONS.items():
            try:
                if convention.translate(measure) is not None:
                    computations[name] = convention.find_computation(measure)
            except CranfieldError as error:
                problems[name] = error
        choices = {
            name: dict(_list_choices(default, computation))
            for name, computation in computations.items()
        }
        all_computations = [*computations.values()]
        for computation_of_choice in choices.values():
            all_computations += computation_of_choice.values()
        outcomes = compute_values(qrels, run, dict.fromkeys(all_computations))
        default_outcome = outcomes[default]
        has_failed = [isinstance(outcome, CranfieldError) for outcome in outcomes.values()]
        if isinstance(default_outcome, CranfieldError) and all(has_failed):
            raise default_outcome
        lines = []
        for name in [_DEFAULT_CONVENTION, *CONVENTIONS]:
            tool = CONVENTIONS[name].tool if name in CONVENTIONS else "the default"
            line = UnderConvention(name, tool, str(measure), None)
            if name in computations:
                lines.append(
                    _fill_line(line, computations[name], choices[name], outcomes, default_outcome)
                )
            elif name in problems:
                lines.append(replace(line, problem=str(problems[name])))
        names = [line.convention for line in lines]
        lacking = tuple(name for name in CONVENTIONS if name not in names)
        side_by_side = cls(measure, run.name, (*lines,), lacking, target)
        if target is None or side_by_side.same:
            return side_by_side
        return side_by_side._search(qrels, run)

    def _search(self, qrels: Qrels, run: Run) -> "SideBySide":
        """Return the same, with the departures that give the value that was asked for."""
        names = [line.convention for line in self.every if line.convention in CONVENTIONS]
        matches, search_text = search_departures(
            *(qrels, run, self.measure, [CONVENTIONS[name] for name in names], self._is_target)
        )
        lines = []
        for trial, value in matches:
            line = self[trial.convention or _DEFAULT_CONVENTION]
            lines.append(
                UnderConvention(
                    line.convention,
                    line.tool,
                    str(trial.computation.measure),
                    value,
                    (*map(str, trial.departures), *line.choices),
                    departure=trial.name,
                )
            )
        return replace(self, departures=(*lines,), search_text=search_text)

    def __getitem__(self, name: str) -> UnderConvention:
        """Return the number under a convention."""
        for line in self.every:
            if line.convention == name:
                return line
        names = ", ".join(line.convention for line in self.every)
        raise KeyError(f"{name!r:.80}: there are {names}")

    def is_same(self, line: UnderConvention) -> bool:
        """Tell whether a convention's value is the value that was asked for, to its digits."""
        return line.value is not None and self._is_target(line.value)

    def _is_target(self, number: float) -> bool:
        """Tell whether a number is the value that was asked for, to its digits."""
        if self.wanted is None:
            return False
        unit = Decimal(1).scaleb(-self._decimals)
        return abs(Decimal(number) - self.wanted) <= unit / 2 * Decimal("1.000001")

    @property
    def _decimals(self) -> int:
        """The number of decimals that are compared: as many as the value was typed with."""
        exponent = 0 if self.wanted is None else int(self.wanted.as_tuple().exponent)
        return -exponent if exponent < 0 else _WHOLE_NUMBER_DECIMALS

    def _format(self, value: float | None) -> str:
        """Return a value as text, with the decimals that are compared, four at least."""
        return format_number(value, max(self._decimals, _WHOLE_NUMBER_DECIMALS))

    @cached_property
    def same(self) -> list[str]:
        """The conventions that give the value that was asked for."""
        return [line.convention for line in self.every if self.is_same(line)]

    @cached_property
    def _matches(self) -> dict[tuple[str, str], list[str]]:
        """{(measure, value as text): names of the conventions with the value asked for}."""
        names_of_match: dict[tuple[str, str], list[str]] = {}
        same_lines = sorted(filter(self.is_same, self.every), key=self._distance)
        for line in [*same_lines, *self.departures]:
            match = line.departure or str(self.measure), self._format(line.value)
            names_of_match.setdefault(match, []).append(line.convention)
        return names_of_match

    @property
    def answer(self) -> str:
        """What gives the value that was asked for, in a sentence; "" if none was asked for."""
        if self.wanted is None:
            return ""
        if not self._matches:
            nearest = min(self.every, key=self._distance)
            return (
                f"Nothing that was tried gives {self.wanted}. The nearest is "
                f"{nearest.convention}, {self._format(nearest.value)}."
            )
        texts = []
        for (text, value_text), names in self._matches.items():
            if _DEFAULT_CONVENTION not in names:
                text += f" under {', '.join(names[:3])}"
                text += f" and {len(names) - 3} more" if len(names) > 3 else ""
            elif text == str(self.measure):
                text += " by default"
            has_values = len({number for _, number in self._matches}) > 1
            texts.append(text + f" ({value_text})" * has_values)
        first_text, *other_texts = texts
        if not other_texts:
            return f"{self.wanted} is {first_text}."
        rest_text = f", and {len(other_texts) - 2} more" if len(other_texts) > 2 else ""
        return (
            f"{self.wanted} is {first_text}. Several give it: also {'; '.join(other_texts[:2])}"
            f"{rest_text}."
        )

    @property
    def notes(self) -> Sequence[Note]:
        """Notes on what gives the value that was asked for, and on who lacks the measure."""
        notes, target, names = [*self.run_warnings], self.wanted, self.same
        if target is not None and names:
            text = f"{target} is the value under: {', '.join(names)}."
            notes.append(Note("same", "info", text, count=len(names)))
        elif target is not None and self.departures:
            text = f"No convention gives {target} for {self.measure} as named. {self.search_text}"
            if len(self._matches) > 1:
                text += " Of so many, some may give it by chance: more decimals would tell."
            notes.append(Note("departures", "info", text, count=len(self.departures)))
        elif target is not None:
            text = (
                f"{self.answer} {self.search_text} It may be another depth, other queries or "
                "documents, or a tool that is not listed."
            )
            notes.append(Note("none-same", "info", text))
        if self.lacking:
            text = f"No such measure under {', '.join(self.lacking)}."
            notes.append(Note("lacking", "info", text, count=len(self.lacking)))
        return notes

    def tables(self) -> list[Table]:
        """Return the table: a row for each value, with the conventions that give it.

        The default is first, or, where a value was asked for, what gives it or is nearest to it.
        """
        lines = sorted(self.every, key=self._distance) if self.wanted is not None else self.every
        lines_of_row: dict[tuple[Any, ...], list[UnderConvention]] = {}
        for line in (*self.departures, *lines):
            problem = None if line.problem is None else line.problem.split("\n", 1)[0]
            row_key = line.departure, self._format(line.value), problem, self.is_same(line)
            lines_of_row.setdefault(row_key, []).append(line)
        rows: list[list[str]] = []
        strong_cells = set()
        for (_, value_text, problem, is_target), row_lines in lines_of_row.items():
            if is_target:
                strong_cells |= {(len(rows), 0), (len(rows), 1)}
            simplest = min(row_lines, key=lambda line: len(line.choices))
            shared = set(simplest.choices).intersection(*(line.choices for line in row_lines))
            choices = [choice for choice in simplest.choices if choice in shared or not shared]
            largest_effect = (
                "" if simplest.most is None else f"{simplest.most}: {format_signed(simplest.moves)}"
            )
            names = ", ".join(line.convention for line in row_lines)
            rows.append([value_text, names, problem or ", ".join(choices), largest_effect])
        answers = [self.answer] if self.answer else []
        count = format_count(len(lines) - 1, "convention")
        title = [*answers, f"{self.measure} of {self.run}, under {count}"]
        header = ["value", "conventions", "differs in", "largest effect"]
        table_notes = [str(note) for note in self.notes if note.code != "same"]
        cells = frozenset(strong_cells)
        return [Table(header, rows, table_notes, 1, cells, title=title, n_sentences=3)]

    def _distance(self, line: UnderConvention) -> float:
        """Return how far a convention's value is from the value asked for, to twelve decimals."""
        target, number = self.wanted, line.value
        return (
            math.inf if target is None or number is None else round(abs(number - float(target)), 12)
        )

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
            for line in (*self.departures, *self.every)
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
            "departures": [{**vars(line), "choices": [*line.choices]} for line in self.departures],
            "lacking": [*self.lacking],
            "notes": [note.to_dict() for note in self.notes],
        }


def _fill_line(
    line: UnderConvention,
    computation: Computation,
    computation_of_choice: Mapping[str, Computation],
    outcomes: Mapping[Computation, Outcome],
    default_outcome: Outcome,
) -> UnderConvention:
    """Return a line with its number and choices; `outcomes` has each computation's number."""
    decimals, outcome = computation.decimals, outcomes[computation]
    choices = (*computation_of_choice, *([] if decimals is None else [rounding_text(decimals)]))
    line = replace(line, measure=str(computation.measure), choices=choices)
    if isinstance(outcome, CranfieldError):
        return replace(line, problem=str(outcome))
    line = replace(line, value=outcome)
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
