"""Rule, Convention: how another tool computes what it calls by the same names.

A convention says for each measure with which parameters it is computed and how a run is judged for
it: which queries are averaged, how equal scores are ranked, how duplicates are treated. These are
options and parameters of this package; a convention lists them under the name of a tool. A tool
that ranks documents differently for some measures has several rules, each an evaluation of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cranfield.data.judging import Judging
from cranfield.errors import MeasureError
from cranfield.extensions.tools.computations import Adjustment, Computation
from cranfield.measures import Measure
from cranfield.render.shown import Shown
from cranfield.render.table import Table

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """How a tool computes some measures.

    `measures` is {name here: the parameters that differ from the default, or the name of the other
    measure that the tool computes}; `judging` has the options that differ. `has_cutoff`: the rule
    applies only to measures with a cutoff (True), or only to measures without (False). `decimals`:
    to how many the tool rounds the mean. `parameter_renames`: {measure: {parameter of the tool: the
    parameter here that has its meaning, although another parameter has its name}}. `adjustments`:
    what becomes of the values before the mean is taken.
    """

    measures: Mapping[str, Parameters | str]
    judging: Mapping[str, Any]
    has_cutoff: bool | None = None
    decimals: int | None = None
    parameter_renames: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    adjustments: tuple[Adjustment, ...] = ()

    def translate(self, measure: Measure) -> Measure | None:
        """Return a measure as the tool computes it; None if the rule does not apply to it.

        Parameters that the user stated stay as they are; MeasureError if the measure that the tool
        computes in its place has no such parameter.
        """
        definition = self.measures.get(measure.name)
        if definition is None or self.has_cutoff not in (None, measure.cutoff is not None):
            return None
        if isinstance(definition, str):
            tool_measure = Measure(definition, measure.cutoff)
            if foreign_names := sorted({*measure.stated} - {*tool_measure.parameters}):
                raise MeasureError(
                    f"{measure}: the tool computes {definition}, which has no {foreign_names[0]}"
                )
            stated_parameters = {name: measure.parameters[name] for name in measure.stated}
            return tool_measure.with_parameters(stated_parameters)
        parameters = {
            name: value for name, value in definition.items() if name not in measure.stated
        }
        for tool_name, own_name in self.parameter_renames.get(measure.name, {}).items():
            if tool_name in measure.stated and own_name not in measure.stated:
                parameters[own_name] = measure.parameters[tool_name]
        return measure.with_parameters(parameters) if parameters else measure

    @property
    def measure_texts(self) -> list[str]:
        """The measures as text, without cutoffs, and the measures computed in their place."""
        return [
            f"{name}: {definition}"
            if isinstance(definition, str)
            else str(Measure(name).with_parameters(definition))
            for name, definition in self.measures.items()
        ]

    @property
    def choices(self) -> list[str]:
        """The options that differ from the default, as text."""
        texts = [f"{name}={value!r}" for name, value in self.judging.items()]
        texts += [adjustment.words for adjustment in self.adjustments]
        return texts if self.decimals is None else [*texts, rounding_text(self.decimals)]


def rounding_text(decimals: int) -> str:
    """Return in words to how many decimals a mean is rounded."""
    return f"rounded to {decimals} decimals"


def rule(
    names: str = "",
    /,
    *,
    has_cutoff: bool | None = None,
    decimals: int | None = None,
    judging: Mapping[str, Any] | None = None,
    parameter_renames: Mapping[str, Mapping[str, str]] | None = None,
    adjustments: Iterable[Adjustment] = (),
    **measures: Parameters | str,
) -> Rule:
    """Return a rule for the measures in `names`, and for the keywords' with their parameters."""
    parameters_of_measure = {**{name: {} for name in names.split()}, **measures}
    return Rule(
        parameters_of_measure,
        judging or {},
        has_cutoff,
        decimals,
        parameter_renames or {},
        (*adjustments,),
    )


