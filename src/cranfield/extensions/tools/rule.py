"""Rule, Convention: how another tool computes what it calls by the same names.

A convention says for each measure with which parameters it is computed and how a run is judged for
it: which queries are averaged, how equal scores are ranked, how duplicates are treated. These are
options and parameters of this package; a convention lists them under the name of a tool. A tool
that ranks documents differently for some measures has several rules, each an evaluation of its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError, MeasureError
from cranfield.measures import Measure, parse
from cranfield.render.shown import Shown
from cranfield.render.table import Table

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Adjustment:
    """How a tool changes the values of queries before it averages them; `words` say so.

    It reads other measures of the same ranking, each a template of a measure's text: "{rel}" and
    "{gain}" are those of the adjusted measure, "{at}" is its cutoff. `zero_values` is ((template,
    value of a query for which that measure is 0), ...); NaN leaves the query out of the mean. A
    value is multiplied by `factor`, and by `weight` over the mean weight of the averaged queries:
    so the mean of the values is the weighted mean.
    """

    words: str = ""
    zero_values: tuple[tuple[str, float], ...] = ()
    factor: str | None = None
    weight: str | None = None

    def list_helpers(self, measure: Measure) -> list[Measure]:
        """Return the measures that the adjustment of a measure reads, in the order of `apply`."""
        templates = [template for template, _ in self.zero_values]
        templates += [template for template in (self.factor, self.weight) if template is not None]
        at = "" if measure.cutoff is None else f"@{measure.cutoff}"
        return [parse(template.format(**measure.parameters, at=at)) for template in templates]

    def apply(self, values: Floats, helper_columns: Iterable[Floats]) -> Floats:
        """Return the adjusted values of a measure, (n_queries,); so is each helper's column."""
        columns = iter(helper_columns)
        for _, number in self.zero_values:
            values = np.where(next(columns) == 0, number, values)
        if self.factor is not None:
            values = values * next(columns)
        if self.weight is not None:
            weight = next(columns)
            total_weight = weight[~np.isnan(values)].sum()
            values = values * weight * (np.count_nonzero(~np.isnan(values)) / (total_weight or 1))
        return values


NO_ADJUSTMENT = Adjustment()


@dataclass(frozen=True)
class Rule:
    """How a tool computes some measures.

    `measures` is {name here: the parameters that differ from the default, or the name of the other
    measure that the tool computes}; `judging` has the options that differ. `has_cutoff`: the rule
    applies only to measures with a cutoff (True), or only to measures without (False). `decimals`:
    to how many the tool rounds the mean. `parameter_renames`: {measure: {parameter of the tool: the
    parameter here that has its meaning, although another parameter has its name}}. `adjustment`:
    what becomes of the values before the mean is taken. `excluded_parameters`: {measure: the one
    that has no effect beside the rule's, and is refused}.
    """

    measures: Mapping[str, Parameters | str]
    judging: Mapping[str, Any]
    has_cutoff: bool | None = None
    decimals: int | None = None
    parameter_renames: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    adjustment: Adjustment = NO_ADJUSTMENT
    excluded_parameters: Mapping[str, str] = field(default_factory=dict)

    def translate(self, measure: Measure) -> Measure | None:
        """Return a measure as the tool computes it; None if the rule does not apply to it.

        Parameters that the user stated stay as they are; MeasureError if the measure that the tool
        computes in its place has no such parameter.
        """
        definition = self.measures.get(measure.name)
        if definition is None or self.has_cutoff not in (None, measure.cutoff is not None):
            return None
        if isinstance(definition, str):
            other_measure = Measure(definition, measure.cutoff)
            parameters = {name: measure.parameters[name] for name in measure.stated}
            if foreign_names := sorted(parameters.keys() - other_measure.parameters.keys()):
                raise MeasureError(
                    f"{measure}: the tool computes {other_measure} in its place, which has no "
                    f"{' or '.join(foreign_names)}: leave that out"
                )
            return other_measure.with_parameters(parameters)
        if (refused_name := self.excluded_parameters.get(measure.name)) in measure.stated:
            raise MeasureError(
                f"{measure}: what the tool does with {refused_name} is not known here"
            )
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
        texts += [self.adjustment.words] if self.adjustment.words else []
        return texts + ([] if self.decimals is None else [rounding_text(self.decimals)])


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
    adjustment: Adjustment = NO_ADJUSTMENT,
    excluded_parameters: Mapping[str, str] | None = None,
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
        adjustment,
        excluded_parameters or {},
    )


