"""@measure and Measure: the declaration of a measure, and the value that it is.

A measure is one function under `@measure`: its name and parameters are the declaration, its
docstring the documentation, its body the computation. Everything else (catalogue, command line,
tests, explanation) reads the registry.
"""

import inspect
import math
import os
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np

from cranfield.errors import MeasureError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.objects import by_position, graded_one
from cranfield.judge import judge
from cranfield.judged import ENDLESS, Judged
from cranfield.qrels import Qrels
from cranfield.ranked import Floats, Ints, geometric_mean, mean, total
from cranfield.runs import Run

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
Aggregation = Literal["mean", "sum", "geometric", "none"]
TakesGroups = bool | Literal["subtopics"]
# Which grades of the unjudged documents are tried for the lowest and the highest value: see bounds.
Bounded = Literal["extremes", "split", "ratio", "sorted", "every", "attained", "none", "refused"]
Kernel = Callable[..., Any]
Parameters = Mapping[str, Any]
# Whether grades rank equal scores from best to worst; or, of a run and the parameters, why not.
ByGrade = bool | Callable[..., str]
# A measure's name and parameters as another tool has them -> as they are here.
Translation = Callable[[str, Parameters], tuple[str, Parameters]]

AGGREGATIONS: dict[Aggregation, Callable[[Floats], float]] = {
    "mean": mean,
    "sum": total,
    "geometric": geometric_mean,
}