@dataclass(frozen=True)
class Convention:
    """What a tool computes, and how: its rules, of which the first that fits a measure applies.

    `tool` is the tool with its version and configuration, `source` where in it the rules are.
    `was_run`: its numbers were compared with those of the tool itself; if not, the rules were read
    in its source. `remarks` say where the tool raises, gives no number, or has a fault that is not
    imitated here.

    >>> from cranfield import AP, nDCG
    >>> from cranfield.extensions.tools.conventions import find_convention
    >>> find_convention("Sentence_Transformers").translate(AP@10)
    AP(over='reachable')@10
    >>> find_convention("trec_eval").find_computation(nDCG).judging.queries
    'both'
    """

    name: str
    tool: str
    source: str
    rules: tuple[Rule, ...]
    remarks: tuple[str, ...] = ()
    was_run: bool = True

    def translate(self, measure: Measure) -> Measure | None:
        """Return a measure as the tool computes it; None if it has no such measure."""
        translations = (rule.translate(measure) for rule in self.rules)
        return next(
            (tool_measure for tool_measure in translations if tool_measure is not None), None
        )

    def measure_names(self) -> list[str]:
        """Return the names of the measures that the tool has."""
        return list(dict.fromkeys(name for rule in self.rules for name in rule.measures))

    def select_supported(self, measures: Iterable[Measure]) -> list[Measure]:
        """Return the measures that the tool has; raise MeasureError if it has none of them."""
        supported = [measure for measure in measures if self.translate(measure) is not None]
        if not supported:
            raise MeasureError(f"name a measure: {self.name} has {', '.join(self.measure_names())}")
        return supported

    def find_computation(self, measure: Measure, judging: Judging = Judging()) -> Computation:
        """Return how the tool computes a measure; MeasureError if it lacks it.

        Options of `judging` that differ from their defaults are kept.
        """
        for rule in self.rules:
            tool_measure = rule.translate(measure)
            if tool_measure is not None:
                rule_judging = replace(judging, **{**rule.judging, **judging.changed_options()})
                return Computation(tool_measure, rule_judging, rule.adjustments, rule.decimals)
        raise MeasureError(
            f"{measure}: {self.name} has no such measure, or none that was compared with the one "
            f"here; it has {', '.join(self.measure_names())}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Conventions(Shown):
    """Some conventions, as tables: what each computes, and how."""

    conventions: Sequence[Convention]
    header = ("convention", "tool", "source", "was_run", "measures", "choices", "remarks")
    notes = ()

    def tables(self) -> list[Table]:
        """Return a table: a row for each of several conventions, or each rule of a single one."""
        if len(self.conventions) > 1:
            rows = [
                [convention.name, convention.tool + ("" if convention.was_run else " (not run)")]
                for convention in self.conventions
            ]
            header, n_sentences, title, lines = ["convention", "tool"], 1, [], [_USAGE_LINE]
        else:
            (convention,) = self.conventions
            rows = [
                [", ".join(rule.measure_texts), ", ".join(rule.choices) or "-"]
                for rule in convention.rules
            ]
            header, n_sentences = ["measures", "choices"], 2
            title = [f"{convention.name}: {convention.tool}", f"Source: {convention.source}"]
            lines = [*convention.remarks]
            if not convention.was_run:
                lines.append("Read in its source, not run.")
        n_labels = len(header) - n_sentences
        return [Table(header, rows, lines, n_labels, title=title, n_sentences=n_sentences)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each rule of each convention."""
        return self._rows_as_dicts(
            (
                *(convention.name, convention.tool, convention.source, convention.was_run),
                *(
                    " ".join(rule.measure_texts),
                    ", ".join(rule.choices),
                    " ".join(convention.remarks),
                ),
            )
            for convention in self.conventions
            for rule in convention.rules
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"conventions": self.rows()}


_USAGE_LINE = (
    "`cranfield conventions NAME` says more of one; `cranfield conventions QRELS RUN -m nDCG@10` "
    "computes a number under each."
)