@dataclass(frozen=True)
class Convention:
    """What a tool computes, and how: its rules, of which the first that fits a measure applies.

    `tool` is the tool with its version and configuration, `source` where in it the rules are.
    `was_run`: its numbers were compared with those of the tool itself; if not, the rules were read
    in its source. `remarks` say where the tool raises, gives no number, or has a fault that is not
    imitated here. `refuses_negative`: it raises for a grade below 0. `names` are {name that means
    another measure here, or none: measure}, without a cutoff; "hits@" is the one with a cutoff.

    >>> from cranfield import AP, nDCG
    >>> from cranfield.extensions.tools.conventions import find_convention
    >>> find_convention("Sentence_Transformers").translate(AP@10)
    AP(over='reachable')@10
    >>> groups = find_convention("trec_eval").group_measures([AP, nDCG])
    >>> [group.judging.queries for group in groups]
    ['both']
    """

    name: str
    tool: str
    source: str
    rules: tuple[Rule, ...]
    remarks: tuple[str, ...] = ()
    was_run: bool = True
    refuses_negative: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def translate_names(self, text: str) -> str:
        """Return the text of measures with the names that only the tool has as they are here."""

        def translate_name(match: re.Match[str]) -> str:
            name, cutoff_text = match[1], match[2] or ""
            own_name = self.names.get(name.lower() + cutoff_text[:1])
            return match[0] if own_name is None else own_name + cutoff_text

        return re.sub(r"(?<![^\s,])(\w+)(@\w+)?(?![^\s,])", translate_name, text)

    def check_grades(self, qrels: Qrels) -> None:
        """Raise InputError where the tool refuses grades below 0 and the judgments have one."""
        if self.refuses_negative and qrels.grade.min(initial=0) < 0:
            raise InputError(
                f"{self.name} refuses grades below 0, such as {qrels.grade.min():g}: no convention "
                "has a number for it",
                source=qrels.source,
            )

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

    def group_measures(
        self, measures: Iterable[Measure], judging: Judging = Judging()
    ) -> "list[Group]":
        """Return the evaluations that the measures take; measures judged alike share a group.

        Options of `judging` that differ from their defaults are kept. Raises MeasureError for a
        measure that the tool lacks.
        """
        measures_of_group: dict[tuple[Judging, int | None, Adjustment], dict[Measure, Measure]] = {}
        for measure in measures:
            for rule in self.rules:
                tool_measure = rule.translate(measure)
                if tool_measure is not None:
                    rule_judging = replace(judging, **{**rule.judging, **judging.changed_options()})
                    group_key = rule_judging, rule.decimals, rule.adjustment
                    measures_of_group.setdefault(group_key, {})[measure] = tool_measure
                    break
            else:
                raise MeasureError(
                    f"{measure}: {self.name} has no such measure, or none that was compared with "
                    f"the one here; it has {', '.join(self.measure_names())}"
                )
        return [
            Group(computed_measures, *group_key)
            for group_key, computed_measures in measures_of_group.items()
        ]


@dataclass(frozen=True)
class Group:
    """Measures that a tool computes of one ranking: {measure as named: measure as computed}."""

    computed_measures: Mapping[Measure, Measure]
    judging: Judging
    decimals: int | None
    adjustment: Adjustment

    @property
    def measures(self) -> list[Measure]:
        """The measures as the tool computes them."""
        return list(self.computed_measures.values())

    @property
    def evaluated_measures(self) -> list[Measure]:
        """The measures as the tool computes them, and those that the adjustment reads."""
        helpers = [
            helper for measure in self.measures for helper in self.adjustment.list_helpers(measure)
        ]
        return list(dict.fromkeys([*self.measures, *helpers]))

    def adjust_column(self, values: Floats, measure: Measure) -> Floats:
        """Return a measure's values, (n_queries,); `values` has a column of each evaluated one."""
        columns = dict(zip(self.evaluated_measures, values.T, strict=True))
        helpers = self.adjustment.list_helpers(measure)
        return self.adjustment.apply(columns[measure], [columns[helper] for helper in helpers])


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