# ---- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """What a parameter means and which values it takes.

    `check` returns the value in its one canonical, hashable form, or raises ValueError saying
    what was expected. Use it in an annotation: `rel: Annotated[int, Parameter(...)] = 1`.

    >>> Parameter("the probability of going on", between(0, 1)).check(1)
    1.0
    """

    meaning: str
    check: Callable[[Any], Any]


def whole(at_least: int) -> Callable[[Any], int]:
    """Return a check for whole numbers."""

    def check(value: Any) -> int:
        number = _number(value)
        if number is None or number != int(number) or not at_least <= number <= LARGEST_GRADE:
            raise ValueError(f"a whole number, {at_least} or more")
        return int(number)

    return check


def between(low: float, high: float) -> Callable[[Any], float]:
    """Return a check for numbers from low to high."""

    def check(value: Any) -> float:
        number = _number(value)
        if number is None or not low <= number <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(number)

    return check


def above_zero(value: Any) -> float:
    """Check for a number greater than 0, and small enough to be squared."""
    number = _number(value)
    if number is None or not 0 < number <= 1e9:
        raise ValueError("a number greater than 0, and no more than 1e9")
    return float(number)


def is_number(value: Any, limit: float) -> bool:
    """Tell whether the value is a number, and no further from 0 than the limit."""
    number = _number(value)
    return number is not None and abs(number) <= limit


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            return value if math.isfinite(value) else None  # type: ignore[return-value] # numpy's
        except OverflowError:
            return None
    return None


Rel = Annotated[int, Parameter("the lowest grade that counts as relevant", whole(0))]
Cutoff = Annotated[Ints, "cutoff"]  # what a kernel gets for `@10`: see Ranked.top
RecallPoint = Annotated[float, "recall point"]


# ---- the cutoff -----------------------------------------------------------------------------


NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_CAPPED = r"min\(\s*(?:(\d+)\s*,\s*R|R\s*,\s*(\d+))\s*\)"


@dataclass(frozen=True)
class Depth:
    """Where a ranking is cut.

    After `ranks`; after as many as the query has relevant documents, if `at_relevant`; after the
    smaller of both, if both are given.
    """

    ranks: int | None
    at_relevant: bool = False

    def __str__(self) -> str:
        if self.ranks is None:
            return "R"
        return f"min({self.ranks},R)" if self.at_relevant else str(self.ranks)

    def of(self, judged: Judged, rel: int) -> Ints:
        """Return the cutoff of each query, (n_queries, 1), or of all, (1, 1)."""
        if not self.at_relevant:
            return np.array([[self.ranks]])
        n_relevant = judged.n_relevant(rel)
        return n_relevant if self.ranks is None else np.minimum(self.ranks, n_relevant)

    @classmethod
    def parse(cls, text: str) -> "Depth | None":
        """Return the cutoff that the text names, None if it names none."""
        text = text.strip()
        if text in {"R", "r"}:
            return cls(None, True)
        capped = re.fullmatch(_CAPPED, text, re.IGNORECASE)
        digits = (capped[1] or capped[2]) if capped else text
        if not re.fullmatch(r"\d{1,15}", digits, re.ASCII) or int(digits) < 1:
            return None
        return cls(int(digits), capped is not None)


# ---- the declaration ------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Definition:
    """All that is known of a measure, but for the values of its parameters."""

    name: str
    kernel: Kernel
    formula: str  # in plain text
    source: str  # the paper (authors, venue, year), or the tool that defines it
    aliases: tuple[str, ...]  # names by which other tools call it
    families: Mapping[str, tuple[Any, ...]]  # trec_eval's names for several cutoffs, or parameters
    translate: Translation  # other tools' parameters into ours
    alias_parameter: Mapping[str, str]  # set_F.2, set_F_2: the number is this parameter
    aggregation: Aggregation  # "none": the value of a query is a text
    # Judgments in groups, too (all other measures refuse them), cut for each group by itself; or as
    # subtopics of one need, which are cut together.
    takes_groups: TakesGroups
    range: tuple[float, float | None]  # of the value of a query; None: no upper end
    higher_is_better: bool  # of two systems, the one with the higher value
    exempt: Mapping[str, str]  # properties that do not hold, each with its reason
    bounds: Bounded | Callable[[Parameters], Bounded]  # how they are found; may hang on parameters
    unnamed: str | None  # the parameter that is written without its name: CWL('AP')
    takes_cost: bool  # of looking at each document, an optional column of the run
    fits: Callable[["Measure"], None] | None  # raises MeasureError if cutoff and parameters do not
    by_grade: ByGrade  # of equal scores, ranked by grade: no order is better, none is worse
    expected: Kernel | None = None  # the mean over all orders of equal scores

    @cached_property
    def _arguments(self) -> tuple[list[inspect.Parameter], dict[str, Any]]:
        arguments = list(inspect.signature(self.kernel).parameters.values())
        return arguments, typing.get_type_hints(self.kernel, include_extras=True)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The parameters and what they are if nothing is said."""
        return {a.name: a.default for a in self._arguments[0] if a.kind is a.KEYWORD_ONLY}

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters and what they mean."""
        return {name: self._arguments[1][name].__metadata__[0] for name in self.defaults}

    @cached_property
    def _second(self) -> inspect.Parameter | None:
        positional = [a for a in self._arguments[0] if a.kind is not a.KEYWORD_ONLY]
        return positional[1] if len(positional) > 1 else None

    @cached_property
    def cutoff(self) -> Literal["none", "optional", "required"]:
        """Whether the measure takes a cutoff."""
        if self._second is None:
            return "none"
        return "required" if self._second.default is inspect.Parameter.empty else "optional"

    @cached_property
    def cutoff_kind(self) -> Literal["depth", "recall"]:
        """What stands after `@`: a number of ranks, or a recall."""
        hint = self._second and self._arguments[1][self._second.name]
        return "recall" if hint is RecallPoint else "depth"

    @property
    def is_own(self) -> bool:
        """Whether a user declared the measure."""
        code = getattr(self.kernel, "__code__", None)
        return code is None or not code.co_filename.startswith(_PACKAGE)

    @property
    def is_text(self) -> bool:
        """Whether the value of a query is a text; then there is none over all queries."""
        return self.aggregation == "none"

    @property
    def shown_range(self) -> str:
        """The values that a query may have, in words."""
        low, high = self.range
        if self.is_text:
            return "a text"
        if low == -math.inf:
            return "any number"
        return f"from {low:g}" + (" up" if high is None else f" to {high:g}")

    @property
    def over_queries(self) -> str:
        """What the value over all queries is, in words."""
        return {
            "mean": "mean",
            "sum": "sum",
            "geometric": "geometric mean",
            "none": "no value",
        }[self.aggregation]

    @property
    def documentation(self) -> str:
        """The kernel's docstring."""
        return inspect.getdoc(self.kernel) or ""

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        return self.documentation.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def pattern(self) -> str:
        """How the measure is written, cutoff and parameters with their defaults: `P(rel=1)@k`."""
        point = "x" if self.cutoff_kind == "recall" else "k"
        at = {"none": "", "optional": f"[@{point}]", "required": f"@{point}"}[self.cutoff]
        return self.name + written(self.defaults.items(), self.unnamed) + at


_DEFINITIONS: dict[str, Definition] = {}
# Every name in lower case -> the canonical name, and the parameters that it implies.
VARIANTS: dict[str, tuple[str, Mapping[str, Any]]] = {}
# The same by exact spelling, which goes first: rbp is trec_eval's, with its default, RBP is ours.
_EXACT: dict[str, tuple[str, Mapping[str, Any]]] = {}
# trec_eval's names that stand for several cutoffs, in lower case -> the canonical name, those.
FAMILIES: dict[str, tuple[str, tuple[Any, ...]]] = {}


def _no_translation(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    return name, parameters


def measure(
    name: str,
    *,
    formula: str,
    source: str,
    aliases: Sequence[str] = (),
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    families: Mapping[str, tuple[Any, ...]] | None = None,
    translate: Translation = _no_translation,
    alias_parameter: Mapping[str, str] | None = None,
    aggregation: Aggregation = "mean",
    takes_groups: TakesGroups = False,
    range: tuple[float, float | None] = (0, 1),  # noqa: A002 - the word for it
    higher_is_better: bool = True,
    exempt: Mapping[str, str] | None = None,
    bounds: Bounded | Callable[[Parameters], Bounded] = "attained",
    unnamed: str | None = None,
    takes_cost: bool = False,
    fits: Callable[["Measure"], None] | None = None,
    by_grade: ByGrade = False,
) -> Callable[[Kernel], Kernel]:
    """Register a measure: the decorated function is its declaration and its computation.

    The function takes a Judged and returns a column (n_queries, 1). A second positional argument
    annotated `Cutoff` (or `Cutoff | None`, with the default None) makes `@k` required (or
    optional); one annotated `RecallPoint` makes `@x` a recall point. Keyword-only arguments are
    the parameters; each is annotated with a Parameter and has a default. One of them, `unnamed`,
    may be given without its name, and is always shown: `CWL('AP')`. With cutoffs, use `Ranked.top`
    and return (n_queries, n_cutoffs), as its methods do.

    A measure declared so is one like all others: `parse`, `evaluate`, `definitions` know it. One's
    own may be declared again, with another function. Raises MeasureError for a name that is taken,
    and for a declaration that lacks something.

    `bounds` says which grades of the unjudged documents are tried for the measure's bounds, and
    found to be enough: "extremes", "split", "ratio", "sorted" or "every" (see `cranfield.bounds`).
    Without it they are "attained", not proved. "none": it does not hang on grades; "refused": it
    takes more than grades.

    `by_grade` says that of all orders of equal scores, the one by falling grade has the best value
    and the one by rising grade the worst (what is unjudged comes last, or first); ties="best" and
    "worst" take the measure then. It may be a function of the Judged and the parameters that
    returns why that is not so, or nothing. What is averaged over all orders is registered by
    `expected`.

    >>> from cranfield import ratio
    >>> @measure("TopHit", formula="grade at rank 1 / top grade", source="this page")
    ... def top_hit(judged):
    ...     '''The grade of the first document, as a share of the highest.'''
    ...     first = judged.hits.where(judged.hits.rank == 1)
    ...     return ratio(first.total(first.grade), np.array([[judged.top_grade]]))
    >>> Measure("TopHit")({"d1": 3, "d2": 2}, ["d2", "d1"])
    0.6666666666666666
    """

    def register(kernel: Kernel) -> Kernel:
        definition = Definition(
            name=name,
            kernel=kernel,
            formula=formula,
            source=source,
            aliases=tuple(dict.fromkeys((*aliases, *(variants or {}), *(families or {})))),
            families=families or {},
            translate=translate,
            alias_parameter=alias_parameter or {},
            aggregation=aggregation,
            takes_groups=takes_groups,
            range=range,
            higher_is_better=higher_is_better,
            exempt=exempt or {},
            bounds=bounds,
            unnamed=unnamed,
            takes_cost=takes_cost,
            fits=fits,
            by_grade=by_grade,
        )
        implied: dict[str, Mapping[str, Any]] = {
            **{known: {} for known in (name, *aliases, *definition.families)},
            **(variants or {}),
        }
        if definition.is_own:
            _check_own(definition, implied)
        _DEFINITIONS[name] = definition
        for known, parameters in implied.items():
            _EXACT[known] = name, parameters
            VARIANTS.setdefault(known.lower(), (name, parameters))
        for family, cutoffs in definition.families.items():
            FAMILIES[family.lower()] = name, cutoffs
        return kernel

    return register


def _check_own(definition: Definition, names: Iterable[str]) -> None:
    """Raise MeasureError unless a user's own measure is declared as it has to be."""
    name, parameters = definition.name, definition._arguments[0]

    def wrong(problem: str) -> MeasureError:
        return MeasureError(f"@measure({name!r}): {problem}")

    if not name.isidentifier():
        raise wrong("the name has to be a Python identifier, such as nDCG or alpha_nDCG")
    for one in names:
        other = VARIANTS.get(one.lower(), (name,))[0]
        if other != name:
            raise wrong(f"the name {one!r} is one of {other}'s")
    if name in _DEFINITIONS and not _DEFINITIONS[name].is_own:
        raise wrong("a measure of cranfield has this name")
    for what in ("formula", "source", "documentation"):
        text = getattr(definition, what)
        if not isinstance(text, str) or not text.strip():
            needed = "a docstring that says what it measures" if what == "documentation" else what
            raise wrong(f"it needs {needed}: every number has to tell how it was made")
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    if not 1 <= len(positional) <= 2 or len(positional) + len(options) < len(parameters):
        raise wrong(
            "the function takes the Judged, then a cutoff if there is one, then parameters by "
            "keyword only: def f(judged, k: Cutoff | None = None, *, rel: Rel = 1)"
        )
    for option in options:
        hint = definition._arguments[1].get(option.name)
        meta = getattr(hint, "__metadata__", ())
        if option.default is option.empty or not (meta and isinstance(meta[0], Parameter)):
            raise wrong(
                f"the parameter {option.name!r} needs a default and a meaning: "
                f"{option.name}: Annotated[int, Parameter('what it means', check)] = 1"
            )


def expected(name: str) -> Callable[[Kernel], Kernel]:
    """Register the mean of a measure over all orders of equal scores, for ties="expected".

    The function takes what the measure's own takes, and reads `Judged.places`. Both in one, for a
    measure whose value is the same in any order.
    """

    def register(kernel: Kernel) -> Kernel:
        _DEFINITIONS[name].expected = kernel
        return kernel

    return register


def if_whole(judged: Judged, **_: Any) -> str:
    """Tell why grades do not rank ties from best to worst where a run was cut at a depth.

    For measures of which documents were retrieved, not only of the relevant ones.
    """
    return "it depends on which documents of equal scores `depth` keeps" if judged.is_cut else ""


def variant(name: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the canonical name and the parameters that a name stands for, None if for nothing."""
    return _EXACT.get(name) or VARIANTS.get(name.lower())


def definitions() -> list[Definition]:
    """Return every measure, in the order of the catalogue.

    >>> definitions()[0].name, definitions()[0].formula
    ('nDCG', 'DCG@k / DCG@k of the ideal ranking')
    """
    return list(_DEFINITIONS.values())


# ---- the value ------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Measure:
    """A measure with its parameters: a value, hashable, equal by meaning.

    Written as `nDCG@10`, `P(rel=2)@5`, in Python as in text. `str()` gives the text, which
    `parse()` takes. Called with a truth and a ranking, it scores a single list:

    >>> from cranfield import nDCG, AP, P, parse
    >>> AP({"d3"}, ["d1", "d2", "d3"])
    0.3333333333333333
    >>> (nDCG@5)({"d1": 3, "d2": 2}, ["d1", "d4", "d2"])
    0.9385574520455129
    >>> P(rel=2)@5 == parse("P(rel=2)@5")
    True
    """

    name: str
    cutoff: Depth | float | None = None
    given: tuple[tuple[str, Any], ...] = field(default=())  # parameters that are not the default

    def __post_init__(self) -> None:
        if self.name not in _DEFINITIONS:
            raise unknown_measure(self.name, self.name)
        if not isinstance(self.cutoff, Depth | float | None):
            raise MeasureError(f"write {self.name}@{self.cutoff}")
        unnamed = self.definition.unnamed
        if unnamed is not None and unnamed not in dict(self.given):
            stated = ((unnamed, self.definition.defaults[unnamed]), *self.given)
            object.__setattr__(self, "given", stated)

    @property
    def definition(self) -> Definition:
        """The declaration, without this one's parameters."""
        return _DEFINITIONS[self.name]

    @property
    def bounds(self) -> Bounded:
        """How its bounds are found, with these parameters."""
        declared = self.definition.bounds
        return declared(self.parameters) if callable(declared) else declared

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter and its value."""
        values = {**self.definition.defaults, **dict(self.given)}
        return {k: dict(v) if isinstance(v, Gains) else v for k, v in values.items()}

    def __str__(self) -> str:
        at = "" if self.cutoff is None else f"@{self._at}"
        return self.name + written(self.given, self.definition.unnamed) + at

    __repr__ = __str__

    @property
    def _at(self) -> str:
        if isinstance(self.cutoff, float):
            return np.format_float_positional(self.cutoff, trim="-")
        return str(self.cutoff)

    def __matmul__(self, cutoff: "int | float | str | Depth | Measure") -> "Measure":
        """Cut the ranking: `nDCG@10`, `P@R`, `nDCG@"min(100,R)"`; `IPrec@0.1`."""
        kind = self.definition.cutoff_kind
        if self.definition.cutoff == "none":
            raise MeasureError(f"{self.name} takes no cutoff: write {self.name}")
        if kind == "recall":
            point = _number(cutoff)
            if isinstance(cutoff, str) and re.fullmatch(NUMBER, cutoff):
                point = float(cutoff)
            if point is None or not 0 <= point <= 1:
                raise MeasureError(
                    f"{self.name}@{cutoff}: expected a recall from 0 to 1, as in {self.name}@0.1"
                )
            return replace(self, cutoff=float(point) + 0.0)  # no negative zero
        depth = cutoff if isinstance(cutoff, Depth) else Depth.parse(str(cutoff))
        if depth is None or isinstance(cutoff, bool):
            raise MeasureError(
                f"{self.name}@{cutoff}: expected a number of ranks, 1 or more, "
                f"as in {self.name}@10; or {self.name}@R, {self.name}@min(10,R)"
            )
        return replace(self, cutoff=depth)

    @typing.overload
    def __call__(self, *unnamed: str, **parameters: Any) -> "Measure": ...
    @typing.overload
    def __call__(
        self,
        truth: Mapping[Any, int] | Iterable[Any],
        ranking: Mapping[Any, float] | Sequence[Any],
        /,
    ) -> float: ...
    def __call__(self, *lists: Any, **parameters: Any) -> "Measure | float":
        """Set parameters, `P(rel=2)`; or score one list, `AP({"d3"}, ["d1", "d2", "d3"])`.

        The truth is a dict {document: grade} or a set of relevant documents; the ranking a list
        of documents, best first, or a dict {document: score}. Returns a number.
        """
        if not lists:
            return self.with_parameters(parameters)
        unnamed = self.definition.unnamed
        if unnamed is not None and len(lists) == 1 and isinstance(lists[0], str):
            return self.with_parameters({unnamed: lists[0], **parameters})
        if len(lists) != 2 or parameters:
            raise TypeError(
                f"{self}(truth, ranking) scores one list, {self.name}(parameter=value) sets "
                "parameters; use one of the two"
            )
        truth, ranking = lists
        graded = truth if isinstance(truth, Mapping) else graded_one(truth)
        scored = ranking if isinstance(ranking, Mapping) else by_position("the list", ranking)
        self.check_complete()
        # The query stands in the run even if nothing was retrieved for it.
        meeting = judge(Qrels({"the list": graded}), Run({"the list": scored}))
        value = self.values(meeting.judged)[0, 0]
        return value if self.definition.is_text else float(value)

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Measure":
        """Return the measure with some parameters set."""
        known = self.definition.parameters
        values = dict(self.given)
        name, translated = self.definition.translate(
            self.name, {key.lower(): value for key, value in parameters.items()}
        )
        if name != self.name:
            return Measure(name, self.cutoff).with_parameters(translated)
        for key, value in translated.items():
            if key not in known:
                raise MeasureError(_unknown_parameter(self.definition, key))
            try:
                values[key] = known[key].check(value)
            except ValueError as error:
                raise MeasureError(
                    f"{self.name}({key}={value!r}): expected {error} ({known[key].meaning})"
                ) from None
        defaults = self.definition.defaults
        given = ((key, values[key]) for key in known if key in values)
        return replace(self, given=tuple((k, v) for k, v in given if v != defaults[k]))

    def check_complete(self) -> None:
        """Raise MeasureError if the measure needs a cutoff and has none."""
        if self.definition.cutoff == "required" and self.cutoff is None:
            cut = self @ ("0.1" if self.definition.cutoff_kind == "recall" else "10")
            whole = f"Set{self.name}"
            uncut = f"; over everything retrieved it is {whole}" if whole in _DEFINITIONS else ""
            raise MeasureError(f"{self} needs a cutoff: {cut}{uncut}")
        if self.definition.fits is not None:
            self.definition.fits(self)

    def aggregate(self, values: Floats) -> float:
        """Return the value over all queries, of their values (n_queries,)."""
        if self.definition.is_text:
            raise MeasureError(f"{self} is a text for each query; it has no value over all")
        return AGGREGATIONS[self.definition.aggregation](values)

    def values(self, judged: Judged) -> Floats:
        """Return each query's value: (n_queries, 1)."""
        return Plan([self]).values(judged)


class Gains(tuple[tuple[int, float], ...]):
    """A mapping grade -> gain, in the hashable form in which a measure keeps it."""

    __slots__ = ()


class Alike:
    """Measures that differ only in their cutoff: they take one pass over the rows together."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._first = measures[0]
        self._definition, self._parameters = self._first.definition, self._first.parameters
        for one in measures:
            one.check_complete()
        self._cutoffs = [one.cutoff for one in measures]
        self._k: Ints | None = None  # the cutoffs, where they do not depend on the judgments
        if any(isinstance(cutoff, Depth) for cutoff in self._cutoffs):
            depths = [c if isinstance(c, Depth) else Depth(ENDLESS) for c in self._cutoffs]
            self._depths = depths
            if not any(depth.at_relevant for depth in depths):
                self._k = _shared_cutoffs(tuple(depth.ranks or 0 for depth in depths))
        else:
            self._depths = []

    def values(self, judged: Judged) -> Floats:
        """Return every query's value of each, as they come: shapes that broadcast to that."""
        kernel, parameters = _of_ties(self._first, judged), self._parameters
        columns: Floats
        if judged.in_groups and not self._definition.takes_groups:
            raise _not_of_groups(self._first)
        if self._k is not None:
            columns = kernel(judged, self._k, **parameters)
        elif self._depths:
            # Of judgments in groups, each group has its own number of relevant documents.
            counted = judged.groups.judged if self._definition.takes_groups is True else judged
            depths = [depth.of(counted, parameters.get("rel", 1)) for depth in self._depths]
            n_rows = max(map(len, depths))
            k = np.hstack([np.broadcast_to(depth, (n_rows, 1)) for depth in depths])
            columns = kernel(judged, k, **parameters)
        elif self._cutoffs[0] is not None:
            columns = np.hstack([kernel(judged, point, **parameters) for point in self._cutoffs])
        else:
            columns = kernel(judged, **parameters)
        if self._definition.is_own:
            self._check(columns, judged)
        return columns

    def _check(self, columns: object, judged: Judged) -> None:
        """Raise MeasureError unless a user's function returned a column of numbers."""
        wanted = len(judged.n_retrieved), len(self._cutoffs)
        shape = columns.shape if isinstance(columns, np.ndarray) else ()
        if len(shape) != 2 or any(n not in (1, m) for n, m in zip(shape, wanted, strict=True)):
            got = f"one of the shape {shape}" if shape else type(columns).__name__
            raise MeasureError(
                f"{self._first}: the function of @measure has to return an array of the shape "
                f"(queries, cutoffs), here {wanted}, and returned {got}"
            )


def _span(numbers: list[int]) -> slice | list[int]:
    """Return adjacent numbers as a slice, which numpy takes quicker."""
    adjacent = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return slice(numbers[0], numbers[-1] + 1) if adjacent else numbers


@lru_cache(maxsize=64)
def _shared_cutoffs(ranks: tuple[int, ...]) -> Ints:
    """Return the one array for these cutoffs, by which Ranked knows them again."""
    cutoffs = np.array([ranks])
    cutoffs.setflags(write=False)
    return cutoffs


def _not_of_groups(one: Measure) -> MeasureError:
    theirs = ", ".join(each.name for each in definitions() if each.takes_groups)
    return MeasureError(
        f"{one} takes one grade for each document, and these judgments are in groups; "
        f"measures of groups, subtopics and preferences are {theirs}"
    )


def _of_ties(one: Measure, judged: Judged) -> Kernel:
    """Return what reckons the measure from a run whose equal scores were ranked so."""
    definition = one.definition
    if judged.ties == "expected":
        if definition.expected is not None:
            return definition.expected
        theirs = ", ".join(each.name for each in definitions() if each.expected)
        raise MeasureError(f"{one} has no formula for ties='expected'; these have: {theirs}")
    if judged.ties in ("best", "worst") and definition.by_grade is not True:
        why = "a higher grade is not always the better one to have first"
        if definition.by_grade:
            why = definition.by_grade(judged, **one.parameters)
        if why:
            theirs = ", ".join(each.name for each in definitions() if each.by_grade)
            raise MeasureError(
                f"{one}: ties={judged.ties!r} ranks equal scores by grade, and for this measure "
                f"that is not the {judged.ties} order: {why}; it is for {theirs}"
            )
    return definition.kernel


class Plan:
    """Measures in the order in which they are wanted, and how to reckon them in few passes."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._measures = measures
        alike: dict[tuple[Any, ...], list[int]] = {}
        for i, one in enumerate(measures):
            alike.setdefault((one.name, one.given), []).append(i)
        self._parts = [(_span(rows), Alike([measures[i] for i in rows])) for rows in alike.values()]
        texts = any(measure.definition.is_text for measure in measures)
        self._kind = object if texts else np.float64

    def __reduce__(self) -> tuple[type["Plan"], tuple[Sequence[Measure]]]:
        return Plan, (self._measures,)  # for other processes

    def values(self, judged: Judged) -> Floats:
        """Return every query's value of every measure: (n_queries, n_measures)."""
        values = np.empty((len(judged.n_retrieved), len(self._measures)), self._kind)
        for columns, alike in self._parts:
            values[:, columns] = alike.values(judged)
        return values


# ---- how it is written, and what is said of what is not known ---------------------------------


def written(parameters: Iterable[tuple[str, Any]], unnamed: str | None = None) -> str:
    """Return the parameters as they stand behind a name: `(rel=2)`, or nothing."""
    shown = [
        _literal(value) if name == unnamed else f"{name}={_literal(value)}"
        for name, value in parameters
        if value is not None
    ]
    return f"({', '.join(shown)})" if shown else ""


def _literal(value: Any) -> str:
    if isinstance(value, Gains):
        return "{" + ", ".join(f"{g}: {_literal(gain)}" for g, gain in value) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return repr(value)


def _unknown_parameter(definition: Definition, key: str) -> str:
    known = ", ".join(definition.parameters) or "no parameter"
    near = _nearest(key, definition.parameters)
    guess = f" Did you mean {near[0]}?" if near else ""
    if key == "judged_only":
        guess = " Judged documents only is an option of the whole evaluation: judged_only=True."
    elif key == "cutoff":
        guess = f" A cutoff is written {definition.name}@10."
    return f"{definition.name} has no parameter {key!r}; it takes {known}.{guess}"


def unknown_measure(name: str, written: str) -> MeasureError:
    """Return the error for a name that is none, written so: with the nearest names."""
    near = dict.fromkeys(VARIANTS[known][0] for known in _nearest(name.lower(), VARIANTS))
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    if "," in written and "=" not in written:
        guess = " Separate measures by blanks, or use -m for each."
    return MeasureError(f"unknown measure {written!r}.{guess} `cranfield measures` lists them all.")


def _nearest(word: str, known: Iterable[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(word, list(known), 3, 0.6)
